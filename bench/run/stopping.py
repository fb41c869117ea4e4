"""How a run ends before its end: by Ctrl-C, SIGTERM or SIGHUP, or because --max-cost is reached."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from bench.chat.stats import Stats
from bench.errors import Stopped

BUDGET_STATUS = 3
"""Exit status of a run that --max-cost has stopped."""
SIGNAL_STATUS = 128
"""What a shell adds to the number of the signal that a process died of."""
GOES_ON = "The same command goes on from there."

_NUMBERS = tuple(
    number
    for number in (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
    if number is not None
)


class StopSignals:
    """The signals that end a run in order; knows which one came.

    One that is ignored when a run starts stays so: `nohup` and a shell's background jobs count on it.
    """

    def __init__(self) -> None:
        self._came: int = signal.SIGINT

    def cancel_task(self) -> None:
        """Let them cancel the current task of the running loop."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        running = task

        def stop(number: int) -> None:
            self._came = number
            running.cancel()

        for number in _NUMBERS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, stop, number)

    @contextmanager
    def as_interrupt(self) -> Iterator[None]:
        """Let them raise KeyboardInterrupt, where there is no loop to tell."""

        def interrupt(number: int, frame: object) -> None:
            self._came = number
            raise KeyboardInterrupt

        before = {number: signal.getsignal(number) for number in _NUMBERS}
        taken = [number for number in _NUMBERS if before[number] is not signal.SIG_IGN]
        for number in taken:
            signal.signal(number, interrupt)
        try:
            yield
        finally:
            for number in taken:
                signal.signal(number, before[number])

    def stopped(self, what: str = "all that was finished is kept", hint: str = GOES_ON) -> Stopped:
        """What to raise where one came: the status is that of a process which died of it."""
        return Stopped(f"stopped; {what}", status=SIGNAL_STATUS + self._came, hint=hint)


def stopped_by_budget(stats: Stats) -> Stopped:
    """What to raise where --max-cost has ended a run."""
    spent = f"${stats.cost:.4f} is spent" if stats.cost else "a call that is not free would have been next"
    return Stopped(
        f"stopped by --max-cost: {spent}; all that was finished is kept",
        status=BUDGET_STATUS,
        hint="The same command with a higher --max-cost goes on from there.",
    )
