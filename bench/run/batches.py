"""Batches of judging requests: cheaper, answered within hours, and never paid for twice.

A batch only fills the response cache. Its requests are exactly those that ordinary judging would send (the
protocol makes them), so ordinary judging then finds the answers there and writes the records. Only first
calls go into a batch: retries are ordinary calls.

    wanted     first calls that the cache cannot answer
    submit     state "planned" -> upload -> state "uploaded" -> create -> state "submitted"
    collect    poll a batch until it has ended, put its answers into the cache, remove its state

If the command is killed between any two steps, the next one resumes. For a state without a batch id it first
asks the provider for a batch with the state's token. A request is never in two batches.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import NoReturn

from bench.chat.batch_api import BatchApi, BatchTrouble, BatchView, now
from bench.chat.batch_states import BatchState, BatchStates, new_token
from bench.chat.client import Chat, Prepared
from bench.chat.requests import ChatRequest, Reply, estimated_tokens
from bench.chat.secrets import shown_url
from bench.errors import ProviderError
from bench.protocols import Protocol
from bench.protocols.calls import Ask
from bench.records import Usage
from bench.run.batch_results import BatchResults
from bench.run.plan import Plan, reasoning_each
from bench.tables import counted

MOST_LINES = 50_000
MOST_BYTES = 190_000_000
"""OpenAI's limits for the file of one batch (200 MB), whose requests must all be for one model."""
MOST_TROUBLES = 20
"""Requests to the Batch API that may fail in a row before the command gives up. The state is kept."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Want:
    """A first call that the cache cannot answer, and what needs it."""

    prepared: Prepared
    judge: str
    piece: Hashable
    """The judgement or comparison: what a plan of such work knows it by."""
    completion_tokens: int
    """Assumed length of the reply."""

    @property
    def cost(self) -> Decimal | None:
        """Estimated cost in a batch, in US dollars; None if the price is unknown."""
        prompt = sum(estimated_tokens(m.content) for m in self.prepared.request.messages)
        usage = Usage(prompt_tokens=prompt, completion_tokens=self.completion_tokens)
        return self.prepared.cost_of(usage, batch=True)


@dataclass
class Collected:
    """What the batches brought."""

    answers: int = 0
    declined: int = 0
    """Requests that the provider declined; ordinary calls make them again."""
    missing: int = 0
    """Requests without a result, although their batch completed; ordinary calls make them again."""
    cost: Decimal = Decimal(0)
    unpriced: int = 0
    unanswered: dict[str, str] = field(default_factory=dict)
    """Why requests were not answered because their batch ended early, by cache key."""
    unanswered_pieces: set[Hashable] = field(default_factory=set)
    """The judgements or comparisons that need one of these."""


class _NoAnswerYet(Exception):
    """Ends the dry run of a piece of work at the first call without an answer."""


async def wanted(protocol: Protocol, plan: Plan, chat: Chat) -> list[Want]:
    """First calls of a plan's judgements that the cache cannot answer and whose provider has a Batch API."""
    wants: list[Want] = []
    for item in plan.work:
        for judge in item.judges:
            if item.conversation is not None and protocol.catalog.provider_of(judge).batch:
                prepared = await first_call(partial(protocol.judge, item.conversation, judge), chat)
                if prepared is not None:
                    reasoning = reasoning_each(protocol.catalog.model(judge)) or 0
                    tokens = protocol.estimate(item.cell)["judge"].completion_tokens + round(reasoning)
                    wants.append(Want(prepared, judge, (item.cell, judge), tokens))
    return wants


async def first_call(make: Callable[[Ask], Awaitable[object]], chat: Chat) -> Prepared | None:
    """The first call of ``make`` that the cache cannot answer; None if it answers all, or asked before."""
    first: list[Prepared] = []

    async def ask(request: ChatRequest) -> Reply:
        prepared = chat.prepared(request)
        reply = chat.kept(prepared)
        if reply is not None:
            return reply
        if request.sample == 0:
            chat.check_prompt(request)
            first.append(prepared)
        raise _NoAnswerYet

    with contextlib.suppress(_NoAnswerYet):
        await make(ask)
    return first[0] if first else None


