"""`make bench` builds the site in a fresh clone and after a change, and leaves it alone otherwise."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tiny import ROOT

COMMAND = """#!/bin/sh
echo "bench $*"
if [ "$1 $2" = "site build" ]; then mkdir -p build/site; touch build/site/index.html; fi
"""
LATER = 10
"""Seconds by which a change is dated after the build."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with our Makefile, a stand-in for ``bench``, and one file in each source of the site."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("requirements.lock", "requirements-uv.lock", "pyproject.toml", "models.toml", "mkdocs.yml"):
        (tmp_path / name).touch()
    for name in ("results", "prompts", "site", "bench"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    command = tmp_path / ".venv" / "bin" / "bench"
    command.parent.mkdir(parents=True)
    command.write_text(COMMAND, encoding="utf-8")
    command.chmod(0o755)
    (tmp_path / ".venv" / "ready").touch()
    return tmp_path


def built(project: Path) -> bool:
    """Run `make bench` as from a shell, also inside `make test`; return whether it built the site."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment.pop("MFLAGS", None)
    ended = subprocess.run(
        ["make", "bench"], cwd=project, env=environment, capture_output=True, text=True, check=True
    )
    suites = ("card-probes-quick", "quickstart")
    assert ended.stdout.startswith(
        "".join(f"bench run {name}\nbench board {name} --write\n" for name in suites)
    )
    return "bench site build" in ended.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_bench_builds_the_site_only_after_a_change(project: Path) -> None:
    assert built(project)
    assert not built(project)
    for name in ("results", "prompts", "site", "bench"):
        file = project / name / "file"
        later = (project / "build" / "site-built").stat().st_mtime + LATER
        os.utime(file, (later, later))
        assert built(project), name
        os.utime(file, (0, 0))
        assert not built(project)
    (project / "results" / "file").unlink()
    assert built(project)
