"""Pass rates of card probes, per player and kind of probe.

Patterns decide every probe as passed or failed, or leave it unclear. Unclear probes are counted and shown,
and enter no rate.
"""

from __future__ import annotations

import math

import pandas as pd
from scipy import special

from bench.protocol_facts import facts_of
from bench.records import Record
from bench.scores.bootstrap import CONFIDENCE
from bench.scores.digits import known, published
from bench.scores.frame import SCENE, TALK, Frames


class KindRate(Record):
    """Probes of one kind."""

    passed: int
    failed: int
    unclear: int
    rate: float | None
    """Passed of those that were decided; null if none was."""
    ci: tuple[float, float] | None
    """95% interval of ``rate``."""


class ProbeRates(Record):
    """A player's probes."""

    pass_rate: float | None
    """Passed of those that were decided; null if none was."""
    pass_rate_ci: tuple[float, float] | None
    """95% interval of ``pass_rate``, for other probes like these."""
    unclear: int
    """Answers that no pattern decided, and no judge."""
    kinds: dict[str, KindRate]

    @property
    def rates(self) -> dict[str, float | None]:
        """The pass rate of each kind."""
        return {kind: rates.rate for kind, rates in self.kinds.items()}


def wilson(passed: float, decided: int) -> tuple[float, float] | None:
    """Wilson's score interval of a rate (Wilson 1927); None without a decided probe."""
    if not decided:
        return None
    z = float(special.ndtri((1 + CONFIDENCE) / 2))
    rate = passed / decided
    middle = (rate + z**2 / (2 * decided)) / (1 + z**2 / decided)
    reach = z / (1 + z**2 / decided) * math.sqrt(rate * (1 - rate) / decided + z**2 / (4 * decided**2))
    return published(max(0.0, middle - reach)), published(min(1.0, middle + reach))


def probe_rates(frames: Frames) -> dict[str, ProbeRates]:
    """The probes of every player, by player; empty for boards of other protocols."""
    if not facts_of(frames.protocol).rule_judge:
        return {}
    complete = frames.conversations[frames.conversations["status"] == "complete"]
    verdicts = frames.counting_means.reset_index()[[*TALK, "passed"]] if len(frames.scores) else None
    table = complete[[*TALK, "title"]].assign(kind=complete["title"].str.partition(":")[0])
    if verdicts is None:
        table["passed"] = math.nan
    else:
        table = table.merge(verdicts, on=TALK, how="left")
    return {str(player): _rates(probes) for player, probes in table.groupby("player")}


def _rates(probes: pd.DataFrame) -> ProbeRates:
    whole = _kind(probes)
    return ProbeRates(
        pass_rate=whole.rate,
        pass_rate_ci=whole.ci,
        unclear=whole.unclear,
        kinds={str(kind): _kind(rows) for kind, rows in probes.groupby("kind")},
    )


def _kind(probes: pd.DataFrame) -> KindRate:
    decided = probes.dropna(subset="passed")
    passed = int(decided["passed"].sum())
    shares = decided.groupby(SCENE)["passed"].mean()  # repeats of a probe are not independent probes
    rate = float(shares.mean()) if len(shares) else None
    return KindRate(
        passed=passed,
        failed=len(decided) - passed,
        unclear=len(probes) - len(decided),
        rate=known(rate),
        ci=wilson(float(shares.sum()), len(shares)),
    )
