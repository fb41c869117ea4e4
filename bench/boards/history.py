"""How a published board changed from commit to commit, as far as git knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.boards.git import GitCommit, Repository, repository_of
from bench.boards.past import PastBoard, Place, past_board, past_events
from bench.errors import UserError
from bench.results import ResultsTree
from bench.results.events import EVENTS_FILE, Events
from bench.slugs import slug

MOST_COMMITS = 50
"""Commits of a board that are read, the latest first."""
_RECORDS = ("conversations", "judgements")


@dataclass(frozen=True)
class Moved:
    """A player on both boards whose rank or score has changed."""

    name: str
    before: Place
    after: Place


@dataclass(frozen=True)
class BoardChange:
    """What a commit changed on a board."""

    commit: GitCommit
    first: bool
    """Whether it published the board."""
    versions: tuple[str, str] | None
    """Version before and after, where it changed."""
    added: tuple[tuple[str, Place], ...]
    """Name and place of each new player, best first."""
    removed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    """Old and new id of each player that `bench rename` has renamed."""
    rerun: tuple[tuple[str, int, int], ...]
    """Name and number of changed conversations and judgements, of players that are on both boards."""
    judges_added: tuple[str, ...]
    judges_removed: tuple[str, ...]
    moved: tuple[Moved, ...]
    """The best first; empty where the version changed, since scores are then not comparable."""

    @property
    def empty(self) -> bool:
        """Whether nothing changed that a reader of the board would see."""
        players = self.added or self.removed or self.renamed or self.rerun or self.moved
        return not (self.versions or players or self.judges)

    @property
    def judges(self) -> tuple[str, ...]:
        """Judges that came or left."""
        return (*self.judges_added, *self.judges_removed)

    @property
    def causes(self) -> list[str]:
        """What can have moved scores and ranks, in words."""
        causes = {
            "players came or left": self.added or self.removed,
            "players were rerun": self.rerun,
            "other judges count": self.judges,
        }
        return [text for text, happened in causes.items() if happened] or ["the scoring changed"]


def history_of(tree: ResultsTree) -> Repository | None:
    """The repository with the history of the results; None without a complete history."""
    try:
        repository = repository_of(tree.root)
        return None if repository.shallow else repository
    except UserError:
        return None


def board_history(repository: Repository | None, suite: str, language: str) -> list[BoardChange] | None:
    """The changes of a board in its latest MOST_COMMITS commits, newest first.

    None without a history, as in a clone from which git omitted files.
    """
    try:
        return None if repository is None else _history(repository, suite, language)
    except UserError:
        return None


def _history(repository: Repository, suite: str, language: str) -> list[BoardChange]:
    folder = f"{slug(suite)}/{slug(language)}"
    commits = repository.history(folder, MOST_COMMITS + 1)

    def versions(name: str) -> dict[str, bytes]:
        """The file ``name`` after each commit that wrote it."""
        shas = [commit.sha for commit, files in commits if files.get(name) in ("A", "M")]
        path = repository.results / folder / name
        return dict(zip(shas, repository.contents([f"{sha}:{path}" for sha in shas]), strict=True))

    boards = {sha: past_board(data) for sha, data in versions("board.json").items()}
    events = {sha: past_events(data) for sha, data in versions(EVENTS_FILE).items()}
    changes = []
    board: PastBoard | None = None
    touched: Counter[tuple[str, str]] = Counter()
    known, renames = Events(), list[tuple[str, str]]()
    started = len(commits) <= MOST_COMMITS
    for commit, files in reversed(commits):
        touched.update(_record_folders(files))
        if commit.sha in events:
            renames += events[commit.sha].renames_since(known)
            known = events[commit.sha]
        if files.get("board.json") == "D":
            board, started = None, True
            touched.clear()
            renames.clear()
        if (now := boards.get(commit.sha)) is None:
            continue
        if started:
            changes.append(_change(commit, board, now, touched, renames))
        board, started = now, True
        touched.clear()
        renames.clear()
    return [change for change in reversed(changes) if not change.empty]


def _record_folders(files: Mapping[str, str]) -> Counter[tuple[str, str]]:
    """Changed records by player's folder and kind."""
    parts = [path.split("/") for path in files]
    return Counter((part[0], part[1]) for part in parts if len(part) > 2 and part[1] in _RECORDS)


def _change(
    commit: GitCommit,
    old: PastBoard | None,
    new: PastBoard,
    touched: Mapping[tuple[str, str], int],
    renames: Sequence[tuple[str, str]],
) -> BoardChange:
    renamed: dict[str, str] = {}
    for player, to in renames:
        if old is not None and player in old.places and to not in old.places:
            old = old.renamed(player, to)
            renamed[to] = renamed.pop(player, player)
    before = old.places if old else {}
    both = [player for player in new.places if player in before]

    def counted(player: str, kind: int) -> int:
        return touched.get((slug(player), _RECORDS[kind]), 0)

    counts = {player: (counted(player, 0), counted(player, 1)) for player in both if player not in renamed}
    same = old is None or old.version == new.version
    return BoardChange(
        commit=commit,
        first=old is None,
        versions=None if old is None or same else (old.version, new.version),
        added=tuple((new.names[name], place) for name, place in new.places.items() if name not in before),
        removed=tuple(old.names[player] for player in before if player not in new.places) if old else (),
        renamed=tuple((was, player) for player, was in renamed.items() if was != player),
        rerun=tuple((new.names[player], *count) for player, count in counts.items() if sum(count)),
        judges_added=tuple(judge for judge in new.judges if old and judge not in old.judges),
        judges_removed=tuple(judge for judge in (old.judges if old else ()) if judge not in new.judges),
        moved=tuple(
            Moved(new.names[player], before[player], new.places[player])
            for player in both
            if same and before[player] != new.places[player]
        ),
    )
