"""Where a page belongs: its board, the way there, and the records behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.results import ResultsTree
from bench.site import paths
from bench.site.labels import SuiteLabel
from bench.site.paths import Links
from bench.suites.languages import language_name


@dataclass(frozen=True)
class BoardPlace:
    """A board's suite and language, the suite's label, and what counts of the evidence."""

    suite: str
    language: str
    label: SuiteLabel
    judges: tuple[str, ...] = ()
    """Judges that count; empty: all."""
    repeats: tuple[int, ...] = ()
    """Numbers of the samples that count; empty: all."""
    asked: Mapping[tuple[str, str], tuple[str, ...]] | None = None
    """Where judges rotate: those that count, by (character, situation)."""

    def judges_of(self, character: str, situation: str) -> tuple[str, ...]:
        """The judges that count in a scene; empty: all."""
        return self.judges if self.asked is None else self.asked.get((character, situation), ())

    @property
    def language_name(self) -> str:
        return language_name(self.language)

    @property
    def title(self) -> str:
        return f"{self.label.title}, {self.language_name}"

    def links(self, page: str = "") -> Links:
        """Links of ``page`` to the pages of this board; without a page, their paths in the site."""
        return Links(self.suite, self.language, page, self.label.source is not None)


@dataclass(frozen=True)
class Link:
    """A link with its text. ``href`` may be empty."""

    href: str
    text: str


def record_link(tree: ResultsTree, source_url: str, path: Path) -> Link:
    """The path of a record in the repository, with a link if the source can be browsed."""
    inside = path.relative_to(tree.root).as_posix()
    return Link(f"{source_url.rstrip('/')}/{inside}" if source_url else "", f"results/{inside}")


def common(place: BoardPlace, page: str) -> dict[str, Any]:
    """Values for the template of every page of a board."""
    to = place.links(page)
    return {
        "suite": place.label,
        "language": place.language,
        "about": to.path(paths.DEMONSTRATION),
        "probes_page": to.path(paths.PROBES),
        "long_page": to.path(paths.LONG),
        "method": to.path(paths.METHOD),
        "to": to,
        "crumbs": [Link(to.path(paths.BOARDS), "Boards"), Link(to.board(), place.title)],
    }
