"""What a run has done so far, and how it tells its caller."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.chat.stats import Stats
from bench.protocol_facts import left_unclear
from bench.records import Conversation, Judgement
from bench.results.comparison_records import Comparison
from bench.results.facts import Tally, count_calls
from bench.run.jobs import Job
from bench.tables import counted, dollars


@dataclass
class RunReport:
    """What a run has to do, what it has done, and what its calls cost."""

    conversations: int = 0
    conversations_failed: int = 0
    judgements: int = 0
    judgements_failed: int = 0
    comparisons: int = 0
    comparisons_failed: int = 0
    """Those with a failure in either order."""
    unclear: int = 0
    """Answers that rules could not decide; they are not failures."""
    tally: Tally = field(default_factory=dict)
    """Counts of the calls that the records name."""
    stats: Stats = field(default_factory=Stats)
    """Calls, tokens and cost in US dollars."""
    budget_reached: bool = False
    """Whether ``max_cost`` has stopped the run."""
    reparsed: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By suite and language: judgements re-parsed, and how many of them changed."""
    unanswered: list[str] = field(default_factory=list)
    """Why requests of a batch were not answered, one entry for each request."""
    planned_conversations: int = 0
    planned_judgements: int = 0
    planned_comparisons: int = 0
    planned_calls: int = 0
    started: float = field(default_factory=time.monotonic)

    def plan(self, jobs: Sequence[Job]) -> None:
        """Note what ``jobs`` are to do, and start the clock."""
        work = [item for job in jobs for item in job.plan.work]
        self.planned_conversations = sum(item.talk for item in work)
        self.planned_judgements = sum(len(item.judges) for item in work)
        self.planned_calls = sum(item.calls for item in work)
        self.started = time.monotonic()

    def conversation_done(self, record: Conversation) -> None:
        """Count a conversation."""
        self.conversations += 1
        self.conversations_failed += record.status == "failed"
        count_calls(record, self.tally)

    def judgement_done(self, record: Judgement) -> None:
        """Count a judgement."""
        self.judgements += 1
        unclear = left_unclear(record)
        self.unclear += unclear
        self.judgements_failed += record.status == "failed" and not unclear
        count_calls(record, self.tally)

    def comparison_done(self, record: Comparison) -> None:
        """Count a comparison."""
        self.comparisons += 1
        self.comparisons_failed += any(verdict.status == "failed" for verdict in record.orders)

    @property
    def re_asks(self) -> int:
        """Replies that could not be used, so that the model was asked again."""
        return sum(counts["repeated", ""] for counts in self.tally.values())

    @property
    def calls(self) -> int:
        """Calls that have ended, replies from the cache included."""
        return sum(self.stats.outcomes.values())

    def seconds_left(self, now: float) -> float | None:
        """Seconds left at the pace so far; None before the first call that was not answered by the cache.

        Replies from the cache take hardly any time, so they count as done and not for the pace.
        """
        made = self.calls - self.stats.cached
        if not made:
            return None
        return (now - self.started) / made * max(0, self.planned_calls - self.calls)

    def line(self, now: float, *, ended: bool = False) -> str:
        """The state at ``now`` (of time.monotonic): done, failed, tokens, cost, and the time left.

        Once the run has ``ended``, the time it took: calls that failed leave later ones undone.
        """
        stats, left = self.stats, self.seconds_left(now)
        clock = f"left {duration(left)}" if left is not None else "left -"
        if ended:
            clock = f"took {duration(now - self.started)}"
        done = [
            f"conversations {self.conversations}/{self.planned_conversations}",
            f"judgements {self.judgements}/{self.planned_judgements}",
        ]
        if self.planned_comparisons:
            done = [f"comparisons {self.comparisons}/{self.planned_comparisons}"]
        parts = [
            *done,
            f"failed {self.conversations_failed + self.judgements_failed + self.comparisons_failed}",
            f"unclear {self.unclear}" if self.unclear else "",
            f"calls {self.calls}/{max(self.calls, self.planned_calls)}",  # a plan has no second asks
            f"from cache {stats.cached}" if stats.cached else "",
            f"retries {stats.retried}" if stats.retried else "",
            f"tokens {short(stats.prompt_tokens)} in, {short(stats.completion_tokens)} out",
            money(stats),
            clock,
        ]
        return " · ".join(part for part in parts if part)


class Listener:
    """Hears what a run does. Override the methods you need; the others do nothing."""

    def planned(self, jobs: Sequence[Job]) -> None:
        """All jobs have been planned, also those with nothing to do."""

    def started(self, report: RunReport) -> None:
        """Calls begin. ``report`` is kept up to date from now on."""

    def progressed(self) -> None:
        """A call, a conversation or a judgement has ended."""

    def batch_changed(self, line: str) -> None:
        """The state of a batch, as ``batch ID: state``."""

    def batches_collected(self, line: str) -> None:
        """All batches have ended: answers and cost."""

    def ended(self) -> None:
        """The last call has ended, whether or not the run succeeded."""

    def warning(self, message: str) -> None:
        """Something the user should know that does not stop the run."""


def money(stats: Stats) -> str:
    """The cost so far, and whether calls are missing from it."""
    if stats.unpriced:
        return f"{dollars(stats.cost)} and {counted(stats.unpriced, 'call')} of unknown price"
    return dollars(stats.cost)


def short(count: int) -> str:
    """A count in at most five characters: 950, 12.3k, 4.5M."""
    if count < 1000:
        return str(count)
    if count < 1_000_000:
        return f"{count / 1000:.1f}k"
    return f"{count / 1_000_000:.1f}M"


def duration(seconds: float) -> str:
    """Seconds as 45s, 3m10s or 2h05m."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
