"""Draw the conversations of a study: seeded, stratified, and blind to who played and who judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.annotate.guideline import Guideline
from bench.errors import UserError
from bench.files import hide_from_git
from bench.protocol_facts import facts_of
from bench.records import Conversation, messages_sha256, sha256_of
from bench.results import ResultsTree
from bench.results.studies import StudyFile, StudyItem, find_study, study_folder, write_study
from bench.toml_entries import nearest_or_all

SIZES = {"en": 250, "ru": 265}
"""Default number of conversations by language: as many as people rated for the paper."""
SIZE = 250
"""Default for any other language."""
MARGINS = ("player", "character", "situation")
ITEM_DIGITS = 16


class Candidate(NamedTuple):
    """A complete conversation that may be drawn."""

    player: str
    character: str
    situation: str
    conversation_sha256: str
    repeat: int = 1

    @property
    def scene(self) -> tuple[str, str, str]:
        """Its MARGINS."""
        return self.player, self.character, self.situation

    @property
    def key(self) -> tuple[str | int, ...]:
        """What its random place depends on."""
        return self.scene if self.repeat == 1 else (*self.scene, self.repeat)


@dataclass(frozen=True)
class Sample:
    """A study that was drawn, and the number of conversations it was drawn from."""

    file: StudyFile
    pool: int


def draw_study(
    tree: ResultsTree,
    guideline: Guideline,
    *,
    study: str,
    suite: str,
    language: str,
    size: int | None = None,
    within_player: int | None = None,
    seed: int = 1,
    version: str | None = None,
    players: Sequence[str] = (),
    repeats: Sequence[int] = (),
) -> Sample:
    """Draw a study of ``size`` conversations (default: SIZES), or of all if there are fewer.

    ``within_player``: draw this many at random from those of each player instead of a balanced sample.
    ``version``, ``players``, ``repeats`` restrict the conversations. Raises UserError: :func:`candidates`.
    """
    criteria = guideline.criteria()
    asked = [criterion.name for criterion in criteria]
    version, pool = candidates(
        tree, suite, language, version=version, players=players, repeats=repeats, criteria=asked
    )
    salt = f"{suite} {version} {language}"
    if within_player is not None:
        size = within_player * len({candidate.player for candidate in pool})
        chosen = draw_within_players(pool, within_player, seed, salt)
    else:
        size = size or SIZES.get(language, SIZE)
        chosen = draw(pool, size, seed, salt)
    items = [StudyItem(item=item_id(study, seed, one), **one._asdict()) for one in chosen]
    file = StudyFile(
        study=study,
        suite=suite,
        version=version,
        language=language,
        seed=seed,
        asked=size,
        within_player=within_player,
        population=None if within_player is None else dict(sorted(Counter(c.player for c in pool).items())),
        strata={
            margin: dict(sorted(Counter(getattr(item, margin) for item in items).items()))
            for margin in MARGINS
        },
        criteria=criteria,
        guideline=guideline.id,
        items=tuple(sorted(items, key=lambda item: item.item)),
    )
    return Sample(file, len(pool))


def save_new_study(results: Path, file: StudyFile, *, private: bool = False) -> bool:
    """Write a study that was drawn; returns False if the same study exists. Raises UserError for another.

    ``private``: have git ignore it.
    """
    if find_study(results, file.study) not in (None, file):
        raise UserError(
            f"another study {file.study!r} exists",
            where=str(study_folder(results, file.study)),
            hint="Choose another name, or delete this folder.",
        )
    if private:
        hide_from_git(study_folder(results, file.study))
    return write_study(results, file)


def item_id(study: str, seed: int, candidate: Candidate) -> str:
    """The name of a conversation in a study. It reveals neither player nor judge."""
    return sha256_of(["item", study, seed, *candidate.key])[:ITEM_DIGITS]


def candidates(
    tree: ResultsTree,
    suite: str,
    language: str,
    *,
    version: str | None = None,
    players: Sequence[str] = (),
    repeats: Sequence[int] = (),
    criteria: Sequence[str] = (),
) -> tuple[str, list[Candidate]]:
    """(the suite's version, its complete conversations sorted by scene), of these players or of all.

    ``criteria``: what people are asked about. Raises UserError if there is no such conversation, a player is
    unknown, conversations are spoken, their judges score other criteria, or ``version`` is needed to choose
    between several.
    """
    known = [info.player for info in tree.players(suite, language)]
    where = f"{suite} {language}"
    if missing := sorted(set(players) - set(known)):
        hint = nearest_or_all(missing[0], known, "Players")
        raise UserError(f"no conversations of {', '.join(missing)}", where=where, hint=hint)
    pools: dict[str, list[Candidate]] = {}
    for player in players or known:
        for talk in tree.conversations(suite, language, player):
            counts = not repeats or talk.repeat in repeats
            if talk.status == "complete" and version in (None, talk.version) and counts:
                _check_suitable(talk, criteria, where)
                digest = messages_sha256(talk.messages)
                candidate = Candidate(player, talk.character, talk.situation, digest, talk.repeat)
                pools.setdefault(talk.version, []).append(candidate)
    if not pools:
        of = f" of version {version}" if version else ""
        raise UserError(f"no complete conversations{of}", where=where, hint=f"Run them: `bench run {suite}`.")
    if len(pools) > 1:
        raise UserError(
            f"holds conversations of versions {', '.join(sorted(pools))}",
            where=where,
            hint="Their scores cannot be compared. Choose one with --suite-version.",
        )
    ((only, pool),) = pools.items()
    return only, sorted(pool)


def _check_suitable(talk: Conversation, criteria: Sequence[str], where: str) -> None:
    """Raise UserError if people cannot read a conversation, or its judges score none of ``criteria``."""
    if any(message.audio for message in talk.messages):
        hint = "People are asked about texts only. Choose another suite."
        raise UserError("its conversations are spoken", where=where, hint=hint)
    judged = facts_of(talk.protocol).criterion_names
    if criteria and judged and not set(criteria) & set(judged):
        raise UserError(
            f"its judges score {', '.join(judged)}, and people would be asked about {', '.join(criteria)}",
            where=where,
            hint="Choose another suite, or a guideline with the same criteria.",
        )


def draw(pool: Sequence[Candidate], size: int, seed: int, salt: str = "") -> list[Candidate]:
    """``size`` of the pool, or all of it if it is smaller, as even as possible over each margin.

    Each step takes the conversation whose player, character and situation were drawn least so far, counted
    in rounds of the margin so that margins weigh the same. Ties go to the one whose pairs (a player with a
    character, and so on) were drawn least, then to the first in a random order that depends only on
    ``seed``, ``salt`` and the scene, so that it is the same on every machine.
    """
    order = sorted(pool, key=lambda candidate: sha256_of([seed, salt, *candidate.key]))
    margins = [_levels([(candidate.scene[m],) for candidate in order]) for m in range(len(MARGINS))]
    pairs = [
        _levels([(candidate.scene[a], candidate.scene[b]) for candidate in order])
        for a, b in combinations(range(len(MARGINS)), 2)
    ]
    places = [*margins, *pairs]
    counts = [np.zeros(levels.max(initial=0) + 1, dtype=np.int64) for levels in places]
    free = np.ones(len(order), dtype=bool)
    chosen: list[Candidate] = []
    for _ in range(min(size, len(order))):
        # a level's count in rounds of its margin, so that margins of different size weigh the same
        rounds = np.array([c[levels] * float(len(c)) for c, levels in zip(counts, places, strict=True)])
        by_margin = np.where(free, rounds[: len(margins)].sum(axis=0), np.inf)
        by_pair = rounds[len(margins) :].sum(axis=0)
        best = int(np.lexsort((by_pair, by_margin))[0])  # stable, so ties keep the random order
        free[best] = False
        chosen.append(order[best])
        for count, levels in zip(counts, places, strict=True):
            count[levels[best]] += 1
    return chosen


def draw_within_players(pool: Sequence[Candidate], each: int, seed: int, salt: str = "") -> list[Candidate]:
    """``each`` conversations of every player, or all of its, by simple random sampling.

    The random order depends only on ``seed``, ``salt``, the scene and the repeat.
    """
    order = sorted(pool, key=lambda candidate: sha256_of([seed, salt, *candidate.key]))
    taken: Counter[str] = Counter()
    chosen = []
    for candidate in order:
        taken[candidate.player] += 1
        if taken[candidate.player] <= each:
            chosen.append(candidate)
    return chosen


def _levels(keys: list[tuple[str, ...]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Each key as the number of its level, from 0."""
    names = {key: n for n, key in enumerate(sorted(set(keys)))}
    return np.array([names[key] for key in keys], dtype=np.int64)
