"""A human study over a synthetic results tree: people who see what the judges see, through own noise."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from bench.records import Conversation, Criterion, Judgement, messages_sha256, sha256_of
from bench.results import ResultsTree
from bench.results.studies import (
    Annotation,
    AnnotatorFile,
    StudyFile,
    StudyItem,
    write_annotator,
    write_study,
)
from tests.synthetic import CRITERIA, SUITE, SyntheticTree, make_tree

STUDY = "people-en"
PLAYERS = ("aspen", "birch", "cedar", "elm", "fir", "gum")
JUDGES = ("aspen", "outsider", "birch")
"""Two of them are players too."""
NOISE = {"ann": 0.4, "ben": 0.8, "cas": 0.6}


def study_tree(
    root: Path, *, failure_rate: float = 0.0, refusal_rate: float = 0.0, scenes: int = 4
) -> SyntheticTree:
    """A tree of six players and three judges, and a study of all its conversations by three annotators."""
    made = make_tree(
        root,
        players=PLAYERS,
        judges=JUDGES,
        characters=scenes,
        situations=3,
        failure_rate=failure_rate,
        refusal_rate=refusal_rate,
        seed=5,
    )
    add_study(made.tree, NOISE)
    return made


def add_study(
    tree: ResultsTree,
    noise: Mapping[str, float],
    *,
    study: str = STUDY,
    suite: str = SUITE,
    language: str = "en",
    skip: Sequence[str] = (),
) -> None:
    """Write the study; each annotator leaves out one item in ten, and one criterion of one in ten more."""
    items: list[StudyItem] = []
    levels: dict[str, dict[str, float]] = {}
    for info in tree.players(suite, language):
        judged: dict[tuple[str, str], list[Judgement]] = {}
        for judgement in tree.judgements(suite, language, info.player):
            judged.setdefault((judgement.character, judgement.situation), []).append(judgement)
        for talk in tree.conversations(suite, language, info.player):
            if talk.status != "complete":
                continue
            item = _item(talk)
            items.append(item)
            given = judged.get((talk.character, talk.situation), [])
            levels[item.item] = {
                criterion: fmean([v.scores[criterion] for one in given for v in one.turns] or [3.0])
                for criterion in CRITERIA
            }
    write_study(
        tree.root,
        StudyFile(
            study=study,
            suite=suite,
            version="1",
            language=language,
            seed=1,
            asked=len(items),
            criteria=tuple(Criterion(name=name, label=name, low=1, high=5) for name in CRITERIA),
            guideline="1",
            items=tuple(sorted(items, key=lambda item: item.item)),
        ),
    )
    for annotator, spread in noise.items():
        annotations = _annotations(annotator, spread, levels, skip)
        file = AnnotatorFile(
            study=study, annotator=annotator, origin="made by a script", annotations=annotations
        )
        write_annotator(tree.root, file)


def _item(talk: Conversation) -> StudyItem:
    return StudyItem(
        item=sha256_of([talk.player, talk.character, talk.situation])[:10],
        player=talk.player,
        character=talk.character,
        situation=talk.situation,
        conversation_sha256=messages_sha256(talk.messages),
    )


def _annotations(
    annotator: str, spread: float, levels: Mapping[str, Mapping[str, float]], skip: Sequence[str]
) -> tuple[Annotation, ...]:
    """What an annotator makes of conversations whose true scores are ``levels``."""
    rng = random.Random(annotator)
    annotations = []
    for item in sorted(levels):
        if item in skip or rng.random() < 0.1:
            continue
        scores: dict[str, int | float | None] = {
            name: min(5, max(1, round(level + rng.gauss(0, spread)))) for name, level in levels[item].items()
        }
        if rng.random() < 0.1:
            scores["fluency"] = None
        annotations.append(Annotation(item=item, scores=scores, is_refusal=rng.random() < 0.05))
    return tuple(annotations)
