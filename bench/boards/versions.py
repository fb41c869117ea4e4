"""Two versions of a suite: which scenes and players they share, and the link between their scores."""

from __future__ import annotations

import numpy as np

from bench.protocol_facts import facts_of
from bench.results import ResultsTree
from bench.scores.analyses.repeats import same_settings
from bench.scores.frame import Frames
from bench.scores.ledger import Scene
from bench.scores.linking import VersionLink, linked
from bench.scores.robust import Grid, robust_board
from bench.scores.weights import EQUAL, standard_weightings
from bench.tables import counted

_NOTHING = Grid((), (), (), np.zeros((0, 0, 0)))
_Text = tuple[str, str, str, str]


def version_link(older: tuple[ResultsTree, Frames], newer: tuple[ResultsTree, Frames]) -> VersionLink:
    """The link between two versions, each given by its results tree and the evidence that counts.

    A scene is an anchor if both versions have it with the same names, summary, situation and card. A player
    counts if it is the same model in the same settings. Raises RecordError for a damaged record.
    """
    old, new = older[1], newer[1]
    names = (f"{old.suite} version {old.version}", f"{new.suite} version {new.version}")
    if reason := _unlike(old, new):
        return linked(_NOTHING, _NOTHING, (), (), names=names).model_copy(update={"reason": reason})
    texts = [scene_texts(tree, frames) for tree, frames in (older, newer)]
    anchors, notes = _anchors(*texts)
    settings = {info.player: same_settings(info) for info in old.players}
    again = [info.player for info in new.players if settings.get(info.player) == same_settings(info)]
    copies = {
        talk[:3] for talk, opening in new.openings.items() if opening and old.openings.get(talk) == opening
    }
    if copies:
        notes = (*notes, f"{counted(len(copies), 'conversation')} not counted: the same in both versions")
    before, after = (
        robust_board(frames, standard_weightings(frames.criteria)[EQUAL]).grid for frames in (old, new)
    )
    return linked(
        before,
        after,
        anchors,
        again,
        names=names,
        left_out=copies,
        notes=notes,
    )


def _unlike(old: Frames, new: Frames) -> str | None:
    """Why no link can exist; None if one can."""
    for what in ("language", "protocol", "criteria"):
        if getattr(old, what) != getattr(new, what) and not (old.scores.empty or new.scores.empty):
            return f"they differ in {what}"
    if old.scores.empty or new.scores.empty:
        return "nothing is scored in one of them"
    if facts_of(old.protocol).scale is None:
        return f"the scale of protocol {old.protocol!r} is not known"
    return None


def scene_texts(tree: ResultsTree, frames: Frames) -> dict[Scene, _Text]:
    """What the sides of each scene were shown, from the first player that has it."""
    missing = set(zip(frames.conversations["character"], frames.conversations["situation"], strict=True))
    texts: dict[Scene, _Text] = {}
    for player in frames.names:
        if not missing:
            break
        for talk in tree.conversations(frames.suite, frames.language, player):
            key = (talk.character, talk.situation)
            if key in missing:
                scene = talk.scene
                names = f"{scene.character_name}\n{scene.situation_title}"
                texts[key] = (names, scene.summary, scene.situation, scene.card)
                missing.discard(key)
    return texts


def _anchors(old: dict[Scene, _Text], new: dict[Scene, _Text]) -> tuple[set[Scene], tuple[str, ...]]:
    """Scenes that are the same in both versions, and what a reader should know about them."""
    shared = {scene for scene in old.keys() & new.keys() if old[scene][:-1] == new[scene][:-1]}
    same = {scene for scene in shared if old[scene][-1] == new[scene][-1]}
    if shared and not same:
        note = "no character card is the same, probably because the template around the cards changed"
        return shared, (note,)
    return same, ()
