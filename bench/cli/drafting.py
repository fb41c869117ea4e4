"""Drafts of situations by a model, within what may be spent; what was found is kept however it ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from rich.console import Console

from bench.chat import Chat, ResponseCache
from bench.cli.asking import Spending
from bench.cli.options import Places
from bench.errors import UserError
from bench.local.embedded import EmbeddedServer, embedded_identity
from bench.run.stopping import StopSignals, stopped_by_budget
from bench.topics.report import Draft, Report
from bench.topics.writing import NO_MONEY, Writer


def drafted(
    where: Places,
    limits: Spending,
    writer: Writer,
    report: Report,
    on_progress: Callable[[int, int], None],
    console: Console,
) -> tuple[Report, UserError | None]:
    """``report`` with a draft for each topic, and what ended the drafting early: a signal, the money, or what
    only the user can put right. What the cache holds of the drafts is not asked for again."""
    signals = StopSignals()
    try:
        drafts, ended = asyncio.run(_drafts(where, limits, writer, report, on_progress, console, signals))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return report, signals.stopped("the topics are written, without drafts")
    except UserError as error:
        return report, error
    topics = [
        topic.model_copy(update={"draft": draft}) for topic, draft in zip(report.topics, drafts, strict=True)
    ]
    return report.model_copy(update={"topics": tuple(topics)}), ended


async def _drafts(
    where: Places,
    limits: Spending,
    writer: Writer,
    report: Report,
    on_progress: Callable[[int, int], None],
    console: Console,
    signals: StopSignals,
) -> tuple[list[Draft], UserError | None]:
    signals.cancel_task()

    def warn(message: str) -> None:
        console.print(f"bench: {message}", highlight=False, markup=False, soft_wrap=True)

    with contextlib.ExitStack() as stack:
        cache = stack.enter_context(ResponseCache(where.cache, warn)) if limits.cached else None
        async with Chat(
            where.catalog(),
            cache=cache,
            embedded=lambda: stack.enter_context(EmbeddedServer()),
            embedded_identity=embedded_identity,
            max_cost=limits.max_cost,
        ) as chat:
            drafts = await writer.drafts(report.topics, chat.ask, on_progress)
            spent = any(draft.failure == NO_MONEY for draft in drafts)
            return drafts, stopped_by_budget(chat.stats) if spent else None
