"""Has a judge compare two players' conversations of one scene, in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pydantic import JsonValue

from bench.chat.requests import estimated_tokens
from bench.errors import CatalogError
from bench.prompts import PromptSet, declared_by, shown_card
from bench.protocol_facts import ProtocolFacts, facts_of
from bench.protocols.base import Estimate, Protocol, strict_object, text_schema
from bench.protocols.calls import Ask, JsonSchema, failure_of
from bench.protocols.cards import card_facts, declared_facts
from bench.protocols.verdicts import first_readable
from bench.records import (
    Call,
    Conversation,
    Failure,
    Message,
    after_greeting,
    messages_sha256,
    sealed,
    sha256_of,
)
from bench.replies.margins import REFUSAL_REASON, REFUSALS, WIDEST, Margins, margins
from bench.results.comparison_records import Comparison, OrderVerdict
from bench.suites import Card, Suite

FOLDER = "comparison"
"""The folder of the judge's template in prompts/; a folder in it with a protocol's name goes first."""

Pair = tuple[Conversation, Conversation]


def comparable(facts: ProtocolFacts) -> bool:
    """Whether conversations of a protocol can be compared: two players play one card in one situation."""
    return facts.interrogated and facts.multi_turn and not facts.spoken and bool(facts.criteria)


def templates_of(suite: Suite) -> Path:
    """The folder with the template of the judge that compares conversations of ``suite``."""
    own = suite.file(FOLDER, suite.protocol)
    return own if own.is_dir() else suite.file(FOLDER)


class Comparer:
    """Compares the conversations of one suite in one language.

    Raises CatalogError if the suite's protocol has no such conversations, or the template is missing.
    """

    def __init__(self, protocol: Protocol) -> None:
        if not comparable(protocol.facts):
            raise CatalogError(
                f"{protocol.name} has no conversations that can be compared",
                where=f"suite {protocol.suite.id}",
                hint="Compare a suite whose players play a card in a situation.",
            )
        self.protocol = protocol
        self._prompts = PromptSet(templates_of(protocol.suite), protocol.language, ("judge",))
        self._criteria = protocol.facts.criterion_names
        self._known: dict[tuple[str, str], dict[str, JsonValue]] = {}

    def _card(self, character: str) -> Card:
        return self.protocol.scenes.cards[character]

    def prompt(self, first: Conversation, second: Conversation) -> str:
        """The judge's question about two conversations, shown in this order."""
        card = self._card(first.character)
        talks = [[m.model_dump() for m in after_greeting(talk.messages)] for talk in (first, second)]
        said = [[m["content"] for m in talk if m["role"] == "user"] for talk in talks]
        return self._prompts.render(
            "judge",
            **shown_card(card, first.messages, second.messages),
            declared=declared_by(card),
            criteria=[criterion.model_dump() for criterion in self.protocol.facts.criteria],
            conversations=talks,
            same_user=said[0] == said[1],
        )

    def schema(self, judge: str) -> JsonSchema:
        """JSON Schema of the judge's reply."""
        limit = self.protocol.limit_for(judge, self.protocol.suite.entry.limits.reason)
        text = text_schema(limit)
        keys: JsonSchema = {REFUSAL_REASON: text}
        for name in REFUSALS:
            keys[name] = {"type": "boolean"}
        for name in self._criteria:
            keys[f"{name}_explanation"] = text
            keys[f"{name}_margin"] = {"type": "integer", "enum": list(range(-WIDEST, WIDEST + 1))}
        return strict_object(keys)

    def fingerprint(self, judge: str, character: str, sha256: Sequence[str], repeat: int = 1) -> str:
        """SHA-256 of everything that a comparison depends on. ``sha256``: of each player's messages."""
        inputs = self._inputs(judge, character) | {"conversations": list(sha256)}
        return sha256_of(inputs | ({"repeat": repeat} if repeat > 1 else {}))

    def _inputs(self, judge: str, character: str) -> dict[str, JsonValue]:
        """What all comparisons of a character by a judge depend on."""
        if (judge, character) not in self._known:
            card = self._card(character)
            self._known[judge, character] = {
                "comparison": self._prompts.sha256("judge"),
                "protocol": self.protocol.name,
                "judge": self.protocol.model_facts("judge", judge),
                "card": card_facts(card),
                "declared": declared_facts(card),
                "reason_limit": self.protocol.suite.entry.limits.reason,
            }
        return self._known[judge, character]

    def fits(self, record: Comparison, sha256: Sequence[str]) -> bool:
        """Whether ``record`` was made from the current suite, prompts and parameters, and from messages with
        these SHA-256. Its players may have stood in the other order, before one of them was renamed."""
        suite, cards = self.protocol.suite, self.protocol.scenes.cards
        if record.version != suite.entry.version or record.character not in cards:
            return False
        return any(
            record.fingerprint == self.fingerprint(record.judge, record.character, each, record.repeat)
            for each in (sha256, sha256[::-1])
        )

    def comparison_of(self, pair: Pair, judge: str, orders: tuple[OrderVerdict, OrderVerdict]) -> Comparison:
        """The record of a judge's verdicts on ``pair``, whose players stand in the order of their slugs."""
        cell = pair[0].cell()
        sha256 = (messages_sha256(pair[0].messages), messages_sha256(pair[1].messages))
        where = cell.plain()
        del where["player"]
        return sealed(
            Comparison(
                **where,
                judge=judge,
                players=(pair[0].player, pair[1].player),
                fingerprint=self.fingerprint(judge, cell.character, sha256, cell.repeat),
                conversations_sha256=sha256,
                orders=orders,
            )
        )

    async def order(self, pair: Pair, shown_first: int, judge: str, ask: Ask) -> OrderVerdict:
        """Have ``judge`` compare two complete conversations in one order. A failure is a record too.

        ``shown_first``: which of ``pair`` is shown first, 0 or 1.
        """
        first, second = pair[shown_first], pair[1 - shown_first]
        tries = await self.protocol.ask_until_read(
            "judge",
            judge,
            first.cell(),
            [Message(role="user", content=self.prompt(first, second))],
            partial(margins, criteria=self._criteria),
            ask,
            schema=self.schema(judge),
            seed=("against", second.player),
        )
        found = tries[-1].value or failure_of("judge", len(tries), tries[-1], kept=True)
        calls, raw = zip(*self.protocol.replies(tries), strict=True)
        return _verdict(found, raw, calls)

    def estimate(self, pair: Pair) -> Estimate:
        """Expected calls and tokens of one comparison, both orders."""
        return Estimate(2, 2 * estimated_tokens(self.prompt(*pair)), 2 * self.reply_tokens)

    @property
    def reply_tokens(self) -> int:
        """Assumed length of a verdict in one order."""
        return (len(self._criteria) + 1) * (min(60, self.protocol.suite.entry.limits.reason // 4) + 15)


def _verdict(found: Margins | Failure | None, raw: tuple[str, ...], calls: tuple[Call, ...]) -> OrderVerdict:
    if isinstance(found, Margins):
        return OrderVerdict(status="ok", **vars(found), raw=raw, calls=calls)
    return OrderVerdict(status="failed", raw=raw, calls=calls, failure=found)


def reread_comparison(record: Comparison) -> Comparison:
    """``record`` with its raw replies re-parsed; equal if nothing changed. Makes no API call."""
    criteria = facts_of(record.protocol).criterion_names
    if not criteria:
        return record
    first, second = (_reread(verdict, criteria) for verdict in record.orders)
    if first is record.orders[0] and second is record.orders[1]:
        return record
    return sealed(record.model_copy(update={"orders": (first, second)}))


def _reread(verdict: OrderVerdict, criteria: Sequence[str]) -> OrderVerdict:
    """The verdict that the raw replies hold; ``verdict`` itself if that is the same."""
    replies = list(zip(verdict.calls, verdict.raw, strict=False))
    found = first_readable(replies, partial(margins, criteria=criteria))
    if found is None:
        return verdict
    again = _verdict(found, verdict.raw, verdict.calls)
    return verdict if again == verdict else again
