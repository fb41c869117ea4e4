"""Text that others wrote, made fit for HTML: escaped, and with nothing hidden in it.

Characters that a reader cannot see but that change what is seen (controls, direction overrides, zero-width
characters, invisible tags) are each put into a ``<bdi class="rc-cp">`` that isolates their effect; the style
sheet shows their code point. The text content of the result still equals the source, except that NUL and lone
surrogates, which HTML cannot carry, are replaced by their pictures.
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff]|[\U000e0000-\U000e007f]+"
)
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")
_FLAG = "\U0001f3f4"  # a run of invisible tags after it is a regional flag, not a message


def visible(text: str) -> Markup:
    """``text`` as HTML that shows what is in it."""
    if not _HIDDEN.search(text):
        return escape(text)
    parts: list[str] = []
    end = 0
    for match in _HIDDEN.finditer(text):
        parts.append(str(escape(text[end : match.start()])))
        parts.append(_marked(match, text))
        end = match.end()
    parts.append(str(escape(text[end:])))
    return Markup("".join(parts))


def _marked(match: re.Match[str], text: str) -> str:
    found = match.group()
    if found == "\r":
        return "&#13;" if text.startswith("\n", match.end()) else _code_point(found, "&#13;")
    if len(found) > 1 or found >= "\U000e0000":
        if text[: match.start()].endswith(_FLAG):
            return found
        return "".join(_code_point(c, c) for c in found)
    if found == "\x00":
        return _code_point(found, "\u2400")
    if "\ud800" <= found <= "\udfff":
        return _code_point(found, "\ufffd")
    return _code_point(found, found)


def _code_point(character: str, shown: str) -> str:
    return f'<bdi class="rc-cp" data-cp="U+{ord(character):04X}">{shown}</bdi>'


def cut(text: str, limit: int) -> str:
    """``text``, or its beginning where it is longer than a name, id or remark has any business to be."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def bdi(text: str, limit: int = 300) -> Markup:
    """A name or a short remark inside a line of ours, its direction kept to itself."""
    return Markup(f"<bdi>{visible(cut(text, limit))}</bdi>")


def code(text: str, limit: int = 1000) -> Markup:
    """An id, a hash, parameters."""
    return Markup(f'<code dir="auto">{visible(cut(text, limit))}</code>')


def prose(text: str, kind: str, language: str = "") -> Markup:
    """A block of text as it came, line breaks and all. ``kind``: a style class of ours."""
    long = ' tabindex="0" role="region" aria-label="Long text, scrolls"' if is_long(text) else ""
    known = f' lang="{language}"' if _LANGUAGE.fullmatch(language) else ""
    classes = f"rc-text {kind} rc-long" if long else f"rc-text {kind}"
    return Markup(f'<div class="{classes}"{long}{known} dir="auto">{visible(text)}</div>')


def plain(text: str, limit: int = 200) -> str:
    """``text`` on one line for a title or attribute, cut at ``limit``; hidden characters as ``⟨U+202E⟩``."""
    line = cut(" ".join(text.split()), limit)
    return _HIDDEN.sub(lambda m: "".join(f"⟨U+{ord(c):04X}⟩" for c in m.group()), line)


def searchable(text: str) -> str:
    """``text`` for the search index, which the theme's script puts into the page as HTML: words only."""
    return " ".join(re.sub(r"[^\w .:/+()-]", " ", plain(text)).split())


def is_long(text: str) -> bool:
    """Whether a text is better shown in a box of its own that scrolls."""
    return len(text) > 12_000 or text.count("\n") > 200
