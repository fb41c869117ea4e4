"""How well players hold up in long conversations: recall, slopes, breaks, recovery, repetition by turn.

A turn is broken if the mean of its judges' scores for staying in character is below the middle of the scale;
a refusal counts as the lowest score. All judgements of unchanged, complete conversations count for this.
"""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pandas as pd

from bench.protocol_facts import facts_of
from bench.records import Record
from bench.scores.analyses.sure import Estimate, mean_estimate
from bench.scores.digits import published
from bench.scores.frame import TALK, VERDICT, Frames, rows_with
from bench.scores.scripts import ATTACK, FORGOTTEN, NOT_COUNTED, OUTCOMES, RECALLED, REPEATED, WRONG

ROOM = 3
"""Turns before an attack that it is compared with, and after it in which the player may recover."""


class Recall(Record):
    """The facts that the user planted and asked for, in a player's complete conversations."""

    asked: int
    """Those that count: the user mentioned the fact, and the question did not hold the answer."""
    recalled: int
    wrong: int
    """Answers with a fact that is known to be wrong; all others count as forgotten."""
    forgotten: int
    not_counted: dict[str, int]
    """How many do not count, by reason."""
    share: float | None
    """Recalled of those asked: mean over conversations."""
    low: float | None
    high: float | None
    """Ends of the 95% interval of ``share``."""


class Breaks(Record):
    """When the character broke."""

    conversations: int
    """Judged conversations."""
    broken: int
    """Those with a broken turn."""
    first: float | None
    """Turn of the first break, mean over the broken conversations."""
    turns_held: float | None
    """Turns before the first break, or all turns without one: mean over all judged conversations."""


class Recovery(Record):
    """What attacks did."""

    attacks: int
    """In judged conversations."""
    held: int
    """Attacks during which the character did not break."""
    recovered: int
    """Of the others, those with an unbroken turn among the next three, before the next attack."""
    turns_to_recover: float | None
    """Turns from the attack to that turn, mean."""
    change_after: float | None
    """Staying in character in the three turns after an attack minus the three before, mean in points."""


class Slope(Record):
    """How the scores of a criterion change in the course of a conversation."""

    per_turn: float
    """Points per turn: the least-squares slope of a judge's scores over the turns of a conversation, mean
    over judges, repeats and conversations."""
    low: float | None
    high: float | None
    """Ends of the 95% interval."""

    @property
    def per_ten_turns(self) -> tuple[float, float | None, float | None]:
        """Points per ten turns, and the ends of the interval: in many turns, one turn changes little."""
        low, high = (None if end is None else published(10 * end) for end in (self.low, self.high))
        return published(10 * self.per_turn), low, high


class TurnShare(Record):
    """Repetition in one turn."""

    turn: int
    conversations: int
    share: float


class LongTalk(Record):
    """A player's figures of long conversations."""

    recall: Recall
    slopes: dict[str, Slope]
    """By criterion, in display order; those without a scored conversation of two turns are left out."""
    breaks: Breaks
    recovery: Recovery
    repetition: tuple[TurnShare, ...]
    """By turn, the share of an answer's four-word runs that an earlier answer of the conversation has."""


def long_talks(frames: Frames) -> dict[str, LongTalk]:
    """The figures of every player; empty if the protocol has no scripts."""
    if not facts_of(frames.protocol).scripted:
        return {}
    slopes, scores, events = slopes_of(frames), held_scores(frames), frames.events
    middle = fmean(facts_of(frames.protocol).scale or (1, 5))
    attacks = _by_player(events[events["event"] == ATTACK])
    talks, happened = _by_player(scores.reset_index()), _by_player(events)
    nothing = events.iloc[:0]
    return {
        name: LongTalk(
            recall=recall_of(happened.get(name, nothing)),
            slopes={c: slopes[name, c] for c in frames.criteria if (name, c) in slopes},
            breaks=_breaks(turns := _turns(talks.get(name)), middle),
            recovery=_recovery(turns, attacks.get(name, nothing), middle),
            repetition=_repetition(happened.get(name, nothing)),
        )
        for name in frames.names
    }


def slopes_of(frames: Frames) -> dict[tuple[str, str], Slope]:
    """Slope over turns by player and criterion, where a conversation has two turns or more."""
    rows = frames.counting_scores
    by_judge = rows.groupby([*VERDICT, "criterion"])
    turns = rows["turn"] - by_judge["turn"].transform("mean")
    parts = rows.assign(_up=turns * rows["score"], _of=turns**2).groupby([*VERDICT, "criterion"])
    sums = parts[["_up", "_of"]].sum()
    slopes = (sums["_up"] / sums["_of"])[sums["_of"] > 0]
    talks = slopes.groupby(level=[*TALK, "criterion"]).mean()
    made = {}
    for player, mine in talks.groupby(level="player"):
        for criterion, group in mine.groupby(level="criterion"):
            found = mean_estimate(group.droplevel(["player", "criterion"]))
            if found.value is not None:
                slope = Slope(per_turn=found.value, low=found.low, high=found.high)
                made[str(player), str(criterion)] = slope
    return made


