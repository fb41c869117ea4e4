"""Which evidence of a board was made with another suite version, or other prompts, parameters or models."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import product

from bench.catalog import Catalog
from bench.errors import CatalogError
from bench.protocols import protocol_for
from bench.run.plan import CellWork, Plan, estimate
from bench.scores.board import StaleEvidence
from bench.scores.frame import Frames
from bench.suites import Suite
from bench.tables import decimals


def stale_evidence(frames: Frames, suite: Suite, catalog: Catalog) -> StaleEvidence | None:
    """The stale evidence of a board, and what redoing it costs; None if all of it is known to be current.

    Players and judges that ``catalog`` no longer has cannot be compared: they are named as unknown.
    """
    try:
        protocol = protocol_for(suite, frames.language, catalog)
    except CatalogError as error:
        return unknown_evidence(error.what)
    judges = [judge for judge in frames.judges if judge in catalog.models or judge in suite.judges]
    absent = [name for name in frames.names if name not in catalog.models]
    absent += [judge for judge in frames.judges if judge not in judges]
    plan, rota, version = Plan(), suite.rota(frames.language), suite.entry.version
    players: Counter[str] = Counter()
    judgements = 0
    for player in filter(catalog.models.__contains__, frames.names):
        for repeat, first in product(frames.samples, protocol.cells(player)):
            cell = first.model_copy(update={"repeat": repeat})
            key = (player, cell.character, cell.situation, repeat)
            asked = suite.asked(judges, key[1:3], rota)
            made = frames.inputs.get(key)
            again = made is not None and made[:2] != (version, protocol.conversation_fingerprint(cell))
            old = []
            for judge in asked:
                verdict = frames.inputs.get((*key, judge))
                if verdict is None:
                    continue
                if verdict[:2] != (version, protocol.judgement_fingerprint(cell, judge, verdict[2])):
                    old.append(judge)
            players[player] += again
            judgements += len(old)
            if again or old:
                needed = tuple(asked if again else old)
                plan.work.append(
                    CellWork(cell=cell, turns=0, calls=0, talk=again, judges=needed, conversation=None)
                )
    if not plan.work and not absent:
        return None
    costs = [row.cost for row in estimate(plan, protocol)]
    known = [cost for cost in costs if cost is not None]
    return StaleEvidence(
        conversations=players.total(),
        judgements=judgements,
        players={player: count for player, count in players.items() if count},
        cost=decimals(sum(known, Decimal(0))) if len(known) == len(costs) else None,
        unknown=f"{catalog.path.name} no longer has {', '.join(absent)}" if absent else "",
    )


def unknown_evidence(reason: str) -> StaleEvidence:
    """Evidence that cannot be compared with anything current, for this reason."""
    return StaleEvidence(conversations=0, judgements=0, players={}, cost=None, unknown=reason)
