"""Stage two: page templates, and how numbers and foreign text are written in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from bench.site.charts import heat, scale, whisker
from bench.site.labels import language_name
from bench.site.talk import label
from bench.site.text import bdi, code, plain, prose, visible

NOTHING = Markup('<span class="rc-none">–</span>')


class Pages:
    """The page templates of a folder, each rendered by name."""

    def __init__(self, folder: Path) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
        )
        self._environment.filters.update(FILTERS)
        self._environment.globals.update(
            heat=heat, whisker=whisker, scale=scale, bdi=bdi, code=code, prose=prose
        )
        self._templates: dict[str, Template] = {}

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


FILTERS: dict[str, Callable[..., Any]] = {
    "visible": visible,
    "plain": plain,
    "number": number,
    "percent": percent,
    "dollars": dollars,
    "whole": whole,
    "label": label,
    "language_name": language_name,
}
