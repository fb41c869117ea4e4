"""The same templates are compiled once for hundreds of small runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bench.prompts import PromptSet

_made: dict[object, PromptSet] = {}


@pytest.fixture(scope="module", autouse=True)
def compiled_once() -> Iterator[None]:
    """Compiling takes a third of a small run, whose folder holds a copy of the project's templates."""

    def prompt_set(folder: Path, language: str, roles: Sequence[str]) -> PromptSet:
        texts = tuple(sorted((path.name, path.read_text("utf-8")) for path in folder.glob("*.jinja")))
        key = (texts, language, tuple(roles))
        if key not in _made:
            _made[key] = PromptSet(folder, language, roles)
        return _made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.protocols.base.PromptSet", prompt_set)
        yield
