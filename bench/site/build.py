"""From a results tree to the folder of a website."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import SiteError
from bench.results import ResultsTree
from bench.scores.board import Board, board
from bench.scores.forms import to_csv, to_json
from bench.site import paths
from bench.site.board_pages import BoardPages, BoardPlace, Page
from bench.site.indexes import search_files, sitemap
from bench.site.labels import SuiteLabel, label_of, language_name
from bench.site.output import OutputFolder
from bench.site.render import Pages
from bench.site.shell import NavBoard, Stage1, build_shells
from bench.site.text import plain

BoardLoader = Callable[[ResultsTree, str, str], Board]

ROOT = Path(__file__).resolve().parents[2]
TOP = 5
"""Players that the home page shows of each board."""


@dataclass(frozen=True)
class SiteReport:
    """What a build did."""

    output: Path
    pages: int
    conversations: int
    written: int
    """Files that are new or changed."""
    removed: int
    seconds: float

    @property
    def index(self) -> Path:
        """The page to open first."""
        return self.output / "index.html"


def build_site(
    tree: ResultsTree,
    *,
    output: Path,
    suites: Mapping[str, SuiteLabel] | None = None,
    boards: BoardLoader = board,
    site_dir: Path = ROOT / "site",
    mkdocs_yml: Path = ROOT / "mkdocs.yml",
    site_url: str = "",
    source_url: str = "",
) -> SiteReport:
    """Build the website of ``tree`` into ``output``; files whose bytes would not change are left alone.

    ``suites``: titles and descriptions by suite id. ``boards``: makes the board of a suite and language.
    ``site_url``: where the site will be, for canonical links and a sitemap. ``source_url``: where the
    results folder can be browsed; pages then link each record.
    Raises SiteError, RecordError or StorageError.
    """
    started = time.perf_counter()
    folder = OutputFolder(output)
    places = [_place(suites or {}, *found) for found in tree.boards()]
    stage1 = build_shells(site_dir, mkdocs_yml, [_nav(place) for place in places], site_url)
    for name, data in stage1.files.items():
        if not name.startswith("search/"):
            folder.write(name, data)
    pages = Pages(site_dir / "templates")
    made: list[BoardPages] = []
    for place in places:
        site = BoardPages(tree, place, boards(tree, place.suite, place.language), pages, source_url)
        for page in site.pages():
            folder.write(page.path, _filled(stage1, page))
        for kind, text in (("json", to_json(site.board)), ("csv", to_csv(site.board))):
            folder.write(paths.board_data(place.suite, place.language, kind), text)
        made.append(site)
    _write_common(folder, stage1, pages, made)
    indexed = [page for site in made for page in site.indexed]
    for name, text in search_files(stage1.files, indexed).items():
        folder.write(name, text)
    if site_url:
        folder.write("sitemap.xml", sitemap(site_url, [*stage1.pages, *(path for path, _ in indexed)]))
    return SiteReport(
        output=output,
        pages=sum(name.endswith(".html") for name in folder.kept),
        conversations=sum(site.conversations for site in made),
        removed=folder.prune(),
        written=folder.written,
        seconds=time.perf_counter() - started,
    )


def _place(suites: Mapping[str, SuiteLabel], suite: str, language: str) -> BoardPlace:
    for name in (suite, language):
        if paths.SAFE.fullmatch(name) is None:
            raise SiteError(
                f"the results tree has a folder {name!r}, which bench did not make",
                mend="Rename or remove it.",
            )
    return BoardPlace(suite, language, label_of(suites, suite))


def _nav(place: BoardPlace) -> NavBoard:
    title = f"{plain(place.label.title, 40)}, {language_name(place.language)}"
    return NavBoard(paths.board_page(place.suite, place.language), place.suite, title)


def _filled(stage1: Stage1, page: Page) -> str:
    """The page in its shell. A board has one of its own, in which the navigation knows where it is."""
    shell = stage1.board_shells.get(page.path) or stage1.shells[page.kind]
    return shell.fill(title=page.title, heading=page.heading, content=page.content)


def _write_common(folder: OutputFolder, stage1: Stage1, pages: Pages, made: list[BoardPages]) -> None:
    """The hand-written pages, with the lists of boards that some of them ask for."""
    for name, text in stage1.pages.items():
        for part in ("home", "boards"):
            marker = f'<div data-rolecall="{part}"></div>'
            if marker in text:
                content = pages.render(part, {"boards": [_card(site, name) for site in made]})
                before, _, after = text.partition(marker)
                text = before + content + after
        folder.write(name, text)


def _card(site: BoardPages, page: str) -> dict[str, Any]:
    place, made = site.place, site.board
    return {
        "href": paths.relative(paths.board_page(place.suite, place.language), page),
        "about": paths.relative(paths.DEMONSTRATION, page),
        "suite": place.label,
        "language": place.language,
        "count": len(made.rows),
        "rows": [
            {
                "rank": row.rank,
                "name": row.name,
                "weights": row.weights,
                "length_norm_score": row.length_norm_score,
                "length_norm_ci": row.length_norm_ci,
                "href": paths.relative(paths.player_page(place.suite, place.language, row.player), page),
            }
            for row in made.rows[:TOP]
        ],
    }
