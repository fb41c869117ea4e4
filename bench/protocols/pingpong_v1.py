"""PingPong, version 1: one model asks and judges; it rates each answer as it comes, 1 to 10.

The player sees the card only; the interrogator, who is the judge, sees card, situation and criteria. After
each answer it is asked once more, rates that answer and writes the next message, so n turns take n + 1 of its
calls. A refusal ends the conversation. A judgement is read out of the conversation's own calls: it takes no
further one. Source: the public code of the method's first version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pydantic import JsonValue

from bench.chat.requests import ChatRequest, estimated_tokens
from bench.errors import CatalogError
from bench.protocol_facts import facts_of
from bench.protocols._asking import (
    READABLE,
    Read,
    asked,
    coordinates,
    failure,
    judgement,
    strict_object,
    updated,
)
from bench.protocols._cards import CardProtocol, Talk, card_facts, rating_of, utterance_of
from bench.protocols.base import Ask, Estimate, answers_in
from bench.records import (
    Cell,
    Conversation,
    Failure,
    Judgement,
    Message,
    TurnVerdict,
    sha256_of,
)
from bench.replies import Rating, ReplyFault, rating, utterance
from bench.replies.faults import in_order

FACTS = facts_of("pingpong_v1")

T = TypeVar("T")


class PingPongV1(CardProtocol):
    """One suite of this protocol in one language."""

    name = "pingpong_v1"
    facts = FACTS

    def _check_suite(self) -> None:
        super()._check_suite()
        where, judge = f"suite {self.suite.id}", self.suite.entry.judge
        if self.suite.judges != (self.interrogator,):
            hint = f'Set judge.models = ["{self.interrogator}"], or name another interrogator.'
            raise CatalogError(
                f"in protocol {self.name} one model asks and judges: {self.interrogator!r} asks, "
                f"{', '.join(map(repr, self.suite.judges))} would judge",
                where=where,
                hint=hint,
            )
        if judge.sampling.given():
            hint = "Set it in [interrogator], whose replies are the verdicts."
            raise CatalogError(
                f"[judge] has sampling, which protocol {self.name} never uses", where=where, hint=hint
            )

    def check_models(self, players: Iterable[str], judges: Iterable[str]) -> None:
        named = list(judges)
        super().check_models(players, named)
        for name in named:
            if name != self.interrogator:
                raise CatalogError(
                    f"{name!r} cannot judge: in protocol {self.name} the interrogator does, and that is "
                    f"{self.interrogator!r}",
                    where=f"suite {self.suite.id}",
                    hint="Make a suite with another interrogator.",
                )

    # Fingerprints

    def _facts(self, cell: Cell) -> dict[str, JsonValue]:
        """What the interrogator's replies are made from, besides the conversation."""
        card, situation = self.scene(cell)
        entry = self.suite.entry
        return {
            "protocol": self.name,
            "language": self.language,
            "template": self.prompts.sha256("interrogator"),
            "card": card_facts(card),
            "situation": situation.text,
            "turns": self.turns(cell),
            "limits": [entry.limits.utterance, entry.limits.reason],
            "interrogator": self.model_facts(self.interrogator, self.interrogator_sampling),
        }

    def conversation_fingerprint(self, cell: Cell) -> str:
        entry = self.suite.entry
        return sha256_of(
            {
                **self._facts(cell),
                "player_template": self.prompts.sha256("player"),
                "symmetric": entry.symmetric,
                "player": self.model_facts(cell.player, entry.player.sampling),
            }
        )

    def judgement_fingerprint(self, cell: Cell, judge: str, conversation_sha256: str) -> str:
        return sha256_of({**self._facts(cell), "judge": judge, "conversation": conversation_sha256})

    # Talking and rating

    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        talk = Talk()
        going_on = await self._open(cell, talk, ask)
        turn = 0
        while going_on:
            turn += 1
            await self.player_turn(cell, turn, talk, ask)
            going_on = talk.failure is None and await self._rate(cell, turn, talk, ask)
        return self.held(cell, talk, summary="")

    async def _open(self, cell: Cell, talk: Talk, ask: Ask) -> bool:
        """Have the interrogator write the first message; returns whether there is one."""
        said = await self._ask(cell, 0, talk, ask, utterance, more=True)
        if said is None:
            return False
        talk.repairs += [f"turn 1: {repair}" for repair in said.repairs]
        talk.messages.append(Message(role="user", content=said.text))
        return True

    async def _rate(self, cell: Cell, turn: int, talk: Talk, ask: Ask) -> bool:
        """Have the interrogator rate the answer of ``turn`` and go on; returns whether it does."""
        more = turn < self.turns(cell)

        def read(text: str) -> Rating:
            return rating(text, turn=turn, criteria=FACTS.criteria, more=more)

        found = await self._ask(cell, turn, talk, ask, read, more=more)
        if found is None:
            return False
        talk.repairs += [f"turn {turn + 1}: {repair}" for repair in found.repairs]
        if found.said is None:
            return False
        talk.messages.append(Message(role="user", content=found.said))
        return True

    async def _ask(
        self, cell: Cell, rated: int, talk: Talk, ask: Ask, read: Callable[[str], T], *, more: bool
    ) -> T | None:
        """Ask the interrogator to rate the answer of turn ``rated`` (0: none yet) and, with ``more``, for the
        next message. None where nothing could be read: then the talk has failed."""
        limits = self.suite.entry.limits
        bounds = [self.bounded(self.interrogator, limit) for limit in (limits.utterance, limits.reason)]
        prompt = self._prompt(cell, talk.messages, rated, more=more)

        def request_for(complaint: str, attempt: int) -> ChatRequest:
            return self.request(
                "interrogator",
                self.interrogator,
                [Message(role="user", content=prompt + complaint)],
                self.interrogator_sampling,
                schema=reply_schema(*bounds, rate=rated > 0, more=more),
                seed_of=coordinates(cell, rated + 1),
                attempt=attempt,
            )

        tries = await asked(request_for, read, ask, empty="It was empty.")
        # Every reply is kept as it came: the verdicts are read out of them.
        talk.calls += [
            self.call_record(one.request, one.reply, rated + 1, raw=one.reply.text or None) for one in tries
        ]
        talk.failure = failure("interrogator", rated + 1, tries[-1])
        return tries[-1].found

    def _prompt(self, cell: Cell, messages: Sequence[Message], rated: int, *, more: bool) -> str:
        card, situation = self.scene(cell)
        return self.prompts.render(
            "interrogator",
            char_name=card.char_name,
            char_description=card.system_prompt.strip(),
            situation=situation.text.strip(),
            messages=[m.model_dump() for m in messages],
            turn=rated,
            more=more,
        )

    # Judging

    async def judge(self, conversation: Conversation, judge: str, ask: Ask) -> Judgement:
        return judgement(self, conversation, judge, _verdicts(conversation))

    def reparsed(self, judgement: Judgement, conversation: Conversation) -> Judgement:
        return updated(judgement, _verdicts(conversation))

    # Before anyone pays

    def talk_calls(self, cell: Cell) -> int:
        return 2 * self.turns(cell) + 1

    def estimate(self, cell: Cell) -> Estimate:
        limits = self.suite.entry.limits
        guess = self.lengths(cell)
        turns = guess.turns
        asking = estimated_tokens(self._prompt(cell, (), 0, more=True))
        rating_it = estimated_tokens(self._prompt(cell, (), 1, more=True))
        return Estimate(
            calls={"player": turns, "interrogator": turns + 1, "judge": 0},
            prompt_tokens={
                "player": turns * (guess.card + guess.user) + guess.history,
                "interrogator": asking + turns * (rating_it + guess.user + guess.answer) + guess.history,
                "judge": 0,
            },
            completion_tokens={
                "player": turns * guess.answer,
                "interrogator": turns * (guess.user + 70 + 4 * min(40, limits.reason // 4)),
                "judge": 0,
            },
        )


def _verdicts(conversation: Conversation) -> Read:
    """What the interrogator said of the answers, read out of its replies."""
    replies: dict[int, str] = {}
    for call in conversation.calls:
        if call.role == "interrogator" and call.outcome in READABLE:
            replies[call.turn - 1] = call.raw or ""  # of several asks the last one counts
    turns: list[TurnVerdict] = []
    repairs: list[str] = []
    for turn in range(1, answers_in(conversation) + 1):
        try:
            found = rating(replies.get(turn, ""), turn=turn, criteria=FACTS.criteria, more=False)
        except ReplyFault as error:
            told = Failure(role="judge", turn=turn, outcome="parse_error", reason=error.fault)
            return Read(failure=told)
        turns.append(found.verdict)
        repairs += found.repairs
    return Read(tuple(turns), in_order(repairs))


def reply_schema(
    utterance: int | None, reason: int | None, *, rate: bool, more: bool
) -> dict[str, JsonValue]:
    """JSON Schema of an interrogator's reply, whose strings are bounded where the bounds are given."""
    said: dict[str, JsonValue] = {"next_utterance": utterance_of(utterance)} if more else {}
    return strict_object((rating_of(FACTS.criteria, reason) if rate else {}) | said)
