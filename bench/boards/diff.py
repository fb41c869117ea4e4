"""What changed on a board since a commit: its players and records, and which scores and ranks moved, and why.

A move is split into steps. Each step changes one thing and recomputes the whole board, so the steps of a
player add up to its move.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import pandas as pd

from bench.boards.git import GitCommit, Repository, repository_of
from bench.boards.life import rename_player
from bench.boards.loading import load_board
from bench.boards.past import NOWHERE, PastBoard, Place, past_board
from bench.boards.rating import ranked_scores
from bench.boards.record_changes import PlayerChange, look_alikes, player_changes
from bench.boards.versions import version_link
from bench.errors import RecordError, UserError
from bench.records import SCHEMA_VERSION, Record
from bench.results import ResultsTree
from bench.results.events import Events
from bench.scores.digits import known
from bench.scores.frame import Frames, load
from bench.scores.linking import VersionLink
from bench.slugs import slug
from bench.suites import Suite
from bench.suites.layers import Prompts

CAUSES = {
    "scoring": "this program computes another number from the same evidence",
    "judges": "other judges count",
    "reruns": "the player's own records changed",
    "others": "records of other players changed, which moves the median length and the ranks",
    "players": "players were added or removed, which moves the median length and the ranks",
}
"""Why a score or rank moved, in words. The order is that of the columns."""
_STEPS = ("scoring", "judges", "reruns", "players", "judges")
"""The cause of each step from the published board to the current one. The judges change in two steps: those
that left are taken away first, those that came are added last."""


class Move(Record):
    """How far a player's score and rank moved for one cause; null if it cannot be known."""

    score: float | None
    rank: int | None
    """Negative: up the board."""


class PlayerMove(Record):
    """The move of a player that is on both boards."""

    player: str
    name: str
    before: Place
    after: Place
    causes: dict[str, Move]
    """By cause (a key of CAUSES), those that moved the score or the rank."""


class Renamed(Record):
    """A player that has another id than before."""

    player: str
    was: str


class BoardDiff(Record):
    """What changed on a board since a commit."""

    schema_version: int = SCHEMA_VERSION
    suite: str
    language: str
    since: str
    """Hash of the commit."""
    since_date: str
    since_title: str
    versions: tuple[str, str]
    """Version of the suite then and now."""
    judges_added: tuple[str, ...]
    judges_removed: tuple[str, ...]
    players: tuple[PlayerChange, ...]
    """Players that were added, removed or rerun."""
    renamed: tuple[Renamed, ...]
    """Players whose id `bench rename` has changed."""
    alike: tuple[Renamed, ...]
    """An added and a removed player with the same conversations: perhaps one, renamed by hand."""
    added: dict[str, Place]
    """Rank and score now of each player that is new on the board."""
    moves: tuple[PlayerMove, ...]
    """Players on both boards whose score or rank moved, the best first."""
    unmoved: int
    """Players on both boards that did not move."""
    reason: str | None
    """Why scores were not compared; null if they were."""
    link: VersionLink | None = None
    """Where the version of the suite changed: how the scores of the two versions compare."""


N = TypeVar("N", int, float)
Places = Mapping[str, Place] | None
"""The places of all players of a board; None if the board cannot be computed."""


@dataclass(frozen=True)
class _Then:
    """The board as it was in a commit."""

    commit: GitCommit
    tree: ResultsTree
    frames: Frames
    published: PastBoard | None
    renamed: tuple[Renamed, ...]


