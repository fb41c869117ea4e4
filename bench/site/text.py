"""Foreign text as HTML: escaped, and with hidden characters made visible.

Characters that are invisible but change the text around them (controls, direction overrides, zero-width
characters, invisible tags) are each put into a ``<bdi class="rc-cp">``, which isolates their effect. The
style sheet shows their code points. The text content of the result equals the source, except for NUL and
lone surrogates, which HTML cannot hold: they are replaced by symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from unicodedata import bidirectional

from markupsafe import Markup, escape

from bench.suites.languages import writing_direction

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]|[\U000e0000-\U000e007f]+"
)
_LONG = re.compile(r"(\S{17,})")
_JOINT = re.compile(r"(?<=\w[/_])(?=\w)|(?<=\w-)(?=\d)")
"""Where a browser does not break a word by itself."""
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")
_FLAG = "\U0001f3f4"  # with the invisible tags after it, this is a regional flag


def visible(text: str) -> Markup:
    """``text`` as HTML, with its hidden characters shown."""
    return _replaced(text, _HIDDEN, _marked, escape) if _HIDDEN.search(text) else escape(text)


def _replaced(
    text: str,
    pattern: re.Pattern[str],
    replacement: Callable[[re.Match[str]], str],
    between: Callable[[str], Markup],
) -> Markup:
    """``text`` as HTML: ``replacement`` writes what matches ``pattern``, and ``between`` the rest."""
    parts: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        parts += [between(text[end : match.start()]), replacement(match)]
        end = match.end()
    return Markup("".join([*parts, between(text[end:])]))


def _marked(match: re.Match[str]) -> str:
    hidden, text = match.group(), match.string
    if hidden == "\r":
        return "&#13;" if text.startswith("\n", match.end()) else _code_point(hidden, "&#13;")
    if len(hidden) > 1 or hidden >= "\U000e0000":
        if text[: match.start()].endswith(_FLAG):
            return hidden
        return "".join(_code_point(c, c) for c in hidden)
    if hidden == "\x00":
        return _code_point(hidden, "\u2400")
    if "\ud800" <= hidden <= "\udfff":
        return _code_point(hidden, "\ufffd")
    return _code_point(hidden, hidden)


def _code_point(character: str, shown: str) -> str:
    return f'<bdi class="rc-cp" data-cp="U+{ord(character):04X}">{shown}</bdi>'


def cut(text: str, limit: int) -> str:
    """``text``, cut at ``limit`` characters, between two words where one ends shortly before."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    space = kept.rfind(" ")
    return (kept[:space] if space > 0.8 * limit else kept) + "…"


def bdi(text: str, limit: int = 300) -> Markup:
    """A name or short text inside a line. Its writing direction does not affect the line."""
    return Markup(f"<bdi>{_breakable(cut(text, limit))}</bdi>")


def _breakable(text: str) -> str:
    """``text`` as :func:`visible` shows it. Long words, such as ids, may break between their parts."""
    pieces = _LONG.split(text)
    return "".join(
        "<wbr>".join(map(visible, _JOINT.split(piece))) if n % 2 else visible(piece)
        for n, piece in enumerate(pieces)
    )


def code(text: str, limit: int = 1000) -> Markup:
    """An id, a hash, parameters."""
    return Markup(f'<code dir="auto">{visible(cut(text, limit))}</code>')


def prose(text: str, kind: str, language: str = "") -> Markup:
    """A block of text with its line breaks. ``kind``: a CSS class. ``language``: its expected tag."""
    long = ' tabindex="0" role="region" aria-label="Long text, scrolls"' if is_long(text) else ""
    known, left_to_right = _of_language(language)
    classes = f"rc-text {kind} rc-long" if long else f"rc-text {kind}"
    shown = acted(text) if kind == "rc-message" else visible(text)
    direction = "auto" if left_to_right else _direction(text)
    return Markup(f'<div class="{classes}"{long}{known} dir="{direction}">{shown}</div>')


_ACTION = re.compile(r"(?<![*\w])\*(?=[^\s*])[^*\r\n]{1,600}(?<=\S)\*(?![*\w])")


def acted(text: str) -> Markup:
    """``text`` as :func:`visible` shows it, with actions (between asterisks, which stay) marked by ``em``."""
    if "*" not in text:
        return visible(text)
    return _replaced(text, _ACTION, lambda act: f'<em class="rc-act">{visible(act.group())}</em>', visible)


@lru_cache(maxsize=64)
def _of_language(language: str) -> tuple[str, bool]:
    """The attribute that names a language, and whether it runs from left to right."""
    known = f' lang="{language}"' if _LANGUAGE.fullmatch(language) else ""
    return known, writing_direction(language) == "ltr"


def _direction(text: str) -> str:
    """``rtl`` for text of a language that runs so, even if it begins with a Latin name; else ``auto``."""
    return "rtl" if any(bidirectional(c) in ("R", "AL") for c in text) else "auto"


def plain(text: str, limit: int = 200) -> str:
    """``text`` on one line, for a title or attribute. Hidden characters are written as ``⟨U+202E⟩``."""
    line = cut(" ".join(text.split()), limit)
    return _HIDDEN.sub(lambda m: "".join(f"⟨U+{ord(c):04X}⟩" for c in m.group()), line)


def words(text: str) -> str:
    """``text`` on one line without its hidden characters, which would part a word or join two."""
    return " ".join(_HIDDEN.sub("", text).split())


def searchable(text: str) -> str:
    """``text`` reduced to words for the search index, whose text the theme's script inserts as HTML."""
    return " ".join(re.sub(r"[^\w .:/+()-]", " ", plain(text)).split())


def is_long(text: str) -> bool:
    """Whether a text should be shown in a box that scrolls."""
    return len(text) > 12_000 or text.count("\n") > 200
