"""Drawing the conversations of a study: seeded, stratified, and blind to who played and who judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bench.annotate.guideline import Guideline
from bench.errors import UserError
from bench.protocol_facts import facts_of
from bench.records import messages_sha256, sha256_of
from bench.results import ResultsTree
from bench.results.studies import StudyFile, StudyItem

SIZES = {"en": 250, "ru": 265}
"""How many conversations are drawn unless told otherwise: as many as the paper had people rate."""

SIZE = 250
"""The same for any other language."""

MARGINS = ("player", "character", "situation")
ITEM_DIGITS = 16


@dataclass(frozen=True)
class Candidate:
    """A complete conversation that may be drawn."""

    player: str
    character: str
    situation: str
    sha256: str

    @property
    def cell(self) -> tuple[str, str, str]:
        return self.player, self.character, self.situation


def _check_criteria(protocol: str, criteria: Sequence[str], where: str) -> None:
    """Raise UserError where judges of the protocol score nothing of what people would be asked about."""
    judged = facts_of(protocol).criterion_names
    if criteria and judged and not set(criteria) & set(judged):
        raise UserError(
            f"its judges score {', '.join(judged)}, and people would be asked about {', '.join(criteria)}",
            where=where,
            hint="Choose another suite, or a guideline that asks about the same.",
        )


def candidates(
    tree: ResultsTree,
    suite: str,
    language: str,
    *,
    version: str | None = None,
    players: Sequence[str] = (),
    criteria: Sequence[str] = (),
) -> tuple[str, list[Candidate]]:
    """(the suite's version, its complete conversations sorted by cell), of these players or of all.

    ``criteria``: what people are asked about. Raises UserError where there are no such conversations, they
    are spoken or scored on other criteria, a player is not there, or several versions are and none is chosen.
    """
    known = [info.player for info in tree.players(suite, language)]
    where = f"{suite} {language}"
    if missing := sorted(set(players) - set(known)):
        hint = f"Players there: {', '.join(known) or 'none'}."
        raise UserError(f"no conversations of {', '.join(missing)}", where=where, hint=hint)
    found: dict[str, list[Candidate]] = {}
    for player in players or known:
        for talk in tree.conversations(suite, language, player):
            if talk.status == "complete" and version in (None, talk.version):
                if any(message.audio for message in talk.messages):
                    hint = "People are asked about texts only: choose another suite."
                    raise UserError("its conversations are spoken", where=where, hint=hint)
                _check_criteria(talk.protocol, criteria, where)
                digest = messages_sha256(talk.messages)
                made = Candidate(player, talk.character, talk.situation, digest)
                found.setdefault(talk.version, []).append(made)
    if not found:
        of = f" of version {version}" if version else ""
        raise UserError(f"no complete conversations{of}", where=where, hint=f"Run them: `bench run {suite}`.")
    if len(found) > 1:
        versions = ", ".join(sorted(found))
        raise UserError(
            f"holds conversations of versions {versions}",
            where=where,
            hint="Their scores cannot be compared: choose one by --suite-version.",
        )
    (only,) = found
    return only, sorted(found[only], key=lambda candidate: candidate.cell)


def draw(pool: Sequence[Candidate], size: int, seed: int, salt: str = "") -> list[Candidate]:
    """Draw ``size`` conversations, or the whole pool if it is smaller, balanced over each margin.

    Each step takes the conversation whose player, character and situation were drawn least so far, counted
    in rounds of the margin so that margins weigh the same. Ties go to the one whose pairs (a player with a
    character, and so on) were drawn least, then to the first in a random order. That order depends only on
    ``seed``, ``salt`` and the cell, so it is the same on every machine.
    """
    order = sorted(pool, key=lambda candidate: sha256_of([seed, salt, *candidate.cell]))
    margins = [_levels([(candidate.cell[m],) for candidate in order]) for m in range(len(MARGINS))]
    pairs = [
        _levels([(candidate.cell[a], candidate.cell[b]) for candidate in order])
        for a, b in combinations(range(len(MARGINS)), 2)
    ]
    counts = [np.zeros(levels.max(initial=0) + 1, dtype=np.int64) for levels in [*margins, *pairs]]
    free = np.ones(len(order), dtype=bool)
    chosen: list[Candidate] = []
    for _ in range(min(size, len(order))):
        first = np.zeros(len(order))
        second = np.zeros(len(order))
        for n, levels in enumerate([*margins, *pairs]):
            rounds = counts[n][levels] * float(len(counts[n]))
            if n < len(margins):
                first += rounds
            else:
                second += rounds
        first[~free] = np.inf
        best = int(np.lexsort((second, first))[0])  # stable: ties fall to the random order
        free[best] = False
        chosen.append(order[best])
        for n, levels in enumerate([*margins, *pairs]):
            counts[n][levels[best]] += 1
    return chosen


def _levels(keys: list[tuple[str, ...]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Each key as the number of its level, from 0."""
    names = {key: n for n, key in enumerate(sorted(set(keys)))}
    return np.array([names[key] for key in keys], dtype=np.int64)


def item_id(study: str, seed: int, candidate: Candidate) -> str:
    """The name of a conversation in a study: it tells neither player nor judge."""
    return sha256_of(["item", study, seed, *candidate.cell])[:ITEM_DIGITS]


def study_of(
    name: str,
    suite: str,
    version: str,
    language: str,
    chosen: Sequence[Candidate],
    *,
    seed: int,
    asked: int,
    guideline: Guideline,
) -> StudyFile:
    """The record of a study of these conversations."""
    items = [
        StudyItem(
            item=item_id(name, seed, candidate),
            player=candidate.player,
            character=candidate.character,
            situation=candidate.situation,
            conversation_sha256=candidate.sha256,
        )
        for candidate in chosen
    ]
    return StudyFile(
        study=name,
        suite=suite,
        version=version,
        language=language,
        seed=seed,
        asked=asked,
        strata={
            margin: dict(sorted(Counter(getattr(item, margin) for item in items).items()))
            for margin in MARGINS
        },
        criteria=guideline.criteria(),
        guideline=guideline.id,
        items=tuple(sorted(items, key=lambda item: item.item)),
    )
