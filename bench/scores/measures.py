"""What the texts of a conversation show without a judge: repetition, stock phrases, foreign script, length.

Pure functions of one record. The lists of phrases are in ``bench/scores/phrases/<language>.toml``. A figure
that does not apply is None, never zero: see :data:`MEASURES`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from bench.protocol_facts import facts_of
from bench.records import Conversation
from bench.replies.unspaced import UNSPACED
from bench.suites.languages import script_of
from bench.toml_entries import Entry, entry_from, read_toml

MEASURES = {
    "words": "words of all answers together",
    "first_answer_characters": "length of the first answer in Unicode characters",
    "last_answer_characters": "length of the last answer; missing with one answer",
    "repeated_runs": "share of four-word runs of the answers that the conversation's answers had before",
    "repeated_earlier": "share of four-word runs of the second and later answers that an earlier answer has",
    "repeated_answers": "share of answers that are an earlier answer, word for word; missing with one answer",
    "stock_answers": "share of answers with a stock phrase",
    "stock_per_1000": "stock phrases in 1,000 words",
    "other_script": "share of words with a letter of another script than the language's",
    "speaks_for_user": "share of answers that write what the user says or does",
    "truncated": "share of answers cut off at the token limit",
}
"""Measures of a conversation: column and meaning. All are missing for conversations that failed, and all but
``truncated`` for spoken answers and where no answer has a word."""

Values = tuple[float | int | None, ...]
"""Values in the order of MEASURES."""

RUN = 4
"""Words in a run: shorter ones repeat by grammar alone."""
UNSPACED_RUN = 10
"""Characters in a run of text without spaces between words."""
UNSPACED_SCRIPTS = frozenset({"Jpan", "Hans", "Hant", "Thai", "Laoo", "Khmr"})
FOLDER = Path(__file__).parent / "phrases"
KEY = 3
"""Letters of a word under which a phrase is looked up; a word with any ending has at least this many."""

Gram = tuple[str, ...]
_WORD = re.compile(r"\w+(?:'\w+)*")
_PIECE = re.compile(f"[{UNSPACED}]|[^{UNSPACED}]+")
_PLAIN = str.maketrans({"’": "'", "ё": "е"})


def plain_text(text: str) -> str:
    """Text as words are searched in it: case folded, straight apostrophes, ``е`` for ``ё``."""
    return text.casefold().translate(_PLAIN)


@cache
def spaced(language: str) -> bool:
    """Whether ``language`` puts spaces between words."""
    return script_of(language) not in UNSPACED_SCRIPTS


def words(text: str, language: str = "") -> list[str]:
    """The words of a text, from :func:`plain_text`. Punctuation and marks of action are no words.

    In a language without spaces between words each of its characters is one.
    """
    found = _WORD.findall(plain_text(text))
    return found if spaced(language) else [piece for word in found for piece in _PIECE.findall(word)]


def grams(tokens: list[str], size: int) -> list[Gram]:
    """All runs of ``size`` words, in order."""
    return list(zip(*(tokens[at:] for at in range(size)), strict=False))


def runs_of(tokens: list[str], language: str) -> list[Gram]:
    """The runs of an answer's words that measures of repetition compare."""
    return grams(tokens, RUN if spaced(language) else UNSPACED_RUN)


# Repetition


def repeated_runs(answers: Sequence[Sequence[Gram]]) -> float | None:
    """Share of the runs of all answers that occurred before in any answer. None without a run."""
    runs = list(chain.from_iterable(answers))
    return 1 - len(set(runs)) / len(runs) if runs else None


def repeated_earlier(answers: Sequence[Sequence[Gram]]) -> float | None:
    """Share of the runs of the second and later answers that an earlier answer has. None without one."""
    seen: set[Gram] = set()
    total = repeated = 0
    for n, runs in enumerate(answers):
        if n:
            total += len(runs)
            repeated += sum(map(seen.__contains__, runs))
        seen.update(runs)
    return repeated / total if total else None


def repeated_answers(answers: Sequence[Sequence[str]]) -> float | None:
    """Share of answers that are, word for word, an earlier answer. None for a single answer."""
    return 1 - len(set(map(tuple, answers))) / len(answers) if len(answers) > 1 else None


# Stock phrases and speaking for the user


Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2)]
Alternatives = tuple[tuple[str, bool], ...]
"""Alternatives of one word: each with whether any ending may follow."""


class PhraseFile(Entry):
    """A file of bench/scores/phrases/: stock phrases, and how text that speaks for the user looks."""

    labels: tuple[Words, ...] = Field(min_length=1)
    """Names of the user at the start of a line, before a colon."""
    pronouns: tuple[Words, ...] = Field(min_length=1)
    """Words that mean the user in an action such as *you nod*."""
    acts: tuple[Words, ...] = Field(min_length=1)
    """Verbs of such actions; a final ``*`` stands for any ending."""
    speech: tuple[Words, ...] = Field(min_length=1)
    """Verbs that introduce what the user says."""
    signs: tuple[Words, ...] = ()
    """Regular expressions of other text that speaks for the user, where words stand in another order."""
    stock: tuple[Words, ...] = Field(min_length=1)
    """Stock phrases: ``|`` between alternatives of a word, a final ``*`` for any ending. Without spaces
    between words, the characters of a phrase follow each other."""


