"""What `make annotate` adds is locked by hashes, and agrees with what is locked already."""

from __future__ import annotations

import re
import tomllib

from tests.tiny import ROOT

PACKAGE = re.compile(r"(?m)^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?P<rest>(?:.*\\\n)*.*)$")


def locked(name: str) -> dict[str, set[str]]:
    """The versions of each package of a lock; one has several where Pythons differ."""
    found: dict[str, set[str]] = {}
    for match in PACKAGE.finditer((ROOT / name).read_text(encoding="utf-8")):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", match["rest"]), match["name"]
        found.setdefault(match["name"], set()).add(match["version"])
    return found


def test_packages_in_both_locks_have_the_same_versions() -> None:
    ours, added = locked("requirements.lock"), locked("requirements-annotate.lock")
    both = ours.keys() & added.keys()
    assert {"pandas", "pydantic", "numpy"} <= both
    assert {name: added[name] for name in both} == {name: ours[name] for name in both}


def test_the_sdk_is_locked_as_it_is_asked_for_and_without_what_its_client_does_not_import() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    added = locked("requirements-annotate.lock")
    assert project["dependency-groups"]["annotate"] == [
        f"label-studio-sdk=={version}" for version in added["label-studio-sdk"]
    ]
    assert not {"opencv-python-headless", "nltk", "black", "datamodel-code-generator"} & added.keys()
    assert not {"label-studio-sdk", "httpx"} & locked("requirements.lock").keys()


def test_it_is_installed_by_its_lock_alone() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    install = re.search(r"pip install (?P<options>.*\\\n.*-r requirements-annotate\.lock)", makefile)
    assert install is not None
    for option in ("--require-hashes", "--no-deps", "--only-binary :all:"):
        assert option in install["options"]
