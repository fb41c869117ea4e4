"""Records as data frames: the one place where scoring reads the results tree.

Three tables, each sorted by its key columns, so that the order of files never matters:

``scores``         one row per (suite, language, player, character, situation, turn, judge, criterion)
``judgements``     one row per (suite, language, player, character, situation, judge)
``conversations``  one row per (suite, language, player, character, situation)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd

from bench.errors import RecordError
from bench.protocol_facts import facts_of
from bench.records import Cell, Conversation, Judgement, PlayerInfo, messages_sha256, re_asks
from bench.results import ResultsTree

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
    _check_folders(tree, suite, language, players)
    collected = _Collected(tree, suite, language, version)
    for info in players:
        collected.add_player(info)
    return collected.frames(players)


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


@dataclass
class _Collected:
    """Rows gathered from files, column by column."""

    tree: ResultsTree
    suite: str
    language: str
    wanted: str | None
    versions: set[str] = field(default_factory=set)
    protocols: set[str] = field(default_factory=set)
    conversations: list[tuple[object, ...]] = field(default_factory=list)
    judgements: list[tuple[object, ...]] = field(default_factory=list)
    score_rows: list[tuple[int, int, str, int, bool]] = field(default_factory=list)
    """(index in ``judgements``, turn, criterion, score, is_refusal)"""

    def add_player(self, info: PlayerInfo) -> None:
        """Read all files of one player."""
        hashes: dict[tuple[str, str], str] = {}
        for conversation in self.tree.conversations(self.suite, self.language, info.player):
            if not self._belongs(conversation, info):
                continue
            path = self.tree.conversation_path(conversation)
            key = (conversation.character, conversation.situation)
            if key in hashes:
                raise _twice(path)
            hashes[key] = messages_sha256(conversation.messages)
            self.conversations.append((info.player, *key, *_conversation_row(conversation)))
        seen: set[tuple[str, str, str]] = set()
        for judgement in self.tree.judgements(self.suite, self.language, info.player):
            if not self._belongs(judgement, info):
                continue
            path = self.tree.judgement_path(judgement, judgement.judge)
            cell = (judgement.character, judgement.situation, judgement.judge)
            if cell in seen:
                raise _twice(path)
            seen.add(cell)
            self._add_judgement(info.player, judgement, hashes.get(cell[:2]), path)

    def _belongs(self, cell: Cell, info: PlayerInfo) -> bool:
        """Whether a record is of the wanted version; one of another player or board is an error."""
        here = (self.suite, self.language, info.player)
        if (cell.suite, cell.language, cell.player) != here:
            raise RecordError(
                f"holds a record of {cell.suite} {cell.language} {cell.player}"
                f" ({cell.character}, {cell.situation})",
                where=str(self.tree.player_folder(*here)),
                hint="Move it back, or restore the tree from version control.",
            )
        if self.wanted is not None and cell.version != self.wanted:
            return False
        self.versions.add(cell.version)
        self.protocols.add(cell.protocol)
        return True

    def _add_judgement(self, player: str, judgement: Judgement, now: str | None, path: Path) -> None:
        index = len(self.judgements)
        ok = judgement.status == "ok"
        refusal = ok and any(turn.is_refusal for turn in judgement.turns)
        self.judgements.append(
            (
                player,
                judgement.character,
                judgement.situation,
                judgement.judge,
                judgement.status,
                refusal,
                judgement.conversation_sha256 != now,
                bool(judgement.repairs) or re_asks(judgement) > 0,
                len(judgement.turns),
                _cost(judgement),
            )
        )
        if not ok:
            return
        names = judgement.turns[0].scores.keys() if judgement.turns else set()
        if not names or any(turn.scores.keys() != names for turn in judgement.turns):
            raise RecordError("its turns do not all score the same criteria", where=str(path))
        if len({turn.turn for turn in judgement.turns}) != len(judgement.turns):
            raise RecordError("it scores a turn twice", where=str(path))
        for turn in judgement.turns:
            for criterion, score in turn.scores.items():
                self.score_rows.append((index, turn.turn, criterion, score, turn.is_refusal))

    def frames(self, players: tuple[PlayerInfo, ...]) -> Frames:
        """The tables of what was gathered."""
        board = f"{self.suite}/{self.language}"
        for what, found in (("version", self.versions), ("protocol", self.protocols)):
            if len(found) > 1:
                raise RecordError(
                    f"holds records of several {what}s: {', '.join(sorted(found))}",
                    where=str(self.tree.board_folder(self.suite, self.language)),
                    hint="Their numbers cannot be compared: choose one version.",
                )
        conversations = _table("conversations", self.conversations, self.suite, self.language)
        judgements = _table("judgements", self.judgements, self.suite, self.language)
        scores = _scores_table(self.score_rows, judgements)
        _check_scale(scores, next(iter(self.protocols), ""), board)
        return Frames(
            suite=self.suite,
            language=self.language,
            version=next(iter(self.versions), ""),
            protocol=next(iter(self.protocols), ""),
            players=players,
            criteria=_criteria(self.score_rows, next(iter(self.protocols), ""), board),
            judges=tuple(sorted(set(judgements["judge"]))),
            scores=_sorted(scores),
            judgements=_sorted(judgements),
            conversations=_sorted(conversations),
        )


def _twice(path: Path) -> RecordError:
    return RecordError("another file of the folder holds the same cell", where=str(path))


def _conversation_row(conversation: Conversation) -> tuple[object, ...]:
    """The columns after the key; a greeting is no answer."""
    lengths: list[int] = []
    asked = False
    for message in conversation.messages:
        if message.role == "user":
            asked = True
        elif message.role == "assistant" and asked:
            lengths.append(len(message.content))
    mean = sum(lengths) / len(lengths) if lengths else None
    failure = conversation.failure
    ended = (failure.role, failure.outcome) if failure else (None, None)
    return conversation.status, len(lengths), sum(lengths), mean, *ended, _cost(conversation)


def _cost(record: Conversation | Judgement) -> str | None:
    """Sum of the calls' costs; None where any call's cost is unknown, or imported evidence tells of none.

    Of our own evidence a record without a call took none: a recorded answer, a verdict given in the talk.
    """
    if any(call.cost is None for call in record.calls) or (not record.calls and record.origin is not None):
        return None
    return str(sum((Decimal(call.cost or "0") for call in record.calls), Decimal(0)))


def _criteria(rows: list[tuple[int, int, str, int, bool]], protocol: str, board: str) -> tuple[str, ...]:
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


def _scores_table(rows: list[tuple[int, int, str, int, bool]], judgements: pd.DataFrame) -> pd.DataFrame:
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