def in_files(wants: Iterable[Want]) -> list[list[Want]]:
    """Divide ``wants`` into batches: one model each, within the limits of number and size."""
    files: list[list[Want]] = []
    by_model: dict[tuple[str, str], list[Want]] = {}
    for want in wants:
        by_model.setdefault((want.prepared.model.provider, want.prepared.model.model), []).append(want)
    for group in by_model.values():
        size = MOST_BYTES
        for want in group:
            line = len(_line(want.prepared))
            size += line
            if size > MOST_BYTES or len(files[-1]) >= MOST_LINES:
                files.append([])
                size = line
            files[-1].append(want)
    return files


def _line(prepared: Prepared) -> bytes:
    """One line of a batch's file. Its body is, byte for byte, that of an ordinary call."""
    head = json.dumps({"custom_id": prepared.key, "method": "POST", "url": "/v1/chat/completions"})
    return f'{head[:-1]}, "body": {prepared.body}}}\n'.encode()


class Batcher:
    """Submits, polls and collects the batches of one suite."""

    def __init__(
        self,
        apis: Mapping[str, BatchApi],
        states: BatchStates,
        cache_folder: Path,
        *,
        say: Say = lambda line: None,
        warn: Say = lambda line: None,
        poll_seconds: float = 30.0,
    ) -> None:
        self._apis = apis
        self._states = states
        self._cache_folder = cache_folder
        self._say = say
        self._warn = warn
        self._poll_seconds = poll_seconds
        self._troubles = 0

    def fresh(self, wants: Sequence[Want]) -> list[Want]:
        """The ``wants`` that are not in a batch yet; equal requests once."""
        taken = {key for state in self._states.pending() for key in state.keys}
        return list({w.prepared.key: w for w in wants if w.prepared.key not in taken}.values())

    async def run(self, wants: Sequence[Want]) -> Collected:
        """Submit what is not in a batch yet, and collect all batches that hold any of ``wants``.

        Raises ProviderError or StorageError; the states are kept, so that the next command resumes.
        """
        for group in in_files(self.fresh(wants)):
            model = group[0].prepared.model
            self._states.write(
                BatchState(
                    token=new_token(),
                    provider=model.provider,
                    base_url=_identity(self._apis[model.provider]),
                    model=model.model,
                    planned_at=now(),
                    keys=tuple(want.prepared.key for want in group),
                )
            )
        by_key = {want.prepared.key: want.prepared for want in wants}
        mine = [state for state in self._states.pending() if not by_key.keys().isdisjoint(state.keys)]
        collected = Collected()
        open_states = [await self._submitted(state, by_key) for state in mine]
        while open_states:
            for state in list(open_states):
                view = await self._polled(state)
                if view is not None and view.ended:
                    await self._collect(state, view, by_key, collected)
                    open_states.remove(state)
            if open_states:
                await asyncio.sleep(self._poll_seconds)
        left = collected.unanswered.keys()
        collected.unanswered_pieces = {want.piece for want in wants if want.prepared.key in left}
        return collected

    # Submitting

    async def _submitted(self, state: BatchState, by_key: Mapping[str, Prepared]) -> BatchState:
        """``state`` with the id of its batch, which is found or created."""
        api = self._api(state)
        while state.batch_id is None:
            try:
                if state.file_id is None:
                    state = await self._uploaded(api, state, by_key)
                assert state.file_id is not None
                view = await api.find(state.token, state.planned_at)
                if view is None:
                    view = await self._created(api, state)
                state = self._states.write(state.model_copy(update={"batch_id": view.id}))
                self._say(
                    f"batch {view.id}: {counted(len(state.keys), 'request')} to {state.model} submitted"
                )
            except BatchTrouble as trouble:
                await self._wait_after(trouble, state)
        self._troubles = 0
        return state

    async def _uploaded(self, api: BatchApi, state: BatchState, by_key: Mapping[str, Prepared]) -> BatchState:
        # Fewer than planned if the results tree or the prompts have changed since the interruption.
        keys = tuple(key for key in state.keys if key in by_key)
        data = b"".join(_line(by_key[key]) for key in keys)
        try:
            file_id = await api.upload(f"dramaturg-{state.token}.jsonl", data)
        except ProviderError:
            self._states.remove(state)  # nothing was submitted
            raise
        return self._states.write(state.model_copy(update={"file_id": file_id, "keys": keys}))

    async def _created(self, api: BatchApi, state: BatchState) -> BatchView:
        assert state.file_id is not None
        try:
            return await api.create(state.file_id, state.token)
        except ProviderError:
            self._states.remove(state)  # refused, and find() saw no batch before
            raise

    def _api(self, state: BatchState) -> BatchApi:
        api = self._apis.get(state.provider)
        if api is None or _identity(api) != state.base_url:
            raise ProviderError(
                f"a batch was submitted to {state.base_url}, but the provider's address has changed",
                where=f"provider {state.provider}",
                hint=f"Restore base_url, or delete {self._states.path(state)} to abandon the batch.",
            )
        return api

    # Polling

    async def _polled(self, state: BatchState) -> BatchView | None:
        """The state of a batch; None if its provider cannot be reached at the moment."""
        assert state.batch_id is not None
        try:
            view = await self._api(state).retrieve(state.batch_id)
        except BatchTrouble as trouble:
            await self._wait_after(trouble, state)
            return None
        except ProviderError as error:
            self._lost(state, error)
        self._troubles = 0
        failed = f", {view.failed} failed" if view.failed else ""
        total = view.total or len(state.keys)
        self._say(f"batch {view.id} ({state.model}): {view.status}, {view.done}/{total} answered{failed}")
        return view

    async def _wait_after(self, trouble: BatchTrouble, state: BatchState) -> None:
        self._troubles += 1
        if self._troubles >= MOST_TROUBLES:
            raise ProviderError(
                f"Batch API: {trouble}",
                where=f"provider {state.provider}",
                hint="Nothing is lost: run the same command to continue.",
            )
        self._say(f"provider {state.provider}: {trouble}; trying again")
        await asyncio.sleep(min(self._poll_seconds, 2.0**self._troubles))

    def _lost(self, state: BatchState, error: ProviderError) -> NoReturn:
        raise ProviderError(
            error.what,
            where=f"{error.where}, batch {state.batch_id}",
            hint=f"{error.hint} To pay for the batch again, delete {self._states.path(state)}.",
        ) from None

    # Collecting

    async def _collect(
        self, state: BatchState, view: BatchView, by_key: Mapping[str, Prepared], collected: Collected
    ) -> None:
        """Put a batch's answers into the cache, and then remove its state."""
        results = await self._results(state, view, by_key)
        for key, usage in results.answers.items():
            collected.answers += 1
            if key in by_key:
                cost = by_key[key].cost_of(usage, batch=True)
                collected.cost += cost or 0
                collected.unpriced += cost is None
        collected.declined += len(results.declined)
        if view.status == "completed":
            collected.missing += len(results.unanswered)
        else:
            reason = f"batch {view.id} ended as {view.status}" + (f" ({view.reason})" if view.reason else "")
            collected.unanswered.update(dict.fromkeys(sorted(results.unanswered), reason))
        if results.duplicates:
            self._warn(
                f"batch {view.id}: {len(results.duplicates)} of its requests have several results."
                " The first good answer counts."
            )
        self._say(f"batch {view.id}: {len(results.answers)} of {len(state.keys)} answers collected")
        self._states.remove(state)

    async def _results(
        self, state: BatchState, view: BatchView, by_key: Mapping[str, Prepared]
    ) -> BatchResults:
        """Everything in the result files, with the answers in the cache."""
        api = self._api(state)
        while True:
            results = BatchResults(state.keys, by_key, api.secrets, self._cache_folder)
            try:
                for file_id in view.files:
                    async for line in api.lines(file_id):
                        results.read(line)
            except BatchTrouble as trouble:
                await self._wait_after(trouble, state)
            except ProviderError as error:
                self._lost(state, error)
            else:
                results.store()
                return results


def _identity(api: BatchApi) -> str:
    return shown_url(api.provider.base_url.rstrip("/"))
