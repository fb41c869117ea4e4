"""The board by rating as text for a terminal."""

from __future__ import annotations

from bench.scores.correlation import Correlation
from bench.scores.pairwise_data import NOT_COUNTED
from bench.scores.pairwise_records import Effect, RatedJudge, RatedPlayer, Rating
from bench.tables import UNKNOWN, printable, shown, text_table

STANDINGS = {"counts": "count", **NOT_COUNTED}


def rating_text(made: Rating) -> str:
    """The board, what moves verdicts besides the answers, and the judges."""
    what = "all criteria" if made.criterion == "mean" else made.criterion
    counts = "; ".join(f"{count} {STANDINGS[name]}" for name, count in made.standings.items())
    text = f"{made.suite}, {made.language}, version {made.version}: ratings by {what}\n"
    text += f"Comparisons: {counts}\n"
    if made.reason is not None:
        text += f"Nobody has a rating: {made.reason}.\n"
    heads = ["rank", "player", "rating", "95% interval", "won/tied/lost", "score", "rank by score"]
    heads += [f"by {name}" for name in made.criteria]
    text += "\n" + text_table(heads, [_row(row, made.criteria) for row in made.rows], left={1})
    text += "".join(f"{printable(row.player)}: {line}\n" for row in made.rows for line in _remarks(row))
    text += f"\n{_held(made)}"
    text += f"Agreement with the board by score: {_agreement(made.agreement)}\n"
    text += f"A longer answer gains: {_effect(made.length)} (log odds for one standard deviation of length)\n"
    text += f"A player of the judge's family gains: {_effect(made.same_family)} (log odds)\n"
    heads = [
        "judge", "counting", "ties", "first wins", "flipped", "same place", "cycles", "position", "agreement",
    ]  # fmt: skip
    text += "\n" + text_table(heads, [_judge(row) for row in made.judges], left={0})
    for row in made.judges:
        if row.left_out:
            text += f"{printable(row.judge)} moves no rating: {row.left_out}.\n"
    return text + NOTE


NOTE = """\
flipped: comparisons whose verdict depends on the order. same place: the place preferred in both orders.
cycles: A beats B beats C beats A; random verdicts give 25%. position: log odds for being shown first.
agreement: rank correlation of this judge's own ratings with the scores of the board.
"""


def _row(row: RatedPlayer, criteria: tuple[str, ...]) -> list[str]:
    ranks = UNKNOWN
    if row.rank is not None:
        low, high = row.rank_low, row.rank_high
        ranks = f"{row.rank} ({low})" if low == high else f"{row.rank} ({low}–{high})"
    return [
        ranks,
        printable(row.player),
        _signed(row.rating),
        UNKNOWN if row.low is None else f"{row.low:+.2f} to {row.high:+.2f}",
        f"{row.tally.wins}/{row.tally.ties}/{row.tally.losses}",
        shown(row.score),
        shown(row.score_rank),
        *(_signed(row.criteria.get(name)) for name in criteria),
    ]


def _remarks(row: RatedPlayer) -> list[str]:
    if row.reason is not None:
        return [f"no rating: {row.reason}"]
    parts = []
    if row.refusals:
        parts.append(f"comparisons not counted because a judge saw it refuse: {row.refusals}")
    if row.unfinished:
        parts.append(f"failed conversations, which were not compared: {row.unfinished}")
    return parts


def _held(made: Rating) -> str:
    if made.judges_as == "sample":
        return "Intervals and ranks hold for judges like these.\n"
    held = "Intervals and ranks hold for these judges."
    if made.sample_unknown:
        held += f" Whether they hold for judges like these is unknown: {made.sample_unknown}."
    return f"{held}\n"


def _agreement(made: Correlation) -> str:
    if made.value is None:
        return f"unknown, {made.reason}"
    interval = "" if made.low is None else f", 95% interval {made.low:+.2f} to {made.high:+.2f}"
    return f"rho {made.value:+.2f} over {made.n} players{interval}"


def _effect(effect: Effect | None) -> str:
    if effect is None:
        return "unknown"
    interval = "interval unknown" if effect.low is None else f"{effect.low:+.2f} to {effect.high:+.2f}"
    return f"{effect.estimate:+.2f} ({interval})"


def _judge(row: RatedJudge) -> list[str]:
    shares = (row.ties, row.first, row.flipped, row.by_position, row.cycles)
    return [
        printable(row.judge),
        f"{row.standings.get('counts', 0)} of {sum(row.standings.values())}",
        *(UNKNOWN if share is None else f"{share:.0%}" for share in shares),
        UNKNOWN if row.position is None else _effect(row.position),
        _signed(row.agreement.value),
    ]


def _signed(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:+.2f}"
