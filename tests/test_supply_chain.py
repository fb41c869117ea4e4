"""What is installed is what was locked, and nothing out of a results tree is ever run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from bench.site import build_site
from tests.synthetic import make_tree
from tests.tiny import ROOT

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
REQUIREMENT = re.compile(r"(?m)^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?P<rest>(?:.*\\\n)*.*)$")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_locked_package_has_its_hashes() -> None:
    found = list(REQUIREMENT.finditer(LOCK))
    named = [line for line in LOCK.splitlines() if re.match(r"[A-Za-z0-9]", line)]
    assert len(found) == len(named) > 50
    for package in found:
        hashes = re.findall(r"--hash=sha256:[0-9a-f]{64}\b", package["rest"])
        assert hashes, package["name"]
        assert len(hashes) == package["rest"].count("--hash="), package["name"]


def test_everything_that_is_asked_for_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    asked = [*project["project"]["dependencies"], *groups["dev"], *groups["embedded"]]
    locked = {plain(package["name"]) for package in REQUIREMENT.finditer(LOCK)}
    for requirement in asked:
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        assert name is not None
        assert plain(name[0]) in locked, requirement


def test_the_lock_alone_is_installed_with_its_hashes_checked() -> None:
    install = re.search(r"pip install (?P<options>.*\\\n.*-r requirements\.lock.*)", MAKEFILE)
    assert install is not None
    for option in ("--require-hashes", "--no-deps", "--only-binary :all:"):
        assert option in install["options"]


def test_known_vulnerabilities_are_looked_for_without_blocking_a_change() -> None:
    command = re.search(r"(?m)^ *- run: pipx run pip-audit (?P<options>.*)$", WORKFLOW)
    assert command is not None
    options = command["options"].split()
    assert options == ["--requirement", "requirements.lock", "--require-hashes", "--disable-pip", "--strict"]
    assert "continue-on-error: true" in WORKFLOW


def test_nothing_in_a_results_tree_is_run_when_its_site_is_built(tmp_path: Path) -> None:
    """Templates, hooks and configuration that lie among results are not even read."""
    proof, root = tmp_path / "was-run", tmp_path / "results"
    made = make_tree(root, players=1, languages=("en",), characters=1, situations=1, seed=1)
    run = f"__import__('pathlib').Path({str(proof)!r}).touch()"
    jinja = f"{{{{ cycler.__init__.__globals__.__builtins__.eval({run!r}) }}}}"
    planted = {
        "judge.jinja": jinja,
        "templates/conversation.html.j2": jinja,
        "theme/main.html": jinja,
        "mkdocs.yml": "site_name: taken over\nhooks: [hooks.py]\n",
        "hooks.py": run,
        "conftest.py": run,
        "sitecustomize.py": run,
        "index.md": jinja,
    }
    folders = [root, made.tree.player_folder(made.suite, "en", made.players[0])]
    for folder in folders:
        for name, text in planted.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    build_site(made.tree, output=tmp_path / "site")
    assert not proof.exists()
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "taken over" not in text
        assert "__builtins__" not in text
