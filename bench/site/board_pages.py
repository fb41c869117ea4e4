"""All pages of one board: the board itself, its players, its scenes, its conversations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import Any

from markupsafe import Markup

from bench.records import Conversation, Judgement, PlayerInfo, Scene
from bench.results import ResultsTree
from bench.scores.board import Board, BoardRow
from bench.site import paths
from bench.site.cells import CellSummary, summarise
from bench.site.charts import Axis
from bench.site.labels import SuiteLabel, language_name
from bench.site.render import Pages
from bench.site.talk import criteria_order, label, talk_of
from bench.site.text import bdi, plain
from bench.slugs import slug

FEW = 12
"""Up to so many players, a conversation page links each one's conversation of the same scene itself."""


@dataclass(frozen=True)
class BoardPlace:
    """A board's coordinates and what its suite is called."""

    suite: str
    language: str
    label: SuiteLabel


@dataclass(frozen=True)
class Page:
    """A generated page: where it goes, in which kind of shell, and what fills it."""

    path: str
    kind: str
    title: str
    heading: Markup
    content: str


@dataclass(frozen=True)
class Link:
    href: str
    text: str


@dataclass(frozen=True)
class Named:
    """A character or situation: its slug and what it is called."""

    key: str
    name: str


class BoardPages:
    """Makes the pages of one board, reading one player's records at a time."""

    def __init__(
        self, tree: ResultsTree, place: BoardPlace, board: Board, pages: Pages, source_url: str = ""
    ) -> None:
        self.tree = tree
        self.place = place
        self.board = board
        self.conversations = 0
        self.indexed: list[tuple[str, str]] = []
        """(path, title) of the pages that search finds."""
        self._pages = pages
        self._source = source_url.rstrip("/")
        self._rows = {row.player: row for row in board.rows}
        self._criteria = criteria_order(board.criteria)
        self._infos = {info.player: info for info in tree.players(place.suite, place.language)}
        self._cells: dict[str, dict[str, CellSummary]] = {}
        self._scenes: dict[str, Scene] = {}

    def pages(self) -> Iterator[Page]:
        """Every page; conversations first, since the others are summaries of them."""
        for info in self._infos.values():
            yield from self._player_conversations(info)
        characters, situations = self._axes()
        yield self._board_page(characters, situations)
        for info in self._infos.values():
            yield self._player_page(info, characters, situations)
        for scene in sorted(self._scenes):
            yield self._scene_page(scene)

    # Conversations

    def _player_conversations(self, info: PlayerInfo) -> Iterator[Page]:
        place = self.place
        judgements: dict[str, list[Judgement]] = {}
        for judgement in self.tree.judgements(place.suite, place.language, info.player):
            scene = paths.scene_name(judgement.character, judgement.situation)
            judgements.setdefault(scene, []).append(judgement)
        talks = list(self.tree.conversations(place.suite, place.language, info.player))
        cells = [summarise(c, judgements.get(paths.scene_name(c.character, c.situation), [])) for c in talks]
        self._cells[info.player] = {cell.scene: cell for cell in cells}
        for n, (talk, cell) in enumerate(zip(talks, cells, strict=True)):
            self._scenes.setdefault(cell.scene, talk.scene)
            before = cells[n - 1] if n else None
            after = cells[n + 1] if n + 1 < len(cells) else None
            yield self._conversation_page(info, talk, cell, judgements.get(cell.scene, []), before, after)
        self.conversations += len(talks)

    def _conversation_page(
        self,
        info: PlayerInfo,
        talk: Conversation,
        cell: CellSummary,
        judgements: list[Judgement],
        before: CellSummary | None,
        after: CellSummary | None,
    ) -> Page:
        page = self._conversation_path(cell)
        scene_page = paths.scene_page(self.place.suite, self.place.language, cell.scene)
        player_page = paths.player_page(self.place.suite, self.place.language, info.player)
        here = f"{cell.character_name}, {cell.situation_title}"
        content = self._pages.render(
            "conversation",
            {
                **self._common(page),
                "crumbs": [*self._crumbs(page), Link(paths.relative(player_page, page), info.name)],
                "here": here,
                "lang": self.place.language,
                "info": info,
                "player_href": paths.relative(player_page, page),
                "conversation": talk,
                "summary": cell,
                "talk": talk_of(talk, judgements),
                "previous": self._step(before, page),
                "following": self._step(after, page),
                "scene_href": paths.relative(scene_page, page),
                "others": self._others(info, talk, cell, page),
                "records": [self._record(self.tree.conversation_path(talk))]
                + [self._record(self.tree.judgement_path(talk, j.judge)) for j in judgements],
            },
        )
        return self._page(page, "conversation", f"{here}: {info.name}", here, content)

    def _step(self, cell: CellSummary | None, page: str) -> Link | None:
        if cell is None:
            return None
        href = paths.relative(self._conversation_path(cell), page)
        return Link(href, f"{cell.character_name}, {cell.situation_title}")

    def _others(self, info: PlayerInfo, talk: Conversation, cell: CellSummary, page: str) -> list[Link]:
        """The same scene by the other players, where they are few."""
        if len(self._infos) > FEW:
            return []
        links = []
        for other in self._infos.values():
            twin = talk.model_copy(update={"player": other.player})
            if other.player != info.player and self.tree.conversation_path(twin).exists():
                target = paths.conversation_page(
                    self.place.suite, self.place.language, other.player, cell.scene
                )
                links.append(Link(paths.relative(target, page), other.name))
        return links

    # The board, players, scenes

    def _board_page(self, characters: list[Named], situations: list[Named]) -> Page:
        place = self.place
        page = paths.board_page(place.suite, place.language)
        rows = [self._row(row, page) for row in self.board.rows]
        axis = Axis.around(
            (row.length_norm_score, row.length_norm_ci or 0.0)
            for row in self.board.rows
            if row.length_norm_score is not None
        )
        content = self._pages.render(
            "board",
            {
                **self._common(page),
                "version": self.board.version,
                "rows": rows,
                "columns": _columns(self._criteria),
                "axis": axis,
                "situations": situations,
                "scenes": [(c, self._mean_cells(c, situations, page)) for c in characters],
            },
        )
        title = f"{plain(place.label.title)}, {language_name(place.language)}"
        self.indexed.append((page, f"Board: {title}"))
        return self._page(page, "board", title, title, content)

    def _mean_cells(self, character: Named, situations: list[Named], page: str) -> list[dict[str, Any]]:
        """A row of the table of scenes."""
        cells = []
        for situation in situations:
            scene = f"{character.key}.{situation.key}"
            scores = [
                cell.score
                for found in self._cells.values()
                if (cell := found.get(scene)) is not None and cell.score is not None
            ]
            target = paths.scene_page(self.place.suite, self.place.language, scene)
            cells.append(
                {
                    "situation": situation.name,
                    "score": fmean(scores) if scores else None,
                    "href": paths.relative(target, page) if scene in self._scenes else "",
                }
            )
        return cells

    def _player_page(self, info: PlayerInfo, characters: list[Named], situations: list[Named]) -> Page:
        page = paths.player_page(self.place.suite, self.place.language, info.player)
        cells = self._cells[info.player]
        row = self._rows.get(info.player)
        path = self.tree.player_folder(self.place.suite, self.place.language, info.player) / "player.json"
        record = self._record(path)
        content = self._pages.render(
            "player",
            {
                **self._common(page),
                "crumbs": self._crumbs(page),
                "info": info,
                "row": None if row is None else self._row(row, page),
                "players": len(self.board.rows),
                "criteria": self._criteria,
                "situations": situations,
                "matrix": [self._matrix_row(c, situations, cells, page) for c in characters],
                "situation_means": [
                    _mean(cells.get(f"{c.key}.{s.key}") for c in characters) for s in situations
                ],
                "by_turn": _by_turn(cells.values()),
                "sampling": json.dumps(info.sampling, sort_keys=True, ensure_ascii=False),
                "cost": None if row is None else _decimal(row.cost),
                "record": record.text,
                "source": record.href,
            },
        )
        place = f"{plain(self.place.label.title)}, {language_name(self.place.language)}"
        self.indexed.append((page, f"{info.name} ({place})"))
        return self._page(page, "conversation", f"{info.name}: {place}", info.name, content)

    def _matrix_row(
        self, character: Named, situations: list[Named], cells: dict[str, CellSummary], page: str
    ) -> tuple[Named, list[dict[str, Any]], float | None]:
        row = []
        for situation in situations:
            cell = cells.get(f"{character.key}.{situation.key}")
            shown: dict[str, Any] = {"summary": cell, "situation": situation.name}
            if cell is not None:
                shown |= {"href": paths.relative(self._conversation_path(cell), page), **_in_short(cell)}
            row.append(shown)
        return character, row, _mean(cells.get(f"{character.key}.{s.key}") for s in situations)

    def _scene_page(self, scene: str) -> Page:
        page = paths.scene_page(self.place.suite, self.place.language, scene)
        told = self._scenes[scene]
        found = [
            (info, cells[scene])
            for info in self._infos.values()
            if scene in (cells := self._cells[info.player])
        ]
        found.sort(key=lambda pair: (pair[1].score is None, -(pair[1].score or 0), pair[0].player))
        here = f"{told.character_name}, {told.situation_title}"
        content = self._pages.render(
            "scene",
            {
                **self._common(page),
                "crumbs": self._crumbs(page),
                "here": here,
                "scene": told,
                "rows": [
                    {
                        "href": paths.relative(self._conversation_path(cell), page),
                        "name": info.name,
                        "weights": info.weights,
                        "summary": cell,
                        "remarks": _remarks(cell),
                    }
                    for info, cell in found
                ],
            },
        )
        return self._page(page, "scene", here, here, content)

    # What pages share

    def _common(self, page: str) -> dict[str, Any]:
        return {
            "suite": self.place.label,
            "language": self.place.language,
            "about": paths.relative(paths.DEMONSTRATION, page),
            "method": paths.relative(paths.METHOD, page),
        }

    def _crumbs(self, page: str) -> list[Link]:
        board = paths.board_page(self.place.suite, self.place.language)
        title = f"{self.place.label.title}, {language_name(self.place.language)}"
        return [
            Link(paths.relative(paths.BOARDS, page), "Boards"),
            Link(paths.relative(board, page), title),
        ]

    def _page(self, path: str, kind: str, title: str, heading: str, content: str) -> Page:
        return Page(path, kind, plain(title), bdi(" ".join(heading.split()), 200), content)

    def _conversation_path(self, cell: CellSummary) -> str:
        return paths.conversation_page(self.place.suite, self.place.language, cell.player, cell.scene)

    def _record(self, path: Path) -> Link:
        """A record's path as the repository has it, with a link where the source can be browsed."""
        inside = path.relative_to(self.tree.root).as_posix()
        return Link(f"{self._source}/{inside}" if self._source else "", f"results/{inside}")

    def _row(self, row: BoardRow, page: str) -> dict[str, Any]:
        target = paths.player_page(self.place.suite, self.place.language, row.player)
        return {
            **row.model_dump(exclude={"criteria", "weightings"}),
            "criteria": [row.criteria.get(name) for name in self._criteria],
            "href": paths.relative(target, page),
        }

    def _axes(self) -> tuple[list[Named], list[Named]]:
        """All characters and situations that any player of the board met."""
        characters: dict[str, str] = {}
        situations: dict[str, str] = {}
        for cells in self._cells.values():
            for cell in cells.values():
                characters.setdefault(slug(cell.character), cell.character_name)
                situations.setdefault(slug(cell.situation), cell.situation_title)
        return _named(characters), _named(situations)


