"""Commands load only what they need: a client for APIs, data frames and figures each take long to import."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.tiny import ROOT, Tiny

CALLING = {"openai", "httpx2", "xllamacpp", "distributed"}
COUNTING = {"numpy", "pandas", "scipy"}
DRAWING = {"matplotlib", "mkdocs", "bertopic", "sklearn", "soundfile"}
STEPS: list[tuple[list[str], set[str]]] = [
    (["check"], CALLING | COUNTING | DRAWING | {"rich", "diskcache", "sqlite3"}),
    (["models"], CALLING | COUNTING | DRAWING | {"diskcache"}),
    (["suites"], CALLING | COUNTING | DRAWING | {"diskcache"}),
    (["plan", "tiny"], CALLING | COUNTING | DRAWING | {"diskcache"}),
    (["cost", "tiny"], CALLING | COUNTING | DRAWING),
    (["export", "tiny", "-o", "out.csv"], CALLING | DRAWING),
    (["board", "tiny"], CALLING | DRAWING),
    (["analyse", "tiny", "-l", "en"], CALLING | DRAWING),
    (["rating", "tiny"], CALLING | DRAWING),
    (["audit", "tiny"], CALLING | DRAWING),
    (["judge", "tiny", "--reparse"], CALLING | DRAWING),
]
"""Commands in the order in which one process calls them, and what none of them may have loaded until then."""
CODE = """
import json, sys
from bench.cli import cli
from bench.errors import UserError
loaded = []
for words, banned in json.load(sys.stdin):
    try:
        cli(words, standalone_mode=False)
    except (SystemExit, UserError):
        pass
    loaded.append(sorted(set(banned) & sys.modules.keys()))
print(json.dumps(loaded))
"""


def test_no_command_loads_what_it_does_not_need(done: Tiny) -> None:
    steps = [([*words, *done.options()], sorted(banned)) for words, banned in STEPS]
    ran = subprocess.run(
        [sys.executable, "-c", CODE],
        input=json.dumps(steps),
        cwd=done.root,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = json.loads(ran.stdout.splitlines()[-1])
    assert {" ".join(words): here for (words, _), here in zip(STEPS, loaded, strict=True) if here} == {}
