"""Ctrl-C while the command still imports its modules, from the very first, ends it without a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tiny import ROOT

SCRIPT = """
import os, signal, sys

class Interrupter:
    left = int(sys.argv.pop(1))

    def find_spec(self, name, path=None, target=None):
        Interrupter.left -= name not in ("bench", "bench.cli")
        if Interrupter.left == 0:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
from bench.cli import main
sys.argv[0] = "bench"
main()
"""


@pytest.mark.parametrize("number", [1, 2, 3, 5, 12, 25, 50, 90, 140, 200])
def test_an_interrupt_during_the_imports_prints_no_traceback(number: int) -> None:
    words = [sys.executable, "-c", SCRIPT, str(number), "suites"]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode in (-2, 130), ended.stderr
    assert "Traceback" not in ended.stderr