@dataclass(frozen=True)
class Phrase:
    """A stock phrase: as the file has it, and its words."""

    text: str
    parts: tuple[Alternatives, ...]

    def matches(self, tokens: Sequence[str], at: int) -> bool:
        """Whether the phrase stands at place ``at`` of ``tokens``."""
        if at + len(self.parts) > len(tokens):
            return False
        return all(_fits(part, tokens[at + n]) for n, part in enumerate(self.parts))


def _fits(part: Alternatives, token: str) -> bool:
    return any(token.startswith(word) if open_end else token == word for word, open_end in part)


@cache
def phrase_file(language: str) -> PhraseFile | None:
    """The phrases of a language; None without a file. Raises CatalogError if it is malformed."""
    known = {path.stem: path for path in FOLDER.glob("*.toml")}
    return (
        entry_from(PhraseFile, read_toml(known[language]), str(known[language]))
        if language in known
        else None
    )


def parsed(text: str) -> Phrase:
    """A stock phrase as a file writes it. Raises ValueError if it is too short to be looked up."""
    parts = [
        tuple((word.rstrip("*"), word.endswith("*")) for word in part.split("|"))
        for word in plain_text(text).split()
        for part in _PIECE.findall(word)
    ]
    if len(parts) < 2 or any(not word or (wild and len(word) < KEY) for part in parts for word, wild in part):
        raise ValueError(f"stock phrase {text!r}: two words or more, and {KEY} letters before a *")
    return Phrase(text, tuple(parts))


@cache
def _index(language: str) -> dict[tuple[str, str], list[Phrase]] | None:
    """Stock phrases by the first letters of their first two words, longest first; None without a list."""
    file = phrase_file(language)
    if file is None:
        return None
    index: dict[tuple[str, str], list[Phrase]] = {}
    for phrase in sorted(map(parsed, file.stock), key=lambda phrase: -len(phrase.parts)):
        first, second = ({word[:KEY] for word, _ in part} for part in phrase.parts[:2])
        for key in product(first, second):
            index.setdefault(key, []).append(phrase)
    return index


def stock_phrases(tokens: Sequence[str], language: str) -> list[str] | None:
    """The stock phrases in the words of an answer, in order. None if the language has no list.

    Of two that overlap the first counts, of two at one place the longer.
    """
    index = _index(language)
    if index is None:
        return None
    found, free = [], 0
    keys = list(pairwise([token[:KEY] for token in tokens]))
    if index.keys().isdisjoint(keys):
        return []
    for at, key in enumerate(keys):
        if at < free or key not in index:
            continue
        phrase = next((phrase for phrase in index[key] if phrase.matches(tokens, at)), None)
        if phrase is not None:
            found.append(phrase.text)
            free = at + len(phrase.parts)
    return found


_MARKS = (":", "\uff1a", "*", "|", "[", "#", '"', "”", "»", "“", "「")
"""Every sign of such text has one of these; most answers have none, and are not searched."""


@cache
def _user_side() -> re.Pattern[str]:
    """What text that speaks for the user looks like, in all languages that have a file."""
    files = [file for path in sorted(FOLDER.glob("*.toml")) if (file := phrase_file(path.stem)) is not None]

    def either(texts: Iterator[str]) -> str:
        return "(?:" + "|".join(re.escape(text).replace(r"\*", r"\w*") for text in sorted(set(texts))) + ")"

    labels = either(label for file in files for label in file.labels)
    you = either(pronoun for file in files for pronoun in file.pronouns)
    acts = either(act for file in files for act in file.acts)
    speech = either(verb for file in files for verb in file.speech)
    signs = "".join(f"|{sign}" for file in files for sign in file.signs)
    return re.compile(
        rf"^[\s*_>#\"\[({{-]*{labels}[\s*_\])}}]*:"
        r"|<\|(?:im_start\|>)?\s*user\b|\[inst\]|^#+ *(?:user|human|instruction)\b"
        rf"|\*\s*{you}\s+{acts}\b"
        rf"|\b{you}\s+{speech}\s*[,:]\s*[-—–]?\s*[\"“«„]"
        rf"|[\"”»]\s*,?\s*[-—–]?\s*{you}\s+{speech}\b{signs}",
        re.MULTILINE,
    )


_LABEL = re.compile(r"^[\s*_>#\"\[({-]*([^\n:\uff1a\"]{1,40}?)[\s*_\])}]*[:\uff1a]", re.MULTILINE)
"""A line that says who speaks."""


