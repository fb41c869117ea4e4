"""Asks judges to compare pairs of conversations, and stores each comparison as soon as both orders are in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from bench.chat import Chat
from bench.errors import StorageError
from bench.protocols.calls import Ask
from bench.protocols.comparing import Comparer, Pair
from bench.records import Cell, Conversation
from bench.results import ResultsTree
from bench.results.comparison_records import Comparison
from bench.results.comparisons import write_comparison
from bench.run.batches import Want, first_call
from bench.run.executing import split_by_file
from bench.run.plan import TEMPORARY
from bench.run.progress import RunReport
from bench.run.runner import SideBySide


@dataclass(frozen=True)
class CompareWork:
    """One comparison to make, in both orders."""

    cells: tuple[Cell, Cell]
    """The two conversations, in the order of the players' slugs."""
    judge: str
    anew: bool = False
    """Whether replies from the cache that make a verdict fail are asked for again."""

    @property
    def players(self) -> tuple[str, str]:
        """The two players, in the order of their slugs."""
        return self.cells[0].player, self.cells[1].player

    @property
    def slot(self) -> tuple[str, str, int]:
        """Character, situation and repeat."""
        return self.cells[0].character, self.cells[0].situation, self.cells[0].repeat


def failed_temporarily(record: Comparison) -> bool:
    """Whether a comparison failed, and only for a cause that passes."""
    causes = [verdict.failure.outcome for verdict in record.orders if verdict.failure is not None]
    return bool(causes) and all(cause in TEMPORARY for cause in causes)


async def first_calls(
    comparer: Comparer, work: Sequence[CompareWork], tree: ResultsTree, chat: Chat
) -> list[Want]:
    """First calls of ``work`` that the cache cannot answer and whose provider has a Batch API."""
    wants: list[Want] = []
    for item in work:
        if comparer.protocol.catalog.provider_of(item.judge).batch:
            pair = _pair(item, tree)
            for shown_first in range(2):
                prepared = await first_call(partial(comparer.order, pair, shown_first, item.judge), chat)
                if prepared is not None:
                    wants.append(Want(prepared, item.judge, item, comparer.reply_tokens))
    return wants


async def paid_for(
    comparer: Comparer, item: CompareWork, tree: ResultsTree, chat: Chat, submitted: Collection[str]
) -> bool:
    """Whether an answer of ``item`` is in the cache, or its request in a batch (among ``submitted``)."""
    pair = _pair(item, tree)
    for shown_first in range(2):
        prepared = await first_call(partial(comparer.order, pair, shown_first, item.judge), chat)
        if prepared is None or prepared.key in submitted:
            return True
    return False


async def compare_pairs(
    comparer: Comparer,
    work: Sequence[CompareWork],
    tree: ResultsTree,
    chat: Chat,
    report: RunReport,
    progressed: Callable[[], None] = lambda: None,
) -> list[Comparison]:
    """Carry out ``work`` and store its records. Returns the finished ones.

    ``report.budget_reached`` says whether the cost limit ended it. Raises ProviderError or StorageError once
    the calls in flight have ended.
    """
    made: list[Comparison] = []
    for batch in split_by_file(comparer.protocol.catalog, work, lambda item: item.judge):
        await chat.keep_local({item.judge for item in batch})
        runner = _PairRunner(comparer, tree, chat.ask, report, progressed)
        await runner.run(batch)
        made += runner.made
        if report.budget_reached:
            break
    return made


class _PairRunner(SideBySide):
    def __init__(
        self,
        comparer: Comparer,
        tree: ResultsTree,
        send: Ask,
        report: RunReport,
        progressed: Callable[[], None],
    ) -> None:
        super().__init__(comparer.protocol.catalog, send, report, progressed)
        self.made: list[Comparison] = []
        self._comparer = comparer
        self._tree = tree

    async def run(self, work: Sequence[CompareWork]) -> None:
        await self._all(self._compare, work)

    async def _compare(self, item: CompareWork) -> None:
        async with self._window([item.judge]):
            if self._stop is not None:
                return
            pair = _pair(item, self._tree)
            first, second = [
                await self._made(partial(self._comparer.order, pair, shown_first, item.judge), anew=item.anew)
                for shown_first in range(2)
            ]
            record = self._comparer.comparison_of(pair, item.judge, (first, second))
            await self._write(partial(write_comparison, self._tree, record, replace=True))
            self.made.append(record)
            self._report.comparison_done(record)
            self._progressed()


def _pair(item: CompareWork, tree: ResultsTree) -> Pair:
    talks: list[Conversation] = []
    for cell in item.cells:
        talk = tree.conversation(cell)
        if talk is None or talk.status != "complete":
            place = str(tree.conversation_path(cell))
            raise StorageError("the conversation is gone since the run was planned", where=place)
        talks.append(talk)
    return talks[0], talks[1]
