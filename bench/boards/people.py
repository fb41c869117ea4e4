"""Human-calibrated scores of a board, from the studies in which people rated a random part of it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bench.errors import UserError
from bench.protocol_facts import facts_of
from bench.results import ResultsTree
from bench.results.studies import Study, StudyFile, TalkKey, load_study, message_hashes, read_study, studies
from bench.scores.analyses.scenes import talk_finals
from bench.scores.calibration import LEAST_RATED, CalibratedStudy, PlayerCalibration, calibrated
from bench.scores.digits import known, published
from bench.scores.frame import Frames


def calibrated_scores(tree: ResultsTree, frames: Frames) -> tuple[CalibratedStudy, ...]:
    """What the studies of this board and version say; ``frames``: the judgements that count.

    A study that cannot be read is left out: `bench audit` reports it.
    """
    found = []
    for name in studies(tree.root) if not frames.scores.empty else ():
        try:
            file = read_study(tree.root, name)
            board = (file.suite, file.language, file.version)
            if board == (frames.suite, frames.language, frames.version):
                study = load_study(tree.root, name)
                reason = _unusable(study, frames)
                players = () if reason else _players(study, tree, frames)
                found.append(CalibratedStudy(study=name, players=players, reason=reason))
        except UserError:
            continue
    return tuple(found)


def _unusable(study: Study, frames: Frames) -> str | None:
    """Why a study gives no human-calibrated scores; None if it does."""
    file = study.file
    if file.within_player is None:
        return (
            "its sample is not random within each player;"
            " `bench annotate sample --within-player N` draws one that is"
        )
    scales = {criterion.name: (criterion.low, criterion.high) for criterion in file.criteria}
    judged = {name: facts_of(frames.protocol).scale for name in frames.criteria}
    if scales != judged:
        return "people and judges do not score the same criteria on the same scale"
    return None if study.ratings["score"].notna().any() else "nobody has rated yet"


def _players(study: Study, tree: ResultsTree, frames: Frames) -> tuple[PlayerCalibration, ...]:
    """The score of each player of the board, in the board's order of ids."""
    hashes = message_hashes(tree, frames.suite, frames.language, frames.version)
    finals, people = talk_finals(frames), _ratings(study)
    return tuple(_player(player, study.file, finals, people, hashes) for player in frames.names)


def _ratings(study: Study) -> dict[str, float]:
    """Mean over annotators and criteria of each item, by annotators who answered every question."""
    table = study.ratings.set_index(["item", "annotator", "criterion"])["score"].unstack("criterion").dropna()
    return {str(item): float(mean) for item, mean in table.mean(axis=1).groupby(level="item").mean().items()}


def _player(
    player: str,
    file: StudyFile,
    finals: pd.Series,
    people: dict[str, float],
    hashes: dict[TalkKey, str],
) -> PlayerCalibration:
    own = finals[finals.index.get_level_values("player") == player]
    drawn = {
        (player, item.character or "", item.situation or "", item.repeat): item
        for item in file.items
        if item.player == player
    }
    rated = [drawn[scene].item in people if scene in drawn else False for scene in own.index]
    unchanged = sum(hashes.get(scene) == item.conversation_sha256 for scene, item in drawn.items())
    complete = sum(scene[0] == player for scene in hashes)
    grown = complete != (file.population or {}).get(player)
    waiting = sum(item.item not in people for item in drawn.values())
    start = PlayerCalibration(
        player=player,
        judges=known(own.mean()),
        score=None,
        low=None,
        high=None,
        weight=None,
        rated=sum(rated),
        conversations=len(own),
        reason=None,
    )
    for reason, holds in (
        ("not in the study", not drawn),
        (f"{len(drawn) - unchanged} of {len(drawn)} conversations changed since", unchanged < len(drawn)),
        ("other conversations were there when the sample was drawn", grown),
        (f"{waiting} of {len(drawn)} conversations are not rated yet", waiting > 0),
        (f"fewer than {LEAST_RATED} conversations rated and judged", sum(rated) < LEAST_RATED),
    ):
        if holds:
            return start.model_copy(update={"reason": reason})
    scores = np.array([people[drawn[scene].item] if scene in drawn else np.nan for scene in own.index])
    made = calibrated(own.to_numpy(dtype=np.float64), scores, [scene[1:3] for scene in own.index])
    return start.model_copy(
        update={
            "score": published(made.score),
            "low": known(made.low),
            "high": known(made.high),
            "weight": published(made.weight),
            "reason": "every rating is the same: no interval" if made.low is None else None,
        }
    )
