"""What a command that may call models is asked for: suite, languages, players, judges, limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import wraps
from typing import Any, TypeVar, cast

import click

from bench.catalog import Catalog
from bench.cli.options import Places, chosen_languages
from bench.errors import CatalogError
from bench.protocols import protocol_for
from bench.run.jobs import Job
from bench.run.plan import Redo, make_plan
from bench.run.shards import Shard
from bench.suites import Suite

F = TypeVar("F", bound=Callable[..., Any])


class ShardName(click.ParamType[Shard]):
    """One part of several, as K/N."""

    name = "K/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Shard:
        if isinstance(value, Shard):
            return value
        try:
            return Shard.parse(str(value))
        except ValueError:
            self.fail(f"{value!r} is not one part of several, such as 2/8", param, ctx)


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
    shard: Shard | None = None


@dataclass(frozen=True)
class Spending:
    """How a command may spend: dollars at most, None for no limit; and whether the response cache is used."""

    max_cost: Decimal | None
    cached: bool
    unknown_prices: bool = False
    """Whether a limit is no reason to refuse models whose price is unknown."""


def _asked(player: str) -> tuple[Callable[[F], F], ...]:
    """SUITE and the options that choose a part of it; ``player`` is said of --player."""
    return (
        click.argument("suite_name", metavar="SUITE"),
        click.option(
            "--language",
            "-l",
            "languages",
            multiple=True,
            metavar="L",
            help="Only this one (may be repeated).",
        ),
        click.option("--player", "-p", "players", multiple=True, metavar="P", help=player),
        click.option(
            "--judge",
            "-j",
            "judges",
            multiple=True,
            metavar="J",
            help="A judge, by its name in models.toml (may be repeated). Without it: the suite's own judges.",
        ),
        click.option(
            "--retry-failed", is_flag=True, help="Do recorded failures again, whatever they failed of."
        ),
        click.option(
            "--refresh-stale",
            is_flag=True,
            help="Do again what was made from other prompts or parameters than those of now. It is replaced.",
        ),
        click.option(
            "--shard",
            type=ShardName(),
            help="Only part K of N of the cells, for several machines. Their results trees merge by copying.",
        ),
    )


_PLAYERS = "A player, by its name in models.toml (may be repeated). Without it: the suite's own players."
_JUDGED = (
    "Only this player's conversations (may be repeated). Without it: those of all players that have any."
)
_SPENDING = (
    click.option(
        "--max-cost",
        type=Dollars(),
        help="Send no further call once this much is spent, and end with status 3. Calls in flight still end,"
        " and count. Calls known to be free are sent all the same.",
    ),
    click.option(
        "--allow-unknown-price",
        is_flag=True,
        help="With --max-cost: also call models without a price in models.toml. Theirs is not counted.",
    ),
    click.option("--no-cache", is_flag=True, help="Neither read nor fill the response cache."),
)


def asking(command: F) -> F:
    """Add SUITE and the options that choose what is run of it; the command gets them as one ``asked``."""
    return _asking(command, _PLAYERS)


def asking_judged(command: F) -> F:
    """As :func:`asking`, for a command that talks to no player: it is about conversations that exist."""
    return _asking(command, _JUDGED)


def _asking(command: F, player: str) -> F:
    @wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        asked = Asked(
            kwargs.pop("suite_name"),
            _once(kwargs.pop("languages")),
            _once(kwargs.pop("players")),
            _once(kwargs.pop("judges")),
            Redo(failed=kwargs.pop("retry_failed"), stale=kwargs.pop("refresh_stale")),
            kwargs.pop("shard"),
        )
        return command(*args, asked=asked, **kwargs)

    return _with_options(cast(F, wrapper), _asked(player))


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    """Each name once: what is named twice is not to be done, and paid, twice."""
    return tuple(dict.fromkeys(names))


def spending(command: F) -> F:
    """Add --max-cost, --allow-unknown-price and --no-cache; the command gets them as one ``limits``."""

    @wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        limits = Spending(
            kwargs.pop("max_cost"), not kwargs.pop("no_cache"), kwargs.pop("allow_unknown_price")
        )
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
            if not (players or asked.languages):
                continue  # it may have results in another of its languages
        if not players:
            raise CatalogError(
                "names no players of its own" if talk else "has no players yet",
                where=f"suite {suite.id}, language {language}",
                hint="Name one by --player." if talk else f"Run `bench run {suite.id}` first.",
            )
        protocol = protocol_for(suite, language, catalog)
        protocol.sounds.source = tree.read_audio
        judges = asked.judges or suite.judges
        protocol.check_models(players if talk else (), judges)
        plan = make_plan(protocol, tree, players, judges, talk=talk, redo=asked.redo, shard=asked.shard)
        jobs.append(Job(protocol, plan, players))
    if not jobs:
        raise CatalogError(
            "has no players yet", where=f"suite {suite.id}", hint=f"Run `bench run {suite.id}` first."
        )
    return suite, catalog, jobs
