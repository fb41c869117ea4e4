"""How well judges and ensembles of judges agree with people, and which of their differences are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from bench.agreement.coefficients import Against, Coefficient, Difference, Resampling, rounded_p
from bench.agreement.ensembles import MEAN, METHODS, Ensemble, Material, ensemble, folds_of
from bench.agreement.panel import Judged, Panel
from bench.errors import UserError
from bench.records import Record
from bench.scores.bootstrap import NOISE_DECIMALS
from bench.scores.correlation import ALPHA
from bench.scores.paper import DIGITS, published
from bench.scores.robust import adjusted
from bench.toml_entries import nearest_or_all


class JudgeAgreement(Coefficient):
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
    """Whether the corrected p is below 0.05; null without a p."""


class Weight(Record):
    """A judge's weight in an ensemble: lowest, mean and highest over the folds."""

    judge: str
    low: float
    mean: float
    high: float


class EnsembleAgreement(Coefficient):
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
    """The ensemble that agrees best with people, and how much lower the plain mean is."""

    criterion: str
    method: str | None = None
    """Null if no ensemble has a correlation."""
    value: float | None = None
    mean: float | None = None
    cost: float | None = None
    """Best minus mean; 0 if the mean is best. Biased upwards, because it is the best of several on the same
    items."""
    low: float | None = None
    high: float | None = None
    p_corrected: float | None = None
    real: bool | None = None
    reason: str | None = None


class JudgedReport(Record):
    """Everything measured about the judges of one suite and version."""

    label: str
    protocol: str
    judges: tuple[str, ...]
    left_out: dict[str, dict[str, int]]
    """Judge to reason to the number of items it has no score of."""
    changed: int
    """Items left out because their conversation has changed since people read it."""
    unmatched: int
    """Items left out because this suite has no such conversation."""
    figures: tuple[JudgeAgreement, ...]
    differences: tuple[JudgeDifference, ...]
    ensembles: tuple[EnsembleAgreement, ...]
    best: tuple[Best, ...]
    reason: str | None = None
    """Why there is no ensemble; null if there is one."""

    def rows(self, measured: Sequence[str]) -> list[tuple[str, list[JudgeAgreement]]]:
        """The figures as a table: judge or ensemble, and its figure on each criterion of ``measured``."""
        cells = {(figure.name, figure.criterion): figure for figure in self.figures}
        names = dict.fromkeys(figure.name for figure in self.figures)
        return [(name, [cells[name, criterion] for criterion in measured]) for name in names]


def judged_report(
    panel: Panel,
    judged: Judged,
    people: pd.DataFrame,
    resampling: Mapping[str, Resampling],
    wanted: Sequence[Sequence[str]] = (),
) -> JudgedReport:
    """Compare the judges of one version with ``people`` (items x criteria and final).

    ``wanted``: ensembles to show in addition to that of all judges. Raises UserError for unknown names.
    """
    groups = _groups(judged, wanted)
    tables = panel.by_judge(judged)
    figures: list[JudgeAgreement] = []
    differences: list[JudgeDifference] = []
    ensembles: list[EnsembleAgreement] = []
    folds = folds_of(panel.items, ["agreement-folds", panel.name])
    for criterion in panel.measured:
        table, human, draws = tables[criterion], people[criterion], resampling[criterion]
        means = {
            name: table[list(members)].mean(axis=1, skipna=False).round(NOISE_DECIMALS)
            for name, members in groups.items()
        }
        columns = table.assign(**means)
        against = Against(human, columns, draws)
        for name in columns.columns:
            rho = against.coefficient(name).model_dump()
            members = groups.get(name, ())
            figures.append(JudgeAgreement(criterion=criterion, name=name, members=members, **rho))
        differences += _differences(criterion, list(columns.columns), against)
        if len(judged.judges) > 1:
            ensembles += _ensembles(criterion, table, human, folds, judged, draws)
    nothing = "one judge: there is nothing to combine" if judged.judges else "no judge judged the sample"
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
        reason=None if ensembles else nothing,
    )


