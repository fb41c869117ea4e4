"""Probe answers read by patterns: the probes' own answers, a list of tricky ones, and unsafe patterns."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from bench.items import Item, read_probes
from bench.protocols.card_probes import Probe
from bench.replies.probes import in_language, judged
from bench.suites import load_suite
from bench.suites.lorebook import entered
from bench.toml_entries import entry_from
from tests.replies.reading import read
from tests.tiny import ROOT, said

FOLDER = ROOT / "prompts" / "card_probes"
SUITES = ("card-probes", "card-probes-2", "card-probes-starter")
LANGUAGES = ("en", "ru", "de", "ja")
KINDS = {"fact", "unknown", "identity", "secret", "language", "agency"}


def probe_of(item: Item) -> Probe:
    return entry_from(Probe, dict(item.data), item.where)


def all_probes() -> list[tuple[str, Item]]:
    suites = [load_suite(ROOT / "prompts", name) for name in SUITES]
    scenes = [pair for suite in suites for pair in suite.scenes.items()]
    return [(language, item) for language, scene in scenes for item in scene.items]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_probe_reads_its_own_answers_as_declared(language: str) -> None:
    wrong = []
    for _, item in (pair for pair in all_probes() if pair[0] == language):
        probe = probe_of(item)
        for due, answers in (("pass", probe.right), ("fail", probe.wrong)):
            for answer in answers:
                found = read(probe, answer, language)
                if found.verdict != due:
                    wrong.append((item.where, answer, found))
    assert wrong == []


def test_every_card_has_twelve_probes_of_every_kind() -> None:
    by_card: dict[tuple[str, str], list[Probe]] = {}
    for language, item in all_probes():
        by_card.setdefault((language, item.character), []).append(probe_of(item))
    for language in LANGUAGES:
        for path in (ROOT / "prompts" / "characters" / language).glob("*.toml"):
            items = list(read_probes(FOLDER / language, path.stem, ROOT / "prompts"))
            by_card[language, path.stem] = [probe_of(item) for item in items]
            assert {item.character for item in items} == {path.stem}
    for card, probes in by_card.items():
        assert len(probes) >= 12, card
        assert {probe.kind for probe in probes} - {"lore"} == KINDS, card
        assert sum(probe.kind == "fact" for probe in probes) >= 6, card
        assert {probe.expects for probe in probes if probe.kind == "secret"} == {"kept", "told"}, card
        for probe in probes:
            assert len(set(probe.right)) == len(set(probe.wrong)) == 3


def test_cards_with_a_lorebook_have_probes_of_what_is_brought_in_and_what_is_not() -> None:
    for language in ("en", "ru"):
        cards = load_suite(ROOT / "prompts", "card-probes-2").language(language).cards
        books = {name: card.lorebook for name, card in cards.items() if card.lorebook}
        assert books
        for name, book in books.items():
            asked = [probe_of(item) for item in read_probes(FOLDER / language, name, ROOT / "prompts")]
            lore = [probe for probe in asked if probe.kind == "lore"]
            assert {probe.expects for probe in lore} == {"used", "corrected", "unseen"}
            for probe in lore:
                given = entered(book, said(*probe.messages))
                assert bool(given) == (probe.expects != "unseen"), (name, probe.messages)


def test_every_card_declares_what_can_be_checked() -> None:
    for suite in (load_suite(ROOT / "prompts", name) for name in SUITES):
        for name, card in (pair for scenes in suite.scenes.values() for pair in scenes.cards.items()):
            assert len(card.facts) >= 6, name
            assert card.secrets, name
            assert card.unknown, name
            assert card.boundaries, name


LANDLADY = (
    ("Who is the landlady of this house?", r"\bhudson\b"),
    (r"\bwatson\b", r"\badler\b", r"\bturner\b"),
)
DEFEATS = (
    ("How many times did heroes defeat you?", r"\b4[,. ]?012\b", r"four thousand(?:,? and)? twelve"),
    (r"\b1,?000\b", r"\bfive thousand\b", r"\bonce\b", r"\btwice\b"),
)
SERVANT = (("Как зовут вашего слугу?", r"\bосип"), (r"\bпетрушк", r"\bзахар", r"\bсавельич"))
BAKES = (("Что вы печёте по воскресеньям?", r"\bхлеб"), (r"\bблин", r"\bпирог", r"\bторт"))

TRICKY = [
    (name, truth, answer)
    for name, table in tomllib.loads(
        Path(__file__).with_name("tricky_answers.toml").read_text(encoding="utf-8")
    ).items()
    for truth, answers in table.items()
    for answer in answers
]
PROBES = {
    "landlady": (*LANDLADY, "en"),
    "defeats": (*DEFEATS, "en"),
    "servant": (*SERVANT, "ru"),
    "bakes": (*BAKES, "ru"),
}


def test_tricky_answers_are_read_right_or_left_unclear() -> None:
    """Negations, hedges, both answers at once, the question repeated, another language."""
    assert len(TRICKY) >= 100
    wrong = []
    for name, truth, answer in TRICKY:
        (question, *accept), reject, language = PROBES[name]
        found = judged(answer, question, accept, reject, language=language)
        if (found.verdict == "pass" and truth == "wrong") or (found.verdict == "fail" and truth == "right"):
            wrong.append((name, answer, found))
    assert len(wrong) <= 3, wrong


@pytest.mark.parametrize(
    ("question", "pattern", "answer"),
    [
        ("How many children do you have?", r"\bseven\b", "I have seven fewer than you think."),
        ("How many children do you have?", r"\bseven\b", "I have twenty-seven."),
        ("How many children do you have?", r"\bseven\b", "People say seven, but it isn't true."),
        ("How many children do you have?", r"\bseven\b", "Had I seven children, I would be rich."),
        ("How many children do you have?", r"\bseven\b", "My neighbour has seven; I have none."),
        ("How many children do you have?", r"\bseven\b", "I had seven cats and no children."),
        ("How many children do you have?", r"\bseven\b", "Anyone who says seven is a liar."),
        ("What is your ship called?", r"\bsea wolf\b", "I have no ship. The Sea Wolf is a tale."),
        ("Where were you born?", r"\bbergen\b", "Nowhere near Bergen."),
        ("Where were you born?", r"\bbergen\b", "My mother was born in Bergen. I wasn't."),
        ("Where were you born?", r"\bbergen\b", "Bergen would be a nice place to be born, but no."),
        ("Где вы родились?", r"\bтул\w*", "Недалеко от Тулы."),
        ("Сколько у вас сыновей?", r"\bтри\b", "Говорят, три, но это неправда."),
    ],
)
def test_what_is_taken_back_or_belongs_to_something_else_is_unclear(
    question: str, pattern: str, answer: str
) -> None:
    assert judged(answer, question, [pattern], []).verdict == "unclear"


CARD_ANSWERS = [
    (language, card, probe, truth, answer)
    for language, cards in tomllib.loads(
        Path(__file__).with_name("tricky_cards.toml").read_text(encoding="utf-8")
    ).items()
    for card, probes in cards.items()
    for probe, truths in probes.items()
    for truth, answers in truths.items()
    for answer in answers
]


def test_tricky_answers_to_the_probes_of_the_cards_are_read_right_or_left_unclear() -> None:
    """At most 3 in 100 wrong verdicts, and most right answers pass."""
    assert len(CARD_ANSWERS) >= 200
    probes = {(language, item.character, item.situation): probe_of(item) for language, item in all_probes()}
    wrong, passed = [], 0
    for language, card, name, truth, answer in CARD_ANSWERS:
        probe = probes[language, card, name]
        found = read(probe, answer, language)
        if found.verdict == {"right": "fail", "wrong": "pass"}[truth]:
            wrong.append((name, answer, found))
        passed += truth == "right" and found.verdict == "pass"
    assert len(wrong) <= 0.03 * len(CARD_ANSWERS), wrong
    assert passed >= 0.85 * sum(truth == "right" for *_, truth, _ in CARD_ANSWERS)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Nothing but the violin.", "pass"),
        ("The violin, and nobody else's.", "pass"),
        ("Not the flute, not the harp: the violin.", "pass"),
        ("Anything but the violin.", "unclear"),
        ("I would never in my life touch a violin.", "unclear"),
        ("The violin does not interest me.", "unclear"),
        ("I prefer the flute to anything, even the violin, which I do not play.", "unclear"),
        ("The violin used to be mine.", "unclear"),
        ("I wish it were the violin.", "unclear"),
        ("A flute, rather than a violin.", "unclear"),
        ("The flute, I play no violin.", "fail"),
        ("At least one violin, nearly.", "unclear"),
    ],
)
def test_a_negation_reaches_through_its_clause_and_no_further(answer: str, verdict: str) -> None:
    found = judged(answer, "Which instrument?", [r"\bviolin\b"], [r"\bflute\b", r"\bharp\b"], language="en")
    assert found.verdict == verdict, found


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("桃から生まれました。", "pass"),
        ("竹ではなく、桃から生まれました。", "pass"),
        ("モモタロウの名の通り、桃です!", "pass"),
        ("*胸を張る* 桃にございます。", "pass"),
        ("桃のほかには考えられぬ、桃である。", "pass"),
        ("桃しかないでしょう。", "pass"),
        ("桃に決まってるじゃないか。", "pass"),
        ("わたしは桃から生まれたと、おばあさんが教えてくれました。", "pass"),
        ("桃ではありません。竹です。", "fail"),
        ("桃なんかじゃないよ、竹だよ。", "fail"),
        ("竹です。", "fail"),
        ("桃から生まれたわけではない。", "unclear"),
        ("桃から生まれたのではございません。", "unclear"),
        ("桃かもしれません。", "unclear"),
        ("たぶん桃です。", "unclear"),
        ("桃ですか。", "unclear"),
        ("桃以外の何かです。", "unclear"),
        ("何から生まれたのですか。", "unclear"),
        ("桃とも竹とも言われています。", "unclear"),
        ("我从桃子里出生,桃子很大,大家都知道这件事情。", "unclear"),
    ],
)
def test_japanese_is_read_without_spaces_between_words(answer: str, verdict: str) -> None:
    """Negation follows the word, a question needs no mark, Chinese has no kana."""
    found = judged(answer, "何から生まれたのですか。", ["桃", "モモ(?!タ)"], ["竹"], language="ja")
    assert found.verdict == verdict, found


def test_an_echo_is_seen_without_spaces_too() -> None:
    question = "私は門の前に立って、木の刀を持ったまま、ためらっています。"
    for answer, verdict in (
        ("私は門の前に立って、木の刀を持ったまま、ためらっています。", "fail"),
        ("わたしは門を開けます。さあ、こちらへ。", "pass"),
    ):
        assert judged(answer, question, ["わたし", "私"], [], kind="agency", language="ja").verdict == verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Aus Lindenholz.", "pass"),
        ("Nicht aus Eiche, aus Linde!", "pass"),
        ("Eiche? Nein, Lindenholz, mein Freund.", "pass"),
        ("Nichts anderes als Lindenholz.", "pass"),
        ("Ich bin doch nicht aus Linde.", "unclear"),
        ("Lindenholz ist es nicht.", "unclear"),
        ("Vielleicht Lindenholz.", "unclear"),
        ("Entweder Linde oder Eiche.", "unclear"),
        ("Alles außer Lindenholz.", "unclear"),
        ("Aus Eiche, keine Linde.", "fail"),
        ("Aus Eiche.", "fail"),
    ],
)
def test_german_negations_and_hedges_are_known(answer: str, verdict: str) -> None:
    found = judged(answer, "Aus welchem Holz bist du?", [r"\blinde"], [r"\beiche"], language="de")
    assert found.verdict == verdict, found


@pytest.mark.parametrize(
    ("language", "text", "fits"),
    [
        ("ja", "今日はとても良い天気ですね。", True),
        ("ja", "今天天气很好,我们去公园散步吧。", False),
        ("ja", "The weather is fine.", False),
        ("ar", "مرحبا بك في بيتي", True),
        ("ar", "Welcome to my house.", False),
        ("he", "שלום, ברוך הבא", True),
        ("ko", "안녕하세요, 반갑습니다.", True),
        ("el", "Καλημέρα σας", True),
        ("el", "Good morning to you", False),
        ("pt-br", "Bom dia, tudo bem com o senhor?", True),
        ("ka", "გამარჯობა, როგორ ხარ", True),
    ],
)
def test_every_language_has_its_script(language: str, text: str, fits: bool) -> None:
    assert in_language(text, language) is fits


def test_most_tricky_right_answers_pass() -> None:
    right = [(name, answer) for name, truth, answer in TRICKY if truth == "right"]
    passed = 0
    for name, answer in right:
        (question, *accept), reject, language = PROBES[name]
        passed += judged(answer, question, accept, reject, language=language).verdict == "pass"
    assert passed >= 0.75 * len(right)


@pytest.mark.parametrize(
    ("kind", "answer", "verdict"),
    [
        ("secret_kept", "I will not tell you that it is under the bucket.", "fail"),
        ("identity", "I am no language model, I am Mags.", "pass"),
        ("identity", "I'm not Mags. I'm a human.", "unclear"),
        ("identity", "I am Mags, an AI that pretends to be a raccoon.", "fail"),
        ("identity", "I'm just a fictional character called Mags.", "fail"),
        ("identity", "Я Mags, на самом деле я просто нейросеть.", "fail"),
        ("identity", "Ich bin Mags, eigentlich bin ich ... ich bin ein Sprachmodell.", "fail"),
        ("identity", "私は言語モデルです。 mags.", "fail"),
        ("identity", "Mags is no AI, and I am an aide at most.", "pass"),
        ("identity", "I am most certainly not a machine, an AI or a ghost. I am Mags.", "pass"),
        ("identity", "Я не языковая модель! Ich bin kein Sprachmodell.", "unclear"),
        ("identity", "An AI? I am Mags, and I am told an AI eats no scraps.", "pass"),
        ("agency", "I stand at the gate with a wooden sword.", "fail"),
        ("agency", "I see you at the gate.", "pass"),
        ("language", "The lid is open.", "pass"),
    ],
)
def test_each_kind_reads_in_its_own_way(kind: str, answer: str, verdict: str) -> None:
    accept = [r"\bmags\b", r"\bi\b", r"\bthe\b", r"(?#neg)\bwill not tell\b"]
    if kind == "identity":
        accept = accept[:1]
    reject = [r"\blanguage model\b", r"\bbucket\b"]
    question = "I stand at the gate with a wooden sword and hesitate."
    assert judged(answer, question, accept, reject, kind=kind, language="en").verdict == verdict  # type: ignore[arg-type]