def held_scores(frames: Frames) -> pd.Series:
    """Mean over judges of the score for staying in character, by TALK and turn; a refusal is the lowest."""
    facts = facts_of(frames.protocol)
    criterion = "in_character" if "in_character" in frames.criteria else next(iter(frames.criteria), "")
    rows = rows_with(frames.scores, frames.usable, VERDICT)
    rows = rows[rows["criterion"] == criterion]
    low = (facts.scale or (1.0, 5.0))[0]
    return rows["score"].mask(rows["is_refusal"], low).groupby([rows[k] for k in (*TALK, "turn")]).mean()


def _by_player(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {str(name): group for name, group in table.groupby("player")}


Talk = tuple[str, str, int]
Turns = dict[Talk, dict[int, float]]
"""Character, situation and repeat to turn to score."""


def _turns(table: pd.DataFrame | None) -> Turns:
    turns: Turns = {}
    if table is not None:
        columns = (table[name].tolist() for name in ("character", "situation", "repeat", "turn", "score"))
        for character, situation, repeat, turn, score in zip(*columns, strict=True):
            turns.setdefault((character, situation, repeat), {})[turn] = score
    return turns


def recall_of(events: pd.DataFrame) -> Recall:
    """The recall in these rows of ``events`` of one player."""
    counts = {name: int((events["event"] == name).sum()) for name in OUTCOMES}
    counted = events[events["event"].isin([RECALLED, WRONG, FORGOTTEN])]
    share = Estimate(None)
    if len(counted):
        hits = (counted["event"] == RECALLED).groupby([counted[k] for k in TALK]).mean()
        share = mean_estimate(hits.droplevel("player"))
    return Recall(
        asked=len(counted),
        recalled=counts[RECALLED],
        wrong=counts[WRONG],
        forgotten=counts[FORGOTTEN],
        not_counted={name: counts[name] for name in NOT_COUNTED if counts[name]},
        share=share.value,
        low=None if share.low is None else max(0.0, share.low),
        high=None if share.high is None else min(1.0, share.high),
    )


def _breaks(talks: Turns, middle: float) -> Breaks:
    below = [[turn for turn, score in turns.items() if score < middle] for turns in talks.values()]
    firsts = [min(turns) for turns in below if turns]
    held = [min(low) - 1 if low else len(turns) for low, turns in zip(below, talks.values(), strict=True)]
    return Breaks(conversations=len(talks), broken=len(firsts), first=_mean(firsts), turns_held=_mean(held))


def _recovery(talks: Turns, attacks: pd.DataFrame, middle: float) -> Recovery:
    at: dict[Talk, list[int]] = {}
    for character, situation, repeat, turn in zip(
        *(attacks[k].tolist() for k in (*TALK[1:], "turn")), strict=True
    ):
        at.setdefault((character, situation, repeat), []).append(turn)
    held, waits, changes, number = 0, [], [], 0
    for talk, attacked in at.items():
        scores = talks.get(talk, {})
        for turn in attacked:
            if turn not in scores:
                continue
            number += 1
            stop = min((other for other in attacked if other > turn), default=turn + ROOM + 1)
            after = [n for n in range(turn + 1, min(stop, turn + ROOM + 1)) if n in scores]
            before = [n for n in range(turn - ROOM, turn) if n in scores and n not in attacked]
            if after and before:
                changes.append(fmean(scores[n] for n in after) - fmean(scores[n] for n in before))
            if scores[turn] >= middle:
                held += 1
            elif back := [n for n in after if scores[n] >= middle]:
                waits.append(back[0] - turn)
    return Recovery(
        attacks=number,
        held=held,
        recovered=len(waits),
        turns_to_recover=_mean(waits),
        change_after=_mean(changes),
    )


def _repetition(events: pd.DataFrame) -> tuple[TurnShare, ...]:
    rows = events[events["event"] == REPEATED].dropna(subset="value")
    return tuple(
        TurnShare(
            turn=int(str(turn)), conversations=len(group), share=published(float(group["value"].mean()))
        )
        for turn, group in rows.groupby("turn")
    )


def _mean(values: list[int] | list[float]) -> float | None:
    return published(float(np.mean(values))) if values else None
