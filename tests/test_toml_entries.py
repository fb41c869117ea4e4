"""What a mistake in an entry is called: in words of TOML and JSON, and each mistake once."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field, model_validator

from bench.errors import CatalogError
from bench.toml_entries import Entry, entry_from


class Line(Entry):
    said: str

    @model_validator(mode="after")
    def _polite(self) -> Line:
        if self.said == "no":
            raise ValueError("said: say yes")
        return self


class Talk(Entry):
    lines: Annotated[tuple[Line, ...], Field(min_length=1)]
    pair: tuple[str, str] = ("a", "b")


def fault(**data: object) -> str:
    with pytest.raises(CatalogError) as caught:
        entry_from(Talk, data, "here")
    return caught.value.line().removeprefix("here: ")


GOOD = [{"said": "yes"}]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "key 'lines' is missing. Add `lines = [...]`."),
        ({"lines": []}, "lines: List should have at least 1 item after validation, not 0, got []"),
        ({"lines": "yes"}, "lines: Input should be a valid list, got 'yes'"),
        ({"lines": [{"said": 7}]}, "lines.0.said: Input should be a valid string, got 7"),
        ({"lines": [{}]}, "key 'lines.0.said' is missing. Add `said = \"...\"`."),
        ({"lines": [{"said": "no"}]}, "lines.0: said: say yes"),
        ({"lines": GOOD, "pair": ["a"]}, "pair: value 2 is missing"),
        ({"lines": GOOD, "pairs": []}, "unknown key 'pairs' (did you mean 'pair'?)"),
    ],
)
def test_a_mistake_is_told_once_and_in_the_words_of_the_file(data: dict[str, object], words: str) -> None:
    assert fault(**data) == words
