"""plan, run, judge: the commands that call models, or say what calling them would take."""

from __future__ import annotations

from decimal import Decimal

import click
from rich.console import Console
from rich.table import Table

from bench.catalog import Catalog
from bench.chat.batch_states import pending_files
from bench.cli.asking import Asked, Spending, asking, asking_judged, jobs_for, spending
from bench.cli.options import Number, Places, places
from bench.records import messages_sha256
from bench.results import ResultsTree
from bench.run.jobs import Job, print_states, run_jobs
from bench.run.plan import estimate
from bench.run.prices import check_prices
from bench.run.progress import short


@click.command()
@asking
@places
def plan(asked: Asked, where: Places) -> None:
    """Show what SUITE still needs and what it costs.

    Lists conversations, calls, tokens and dollars, and makes no call.
    Prompts are measured and answers guessed, so tokens and cost are estimates.
    """
    suite, catalog, jobs = jobs_for(where, asked)
    console = Console()
    for job in jobs:
        console.print(f"{suite.id} {job.protocol.language}: {', '.join(job.players)}", highlight=False)
        print_states(console, job.plan)
        _print_costs(console, job, catalog)


def _print_costs(console: Console, job: Job, catalog: Catalog) -> None:
    if not job.plan.work:
        console.print("  Nothing to do.", highlight=False)
        return
    table = Table("role", "model", "calls", "tokens in", "tokens out", "cost", box=None, padding=(0, 2))
    costs = estimate(job.plan, job.protocol, catalog)
    for row in costs:
        cost = "unknown" if row.cost is None else f"${row.cost:.4f}"
        table.add_row(
            row.role,
            row.model,
            str(row.calls),
            f"~{short(row.prompt_tokens)}",
            f"~{short(row.completion_tokens)}",
            cost,
        )
    console.print(table)
    known = sum((row.cost for row in costs if row.cost is not None), Decimal(0))
    unknown = "" if all(row.cost is not None for row in costs) else " and what has no price in models.toml"
    console.print(
        f"  In all {sum(row.calls for row in costs)} calls, about ${known:.4f}{unknown}.", highlight=False
    )


@click.command()
@asking
@spending
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Work on the cells by the workers of the Dask scheduler there, such as tcp://10.0.0.1:8786."
    " Not for spoken role play.",
)
@places
def run(asked: Asked, limits: Spending, cluster: str | None, where: Places) -> None:
    """Run missing conversations and judgements.

    Conversations run in parallel, and each is judged as soon as it ends. Every finished conversation and
    judgement is saved at once: stop with Ctrl-C at any time, and the next run resumes. Recorded failures are
    retried only with --retry-failed, except those caused by the connection or a rate limit.
    """
    suite, catalog, jobs = jobs_for(where, asked)
    check_prices(catalog, jobs, limits)
    if cluster is not None:
        from bench.run.on_cluster import run_on_cluster

        run_on_cluster(where, jobs, suite, limits, cluster)
        return
    run_jobs(where, catalog, jobs, suite, limits.max_cost, cached=limits.cached)


@click.command()
@asking_judged
@click.option("--reparse", is_flag=True, help="Read the kept raw replies again with today's parser. No call.")
@click.option(
    "--batch", is_flag=True, help="Ask through the judges' Batch APIs: cheaper, and within 24 hours."
)
@click.option(
    "--poll",
    type=Number(min=0.01),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="With --batch: how often to look how it stands.",
)
@spending
@places
def judge(asked: Asked, reparse: bool, batch: bool, poll: float, limits: Spending, where: Places) -> None:
    """Score existing conversations with other judges.

    Makes no player calls. Name the judges with --judge; without --player, all players are judged. With
    --batch the command waits for its batches; you can stop it, and the same command picks them up again.
    """
    if reparse and (batch or asked.shard):
        raise click.UsageError("--reparse calls nobody: it goes with neither --batch nor --shard")
    suite, catalog, jobs = jobs_for(where, asked, talk=False)
    if reparse:
        found = 0
        for job in jobs:
            changed, seen = _reparse(where.tree(), job, asked.judges)
            found += seen
            click.echo(f"{suite.id} {job.protocol.language}: {seen} judgements read again, {changed} changed")
        if not found:
            by = f" by {' or '.join(asked.judges)}" if asked.judges else ""
            of = f" of {' or '.join(asked.players)}" if asked.players else ""
            click.echo(f"Nothing to read again: {suite.id} has no judgement{by}{of}.")
        return
    check_prices(catalog, jobs, limits)
    if batch:
        from bench.run.judging_batches import judge_in_batches

        judge_in_batches(where, catalog, jobs, suite, limits, poll)
        return
    _mention_pending(where, suite.id)
    run_jobs(where, catalog, jobs, suite, limits.max_cost, cached=limits.cached)


def _mention_pending(where: Places, suite: str) -> None:
    """Say so where a suite is about to be judged by ordinary calls while batches of it are under way."""
    count = sum(1 for _ in pending_files(where.cache, suite))
    if count:
        click.echo(
            f"bench: {count} batches of {suite} are not collected yet; what they hold is asked, and paid,"
            " again. `bench judge --batch` would collect them.",
            err=True,
        )


def _reparse(tree: ResultsTree, job: Job, judges: tuple[str, ...]) -> tuple[int, int]:
    """Read the raw replies of a job's players again; returns (judgements changed, judgements seen)."""
    changed = seen = 0
    suite, language = job.protocol.suite.id, job.protocol.language
    for player in job.players:
        conversations = {(c.character, c.situation): c for c in tree.conversations(suite, language, player)}
        for record in tree.judgements(suite, language, player):
            conversation = conversations.get((record.character, record.situation))
            if (judges and record.judge not in judges) or conversation is None:
                continue
            if record.conversation_sha256 != messages_sha256(conversation.messages):
                continue
            seen += 1
            again = job.protocol.reread(record, conversation)
            changed += again != record and tree.write_judgement(again, replace=True)
    return changed, seen
