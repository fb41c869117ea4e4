"""What measures without a judge find in a text: stock phrases, speaking for the user, another script."""

from __future__ import annotations

import re

import pytest

from bench.scores.measures import (
    FOLDER,
    in_other_script,
    parsed,
    phrase_file,
    speaks_for_user,
    stock_phrases,
    user_labels,
    words,
)

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