@lru_cache(maxsize=1024)
def user_labels(card: str, character: str) -> frozenset[str]:
    """What a card's sample dialogue calls the user: the label of a line right before a line of the character.

    Labels that share a word with the character's name belong to it, or to another character of a group.
    """
    own, lines = set(words(character)), [line for line in plain_text(card).splitlines() if line.strip()]
    labels = [found[1].strip() if (found := _LABEL.match(line)) else "" for line in lines]
    its = [not own.isdisjoint(words(label)) for label in labels]
    return frozenset(labels[n] for n in range(len(lines) - 1) if labels[n] and its[n + 1] and not its[n])


def speaks_for_user(text: str, language: str, labels: Collection[str] = ()) -> bool | None:
    """Whether an answer writes what the user says or does. None if the language has no list.

    Signs: a line labelled as the user's ("User: ...", or one of the card's own ``labels`` from
    :func:`user_labels`), marks of a chat template, an action of the user between asterisks (*you nod*), and
    quoted speech with "you say".
    """
    if phrase_file(language) is None:
        return None
    plain = plain_text(text)
    if labels and any(found[1].strip() in labels for found in _LABEL.finditer(plain)):
        return True
    return any(mark in text for mark in _MARKS) and _user_side().search(plain) is not None


# Script

_LATIN = "A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff"
_CYRILLIC = "\u0400-\u052f"
SCRIPTS = {
    **dict.fromkeys(["en", "de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sv", "fi", "tr"], _LATIN),
    **dict.fromkeys(["ru", "uk", "be", "bg"], _CYRILLIC),
}
"""Letters of a language's script, by language code."""


@cache
def _foreign(language: str) -> re.Pattern[str] | None:
    """A letter of another script; None if the language's script is not known."""
    letters = SCRIPTS.get(language)
    return re.compile(rf"[^\W\d_{letters}]") if letters else None


def in_other_script(tokens: Sequence[str], language: str, card: str = "") -> int | None:
    """How many words have a letter of another script than the language's and do not stand in the card.

    None if the language's script is not known. Another language of the same script does not show.
    """
    foreign = _foreign(language)
    if foreign is None:
        return None
    if not foreign.search(" ".join(tokens)):
        return 0
    suspects = [token for token in tokens if any(c.isalpha() for c in foreign.findall(token))]
    known = set(words(card))
    return sum(token not in known for token in suspects)


# One conversation


def truncated(conversation: Conversation) -> float | None:
    """Share of the player's answers that were cut off at the token limit. None without its calls."""
    last = {call.turn: call.outcome for call in conversation.calls if call.role == "player"}
    return sum(outcome == "length" for outcome in last.values()) / len(last) if last else None


@dataclass(frozen=True)
class Texts:
    """The words of a conversation's answers, and what was found in them."""

    answers: tuple[str, ...]
    tokens: tuple[list[str], ...]
    runs: tuple[list[Gram], ...]
    stock: tuple[list[str], ...] | None
    """Stock phrases by answer; None if the language has no list."""


def texts_of(conversation: Conversation) -> Texts | None:
    """The texts of a complete conversation; None if its answers are sound or have no words."""
    if conversation.status != "complete" or facts_of(conversation.protocol).spoken:
        return None
    answers = tuple(answer.content for answer in conversation.answers())
    language = conversation.language
    tokens = tuple(words(text, language) for text in answers)
    if not any(tokens):
        return None
    stock = [stock_phrases(answer, language) for answer in tokens]
    return Texts(
        answers=answers,
        tokens=tokens,
        runs=tuple(runs_of(answer, language) for answer in tokens),
        stock=None if None in stock else tuple(found for found in stock if found is not None),
    )


def measures_of(conversation: Conversation, texts: Texts | None) -> Values:
    """The measures of a conversation, in the order of MEASURES. ``texts``: those of :func:`texts_of`."""
    cut = truncated(conversation) if conversation.status == "complete" else None
    if texts is None:
        return (*[None] * (len(MEASURES) - 1), cut)
    language, answers, count = conversation.language, texts.answers, len(texts.answers)
    total = sum(map(len, texts.tokens))
    every = list(chain.from_iterable(texts.tokens))
    foreign = in_other_script(every, language, conversation.scene.card)
    labels = user_labels(conversation.scene.card, conversation.scene.character_name)
    user = [speaks_for_user(text, language, labels) for text in answers]
    return (
        total,
        len(answers[0]),
        len(answers[-1]) if count > 1 else None,
        repeated_runs(texts.runs),
        repeated_earlier(texts.runs),
        repeated_answers(texts.tokens),
        None if texts.stock is None else sum(map(bool, texts.stock)) / count,
        None if texts.stock is None else 1000 * sum(map(len, texts.stock)) / total,
        None if foreign is None else foreign / total,
        None if None in user else sum(map(bool, user)) / count,
        cut,
    )
