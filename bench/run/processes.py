"""Processes beside this one, which answers for all when Ctrl-C reaches every process of a terminal."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

R = TypeVar("R")


@contextmanager
def unaware_of_interrupts() -> Iterator[None]:
    """Processes that the block starts never hear of Ctrl-C. This one does when the block ends."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def killed_on_error() -> Iterator[None]:
    """Processes that the block starts are killed if it fails or is interrupted."""
    others = multiprocessing.active_children()
    try:
        yield
    except BaseException:
        for process in multiprocessing.active_children():
            if process not in others:
                process.kill()
        raise


def end_with_parent() -> None:
    """End this process once its parent is gone, even killed: else it could wait for work forever."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def beside(work: Callable[[], R]) -> Callable[[], R]:
    """Start ``work`` in a forked process; what is returned waits for its result.

    Where there is no fork, or the process dies, the work is done when its result is asked for.
    """
    if sys.platform != "linux":
        return work
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def send() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # by which multiprocessing ends it
        end_with_parent()
        sender.send(work())

    process = context.Process(target=send, daemon=True)
    with unaware_of_interrupts():
        process.start()
    sender.close()

    def result() -> R:
        try:
            return receiver.recv()  # type: ignore[no-any-return]
        except EOFError:
            return work()
        except BaseException:
            process.kill()
            raise
        finally:
            process.join()

    return result
