"""Shows a run while it works: a live line on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from decimal import Decimal

import click
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bench.chat.stats import Stats
from bench.cli.common import quiet
from bench.cli.stopping import stopped_by_budget
from bench.results.facts import standing_out
from bench.run.jobs import Job
from bench.run.plan import Plan, estimate
from bench.run.progress import Listener, RunReport, duration, money
from bench.tables import counted, dollars, printable

PLAIN_SECONDS = 5.0
"""Between two plain lines."""
BATCH_SECONDS = 60.0
"""After which an unchanged state of a batch is printed again, without a terminal."""


class RunDisplay(Listener):
    """Prints progress and warnings to standard error, results to standard output. A context manager."""

    def __init__(self, *, results: bool = True) -> None:
        """``results``: say on standard output what needs no run."""
        self._results = results
        self._report = RunReport()
        self._printed = self._started = time.monotonic()
        self._batch_line = ""
        self._batches: dict[str, tuple[str, float]] = {}
        self._console = Console(stderr=True)
        self._terminal = self._console.is_terminal  # which takes long: it is asked for after every call
        self._live = Live(
            get_renderable=self._renderable, console=self._console, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> RunDisplay:
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def planned(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            lines = ("" if job.plan.work else "nothing new to run.", stale(job), left_stale(job))
            if line := " ".join(filter(None, lines)):
                click.echo(f"{job.name}: {line}", err=not self._results)
            if not job.plan.work and not quiet():
                for line in states(job.plan):
                    self._print(f"  {line}")

    def started(self, report: RunReport) -> None:
        self._report = report
        self._printed, self._batch_line = time.monotonic(), ""
        self._show()

    def progressed(self) -> None:
        if not quiet() and not self._terminal and time.monotonic() - self._printed >= PLAIN_SECONDS:
            self._print_line()

    def ended(self) -> None:
        self._live.stop()
        report = self._report
        if not quiet() and (
            report.calls or report.conversations or report.judgements
        ):  # else an error says it all
            self._print(report.line(time.monotonic(), ended=True))

    def batch_changed(self, line: str) -> None:
        now = time.monotonic()
        self._batch_line = line
        self._show()
        name = line.partition(":")[0]
        before, when = self._batches.get(name, ("", 0.0))
        if not self._terminal and (line != before or now - when >= BATCH_SECONDS):
            self._print(line)
            self._batches[name] = (line, now)

    def batches_collected(self, line: str) -> None:
        self._live.stop()
        click.echo(line)

    def warning(self, message: str) -> None:
        self._print(f"bench: {printable(message)}")

    def _show(self) -> None:
        if not quiet() and self._terminal:
            self._live.start()

    def _print(self, line: str) -> None:
        self._console.print(Text(line), soft_wrap=True, highlight=False)

    def _print_line(self) -> None:
        self._printed = time.monotonic()
        self._print(self._report.line(self._printed))

    def _renderable(self) -> Table:
        table = Table.grid(padding=(0, 1))
        now = time.monotonic()
        if self._batch_line:
            table.add_row(Text(f"{self._batch_line} · {duration(now - self._started)}"))
            return table
        total = max(1, self._report.planned_calls)
        done = min(total, self._report.calls)
        table.add_row(ProgressBar(total=total, completed=done, width=24), Text(f"{100 * done // total} %"))
        table.add_row("", Text(self._report.line(now)))
        return table


def stale(job: Job) -> str:
    """What is out of date and what redoing it costs; empty if nothing is, or if it is being redone."""
    plan = job.plan
    counts = {"conversations": plan.conversations["stale"], "judgements": plan.judgements["stale"]}
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    if not plan.stale or not parts:
        return ""
    costs = [row.cost for row in estimate(Plan(plan.stale), job.protocol)]
    known = sum((cost for cost in costs if cost is not None), Decimal(0))
    cost = f"about {dollars(known)}" + (" and calls of unknown price" if None in costs else "")
    return (
        f"{' and '.join(parts)} are out of date (version, model or prompts changed); the board still uses"
        f" them. Redo: `--refresh-stale` ({cost})."
    )


def left_stale(job: Job) -> str:
    """Which judgements of judges whom the job does not ask are out of date, or will be; empty without any."""
    left = job.left_stale()
    if not left:
        return ""
    counts = " and ".join(f"{count} by {printable(judge)}" for judge, count in left.items())
    will_be = " will be" if any(item.talk for item in job.plan.work) else " are"
    known = [f" -j {judge}" for judge in left if judge in job.protocol.catalog.models]
    redo = f" Redo: `bench judge {job.protocol.suite.id}{''.join(known)} --refresh-stale`."
    text = f"Judgements of judges that are not asked here{will_be} out of date: {counts}."
    return text + (redo if known else "")


def states(plan: Plan) -> list[str]:
    """How many conversations and judgements are in which state, one line each."""
    return [
        f"{what}: {', '.join(f'{count} {state}' for state, count in sorted(counts.items())) or 'none'}"
        for what, counts in (("conversations", plan.conversations), ("judgements", plan.judgements))
    ]


def requests_line(stats: Stats) -> str:
    """What was asked of providers, and what it cost."""
    return (
        f"{counted(stats.sent, 'request')} sent, {stats.retried} of them retries,"
        f" {counted(stats.cached, 'reply', 'replies')} from cache; {money(stats)}"
    )


def print_report(report: RunReport) -> None:
    """What a run did, for the end of its output."""
    stats = report.stats
    unclear = f", {report.unclear} unclear" if report.unclear else ""
    click.echo(
        f"{counted(report.conversations, 'conversation')} ({report.conversations_failed} failed),"
        f" {counted(report.judgements, 'judgement')} ({report.judgements_failed} failed{unclear});"
        f" {requests_line(stats)}"
    )
    if report.re_asks:
        click.echo(f"Asked for again: {counted(report.re_asks, 'reply', 'replies')} that could not be used.")
    for (player, *_), facts in standing_out(report.tally).items():
        click.echo(facts.line(player))


def finish(report: RunReport, *, show: bool = True) -> None:
    """Print what was done, if there was something to do. Raises Stopped if the budget ended the run."""
    if show and (report.planned_conversations or report.planned_judgements):
        print_report(report)
    if report.budget_reached:
        raise stopped_by_budget(report.stats)
