"""Builds the website from the results. See :func:`build_site`."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

from bench.boards.history import board_history, history_of
from bench.boards.loading import all_suites, catalog_of, counting_judges, load_board
from bench.boards.privacy import public_tree
from bench.catalog import Catalog
from bench.errors import SiteError
from bench.records import PlayerInfo
from bench.results import ResultsTree, repeat_in
from bench.scores.external import FOLDER, load_aliases, load_published, published_lists
from bench.scores.frame import Frames
from bench.site import paths
from bench.site.board_pages import board_files, board_pages, indexed
from bench.site.change_pages import feed_entries
from bench.site.compared_pages import ComparedPlace, compared_files, compared_pages, compared_places
from bench.site.context import BoardContext
from bench.site.conversation_pages import PlayerJob, PlayerResult, Setup
from bench.site.evidence import BoardEvidence, evidence_of
from bench.site.home import PART, part_values
from bench.site.indexes import search_files, sitemap
from bench.site.labels import SuiteLabel, judge_names
from bench.site.lists import lists_for
from bench.site.model_pages import model_pages
from bench.site.output import OutputFolder, write_file
from bench.site.places import BoardPlace
from bench.site.project import FEED, Sources, changelog, citation, feed, version_entries
from bench.site.published import table_results
from bench.site.render import Pages
from bench.site.shell import NavBoard, Page, Stage1, build_shells
from bench.site.studies import StudyPlace, part_links, study_places
from bench.site.taken import Taken, taken
from bench.site.text import plain
from bench.site.workers import Workers, at_once, processes, workers
from bench.slugs import slug
from bench.suites import Suite

FEW = 12
"""On boards with at most this many players, a conversation page links the scene's other conversations."""


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
    results: ResultsTree | Path | str = "results",
    output: Path | str = "build/site",
    *,
    prompts: Mapping[str, Suite] | Path | str = "prompts",
    models: Catalog | Path | str = "models.toml",
    labels: Mapping[str, SuiteLabel] | None = None,
    sources: Sources | None = None,
    site_url: str = "",
    source_url: str = "",
    jobs: int | None = None,
) -> SiteReport:
    """Build the website of all boards in the results. Only files that change are written.

    Args:
        results: The results folder or tree. Of a folder, private suites are left out.
        output: The folder of the site: empty, or one that holds a site built before.
        prompts: The folder with the suites, or suites that are already loaded, by id. A suite gives its
            boards their title and description, and says which judges and scenes count.
        models: The catalog, or its file, which may be missing. It gives judges their names.
        labels: Titles and descriptions by suite id, to use instead of those of the suites.
        sources: Where the hand-written pages, templates and styles are. Default: this source tree.
        site_url: Address of the published site, for canonical links and a sitemap.
        source_url: Address where the results folder can be browsed. Pages then link to each record.
        jobs: Number of processes; None: chosen by the number of players; 1: only this one.

    Raises:
        SiteError: The output folder holds other files, or MkDocs fails.
        RecordError: A record is damaged or misplaced.
        CatalogError: A suite or the catalog is invalid.
        StorageError: A file cannot be written.
    """
    started = time.perf_counter()
    suites = prompts if isinstance(prompts, Mapping) else all_suites(prompts)
    tree = results if isinstance(results, ResultsTree) else public_tree(Path(results), suites)
    build = _Build(
        tree=tree,
        folder=OutputFolder(Path(output)),
        sources=sources or Sources(),
        suites=suites,
        labels=labels or {},
        catalog=catalog_of(models),
        site_url=site_url,
        source_url=source_url,
    )
    conversations = build.run(jobs)
    return SiteReport(
        output=build.folder.root,
        pages=sum(name.endswith(".html") for name in build.folder.kept),
        conversations=conversations,
        removed=build.folder.prune(),
        written=build.folder.written,
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True)
class _Board:
    """A board as far as it can be computed without the other boards."""

    place: BoardPlace
    infos: tuple[PlayerInfo, ...]
    taken: Taken
    evidence: BoardEvidence


