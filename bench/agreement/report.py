"""agreement.json: everything measured about one sample, in one record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from bench.agreement.coefficients import RESAMPLES, Resampling, Unit
from bench.agreement.disputes import Dispute, disputes
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
"""Ways to treat a judgement that saw a refusal. People's scores always count as given."""


class SampledPlayer(Record):
    """A row of the paper's Table 5: how many of the sample's items belong to a player."""

    player: str | None
    """Null if unknown."""
    items: int
    rated: int
    """Items of the player that at least one annotator scored."""


class Sample(Record):
    """What was rated, and by how many annotators."""

    items: int
    rated: int
    """Items with a score by at least one annotator."""
    rated_by: dict[str, int]
    """For each number of annotators, how many items exactly that many scored on at least one criterion."""
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
    """Without ``final``, their mean."""
    measured: tuple[str, ...]
    """The criteria, and final if it exists: every table has these."""
    refusals: str
    """A key of REFUSALS."""
    resamples: int
    unit: str
    """Resampling unit: conversations, or players with all their conversations."""
    sample: Sample
    judged: tuple[JudgedReport, ...]
    """One per suite and version."""
    people: People
    disputes: tuple[Dispute, ...]
    notes: tuple[str, ...]
    """Caveats, in sentences."""


def agreement_of(
    panel: Panel,
    *,
    refusals: str = "left-out",
    unit: Unit = "conversations",
    resamples: int = RESAMPLES,
    ensembles: Sequence[Sequence[str]] = (),
) -> Agreement:
    """Measure everything. Raises UserError if the sample is empty or an ensemble has an unknown judge."""
    if panel.items.empty:
        raise UserError("the sample is empty", where=panel.name)
    items, players = panel.items["item"].tolist(), panel.items["player"]
    if unit == "players" and players.isna().any():
        raise UserError(
            "the players of some items are not known, so players cannot be resampled",
            where=panel.name,
            hint="Resample conversations; for a table, name the column of players with --group.",
        )
    by_annotator = panel.by_annotator()
    people = consensus(by_annotator, panel.criteria)
    units = players.tolist() if unit == "players" else items
    resampling = {
        name: Resampling(items, units, ["agreement", panel.name, name, unit], resamples)
        for name in panel.measured
    }
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
        judged=tuple(judged_report(panel, one, people, resampling, ensembles) for one in panel.judged),
        people=people_of(by_annotator, resampling),
        disputes=tuple(row for one in panel.judged for row in disputes(panel, one, people, by_annotator)),
        notes=tuple(_notes(panel, unit)),
    )


def _sample(panel: Panel) -> Sample:
    scored = panel.ratings[panel.ratings["score"].notna()]
    counts = scored.groupby("item")["annotator"].nunique().reindex(panel.items["item"], fill_value=0)
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
        rated_by={str(number): int(times) for number, times in counts.value_counts().sort_index().items()},
        refused=panel.refused,
        players=tuple(sorted(players, key=lambda row: (-row.items, row.player is None, row.player or ""))),
    )


def _notes(panel: Panel, unit: Unit) -> Iterator[str]:
    players = panel.items["player"].nunique()
    if unit == "players":
        yield "Intervals resample players; p still treats items as independent."
    elif players == 0:
        yield "p and intervals treat items as independent: it is not known what they belong to."
    elif players < len(panel.items):
        yield (
            f"p and intervals treat the {len(panel.items)} items as independent. They come from {players} "
            "players, and items of one player are alike, so results for other players are less certain."
        )
    for judged in panel.judged:
        for items, reason in (
            (judged.changed, "their conversation has changed since people read it"),
            (judged.unmatched, "this suite has no such conversation"),
        ):
            if items:
                yield f"{judged.label}: {len(items)} items are left out because {reason}."
