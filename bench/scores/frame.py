"""Records as data frames: the one place where scoring reads the results tree.

Three tables, each sorted by its key columns, so that the order of files never matters:

``scores``         one row per (suite, language, player, character, situation, turn, judge, criterion)
``judgements``     one row per (suite, language, player, character, situation, judge)
``conversations``  one row per (suite, language, player, character, situation)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from bench.errors import RecordError
from bench.protocol_facts import facts_of
from bench.records import PlayerInfo
from bench.results import ResultsTree
from bench.scores.rows import PlayerRows, ScoreRow, player_rows

SCENE = ["player", "character", "situation"]
"""Columns that name a conversation within a board."""

COLUMNS: dict[str, dict[str, str]] = {
    "scores": {
        "suite": "suite id",
        "language": "language code",
        "player": "player id",
        "character": "character id",
        "situation": "situation id",
        "turn": "turn of the conversation, from 1",
        "judge": "judge id",
        "criterion": "criterion's name in the protocol",
        "score": "integer on the criterion's scale",
        "is_refusal": "whether this judge saw a refusal in this turn",
        "stale": "whether the judged messages are not the conversation's messages of now",
    },
    "judgements": {
        "suite": "suite id",
        "language": "language code",
        "player": "player id",
        "character": "character id",
        "situation": "situation id",
        "judge": "judge id",
        "status": "ok or failed, as recorded",
        "refusal": "whether this judge saw a refusal in any turn",
        "stale": "whether the judged messages are not the conversation's messages of now, or it is gone",
        "repaired": "whether the judge's reply had to be repaired or asked for again",
        "turns": "turns scored",
        "cost": "US dollars as a decimal string, missing where a call's price is unknown",
    },
    "conversations": {
        "suite": "suite id",
        "language": "language code",
        "player": "player id",
        "character": "character id",
        "situation": "situation id",
        "status": "complete or failed, as recorded",
        "turns": "answers of the player",
        "answer_characters": "length of all answers together, in Unicode characters",
        "mean_answer_characters": "mean length of an answer, missing where there is none",
        "failure_role": "whose call ended a failed conversation: player or interrogator",
        "failure_outcome": "how that call ended (see the record's outcomes)",
        "cost": "US dollars as a decimal string, missing where a call's price is unknown",
    },
}
"""What each column of each table means; the tables have exactly these columns."""

_KEYS = ("suite", "language", "player", "character", "situation", "judge", "criterion")


@dataclass(frozen=True)
class Frames:
    """All evidence of one board as tables, and what they belong to."""

    suite: str
    language: str
    version: str
    protocol: str
    players: tuple[PlayerInfo, ...]
    criteria: tuple[str, ...]
    judges: tuple[str, ...]
    scores: pd.DataFrame
    judgements: pd.DataFrame
    conversations: pd.DataFrame

    def only_judges(self, judges: Iterable[str]) -> Frames:
        """The same evidence as if only these judges had judged."""
        keep = tuple(sorted(set(judges) & set(self.judges)))
        if keep == self.judges:
            return self
        return replace(
            self,
            judges=keep,
            scores=_only(self.scores, "judge", keep),
            judgements=_only(self.judgements, "judge", keep),
        )

    def only_players(self, players: Iterable[str]) -> Frames:
        """The same evidence as if only these players had played."""
        keep = set(players)
        names = tuple(info.player for info in self.players if info.player in keep)
        return replace(
            self,
            players=tuple(info for info in self.players if info.player in keep),
            scores=_only(self.scores, "player", names),
            judgements=_only(self.judgements, "player", names),
            conversations=_only(self.conversations, "player", names),
        )


def load(tree: ResultsTree, suite: str, language: str, *, version: str | None = None) -> Frames:
    """The evidence of one board.

    Raises RecordError where a file is malformed, lies in another player's or board's folder, or stands twice
    for one cell; and where the board holds several versions of the suite and ``version`` does not choose one.
    """
    players = tuple(tree.players(suite, language))
    rows = [
        player_rows(
            tree,
            suite,
            language,
            info.player,
            tree.conversations(suite, language, info.player),
            tree.judgements(suite, language, info.player),
            version,
        )
        for info in players
    ]
    return frames_of(tree, suite, language, players, rows)


def frames_of(
    tree: ResultsTree, suite: str, language: str, players: tuple[PlayerInfo, ...], rows: Sequence[PlayerRows]
) -> Frames:
    """The evidence of one board from the ``rows`` of its ``players``. Raises RecordError, as :func:`load`."""
    _check_folders(tree, suite, language, players)
    where = str(tree.board_folder(suite, language))
    version = _the_one("version", {one for part in rows for one in part.versions}, where)
    protocol = _the_one("protocol", {one for part in rows for one in part.protocols}, where)
    board = f"{suite}/{language}"
    conversations = _table(
        "conversations", [row for part in rows for row in part.conversations], suite, language
    )
    judgements = _table("judgements", [row for part in rows for row in part.judgements], suite, language)
    score_rows: list[ScoreRow] = []
    before = 0
    for part in rows:
        score_rows += [
            (before + index, turn, name, score, no) for index, turn, name, score, no in part.scores
        ]
        before += len(part.judgements)
    scores = _scores_table(score_rows, judgements)
    _check_scale(scores, protocol, board)
    return Frames(
        suite=suite,
        language=language,
        version=version,
        protocol=protocol,
        players=players,
        criteria=_criteria(score_rows, protocol, board),
        judges=tuple(sorted(set(judgements["judge"]))),
        scores=_sorted(scores),
        judgements=_sorted(judgements),
        conversations=_sorted(conversations),
    )


def _the_one(what: str, values: set[str], where: str) -> str:
    """The only one of ``values``; empty if there is none. Raises RecordError for several."""
    if len(values) > 1:
        raise RecordError(
            f"holds records of several {what}s: {', '.join(sorted(values))}",
            where=where,
            hint="Their numbers cannot be compared: choose one version.",
        )
    return next(iter(values), "")


def _check_folders(tree: ResultsTree, suite: str, language: str, players: tuple[PlayerInfo, ...]) -> None:
    """Each player.json must lie in its own player's folder: a copied folder would count twice."""
    seen: set[str] = set()
    for info in players:
        folder = tree.player_folder(suite, language, info.player)
        if info.player in seen or not (folder / "player.json").exists():
            raise RecordError(
                f"player.json of {info.player!r} lies in another player's folder",
                where=str(tree.board_folder(suite, language)),
                hint="Give each player one folder, named as `bench run` names it.",
            )
        seen.add(info.player)


