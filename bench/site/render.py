"""Stage two: page templates, and how numbers and foreign text are written in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from bench.site.charts import heat, scale, whisker
from bench.site.labels import language_name
from bench.site.talk import label
from bench.site.text import bdi, code, cut, plain, prose, visible

if TYPE_CHECKING:
    from bench.scores.board import RobustScore

NOTHING = Markup('<span class="rc-none">–</span>')


class Pages:
    """The page templates of a folder, each rendered by name; ``judges``: what judges are called."""

    def __init__(self, folder: Path, judges: Mapping[str, str] | None = None) -> None:
        self._judges = dict(judges or {})
        self._environment = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
        )
        self._environment.filters.update({**FILTERS, "judge": self.judge})
        self._environment.globals.update(
            heat=heat, whisker=whisker, scale=scale, bdi=bdi, code=code, prose=prose
        )
        self._templates: dict[str, Template] = {}

    def judge(self, ident: str) -> str:
        """What a judge is called, by its id."""
        return self._judges.get(ident, ident)

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """The content of one page as HTML."""
        if name not in self._templates:
            self._templates[name] = self._environment.get_template(f"{name}.html.j2")
        return self._templates[name].render(values)


def number(value: float | None, digits: int = 2) -> str | Markup:
    """A number with so many decimals; a dash where there is none."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def percent(value: float | None, digits: int = 1) -> str | Markup:
    """A share as a percentage."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}%"


def dollars(value: Decimal | None) -> str:
    """A sum of money, with the digits that it takes to see it."""
    if value is None:
        return "unknown"
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 1 else f"${value:.6f}".rstrip("0").rstrip(".")


def whole(value: float | None) -> str | Markup:
    """A count with a thin space between thousands."""
    return NOTHING if value is None else f"{value:,.0f}".replace(",", "\u202f")


def value(number: float | str | None) -> str:
    """A number for a ``data-v`` attribute, which sorting reads; empty where there is none."""
    return "" if number is None else str(number)


def money(text: str | None) -> str | Markup:
    """A sum of money from its decimal string; a dash where it is not known."""
    return NOTHING if text is None else dollars(Decimal(text))


def signed(number: float | None, digits: int = 2) -> str | Markup:
    """A difference with its sign; a dash where there is none."""
    return NOTHING if number is None else f"{number:+.{digits}f}".replace("-", "\u2212")


def open_ranks(robust: RobustScore) -> str:
    """The ranks that the data leave open."""
    low, high = robust.rank_low, robust.rank_high
    return f"{low}" if low == high else f"{low}–{high}"


def monogram(name: str) -> str:
    """Up to two letters or digits that stand for a name."""
    words = re.findall(r"[^\W_]+", name)
    return ("".join(word[0] for word in words[:2]) if len(words) > 1 else "".join(words)[:2]) or "?"


def monograms(names: Iterable[str]) -> dict[str, str]:
    """Two letters or so for each name, no two of them alike."""
    given: dict[str, str] = {}
    for name in sorted(set(names)):
        short = monogram(name)
        more = (short[0] + letter for letter in re.findall(r"[^\W_]", name)[2:])
        numbered = (f"{short[0]}{n}" for n in count(2))
        given[name] = next(one for one in chain([short], more, numbered) if one not in given.values())
    return given


def json_in_page(data: object) -> Markup:
    """Data for a ``script`` element of JSON: nothing in it can end the element or start another."""
    text = json.dumps(data, separators=(",", ":"), sort_keys=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


FILTERS: dict[str, Callable[..., Any]] = {
    "visible": visible,
    "plain": plain,
    "cut": cut,
    "number": number,
    "percent": percent,
    "dollars": dollars,
    "whole": whole,
    "label": label,
    "language_name": language_name,
    "value": value,
    "money": money,
    "open_ranks": open_ranks,
    "signed": signed,
    "json": json_in_page,
}
