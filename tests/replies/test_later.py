"""Patterns that are compiled at first use."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.replies.later import Later


def test_threads_that_need_a_pattern_compile_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_pattern = re.compile

    def slowly(pattern: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(pattern)
        time.sleep(0.05)
        return compile_pattern(pattern, flags)

    monkeypatch.setattr(re, "compile", slowly)
    later = Later("b+")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: later.search(text) is not None, ["abb"] * 8))
    assert found == [True] * 8
    assert compiled == ["b+"]
