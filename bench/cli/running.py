"""``bench plan``, ``run`` and ``judge``: call models, or show what calling them would cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from decimal import Decimal
from typing import Any

import click

from bench.cli.asking import (
    JUDGED_PLAYERS,
    RUN_PLAYERS,
    arguments,
    asking,
    check_answered,
    in_batches,
    interrogator,
    kept,
    spending,
)
from bench.cli.compare import choosing, print_plan
from bench.cli.options import Places, places
from bench.cli.output import listing, print_json
from bench.cli.run_display import RunDisplay, finish, left_stale, stale, states
from bench.cli.stopping import stoppable
from bench.run.jobs import Job, Part, missing_keys, plan_suite
from bench.run.plan import Plan, RoleCost, estimate
from bench.run.prices import Spending
from bench.run.progress import short
from bench.tables import counted, dollars, printable, text_table


@click.command()
@asking(RUN_PLAYERS)
@interrogator
@click.option("--compare", is_flag=True, help="Plan `bench compare` instead, with the options below.")
@choosing
@listing("text")
@places
def plan(suite: str, compare: bool, form: str, where: Places, **options: Any) -> None:
    """Show what SUITE still needs and what it costs.

    Lists conversations, calls, tokens and dollars. Makes no call: prompts are measured and the lengths of
    answers assumed, so tokens and cost are estimates.
    """
    if compare:
        print_plan(suite, where, options, form)
        return
    part = {name: value for name, value in options.items() if name in Part.__dataclass_fields__}
    jobs = plan_suite(suite, Part(**part), where.results, where.models, where.layers)
    if form == "json":
        print_json([_as_json(job) for job in jobs])
        return
    for job in jobs:
        for line in _lines(suite, job):
            click.echo(line)
    for variable, models in missing_keys(jobs).items():
        click.echo(f"Missing key: set {variable}, or put it into .env, to call {', '.join(models)}.")


def _lines(suite: str, job: Job) -> Iterator[str]:
    """What `bench plan` prints of a job."""
    yield f"{job.name}: {', '.join(job.players)}"
    yield from (f"  {line}" for line in states(job.plan))
    if others := [printable(name) for name in job.other_judges]:
        named = " ".join(f"--judge {name}" for name in others)
        yield f"  Not planned: judgements by {', '.join(others)}. Plan them: `bench plan {suite} {named}`."
    if line := " ".join(filter(None, (stale(job), left_stale(job)))):
        yield f"  Stale: {line}"
    yield from (f"  {line}" for line in _cost_lines(job))


def _as_json(job: Job) -> dict[str, Any]:
    redone = Plan(job.plan.stale)
    return {
        "suite": job.protocol.suite.id,
        "language": job.protocol.language,
        "players": list(job.players),
        "judges": list(job.judges),
        "conversations": dict(job.plan.conversations),
        "judgements": dict(job.plan.judgements),
        "calls": [asdict(row) for row in estimate(job.plan, job.protocol)] if job.plan.work else [],
        "stale_calls": [asdict(row) for row in estimate(redone, job.protocol)] if redone.work else [],
        "other_judges": job.other_judges,
        "left_stale": job.left_stale(),
        "missing_keys": missing_keys([job]),
    }


def _cost_lines(job: Job) -> Iterator[str]:
    if not job.plan.work:
        yield "Nothing to do."
        return
    costs = estimate(job.plan, job.protocol)
    rows = [
        [
            row.role,
            row.model,
            str(row.calls),
            f"~{short(row.prompt_tokens)}",
            f"~{short(row.completion_tokens)}",
            "unknown" if row.cost is None else dollars(row.cost),
        ]
        for row in costs
    ]
    heads = ["role", "model", "calls", "tokens in", "tokens out", "cost"]
    yield from text_table(heads, rows, left={0, 1}).splitlines()
    yield _total(costs)
    if thought := [f"~{short(row.reasoning_tokens)} ({row.model})" for row in costs if row.reasoning_tokens]:
        yield f"Tokens out include reasoning: {', '.join(thought)}"
    if silent := sorted({row.model for row in costs if row.reasoning_tokens is None}):
        yield (
            f"Not counted: the reasoning of {', '.join(silent)}, whose length is unknown. Set"
            " reasoning_tokens in models.toml, or plan again once there are answers."
        )


def _total(costs: list[RoleCost]) -> str:
    known = sum((row.cost for row in costs if row.cost is not None), Decimal(0))
    unknown = sorted({row.model for row in costs if row.cost is None})
    text = f"Total: {counted(sum(row.calls for row in costs), 'call')}, about {dollars(known)}"
    return f"{text} plus calls to models without a price ({', '.join(unknown)})." if unknown else f"{text}."


@click.command()
@asking(RUN_PLAYERS)
@interrogator
@spending
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Use the workers of this Dask scheduler, such as tcp://10.0.0.1:8786. Not for spoken role play.",
)
@places
def run(suite: str, limits: Spending, cluster: str | None, where: Places, **part: Any) -> None:
    """Run missing conversations and judgements.

    Conversations run in parallel, and each is judged as soon as it ends. Every finished conversation and
    judgement is saved at once: stop with Ctrl-C at any time, and the next run resumes. Recorded failures are
    retried only with --retry-failed, except those caused by the connection or a rate limit.
    """
    from bench.run.run_suite import run_suite

    with stoppable(), RunDisplay() as display:
        report = run_suite(suite, **part, **arguments(where, limits), cluster=cluster, listener=display)
    finish(report)


@click.command()
@asking(JUDGED_PLAYERS)
@spending
@in_batches
@places
def judge(suite: str, reparse: bool, batch: bool, limits: Spending, where: Places, **part: Any) -> None:
    """Score existing conversations with other judges.

    Makes no player calls. Without --player, all players are judged. With --batch the command waits for its
    batches; you can stop it, and the same command picks them up again.
    """
    from bench.run.judge_suite import judge_suite

    with stoppable(kept(batch)), RunDisplay() as display:
        report = judge_suite(
            suite, reparse=reparse, batch=batch, **part, **arguments(where, limits), listener=display
        )
    if reparse:
        for name, (seen, changed) in report.reparsed.items():
            click.echo(f"{name}: {counted(seen, 'judgement')} re-parsed, {changed} changed")
        if not any(seen for seen, _ in report.reparsed.values()):
            by = f" by {' or '.join(part['judges'])}" if part["judges"] else ""
            of = f" of {' or '.join(part['players'])}" if part["players"] else ""
            click.echo(f"Nothing to re-parse: {suite} has no judgement{by}{of}.")
        return
    finish(report)
    check_answered(report.unanswered)
