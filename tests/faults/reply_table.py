"""What becomes of every kind of reply by the tables of bench.chat.endings: for tests and the page on faults.

python -m tests.faults.reply_table     # rewrites all tables of the page
"""

from __future__ import annotations

from typing import get_args

from bench.chat.endings import FINISH_REASONS, RULES, STEMS, Ending, Verdict
from bench.records import Role
from tests.faults.fault_table import PAGE, End, markdown, with_tables

ROLES: tuple[Role, ...] = get_args(Role)
STOPS = "the run stops"
_FILTERED, _REFUSED, _REJECTED = (
    End("failed", "content_filter"),
    End("failed", "refused"),
    End("failed", "rejected"),
)
_EMPTY, _LOST, _LIMITED = (
    End("re-asked", "empty"),
    End("retried", "transport"),
    End("retried", "rate_limited"),
)

ENDS: dict[Verdict, End | None] = {
    "ok": End("read"),
    "length": End("read"),
    "unknown_ending": End("read"),
    "empty": _EMPTY,
    "refused": _REFUSED,
    "content_filter": _FILTERED,
    "rejected": _REJECTED,
    "rate_limited": _LIMITED,
    "transport": _LOST,
    "stops the run": None,
}
"""What happens to a reply with this outcome in every role; None: the run stops. A player's text is kept as it
is, that of the others has to be whole JSON."""

LOWEST: dict[Verdict, str] = {
    "empty": "yes",
    "refused": "yes",
    "content_filter": "yes, unless the input was blocked",
}
"""Outcomes by which a player ends its own conversation: the lowest score in the robust scoring."""

SAYS: dict[Ending, str] = {
    "complete": "The answer is whole.",
    "length": "The answer was cut off at a limit.",
    "filtered": "A filter stopped the answer.",
    "broken": "The service broke off; the request is sent again.",
    "unknown": "Anything else, or nothing. The answer is kept; the record and the audit mark it.",
}


def rule_lines() -> list[str]:
    """The rules as the page shows them, line by line."""
    lines = ["| The reply holds | Outcome | What happens | Lowest score |", "| --- | --- | --- | --- |"]
    for rule in RULES:
        end = ENDS[rule.outcome]
        outcome = "-" if end is None else f"`{rule.outcome}`"
        lowest = LOWEST.get(rule.outcome, "-" if end is not None and end.lasting is None else "no")
        lines.append(f"| {rule.when} | {outcome} | {STOPS if end is None else end.words()} | {lowest} |")
    return lines


def ending_lines() -> list[str]:
    """The finish reasons as the page shows them, line by line."""
    lines = ["| Ending | Finish reasons | Also words with |", "| --- | --- | --- |"]
    for ending, meaning in SAYS.items():
        words = ", ".join(f"`{word}`" for word in FINISH_REASONS.get(ending, "").split())
        stems = ", ".join(f"`{stem}`" for stem in STEMS.get(ending, "").split())
        lines.append(f"| *{ending}*: {meaning} | {words} | {stems} |")
    return lines


def whole_page(page: str) -> str:
    """``page`` with all its tables rewritten."""
    return with_tables(page, markdown(), rule_lines(), ending_lines())


if __name__ == "__main__":
    PAGE.write_text(whole_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
