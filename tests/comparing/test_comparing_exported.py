"""Comparisons as a table for other programs."""

from __future__ import annotations

from bench.interop.export import exported, tidy_table
from bench.records import Conversation, sealed
from tests.comparing.conftest import CRITERIA, PAIRS, SCENES, STRENGTH, WORDS, Judge, compare
from tests.tiny import Tiny

NAMES = {"bard": "bard-1", "actor": "actor-1", "lenient": "lenient-1"}


def test_a_row_says_who_was_better_in_which_order(compared: Tiny) -> None:
    table = tidy_table(compared.tree, "tiny", ["en"], "comparisons")
    assert len(table) == PAIRS * SCENES * 2 * len(CRITERIA)
    assert not table["stale"].any()
    for row in table.to_dict("records"):
        first, second = (STRENGTH[WORDS[NAMES[row[key]]]] for key in ("first", "second"))
        assert row["margin"] == first - second


def test_a_row_whose_conversation_has_changed_is_stale(compared: Tiny) -> None:
    talk: Conversation = next(iter(compared.tree.conversations("tiny", "en", "bard")))
    changed = (*talk.messages[:-1], talk.messages[-1].model_copy(update={"content": "Other words."}))
    compared.tree.write_conversation(sealed(talk.model_copy(update={"messages": changed})), replace=True)
    table = tidy_table(compared.tree, "tiny", ["en"], "comparisons")
    stale = table[table["stale"]]
    assert len(stale) == 2 * 2 * len(CRITERIA)
    assert set(stale["situation"]) == {talk.situation}


def test_a_failed_comparison_is_a_row_with_its_reason(tiny: Tiny, judge: Judge) -> None:
    judge.margin = lambda first, second: None
    compare(tiny)
    table = tidy_table(tiny.tree, "tiny", ["en"], "comparisons")
    assert len(table) == PAIRS * SCENES * 2
    assert table["criterion"].isna().all()
    assert table["reason"].str.len().min() > 0
    assert len(exported(table, "csv").decode().splitlines()) == len(table) + 1
