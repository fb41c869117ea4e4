"""Records as data frames: the one place where scoring reads the results.

Tables, each sorted by its key columns, so the order of files does not matter:

``scores``         one row per (player, character, situation, repeat, turn, judge, criterion)
``judgements``     one row per (player, character, situation, repeat, judge)
``conversations``  one row per (player, character, situation, repeat)
``events``         one row per event of a scripted conversation (see :mod:`bench.scores.scripts`)
``flaws``          one row per (player, character, situation, repeat, judge, turn, flaw)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench.records import PlayerInfo
from bench.results import ResultsTree
from bench.results.facts import SAID, Tally, summed
from bench.scores.frame_checks import check_folders, check_scale, common_criteria, the_only
from bench.scores.measures import MEASURES, measures_of, texts_of
from bench.scores.rows import Inputs, PlayerRows, player_rows, table_rows

SCENE = ["player", "character", "situation"]
"""Columns that name a player's scene within a board: the resampling unit, over all its repeats."""
TALK = [*SCENE, "repeat"]
"""Columns that name a conversation within a board."""
VERDICT = [*TALK, "judge"]
"""Columns that name a judgement within a board."""

_KEYS = {
    "suite": "suite id",
    "language": "language code",
    "player": "player id",
    "character": "character id",
    "situation": "situation id",
    "repeat": "number of the sample: 2 is the first repeat",
}
COLUMNS: dict[str, dict[str, str]] = {
    "scores": {
        **_KEYS,
        "turn": "turn of the conversation, from 1",
        "judge": "judge id",
        "criterion": "criterion's name in the protocol",
        "score": "integer on the criterion's scale; published scores may have decimals",
        "is_refusal": "whether this judge saw a refusal in this turn",
        "stale": "whether the conversation has changed since it was judged",
    },
    "judgements": {
        **_KEYS,
        "judge": "judge id",
        "status": "ok or failed, as recorded",
        "refusal": "whether this judge saw a refusal in any turn",
        "stale": "whether the conversation has changed since it was judged, or is gone",
        "repaired": "whether the judge's reply was repaired or asked for again",
        "turns": "turns scored",
        "cost": "US dollars as a decimal string; missing if the price of a call is unknown",
    },
    "conversations": {
        **_KEYS,
        "title": "the situation's title; of a probe, its kind and id",
        "status": "complete or failed, as recorded",
        "turns": "the player's answers",
        "answer_characters": "length of all answers together, in Unicode characters",
        "mean_answer_characters": "mean length of an answer; missing without answers",
        "failure_role": "whose call ended a failed conversation: player or interrogator",
        "failure_outcome": "how that call ended (one of the outcomes of a call record)",
        "ended_by_player": "whether the player itself ended it: the lowest score in the robust scoring",
        "cost": "US dollars as a decimal string; missing if the price of a call is unknown",
    },
    "events": {
        **_KEYS,
        "turn": "turn of the conversation, from 1",
        "event": "what happened: the outcome of a planted fact, attack, or repeated",
        "value": "of a fact the turns since it was planted; of repetition the share of repeated runs",
    },
    "flaws": {
        **_KEYS,
        "judge": "judge id",
        "turn": "turn of the conversation, from 1",
        "flaw": "name of the flaw",
        "count": "how often the judge listed it in this turn, each time with a quotation",
    },
    "calls": {
        **{name: _KEYS[name] for name in ("suite", "language", "player")},
        "role": "player, interrogator or judge",
        "model": "who answered: a player's or judge's id; of an interrogator the provider's id",
        "answers": "calls that were answered",
        **{name: f"how many were {text}" for name, text in SAID.items()},
        "served_models": "how many different models answered, by the names that the provider gives",
    },
}
"""What each column of each table means; :func:`with_measures` adds others."""

_TYPES = {
    "repeat": "int64",
    "turn": "int64",
    "turns": "int64",
    "answer_characters": "int64",
    "mean_answer_characters": "float64",
    "value": "float64",
    "count": "int64",
    "is_refusal": "bool",
    "refusal": "bool",
    "stale": "bool",
    "repaired": "bool",
    "ended_by_player": "bool",
}
"""Types of the columns that are not text."""

TABLES = ("scores", "judgements", "conversations", "events", "flaws")

_OWN_COLUMNS = ["turn", "criterion", "score", "is_refusal"]
"""Columns of ``scores`` that do not come from the judgement (the order of a row in PlayerRows.scores)."""


