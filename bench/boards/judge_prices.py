"""What a judgement of a board costs at the catalogue's prices."""

from __future__ import annotations

from decimal import Decimal

from bench.boards.loading import LoadedBoard
from bench.results import ResultsTree


def judgement_price(tree: ResultsTree, loaded: LoadedBoard) -> Decimal | None:
    """US dollars of one judgement, the mean over the board's judges; None if one of them is unknown.

    The tokens are those that the judgements took, asking again included; the prices are the current ones.
    """
    frames, catalog = loaded.frames, loaded.catalog
    if catalog is None or not frames.judges or tree.is_table(frames.suite):
        return None
    sums = {judge: (Decimal(0), 0) for judge in frames.judges}
    for info in frames.players:
        for judgement in tree.judgements(frames.suite, frames.language, info.player):
            if judgement.judge not in sums or not judgement.calls:
                continue
            model = catalog.models.get(judgement.judge)
            for call in judgement.calls:
                cost = None if model is None or call.usage is None else model.cost_of(call.usage)
                if cost is None and call.usage is not None:
                    return None
                spent, count = sums[judgement.judge]
                sums[judgement.judge] = spent + (cost or 0), count
            spent, count = sums[judgement.judge]
            sums[judgement.judge] = spent, count + 1
    if not all(count for _, count in sums.values()):
        return None
    return sum((spent / count for spent, count in sums.values()), Decimal(0)) / len(sums)
