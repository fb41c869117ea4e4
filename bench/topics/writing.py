"""Has a model draft a situation for each topic, from the topic's words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from bench.catalog import Catalog, Sampling
from bench.chat import open_chat
from bench.chat.budget import BudgetReached
from bench.chat.requests import ChatRequest, Reply
from bench.chat.stats import Stats
from bench.errors import CatalogError
from bench.prompts import PromptSet
from bench.records import Message
from bench.replies import ReplyFault, json_object
from bench.run.loop import run_async
from bench.tables import printable
from bench.topics.report import Draft, Report, Topic

Ask = Callable[[ChatRequest], Awaitable[Reply]]

ASKS: Final = 3
"""How often a model is asked for a usable draft. Later requests name the fault of the last reply."""
TURNS: Final = 4
"""Turns of a draft, as in the paper's common situations."""
SAMPLING: Final = Sampling(temperature=0.7, top_p=0.95, max_tokens=1024)
LONGEST_TITLE, LONGEST_TEXT = 60, 1500
TEMPLATE: Final = "situation"
NO_MONEY: Final = "Not asked: --max-cost is spent."


class Writer:
    """Asks ``model`` of the catalog for drafts in one language.

    Raises CatalogError if the catalog has no such model, the model cannot be called, or the template
    ``topics/situation.jinja`` in ``prompts`` is missing or malformed.
    """

    def __init__(self, catalog: Catalog, model: str, prompts: Path, language: str) -> None:
        entry = catalog.model(model)
        if catalog.recordings(model) is not None:
            raise CatalogError(f"{model!r} is a folder of recordings", hint="Name a model to call.")
        provider = catalog.providers[entry.provider]
        merged = SAMPLING.given() | entry.sampling.given() | entry.extra_body
        self.model, self.catalog = model, catalog
        self._parameters = {key: value for key, value in merged.items() if key not in entry.drop_parameters}
        self._seeded = provider.seed
        self._schema = draft_schema(bounded=provider.schema_limits)
        self._prompts = PromptSet(prompts / "topics", language, [TEMPLATE])

    async def drafts(
        self, topics: Sequence[Topic], ask: Ask, on_progress: Callable[[int, int], None] | None = None
    ) -> list[Draft]:
        """A draft for each topic, in order, including failed ones. ``on_progress`` gets the number done.

        Raises ProviderError if a model cannot be called as configured.
        """
        done = 0

        async def draft_of(topic: Topic) -> Draft:
            nonlocal done
            draft = await self._draft(topic, ask)
            done += 1
            if on_progress is not None:
                on_progress(done, len(topics))
            return draft

        tasks = [asyncio.create_task(draft_of(topic)) for topic in topics]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def prompt(self, topic: Topic) -> str:
        """The prompt for a topic: its words, and its examples if it has any."""
        return self._prompts.render(TEMPLATE, words=topic.words, examples=topic.examples, turns=TURNS)

    async def _draft(self, topic: Topic, ask: Ask) -> Draft:
        if not topic.words:
            return Draft(model=self.model, status="failed", failure="The topic has no words.")
        prompt, fault = self.prompt(topic), ""
        for attempt in range(ASKS):
            request = ChatRequest(
                model=self.model,
                role="interrogator",  # it writes for the interrogator and has the same limits
                messages=(Message(role="user", content=prompt + _complaint(fault)),),
                parameters=self._parameters,
                response_schema=self._schema,
                seed=topic.id * ASKS + attempt if self._seeded else None,
                sample=attempt,
            )
            try:
                reply = await ask(request)
            except BudgetReached:
                return Draft(model=self.model, status="failed", failure=NO_MONEY)
            if reply.outcome in ("ok", "length", "unknown_ending"):
                try:
                    title, text = read_draft(reply.text)
                except ReplyFault as error:
                    fault = error.fault
                    continue
                return Draft(model=self.model, status="ok", title=title, text=text)
            fault = reply.detail or f"The call ended as {reply.outcome}."
            if reply.outcome != "empty":
                break
        return Draft(model=self.model, status="failed", failure=fault)


def draft_situations(
    report: Report,
    writer: Writer,
    *,
    cache: Path | None,
    max_cost: Decimal | None,
    warn: Callable[[str], None],
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[Report, Stats | None]:
    """Add a draft by ``writer`` to each topic of ``report``.

    Returns the report, and the calls made if ``max_cost`` (US dollars) was reached. Drafts in the response
    ``cache`` are not asked for again. ``warn`` is called if the cache cannot be used.
    Raises ProviderError if a model cannot be called as configured.
    """

    async def drafts() -> tuple[list[Draft], Stats]:
        async with open_chat(writer.catalog, cache=cache, max_cost=max_cost, warn=warn) as chat:
            return await writer.drafts(report.topics, chat.ask, on_progress), chat.stats

    written, stats = run_async(drafts)
    pairs = zip(report.topics, written, strict=True)
    topics = tuple(topic.model_copy(update={"draft": draft}) for topic, draft in pairs)
    spent = any(draft.failure == NO_MONEY for draft in written)
    return report.model_copy(update={"topics": topics}), stats if spent else None


def draft_schema(*, bounded: bool) -> dict[str, JsonValue]:
    """JSON Schema of a draft. ``bounded``: with lengths, for a provider that supports them."""
    title: dict[str, JsonValue] = {"type": "string"}
    text: dict[str, JsonValue] = {"type": "string"}
    if bounded:
        title |= {"minLength": 3, "maxLength": LONGEST_TITLE}
        text |= {"minLength": 40, "maxLength": 600}
    return {
        "type": "object",
        "properties": {"title": title, "text": text},
        "required": ["title", "text"],
        "additionalProperties": False,
    }


def read_draft(reply: str) -> tuple[str, str]:
    """The title and text in a reply. Raises ReplyFault with a sentence that can be sent to the model."""
    data = json_object(reply, required=["title", "text"]).data
    texts = []
    for key, longest in (("title", LONGEST_TITLE), ("text", LONGEST_TEXT)):
        value = data[key]
        if not isinstance(value, str):
            raise ReplyFault("bad_type", f'The value of "{key}" must be a string.')
        value = printable(value)
        if not value:
            raise ReplyFault("empty", f'The value of "{key}" is blank.')
        if len(value) > longest:
            raise ReplyFault(
                "out_of_range",
                f'The value of "{key}" has {len(value)} characters; at most {longest} are allowed.',
            )
        texts.append(value)
    return texts[0], texts[1]


def _complaint(fault: str) -> str:
    return (
        f"\n\nYour last reply could not be used. {fault.rstrip('.')}. Send the whole JSON object again."
        if fault
        else ""
    )
