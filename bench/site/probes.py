"""Card probes on pages: pass rates by kind, and each verdict with the pattern that decided it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from bench.protocol_facts import facts_of
from bench.records import Conversation, Judgement
from bench.replies.probes import RULES
from bench.site.cells import CellSummary

if TYPE_CHECKING:  # pandas, which the processes that write conversation pages do without
    from bench.scores.board import Board, BoardRow
    from bench.scores.probes import ProbeRates

Verdict = Literal["passed", "failed", "unclear"]


@dataclass(frozen=True)
class ProbeView:
    """The verdict on one probe."""

    verdict: Verdict
    by: str
    """Who decided: a pattern, a rule or a judge; empty if nobody did."""
    reason: str
    """The pattern that matched, what the rule says, the judge's reason, or why the answer is unclear."""
    patterns: tuple[tuple[str, str], ...]
    """(accept or reject, pattern) of all patterns that the probe declares."""


def probe_view(conversation: Conversation, judgements: Sequence[Judgement]) -> ProbeView | None:
    """The verdict on a conversation; None if rules do not judge its protocol, or nothing has judged it."""
    if not facts_of(conversation.protocol).rule_judge or not judgements:
        return None
    pairs = [line.partition(": ") for line in conversation.scene.situation.split("\n")]
    patterns = tuple((key, pattern) for key, _, pattern in pairs if key in ("accept", "reject"))
    kind = next((value for key, _, value in pairs if key == "kind"), "")
    judgement = judgements[0]
    if not judgement.turns:
        reason = judgement.failure.reason if judgement.failure else ""
        return ProbeView("unclear", "", reason, patterns)
    turn = judgement.turns[-1]
    detail = turn.detail or {}
    by = str(detail.get("decided_by", ""))
    reason = str(detail.get("pattern") or "") or " ".join(turn.reasons.values())
    if by == "pattern" and not detail.get("pattern") and kind in RULES:
        by, reason = "rule", RULES[kind]
    return ProbeView("passed" if any(turn.scores.values()) else "failed", by, reason, patterns)


def probe_verdict(cell: CellSummary | None) -> Verdict | None:
    """The verdict on a probe; None if it has no answer."""
    if cell is None or cell.state not in ("scored", "unjudged"):
        return None
    return "unclear" if cell.score is None else "passed" if cell.score else "failed"


NO_ANSWER = "no answer"


def verdicts_by_character(
    cells: Iterable[CellSummary],
) -> tuple[list[str], dict[str, dict[str, list[CellSummary]]]]:
    """The verdicts to show, and each character's probes by verdict."""
    verdicts = [*get_args(Verdict), NO_ANSWER]
    found: dict[str, dict[str, list[CellSummary]]] = {}
    for cell in cells:
        mine = found.setdefault(cell.character, {name: [] for name in verdicts})
        mine[probe_verdict(cell) or NO_ANSWER].append(cell)
    kept = [name for name in verdicts if name != NO_ANSWER or any(one[name] for one in found.values())]
    return kept, found


@dataclass(frozen=True)
class ProbeRow:
    """One player of a board of probes."""

    row: BoardRow
    rates: ProbeRates
    passed: int
    failed: int

    @property
    def answered(self) -> int:
        """Probes with an answer."""
        return self.passed + self.failed + self.rates.unclear

    @property
    def passed_of_all(self) -> float | None:
        """Passed probes among all that were answered, so that an unclear answer counts as not passed."""
        return self.passed / self.answered if self.answered else None


@dataclass(frozen=True)
class ProbeTable:
    """Pass rates of all players of a board, by kind of probe."""

    kinds: tuple[str, ...]
    rows: tuple[ProbeRow, ...]

    @property
    def by_size(self) -> list[ProbeRow]:
        """The rows, smallest model first; models of unknown size last."""
        return sorted(self.rows, key=lambda entry: entry.row.parameters_billion or float("inf"))


def probe_table(board: Board) -> ProbeTable | None:
    """The pass rates of ``board``; None if it has no probes."""
    rows = tuple(
        ProbeRow(
            row,
            row.probes,
            sum(kind.passed for kind in row.probes.kinds.values()),
            sum(kind.failed for kind in row.probes.kinds.values()),
        )
        for row in board.rows
        if row.probes is not None
    )
    kinds = tuple(sorted({kind for entry in rows for kind in entry.rates.kinds}))
    return ProbeTable(kinds, rows) if rows else None
