"""What the tests of replies share: criteria, well-formed verdicts, and the text of one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from bench.records import Criterion

Entry = dict[str, Any]


@pytest.fixture(scope="session")
def criteria() -> tuple[Criterion, ...]:
    """Two criteria on a scale from 1 to 5."""
    return tuple(Criterion(name=n, label=n.title(), low=1, high=5) for n in ("in_character", "fluency"))


@pytest.fixture(scope="session")
def entry() -> Callable[..., Entry]:
    """Makes a well-formed entry of one turn."""

    def make(turn: int = 1, *, in_character: Any = 3, fluency: Any = 4, **more: Any) -> Entry:
        return {
            "turn": turn,
            "is_refusal_explanation": "He answers.",
            "is_refusal": False,
            "in_character_explanation": "'Arr!' I agree.",
            "in_character_score": in_character,
            "fluency_explanation": "'Arr!' I strongly agree.",
            "fluency_score": fluency,
            **more,
        }

    return make


@pytest.fixture(scope="session")
def reply(entry: Callable[..., Entry]) -> Callable[..., str]:
    """The text of a verdict on the entries given, or on one entry."""

    def make(*entries: Entry) -> str:
        return json.dumps({"scores": list(entries or (entry(),))}, ensure_ascii=False, indent=1)

    return make
