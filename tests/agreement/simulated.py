"""People and judges of known reliability, made by a random model whose population values can be computed.

The model: each item has a quality; each rater sees it through noise of its own and gives the step of its
scale that the sum falls on. Reliability is the correlation of what a rater sees with the quality.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bench.agreement.panel import ITEM_COLUMNS, Judged, Panel
from bench.scores.bootstrap import Array

ANNOTATORS = {"ann": 0.75, "ben": 0.6, "cas": 0.7, "dot": 0.5, "eve": 0.65}
"""Reliability of five annotators: their pairs then correlate at 0.25 to 0.5, as in the paper."""
JUDGES = {"sharp": 0.8, "fair": 0.7, "twin": 0.7, "dull": 0.35}
MISSING = 0.1
"""Share of annotators' scores that are missing."""
LIKERT = (-1.2, -0.4, 0.3, 1.1)
QUARTERS = tuple(np.linspace(-2.2, 1.8, 16))
"""Judges score four turns from 1 to 5, so that a conversation's mean has quarters."""


def seen(rng: np.random.Generator, quality: Array, reliability: float, steps: tuple[float, ...]) -> Array:
    """What a rater of some reliability gives, as the number of the step from 0."""
    latent = reliability * quality + np.sqrt(1 - reliability**2) * rng.normal(size=len(quality))
    given: Array = np.searchsorted(steps, latent).astype(np.float64)
    return given


def sample(
    seed: int,
    items: int,
    annotators: Mapping[str, float] = ANNOTATORS,
    judges: Mapping[str, float] = JUDGES,
    missing: float = MISSING,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items x annotators (1 to 5, NaN where missing), and items x judges (1 to 5 by quarters)."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=items)
    people = {name: 1 + seen(rng, quality, r, LIKERT) for name, r in annotators.items()}
    for scores in people.values():
        scores[rng.random(items) < missing] = np.nan
    judged = {name: 1 + seen(rng, quality, r, QUARTERS) / 4 for name, r in judges.items()}
    index = pd.Index([f"item-{n:06d}" for n in range(items)], name="item")
    return pd.DataFrame(people, index=index), pd.DataFrame(judged, index=index)


def long(table: pd.DataFrame, rater: str, criterion: str = "score") -> pd.DataFrame:
    """Items x raters as rows of item, rater, criterion, score."""
    rows = table.rename_axis(index="item").reset_index().melt("item", var_name=rater, value_name="score")
    return rows.assign(criterion=criterion)[["item", rater, "criterion", "score"]]


def panel_of(
    people: Mapping[str, pd.DataFrame] | pd.DataFrame,
    judges: Mapping[str, pd.DataFrame] | pd.DataFrame,
    *,
    players: Mapping[str, str] | None = None,
    **changes: object,
) -> Panel:
    """A panel of tables items x raters, one table or one a criterion."""
    if isinstance(people, pd.DataFrame):
        people = {"score": people}
    if isinstance(judges, pd.DataFrame):
        judges = {"score": judges}
    first = next(iter(people.values()))
    ratings = pd.concat([long(table, "annotator", name) for name, table in people.items()])
    scores = pd.concat([long(table, "judge", name) for name, table in judges.items()])
    names = tuple(map(str, next(iter(judges.values())).columns))
    about = [(str(item), (players or {}).get(str(item)), None, None, 1) for item in first.index]
    judged = Judged(label="sim 1", protocol="pingpong_v2", judges=names, scores=scores)
    judged = Judged(**{**judged.__dict__, **changes})
    return Panel(
        name="simulated",
        suite="sim",
        language="en",
        criteria=tuple(people),
        items=pd.DataFrame(about, columns=list(ITEM_COLUMNS), dtype="object"),
        ratings=ratings,
        judged=(judged,),
    )
