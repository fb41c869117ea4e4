"""Judges and ensembles of judges against people, and which of their differences are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from pydantic import Field

from bench.agreement.ensembles import MEAN, METHODS, Material, ensemble, folds_of
from bench.agreement.figures import Against, Difference, Figure, Resampling, kept_p
from bench.agreement.panel import Judged, Panel
from bench.errors import UserError
from bench.records import Record
from bench.scores.bootstrap import NOISE_DECIMALS
from bench.scores.paper import DIGITS, published
from bench.scores.robust import adjusted

ALPHA = 0.05
ONE_JUDGE = "one judge: there is nothing to combine"
NO_JUDGE = "no judge judged the sample"


class JudgeFigure(Figure):
    """Spearman's rho of a judge, or of the plain mean of several, with the mean of the annotators."""

    criterion: str
    name: str
    """A judge, or the members of an ensemble as ``Avg(a, b)``."""
    members: tuple[str, ...]
    """Of an ensemble; empty for a judge."""


class JudgeDifference(Difference):
    """How much better ``first`` agrees with people than ``second``, over the items that both have."""

    criterion: str
    first: str
    second: str
    p_corrected: float | None = None
    """Holm's correction for all pairs of this criterion."""
    real: bool | None = None
    """Whether the corrected p is below 0.05; null where there is none."""


class Weight(Record):
    """What a judge counts in an ensemble; where weights were learnt in folds, from the least to the most."""

    judge: str
    low: float
    mean: float
    high: float


class EnsembleFigure(Figure):
    """Spearman's rho of one way to combine all judges, and how it differs from the plain mean."""

    criterion: str
    method: str
    """mean, median, weighted, normalised or pagerank."""
    over_mean: Difference | None
    """This minus the plain mean; null for the mean itself."""
    p_corrected: float | None = None
    """Holm's correction for all methods of this criterion that have a p."""
    real: bool | None = None
    weights: tuple[Weight, ...] = ()


class Best(Record):
    """Which way to combine agrees best with people, and what the plain mean costs against it."""

    criterion: str
    method: str | None
    """Null where no ensemble has a correlation."""
    value: float | None
    mean: float | None
    cost: float | None
    """Best minus mean: 0 where the mean is best. It is the best of several on these items, so rather too
    high."""
    low: float | None
    high: float | None
    p_corrected: float | None
    real: bool | None
    reason: str | None = None


class JudgedReport(Record):
    """All that is measured of the judges of one suite and version."""

    label: str
    protocol: str
    judges: tuple[str, ...]
    left_out: dict[str, dict[str, int]]
    """Judge, then why, to how many items it has no score of."""
    changed: int
    """Items left out since their conversation is another now than the one people read."""
    unmatched: int
    """Items left out since this suite has no such conversation."""
    figures: tuple[JudgeFigure, ...]
    differences: tuple[JudgeDifference, ...]
    ensembles: tuple[EnsembleFigure, ...]
    best: tuple[Best, ...]
    reason: str | None = Field(default=None)
    """Why there is no ensemble; null where there is one."""


def judged_report(
    panel: Panel,
    judged: Judged,
    people: pd.DataFrame,
    resampling: Mapping[str, Resampling],
    wanted: Sequence[Sequence[str]] = (),
) -> JudgedReport:
    """Judges of one version against ``people`` (items x criteria and final).

    ``wanted``: ensembles to show beside the judges, besides that of all. Raises UserError for unknown names.
    """
    _check(wanted, judged)
    tables = panel.by_judge(judged)
    figures: list[JudgeFigure] = []
    differences: list[JudgeDifference] = []
    ensembles: list[EnsembleFigure] = []
    folds = folds_of(panel.items, ["agreement-folds", panel.name])
    for criterion in panel.measured:
        table, human, draws = tables[criterion], people[criterion], resampling[criterion]
        groups = _groups(judged.judges, wanted)
        sides = table.assign(**{name: _plain_mean(table, members) for name, members in groups.items()})
        against = Against(human, sides, draws)
        for name in sides.columns:
            members = groups.get(name, ())
            figure = against.figure(name)
            figures.append(
                JudgeFigure(criterion=criterion, name=name, members=members, **figure.model_dump())
            )
        differences += _differences(criterion, list(sides.columns), against)
        if len(judged.judges) > 1:
            ensembles += _ensembles(criterion, table, human, folds, judged, draws)
    return JudgedReport(
        label=judged.label,
        protocol=judged.protocol,
        judges=judged.judges,
        left_out={judge: dict(reasons) for judge, reasons in judged.left_out.items()},
        changed=len(judged.changed),
        unmatched=len(judged.unmatched),
        figures=tuple(figures),
        differences=tuple(differences),
        ensembles=tuple(ensembles),
        best=tuple(_best(name, ensembles) for name in panel.measured) if ensembles else (),
        reason=None if ensembles else ONE_JUDGE if judged.judges else NO_JUDGE,
    )


