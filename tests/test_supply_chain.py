"""Only locked packages are installed, and nothing out of a results tree is ever run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bench.site.build import build_site
from tests.synthetic import make_tree
from tests.tiny import ROOT

LOCKS = {
    path.name.removeprefix("requirements-").removesuffix(".lock"): path for path in ROOT.glob("*-*.lock")
}
"""The lock of each dependency group that has its own."""
MAIN = ROOT / "requirements.lock"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS: dict[str, list[Any]] = PROJECT["dependency-groups"]
IN_MAIN = ("build", "embedded")
"""Groups that `make bench` installs."""
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
PACKAGE = re.compile(r"(?m)^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?P<rest>(?:.*\\\n)*.*)$")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(path: Path) -> dict[str, set[str]]:
    """The versions of each package in a lock: several where they differ between Python versions."""
    versions: dict[str, set[str]] = {}
    for package in PACKAGE.finditer(path.read_text(encoding="utf-8")):
        versions.setdefault(plain(package["name"]), set()).add(package["version"])
    return versions


def asked_for(group: str) -> list[str]:
    """The packages that a dependency group names, with those of the groups it includes."""
    names: list[str] = []
    for requirement in GROUPS[group]:
        if isinstance(requirement, dict):
            names += asked_for(requirement["include-group"])
        else:
            match = re.match(r"[A-Za-z0-9._-]+", requirement)
            assert match is not None
            names.append(plain(match[0]))
    return names


@pytest.mark.parametrize("path", [MAIN, *LOCKS.values()], ids=lambda path: path.name)
def test_every_locked_package_has_hashes_and_no_address(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    packages = list(PACKAGE.finditer(text))
    named = [line for line in text.splitlines() if re.match(r"[A-Za-z0-9]", line)]
    assert len(packages) == len(named) > 0
    for package in packages:
        hashes = re.findall(r"--hash=sha256:[0-9a-f]{64}\b", package["rest"])
        assert hashes, package["name"]
        assert len(hashes) == package["rest"].count("--hash="), package["name"]
    assert "://" not in text


def test_every_dependency_is_locked_and_every_group_has_a_target() -> None:
    assert set(GROUPS) - set(IN_MAIN) == set(LOCKS)
    main = locked(MAIN)
    for requirement in PROJECT["project"]["dependencies"]:
        match = re.match(r"[A-Za-z0-9._-]+", requirement)
        assert match is not None
        assert plain(match[0]) in main, requirement
    for group in IN_MAIN:
        assert set(asked_for(group)) <= main.keys()
    for group, path in LOCKS.items():
        assert set(asked_for(group)) <= locked(path).keys()
        assert f"$(VENV)/with-{group}" in MAKEFILE or group == "uv"


@pytest.mark.parametrize("path", LOCKS.values(), ids=lambda path: path.name)
def test_a_package_in_two_locks_has_one_version(path: Path) -> None:
    for other in (MAIN, *LOCKS.values()):
        both = locked(path).keys() & locked(other).keys()
        assert {name: locked(path)[name] for name in both} == {name: locked(other)[name] for name in both}


def test_the_main_job_does_not_install_what_only_features_and_tests_need() -> None:
    heavy = "pyarrow statsmodels scikit-learn playwright mypy dask distributed bertopic label-studio-sdk"
    assert not set(heavy.split()) & locked(MAIN).keys()
    assert not {"torch", "llm", "llama-cpp-python"} & set().union(
        *(locked(path) for path in (MAIN, *LOCKS.values()))
    )
    assert not {"opencv-python-headless", "nltk", "black"} & locked(LOCKS["annotate"]).keys()


def test_everything_is_installed_from_a_lock_with_hashes_checked() -> None:
    options = re.search(r"(?m)^INSTALL := (.*)$", MAKEFILE)
    assert options is not None
    assert options[1].split() == ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
    recipes = re.sub(r"\\\n", " ", MAKEFILE.partition("# A half-made environment")[2])
    commands = re.findall(r"(?:pip install|\$\(UV_INSTALL\)) [^&]*", recipes)
    assert len(commands) == 5
    unlocked = [
        command for command in commands if not re.search(r"\$\(INSTALL\) -r (requirements|\$<)", command)
    ]
    project, label_studio = unlocked  # some packages of Label Studio have no wheel
    assert "--no-deps --require-hashes -r $<" in label_studio
    assert "--no-deps --no-build-isolation --editable ." in project
    assert "$(LABEL_STUDIO)/bin/python" in recipes
    locked_in = (ROOT / "tests" / "annotate" / "label-studio.lock").read_text(encoding="utf-8")
    packages = re.findall(r"(?m)^([a-z0-9._-]+)==.*\\\n    --hash=sha256:[0-9a-f]{64}", locked_in)
    assert "label-studio" in packages
    assert len(packages) == len(re.findall(r"(?m)^[a-z0-9]", locked_in))


def test_actions_of_workflows_are_named_by_their_commit() -> None:
    workflows = list((ROOT / ".github" / "workflows").glob("*.y*ml"))
    uses = [use for path in workflows for use in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))]
    assert uses
    assert [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v[\d.]+", use)] == []


def test_a_paid_run_keeps_its_evidence_whatever_happens_and_alone_has_the_keys() -> None:
    text = (ROOT / ".github" / "workflows" / "model.yml").read_text(encoding="utf-8")
    steps = re.split(r"(?m)^      - ", text)
    paid, kept, uploaded = (
        next(number for number, step in enumerate(steps) if mark in step)
        for mark in ("--run --max-cost", "git ls-files", "actions/upload-artifact@")
    )
    assert (kept, uploaded) == (paid + 1, paid + 2)
    taken = "if: always() && steps.taken.outcome == 'success'"
    assert [step.startswith(taken) for step in steps[kept : uploaded + 1]] == [True, True]
    assert sum("id: taken\n        run: .github/take-up.sh" in step for step in steps[:paid]) == 1
    assert [number for number, step in enumerate(steps) if "secrets." in step] == [paid]
    scripts = [step.partition("run:")[2].partition("        env:")[0] for step in steps]
    assert [
        script for script in scripts if "${{" in script
    ] == []  # what an issue says is no part of a script


def test_hints_name_targets_that_exist() -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", MAKEFILE))
    for path in (ROOT / "bench").rglob("*.py"):
        for target in re.findall(r"`make ([a-z-]+)", path.read_text(encoding="utf-8")):
            assert target in targets, path


def test_known_vulnerabilities_are_looked_for_without_blocking_a_change() -> None:
    command = re.search(r"(?m)^ *- run: pipx run pip-audit (?P<options>.*)$", WORKFLOW)
    assert command is not None
    options = command["options"].split()
    locks = [options[place + 1] for place, option in enumerate(options) if option == "--requirement"]
    assert locks == ["requirements.lock", "requirements-dev.lock"]
    assert {"--require-hashes", "--disable-pip", "--strict"} <= set(options)
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
