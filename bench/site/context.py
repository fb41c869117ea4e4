"""Everything that the pages of one board are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bench.boards.history import BoardChange
from bench.protocol_facts import facts_of
from bench.records import PlayerInfo, Scene
from bench.results import ResultsTree
from bench.results.events import Event
from bench.scores.board import Board
from bench.scores.external import Alias, Published
from bench.scores.frame import Frames
from bench.scores.player_measures import PlayerMeasures
from bench.site import paths
from bench.site.cells import CellSummary
from bench.site.evidence import BoardEvidence
from bench.site.paths import Links
from bench.site.places import BoardPlace, common
from bench.site.render import Pages
from bench.site.scoring import BoardRules
from bench.site.shell import Page
from bench.site.text import plain
from bench.slugs import slug

if TYPE_CHECKING:
    from bench.site.chart_pages import ShownChart

LEAST_CHARTED = 3
"""Players that a chart needs: with fewer, the table says as much."""


@dataclass(frozen=True)
class Named:
    """A character or situation: its slug, id and name."""

    key: str
    id: str
    name: str


@dataclass(frozen=True)
class BoardContext:
    """One board: its evidence, its players and the summaries of their conversations."""

    tree: ResultsTree
    place: BoardPlace
    frames: Frames | None
    """All evidence, also of judges that the suite does not count; None on sites without human studies."""
    evidence: BoardEvidence
    infos: Sequence[PlayerInfo]
    cells: Mapping[str, Mapping[str, CellSummary]]
    """Player, then scene."""
    measures: Mapping[str, PlayerMeasures]
    """What each player's texts show without a judge."""
    texts: Mapping[str, Scene]
    """What the sides of each scene were told, from its first player's conversation."""
    pages: Pages
    source_url: str = ""
    site_url: str = ""
    siblings: Mapping[str, BoardEvidence] = field(default_factory=dict)
    """All boards of the suite, including this one, by language."""
    lists: Sequence[Published] = ()
    """Lists of other benchmarks that share enough models for a rank map."""
    aliases: Sequence[Alias] = ()
    studies: Sequence[tuple[str, str, str]] = ()
    """Human studies of this board: key, title and page of each."""
    changes: Sequence[BoardChange] | None = None
    """What commits changed on the board, newest first; None without a git history."""
    written: Collection[str] = ()
    """Paths of the hand-written pages that there are."""

    @property
    def board(self) -> Board:
        return self.evidence.board

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """Players that were removed or renamed, oldest first."""
        return self.tree.events(self.place.suite, self.place.language)

    @cached_property
    def separated(self) -> set[tuple[str, str]] | None:
        """(better, worse) of every pair that differs significantly; None if no pairs were compared."""
        if not self.evidence.pairs:
            return None
        return {
            (player, other)
            for player, others in self.evidence.pairs.items()
            for other, pair in others.items()
            if pair.separated and pair.difference > 0
        }

    @cached_property
    def rules(self) -> BoardRules:
        """How the board's protocol scores."""
        return BoardRules.of(self.board.protocol)

    @cached_property
    def by_item(self) -> bool:
        """Whether every situation belongs to one character, as items of a data set do, or is a probe. Such
        boards have a list of items in place of a matrix."""
        if facts_of(self.board.protocol).rule_judge or not self.has_sides:
            return True
        return len(self.characters) > 1 and len(self.scenes) == len(self.situations)

    @cached_property
    def has_sides(self) -> bool:
        """Whether the characters and situations are known; of published scores, only the scenes may be."""
        return all(cell.character for cell in self.scenes.values())

    @property
    def published(self) -> bool:
        """Whether only the scores are known, which another project published."""
        return self.place.label.source is not None

    @cached_property
    def title(self) -> str:
        return plain(self.place.title)

    @cached_property
    def scenes(self) -> dict[str, CellSummary]:
        """Every scene that any player has, with its first player's conversation."""
        scenes: dict[str, CellSummary] = {}
        for cells in self.cells.values():
            for scene, cell in cells.items():
                scenes.setdefault(scene, cell)
        return {scene: scenes[scene] for scene in sorted(scenes, key=by_number)}

    @cached_property
    def characters(self) -> list[Named]:
        cells = self.scenes.values() if self.has_sides else ()
        return _sides((cell.character, cell.character_name) for cell in cells)

    @cached_property
    def situations(self) -> list[Named]:
        cells = self.scenes.values() if self.has_sides else ()
        return _sides((cell.situation, cell.situation_title) for cell in cells)

    @cached_property
    def scene_means(self) -> dict[str, float]:
        """Scene to the mean score of all players that have a score there."""
        means = self.evidence.scene_means
        return {
            scene: means[cell.character, cell.situation]
            for scene, cell in self.scenes.items()
            if (cell.character, cell.situation) in means
        }

    def apart(self, player: str) -> dict[str, float]:
        """Scene to a player's score minus the mean of all players, where both are known."""
        return {
            scene: cell.score - self.scene_means[scene]
            for scene, cell in self.cells[player].items()
            if cell.score is not None and scene in self.scene_means
        }

    @cached_property
    def best(self) -> dict[str, CellSummary]:
        """Scene to the conversation with the highest score; of equal scores, the first player's."""
        best: dict[str, CellSummary] = {}
        for scene in self.scenes:
            scored = [c for cells in self.cells.values() if (c := cells.get(scene)) and c.score is not None]
            if scored:
                best[scene] = min(scored, key=lambda cell: (-(cell.score or 0), cell.player))
        return best

    @cached_property
    def names(self) -> dict[str, str]:
        """Player to its name."""
        return {info.player: info.name for info in self.infos}

    @cached_property
    def charts(self) -> Sequence[ShownChart]:
        """The board's charts, drawn once for its page and its files."""
        from bench.site.chart_pages import shown_charts  # loads matplotlib

        return shown_charts(self) if len(self.infos) >= LEAST_CHARTED else ()

    @cached_property
    def picture(self) -> str:
        """Path of the chart that stands for the board; empty without charts."""
        from bench.site.chart_pages import picture  # loads matplotlib

        name = picture(self) if len(self.infos) >= LEAST_CHARTED else ""
        return name and self.links().file(name)

    def links(self, page: str = "") -> Links:
        """Links of ``page`` to the pages of this board; without a page, their paths in the site."""
        return self.place.links(page)

    @property
    def part_titles(self) -> dict[str, str]:
        """The pages beside the board, with their titles."""
        if self.rules.probes:
            return paths.PROBE_PARTS
        without = set() if self.lists else {"rank-maps"}
        if not self.evidence.pairs:
            without.add("wins")
        if not self.evidence.scores:
            without.add("rescore")
        if self.evidence.rating is None:
            without.add("head-to-head")
        if self.published:
            without |= paths.OF_CONVERSATIONS
        return {key: title for key, (title, _) in paths.PARTS.items() if key not in without}

    def parts(self, page: str) -> list[tuple[str, str, str]]:
        """Key, title and link of the board's own pages."""
        to = self.links(page)
        found = [
            ("board", "Board", to.board()),
            *((key, title, to.part(key)) for key, title in self.part_titles.items()),
            *((key, title, to.path(target)) for key, title, target in self.studies),
        ]
        if paths.SEARCH in self.written and not self.published:
            here = f"{to.path(paths.SEARCH)}?in={self.place.language}/{self.place.suite}"
            found.append(("search", "Search", here))
        return found

    def page(
        self,
        path: str,
        kind: str,
        template: str,
        values: Mapping[str, Any],
        title: str,
        heading: str,
        about: str,
    ) -> Page:
        """A page from its template. ``values``: what the template needs beyond what every page gets."""
        to = self.links(path)
        every = {
            **common(self.place, path),
            "parts": self.parts(path),
            "reading": to.path(paths.READING if paths.READING in self.written else paths.METHOD),
            "assets": to.path("assets/"),
            "criteria": self.board.criteria,
            "rules": self.rules,
            "heat": self.rules.heat,
            "names": self.names,
            "has_sides": self.has_sides,
        }
        content = self.pages.render(template, {**every, **values})
        return Page(path, kind, title, heading, content, about, self.picture)

    def part_page(self, name: str, values: Mapping[str, Any], template: str = "") -> Page:
        """One of the pages beside the board, from ``template`` or else the template of the same name."""
        title = self.part_titles[name]
        heading = f"{title}: {self.title}"
        every = {"here": title, **values}
        about = f"{paths.PARTS[name][1]}: {self.title}."
        path = self.links().part(name)
        return self.page(path, "part", template or name, every, heading, heading, about)


def by_number(scene: str) -> tuple[int, str]:
    """Scenes that are called by numbers come in the order of these."""
    return (int(scene) if scene.isdecimal() else -1, scene)


def _sides(names: Iterable[tuple[str, str]]) -> list[Named]:
    known = dict(names)
    often = Counter(known.values())
    sides = {
        slug(ident): Named(slug(ident), ident, f"{name} ({ident})" if often[name] > 1 else name)
        for ident, name in known.items()
    }
    return [sides[key] for key in sorted(sides)]
