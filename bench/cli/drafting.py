"""Drafts of situations by a model, within what may be spent; what was found is kept however it ends."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console

from bench.chat import open_chat
from bench.cli.options import Places
from bench.cli.stopping import stoppable, stopped_by_budget
from bench.errors import UserError
from bench.run.loop import run_async
from bench.run.prices import Spending
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
    try:
        with stoppable("the topics are written, without drafts"):
            drafts, ended = run_async(lambda: _drafts(where, limits, writer, report, on_progress, console))
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
) -> tuple[list[Draft], UserError | None]:
    def warn(message: str) -> None:
        console.print(f"bench: {message}", highlight=False, markup=False, soft_wrap=True)

    cache = where.cache if limits.cached else None
    async with open_chat(where.catalog(), cache=cache, max_cost=limits.max_cost, warn=warn) as chat:
        drafts = await writer.drafts(report.topics, chat.ask, on_progress)
        spent = any(draft.failure == NO_MONEY for draft in drafts)
        return drafts, stopped_by_budget(chat.stats) if spent else None
