"""The layers of the package: what may import what, how large a piece may be, and what scoring loads."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.tiny import ROOT

PACKAGE = ROOT / "bench"
ROWS = (
    "records errors files slugs toml_entries tables colours foreign",
    "protocol_facts",
    "catalog items suites prompts results schemas",
    "replies",
    "chat local audio",
    "protocols",
    "run",
    "scores",
    "boards",
    "agreement annotate topics interop",
    "figures",
    "audit site cli",
)
"""From the ground up; a module imports only from its own row and from rows above it in this list."""
ROW = {name: n for n, row in enumerate(ROWS) for name in row.split()}
FEATURES = frozenset({"agreement", "annotate", "topics", "interop"})
"""Separate features, which do not import each other."""

MOST_LINES = 400
MOST_FUNCTION_LINES = 60
MOST_ENTRIES = 32


def modules() -> Iterator[tuple[str, Path]]:
    """(top-level part, file) of every module but the package's face."""
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part != "__init__":
            yield part, path


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements below ``node``. Most nodes of a module are expressions, which hold none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        below = getattr(node, name, ())
        for child in below if isinstance(below, list) else ():
            if isinstance(child, ast.stmt):
                yield child
            yield from statements(child)


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """(line, top-level part of bench) of every import, those inside functions too."""
    for node in statements(parsed(path)):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "bench":
                names = [f"bench.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "bench" and len(parts) > 1 and parts[1] in ROW:
                yield getattr(node, "lineno", 0), parts[1]


def test_every_part_has_a_row() -> None:
    assert {part for part, _ in modules()} <= ROW.keys()


def test_no_module_imports_from_a_row_below_its_own() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {part} imports {other}"
        for part, path in modules()
        for line, other in imported(path)
        if ROW[other] > ROW[part] or (part != other and {part, other} <= FEATURES)
    ]
    assert wrong == []


def test_no_import_cycle() -> None:
    graph: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        tree = parsed(path)
        top = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        graph[name] = set()
        for node in top:
            if isinstance(node, ast.ImportFrom) and node.module:
                graph[name] |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names}
    graph = {name: {other for other in found if other in graph} for name, found in graph.items()}
    done: set[str] = set()
    while ready := {name for name, found in graph.items() if name not in done and found <= done}:
        done |= ready
    assert sorted(graph.keys() - done) == []


def test_no_module_and_no_function_is_too_long() -> None:
    long = []
    for _, path in modules():
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > MOST_LINES:
            long.append(f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines")
        for node in statements(parsed(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_FUNCTION_LINES:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}, {lines} lines")
    assert long == []


def test_the_package_has_few_parts() -> None:
    entries = [path for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= MOST_ENTRIES


ABSENT: dict[str, list[str]] = {
    "bench.site.workers": ["bench.protocols", "bench.chat", "httpx2", "openai", "pandas", "scipy"],
    "bench.scores": ["bench.protocols", "bench.chat", "bench.prompts", "jinja2"],
    "bench.scores.board": ["bench.protocols", "bench.chat", "bench.prompts", "jinja2", "httpx2", "openai"],
    "bench.scores.analyses.report": ["bench.protocols", "bench.chat", "bench.prompts", "jinja2"],
    "bench.boards.loading": ["scipy.stats", "scipy.optimize", "matplotlib"],
    "bench.site.talk": ["bench.protocols", "bench.chat", "httpx2", "openai"],
    "bench.site.build": ["bench.protocols", "bench.chat", "httpx2", "openai"],
    "bench.chat.endpoint": ["openai"],
}
"""What loading a module does not load."""
LOADING = """
import importlib, json, os, sys
found = {}
for module, absent in json.load(sys.stdin).items():
    if "pandas" not in absent:
        import pandas
    read, write = os.pipe()
    if not os.fork():
        importlib.import_module(module)
        os.write(write, json.dumps([name for name in absent if name in sys.modules]).encode())
        os._exit(0)
    os.close(write)
    found[module] = json.loads(os.read(read, 65536))
print(json.dumps(found))
"""
"""Loads each module in a fork of its own. Most take pandas, which is loaded before those forks."""


def test_what_loading_a_module_does_not_load() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOADING],
        input=json.dumps(ABSENT),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ran.stdout) == {module: [] for module in ABSENT}
