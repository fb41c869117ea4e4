"""The pages of imported comparisons: the board by rating, and the verdicts on each pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bench.records import canonical
from bench.results import ResultsTree
from bench.results.compared import ComparedLine, ComparedTable, compared_folder, is_compared, read_compared
from bench.scores.pairwise_records import Rating
from bench.scores.pairwise_table import table_rating
from bench.site import paths
from bench.site.context import by_number
from bench.site.paths import Links
from bench.site.places import Link
from bench.site.rating_pages import rating_values
from bench.site.render import Pages
from bench.site.shell import Page
from bench.site.text import plain
from bench.slugs import COMPARED
from bench.suites.languages import language_name

MOST_LINES = 1000
"""Verdicts that the page of a pair lists."""


@dataclass(frozen=True)
class ComparedPlace:
    """A table of imported comparisons, whose pages are beside the boards."""

    table: ComparedTable

    @cached_property
    def rating(self) -> Rating:
        """The board by rating."""
        return table_rating(self.table)

    def links(self, page: str = "") -> Links:
        """Links of ``page`` to its pages; without a page, their paths in the site."""
        return Links(COMPARED, self.table.name, page)

    @property
    def page(self) -> str:
        """The path of its board."""
        return self.links().board()

    @property
    def title(self) -> str:
        """The benchmark and the language."""
        return plain(f"{self.table.source.title}, {language_name(self.table.source.language)}")


def compared_places(tree: ResultsTree) -> list[ComparedPlace]:
    """Every table of imported comparisons. Raises UserError for one that is damaged."""
    folder = compared_folder(tree, "")
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [ComparedPlace(read_compared(tree, name)) for name in names if is_compared(tree, name)]


def compared_pages(places: Sequence[ComparedPlace], pages: Pages) -> Iterator[Page]:
    """Of each table the board by rating, and a page for each pair."""
    for place in places:
        yield from _pages(place, pages)


def _pages(place: ComparedPlace, pages: Pages) -> Iterator[Page]:
    table, title = place.table, place.title
    pairs = [(pair.player, pair.other) for pair in place.rating.pairs]
    names = {row.player: row.name for row in place.rating.rows}
    values = {"own": False, "sides": [], "lines": len(table.lines), "names": names}
    yield _page(
        place, pages, place.page, "part", "compared", title, values | rating_values(place.rating, pairs)
    )
    lines: dict[tuple[str, ...], list[ComparedLine]] = defaultdict(list)
    for line in sorted(table.lines, key=lambda line: by_number(line.scene)):
        lines[tuple(sorted((line.first, line.second)))].append(line)
    margins = any(abs(line.margin) > 1 for line in table.lines)
    for pair in place.rating.pairs:
        path = place.links().pair(pair.player, pair.other)
        own = lines[pair.player, pair.other]
        values = {
            "pair": pair,
            "lines": own[:MOST_LINES],
            "left_out": len(own) > MOST_LINES,
            "margins": margins,
        }
        heading = f"{pair.player} and {pair.other}"
        yield _page(place, pages, path, "conversation", "compared-pair", heading, values)


def compared_files(places: Sequence[ComparedPlace]) -> Iterator[tuple[str, bytes]]:
    """(path, content) of the ratings as data."""
    for place in places:
        data = canonical(place.rating.model_dump(mode="json")).encode()
        yield place.links().file("rating.json"), data


def _page(
    place: ComparedPlace,
    pages: Pages,
    path: str,
    kind: str,
    template: str,
    heading: str,
    values: dict[str, Any],
) -> Page:
    """A page in the ``kind`` of shell, with what every page of a table gets."""
    to = place.links(path)
    crumbs = [Link(to.path(paths.BOARDS), "Boards")]
    if path != place.page:
        crumbs.append(Link(to.board(), place.title))
    every = {
        "crumbs": crumbs,
        "here": heading,
        "to": to,
        "method": to.path(paths.METHOD),
        "source": place.table.source,
    }
    return Page(path, kind, heading, heading, pages.render(template, every | values))
