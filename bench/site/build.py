"""From a results tree to the folder of a website."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.boards.loading import LoadedBoard, load_board
from bench.catalog import Catalog
from bench.errors import SiteError
from bench.records import PlayerInfo, canonical
from bench.results import ResultsTree
from bench.scores.external import FOLDER, Alias, Published, load_aliases, load_published, published_lists
from bench.scores.forms import to_csv, to_json
from bench.scores.rankmap import board_list
from bench.site import paths
from bench.site.board_pages import board_pages, indexed, shard
from bench.site.context import BoardContext, Page
from bench.site.evidence import BoardEvidence, evidence_of
from bench.site.human_pages import listed, part_links, study_files, study_page, study_places, study_report
from bench.site.indexes import search_files, sitemap
from bench.site.labels import BoardPlace, SuiteLabel, judge_names, language_name, place_of
from bench.site.output import OutputFolder
from bench.site.project import FEED, changelog, citation, feed
from bench.site.rankmap_pages import are_versions, drawable, rank_map_files
from bench.site.render import Pages
from bench.site.shell import NavBoard, Stage1, build_shells
from bench.site.stamp import Stamper, environment_of
from bench.site.text import plain
from bench.site.workers import workers

EvidenceLoader = Callable[[ResultsTree, str, str], LoadedBoard]
"""Loads the board of a suite and language."""

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


@dataclass(frozen=True)
class Sources:
    """Where everything but the results comes from."""

    site: Path = ROOT / "site"
    mkdocs_yml: Path = ROOT / "mkdocs.yml"
    project: Path = ROOT
    """The folder of CHANGELOG.md and CITATION.cff."""

    @property
    def changelog(self) -> str:
        path = self.project / "CHANGELOG.md"
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    @property
    def citation(self) -> Path:
        return self.project / "CITATION.cff"


def all_evidence(tree: ResultsTree, suite: str, language: str) -> LoadedBoard:
    """The board of all judges and scenes in the results."""
    return load_board(tree, suite, language, prompts={})


def build_site(
    tree: ResultsTree,
    *,
    output: Path,
    suites: Mapping[str, SuiteLabel] | None = None,
    evidence: EvidenceLoader = all_evidence,
    catalog: Catalog | None = None,
    sources: Sources | None = None,
    site_url: str = "",
    source_url: str = "",
    jobs: int | None = None,
) -> SiteReport:
    """Build the website of ``tree`` into ``output``; files whose bytes would not change are left alone.

    ``suites``: titles and descriptions by suite id. ``evidence``: what a board is made of. ``catalog``: tells
    what the judges are. ``site_url``: where the site will be, for canonical links and a sitemap.
    ``source_url``: where the results folder can be browsed; pages then link each record. ``jobs``: processes.
    Raises SiteError, RecordError, CatalogError or StorageError.
    """
    started = time.perf_counter()
    build = _Build(tree, OutputFolder(output), sources or Sources(), site_url, source_url)
    build.judges = judge_names(tree, catalog)
    places = [_checked(place_of(tree, suites or {}, *found)) for found in tree.boards()]
    board_evidence = partial(_evidence, tree, evidence, catalog)
    with ThreadPoolExecutor(1) as aside:
        begun = aside.submit(build.begin, places)
        first = [board_evidence(place) for place in places[:1]]  # while MkDocs runs
        begun.result()
    stamped = build.stamp(places, first, board_evidence, jobs)
    pages = build.finish(stamped, catalog)
    return SiteReport(
        output=output,
        pages=sum(name.endswith(".html") for name in build.folder.kept),
        conversations=pages,
        removed=build.folder.prune(),
        written=build.folder.written,
        seconds=time.perf_counter() - started,
    )


def _evidence(
    tree: ResultsTree, evidence: EvidenceLoader, catalog: Catalog | None, place: BoardPlace
) -> BoardEvidence:
    return evidence_of(evidence(tree, place.suite, place.language), catalog)


def _checked(place: BoardPlace) -> BoardPlace:
    for name in (place.suite, place.language):
        if paths.SAFE.fullmatch(name) is None:
            raise SiteError(
                f"the results tree has a folder {name!r}, which bench did not make",
                hint="Rename or remove it.",
            )
    return place


class _Build:
    """One build under way."""

    stage1: Stage1
    pages: Pages
    judges: Mapping[str, str]

    def __init__(
        self, tree: ResultsTree, folder: OutputFolder, sources: Sources, site_url: str, source_url: str
    ) -> None:
        self.tree = tree
        self.folder = folder
        self.sources = sources
        self.site_url = site_url
        self.source_url = source_url
        self.versions = changelog(sources.changelog)
        self.feed = feed(self.versions, site_url)
        self.studies = study_places(tree.root)

    def begin(self, places: Sequence[BoardPlace]) -> None:
        """MkDocs: the shells, and the theme's files."""
        site, nav = self.sources.site, [_nav(place) for place in places]
        self.stage1 = build_shells(
            site,
            self.sources.mkdocs_yml,
            nav,
            self.site_url,
            changelog=self.sources.changelog,
            feed=self.feed is not None,
        )
        self.pages = Pages(site / "templates", self.judges)
        for name, data in self.stage1.files.items():
            if not name.startswith("search/"):
                self.folder.write(name, data)

    def stamp(
        self,
        places: Sequence[BoardPlace],
        first: Sequence[BoardEvidence],
        load_board: Callable[[BoardPlace], BoardEvidence],
        jobs: int | None,
    ) -> list[BoardContext]:
        """Conversation pages by workers; meanwhile the evidence of the boards after the ``first``."""
        infos = [self.tree.players(place.suite, place.language) for place in places]
        templates = self.sources.site / "templates"
        shell = self.stage1.shells["conversation"]
        stamper = Stamper(
            results=self.tree.root,
            output=self.folder.root,
            templates=templates,
            shell=shell,
            source_url=self.source_url,
            environment=environment_of(shell.page, templates, self.judges),
            judges=self.judges,
        )
        folder = self.tree.root / FOLDER
        lists = [load_published(folder, name) for name in published_lists(folder)]
        aliases = load_aliases(folder) if lists else ()
        with workers(stamper, sum(map(len, infos)), jobs) as working:
            under_way = [working.start(place, infos[n]) for n, place in enumerate(places)]
            made = [*first, *map(load_board, places[len(first) :])]
            contexts = []
            for n, arriving in enumerate(under_way):
                cells = {}
                for done in arriving:
                    self.folder.add(done.kept, done.written)
                    cells[done.player] = {cell.scene: cell for cell in done.cells}
                contexts.append(self._context(places, made, n, infos[n], cells, lists, aliases))
        return contexts

    def _context(
        self,
        places: Sequence[BoardPlace],
        made: Sequence[BoardEvidence],
        n: int,
        infos: Sequence[PlayerInfo],
        cells: Mapping[str, Any],
        lists: Sequence[Published],
        aliases: Sequence[Alias],
    ) -> BoardContext:
        place = places[n]
        siblings = {
            other.language: found
            for other, found in zip(places, made, strict=True)
            if other.suite == place.suite
        }
        board = made[n].board
        versions = [
            board_list(board, found.board, other.label.title)
            for other, found in zip(places, made, strict=True)
            if other.language == place.language and are_versions(board, found.board)
        ]
        aliases = [*aliases, *(alias for _, joined in versions for alias in joined)]
        return BoardContext(
            tree=self.tree,
            place=place,
            evidence=made[n],
            infos=infos,
            cells=cells,
            pages=self.pages,
            source_url=self.source_url,
            siblings=siblings,
            lists=drawable(board, [*(one for one, _ in versions), *lists], aliases),
            aliases=aliases,
            studies=part_links(self.studies, place.suite, place.language),
            has_reading=paths.READING in self.stage1.pages,
        )

    def finish(self, contexts: Sequence[BoardContext], catalog: Catalog | None) -> int:
        """All other pages; returns how many conversations there are."""
        for context in contexts:
            for page in board_pages(context):
                self.folder.write(page.path, self._filled(page))
            self._write_data(context)
        self._write_studies(contexts, catalog)
        self._write_common(contexts)
        found = [page for context in contexts for page in indexed(context)]
        found += [(place.page, f"Judges and people: {place.study}") for place in self.studies]
        for name, text in search_files(self.stage1.files, found).items():
            self.folder.write(name, text)
        if self.site_url:
            listed = [*self.stage1.pages, *(path for path, _ in found)]
            self.folder.write("sitemap.xml", sitemap(self.site_url, listed))
        return sum(len(cells) for context in contexts for cells in context.cells.values())

    def _write_studies(self, contexts: Sequence[BoardContext], catalog: Catalog | None) -> None:
        """A page and its files for every human study."""
        boards = [(context.place.suite, context.place.language) for context in contexts]
        for place in self.studies:
            made = study_report(self.tree, place, boards, catalog)
            page = study_page(made, place, contexts, self.pages)
            self.folder.write(page.path, self._filled(page))
            for name, data in study_files(made, place):
                self.folder.write(name, data)

    def _filled(self, page: Page) -> str:
        """The page in its shell. A board has one of its own, in which the navigation knows where it is."""
        shell = self.stage1.board_shells.get(page.path) or self.stage1.shells[page.kind]
        return shell.fill(title=page.title, heading=page.heading, content=page.content)

    def _write_data(self, context: BoardContext) -> None:
        place, board = context.place, context.board
        for kind, text in (("json", to_json(board)), ("csv", to_csv(board))):
            self.folder.write(paths.board_data(place.suite, place.language, kind), text)
        analyses = canonical(context.evidence.analyses.model_dump(mode="json"))
        self.folder.write(paths.analyses(place.suite, place.language), analyses)
        for info in context.infos:
            name = paths.player_scores(place.suite, place.language, info.player)
            self.folder.write(name, shard(context, info.player))
        for name, data in rank_map_files(context):
            self.folder.write(name, data)

    def _write_common(self, contexts: Sequence[BoardContext]) -> None:
        """The hand-written pages, with the parts that some of them ask for; the feed; how to cite."""
        cite = citation(self.sources.citation) if self.sources.citation.is_file() else None
        parts: dict[str, Callable[[str], dict[str, Any]]] = {
            "home": lambda name: {"boards": [_card(context, name) for context in contexts]},
            "boards": lambda name: {"boards": [_card(context, name) for context in contexts]},
            "changes": lambda name: {"versions": self.versions, "feed": self.feed is not None},
            "studies": lambda name: listed(self.studies, name),
        }
        if cite is not None:
            parts["cite"] = lambda name: {"citation": cite}
            self.folder.write("CITATION.cff", cite.source)
        for name, text in self.stage1.pages.items():
            for part, values in parts.items():
                marker = f'<div data-dramaturg="{part}"></div>'
                if marker in text:
                    before, _, after = text.partition(marker)
                    text = before + self.pages.render(part, values(name)) + after
            self.folder.write(name, text)
        if self.feed is not None:
            self.folder.write(FEED, self.feed)


def _nav(place: BoardPlace) -> NavBoard:
    title = f"{plain(place.label.title, 40)}, {language_name(place.language)}"
    return NavBoard(paths.board_page(place.suite, place.language), place.suite, title)


def _card(context: BoardContext, page: str) -> dict[str, Any]:
    """A board on the home page and in the list of boards."""
    place, made = context.place, context.board
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
                "robust": row.robust,
                "length_norm_score": row.length_norm_score,
                "length_norm_ci": row.length_norm_ci,
                "href": context.player_href(row.player, page),
            }
            for row in made.rows[:TOP]
        ],
    }
