"""Options of the commands that may call models: suite, languages, players, judges, limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from functools import wraps
from typing import Any, cast

import click

from bench.cli.common import F, gathered, not_blank, together, whole_number
from bench.cli.options import ONLY_LANGUAGE, Number, Places, complete_models, complete_suites, naming
from bench.errors import UserError
from bench.records import MOST_REPEATS
from bench.run.prices import Spending
from bench.run.shards import Shard

RUN_PLAYERS = "A player, by its name in models.toml (repeatable). Default: the suite's players."
RUN_JUDGES = "A judge, by its name in models.toml (repeatable). Default: the suite's judges."
JUDGED_PLAYERS = "Only this player's conversations (repeatable). Default: every player with results."


class ShardName(click.ParamType[Shard]):
    """One part of several, as K/N."""

    name = "K/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Shard:
        try:
            return Shard.parse(str(value))
        except ValueError:
            self.fail(f"{value!r} is not one part of several, such as 2/8", param, ctx)


class Dollars(click.ParamType[Decimal]):
    """An exact amount of US dollars."""

    name = "USD"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            amount = Decimal(str(value))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite() or amount < 0:
            self.fail(f"{value!r} is not an amount of US dollars, such as 2.50", param, ctx)
        return amount


def asking(players: str) -> Callable[[F], F]:
    """Add SUITE and the options that choose a part of it; ``players`` is the help text of --player.

    The command gets ``suite`` and the fields of :class:`bench.run.jobs.Part`.
    """
    return together(
        click.argument("suite", metavar="SUITE", shell_complete=complete_suites),
        naming("language", "l", ONLY_LANGUAGE),
        naming("player", "p", players),
        naming("judge", "j", RUN_JUDGES),
        click.option("--retry-failed", is_flag=True, help="Retry recorded failures, whatever the cause."),
        click.option(
            "--refresh-stale",
            is_flag=True,
            help="Re-run and replace results whose prompts or parameters have changed.",
        ),
        click.option(
            "--shard",
            type=ShardName(),
            help="Only part K of N, to share the work among machines. Merge the results by copying them into"
            " one folder.",
        ),
        whole_number(
            "--repeat",
            "Only repeat N of every scene: an independent sample with its own records. N can be one more than"
            " the suite's `repeats`; `bench analyse --repeat N` compares it with the first.",
            most=MOST_REPEATS,
        ),
    )


interrogator = click.option(
    "--interrogator",
    metavar="MODEL",
    shell_complete=complete_models,
    default="",
    callback=not_blank,
    help="Use this model of models.toml instead of the suite's interrogator. Results with the suite's own"
    " then count as made with other settings.",
)


def _limits(max_cost: Decimal | None, no_cache: bool, allow_unknown_price: bool) -> Spending:
    return Spending(max_cost, not no_cache, allow_unknown_price)


spending = gathered(
    "limits",
    _limits,
    click.option(
        "--max-cost",
        type=Dollars(),
        envvar="DRAMATURG_MAX_COST",
        show_envvar=True,
        help="Send no further calls once this much is spent; exit with status 3. Calls in flight finish and"
        " count; free calls are still sent.",
    ),
    click.option(
        "--allow-unknown-price",
        is_flag=True,
        help="With --max-cost: also call models without a price, whose cost is not counted.",
    ),
    click.option("--no-cache", is_flag=True, help="Ignore the response cache: ask again and store nothing."),
)
"""Adds --max-cost, --allow-unknown-price and --no-cache; the command gets them as one ``limits``."""


def in_batches(command: F) -> F:
    """Add --reparse, --batch and --poll to a command that has judges; it gets ``poll_seconds``.

    Goes below :func:`asking` and :func:`spending`, whose options it checks.
    """

    @wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if kwargs["reparse"] and (kwargs["batch"] or kwargs["shard"]):
            raise click.UsageError("--reparse makes no calls: leave --batch and --shard out")
        if kwargs["batch"] and not kwargs["limits"].cached:
            hint = "leave --no-cache out"
            raise click.UsageError(f"--batch delivers answers through the response cache: {hint}")
        return command(*args, **kwargs)

    return together(
        click.option("--reparse", is_flag=True, help="Re-parse stored replies; makes no API calls."),
        click.option("--batch", is_flag=True, help="Use the judges' Batch APIs: cheaper, within 24 hours."),
        click.option(
            "--poll",
            "poll_seconds",
            type=Number(min=0.01),
            default=30.0,
            show_default=True,
            metavar="SECONDS",
            help="With --batch: polling interval in seconds.",
        ),
    )(cast(F, wrapper))


def kept(batch: bool) -> str:
    """What a command says of its work when it is stopped."""
    return "finished work is kept, and submitted batches continue" if batch else "finished work is kept"


def check_answered(unanswered: Sequence[str]) -> None:
    """Raise UserError if a batch ended before it had answered requests. ``unanswered``: why, for each."""
    if unanswered:
        raise UserError(
            f"{len(unanswered)} not answered: {unanswered[0]}",
            hint="Run the same command to submit them again, or leave --batch out to make ordinary calls.",
        )


def arguments(where: Places, limits: Spending) -> dict[str, Any]:
    """Paths and limits as keyword arguments of :func:`bench.run_suite`."""
    return {
        "max_cost": limits.max_cost,
        "unknown_prices": limits.unknown_prices,
        "results": where.results,
        "models": where.models,
        "prompts": where.layers,
        "cache": where.cache if limits.cached else None,
    }
