"""Is a regular expression safe and useful as a pattern of a probe? It is searched in untrusted text."""

from __future__ import annotations

import re
import string
import warnings
from dataclasses import dataclass
from functools import cache

from bench.replies.probes import normalised
from bench.replies.unspaced import UNSPACED

LONG = 10
"""A repeat of up to this many characters counts as long: two in a row can split a text in very many ways."""

NO_LIMIT = 1000
"""A repeat of up to this many characters counts as unbounded."""

MOST_CHOICES = 10_000
"""Optional parts that can match the same text may divide it among each other in this many ways."""

_SAMPLE = string.printable + "".join(map(chr, range(ord("а"), ord("я") + 1))) + "äößあんアン一桃、。"
_NO_BORDER = re.compile(rf"\\b(?=[{UNSPACED}])|(?<=[{UNSPACED}])\\b")
_BORDER_FAULT = r"`\b` finds no border of words in text without spaces; leave it out"
_TOKEN = re.compile(
    r"\(\?#[^)]*\)|\(\?(?:P<\w+>|[a-z]*:|<?[=!]|>)|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[*+?]\??|\{\d*,?\d*\}\??|.",
    re.DOTALL,
)
_QUANTIFIER = re.compile(r"([*+?])\??|\{(\d*)(,?)(\d*)\}\??")
_BACK_REFERENCE = re.compile(r"\\[1-9]")
_ESCAPES = re.compile(r"\\.|\(\?P?<\w+>|\(\?#[^)]*\)")
"""Where a capital letter is not one that is looked for."""
_CHOICE = r"(?:[^\W_]|[ ,'-])+(?:\|(?:[^\W_]|[ ,'-])+)*"
PLAIN = re.compile(
    rf"(?:\(\?#neg\))?(?:\\b|\(\?<!\\d\))?(?:[^\W_]|\(\?:{_CHOICE}\))(?!\?)"
    r"(?:[^\W_]\??|\\b|[ ,'\"-]\??|\\[?.+*()]|[.]|\[[^\W_]+\]\??|\\w[*+](?= (?!\?)|\\\?|$)"
    rf"|\(\?:{_CHOICE}\)\??|\(\?[=!]{_CHOICE}\))*"
)
"""Words, optional letters and choices of words: nothing that could be malformed, empty or slow. Most patterns
are like this, and compiling them all would take a second."""
_ANCHORS = {r"\b", r"\B", r"\A", r"\Z", "^", "$"}


@cache
def pattern_fault(pattern: str) -> str:
    """What is wrong with a pattern; empty if it is safe and useful.

    Refused are patterns that can match an empty piece of text, and those that can take very long: quantifiers
    around groups with quantifiers or alternatives, back references, and long repeats without a clear border.
    """
    if PLAIN.fullmatch(pattern):
        return _BORDER_FAULT if _NO_BORDER.search(pattern) else ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compiled = re.compile(pattern)
    except (re.error, Warning, OverflowError, RecursionError) as error:
        return f"malformed: {error}"
    if "\n" in pattern or "\r" in pattern:
        return "has several lines, and answers are searched as one line"
    if _NO_BORDER.search(pattern):
        return _BORDER_FAULT
    if fault := _slow(_TOKEN.findall(pattern)):
        return fault
    if any(match.start() == match.end() for text in ("", _SAMPLE) for match in compiled.finditer(text)):
        return "matches the empty string"
    return ""


@cache
def never_matched(pattern: str) -> str:
    """The letters of a pattern that normalised answers do not have, so that it may never match."""
    if (pattern.isascii() and pattern == pattern.lower()) or normalised(pattern) == pattern:
        return ""
    return "".join(sorted(filter(_never_in_answers, set(_ESCAPES.sub("", pattern)))))


@cache
def _never_in_answers(character: str) -> bool:
    return character.isalpha() and normalised(character) != character


