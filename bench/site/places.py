"""Where a page belongs: its board, the way there, and the records behind it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.results import ResultsTree
from bench.site import paths
from bench.site.labels import SuiteLabel, language_name


@dataclass(frozen=True)
class BoardPlace:
    """A board's suite and language, the suite's label, and the judges that count (empty: all)."""

    suite: str
    language: str
    label: SuiteLabel
    judges: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.label.title}, {language_name(self.language)}"


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
    board = paths.board_page(place.suite, place.language)
    return {
        "suite": place.label,
        "language": place.language,
        "about": paths.relative(paths.DEMONSTRATION, page),
        "probes_page": paths.relative(paths.PROBES, page),
        "method": paths.relative(paths.METHOD, page),
        "to": paths.Links(place.suite, place.language, page, place.label.source is not None),
        "crumbs": [
            Link(paths.relative(paths.BOARDS, page), "Boards"),
            Link(paths.relative(board, page), place.title),
        ],
    }
