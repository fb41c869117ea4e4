"""A board under a reader's own choices, beside the published one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bench.boards.loading import load_board
from bench.protocol_facts import facts_of
from bench.results import ResultsTree
from bench.scores.frame import load
from bench.scores.rescore import Choices, Rescored, rescored
from bench.scores.robust import robust_board
from bench.scores.weights import EQUAL, standard_weightings
from bench.suites import Suite


def rescore_board(
    results: ResultsTree | Path | str,
    suite: str,
    language: str,
    choices: Choices,
    *,
    prompts: Mapping[str, Suite] | Path | str = "prompts",
    judges: Sequence[str] = (),
    weights: str | None = None,
) -> Rescored:
    """Score a board under ``choices``. The arguments are those of :func:`bench.boards.loading.load_board`.

    Raises UserError for a choice that the board does not have, or if nothing is left to score.
    """
    tree = results if isinstance(results, ResultsTree) else ResultsTree(Path(results))
    evidence = load(tree, suite, language)
    chosen = load_board(
        tree, suite, language, prompts=prompts, judges=judges, weights=weights, frames=evidence
    )
    own = replace(choices, weights=chosen.weights)
    public = load_board(tree, suite, language, prompts=prompts, frames=evidence).frames
    equal = standard_weightings(public.criteria)[EQUAL]
    known = facts_of(public.protocol).scale is not None and not public.usable.empty
    return rescored(chosen.frames, own, chosen.kinds, robust_board(public, equal) if known else None)
