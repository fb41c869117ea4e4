"""Languages by their tags, such as ``de`` or ``pt-br``: names in words, writing direction and script."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from babel import Locale

UNTAGGED = frozenset({"c", "root", "posix"})
"""What Babel reads as a locale although it names no language."""


@lru_cache(maxsize=512)
def known_language(tag: str) -> bool:
    """Whether ``tag`` names a language that Babel knows, in lower case and with hyphens."""
    return _locale(tag) is not None


@lru_cache(maxsize=512)
def language_name(tag: str, reader: str = "en") -> str:
    """The name of a language in the language ``reader``: else its English name, else its tag."""
    locale = _locale(tag)
    names = None if locale is None else locale.get_display_name(_plain(reader))
    if locale is not None and not names:
        names = locale.get_display_name("en")
    return names or tag


@lru_cache(maxsize=512)
def writing_direction(tag: str) -> str:
    """``rtl`` for a language that is written from right to left, else ``ltr``."""
    locale = _locale(tag)
    return "ltr" if locale is None else str(locale.text_direction)


@lru_cache(maxsize=512)
def script_of(tag: str) -> str:
    """The ISO 15924 code of a language's script, such as ``Latn``; empty if it is not known."""
    from babel.core import get_global

    locale = _locale(tag)
    if locale is None:
        return ""
    likely = get_global("likely_subtags")
    full = str(likely.get(f"{locale.language}_{locale.territory}") or likely.get(locale.language) or "")
    scripts = [part for part in full.split("_") if len(part) == 4]
    return locale.script or (scripts[0] if scripts else "")


def fallbacks(tag: str) -> tuple[str, ...]:
    """``tag`` and the more general tags that stand in for it: ``pt-br``, ``pt``."""
    parts = tag.split("-")
    return tuple("-".join(parts[:count]) for count in range(len(parts), 0, -1))


def template_file(folder: Path, role: str, language: str) -> tuple[Path, str]:
    """The template of ``role`` for ``language`` in ``folder``, and the language that it is written in.

    ``<role>.<language>.jinja``, else that of a more general tag, else the English ``<role>.jinja``, which may
    be missing.
    """
    for tag in fallbacks(language):
        own = folder / f"{role}.{tag}.jinja"
        if own.exists():
            return own, tag
    return folder / f"{role}.jinja", "en"


def _plain(tag: str) -> str:
    """``tag`` as Babel writes it, English if Babel does not know it."""
    locale = _locale(tag)
    return "en" if locale is None else str(locale)


@lru_cache(maxsize=512)
def _locale(tag: str) -> Locale | None:
    from babel import Locale, UnknownLocaleError

    if tag.lower() in UNTAGGED or not tag.isascii():
        return None
    try:
        return Locale.parse(tag, sep="-")
    except (UnknownLocaleError, ValueError, TypeError):
        return None