@dataclass(frozen=True)
class Frames:
    """All evidence of one board as tables, and the board that it belongs to. Do not write to the tables."""

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
    openings: Mapping[tuple[str, str, str, int], str] = field(default_factory=dict)
    """By player, character, situation and repeat, what two runs share if one may be a copy of the other; see
    :func:`bench.scores.rows.opening_of`."""
    samples: tuple[int, ...] = (1,)
    """Numbers of the samples that every scene should have."""
    asked: Mapping[tuple[str, str], tuple[str, ...]] | None = None
    """Where judges rotate: those whose turn it is, by (character, situation); None: all judges everywhere."""
    inputs: Inputs = field(default_factory=dict)
    """Fingerprints of what the records were made from."""
    calls: Tally = field(default_factory=dict)
    """Counts of all calls, by player, role and model."""
    events: pd.DataFrame = field(default_factory=lambda: _table("events", []))
    flaws: pd.DataFrame = field(default_factory=lambda: _table("flaws", []))

    @property
    def names(self) -> list[str]:
        """Ids of the players."""
        return [info.player for info in self.players]

    @cached_property
    def call_counts(self) -> pd.DataFrame:
        """Counts of all calls as a table: one row per player, role and model."""
        rows = [
            (
                *(self.suite, self.language, *entry),
                *(counts[name, ""] for name in ("answers", *SAID)),
                sum(field == "served_models" for field, _ in counts),
            )
            for entry, counts in sorted(self.calls.items())
        ]
        return pd.DataFrame(rows, columns=list(COLUMNS["calls"]))

    @cached_property
    def under(self) -> dict[Hashable, pd.DataFrame]:
        """Scores of judgements by policy, kept by :mod:`bench.scores.policy`."""
        return {}

    @cached_property
    def usable(self) -> pd.DataFrame:
        """Rows of ``judgements`` with a verdict on a conversation that is complete and unchanged since."""
        complete = self.conversations[self.conversations["status"] == "complete"]
        verdicts = self.judgements[(self.judgements["status"] == "ok") & ~self.judgements["stale"]]
        return rows_with(verdicts, complete, TALK)

    @cached_property
    def counting(self) -> pd.DataFrame:
        """Rows of ``judgements`` that count in the paper's scoring: usable, and no refusal seen."""
        return self.usable[~self.usable["refusal"]]

    @cached_property
    def counting_scores(self) -> pd.DataFrame:
        """Rows of ``scores`` of the judgements that count."""
        return rows_with(self.scores, self.counting, VERDICT)

    @cached_property
    def counting_means(self) -> pd.DataFrame:
        """:meth:`turn_means` of the judgements that count."""
        return self.turn_means(self.counting)

    @cached_property
    def usable_means(self) -> pd.DataFrame:
        """:meth:`turn_means` of all usable judgements."""
        return self.turn_means(self.usable)

    @cached_property
    def answer_lengths(self) -> dict[str, int]:
        """Mean characters per answer of each player, cut to an integer; complete conversations only."""
        table = self.conversations
        complete = table[(table["status"] == "complete") & (table["turns"] > 0)]
        sums = complete.groupby("player")[["answer_characters", "turns"]].sum()
        return {str(name): int(n) for name, n in (sums["answer_characters"] // sums["turns"]).items()}

    def turn_means(self, judgements: pd.DataFrame) -> pd.DataFrame:
        """Each criterion's mean over turns, one row per judgement of ``judgements``, indexed by VERDICT.

        The same numbers as :func:`bench.scores.rules.criterion_means` gives for one record.
        """
        rows = rows_with(self.scores, judgements, VERDICT)
        means = rows.groupby([*VERDICT, "criterion"])["score"].mean().unstack("criterion")
        return means.reindex(columns=list(self.criteria)).rename_axis(columns=None)

    def judges_of(self, scene: tuple[str, str]) -> tuple[str, ...]:
        """The judges that should score (character, situation)."""
        return self.judges if self.asked is None else self.asked.get(scene, ())

    @property
    def judges_per_scene(self) -> int | None:
        """Where judges rotate, how many score each scene."""
        return None if self.asked is None else max(map(len, self.asked.values()), default=0)

    def was_asked(self, table: pd.DataFrame) -> npt.NDArray[np.bool_]:
        """For each row of ``table`` (columns of VERDICT), whether its judge should score its scene."""
        columns = (table[name] for name in ("character", "situation", "judge"))
        return np.array([j in self.judges_of((c, s)) for c, s, j in zip(*columns, strict=True)], dtype=bool)

    def rotated(self, asked: Mapping[tuple[str, str], tuple[str, ...]]) -> Frames:
        """The same evidence without judgements by judges whose turn it was not."""
        frames = replace(self, asked=asked)
        tables = {name: getattr(self, name) for name in ("scores", "judgements", "flaws")}
        return replace(
            frames,
            **{name: t[frames.was_asked(t)].reset_index(drop=True) for name, t in tables.items()},
        )

    def _only(self, column: str, keep: Iterable[object]) -> dict[str, Any]:
        """The rows of every table that has ``column`` in which it is one of ``keep``."""
        tables = {name: getattr(self, name) for name in TABLES}
        wanted = list(keep)
        return {
            name: table[table[column].isin(wanted)].reset_index(drop=True)
            for name, table in tables.items()
            if column in table
        }

    def only_samples(self, samples: Iterable[int]) -> Frames:
        """The same evidence as if only these samples existed, and each scene should have all of them."""
        keep = tuple(samples)
        if set(self.samples) <= set(keep):
            return replace(self, samples=keep)
        return replace(self, samples=keep, **self._only("repeat", keep))

    def only_judges(self, judges: Iterable[str]) -> Frames:
        """The same evidence as if only these judges had judged."""
        keep = tuple(sorted(set(judges) & set(self.judges)))
        if keep == self.judges:
            return self
        return replace(
            self,
            judges=keep,
            asked=None
            if self.asked is None
            else {scene: tuple(j for j in who if j in keep) for scene, who in self.asked.items()},
            **self._only("judge", keep),
            calls={
                entry: counts
                for entry, counts in self.calls.items()
                if entry[1] != "judge" or entry[2] in keep
            },
        )

    def only_players(self, players: Iterable[str]) -> Frames:
        """The same evidence as if only these players had played."""
        keep = set(players)
        return replace(
            self,
            players=tuple(info for info in self.players if info.player in keep),
            **self._only("player", keep),
            calls={entry: counts for entry, counts in self.calls.items() if entry[0] in keep},
        )


def rows_with(table: pd.DataFrame, wanted: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Rows of ``table`` whose ``keys`` occur in ``wanted``, in the order of ``table``."""
    # Sets take a sixth of the time of pandas indexes on small tables, and the same on large ones.
    known = set(zip(*(wanted[key].tolist() for key in keys), strict=True))
    rows = zip(*(table[key].tolist() for key in keys), strict=True)
    return table[np.fromiter((row in known for row in rows), dtype=bool, count=len(table))]


def load(tree: ResultsTree, suite: str, language: str, *, version: str | None = None) -> Frames:
    """Read the evidence of one board, by all judges who judged.

    Raises RecordError if a file is malformed, is in the folder of another player or board, or repeats a cell;
    or if the board holds several versions of the suite and ``version`` does not choose one.
    """
    players = tuple(tree.players(suite, language))
    if (table := tree.score_table(suite, language)) is not None:
        return frames_of(tree, suite, language, players, table_rows(table))
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


def with_measures(frames: Frames, tree: ResultsTree) -> Frames:
    """``frames`` with the columns of MEASURES in ``conversations``. Reads the conversations again."""
    here = (frames.suite, frames.language)
    rows = [
        (info.player, talk.character, talk.situation, talk.repeat, *measures_of(talk, texts_of(talk)))
        for info in frames.players
        for talk in tree.conversations(*here, info.player)
    ]
    table = pd.DataFrame(rows, columns=[*TALK, *MEASURES], dtype="object").astype({"repeat": "int64"})
    return replace(frames, conversations=frames.conversations.merge(table, on=TALK, how="left"))


def frames_of(
    tree: ResultsTree, suite: str, language: str, players: Sequence[PlayerInfo], rows: Sequence[PlayerRows]
) -> Frames:
    """The evidence of one board from the ``rows`` of its ``players``. Raises RecordError, as :func:`load`."""
    if not tree.is_table(suite):
        check_folders(tree, suite, language, players)
    where = str(tree.board_folder(suite, language))
    version = the_only("version", {version for part in rows for version in part.versions}, where)
    protocol = the_only("protocol", {protocol for part in rows for protocol in part.protocols}, where)
    here = (suite, language)
    judgements = _table("judgements", [here + row for part in rows for row in part.judgements])
    scores = _score_table(rows, judgements)
    board = f"{suite}/{language}"
    check_scale(scores, protocol, board)
    conversations = _table("conversations", [here + row for part in rows for row in part.conversations])
    return Frames(
        suite=suite,
        language=language,
        version=version,
        protocol=protocol,
        players=tuple(players),
        criteria=common_criteria(scores, protocol, board),
        judges=tuple(sorted(set(judgements["judge"]))),
        events=_sorted(_table("events", [here + row for part in rows for row in part.events])),
        flaws=_sorted(_table("flaws", [here + row for part in rows for row in part.flaws])),
        scores=_sorted(scores),
        judgements=_sorted(judgements),
        conversations=_sorted(conversations),
        samples=tuple(sorted(set(conversations["repeat"].tolist()))) or (1,),
        openings={scene: opening for part in rows for scene, opening in part.openings.items()},
        inputs={key: inputs for part in rows for key, inputs in part.inputs.items()},
        calls=summed(part.calls for part in rows),
    )


def _table(name: str, rows: list[tuple[object, ...]]) -> pd.DataFrame:
    return _typed(pd.DataFrame(rows, columns=list(COLUMNS[name]), dtype="object"))


def _score_table(rows: Sequence[PlayerRows], judgements: pd.DataFrame) -> pd.DataFrame:
    """The scores; the key columns are those of the judgement that a score belongs to."""
    starts = accumulate((len(part.judgements) for part in rows), initial=0)
    at = [start + row[0] for start, part in zip(starts, rows, strict=False) for row in part.scores]
    own = pd.DataFrame(
        [row[1:] for part in rows for row in part.scores], columns=_OWN_COLUMNS, dtype="object"
    )
    own["score"] = own["score"].astype("int64") if own.empty else own["score"].infer_objects()
    keys = judgements[[*_KEYS, "judge", "stale"]].iloc[at].reset_index(drop=True)
    return _typed(keys.join(own)[list(COLUMNS["scores"])])


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype({name: kind for name, kind in _TYPES.items() if name in table})


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    keys = [key for key in (*TALK, "turn", "judge", "criterion", "event", "flaw") if key in table]
    return table.sort_values(keys, ignore_index=True)
