"""The same response judged with the real answers in several orders: how far the order moves the score."""

from __future__ import annotations

import pandas as pd

from bench.protocol_facts import ProtocolFacts, answer_orders, facts_of
from bench.scores.analyses.sure import mean_estimate
from bench.scores.frame import SCENE, TALK, Frames

COLUMNS = ["judge", "what", "items", "value", "low", "high", "reason"]
SPREAD, OTHER_BAND = "spread", "other_band"


def order_effects(frames: Frames) -> pd.DataFrame:
    """Rows by judge. ``spread``: largest minus smallest score of a response over its orders, in points, on
    the mean; ``other_band``: the share of responses that the orders put into different bands;
    ``answer_1_first`` and so on: the score where that answer of the data set stands first, minus the
    response's mean.

    Each is the mean over ``items`` (of the means over players), with a 95% interval in which the items of one
    character are not independent. What a judge does by chance, asked twice alike, is in all of them.
    """
    facts = facts_of(frames.protocol)
    if not facts.compared_answers:
        return pd.DataFrame(columns=COLUMNS)
    rows: list[dict[str, object]] = []
    for judge, mine in frames.counting_scores.groupby("judge"):
        wide = mine.pivot_table(index=TALK, columns="turn", values="score").dropna()
        if wide.shape[1] > 1 and len(wide):
            rows += [_row(str(judge), what, values) for what, values in _effects(wide, facts).items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def _effects(wide: pd.DataFrame, facts: ProtocolFacts) -> dict[str, pd.Series]:
    """Each figure by conversation (TALK)."""
    bands = wide.map(lambda score: next(n for n, (_, high) in enumerate(facts.bands) if score <= high))
    found = {
        SPREAD: wide.max(axis=1) - wide.min(axis=1),
        OTHER_BAND: (bands.nunique(axis=1) > 1).astype("float64"),
    }
    off = pd.Series(wide.sub(wide.mean(axis=1), axis=0).stack())
    first = pd.Series([_first(*key, answers=facts.compared_answers) for key in off.index], index=off.index)
    for answer in range(1, facts.compared_answers + 1):
        found[f"answer_{answer}_first"] = off[first == answer].groupby(level=TALK).mean()
    return found


def _first(_: str, character: str, situation: str, __: int, order: int, *, answers: int) -> int:
    """The answer that stands first in an item's ``order``-th order."""
    return answer_orders(str(character), str(situation), answers)[int(order) - 1][0]


def _row(judge: str, what: str, values: pd.Series) -> dict[str, object]:
    items = values.groupby(level=SCENE[1:]).mean()
    made = mean_estimate(items)
    return {"judge": judge, "what": what, "items": len(items), **made.cells()}
