"""Measures without a judge, each worked by hand from the words of a few answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.boards.loading import load_board
from bench.interop.export import tidy_table
from bench.records import Call, Conversation, Message, Scene
from bench.scores.analyses.report import Material, report
from bench.scores.analyses.texts import no_turns
from bench.scores.frame import load
from bench.scores.measures import (
    MEASURES,
    grams,
    measures_of,
    repeated_answers,
    repeated_earlier,
    repeated_runs,
    texts_of,
    words,
)
from bench.scores.player_measures import across, player_measures, turn_lengths
from tests.scores.evidence import Evidence


def runs(*answers: str) -> list[list[tuple[str, ...]]]:
    return [grams(words(answer), 4) for answer in answers]


def talk(
    answers: Sequence[str],
    *,
    language: str = "en",
    protocol: str = "pingpong_v2",
    outcomes: Sequence[str] = (),
    scene: str = "c/s",
    **changes: object,
) -> Conversation:
    """A conversation with these answers; ``outcomes``: how the player's calls ended, by turn."""
    messages = [
        m for a in answers for m in (Message(role="user", content="?"), Message(role="assistant", content=a))
    ]
    calls = [
        Call.model_validate(
            {"role": "player", "turn": n, "provider": "p", "model": "m", "parameters": {}, "outcome": outcome}
        )
        for n, outcome in enumerate(outcomes, 1)
    ]
    character, situation = scene.split("/")
    return Conversation(
        suite="s",
        version="1",
        protocol=protocol,
        language=language,
        player="ann",
        character=character,
        situation=situation,
        scene=Scene(
            character_name="N", summary="", card="A card of Élise, 侍.", situation_title="T", situation="S"
        ),
        fingerprint="f",
        status="complete",
        messages=tuple(messages),
        calls=tuple(calls),
    ).model_copy(update=changes)


def measured(conversation: Conversation) -> dict[str, float | int | None]:
    return dict(zip(MEASURES, measures_of(conversation, texts_of(conversation)), strict=True))


# Repetition


def test_repeated_runs_are_those_that_occurred_before_anywhere() -> None:
    """`a b c d e` has the runs abcd and bcde. Twice: 2 of 4. `a a a a a a` has aaaa three times: 2 of 3."""
    assert repeated_runs(runs("a b c d e", "A, b; c D e!")) == 2 / 4
    assert repeated_runs(runs("a a a a a a")) == pytest.approx(2 / 3)
    assert repeated_runs(runs("a b c d", "e f g h")) == 0
    assert repeated_runs(runs("no", "yes")) is None


def test_runs_repeated_from_an_earlier_answer_leave_out_loops_inside_one() -> None:
    assert repeated_earlier(runs("a a a a a a")) is None
    assert repeated_earlier(runs("a b c d e", "x a b c d")) == 1 / 2
    assert repeated_earlier(runs("a b c d", "a a a a a", "a b c d")) == pytest.approx(1 / 3)
    assert repeated_earlier(runs("a b c d", "no")) is None


def test_repeated_answers_need_two_answers() -> None:
    said = [words(text) for text in ("Yes, sir.", "yes sir", "No.", "Yes... SIR!")]
    assert repeated_answers(said) == 2 / 4
    assert repeated_answers(said[:1]) is None


def test_overlap_across_conversations_leaves_out_those_that_share_a_side() -> None:
    """{abcd, bcde} and {bcde}: 1 of the smaller's 1; {bcde} and {wxyz}: 0. c/s and c/t share a character."""
    found: dict[tuple[str, ...], set[tuple[str, ...]]] = {
        ("c", "s"): {("a", "b", "c", "d"), ("b", "c", "d", "e")},
        ("d", "t"): {("b", "c", "d", "e")},
        ("e", "u"): {("w", "x", "y", "z")},
        ("c", "t"): {("a", "b", "c", "d")},
    }
    # c/s-d/t 1, c/s-e/u 0, d/t-e/u 0, c/t-e/u 0
    assert across(found) == (0.25, 4)
    assert across({("c", "s"): {("a", "b", "c", "d")}}) == (None, 0)


# A conversation


def test_all_measures_of_a_conversation_by_hand() -> None:
    """5 + 5 + 6 words. Runs: 2 + 2 + 3, of which 2 of 7 repeat, 2 of the later 5."""
    made = measured(
        talk(
            ("one two three four five", "one two three four five", "User: a hint of привет there"),
            outcomes=("ok", "length", "ok"),
        )
    )
    assert made == {
        "words": 16,
        "first_answer_characters": 23,
        "last_answer_characters": 28,
        "repeated_runs": pytest.approx(2 / 7),
        "repeated_earlier": pytest.approx(2 / 5),
        "repeated_answers": pytest.approx(1 / 3),
        "stock_answers": pytest.approx(1 / 3),
        "stock_per_1000": pytest.approx(1000 / 16),
        "other_script": pytest.approx(1 / 16),
        "speaks_for_user": pytest.approx(1 / 3),
        "truncated": pytest.approx(1 / 3),
    }


