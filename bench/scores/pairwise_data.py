"""From records of comparisons to arrays: which verdicts count, and what else is known.

A comparison counts if its judge answered in both orders and saw no refusal in either. Everything else is
counted as what it is, and moves no rating: an answer in one order only could be that judge's position bias,
and a refusal is not a weaker answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bench.records import Conversation, PlayerInfo, messages_sha256
from bench.results.comparison_records import Comparison
from bench.scores.analyses.preference import JudgeModel, unknown_family
from bench.scores.pairwise import Comparisons, standardised_lengths

Standing = Literal["counts", "refusal", "one_order", "failed", "stale", "other_judge"]
"""What a comparison is worth. ``one_order``: the judge gave a usable verdict in one order only. ``stale``: a
conversation has changed since, is gone, or is not finished. ``other_judge``: its judge does not count."""
NOT_COUNTED: dict[str, str] = {
    "refusal": "with a refusal",
    "one_order": "answered in one order only",
    "failed": "failed in both orders",
    "stale": "of conversations that have changed",
    "other_judge": "by a judge that the suite does not name",
}
"""Comparisons that move no rating, for readers."""
Slot = tuple[str, str, int]
"""Character, situation and repeat."""
MEAN = "mean"
"""The mean of all criteria, in place of a criterion's name."""


@dataclass(frozen=True)
class Talk:
    """What a comparison needs to know of a conversation."""

    complete: bool
    sha256: str
    length: float
    """Mean length of an answer in characters; NaN without one."""


def talk_of(conversation: Conversation) -> Talk:
    """What comparisons need to know of ``conversation``."""
    lengths = [len(answer.content) for answer in conversation.answers()]
    return Talk(
        conversation.status == "complete",
        messages_sha256(conversation.messages),
        float(np.mean(lengths)) if lengths else float("nan"),
    )


@dataclass(frozen=True)
class Evidence:
    """All comparisons of one board, and what they were made of."""

    players: tuple[PlayerInfo, ...]
    criteria: tuple[str, ...]
    talks: Mapping[tuple[str, Slot], Talk]
    """By player and slot."""
    records: tuple[Comparison, ...]
    judges: Mapping[str, JudgeModel] = field(default_factory=dict)
    """What is known of the judges."""
    other_judges: tuple[str, ...] = ()
    """Judges whose comparisons do not count."""

    def standing(self, record: Comparison) -> Standing:
        """What ``record`` is worth."""
        if record.judge in self.other_judges:
            return "other_judge"
        slot = slot_of(record)
        for player, sha256 in zip(record.players, record.conversations_sha256, strict=True):
            talk = self.talks.get((player, slot))
            if talk is None or not talk.complete or talk.sha256 != sha256:
                return "stale"
        answered = sum(verdict.status == "ok" for verdict in record.orders)
        if answered < 2:
            return "one_order" if answered else "failed"
        return "refusal" if any(any(verdict.refusals) for verdict in record.orders) else "counts"

    def counting(self) -> list[Comparison]:
        """The records that count."""
        return [record for record in self.records if self.standing(record) == "counts"]

    def refused(self) -> Counter[str]:
        """By player, comparisons in which a judge saw it refuse."""
        found: Counter[str] = Counter()
        for record in self.records:
            first, second = record.orders
            if self.standing(record) == "refusal":
                found[record.players[0]] += first.refusals[0] or second.refusals[1]
                found[record.players[1]] += first.refusals[1] or second.refusals[0]
        return found

    def unfinished(self) -> Counter[str]:
        """By player, the number of failed conversations."""
        return Counter(player for (player, _), talk in self.talks.items() if not talk.complete)


def slot_of(record: Comparison) -> Slot:
    """The slot of a comparison."""
    return record.character, record.situation, record.repeat


def margin_of(margins: Mapping[str, int], criterion: str) -> float:
    """One criterion's margin, or the mean of all for MEAN."""
    return float(np.mean(list(margins.values()))) if criterion == MEAN else float(margins[criterion])


def balance_of(record: Comparison, criterion: str = MEAN) -> float:
    """How much better the first of a record's players is: the mean of its margins in both orders.

    0, a tie, where each order prefers another player: such a verdict follows the place, not the player.
    """
    first, second = record.orders
    margins = margin_of(first.margins, criterion), -margin_of(second.margins, criterion)
    return 0.0 if min(margins) < 0 < max(margins) else sum(margins) / 2


def comparisons_of(evidence: Evidence, records: Sequence[Comparison], criterion: str = MEAN) -> Comparisons:
    """Arrays of ``records``, which count: two verdicts each. The players are those that occur."""
    names = tuple(sorted({player for record in records for player in record.players}))
    scenes = tuple(sorted({slot_of(record)[:2] for record in records}))
    judges = tuple(sorted({record.judge for record in records}))
    families = {info.player: info.family for info in evidence.players}
    rows, lengths = [], []
    for record in records:
        slot = slot_of(record)
        scene, judge = scenes.index(slot[:2]), judges.index(record.judge)
        for order, verdict in enumerate(record.orders):
            pair = record.players[order], record.players[1 - order]
            same = [_same_family(evidence.judges.get(record.judge), families.get(name, "")) for name in pair]
            margin = round(margin_of(verdict.margins, criterion), 9)
            lengths.append([evidence.talks[name, slot].length for name in pair])
            places = names.index(pair[0]), names.index(pair[1])
            rows.append((*places, scene, judge, margin, float(same[0]) - float(same[1])))
    first, second, scene_at, judge_at, margins, own = map(np.array, zip(*rows, strict=True))
    longer = standardised_lengths(*np.array(lengths).T)
    return Comparisons(names, scenes, judges, first, second, scene_at, judge_at, margins, longer, own)


def _same_family(judge: JudgeModel | None, family: str) -> bool:
    return judge is not None and not unknown_family(family) and judge.family == family


def connected(pairs: Iterable[tuple[str, str]]) -> list[set[str]]:
    """The groups of players that comparisons connect, the largest first. Only within one can players be
    rated against each other."""
    groups: list[set[str]] = []
    for pair in pairs:
        joined = {*pair}
        rest = []
        for group in groups:
            if group & joined:
                joined |= group
            else:
                rest.append(group)
        groups = [*rest, joined]
    return sorted(groups, key=lambda group: (-len(group), min(group)))
