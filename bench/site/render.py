"""Page templates, and the filters that write numbers and foreign text in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bench.records import re_asks
from bench.site.charts import heat, scale, whisker
from bench.site.labels import criterion, label
from bench.site.numbers import dollars, money, number, percent, signed, value, whole
from bench.site.probes import probe_verdict
from bench.site.talk import VerdictView
from bench.site.talk_parts import turn_head, use_cells, verdict_html
from bench.site.text import bdi, code, cut, plain, prose, visible
from bench.slugs import slug
from bench.suites.languages import language_name


class Pages:
    """The page templates of a folder. ``judges``: names of judges by id."""

    def __init__(self, folder: Path, judges: Mapping[str, str] | None = None) -> None:
        self._judges = dict(judges or {})
        self.judge_html = cache(lambda ident: bdi(self.judge(ident)))
        """A judge's name as HTML, by its id."""
        self._environment = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
            auto_reload=False,
        )
        self._environment.filters.update({**FILTERS, "judge": self.judge_html, "verdict": self._verdict})
        self._environment.globals.update(whisker=whisker, scale=scale, judge_names=self._judges)

    def judge(self, ident: str) -> str:
        """A judge's name by its id."""
        return self._judges.get(ident, ident)

    def _verdict(self, view: VerdictView, steps: str = "") -> Markup:
        return verdict_html(view, self.judge_html(view.judge), steps)

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """The content of one page as HTML."""
        return self._environment.get_template(f"{name}.html.j2").render(values)


def monogram(name: str) -> str:
    """Up to two letters or digits as an abbreviation of a name."""
    words = re.findall(r"[^\W_]+", name)
    return ("".join(word[0] for word in words[:2]) if len(words) > 1 else "".join(words)[:2]) or "?"


def monograms(names: Iterable[str]) -> dict[str, str]:
    """A different abbreviation for each name, usually of two letters."""
    given: dict[str, str] = {}
    for name in sorted(set(names)):
        short = monogram(name)
        more = (short[0] + letter for letter in re.findall(r"[^\W_]", name)[2:])
        numbered = (f"{short[0]}{n}" for n in count(2))
        given[name] = next(one for one in chain([short], more, numbered) if one not in given.values())
    return given


def json_in_page(data: object) -> Markup:
    """Data for a ``script`` element of JSON, escaped so that it cannot end the element."""
    text = json.dumps(data, separators=(",", ":"), sort_keys=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def repair(slug: str) -> str:
    """What was repaired in a reply, as a sentence; the slug if a newer version wrote it."""
    from bench.replies.faults import REPAIRS  # late, because most pages have none

    return REPAIRS.get(slug, slug)


_NAMED: tuple[Callable[..., Any], ...] = (
    *(visible, bdi, code, prose, criterion, plain, cut),
    *(number, percent, dollars, whole, value, money, signed),
    *(label, heat, language_name, slug, probe_verdict, turn_head, use_cells, repair),
)
FILTERS = {function.__name__: function for function in _NAMED}
FILTERS["asks"] = lambda judgement: 1 + re_asks(judgement)
FILTERS["json"] = json_in_page