def test_of_an_answer_asked_again_the_last_call_says_whether_it_was_cut() -> None:
    record = talk(("a", "b"), outcomes=("length", "ok"))
    again = record.calls[0].model_copy(update={"outcome": "ok"})
    assert measured(record)["truncated"] == 0.5
    assert measured(record.model_copy(update={"calls": (*record.calls, again)}))["truncated"] == 0


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (talk(("a b c d e",), outcomes=("ok",), status="failed"), set()),
        (talk(("a b c d e",), protocol="speech_roleplay"), set()),
        (talk(("...", "*!*"), outcomes=("ok", "ok")), {"truncated"}),
        (
            talk(("a b c d e",)),
            set(MEASURES) - {"last_answer_characters", "repeated_earlier", "repeated_answers", "truncated"},
        ),
        (
            talk(("a", "b"), language="ko"),
            {"words", "first_answer_characters", "last_answer_characters", "repeated_answers"},
        ),
    ],
    ids=["failed", "spoken", "no word", "one answer, imported", "a language without lists"],
)
def test_a_measure_that_does_not_apply_is_missing_never_zero(record: Conversation, known: set[str]) -> None:
    assert {name for name, value in measured(record).items() if value is not None} == known


def test_a_greeting_is_no_answer() -> None:
    record = talk(("a b c d",))
    greeting = Message(role="assistant", content="a b c d")
    assert measured(record.model_copy(update={"messages": (greeting, *record.messages)})) == measured(record)


# A player


def test_lengths_by_turn_compare_the_same_conversations() -> None:
    """Turn 2 is 30 and 10 long, where turn 1 was 10 and 20; the third conversation has one turn."""
    first, second = turn_lengths([[10, 30], [20, 10], [90]])
    assert (first.conversations, first.characters, first.change) == (3, 40.0, None)
    assert (second.conversations, second.characters, second.change) == (2, 20.0, 5.0)
    assert turn_lengths([]) == ()


def test_a_player_has_the_means_of_its_conversations_that_have_the_figure() -> None:
    held = [
        talk(("one two three four five",) * 2, outcomes=("ok", "length")),
        talk(("a hint of it",), scene="d/t", outcomes=("ok",)),
        talk(("barely a whisper",), scene="e/u"),
        talk(("lost",), scene="e/v", status="failed"),
    ]
    made = player_measures("ann", held)
    assert made.conversations == 3
    assert made.means["repeated_answers"] == 0.5  # of the first alone
    assert made.means["stock_answers"] == pytest.approx(2 / 3, abs=1e-6)
    assert made.means["truncated"] == 0.25  # 1/2 and 0; the third has no calls
    assert made.means["words"] == pytest.approx((10 + 4 + 3) / 3, abs=1e-6)
    assert made.phrases == {"a hint of": 1, "barely a whisper": 1}
    assert (made.across, made.pairs) == (0.0, 1)  # the third has no run


def test_a_player_without_conversations_has_no_figure() -> None:
    made = player_measures("ann", [])
    assert set(made.means.values()) == {None}
    assert (made.across, made.lengths, made.phrases) == (None, (), {})


# Where they are


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    made = Evidence(tmp_path)
    made.played(
        "ann", {"c/s": {"a": [(5, 5, 5)]}, "d/t": {"a": [(1, 1, 1)]}}, ("one two three four five",) * 2
    )
    made.conversation("ann", "d/u", failed=True)
    return made


def test_the_data_frame_and_the_export_have_them_for_each_conversation(evidence: Evidence) -> None:
    frames = load_board(evidence.tree, "tiny", "en", prompts={}, measures=True).frames
    assert list(frames.conversations["repeated_answers"])[:2] == [0.5, 0.5]
    table = tidy_table(evidence.tree, "tiny", name="conversations")
    rows = table[["character", "situation", "words", "repeated_runs", "truncated"]].to_dict("split")["data"]
    assert rows == [["c", "s", 10, 0.5, None], ["d", "t", 10, 0.5, None], ["d", "u", None, None, None]]


def test_frames_without_measures_are_as_before(evidence: Evidence) -> None:
    assert not set(MEASURES) & set(load(evidence.tree, "tiny", "en").conversations.columns)


def test_the_report_has_a_row_for_each_player(evidence: Evidence) -> None:
    frames = load(evidence.tree, "tiny", "en")
    held = player_measures("ann", evidence.tree.conversations("tiny", "en", "ann"))
    tables = ["measures", "lengths", "stock_phrases"]
    made = report(Material(frames, no_turns(), measures=[held]), tables)
    [row] = made.rows_of("measures")
    assert (row["player"], row["conversations"], row["repeated_answers"], row["across"]) == (
        "ann",
        2,
        0.5,
        1.0,
    )
    assert "truncated" in str(row["reason"])
    assert [turn["characters"] for turn in made.rows_of("lengths")] == [23.0, 23.0]
    assert made.rows_of("stock_phrases") == ()


def test_measures_of_text_without_spaces_count_characters() -> None:
    """12 and 12 characters: 3 runs of ten each, and the second answer repeats the first."""
    said = "肩をすくめ、湯呑みを置いた。"
    made = measured(talk((said, said), language="ja"))
    assert (made["words"], made["repeated_runs"], made["repeated_earlier"]) == (24, 3 / 6, 1.0)
    assert made["stock_per_1000"] == pytest.approx(1000 * 2 / 24)
    assert words("Tee と 茶", "ja") == ["tee", "と", "茶"]
    assert words("茶茶 tea", "en") == ["茶茶", "tea"]