def _groups(judged: Judged, wanted: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Name to members of the ensembles asked for and that of all judges. Raises UserError."""
    for members in wanted:
        unknown = sorted(set(members) - set(judged.judges))
        if unknown or len(set(members)) < 2:
            fault = f"has no judge {', '.join(unknown)}" if unknown else "needs two judges or more"
            raise UserError(
                f"ensemble {', '.join(members)} {fault}",
                where=judged.label,
                hint=nearest_or_all(unknown[0] if unknown else "", judged.judges, "Judges"),
            )
    groups = [tuple(members) for members in wanted]
    if len(judged.judges) > 1:
        groups.append(tuple(judged.judges))
    return {f"Avg({', '.join(members)})": members for members in groups}


def _differences(criterion: str, names: list[str], against: Against) -> list[JudgeDifference]:
    pairs = [(a, b, against.difference(a, b)) for a, b in combinations(names, 2)]
    return [
        JudgeDifference(
            criterion=criterion, first=a, second=b, p_corrected=p, real=real, **difference.model_dump()
        )
        for (a, b, difference), (p, real) in zip(pairs, _holm([pair[2] for pair in pairs]), strict=True)
    ]


def _holm(differences: Sequence[Difference | None]) -> list[tuple[float | None, bool | None]]:
    """(p after Holm's correction, whether it is below ALPHA) of each difference that has a p."""
    known = [np.nan if one is None or one.p is None else one.p for one in differences]
    corrected = adjusted(np.asarray(known, dtype=np.float64), "holm")
    values = [None if np.isnan(p) else rounded_p(float(p), DIGITS) for p in corrected]
    return [(p, None if p is None else p < ALPHA) for p in values]


def _ensembles(
    criterion: str,
    table: pd.DataFrame,
    human: pd.Series,
    folds: pd.Series,
    judged: Judged,
    draws: Resampling,
) -> list[EnsembleAgreement]:
    """Every method, over the items that people and all judges scored."""
    whole = table.notna().all(axis=1) & human.notna()
    n = int(whole.sum())
    if n < 2:
        empty = Ensemble(None, reason=f"{n} items were scored by people and by every judge")
        combined = dict.fromkeys(METHODS, empty)
    else:
        material = Material(table[whole], human[whole], folds[whole], judged.votes, judged.own)
        combined = {name: ensemble(name, material) for name in METHODS}
    scores = {
        name: one.scores.reindex(table.index) for name, one in combined.items() if one.scores is not None
    }
    against = Against(human, pd.DataFrame(scores, index=table.index), draws)
    differences = [
        against.difference(name, MEAN) if name in scores and name != MEAN else None for name in METHODS
    ]
    rows = []
    for name, difference, (p, real) in zip(METHODS, differences, _holm(differences), strict=True):
        reason = combined[name].reason
        rho = against.coefficient(name) if name in scores else Coefficient(n=n, value=None, reason=reason)
        rows.append(
            EnsembleAgreement(
                criterion=criterion,
                method=name,
                over_mean=difference,
                p_corrected=p,
                real=real,
                weights=_weights(combined[name].weights),
                **rho.model_dump(),
            )
        )
    return rows


def _weights(folds: Sequence[Mapping[str, float]]) -> tuple[Weight, ...]:
    return tuple(
        Weight(
            judge=judge,
            low=published(min(fold[judge] for fold in folds)),
            mean=published(sum(fold[judge] for fold in folds) / len(folds)),
            high=published(max(fold[judge] for fold in folds)),
        )
        for judge in (folds[0] if folds else ())
    )


def _best(criterion: str, ensembles: Sequence[EnsembleAgreement]) -> Best:
    """The method with the highest correlation; the plain mean if no other is higher."""
    rows = [row for row in ensembles if row.criterion == criterion]
    known = [row for row in rows if row.value is not None]
    if not known:
        return Best(criterion=criterion, reason=rows[0].reason)
    best = max(known, key=lambda row: (published(row.value or 0.0), row.method == MEAN))
    over = best.over_mean
    return Best(
        criterion=criterion,
        method=best.method,
        value=best.value,
        mean=next((row.value for row in known if row.method == MEAN), None),
        cost=over.value if over else 0.0,
        low=over.low if over else None,
        high=over.high if over else None,
        p_corrected=best.p_corrected,
        real=best.real,
        reason=over.reason if over else "the plain mean is the best of them",
    )
