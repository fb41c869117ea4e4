"""PingPong, version 1: one model asks and judges; it rates each answer as it comes, 1 to 10.

The player sees only the card; the interrogator, who is the judge, sees card, situation and criteria. After
each answer it is asked once more, rates that answer and writes the next message, so n turns take n + 1 of its
calls. A refusal ends the conversation. A judgement is parsed from the conversation's own calls and makes no
further call. Source: the public code of the method's first version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from pydantic import JsonValue

from bench.chat.requests import estimated_tokens
from bench.errors import CatalogError
from bench.prompts import shown_card
from bench.protocol_facts import facts_of
from bench.protocols.base import Estimate, Talk, strict_object, text_schema
from bench.protocols.calls import READABLE, Ask, JsonSchema, read_whole
from bench.protocols.cards import CardProtocol, card_facts, rating_properties
from bench.protocols.verdicts import Reading
from bench.records import Call, Cell, Conversation, Failure, Judgement, Message, Role, TurnVerdict
from bench.replies import Rating, ReplyFault, rating, utterance
from bench.replies.faults import in_order

CRITERIA = facts_of("pingpong_v1").criteria


class PingPongV1(CardProtocol):
    """One suite of this protocol in one language."""

    def _check_suite(self) -> None:
        super()._check_suite()
        where, judge = f"suite {self.suite.id}", self.suite.entry.judge
        if self.suite.judges != (self.interrogator,):
            raise CatalogError(
                f"in protocol {self.name} one model asks and judges, but the interrogator is"
                f" {self.interrogator!r} and the judge is {', '.join(map(repr, self.suite.judges))}",
                where=where,
                hint=f'Set judge.models = ["{self.interrogator}"], or name another interrogator.',
            )
        if judge.sampling.given():
            raise CatalogError(
                f"[judge] has sampling, which protocol {self.name} does not use",
                where=where,
                hint="Set it in [interrogator], whose replies are the verdicts.",
            )

    def check_models(self, players: Iterable[str], judges: Iterable[str]) -> None:
        named = list(judges)
        super().check_models(players, named)
        for name in named:
            if name != self.interrogator:
                raise CatalogError(
                    f"{name!r} cannot judge: in protocol {self.name} the interrogator judges, which is"
                    f" {self.interrogator!r}",
                    where=f"suite {self.suite.id}",
                    hint="Make a suite with another interrogator.",
                )

    # Fingerprints

    def judgement_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        """What the interrogator's replies depend on."""
        card, situation = self.scene(cell)
        limits = self.suite.entry.limits
        return {
            "language": self.language,
            "template": self.prompts.sha256("interrogator"),
            "card": card_facts(card),
            "situation": situation.text,
            "turns": self.turns(cell),
            "limits": [limits.utterance, limits.reason],
            "interrogator": self.model_facts("interrogator", self.interrogator),
        }

    def conversation_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        return {
            **self.judgement_inputs(cell),
            "player_template": self.prompts.sha256("player"),
            "symmetric": self.suite.entry.symmetric,
        }

    # Talking and rating

    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        talk = Talk()
        turns = self.turns(cell)
        opening = await self.interrogate(
            cell, 1, talk, ask, *self._question(cell, (), 0, more=True), utterance
        )
        message = opening.text if opening else None
        turn = 0
        while message is not None:
            turn += 1
            talk.messages.append(Message(role="user", content=message))
            await self.player_turn(cell, self.player_prompt(cell, talk.messages), talk, ask, turn)
            if talk.failure is not None:
                break
            more = turn < turns
            read = partial(rating, turn=turn, criteria=CRITERIA, more=more)
            question = self._question(cell, talk.messages, turn, more=more)
            rated: Rating | None = await self.interrogate(cell, turn + 1, talk, ask, *question, read)
            message = rated.said if rated else None
        return self.held(cell, talk, summary="")

    def _question(
        self, cell: Cell, messages: Sequence[Message], rated: int, *, more: bool
    ) -> tuple[str, JsonSchema]:
        """Prompt and reply schema to rate the answer of turn ``rated`` (0: none yet) and, with ``more``, to
        write the next message."""
        card, situation = self.scene(cell)
        prompt = self.prompts.render(
            "interrogator",
            **shown_card(card, messages),
            situation=situation.text.strip(),
            messages=[m.model_dump() for m in messages],
            turn=rated,
            turns=self.turns(cell),
            more=more,
        )
        limits = self.suite.entry.limits
        bounds = [self.limit_for(self.interrogator, limit) for limit in (limits.utterance, limits.reason)]
        return prompt, reply_schema(*bounds, rate=rated > 0, more=more)

    # Judging

    async def judge(self, conversation: Conversation, judge: str, ask: Ask) -> Judgement:
        return self.judgement_of(conversation, judge, ratings_in(conversation))

    @classmethod
    def verdict_in(cls, judgement: Judgement, conversation: Conversation) -> Reading:
        return ratings_in(conversation)

    # Estimates

    def talk_calls(self, cell: Cell) -> int:
        return 2 * self.turns(cell) + 1

    def estimate(self, cell: Cell) -> Mapping[Role, Estimate]:
        guess = self.lengths(cell)
        turns = guess.turns
        opening, rating_it = (
            estimated_tokens(self._question(cell, (), rated, more=True)[0]) for rated in (0, 1)
        )
        prompts = opening + turns * (rating_it + guess.lore + guess.user + guess.answer) + guess.history
        replies = turns * (guess.user + 70 + 4 * guess.reason)
        return {"player": guess.player, "interrogator": Estimate(turns + 1, prompts, replies)}


def ratings_in(conversation: Conversation) -> Reading:
    """The interrogator's ratings, parsed from its replies in ``conversation``."""
    replies: dict[int, Call] = {}
    for call in conversation.calls:
        if call.role == "interrogator" and call.outcome in READABLE:
            replies[call.turn - 1] = call  # the last of several tries counts
    turns: list[TurnVerdict] = []
    repairs: list[str] = []
    for turn in range(1, len(conversation.answers()) + 1):
        read = partial(rating, turn=turn, criteria=CRITERIA, more=False)
        reply = replies.get(turn)
        try:
            rated = read_whole(read, reply.raw or "", reply.outcome) if reply else read("")
        except ReplyFault as error:
            fault = Failure(role="judge", turn=turn, outcome="parse_error", reason=error.fault)
            return Reading(failure=fault)
        turns.append(rated.verdict)
        repairs += rated.repairs
    return Reading(tuple(turns), in_order(repairs))


def reply_schema(utterance: int | None, reason: int | None, *, rate: bool, more: bool) -> JsonSchema:
    """JSON Schema of an interrogator's reply; its strings are limited to these numbers of characters."""
    message: JsonSchema = {"next_utterance": text_schema(utterance, 1)} if more else {}
    return strict_object((rating_properties(CRITERIA, reason) if rate else {}) | message)
