"""The evidence that a suite's published board rests on: its own judges, its own scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.errors import UserError
from bench.results import ResultsTree
from bench.scores.frame import Frames, load
from bench.scores.ledger import Scene
from bench.suites import Suite


def board_evidence(
    tree: ResultsTree,
    suite_name: str,
    language: str,
    suites: Mapping[str, Suite],
    judges: Sequence[str] = (),
) -> tuple[Frames, list[Scene] | None]:
    """Evidence of one board, and the scenes that its suite expects (None: those that are there).

    ``judges``: only these, whether the suite names them or not. Without it the suite's judges count, and of a
    suite that ``suites`` does not know all that are there. Raises UserError where there is no such evidence.
    """
    frames = load(tree, suite_name, language)
    if not frames.players:
        raise UserError(
            f"no results of suite {suite_name!r} in language {language!r}",
            where=str(tree.root),
            hint=f"Run it first: `bench run {suite_name}`.",
        )
    unknown = sorted(set(judges) - set(frames.judges))
    if unknown:
        raise UserError(
            f"no judgements by {', '.join(unknown)}",
            where=f"{suite_name} {language}",
            hint=f"Judges of this board: {', '.join(frames.judges) or 'none'}.",
        )
    suite = suites.get(suite_name)
    if suite is None or language not in suite.scenes:
        return frames.only_judges(judges) if judges else frames, None
    chosen = list(judges) or [judge for judge in suite.judges if judge in frames.judges]
    if chosen:
        frames = frames.only_judges(chosen)
    return frames, suite.language(language).pairs
