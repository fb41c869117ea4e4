"""How a command ends early, with which exit status: Ctrl-C, SIGTERM and SIGHUP, or the cost limit."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from bench.chat.stats import Stats
from bench.cli.common import is_interrupt
from bench.errors import Stopped
from bench.tables import dollars

BUDGET_STATUS = 3
"""Exit status of a command that --max-cost has stopped."""
SIGNAL_STATUS = 128
"""A shell adds this to the number of the signal that a process died of."""

_NUMBERS = tuple(
    number
    for number in (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
    if number is not None
)


@contextmanager
def stoppable(what: str = "finished work is kept") -> Iterator[None]:
    """Turn a signal that ends the command into Stopped, with the status of a process that died of it.

    A signal that is ignored when the command starts stays ignored: `nohup` and background jobs rely on it.
    Others act like Ctrl-C, which cancels a running event loop, or else raises KeyboardInterrupt.
    """
    came: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        came.append(number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    taken = [n for n in _NUMBERS if n != signal.SIGINT and signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in taken}
    try:
        yield
    except BaseException as error:
        if not is_interrupt(error) and not isinstance(error, asyncio.CancelledError):
            raise
        number = came[0] if came else signal.SIGINT
        hint = "Run the same command to continue."
        raise Stopped(f"stopped; {what}", status=SIGNAL_STATUS + number, hint=hint) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stopped_by_budget(stats: Stats) -> Stopped:
    """The error to raise after --max-cost has stopped a command."""
    spent = f"{dollars(stats.cost)} spent" if stats.cost else "the next call is not free"
    return Stopped(
        f"stopped by --max-cost: {spent}; finished work is kept",
        status=BUDGET_STATUS,
        hint="Run the same command with a higher --max-cost to continue.",
    )
