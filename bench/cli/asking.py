"""What a command that may call models is asked for: suite, languages, players, judges, limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import wraps
from typing import Any, TypeVar, cast

import click

from bench.catalog import Catalog
from bench.cli.execution import Job
from bench.cli.options import Places, chosen_languages
from bench.errors import CatalogError
from bench.plan import Redo, make_plan
from bench.protocols import protocol_for
from bench.suites import Suite

F = TypeVar("F", bound=Callable[..., Any])


class Dollars(click.ParamType[Decimal]):
    """An amount of US dollars, exact."""

    name = "USD"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            amount = Decimal(str(value))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite() or amount < 0:
            self.fail(f"{value!r} is not an amount of US dollars, such as 2.50", param, ctx)
        return amount


@dataclass(frozen=True)
class Asked:
    """Which part of which suite a command is about; empty means the suite's own."""

    suite: str
    languages: tuple[str, ...]
    players: tuple[str, ...]
    judges: tuple[str, ...]
    redo: Redo


@dataclass(frozen=True)
class Spending:
    """How a command may spend: dollars at most, None for no limit; and whether the response cache is used."""

    max_cost: Decimal | None
    cached: bool


_ASKED = (
    click.argument("suite_name", metavar="SUITE"),
    click.option(
        "--language", "-l", "languages", multiple=True, metavar="L", help="Only this one (may be repeated)."
    ),
    click.option(
        "--player",
        "-p",
        "players",
        multiple=True,
        metavar="P",
        help="A player, by its name in models.toml (may be repeated). Without it: the suite's own players.",
    ),
    click.option(
        "--judge",
        "-j",
        "judges",
        multiple=True,
        metavar="J",
        help="A judge, by its name in models.toml (may be repeated). Without it: the suite's own judges.",
    ),
    click.option("--retry-failed", is_flag=True, help="Do recorded failures again, whatever they failed of."),
    click.option(
        "--refresh-stale",
        is_flag=True,
        help="Do again what was made from other prompts or parameters than those of now. It is replaced.",
    ),
)
_SPENDING = (
    click.option(
        "--max-cost",
        type=Dollars(),
        help="Send no further call once this much is spent. Calls in flight still end, and count.",
    ),
    click.option("--no-cache", is_flag=True, help="Neither read nor fill the response cache."),
)


def asking(command: F) -> F:
    """Add SUITE and the options that choose a part of it; the command gets them as one ``asked``."""

    @wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        asked = Asked(
            kwargs.pop("suite_name"),
            kwargs.pop("languages"),
            kwargs.pop("players"),
            kwargs.pop("judges"),
            Redo(failed=kwargs.pop("retry_failed"), stale=kwargs.pop("refresh_stale")),
        )
        return command(*args, asked=asked, **kwargs)

    return _with_options(cast(F, wrapper), _ASKED)


def spending(command: F) -> F:
    """Add --max-cost and --no-cache; the command gets them as one ``limits``."""

    @wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        limits = Spending(kwargs.pop("max_cost"), not kwargs.pop("no_cache"))
        return command(*args, limits=limits, **kwargs)

    return _with_options(cast(F, wrapper), _SPENDING)


def _with_options(command: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def jobs_for(where: Places, asked: Asked, *, talk: bool = True) -> tuple[Suite, Catalog, list[Job]]:
    """What a command is about, everything named by the user checked before anything is done.

    With ``talk`` off, players are those that have results, and only judgements are planned.
    """
    catalog = where.catalog()
    suite = where.suite(asked.suite)
    suite.check_models(catalog)
    for name in asked.players:
        catalog.model(name, "player")
    for name in asked.judges:
        catalog.model(name, "judge")
    tree = where.tree()
    jobs = []
    for language in chosen_languages(suite, asked.languages):
        players = asked.players or suite.entry.player.models
        if not talk and not asked.players:
            present = [info.player for info in tree.players(suite.id, language)]
            players = tuple(name for name in present if name in catalog.models)
        if not players:
            raise CatalogError(
                "names no players of its own" if talk else "has no players yet",
                where=f"suite {suite.id}, language {language}",
                mend="Name one by --player." if talk else f"Run `bench run {suite.id}` first.",
            )
        protocol = protocol_for(suite, language, catalog)
        plan = make_plan(protocol, tree, players, asked.judges or suite.judges, talk=talk, redo=asked.redo)
        jobs.append(Job(protocol, plan, players))
    return suite, catalog, jobs
