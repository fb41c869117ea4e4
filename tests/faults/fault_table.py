"""What happens to every fault of the scripted server, for the tests and site/pages/faults.md."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal, get_args

from bench.records import Outcome, Role

PAGE = Path(__file__).resolve().parents[2] / "site" / "pages" / "faults.md"

Fate = Literal["retried", "re-asked", "failed", "read", "kept", "-"]
"""What happens to a faulty reply; the page explains the words. ``-``: this role cannot meet the fault."""


@dataclass(frozen=True)
class End:
    """What happens to a fault in one role: at first, and which recorded failure it becomes if it persists."""

    once: Fate
    lasting: Outcome | None = None

    def words(self) -> str:
        if self.lasting is None:
            return self.once
        return f"failed: {self.lasting}" if self.once == "failed" else f"{self.once}, else {self.lasting}"


@dataclass(frozen=True)
class Row:
    """One fault: what comes, what happens to it, and how the reason of a recorded failure begins."""

    comes: str
    player: End
    interrogator: End
    judge: End
    reason: str = ""
    repair: str = ""
    """The repair that the judgement names, if the reply was read."""

    def end(self, role: Role) -> End:
        ends: dict[Role, End] = {
            "player": self.player,
            "interrogator": self.interrogator,
            "judge": self.judge,
        }
        return ends[role]


KEPT, READ, NONE = End("kept"), End("read"), End("-")
LIMITED, LOST = End("retried", "rate_limited"), End("retried", "transport")
EMPTY, UNREADABLE = End("re-asked", "empty"), End("re-asked", "parse_error")


def _all(end: End, comes: str, reason: str = "", repair: str = "") -> Row:
    return Row(comes, end, end, end, reason, repair)


def _text(comes: str, judged: End, reason: str = "", repair: str = "") -> Row:
    """A text that is a fault only for roles that answer in JSON."""
    return Row(comes, KEPT, judged, judged, reason, repair)


def _scores(comes: str, judged: End, reason: str = "", repair: str = "") -> Row:
    return Row(comes, NONE, NONE, judged, reason, repair)


FILTERED = End("failed", "content_filter")
FILTER = "stopped by the provider's content"
BROKEN = "the connection was lost"
LATE = "no complete answer within"
NO_JSON = "The reply holds no JSON object."
BREAKS_OFF = "The reply breaks off"
MALFORMED = "the answer is not JSON"

TABLE: dict[str, Row] = {
    "rate_limit": _all(LIMITED, "429 without `Retry-After`", "HTTP 429"),
    "rate_limit_seconds": _all(LIMITED, "429 with `Retry-After` in seconds, which is honoured", "HTTP 429"),
    "rate_limit_date": _all(LIMITED, "429 with `Retry-After` as a date, which is honoured", "HTTP 429"),
    "rate_limit_absurd": _all(
        End("failed", "rate_limited"),
        "429 with `Retry-After` of a day, which is too long to wait",
        "HTTP 429",
    ),
    "status_500": _all(LOST, "500", "HTTP 500"),
    "status_502": _all(LOST, "502 with an HTML page", "HTTP 502"),
    "status_503": _all(LOST, "503", "HTTP 503"),
    "status_529": _all(LOST, "529", "HTTP 529"),
    "reset_before": _all(LOST, "the connection is reset before the reply", BROKEN),
    "reset_during": _all(LOST, "the connection is reset in the middle of the reply", BROKEN),
    "reset_after": _all(READ, "the connection is reset after the reply"),
    "close_before": _all(LOST, "the connection is closed before the reply", BROKEN),
    "stall": _all(LOST, "no reply within the time limit", LATE),
    "slow": _all(LOST, "a reply so slow that the time limit passes", LATE),
    "truncated_body": _all(LOST, "half of the body, with status 200", MALFORMED),
    "invalid_body": _all(LOST, "a body that is not JSON, with status 200", MALFORMED),
    "html_body": _all(LOST, "an HTML page with status 200", MALFORMED),
    "empty_choices": _all(LOST, "an empty list of `choices`", "the answer has no choices"),
    "null_choices": _all(LOST, "`choices` null", "the answer has no choices"),
    "error_with_200": _all(LOST, "an error object with status 200", "HTTP 502"),
    "null_content": _all(EMPTY, "`content` null", "the answer is blank"),
    "blank_content": _all(EMPTY, "`content` of whitespace only", "the answer is blank"),
    "only_reasoning": _all(EMPTY, "reasoning, and no answer after it", "nothing but reasoning was written"),
    "reasoning_cut": _all(
        EMPTY, "reasoning in the text, cut off at the token limit", "nothing but reasoning was written"
    ),
    "content_filter": _all(FILTERED, "`finish_reason` content_filter", FILTER),
    "filtered_ending": _all(FILTERED, "`finish_reason` RECITATION beside a text", FILTER),
    "filter_without_message": _all(FILTERED, "a filter's choice without a message", FILTER),
    "filtered_input": _all(FILTERED, "400 because a filter blocked the input", "HTTP 400"),
    "too_long": _all(End("failed", "rejected"), "400 because the input is too long", "HTTP 400"),
    "broken_ending": _all(LOST, "`finish_reason` network_error beside a text", "the provider broke"),
    "error_beside_text": _all(LOST, "an error object beside a text", "HTTP 502"),
    "unknown_ending": _text("an unknown `finish_reason`, which the record marks", READ),
    "refusal_field": _all(End("failed", "refused"), "a refusal in the `refusal` field", "refused: "),
    "length": _text("`finish_reason` length, the text cut off", UNREADABLE, BREAKS_OFF),
    "more_after_json": _text(
        "`finish_reason` length, cut off in text after the JSON", UNREADABLE, BREAKS_OFF
    ),
    "truncated_text": _text("a text that breaks off", UNREADABLE, BREAKS_OFF),
    "refusal_prose": _text("a refusal in prose where JSON was asked for", UNREADABLE, NO_JSON),
    "other_language": _text("another language where JSON was asked for", UNREADABLE, NO_JSON),
    "huge": _text("2 MB of text", UNREADABLE, NO_JSON),
    "streamed": _all(READ, "an unrequested stream, which is reassembled"),
    "no_usage": _all(READ, "no token usage, which is estimated and marked"),
    "reasoning_block": _all(READ, "a reasoning block before the answer", repair="reasoning_removed"),
    "fences": _text("JSON in a code fence", READ, repair="fence_removed"),
    "prose_around": _text("JSON surrounded by prose", READ, repair="prose_removed"),
    "single_quotes": _text("JSON in single quotes", READ, repair="json_repaired"),
    "trailing_comma": _text("JSON with a trailing comma", READ, repair="json_repaired"),
    "duplicate_keys": _scores(
        "a repeated key in an object; the last value counts", READ, repair="duplicate_keys"
    ),
    "scores_as_strings": _scores("scores as strings", READ, repair="number_from_string"),
    "scores_as_floats": _scores("scores of 3.5", UNREADABLE, 'The value of "fluency_score" of turn 1 is'),
    "scores_out_of_range": _scores(
        "a score beyond the scale", UNREADABLE, 'The value of "fluency_score" of turn 1 is 7'
    ),
    "score_missing": _scores("a score is missing", UNREADABLE, 'Turn 1 has no "fluency_score"'),
    "turn_missing": _scores("scores for too few turns", UNREADABLE, "The reply scored turns"),
    "turn_too_many": _scores("scores for turns that do not exist", UNREADABLE, "The reply scored turns"),
}
"""By the name of the fault in tests/scripted_faults.py."""


def markdown() -> list[str]:
    """The table as the page shows it, line by line."""
    roles: tuple[Role, ...] = get_args(Role)
    lines = [f"| What comes | {' | '.join(role.capitalize() for role in roles)} | In the record |"]
    lines.append("| --- " * (len(roles) + 2) + "|")
    for row in TABLE.values():
        ends = " | ".join(row.end(role).words() for role in roles)
        said = f"“{row.reason.strip()} …”" if row.reason else f"`{row.repair}`" if row.repair else ""
        lines.append(f"| {row.comes} | {ends} | {said} |")
    return lines


def with_tables(page: str, *tables: list[str]) -> str:
    """``page`` with its tables (runs of lines that start with a bar) rewritten in order."""
    left = iter(tables)
    lines: list[str] = []
    for is_table, group in groupby(page.splitlines(), lambda line: line.startswith("|")):
        lines += next(left) if is_table else group
    return "\n".join(lines) + "\n"
