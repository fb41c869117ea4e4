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
    costs: dict[str, list[Decimal]] = {judge: [] for judge in frames.judges}
    for info in frames.players:
        for judgement in tree.judgements(frames.suite, frames.language, info.player):
            if judgement.judge in costs and judgement.calls:
                model = catalog.models.get(judgement.judge)
                used = [call.usage for call in judgement.calls if call.usage is not None]
                known = [cost for usage in used if model and (cost := model.cost_of(usage)) is not None]
                if len(known) < len(used):
                    return None
                costs[judgement.judge].append(sum(known, Decimal(0)))
    if not all(costs.values()):
        return None
    return sum((sum(paid, Decimal(0)) / len(paid) for paid in costs.values()), Decimal(0)) / len(costs)
