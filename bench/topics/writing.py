"""A situation for each topic, written by a model from the topic's words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from bench.catalog import Catalog, Sampling
from bench.chat.budget import BudgetReached
from bench.chat.requests import ChatRequest, Reply
from bench.prompts import PromptSet
from bench.records import Message
from bench.replies import ReplyFault, json_object
from bench.tables import printable
from bench.topics.report import Draft, Topic

Ask = Callable[[ChatRequest], Awaitable[Reply]]

ASKS: Final = 3
"""How often a model is asked for one draft that can be used: once, and again with the fault named."""
TURNS: Final = 4
"""Turns of a draft: those of the paper's common situations."""
SAMPLING: Final = Sampling(temperature=0.7, top_p=0.95, max_tokens=1024)
LONGEST_TITLE, LONGEST_TEXT = 60, 1500
TEMPLATE: Final = "situation"
NO_MONEY: Final = "Not asked: the money that --max-cost allows is spent."


class Writer:
    """Asks ``model`` of the catalog for drafts, in one language. Raises CatalogError where the catalog has no
    such model, or the template ``topics/situation.jinja`` below ``prompts`` cannot be used."""

    def __init__(self, catalog: Catalog, model: str, prompts: Path, language: str) -> None:
        entry = catalog.model(model)
        provider = catalog.providers[entry.provider]
        merged = SAMPLING.given() | entry.sampling.given()
        self.model = model
        self._parameters = {key: value for key, value in merged.items() if key not in entry.drop_parameters}
        self._seeded = provider.seed
        self._schema = draft_schema(bounded=provider.schema_limits)
        self._prompts = PromptSet(prompts / "topics", language, [TEMPLATE])

    async def drafts(
        self, topics: Sequence[Topic], ask: Ask, on_progress: Callable[[int, int], None] | None = None
    ) -> list[Draft]:
        """A draft for each topic, in their order; what failed is one too. ``on_progress`` hears of each.

        Raises ProviderError where only the user can put things right.
        """
        done = 0

        async def one(topic: Topic) -> Draft:
            nonlocal done
            draft = await self._draft(topic, ask)
            done += 1
            if on_progress is not None:
                on_progress(done, len(topics))
            return draft

        tasks = [asyncio.create_task(one(topic)) for topic in topics]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def prompt(self, topic: Topic) -> str:
        """What the model is asked: the words, and the examples where the topic holds any."""
        return self._prompts.render(TEMPLATE, words=topic.words, examples=topic.examples, turns=TURNS)

    async def _draft(self, topic: Topic, ask: Ask) -> Draft:
        if not topic.words:
            return Draft(model=self.model, status="failed", failure="The topic has no words to write from.")
        prompt, fault = self.prompt(topic), ""
        for attempt in range(ASKS):
            request = ChatRequest(
                model=self.model,
                role="interrogator",  # it writes for the interrogator, and shares its limits
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
            if reply.outcome in ("ok", "length"):
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


def draft_schema(*, bounded: bool) -> dict[str, JsonValue]:
    """JSON Schema of a draft; ``bounded`` where the provider can hold a reply to lengths."""
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
    """Title and text of a reply. Raises ReplyFault, whose sentence can be sent back to the model."""
    data = json_object(reply, required=["title", "text"]).data
    said = []
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
        said.append(value)
    return said[0], said[1]


def _complaint(fault: str) -> str:
    return (
        f"\n\nYour last reply could not be used. {fault.rstrip('.')}. Send the whole JSON object again."
        if fault
        else ""
    )