def _criteria(rows: list[ScoreRow], protocol: str, board: str) -> tuple[str, ...]:
    """The criteria's names, the protocol's in its order and others by name; all judgements must agree."""
    place = {name: n for n, name in enumerate(facts_of(protocol).criterion_names)}
    names = sorted({row[2] for row in rows}, key=lambda name: (place.get(name, len(place)), name))
    counts = dict.fromkeys(names, 0)
    for row in rows:
        counts[row[2]] += 1
    if len(set(counts.values())) > 1:
        raise RecordError("judgements of this board score different criteria", where=board)
    return tuple(names)


def _table(name: str, rows: list[tuple[object, ...]], suite: str, language: str) -> pd.DataFrame:
    columns = list(COLUMNS[name])
    values = list(zip(*rows, strict=True)) if rows else [()] * (len(columns) - 2)
    data: dict[str, object] = {
        "suite": pd.Categorical([suite] * len(rows), categories=[suite]),
        "language": pd.Categorical([language] * len(rows), categories=[language]),
    }
    for column, cells in zip(columns[2:], values, strict=True):
        data[column] = pd.Categorical(cells) if column in _KEYS else _series(column, cells)
    return pd.DataFrame(data)


_DTYPES = {
    "turns": "int64",
    "answer_characters": "int64",
    "mean_answer_characters": "float64",
    "refusal": "bool",
    "stale": "bool",
    "repaired": "bool",
}


def _series(column: str, cells: tuple[object, ...]) -> pd.Series:
    return pd.Series(list(cells), dtype=_DTYPES.get(column, "object"))


def _scores_table(rows: list[ScoreRow], judgements: pd.DataFrame) -> pd.DataFrame:
    """The tidy table: key columns are taken over from the judgement that a row came from."""
    index, turn, criterion, score, refusal = zip(*rows, strict=True) if rows else ((),) * 5
    at = np.asarray(index, dtype=np.int64)
    return pd.DataFrame(
        {
            **{key: judgements[key].array.take(at) for key in _KEYS[:5]},
            "turn": np.asarray(turn, dtype=np.int64),
            "judge": judgements["judge"].array.take(at),
            "criterion": pd.Categorical(criterion),
            "score": np.asarray(score, dtype=np.int64),
            "is_refusal": np.asarray(refusal, dtype=bool),
            "stale": judgements["stale"].to_numpy()[at],
        }
    )


def _check_scale(scores: pd.DataFrame, protocol: str, board: str) -> None:
    """A score off its protocol's scale must not enter a mean."""
    scale = facts_of(protocol).scale
    if scale is not None:
        low, high = scale
        off = scores[(scores["score"] < low) | (scores["score"] > high)]
        if len(off):
            row = off.iloc[0]
            raise RecordError(
                f"{row['criterion']} {row['score']} in turn {row['turn']} is not in {low:.0f} to {high:.0f}",
                where=f"{board}/{row['player']}/{row['judge']}/{row['character']}.{row['situation']}",
                hint="Restore the file from version control, or judge again.",
            )


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    keys = [key for key in (*_KEYS[2:5], "turn", "judge", "criterion") if key in table.columns]
    codes = [np.asarray(table[key].cat.codes if key != "turn" else table[key]) for key in reversed(keys)]
    return table.iloc[np.lexsort(codes)].reset_index(drop=True)


def _only(table: pd.DataFrame, column: str, keep: tuple[str, ...]) -> pd.DataFrame:
    """Rows whose ``column`` is one of ``keep``, without unused categories."""
    kept = table[table[column].isin(keep)].reset_index(drop=True)
    return kept.assign(**{column: kept[column].cat.set_categories(sorted(keep))})
