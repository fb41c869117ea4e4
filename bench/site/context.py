"""What all pages of one board are made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any

from markupsafe import Markup

from bench.records import PlayerInfo
from bench.results import ResultsTree
from bench.scores.board import Board
from bench.scores.external import Alias, Published
from bench.site import paths
from bench.site.cells import CellSummary
from bench.site.evidence import BoardEvidence
from bench.site.labels import BoardPlace, language_name
from bench.site.render import Pages
from bench.site.scoring import BoardRules
from bench.site.stamp import common, crumbs
from bench.site.talk import criteria_order
from bench.site.text import bdi, plain
from bench.slugs import slug

PART_TITLES = {
    "compare": "Compare",
    "scenes": "Scenes",
    "judges": "Judges",
    "audit": "Audit",
    "rank-maps": "Rank maps",
}


@dataclass(frozen=True)
class Page:
    """A generated page: where it goes, in which kind of shell, and what fills it."""

    path: str
    kind: str
    title: str
    heading: Markup
    content: str


@dataclass(frozen=True)
class Named:
    """A character or situation: its slug, its id and what it is called."""

    key: str
    id: str
    name: str


@dataclass(frozen=True)
class BoardContext:
    """One board: its place, its evidence, its players and their conversations in short."""

    tree: ResultsTree
    place: BoardPlace
    evidence: BoardEvidence
    infos: Sequence[PlayerInfo]
    cells: Mapping[str, Mapping[str, CellSummary]]
    """Player, then scene."""
    pages: Pages
    source_url: str = ""
    siblings: Mapping[str, BoardEvidence] = field(default_factory=dict)
    """The suite's boards by language, this one among them."""
    lists: Sequence[Published] = ()
    aliases: Sequence[Alias] = ()
    studies: Sequence[tuple[str, str, str]] = ()
    """Human studies of it: key, words and page of each."""
    has_reading: bool = False
    """Whether there is a page on how to read the numbers."""

    @property
    def board(self) -> Board:
        return self.evidence.board

    @cached_property
    def sure(self) -> set[tuple[str, str]] | None:
        """(better, worse) of the pairs of players that the data tell apart; None where none were compared."""
        if not self.evidence.pairs:
            return None
        return {
            (player, other)
            for player, others in self.evidence.pairs.items()
            for other, pair in others.items()
            if pair.separated and pair.difference > 0
        }

    @cached_property
    def criteria(self) -> list[str]:
        return criteria_order(self.board.criteria)

    @cached_property
    def rules(self) -> BoardRules:
        """How the board's protocol scores."""
        return BoardRules.of(self.board.protocol)

    @cached_property
    def by_item(self) -> bool:
        """Whether no two characters share a situation, as with the items of a data set: there is no table of
        characters and situations then."""
        return len(self.characters) > 1 and len(self.scenes) == len(self.situations)

    @cached_property
    def title(self) -> str:
        return f"{plain(self.place.label.title)}, {language_name(self.place.language)}"

    @cached_property
    def scenes(self) -> dict[str, CellSummary]:
        """Every scene that any player met, with one conversation of it."""
        found: dict[str, CellSummary] = {}
        for cells in self.cells.values():
            for scene, cell in cells.items():
                found.setdefault(scene, cell)
        return {scene: found[scene] for scene in sorted(found)}

    @cached_property
    def characters(self) -> list[Named]:
        found = {
            slug(c.character): Named(slug(c.character), c.character, c.character_name) for c in self._cells
        }
        return [found[key] for key in sorted(found)]

    @cached_property
    def situations(self) -> list[Named]:
        found = {
            slug(c.situation): Named(slug(c.situation), c.situation, c.situation_title) for c in self._cells
        }
        return [found[key] for key in sorted(found)]

    @property
    def _cells(self) -> Iterable[CellSummary]:
        return self.scenes.values()

    @cached_property
    def scene_means(self) -> dict[str, float]:
        """Each scene's mean score over all players that have one there."""
        means = {}
        for scene in self.scenes:
            scores = [s for cells in self.cells.values() if (s := score_of(cells.get(scene))) is not None]
            if scores:
                means[scene] = fmean(scores)
        return means

    # Links

    def part(self, name: str, page: str) -> str:
        return paths.relative(paths.board_part(self.place.suite, self.place.language, name), page)

    def player_href(self, player: str, page: str) -> str:
        return paths.relative(paths.player_page(self.place.suite, self.place.language, player), page)

    def conversation_href(self, cell: CellSummary, page: str) -> str:
        target = paths.conversation_page(self.place.suite, self.place.language, cell.player, cell.scene)
        return paths.relative(target, page)

    def scene_href(self, scene: str, page: str) -> str:
        return paths.relative(paths.scene_page(self.place.suite, self.place.language, scene), page)

    def side_href(self, kind: str, key: str, page: str) -> str:
        return paths.relative(paths.side_page(self.place.suite, self.place.language, kind, key), page)

    def name_of(self, player: str) -> str:
        """What a player is called."""
        return next((info.name for info in self.infos if info.player == player), player)

    # Pages

    def values(self, page: str) -> dict[str, Any]:
        """What every template of a board's page gets."""
        reading = paths.READING if self.has_reading else paths.METHOD
        return {
            **common(self.place, page),
            "crumbs": crumbs(self.place, page),
            "parts": self.parts(page),
            "reading": paths.relative(reading, page),
            "assets": paths.relative("assets/", page),
            "criteria": self.criteria,
            "rules": self.rules,
            "heat": self.rules.heat,
        }

    def parts(self, page: str) -> list[tuple[str, str, str]]:
        """Key, words and link of the board's own pages."""
        board = paths.relative(paths.board_page(self.place.suite, self.place.language), page)
        names = [name for name in paths.PARTS if name != "rank-maps" or self.lists]
        studies = [(key, words, paths.relative(target, page)) for key, words, target in self.studies]
        return [
            ("board", "Board", board),
            *((n, PART_TITLES[n], self.part(n, page)) for n in names),
            *studies,
        ]

    def made(
        self, path: str, kind: str, template: str, values: Mapping[str, Any], title: str, heading: str
    ) -> Page:
        """A page from its template."""
        content = self.pages.render(template, {**self.values(path), **values})
        return Page(path, kind, plain(title), bdi(" ".join(heading.split()), 200), content)

    def part_page(self, name: str, template: str, values: Mapping[str, Any]) -> Page:
        """One of the pages beside the board."""
        path = paths.board_part(self.place.suite, self.place.language, name)
        heading = f"{PART_TITLES[name]}: {self.title}"
        return self.made(path, "part", template, {"here": PART_TITLES[name], **values}, heading, heading)


def score_of(cell: CellSummary | None) -> float | None:
    """A conversation's score, where there is a conversation and it has one."""
    return None if cell is None else cell.score


def mean_of(cells: Iterable[CellSummary | None]) -> float | None:
    """The mean score of those that have one."""
    scores = [score for cell in cells if (score := score_of(cell)) is not None]
    return fmean(scores) if scores else None


def remarks(cell: CellSummary, score: str = "") -> str:
    """What went otherwise in a conversation, in words."""
    said = [score] if score else []
    if cell.state == "failed":
        said.append("the conversation failed")
    if cell.refusal:
        said.append("a judge saw a refusal")
    if cell.state == "unjudged":
        said.append("no judgement that counts")
    if cell.failed_judgements:
        said.append(f"{cell.failed_judgements} judgement{'s' if cell.failed_judgements > 1 else ''} failed")
    return ", ".join(said)