def _slow(tokens: list[str]) -> str:
    """Why a pattern can take very long; empty if it cannot."""
    tokens = [token for token in tokens if not token.startswith("(?#") and token not in _ANCHORS]
    groups: list[tuple[int, _Borders, list[_Borders], _Choices, list[_Choices]]] = []
    borders, choices = _Borders(), _Choices()
    for at, token in enumerate(tokens):
        low, high = _times(tokens[at + 1] if at + 1 < len(tokens) else "")
        if _is_quantifier(token):
            continue
        if _BACK_REFERENCE.fullmatch(token) or tokens[at : at + 3] == ["(", "?", "P"]:
            return "a back reference can take exponential time"
        if token.startswith("("):
            groups.append((at, borders, [], choices, []))
        elif token == "|" and groups:
            groups[-1][2].append(borders)
            groups[-1][4].append(choices)
            borders, choices = groups[-1][1], groups[-1][3]
        elif token == "|":
            borders, choices = _Borders(), _Choices()
        elif token == ")" and groups:
            start, _, ends, _, branches = groups.pop()
            inside = tokens[start + 1 : at]
            if high > 1 and any(part == "|" or _is_quantifier(part) for part in inside):
                return "a quantifier around a quantifier or an alternation can take exponential time"
            borders = next((end for end in (borders, *ends) if end.open), borders)
            choices = max((choices, *branches), key=lambda branch: branch.number)
            choices = choices.after(frozenset(_SAMPLE), low, high)
            if high >= LONG:
                borders = borders.after(frozenset(_SAMPLE), low, high)
        else:
            characters = _characters(token)
            if high >= NO_LIMIT and " " in characters and not characters.isdisjoint("aя"):
                return f"unbounded `{token}*`; write a limit such as `{token}{{0,40}}`"
            borders = borders.after(characters, low, high)
            choices = choices.after(characters, low, high)
        if choices.number > MOST_CHOICES:
            return "so many optional parts that can match the same text can take very long"
        if borders.fault:
            return "two long repeats that can match the same text can take very long"
    return ""


class _Borders:
    """What a long repeat may share its text with: the repeat, and the characters that have to follow it."""

    def __init__(self, *, fault: bool = False) -> None:
        self.open: frozenset[str] = frozenset()
        self.between: tuple[frozenset[str], ...] = ()
        self.fault = fault

    def after(self, characters: frozenset[str], low: int, high: int) -> _Borders:
        """The state after an atom that matches ``characters``, ``low`` to ``high`` times."""
        if high < LONG and not self.open:
            return self
        made = _Borders()
        if high < LONG:
            made.open = self.open
            made.between = (*self.between, characters) if low else self.between
            return made
        if not self.open.isdisjoint(characters) and not any(
            border.isdisjoint(self.open) or border.isdisjoint(characters) for border in self.between
        ):
            return _Borders(fault=True)
        made.open = characters if low else characters | self.open
        return made


@dataclass(frozen=True)
class _Choices:
    """In how many ways the optional parts since the last clear border can divide a text, at most."""

    number: int = 1
    characters: frozenset[str] = frozenset()

    def after(self, characters: frozenset[str], low: int, high: int) -> _Choices:
        """The state after an atom or group that matches ``characters``, ``low`` to ``high`` times."""
        apart = self.characters.isdisjoint(characters)
        if low and apart:
            return _Choices(high - low + 1, characters) if low < high else _CLEAR
        if low == high:
            return self
        number = self.number if apart and self.characters else self.number * (high - low + 1)
        return _Choices(number, self.characters | characters)


_CLEAR = _Choices()


@cache
def _is_quantifier(token: str) -> bool:
    return _QUANTIFIER.fullmatch(token) is not None


@cache
def _times(token: str) -> tuple[int, int]:
    """How often a quantifier repeats what stands before it; once if it is no quantifier."""
    found = _QUANTIFIER.fullmatch(token)
    if not found:
        return 1, 1
    sign, low, comma, high = found.groups()
    if sign:
        return {"*": (0, NO_LIMIT), "+": (1, NO_LIMIT), "?": (0, 1)}[sign]
    most = int(high) if high else NO_LIMIT if comma else int(low or 0)
    return int(low or 0), most


@cache
def _characters(atom: str) -> frozenset[str]:
    """The characters of the sample that an atom such as ``a``, ``\\w`` or ``[^x]`` matches."""
    if len(atom) == 1 and atom != ".":
        return frozenset(atom if atom in _SAMPLE else "")
    return frozenset(re.compile(atom, re.DOTALL).findall(_SAMPLE))
