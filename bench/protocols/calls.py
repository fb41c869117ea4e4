"""How the models of a suite are called: parameters, seeds, retries of unusable replies, records of calls."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from pydantic import JsonValue

from bench.catalog import Catalog, Sampling
from bench.chat.requests import ChatRequest, Reply, Sound
from bench.records import Call, Cell, Failure, Message, Outcome, Role, sha256_of
from bench.replies import ReplyFault
from bench.replies.objects import goes_on, reasoning_around
from bench.replies.reader import in_reader
from bench.replies.reasoning import separated
from bench.suites import Suite

T = TypeVar("T")
JsonSchema = dict[str, JsonValue]

Ask = Callable[[ChatRequest], Awaitable[Reply]]
"""Sends one request and returns its reply."""

ASKS = 3
"""Maximum number of calls for one usable reply: a first one, and retries that name the fault."""
LONGEST_INLINE = 2**14
"""Characters of a reply that is parsed in the event loop; a longer one is parsed in a thread."""
READABLE = ("ok", "length", "unknown_ending")
"""Outcomes whose text is parsed."""


@dataclass(frozen=True)
class Try(Generic[T]):
    """One call: the parsed ``value``, or the ``fault`` of the reply (empty if the call itself failed)."""

    request: ChatRequest
    reply: Reply
    value: T | None
    fault: str = ""


def without_reasoning(role: Role, reply: Reply) -> Reply:
    """``reply`` with the reasoning in its text added to its ``reasoning``; empty if nothing else was written.

    A player's text is then its answer alone. The text of the others stays as it came: it is read as JSON,
    past the reasoning, and kept as evidence. If their JSON is in a tool call, its arguments end the text.
    """
    if role != "player" and reply.tool_arguments:
        if reply.outcome == "empty":
            reply = replace(reply, outcome="ok", text=reply.tool_arguments, detail="")
        elif "{" not in reply.text:
            reply = replace(reply, text=f"{reply.text}\n{reply.tool_arguments}")
    if reply.outcome not in READABLE:
        return reply
    cut = reply.outcome == "length"
    parts = separated(reply.text, cut=cut) if role == "player" else reasoning_around(reply.text)
    if not parts.reasoning and not parts.unclosed and parts.answer == reply.text:
        return reply
    given = "\n\n".join(text for text in (reply.reasoning, parts.reasoning) if text) or None
    reply = replace(reply, reasoning=given, text=parts.answer if role == "player" else reply.text)
    if reply.sound is None and (not parts.answer.strip() or (parts.unclosed and cut)):
        detail = "nothing but reasoning was written" + (" up to the token limit" if cut else "")
        return replace(reply, outcome="empty", detail=detail)
    return reply


def read_whole(read: Callable[[str], T], text: str, outcome: Outcome) -> T:
    """``text`` of a call that ended as ``outcome``, parsed by ``read``.

    Raises ReplyFault; also if it was cut off in what follows its JSON, where the model may have revised it.
    """
    try:
        value = read(text)
    except ReplyFault as fault:
        if outcome != "length" or fault.kind != "contradiction" or not goes_on(text):
            raise
    else:
        if outcome != "length" or not goes_on(text):
            return value
    raise ReplyFault("truncated", "The reply breaks off in text after its JSON.")


def tried(request: ChatRequest, reply: Reply, read: Callable[[str], T]) -> Try[T]:
    """``reply`` to ``request``, parsed by ``read`` if it can be."""
    reply = without_reasoning(request.role, reply)
    value, fault = None, ""
    if reply.outcome in READABLE:
        try:
            value = read_whole(read, reply.text, "ok" if request.role == "player" else reply.outcome)
        except ReplyFault as error:
            fault = error.fault
    return Try(request, reply, value, fault)


async def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """What ``work`` returns. It runs where it does not block other calls."""
    import asyncio  # takes as long to import as the rest of a protocol: `bench check` needs none of it

    return await asyncio.to_thread(work, *arguments)


def complaint(fault: str) -> str:
    """What a retry adds to the prompt."""
    return f"\n\nYour last reply could not be used. {fault.rstrip('.')}. Send the whole JSON object again."


def ended_as(reply: Reply) -> str:
    """Why a call brought no usable reply."""
    return reply.detail or f"the call ended as {reply.outcome}"


def failure_of(role: Role, turn: int, last: Try[T], *, kept: bool = False) -> Failure | None:
    """Why the last of several tries failed; None if it succeeded. ``kept``: the record keeps all replies."""
    if last.value is not None:
        return None
    return Failure(
        role=role,
        turn=turn,
        outcome="parse_error" if last.fault else last.reply.outcome,
        filtered=last.reply.filtered,
        reason=last.fault or ended_as(last.reply),
        raw=None if kept and last.fault else last.reply.text or None,
    )


class Calls:
    """Calls of the models of one suite."""

    def __init__(self, suite: Suite, catalog: Catalog) -> None:
        self.suite = suite
        self.catalog = catalog

    def parameters(self, role: Role, model: str) -> dict[str, JsonValue]:
        """Sampling parameters that are sent: the suite's for ``role``, overridden by the model's own, without
        those that the model refuses."""
        suite = self.suite.entry
        settings = {"player": suite.player, "interrogator": suite.interrogator, "judge": suite.judge}[role]
        entry = self.catalog.model(model)
        merged = (settings.sampling if settings else Sampling()).given() | entry.sampling.given()
        merged |= entry.extra_body | (entry.player_sampling.given() if role == "player" else {})
        return {key: value for key, value in merged.items() if key not in entry.drop_parameters}

    def limit_for(self, model: str, limit: int) -> int | None:
        """``limit`` (characters of a string) if the model's provider can enforce it, else None."""
        return limit if self.catalog.provider_of(model).schema_limits else None

    async def ask_until_read(
        self,
        role: Role,
        model: str,
        cell: Cell,
        messages: Sequence[Message],
        read: Callable[[str], T],
        ask: Ask,
        *,
        schema: JsonSchema | None = None,
        seed: tuple[object, ...] = (),
        sounds: tuple[Sound, ...] = (),
    ) -> list[Try[T]]:
        """Ask up to ASKS times; the last try has a value, or is the failure.

        Asks again if the reply is empty or ``read`` raises ReplyFault. A retry names the fault in the
        prompt, except to the player. Other arguments: see :meth:`request`.
        """
        tries: list[Try[T]] = []
        wording = list(messages)
        for attempt in range(ASKS):
            request = self.request(
                role, model, cell, wording, schema=schema, seed=seed, attempt=attempt, sounds=sounds
            )
            reply = await ask(request)
            parse = partial(tried, request, read=read)
            long = len(reply.text) > LONGEST_INLINE  # parsing it here would block all other calls
            made = await in_reader(parse, reply) if long else parse(reply)
            tries.append(made)
            reply, fault = made.reply, made.fault
            if not fault and reply.outcome != "empty":
                break
            if role != "player":
                fault = fault or ("It was empty" if role == "interrogator" else ended_as(reply))
                last = messages[-1].model_copy(update={"content": messages[-1].content + complaint(fault)})
                wording = [*messages[:-1], last]
        return tries

    def request(
        self,
        role: Role,
        model: str,
        cell: Cell,
        messages: Sequence[Message],
        *,
        schema: JsonSchema | None = None,
        seed: tuple[object, ...] = (),
        attempt: int = 0,
        sounds: tuple[Sound, ...] = (),
    ) -> ChatRequest:
        """One call of ``role`` in ``cell``.

        ``seed`` distinguishes it from the role's other calls in the cell. ``attempt`` counts retries, which
        are answered anew even if the request is the same.
        """
        dropped = self.catalog.model(model).drop_parameters
        seeded = self.catalog.provider_of(model).seed and "seed" not in dropped
        parts = [self.suite.id, self.suite.entry.version, role, attempt]
        parts += [model] if role == "judge" else []
        parts += [cell.language, cell.player, cell.character, cell.situation, *seed]
        parts += [f"repeat {cell.repeat}"] if cell.repeat > 1 else []
        return ChatRequest(
            model=model,
            role=role,
            messages=tuple(messages),
            parameters=self.parameters(role, model),
            response_schema=schema,
            seed=_seed(parts) if seeded else None,
            sample=attempt,
            repeat=cell.repeat,
            sounds=sounds,
        )

    def model_facts(self, role: Role, model: str) -> dict[str, JsonValue]:
        """The parts of a model's catalog entry that its answers depend on."""
        entry = self.catalog.model(model)
        provider = self.catalog.providers[entry.provider]
        local = {"sha256": entry.sha256, "chat_template": entry.chat_template} if entry.file else {}
        return {
            "provider": entry.provider,
            "model": entry.model,
            "system_role": provider.system_role if entry.system_role is None else entry.system_role,
            "parameters": self.parameters(role, model),
            "system_extra": entry.system_extra,
            **{key: fact for key, fact in local.items() if fact},
        }

    def replies(self, tries: Sequence[Try[T]]) -> list[tuple[Call, str]]:
        """The record of each call with its raw reply."""
        return [(self.call_record(made, attempt), made.reply.text) for attempt, made in enumerate(tries, 1)]

    def call_record(self, made: Try[T], turn: int, raw: str | None = None) -> Call:
        """The record of a call."""
        request, reply = made.request, made.reply
        entry = self.catalog.model(request.model)
        return Call(
            role=request.role,
            turn=turn,
            provider=entry.provider,
            model=entry.model,
            model_sha256=entry.sha256,
            parameters=dict(request.parameters),
            outcome=reply.outcome,
            filtered=reply.filtered,
            finish_reason=reply.finish_reason,
            usage=reply.usage,
            cost=None if reply.cost is None else f"{reply.cost.normalize():f}",
            batch=reply.batch,
            seed=request.seed,
            system_fingerprint=reply.system_fingerprint,
            served_model=reply.served_model,
            raw=raw,
            reasoning=reply.reasoning,
            tool_arguments=reply.tool_arguments,
            refusal=reply.refusal,
            redactions=reply.redactions,
        )


def _seed(parts: Sequence[object]) -> int:
    """A 31-bit seed, the same on every machine for the same call."""
    digest = hashlib.sha256(sha256_of([str(part) for part in parts]).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