def _named(found: dict[str, str]) -> list[Named]:
    return [Named(key, found[key]) for key in sorted(found)]


def _mean(cells: Iterable[CellSummary | None]) -> float | None:
    scores = [cell.score for cell in cells if cell is not None and cell.score is not None]
    return fmean(scores) if scores else None


def _in_short(cell: CellSummary) -> dict[str, str]:
    """What a matrix cell shows, its mark, and the words for both."""
    score = None if cell.score is None else f"{cell.score:.1f}"
    short = "✕" if cell.state == "failed" else score or ("R" if cell.refusal else "?")
    mark = "R" if cell.refusal and score else "J" if cell.failed_judgements else ""
    return {"short": short, "mark": mark, "said": _remarks(cell, score or "")}


def _remarks(cell: CellSummary, score: str = "") -> str:
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


def _by_turn(cells: Iterable[CellSummary]) -> list[dict[str, Any]]:
    turns: dict[int, list[float]] = {}
    for cell in cells:
        for turn, score in cell.criteria_by_turn:
            turns.setdefault(turn, []).append(score)
    return [{"number": t, "score": fmean(s), "count": len(s)} for t, s in sorted(turns.items())]


def _decimal(cost: str | None) -> Decimal | None:
    return None if cost is None else Decimal(cost)


def _columns(criteria: list[str]) -> list[dict[str, Any]]:
    """The board's columns, in order; ``sort`` is the kind of value that a column holds."""
    columns: list[tuple[str, str, bool, str, str]] = [
        ("rank", "Rank", True, "number", "Players within 0.06 of the leader of a group share its rank"),
        ("name", "Model", False, "text", ""),
        ("interval", "Interval", False, "number", "Length-normalised score with its 95% interval"),
        ("length_norm_score", "Score, length-normalised", True, "number", "Boards are sorted by it"),
        ("score", "Score", True, "number", "Mean of the criteria, before length normalisation"),
        *((name, label(name), True, "number", "Mean over conversations, 1 to 5") for name in criteria),
        ("refusal_ratio", "Refusals", True, "number", "Share of conversations with a refusal"),
        ("avg_length", "Length", True, "number", "Mean length of an answer in characters"),
        ("conversations", "Conversations", True, "number", "Complete conversations"),
        ("judgements_failed", "Failed", True, "number", "Judgements that failed"),
    ]
    names = ("key", "title", "numeric", "sort", "help")
    return [dict(zip(names, column, strict=True)) for column in columns]