@dataclass(frozen=True)
class _Build:
    """One build."""

    tree: ResultsTree
    folder: OutputFolder
    sources: Sources
    suites: Mapping[str, Suite]
    labels: Mapping[str, SuiteLabel]
    catalog: Catalog | None
    site_url: str
    source_url: str

    @cached_property
    def studies(self) -> list[StudyPlace]:
        """All human studies."""
        return study_places(self.tree)

    @cached_property
    def compared(self) -> list[ComparedPlace]:
        """All tables of imported comparisons."""
        return compared_places(self.tree)

    @cached_property
    def repository(self) -> str:
        """Where the source is: what CITATION.cff says, or else where the results can be browsed."""
        known = citation(self.sources.citation).repository if self.sources.citation.is_file() else ""
        return known or self.source_url

    def run(self, jobs: int | None) -> int:
        """Write all files. Returns the number of conversations."""
        places = [self._place(*board) for board in self.tree.boards()]
        versions = changelog(self.sources.changelog)
        entries = version_entries(versions)
        stage1 = build_shells(
            self.sources.site,
            self.sources.mkdocs_yml,
            [
                NavBoard(
                    path=place.links().board(),
                    suite=place.suite,
                    title=f"{plain(place.label.title, 40)}, {place.language_name}",
                )
                for place in places
            ],
            self.site_url,
            changelog=self.sources.changelog,
            feed=bool(entries),
            repository=self.repository,
        )
        judges = judge_names(self.tree, self.catalog)
        boards = self._boards(places, stage1, judges, jobs)
        pages = Pages(self.sources.templates, judges)
        contexts = self._contexts(boards, pages, stage1.pages)
        for name, data in stage1.files.items():
            if not name.startswith("search/"):
                self.folder.write(name, data)
        for one in contexts:
            _ = one.picture  # loads matplotlib, which the processes then share
        tasks = [partial(self._written, board_pages(one), board_files(one), stage1) for one in contexts]
        tasks.append(partial(self._written, model_pages(contexts), (), stage1))
        others = compared_pages(self.compared, pages), compared_files(self.compared)
        tasks.append(partial(self._written, *others, stage1))
        for files, written in at_once(tasks, processes(sum(len(one.infos) for one in contexts), jobs)):
            self.folder.add(files, written)
        self._write_studies(contexts, pages, stage1)
        if entries:
            entries += [entry for context in contexts for entry in feed_entries(context)]
        atom = feed(entries, self.site_url)
        parts: dict[str, dict[str, Any]] = {"changes": {"versions": versions, "feed": atom is not None}}
        if atom is not None:
            self.folder.write(FEED, atom)
        if self.sources.citation.is_file():
            parts["cite"] = {"citation": citation(self.sources.citation)}
            self.folder.write("CITATION.cff", self.sources.citation.read_bytes())
        self._write_common(contexts, pages, stage1, parts)
        self._write_indexes(contexts, stage1)
        scenes = [cell for board in boards for cells in board.taken.cells.values() for cell in cells.values()]
        return sum(len(cell.talks) for cell in scenes)

    def _place(self, suite: str, language: str) -> BoardPlace:
        for name in (suite, language):
            if paths.SAFE.fullmatch(name) is None:
                raise SiteError(
                    f"the results tree has a folder {name!r}, which bench did not make",
                    hint="Rename or remove it.",
                )
        defined, label = self.suites.get(suite), self.labels.get(suite)
        if (source := self.tree.score_source(suite)) is not None:
            return BoardPlace(suite, language, SuiteLabel(source.title, source.description, source=source))
        if label is None and (entry := defined and defined.entry):
            label = SuiteLabel(entry.title, entry.description, entry.demonstration)
        label = label or SuiteLabel(title=suite)
        if defined is None or language not in defined.scenes:
            return BoardPlace(suite, language, label)
        folders = {path.name for path in self.tree.board_folder(suite, language).glob("*/judgements/*")}
        judges = counting_judges(defined, [judge for judge in defined.judges if slug(judge) in folders])
        asked = defined.asked_by_scene(judges, language)
        return BoardPlace(suite, language, label, judges, defined.repeats, asked)

    def _boards(
        self, places: Sequence[BoardPlace], stage1: Stage1, judges: Mapping[str, str], jobs: int | None
    ) -> list[_Board]:
        """Write all conversation pages, and load the boards from the rows that the writers return."""
        setup = Setup(
            results=self.tree.root,
            output=self.folder.root,
            templates=self.sources.templates,
            shell=stage1.shells["conversation"],
            source_url=self.source_url,
            judges=judges,
        )
        infos = [self.tree.players(place.suite, place.language) for place in places]
        number = sum(map(len, infos))
        with workers(setup, number, jobs) as working:
            started = [self._started(working, *board) for board in zip(places, infos, strict=True)]
            made = [
                taken(self.tree, self.folder, *board) for board in zip(places, infos, started, strict=True)
            ]
        tasks = [partial(self._evidence, place, one.frames) for place, one in zip(places, made, strict=True)]
        found = list(at_once(tasks, processes(number, jobs)))
        if not self.studies:
            made = [replace(one, frames=None) for one in made]
        return [_Board(*board) for board in zip(places, map(tuple, infos), made, found, strict=True)]

    def _started(
        self, working: Workers, place: BoardPlace, infos: Sequence[PlayerInfo]
    ) -> Iterable[PlayerResult]:
        """The results of a board's players, which the workers make; or those of published scores."""
        table = self.tree.score_table(place.suite, place.language)
        return working.start(self._jobs(place, infos)) if table is None else table_results(table)

    def _jobs(self, place: BoardPlace, infos: Sequence[PlayerInfo]) -> list[PlayerJob]:
        others = []
        for info in infos if len(infos) <= FEW else ():
            folder = self.tree.player_folder(place.suite, place.language, info.player)
            files = (folder / "conversations").glob("*.json")
            scenes = frozenset(path.stem for path in files if repeat_in(path) == 1)
            others.append((info, scenes))
        return [PlayerJob(place, info, tuple(others)) for info in infos]

    def _evidence(self, place: BoardPlace, frames: Frames | None) -> BoardEvidence:
        loaded = load_board(
            self.tree, place.suite, place.language, prompts=self.suites, frames=frames, models=self.catalog
        )
        return evidence_of(loaded, self.catalog)

    def _contexts(self, boards: Sequence[_Board], pages: Pages, own: Collection[str]) -> list[BoardContext]:
        folder = self.tree.root / FOLDER
        published = [load_published(folder, name) for name in published_lists(folder)]
        aliases = load_aliases(folder) if published else ()
        repository, contexts = history_of(self.tree), []
        for board in boards:
            place = board.place
            others = [
                (other.place.label.title, other.evidence.board)
                for other in boards
                if other.place.language == place.language
            ]
            lists, joined = lists_for(board.evidence.board, others, published, aliases)
            contexts.append(
                BoardContext(
                    tree=self.tree,
                    place=place,
                    frames=board.taken.frames,
                    evidence=board.evidence,
                    infos=board.infos,
                    cells=board.taken.cells,
                    measures=board.taken.measures,
                    texts=board.taken.texts,
                    pages=pages,
                    source_url=self.source_url,
                    site_url=self.site_url,
                    siblings={
                        other.place.language: other.evidence
                        for other in boards
                        if other.place.suite == place.suite
                    },
                    lists=lists,
                    aliases=joined,
                    studies=part_links(self.studies, place.suite, place.language),
                    changes=board_history(repository, place.suite, place.language),
                    written=own,
                )
            )
        return contexts

    def _written(
        self, pages: Iterable[Page], files: Iterable[tuple[str, bytes | str]], stage1: Stage1
    ) -> tuple[list[str], int]:
        """Write pages and files. Returns their paths, and how many are new or changed."""
        names: list[str] = []
        written = 0
        filled: Iterable[tuple[str, bytes | str]] = ((one.path, stage1.filled(one)) for one in pages)
        for name, data in chain(filled, files):
            names.append(name)
            written += write_file(self.folder.root, name, data)
        return names, written

    def _write_studies(self, contexts: Sequence[BoardContext], pages: Pages, stage1: Stage1) -> None:
        """Write the page and the files of every human study."""
        if not self.studies:
            return
        from bench.site.human_pages import study_files, study_page, study_report  # loads matplotlib

        boards = {(context.place.suite, context.place.language): context for context in contexts}
        for place in self.studies:
            report = study_report(self.tree, place, boards, self.catalog)
            files = study_files(report, place)
            self.folder.add(*self._written([study_page(report, place, boards, pages)], files, stage1))

    def _write_common(
        self,
        contexts: Sequence[BoardContext],
        pages: Pages,
        stage1: Stage1,
        parts: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Write the hand-written pages, with the generated parts that some of them ask for."""
        ordered = sorted(contexts, key=lambda context: context.place.label.source is None)
        for name, text in stage1.pages.items():

            def part(marker: re.Match[str], page: str = name) -> str:
                given = (marker[1], ordered, page, self.studies, self.compared)
                values = parts.get(marker[1]) or part_values(*given)
                return marker[0] if values is None else pages.render(marker[1], values)

            self.folder.write(name, PART.sub(part, text))

    def _write_indexes(self, contexts: Sequence[BoardContext], stage1: Stage1) -> None:
        """Write the search index and, if the site's address is known, the sitemap."""
        found = [page for context in contexts for page in indexed(context)]
        found += [(place.page, f"Judges and people: {place.study}") for place in self.studies]
        found += [(table.page, f"Board: {table.title}") for table in self.compared]
        for name, text in search_files(stage1.files, found).items():
            self.folder.write(name, text)
        if self.site_url:
            listed = [*stage1.pages, *(path for path, _ in found)]
            self.folder.write("sitemap.xml", sitemap(self.site_url, listed))
