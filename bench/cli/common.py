"""What all commands share: --quiet and --verbose, NO_COLOR, suggestions for mistyped commands, and shapes of
options."""

from __future__ import annotations

import difflib
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import reduce, wraps
from inspect import signature
from typing import Any, TypeVar, cast

import click

F = TypeVar("F", bound=Callable[..., Any])

_given: set[str] = set()


def quiet() -> bool:
    """Whether only results and errors are to be printed."""
    return "quiet" in _given


def verbose() -> bool:
    """Whether errors show where in the program they arose, and commands print their time."""
    return "verbose" in _given


def forget() -> None:
    """Forget the options of an earlier call in this process."""
    _given.clear()


def _remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and param.name:
        _given.add(param.name)


NO_NAME = "no name is given; is a variable of your shell empty?"
_DEFAULT = click.core.ParameterSource.DEFAULT
NAMING = {"-c", "-j", "-l", "-p", "-s"}
"""Letters of the options that take names: characters, judges, languages, players, situations."""


def _separated(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    names = [[name for name in map(str.strip, given.split(",")) if name] for given in value]
    if not all(names):  # without names, a run would play and pay for everything
        raise click.BadParameter(NO_NAME, ctx, param)
    return tuple(name for given in names for name in given)


def not_blank(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """``value`` of an option that takes one name, and is empty without it."""
    if not value.strip(" ,") and ctx.get_parameter_source(param.name or "") != _DEFAULT:
        raise click.BadParameter(NO_NAME, ctx, param)
    return value


def with_common(command: click.Command) -> click.Command:
    """``command`` and all below it, with the options that every command has.

    Options that take several names take them repeated or separated by commas.
    """
    if isinstance(command, click.Group):
        for below in command.commands.values():
            with_common(below)
    elif not any(param.name == "quiet" for param in command.params):
        for param in command.params:
            if param.multiple and (param.metavar == "NAMES" or NAMING & {*param.opts}):
                param.callback = _separated
        command.params += output_options()
    return command


def output_options() -> list[click.Option]:
    """--quiet and --verbose. They may also stand before the command."""
    texts = {
        "quiet": "Print results and errors only.",
        "verbose": "Show where errors arose, and the time taken.",
    }
    return [
        click.Option(
            [f"-{name[0]}", f"--{name}"],
            is_flag=True,
            expose_value=False,
            envvar=f"DRAMATURG_{name.upper()}",
            callback=_remember,
            help=text,
        )
        for name, text in texts.items()
    ]


def colour(ctx: click.Context) -> None:
    """No colours where the environment variable NO_COLOR is set."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """One decorator that adds ``options``, which --help lists in this order."""

    def add(command: F) -> F:
        return reduce(lambda made, option: option(made), reversed(options), command)

    return add


def gathered(name: str, make: Callable[..., object], *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Add ``options``; the command gets what ``make`` makes of their values, as its argument ``name``."""

    def add(command: F) -> F:
        @wraps(command)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            values = {key: kwargs.pop(key) for key in signature(make).parameters}
            return command(*args, **{name: make(**values)}, **kwargs)

        return together(*options)(cast(F, wrapper))

    return add


def whole_number(
    flag: str,
    text: str,
    least: int = 1,
    most: int | None = None,
    *,
    default: int | None = None,
    unit: str = "N",
) -> Callable[[F], F]:
    """An option that takes a whole number."""
    return click.option(
        flag,
        type=click.IntRange(least, most),
        default=default,
        show_default=default is not None,
        metavar=unit,
        help=text,
    )


def one_of(flag: str, choices: Sequence[str], text: str | None = None, *name: str) -> Callable[[F], F]:
    """An option that takes one of ``choices``, by default the first. The command gets it as ``name``."""
    return click.option(
        flag, *name, type=click.Choice(choices), default=choices[0], show_default=True, help=text
    )


class Suggesting(click.Group):
    """A group that suggests the nearest command for one that does not exist."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else f" `{ctx.command_path} --help` lists all."
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


def is_interrupt(error: BaseException) -> bool:
    """Whether ``error`` is Ctrl-C, or what click, or Pydantic while building a schema, made of it."""
    made = type(error).__name__ == "SchemaError" and "KeyboardInterrupt" in str(error)
    return made or isinstance(error, (KeyboardInterrupt, click.Abort))


def interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """Repeat a Ctrl-C that came while Python ran a callback, whose errors it only prints."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    repeat = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))  # once the callback has ended
    repeat.daemon = True
    repeat.start()


def thread_failed(failed: threading.ExceptHookArgs) -> None:
    """Print the error of a thread, unless it was to stop the event loop, which Ctrl-C closed before."""
    if not (failed.exc_type is RuntimeError and str(failed.exc_value) == "Event loop is closed"):
        threading.__excepthook__(failed)
