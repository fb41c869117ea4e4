"""Measures without a judge, each worked by hand from the words of a few answers."""

from __future__ import annotations

import re
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
    FOLDER,
    MEASURES,
    grams,
    in_other_script,
    measures_of,
    parsed,
    phrase_file,
    repeated_answers,
    repeated_earlier,
    repeated_runs,
    speaks_for_user,
    stock_phrases,
    texts_of,
    user_labels,
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


# Stock phrases


@pytest.mark.parametrize("language", ["en", "ru", "de", "ja"])
def test_the_list_of_a_language_has_sixty_phrases_that_do_not_contain_each_other(language: str) -> None:
    file = phrase_file(language)
    assert file is not None
    assert len(file.stock) == len(set(file.stock)) >= 60
    for text in file.stock:
        parsed(text)
        assert text == text.casefold().replace("ё", "е")


@pytest.mark.parametrize("language", sorted(path.stem for path in FOLDER.glob("*.toml")))
def test_every_phrase_of_the_list_is_found(language: str) -> None:
    """Each phrase with the first and with the last of its alternatives, in a sentence."""
    file = phrase_file(language)
    assert file is not None
    for text in file.stock:
        for choice in (0, -1):
            said = [part.split("|")[choice].replace("*", "") for part in text.split()]
            assert stock_phrases(["xx", *words(" ".join(said), language), "yy"], language) == [text]


@pytest.mark.parametrize(
    ("language", "text", "count"),
    [
        ("en", "A shiver runs down the hall.", 0),
        ("en", "Shivers down my spine! Her eyes sparkled; his eyes were sparkling.", 2),
        ("en", "It sends a shiver down her spine, barely above a whisper.", 2),
        ("en", "Her breath I didn’t know she held", 1),
        ("en", "Mixtures of herbs, mixed with a hint.", 0),
        ("ru", "Мурашки по коже. МУРАШКАМИ ПО СПИНЕ!", 2),
        ("ru", "Его голос дрожал, и чем я могу вам помочь?", 2),
        ("ru", "Огонёк в глазах; огонек в печи.", 1),
        ("de", "Ein Schauer lief ihr über den Rücken, ihre Augen funkelten.", 2),
        ("de", "Ein Schauer zog über das Land; was führt ein Wirt im Keller?", 0),
        ("ja", "彼女は肩をすくめ、目を細めて「ふふっと」笑った。", 3),
        ("ja", "肩が痛い。目が細い。", 0),
    ],
)
def test_stock_phrases_are_matched_by_word_forms(language: str, text: str, count: int) -> None:
    found = stock_phrases(words(text, language), language)
    assert found is not None
    assert len(found) == count, found


def test_of_overlapping_stock_phrases_the_first_and_longer_counts() -> None:
    assert stock_phrases(words("her voice thick with tension"), "en") == ["voice thick with"]
    assert stock_phrases(words("barely above a whisper, barely a whisper"), "en") == [
        "barely above a whisper",
        "barely a whisper",
    ]


@pytest.mark.parametrize("text", ["word", "a* thing", "one ab*", "one |two"])
def test_a_phrase_that_cannot_be_looked_up_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        parsed(text)


# Speaking for the user


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("Good day.\nUser: Good day to you.", True),
        ("**You:** I nod.", True),
        ("Fine. <|im_start|>user\nHello", True),
        ("[INST] And now? [/INST]", True),
        ("*you nod and follow me*", True),
        ('You say, "I will come."', True),
        ('"I will come," you reply.', True),
        ("Пользователь: Здравствуйте!", True),
        ("*Ты улыбаешься в ответ*", True),
        ("Вы говорите: «Я готов».", True),
        ("You say that often.", False),
        ("*I nod at you*", False),
        ("*you look like a wet cat*", False),
        ("*your hat falls*", False),
        ("I tell you: run!", False),
        ("You: yes, you there", True),
        ("As you say, sir; you answer well.", False),
        ("Вы говорите загадками.", False),
        ("*смотрю, как ты киваешь*", False),
        ("Скажу тебе: ты прав.", False),
        ("Gast: Ein Zimmer, bitte.", True),
        ("*Du nickst und setzt dich*", True),
        ("»Ich komme mit«, sagst du leise.", True),
        ("Du sagst: »Ich komme.«", True),
        ("Da sagst du was, mein Werter: Das stimmt.", False),
        ("ユーザー\uff1aこんばんは。", True),
        ("*あなたは静かにうなずく*", True),
        ("「行きます」とあなたは答えた。", True),
        ("あなたのお話を聞かせて。「どうぞ」", False),
        ("*あなたに微笑みかける*", False),
    ],
)
def test_speaking_for_the_user_is_seen_by_its_signs(text: str, speaks: bool) -> None:
    assert speaks_for_user(text, "en") is speaks
    assert speaks_for_user(text, "ru") is speaks


def test_the_card_says_what_else_the_user_is_called() -> None:
    card = """Age: 40
    Wants: cream

    How you talk:
    Traveller: How did it end?
    **The Cat**: *washes* End?
    Traveller: How soft you are!
    Cat: A technical term."""
    labels = user_labels(card, "The Learned Cat")
    assert labels == {"traveller"}  # not the fields of the card
    assert speaks_for_user("*yawns*\n**Traveller:** Tell me more.", "en", labels) is True
    assert speaks_for_user("Wants: nothing. A traveller: no more.", "en", labels) is False
    assert speaks_for_user("Traveller: Tell me more.", "en") is False
    assert user_labels("User: Hm?\nSancho: My lord!\nDon Quixote: Onward!", "Don Quixote and Sancho") == {
        "user"
    }
    assert user_labels("A card without a sample: none.", "The Learned Cat") == frozenset()


# Another script


def test_words_in_another_script_are_counted_but_not_those_of_the_card() -> None:
    assert in_other_script(words("Привет, my friend, самовар 2024"), "ru") == 2
    assert in_other_script(words("Cамовар"), "ru") == 1  # its C is Latin
    assert in_other_script(words("Élise naïve Œuvre ﬁre x² 5€"), "en") == 0
    assert in_other_script(words("The 侍 and the 忍"), "en", "A 侍.") == 1
    assert in_other_script(words("Ich bin kein Engländer"), "en") == 0  # the script cannot show it
    assert in_other_script(words("こんにちは"), "ja") is None


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
