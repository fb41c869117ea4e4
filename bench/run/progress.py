"""Shows a run as it goes: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bench.chat.stats import Stats
from bench.records import Conversation, Judgement
from bench.run.plan import Plan

PLAIN_INTERVAL = 5.0
"""Seconds between two plain lines."""


@dataclass
class Tally:
    """What is done and what is left, and how long that is likely to take."""

    conversations: int
    judgements: int
    calls: int
    talked: int = 0
    judged: int = 0
    failed: int = 0
    started: float = field(default_factory=time.monotonic)

    def seconds_left(self, stats: Stats, now: float) -> float | None:
        """Seconds left at the pace so far, from calls really made; None before there is a pace.

        Replies from the cache take no time to speak of, so they count as done, not as pace.
        """
        made = sum(stats.outcomes.values()) - stats.cached
        if not made:
            return None
        left = max(0, self.calls - sum(stats.outcomes.values()))
        return (now - self.started) / made * left

    def line(self, stats: Stats, now: float) -> str:
        """One line: done, failed, time left, tokens, money."""
        left = self.seconds_left(stats, now)
        parts = [
            f"conversations {self.talked}/{self.conversations}",
            f"judgements {self.judged}/{self.judgements}",
            f"failed {self.failed}",
            f"calls {sum(stats.outcomes.values())}/{self.calls}",
        ]
        if stats.cached:
            parts.append(f"from cache {stats.cached}")
        if stats.retried:
            parts.append(f"retries {stats.retried}")
        parts += [
            f"tokens {short(stats.prompt_tokens)} in, {short(stats.completion_tokens)} out",
            money(stats),
            f"left {duration(left)}" if left is not None else "left -",
        ]
        return " · ".join(parts)


class Progress:
    """A context manager that listens to a run and shows it on ``console``."""

    def __init__(self, plans: Sequence[Plan], stats: Callable[[], Stats], console: Console) -> None:
        work = [item for plan in plans for item in plan.work]
        self._tally = Tally(
            conversations=sum(item.talk for item in work),
            judgements=sum(len(item.judges) for item in work),
            calls=sum(plan.calls() for plan in plans),
        )
        self._stats = stats
        self._console = console
        self._live = Live(get_renderable=self._table, console=console, refresh_per_second=4, transient=True)
        self._printed = time.monotonic()

    def __enter__(self) -> Progress:
        self._tally.started = time.monotonic()
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()
        if error is None or self._stats().outcomes:  # where nobody was asked, the error says it all
            self._print_line()

    def conversation_done(self, record: Conversation) -> None:
        self._tally.talked += 1
        self._tally.failed += record.status == "failed"
        self._tick()

    def judgement_done(self, record: Judgement) -> None:
        self._tally.judged += 1
        self._tally.failed += record.status == "failed"
        self._tick()

    def call_done(self) -> None:
        """A call has ended: time for another plain line, perhaps."""
        self._tick()

    def _tick(self) -> None:
        if not self._console.is_terminal and time.monotonic() - self._printed >= PLAIN_INTERVAL:
            self._print_line()

    def _print_line(self) -> None:
        self._printed = time.monotonic()
        line = self._tally.line(self._stats(), self._printed)
        self._console.print(Text(line), soft_wrap=True, highlight=False)

    def _table(self) -> Table:
        stats = self._stats()
        table = Table.grid(padding=(0, 1))
        total = max(1, self._tally.calls)
        done = min(total, sum(stats.outcomes.values()))
        table.add_row(ProgressBar(total=total, completed=done, width=24), Text(f"{100 * done // total} %"))
        table.add_row("", Text(self._tally.line(stats, time.monotonic())))
        return table


def money(stats: Stats) -> str:
    """What was spent, and whether that is all of it."""
    if stats.unpriced:
        return f"${stats.cost:.4f} and {stats.unpriced} calls of unknown price"
    return f"${stats.cost:.4f}"


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
