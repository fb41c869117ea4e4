"""How lenient judges are, and how far they agree."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from bench.scores.alpha import ordinal_alpha
from bench.scores.analyses.scenes import judge_table
from bench.scores.analyses.sure import mean_estimate
from bench.scores.correlation import rho, tau
from bench.scores.digits import known, published
from bench.scores.frame import SCENE, TALK, Frames

ONE_JUDGE = "the board has only one judge"


def by_judge(frames: Frames) -> pd.DataFrame:
    """Finals with one column per judge, one row per conversation that all of them judged."""
    return judge_table(frames).dropna()


def leniency(frames: Frames) -> pd.DataFrame:
    """One row per judge: ``offset``, how far its scores lie above the mean of all judges, with its interval.

    Over the conversations that all judges judged, averaged over players before the interval is made. Where
    judges rotate, each is compared with the others of the same conversation, times (N - 1) / N for N judges:
    that is how far it lies above all N, since it meets each of the others about equally often.
    ``mean`` and ``deviation`` are those of all its turn scores: a judge that spreads less decides less.
    """
    table = by_judge(frames) if frames.asked is None else judge_table(frames)
    turns = frames.counting_scores
    rows = []
    for judge in frames.judges:
        above = table[judge] - table.mean(axis=1)
        if frames.asked is not None:
            others = table.drop(columns=judge).mean(axis=1)
            above = (table[judge] - others).dropna() * (1 - 1 / len(frames.judges))
        made = mean_estimate(above.groupby(level=SCENE[1:]).mean())
        scores = turns.loc[turns["judge"] == judge, "score"]
        row = {"judge": judge, "conversations": len(above), **made.cells("offset")}
        if len(frames.judges) < 2:
            row |= {"offset": None, "low": None, "high": None, "reason": ONE_JUDGE}
        row |= {"mean": known(scores.mean()), "deviation": known(scores.std())}
        rows.append(row)
    return pd.DataFrame(rows, columns=LENIENCY)


LENIENCY = ["judge", "conversations", "offset", "low", "high", "mean", "deviation", "reason"]


def agreement(frames: Frames) -> pd.DataFrame:
    """Krippendorff's alpha (ordinal) of all judges and of each pair: one row per pair and criterion.

    Units are turns; a turn with one verdict only cannot agree or disagree and is left out by the measure.
    ``judges`` names the pair, or is empty for all judges together. 1: identical scores; 0: chance.
    """
    turns = frames.counting_scores
    groups: list[tuple[str, ...]] = list(combinations(frames.judges, 2))
    if len(frames.judges) != 2:
        groups.insert(0, frames.judges)
    rows = []
    for group in groups:
        for criterion in frames.criteria:
            mine = turns[(turns["criterion"] == criterion) & turns["judge"].isin(group)]
            table = mine.pivot(index="judge", columns=[*TALK, "turn"], values="score")
            value, reason = alpha_of(table) if len(group) > 1 else (None, ONE_JUDGE)
            rows.append(
                {
                    "judges": "" if group == frames.judges and len(group) != 2 else " / ".join(group),
                    "criterion": criterion,
                    "turns": int((table.notna().sum() > 1).sum()),
                    "alpha": value,
                    "reason": reason,
                }
            )
    return pd.DataFrame(rows, columns=["judges", "criterion", "turns", "alpha", "reason"])


def alpha_of(table: pd.DataFrame) -> tuple[float | None, str | None]:
    """Alpha of a table of judges (rows) and units (columns), or why it is unknown."""
    values = table.to_numpy(dtype=np.float64).T
    both = values[(~np.isnan(values)).sum(axis=1) > 1]
    if len(both) == 0:
        return None, "no turn has verdicts of two judges"
    if len(np.unique(both[~np.isnan(both)])) < 2:
        return None, "all scores are the same, so agreement cannot be distinguished from habit"
    return published(ordinal_alpha(both)), None


def pairwise(frames: Frames) -> pd.DataFrame:
    """One row per pair of judges: Spearman over conversations and over players' means, Kendall over players'.

    Over the conversations that both judged. No p: conversations of one scene are not independent.
    """
    finals = judge_table(frames)
    rows = []
    for first, second in combinations(frames.judges, 2):
        table = finals[[first, second]].dropna()
        means = table.groupby(level="player").mean()
        values = {
            "spearman": rho(table[first].tolist(), table[second].tolist()),
            "spearman_players": rho(means[first].tolist(), means[second].tolist()),
            "kendall_players": tau(means[first].tolist(), means[second].tolist()),
        }
        lacking = [name for name, value in values.items() if value is None]
        reason = f"too few, or all alike, for {', '.join(lacking)}" if lacking else None
        rows.append(
            {
                "judge": first,
                "other": second,
                "conversations": len(table),
                "players": len(means),
                **{name: known(value) for name, value in values.items()},
                "reason": reason,
            }
        )
    return pd.DataFrame(rows, columns=PAIRWISE)


PAIRWISE = [
    "judge",
    "other",
    "conversations",
    "players",
    "spearman",
    "spearman_players",
    "kendall_players",
    "reason",
]