def board_diff(
    tree: ResultsTree,
    suite: str,
    language: str,
    since: str,
    *,
    prompts: Mapping[str, Suite] | Prompts = "prompts",
) -> BoardDiff:
    """Compare a board with what it was in the commit ``since``.

    Args:
        tree: The results, inside a git work tree.
        suite, language: The board.
        since: Any name of a commit that git knows.
        prompts: As for :func:`bench.boards.loading.load_board`.

    Raises:
        UserError: There is no git history, no such commit, or it does not hold this board.
        RecordError: A record is damaged, now or in the commit.
    """
    repository = repository_of(tree.root)
    commit = repository.commit(since)
    with tempfile.TemporaryDirectory(prefix="dramaturg-") as folder:
        then = _board_then(repository, commit, Path(folder), tree, suite, language)
        now = load(tree, suite, language)
        try:
            changes = player_changes(then.tree, tree, suite, language)
            alike = look_alikes(changes, then.tree, tree, suite, language)
        except RecordError as error:
            raise _in_commit(error, folder, commit) from None
        counting = now
        if now.players:
            counting = load_board(tree, suite, language, prompts=prompts, frames=now).frames
        judges = then.published.judges if then.published else then.frames.judges
        link = None
        if then.frames.version and now.version and then.frames.version != now.version:
            link = version_link((then.tree, then.frames.only_judges(judges)), (tree, counting))
    reason = _incomparable(then.frames, now)
    steps = [] if reason else _steps(then, judges, now, counting)
    moves = [] if reason else _moves(steps, counting, changes)
    after = (steps[-1] or {}) if steps else _places(counting) or {}
    on_both = then.frames.names if not then.published else list(then.published.places)
    return BoardDiff(
        suite=suite,
        language=language,
        since=commit.sha,
        since_date=commit.date,
        since_title=commit.title,
        versions=(then.frames.version, now.version),
        judges_added=tuple(judge for judge in counting.judges if judge not in judges),
        judges_removed=tuple(judge for judge in judges if judge not in counting.judges),
        players=tuple(changes),
        renamed=then.renamed,
        alike=tuple(Renamed(player=player, was=was) for was, player in alike),
        added={name: after.get(name, NOWHERE) for name in counting.names if name not in on_both},
        moves=tuple(move for move in moves if move.before != move.after),
        unmoved=sum(move.before == move.after for move in moves),
        reason=reason,
        link=link,
    )


def boards_then(tree: ResultsTree, suite: str, since: str) -> list[str]:
    """The languages of a suite in the commit ``since``. Raises UserError as :func:`board_diff`."""
    if tree.is_table(suite):
        hint = "`git log --patch` shows what changed in its source.toml."
        raise UserError("published scores have no records to compare", where=suite, hint=hint)
    repository = repository_of(tree.root)
    files = repository.files(repository.commit(since), slug(suite))
    return sorted({path.partition("/")[0] for path in files if path.endswith("/player.json")})


def _board_then(
    repository: Repository, commit: GitCommit, folder: Path, now: ResultsTree, suite: str, language: str
) -> _Then:
    """The board of a commit, written to ``folder``. Its players have the ids that they have ``now``."""
    place = f"{slug(suite)}/{slug(language)}"
    files = repository.files(commit, place)
    if not any(name.endswith("/player.json") for name in files):
        raise UserError(
            f"no results of suite {suite!r} in language {language!r} in commit {commit.short}",
            where=str(repository.top),
            hint=f"Name a later one: `git log --oneline -- {repository.results / place}` lists them.",
        )
    repository.write_files(files, folder / place)
    tree = ResultsTree(folder)
    board = folder / place / "board.json"
    published = past_board(board.read_bytes()) if board.is_file() else None
    try:
        events = Events(events=tree.events(suite, language))
        renames = Events(events=now.events(suite, language)).renames_since(events)
        renamed: dict[str, str] = {}
        for player, to in renames:
            players = {info.player for info in tree.players(suite, language)}
            if player in players and to not in players:
                rename_player(tree, suite, player, to, "renamed since", languages=[language])
                published = published.renamed(player, to) if published else None
                renamed[to] = renamed.pop(player, player)
        frames = load(tree, suite, language)
    except RecordError as error:
        raise _in_commit(error, str(folder), commit) from None
    if published is not None:
        frames = frames.only_players(published.places)
    changed = tuple(Renamed(player=to, was=was) for to, was in renamed.items() if was != to)
    return _Then(commit, tree, frames, published, changed)


def _in_commit(error: RecordError, folder: str, commit: GitCommit) -> RecordError:
    """``error``, naming the commit instead of the temporary folder that its files were written to."""
    if folder not in error.where:
        return error
    where = error.where.replace(folder, f"commit {commit.short}, results")
    return RecordError(error.what, where=where, hint="Name a later commit with --since.")


