"""Why a player has its rank: by criterion, against its neighbours, scene by scene, and by other scorings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from bench.scores.weights import EQUAL
from bench.site.board_table import weighting_label
from bench.site.cells import CellSummary
from bench.site.context import BoardContext
from bench.site.evidence import Pair
from bench.site.rescore_pages import POLICIES

NEIGHBOURS = 2
"""Players above and below to compare with."""
SCENES = 3
"""Best and worst scenes to show."""


@dataclass(frozen=True)
class CriterionPlace:
    """A player's place by one criterion alone."""

    criterion: str
    mean: float
    field: float
    """Mean over all players."""
    rank: int


@dataclass(frozen=True)
class Neighbour:
    """A player ranked just above or below."""

    player: str
    rank: int
    pair: Pair | None


@dataclass(frozen=True)
class FarScene:
    """A scene in which the player does much better or worse than the field."""

    cell: CellSummary
    apart: float


@dataclass(frozen=True)
class Part:
    """A player's mean over part of the scenes, beside all players' mean over the same scenes."""

    kind: str
    """kind, or character."""
    key: str
    name: str
    scenes: int
    mean: float
    field: float

    @property
    def apart(self) -> float:
        return self.mean - self.field


@dataclass(frozen=True)
class OtherRank:
    """A player's rank under another scoring. ``judge``: its id, if one judge alone scored."""

    words: str
    rank: int
    judge: str = ""


@dataclass(frozen=True)
class Why:
    """The reasons for a player's rank."""

    rank: int
    criteria: Sequence[CriterionPlace]
    neighbours: Sequence[Neighbour]
    worst: Sequence[FarScene]
    best: Sequence[FarScene]
    refused: Sequence[CellSummary]
    """Scenes without a score, because every judge saw a refusal."""
    parts: Sequence[Part]
    others: Sequence[OtherRank]

    @property
    def span(self) -> tuple[int, int]:
        """The best and worst rank under all scorings."""
        ranks = [self.rank, *(other.rank for other in self.others)]
        return min(ranks), max(ranks)


def why_of(context: BoardContext, player: str) -> Why | None:
    """The reasons for the rank of ``player``; None without a rank or other players, and for probes."""
    row = context.evidence.rows.get(player)
    if context.rules.probes or row is None or row.rank is None or len(context.board.rows) < 2:
        return None
    far = _far_scenes(context, player)
    cells = context.cells[player].values()
    return Why(
        rank=row.rank,
        criteria=_by_criterion(context, player),
        neighbours=_neighbours(context, player),
        worst=[scene for scene in far[:SCENES] if scene.apart < 0],
        best=[scene for scene in far[: -SCENES - 1 : -1] if scene.apart > 0],
        refused=[cell for cell in cells if cell.refusal and cell.score is None],
        parts=_parts(context, player),
        others=list(_others(context, player)),
    )


def _by_criterion(context: BoardContext, player: str) -> list[CriterionPlace]:
    places = []
    for name in context.board.criteria:
        means = {row.player: row.criteria[name] for row in context.board.rows if name in row.criteria}
        if player in means:
            rank = 1 + sum(round(other, 2) > round(means[player], 2) for other in means.values())
            places.append(CriterionPlace(name, means[player], fmean(means.values()), rank))
    return places


def _neighbours(context: BoardContext, player: str) -> list[Neighbour]:
    rows = [row for row in context.board.rows if row.rank is not None]
    at = next(n for n, row in enumerate(rows) if row.player == player)
    pairs = context.evidence.pairs.get(player, {})
    near = [*rows[max(0, at - NEIGHBOURS) : at], *rows[at + 1 : at + 1 + NEIGHBOURS]]
    return [Neighbour(row.player, row.rank or 0, pairs.get(row.player)) for row in near]


def _far_scenes(context: BoardContext, player: str) -> list[FarScene]:
    """All scenes with a score, the worst against the field first."""
    if len(context.infos) < 2:
        return []
    cells = context.cells[player]
    found = [FarScene(cells[scene], apart) for scene, apart in context.apart(player).items()]
    return sorted(found, key=lambda far: (far.apart, far.cell.scene))


def _parts(context: BoardContext, player: str) -> list[Part]:
    """By kind of situation, then by character unless each has a scene of its own."""
    if context.by_item and len(context.characters) < 2:
        return []
    kinds = context.evidence.kinds
    names = {side.id: side for side in context.characters}
    groups: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for scene, cell in context.cells[player].items():
        if cell.score is None or scene not in context.scene_means:
            continue
        scores = (cell.score, context.scene_means[scene])
        if cell.situation in kinds:
            kind = kinds[cell.situation]
            groups.setdefault(("kind", kind, kind), []).append(scores)
        if cell.character in names:
            side = names[cell.character]
            groups.setdefault(("character", side.key, side.name), []).append(scores)
    made = [
        Part(*group, len(scores), fmean(own for own, _ in scores), fmean(field for _, field in scores))
        for group, scores in groups.items()
    ]
    several = {kind for kind in ("kind", "character") if sum(part.kind == kind for part in made) > 1}
    return sorted(
        (part for part in made if part.kind in several),
        key=lambda part: (part.kind != "kind", part.apart, part.key),
    )


def _others(context: BoardContext, player: str) -> Iterable[OtherRank]:
    row = context.evidence.rows[player]
    if row.robust is not None:
        yield OtherRank("robust scoring: refusals count as the lowest score", row.robust.rank)
    for policy, words in POLICIES:
        rank = context.evidence.policies.get(policy, {}).get(player)
        if rank is not None:
            yield OtherRank(f"refusals {words}", rank)
    for name, scores in row.weightings.items():
        if name != EQUAL and scores.rank is not None:
            yield OtherRank(weighting_label(name), scores.rank)
    for judge, weightings in context.evidence.by_judge.items() if len(context.board.judges) > 1 else ():
        alone = weightings.get(EQUAL, {}).get(player)
        if alone is not None and alone.rank is not None:
            yield OtherRank("judged alone by", alone.rank, judge)
