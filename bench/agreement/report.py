"""agreement.json: everything that is measured of one sample, in one record."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench.agreement.disputes import Dispute, disputes
from bench.agreement.figures import RESAMPLES, Resampling, Unit
from bench.agreement.judges import JudgedReport, judged_report
from bench.agreement.panel import Panel, consensus
from bench.agreement.people import People, people_of
from bench.errors import UserError
from bench.records import SCHEMA_VERSION, Record

REFUSALS = {
    "left-out": "a judgement that saw a refusal in any turn is left out, as on the boards",
    "lowest": "a judgement that saw a refusal counts as the lowest score on every criterion",
    "as-scored": "a judgement that saw a refusal counts with the scores that it gave",
}
"""What can become of a judgement that saw a refusal. What people gave counts as they gave it, always."""


class SampledPlayer(Record):
    """A row of the paper's Table 5: how many of the sample's items are a player's."""

    player: str | None
    """Null: not known."""
    items: int
    rated: int
    """Of them, scored by at least one annotator."""


class Sample(Record):
    """What was rated, and by how many."""

    items: int
    rated: int
    """Items with a score by at least one annotator."""
    rated_by: dict[str, int]
    """Number of annotators to how many items exactly so many scored on at least one criterion."""
    refused: int
    """Items in which an annotator saw a refusal. Their scores count as given."""
    players: tuple[SampledPlayer, ...]


class Agreement(Record):
    """Judges against people over one sample: the paper's Tables 1, 2, 5, 6 and 7, and what is behind them."""

    schema_version: int = SCHEMA_VERSION
    name: str
    """The study, or the table's file name."""
    suite: str
    language: str
    criteria: tuple[str, ...]
    """Without ``final``, which is their mean."""
    measured: tuple[str, ...]
    """What every table has: the criteria, and final where it exists."""
    refusals: str
    """A key of REFUSALS."""
    resamples: int
    unit: str
    """What resamples draw: conversations, or players with all their conversations."""
    sample: Sample
    judged: tuple[JudgedReport, ...]
    """One a suite and version."""
    people: People
    disputes: tuple[Dispute, ...]
    notes: tuple[str, ...]
    """What to keep in mind, in sentences."""


def agreement_of(
    panel: Panel,
    *,
    refusals: str = "left-out",
    unit: Unit = "conversations",
    resamples: int = RESAMPLES,
    ensembles: Sequence[Sequence[str]] = (),
) -> Agreement:
    """Measure everything. Raises UserError where the sample is empty or an ensemble names no judge."""
    if panel.items.empty:
        raise UserError("the sample holds no item", where=panel.name)
    players = panel.items["player"]
    if unit == "players" and players.isna().any():
        raise UserError(
            "the players of some items are not known, so players cannot be drawn",
            where=panel.name,
            hint="Draw conversations; or, of a table, name the players' column by --group.",
        )
    by_annotator = panel.by_annotator()
    people = consensus(by_annotator, panel.criteria)
    units = players if unit == "players" else panel.items["item"]
    resampling = {
        name: Resampling(
            panel.items["item"].tolist(), units.tolist(), ["agreement", panel.name, name, unit], resamples
        )
        for name in panel.measured
    }
    judged = tuple(judged_report(panel, one, people, resampling, ensembles) for one in panel.judged)
    return Agreement(
        name=panel.name,
        suite=panel.suite,
        language=panel.language,
        criteria=panel.criteria,
        measured=panel.measured,
        refusals=refusals,
        resamples=resamples,
        unit=unit,
        sample=_sample(panel),
        judged=judged,
        people=people_of(by_annotator, resampling),
        disputes=tuple(found for one in panel.judged for found in disputes(panel, one, people, by_annotator)),
        notes=tuple(_notes(panel, unit)),
    )


def _sample(panel: Panel) -> Sample:
    scored = panel.ratings[panel.ratings["score"].notna()]
    counts = scored.groupby("item")["annotator"].nunique().reindex(panel.items["item"], fill_value=0)
    how_often = counts.value_counts().sort_index()
    table = panel.items.assign(rated=(counts > 0).to_numpy())
    players = [
        SampledPlayer(
            player=None if pd.isna(player) else str(player), items=len(group), rated=int(group["rated"].sum())
        )
        for player, group in table.groupby("player", dropna=False)
    ]
    return Sample(
        items=len(panel.items),
        rated=int((counts > 0).sum()),
        rated_by={str(number): int(times) for number, times in how_often.items()},
        refused=panel.refused,
        players=tuple(sorted(players, key=lambda one: (-one.items, one.player is None, one.player or ""))),
    )


def _notes(panel: Panel, unit: Unit) -> list[str]:
    notes: list[str] = []
    players = panel.items["player"].nunique()
    if unit == "conversations" and 0 < players < len(panel.items):
        notes.append(
            f"p and intervals take the {len(panel.items)} items for independent. They are of {players} "
            "players, and those of one player are alike: what other players would give is less certain."
        )
    if unit == "conversations" and players == 0:
        notes.append("p and intervals take items for independent: what they belong to is not known.")
    if unit == "players":
        notes.append("Intervals draw players; p still takes items for independent.")
    for one in panel.judged:
        if one.changed:
            notes.append(
                f"{one.label}: {len(one.changed)} items are left out, since their conversation is another "
                "now than the one that people read."
            )
        if one.unmatched:
            notes.append(
                f"{one.label}: {len(one.unmatched)} items are left out, since it has no such conversation."
            )
    return notes