def _incomparable(then: Frames, now: Frames) -> str | None:
    """Why the scores of two states of a board cannot be compared; None if they can."""
    for what, old, new in (
        ("version", then.version, now.version),
        ("protocol", then.protocol, now.protocol),
        ("criteria", ", ".join(then.criteria), ", ".join(now.criteria)),
    ):
        if old and new and old != new:
            return f"the suite's {what} changed from {old} to {new}"
    if then.scores.empty or now.scores.empty:
        return f"nothing was scored {'then' if then.scores.empty else 'now'}"
    return None


def _steps(then: _Then, judges: tuple[str, ...], now: Frames, counting: Frames) -> list[Places]:
    """The published places, then those after each of _STEPS; None where a board cannot be computed."""
    kept = [judge for judge in judges if judge in now.judges]
    old, old_kept, new_kept = then.frames, then.frames.only_judges(kept), now.only_judges(kept)
    both = [player for player in now.names if player in old.names]
    rerun = joined(new_kept.only_players(both), old_kept.only_players(set(old.names) - set(both)))
    return [
        then.published.places if then.published else None,
        _places(old.only_judges(judges)),
        _places(old_kept),
        _places(rerun),
        _places(new_kept.only_players(counting.names)),
        _places(counting),
    ]


def joined(first: Frames, second: Frames) -> Frames:
    """The evidence of two sets of players on one board."""
    tables = {
        name: pd.concat([getattr(first, name), getattr(second, name)], ignore_index=True)
        for name in ("scores", "judgements", "conversations")
    }
    return replace(first, players=(*first.players, *second.players), **tables)


def _places(frames: Frames) -> dict[str, Place] | None:
    """The rank and score of every player, by the paper's scoring; None if nothing is scored."""
    if frames.counting.empty:
        return None
    table = ranked_scores(frames)[["rank", "length_norm_score"]]
    return {
        str(player): NOWHERE if pd.isna(rank) else Place(rank=rank, score=score)
        for player, rank, score in table.itertuples(name=None)
    }


def _moves(steps: list[Places], now: Frames, changes: list[PlayerChange]) -> list[PlayerMove]:
    """The moves of the players that are on the first and the last board, best first."""
    first = steps[0] if steps[0] is not None else steps[1]
    last = steps[-1]
    if first is None or last is None:
        return []
    rerun = {change.player for change in changes if change.change == "rerun"}
    names = {info.player: info.name for info in now.players}
    moves = []
    for player, after in last.items():
        if player in first:
            places = [None if step is None else step.get(player, NOWHERE) for step in steps]
            causes = _causes(places, own=player in rerun)
            moves.append(
                PlayerMove(
                    player=player, name=names[player], before=first[player], after=after, causes=causes
                )
            )
    return moves


def _causes(places: list[Place | None], *, own: bool) -> dict[str, Move]:
    """The move for each cause. ``own``: the player's own records changed.

    A step is unknown if one of its two boards cannot be computed. Where the published board is missing,
    the scoring is taken to be the same.
    """
    sums: dict[str, Move] = {}
    for cause, before, after in zip(_STEPS, places[:-1], places[1:], strict=True):
        if cause == "scoring" and before is None:
            continue
        name = "others" if cause == "reruns" and not own else cause
        step = Move(
            score=None if before is None or after is None else _minus(after.score, before.score),
            rank=None if before is None or after is None else _minus(after.rank, before.rank),
        )
        sums[name] = _plus(sums.get(name, Move(score=0.0, rank=0)), step)
    return {name: sums[name] for name in CAUSES if name in sums and sums[name] != Move(score=0.0, rank=0)}


def _plus(first: Move, second: Move) -> Move:
    score = None if first.score is None or second.score is None else first.score + second.score
    rank = None if first.rank is None or second.rank is None else first.rank + second.rank
    return Move(score=known(score), rank=rank)


def _minus(after: N | None, before: N | None) -> N | None:
    if after is None or before is None:
        return 0 if after == before else None
    return after - before
