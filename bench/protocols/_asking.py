"""Asking a model until its reply can be read, and what becomes of a judge's replies: what protocols share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import JsonValue

from bench.chat.requests import ChatRequest, Reply
from bench.protocols.base import ASKS, Ask, Protocol
from bench.records import (
    Call,
    Cell,
    Conversation,
    Failure,
    Judgement,
    Message,
    Role,
    TurnVerdict,
    messages_sha256,
    sealed,
)
from bench.replies import ReplyFault

T = TypeVar("T")

READABLE = ("ok", "length")
"""Outcomes whose text is worth reading."""


@dataclass(frozen=True)
class Try(Generic[T]):
    """One ask: what was read of the reply, or the ``fault`` that spoilt it (empty: the call failed)."""

    request: ChatRequest
    reply: Reply
    found: T | None
    fault: str = ""


async def asked(
    request_for: Callable[[str, int], ChatRequest],
    read: Callable[[str], T],
    ask: Ask,
    *,
    empty: str | None = None,
) -> list[Try[T]]:
    """Up to ASKS tries, the last of which was read or is the failure.

    ``request_for`` makes a request of the last fault as a prompt says it (see :func:`complaint`) and of the
    attempt, from 0. ``read`` raises ReplyFault. ``empty``: what an empty reply is told; else how it ended.
    """
    made: list[Try[T]] = []
    fault = ""
    for attempt in range(ASKS):
        request = request_for(complaint(fault), attempt)
        reply = await ask(request)
        if reply.outcome in READABLE:
            try:
                made.append(Try(request, reply, read(reply.text)))
                break
            except ReplyFault as error:
                fault = error.fault
                made.append(Try(request, reply, None, fault))
                continue
        made.append(Try(request, reply, None))
        if reply.outcome != "empty":
            break
        fault = empty or _how_it_ended(reply)
    return made


async def ask_player(
    protocol: Protocol, cell: Cell, prompt: str, messages: Sequence[Message], ask: Ask, *seed: object
) -> list[Try[str]]:
    """The player's answer to ``messages`` under the system prompt ``prompt``, asked for anew where empty.

    ``seed``: what tells it from the cell's other calls.
    """
    extra = protocol.catalog.model(cell.player).system_extra
    system = Message(role="system", content=f"{extra}\n\n{prompt}" if extra else prompt)

    def request_for(_: str, attempt: int) -> ChatRequest:
        return protocol.request(
            "player",
            cell.player,
            [system, *messages],
            protocol.suite.entry.player.sampling,
            schema=None,
            seed_of=coordinates(cell, *seed),
            attempt=attempt,
        )

    return await asked(request_for, str, ask)


def complaint(fault: str) -> str:
    """What a re-ask adds to the prompt."""
    if not fault:
        return ""
    return f"\n\nYour last reply could not be used. {fault.rstrip('.')}. Send the whole JSON object again."


def failure(role: Role, turn: int, last: Try[T]) -> Failure | None:
    """Why the last try is no answer; None where it is one."""
    if last.found is not None:
        return None
    reply = last.reply
    return Failure(
        role=role,
        turn=turn,
        outcome="parse_error" if last.fault else reply.outcome,
        reason=last.fault or _how_it_ended(reply),
        raw=reply.text or None,
    )


def _how_it_ended(reply: Reply) -> str:
    return reply.detail or f"the call ended as {reply.outcome}"


# --- a judge's replies ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Read:
    """What a judge's replies were read as."""

    turns: tuple[TurnVerdict, ...] = ()
    repairs: tuple[str, ...] = ()
    failure: Failure | None = None


Reader = Callable[[str], tuple[tuple[TurnVerdict, ...], tuple[str, ...]]]
"""From a judge's reply to its turns and repairs. Raises ReplyFault."""


@dataclass(frozen=True)
class Verdict:
    """What a judge said when asked for one verdict, and every call that it took."""

    read: Read
    raw: tuple[str, ...]
    calls: tuple[Call, ...]


async def ask_judge(
    protocol: Protocol, request_for: Callable[[str, int], ChatRequest], read: Reader, ask: Ask
) -> Verdict:
    """One verdict; ``request_for`` as of :func:`asked`."""
    tries = await asked(request_for, read, ask)
    last = tries[-1]
    return Verdict(
        read=Read(*last.found) if last.found is not None else Read(failure=_unread(len(tries), last)),
        raw=tuple(one.reply.text for one in tries),
        calls=tuple(protocol.call_record(one.request, one.reply, n) for n, one in enumerate(tries, 1)),
    )


def _unread(attempt: int, last: Try[T]) -> Failure | None:
    """A failure of a judge, whose unreadable replies the judgement keeps anyway."""
    made = failure("judge", attempt, last)
    return made.model_copy(update={"raw": None}) if made and last.fault else made


def reread(calls: Sequence[Call], raw: Sequence[str], read: Reader, before: Read) -> Read:
    """A verdict as ``read`` makes it of the kept replies; ``before`` where none of them can be read."""
    for attempt, (text, call) in enumerate(zip(raw, calls, strict=True), 1):
        if call.outcome not in READABLE:
            continue
        try:
            return Read(*read(text))
        except ReplyFault as error:
            if attempt == len(raw):
                fault = Failure(role="judge", turn=attempt, outcome="parse_error", reason=error.fault)
                return Read(failure=fault)
    return before


def judgement(
    protocol: Protocol, conversation: Conversation, judge: str, read: Read, verdicts: Sequence[Verdict] = ()
) -> Judgement:
    """The record of a judge's verdicts, read together as ``read``."""
    sha256 = messages_sha256(conversation.messages)
    return sealed(
        Judgement(
            **conversation.cell().plain(),
            judge=judge,
            fingerprint=protocol.judgement_fingerprint(conversation, judge, sha256),
            conversation_sha256=sha256,
            status="ok" if read.failure is None else "failed",
            turns=read.turns,
            repairs=read.repairs,
            raw=tuple(text for verdict in verdicts for text in verdict.raw),
            calls=tuple(call for verdict in verdicts for call in verdict.calls),
            failure=read.failure,
        )
    )


def updated(record: Judgement, read: Read) -> Judgement:
    """``record`` as its replies are read now."""
    return sealed(
        record.model_copy(
            update={
                "status": "ok" if read.failure is None else "failed",
                "turns": read.turns,
                "repairs": read.repairs,
                "failure": read.failure,
            }
        )
    )


# --- requests ------------------------------------------------------------------------------------------


def coordinates(cell: Cell, *more: object) -> list[object]:
    """What tells a cell's calls from those of other cells, for seeds."""
    return [cell.language, cell.player, cell.character, cell.situation, *more]


def strict_object(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """JSON Schema of an object with exactly these keys, as strict structured output takes it everywhere."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