def _check(wanted: Sequence[Sequence[str]], judged: Judged) -> None:
    for members in wanted:
        unknown = sorted(set(members) - set(judged.judges))
        if unknown or len(set(members)) < 2:
            fault = f"has no judge {', '.join(unknown)}" if unknown else "needs two judges or more"
            raise UserError(
                f"ensemble {', '.join(members)} {fault}",
                where=judged.label,
                hint=f"Judges: {', '.join(judged.judges) or 'none'}.",
            )


def _groups(judges: Sequence[str], wanted: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Ensembles by their names: those asked for, and all judges."""
    groups = [tuple(members) for members in wanted]
    if len(judges) > 1:
        groups.append(tuple(judges))
    return {f"Avg({', '.join(members)})": members for members in groups}


def _plain_mean(table: pd.DataFrame, members: Sequence[str]) -> pd.Series:
    """The mean of the members over the items that all of them scored; NaN elsewhere."""
    return table[list(members)].mean(axis=1, skipna=False).round(NOISE_DECIMALS)


def _differences(criterion: str, names: list[str], against: Against) -> list[JudgeDifference]:
    pairs = [(a, b, against.difference(a, b)) for a, b in combinations(names, 2)]
    corrected = _holm([made for _, _, made in pairs])
    return [
        JudgeDifference(
            criterion=criterion,
            first=a,
            second=b,
            p_corrected=p,
            real=None if p is None else p < ALPHA,
            **made.model_dump(),
        )
        for (a, b, made), p in zip(pairs, corrected, strict=True)
    ]


def _holm(made: Sequence[Difference | None]) -> list[float | None]:
    known = [np.nan if one is None or one.p is None else one.p for one in made]
    corrected = adjusted(np.asarray(known, dtype=np.float64), "holm")
    return [None if np.isnan(p) else kept_p(float(p), DIGITS) for p in corrected]


def _ensembles(
    criterion: str,
    table: pd.DataFrame,
    human: pd.Series,
    folds: pd.Series,
    judged: Judged,
    draws: Resampling,
) -> list[EnsembleFigure]:
    """Every method over the items that people and all judges scored."""
    whole = table.notna().all(axis=1) & human.notna()
    material = Material(table[whole], human[whole], folds[whole], judged.votes, judged.own)
    n = int(whole.sum())
    empty = f"{n} items were scored by people and by every judge" if n < 2 else None
    made = {name: None if empty else ensemble(name, material) for name in METHODS}
    scores = {
        name: one.scores.reindex(table.index)
        for name, one in made.items()
        if one is not None and one.scores is not None
    }
    against = Against(human, pd.DataFrame(scores, index=table.index), draws)
    differences = [
        against.difference(name, MEAN) if name in scores and name != MEAN else None for name in METHODS
    ]
    rows = []
    for name, difference, p in zip(METHODS, differences, _holm(differences), strict=True):
        one = made[name]
        reason = empty or (one.reason if one else None)
        figure = against.figure(name) if name in scores else Figure(n=n, value=None, reason=reason)
        rows.append(
            EnsembleFigure(
                criterion=criterion,
                method=name,
                over_mean=difference,
                p_corrected=p,
                real=None if p is None else p < ALPHA,
                weights=_weights(one.weights if one else ()),
                **figure.model_dump(),
            )
        )
    return rows


def _weights(folds: Sequence[Mapping[str, float]]) -> tuple[Weight, ...]:
    if not folds:
        return ()
    return tuple(
        Weight(
            judge=judge,
            low=published(min(fold[judge] for fold in folds)),
            mean=published(sum(fold[judge] for fold in folds) / len(folds)),
            high=published(max(fold[judge] for fold in folds)),
        )
        for judge in folds[0]
    )


def _best(criterion: str, ensembles: Sequence[EnsembleFigure]) -> Best:
    """The method with the highest correlation; the plain mean where another is only its equal."""
    mine = [one for one in ensembles if one.criterion == criterion]
    known = [one for one in mine if one.value is not None]
    if not known:
        return Best(
            criterion=criterion,
            method=None,
            value=None,
            mean=None,
            cost=None,
            low=None,
            high=None,
            p_corrected=None,
            real=None,
            reason=mine[0].reason,
        )
    plain = next((one for one in known if one.method == MEAN), None)
    best = max(known, key=lambda one: (published(one.value or 0.0), one.method == MEAN))
    over = best.over_mean
    return Best(
        criterion=criterion,
        method=best.method,
        value=best.value,
        mean=plain.value if plain else None,
        cost=over.value if over else 0.0,
        low=over.low if over else None,
        high=over.high if over else None,
        p_corrected=best.p_corrected,
        real=best.real,
        reason=over.reason if over else "the plain mean is the best of them",
    )
