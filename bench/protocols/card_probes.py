"""Card probes: short fixed dialogues that end in a question whose answer patterns can check. No judge needed.

The player sees its card and answers each user message of the probe; the last answer is searched for accept
and reject patterns (see :mod:`bench.replies.probes`). An answer that the patterns cannot decide is unclear: a
suite that names a judge has it decide, otherwise it stays unclear and counts as neither passed nor failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import Field, JsonValue, StringConstraints, model_validator

from bench.chat.requests import estimated_tokens
from bench.items import Item
from bench.prompts import with_lore
from bench.protocols.base import Estimate, Talk, strict_object
from bench.protocols.calls import Ask, failure_of
from bench.protocols.cards import PLAYED, card_facts
from bench.protocols.items import ItemProtocol
from bench.protocols.verdicts import Reading
from bench.records import Cell, Conversation, Failure, Judgement, Message, Role, Scene, TurnVerdict
from bench.replies import json_object
from bench.replies.patterns import never_matched, pattern_fault
from bench.replies.probes import Judged, Kind, judged
from bench.replies.values import boolean, reason
from bench.suites.lorebook import lore_of
from bench.toml_entries import Entry, entry_from

ANSWER_TOKENS = 60
"""Assumed length of an answer if nothing limits it, for estimates."""
KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
EXPECTED = {"secret": ("kept", "told"), "lore": ("used", "corrected", "unseen")}
"""What probes of these kinds have to say in ``expects``; probes of other kinds say nothing there."""
UNCLEAR = "unclear"
"""How the reason of a judgement without a verdict begins."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Pattern = Annotated[str, StringConstraints(min_length=1)]


class Probe(Entry):
    """One probe as a file of prompts/card_probes/<language>/ holds it."""

    kind: Literal["fact", "unknown", "identity", "secret", "language", "agency", "lore"]
    messages: Annotated[tuple[Text, ...], Field(min_length=1, max_length=3)]
    """What the user says; the player answers each, and the last answer is checked."""
    accept: Annotated[tuple[Pattern, ...], Field(min_length=1)]
    """Regular expressions, any of which shows that the answer is right."""
    reject: tuple[Pattern, ...] = ()
    """Regular expressions, any of which shows that it is wrong."""
    right: tuple[Text, Text, Text]
    """Right answers, for the tests of the patterns."""
    wrong: tuple[Text, Text, Text]
    expects: Literal["kept", "told", "used", "corrected", "unseen"] | None = None
    """Of a secret: whether its condition is unmet (it must be ``kept``) or met (it must be ``told``). Of an
    entry of the lorebook: whether the talk brings it in, so that it must be ``used`` or a wrong claim
    ``corrected``, or does not, so that the character must not know it (``unseen``)."""

    @model_validator(mode="after")
    def _sound(self) -> Probe:
        if (self.expects or "") not in EXPECTED.get(self.kind, ("",)):
            known = " or ".join(f'"{word}"' for word in EXPECTED.get(self.kind, ()))
            raise ValueError(f"expects: kind {self.kind!r} {'needs ' + known if known else 'has none'}")
        for pattern in (*self.accept, *self.reject):
            if fault := pattern_fault(pattern):
                raise ValueError(f"pattern {pattern!r}: {fault}")
            if lost := never_matched(pattern):
                raise ValueError(
                    f"pattern {pattern!r}: {lost!r} never matches: answers are searched in lower case, with"
                    " е for ё and ss for ß"
                )
        return self

    @property
    def read_as(self) -> Kind:
        """How answers are read."""
        return KINDS[f"{self.kind}_{self.expects}" if self.expects else self.kind]

    def as_text(self) -> str:
        """The probe as records keep it: kind and patterns, one per line."""
        lines = [f"kind: {self.read_as}"]
        lines += [f"accept: {pattern}" for pattern in self.accept]
        return "\n".join([*lines, *(f"reject: {pattern}" for pattern in self.reject)])


def probe_in(item: Item) -> Probe:
    """A table [[probe]] as a probe. Raises CatalogError that names file, line and key."""
    return entry_from(Probe, dict(item.data), item.where)


@dataclass(frozen=True)
class Patterns:
    """What a record keeps of a probe."""

    kind: Kind
    accept: tuple[str, ...]
    reject: tuple[str, ...]

    @classmethod
    def of(cls, conversation: Conversation) -> Patterns:
        """The patterns in a conversation's record, as :meth:`Probe.as_text` wrote them."""
        pairs = [line.partition(": ")[::2] for line in conversation.scene.situation.split("\n")]
        lines = {
            key: tuple(text for name, text in pairs if name == key) for key in ("kind", "accept", "reject")
        }
        kind: Kind = lines["kind"][0]  # type: ignore[assignment]
        return cls(kind, lines["accept"], lines["reject"])


class CardProbes(ItemProtocol[Probe]):
    """One suite of this protocol in one language."""

    def read_item(self, item: Item) -> Probe:
        return probe_in(item)

    def check_models(self, players: Iterable[str], judges: Iterable[str]) -> None:
        super().check_models(players, self.judge_models("patterns"))

    def judge_models(self, judge: str) -> tuple[str, ...]:
        return self.suite.entry.judge.models[:1]

    def judge_calls(self, cell: Cell | None = None) -> int:
        return 0

    def turns(self, cell: Cell) -> int:
        return len(self.item(cell).messages)

    def verdicts_due(self, conversation: Conversation) -> int:
        return 1

    # Fingerprints

    def conversation_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        card = self.scenes.cards[cell.character]
        return {
            "template": self.prompts.sha256("player"),
            "card": card_facts(card, PLAYED),
            "messages": list(self.item(cell).messages),
        }

    def judgement_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        inputs: dict[str, JsonValue] = {"patterns": self.item(cell).as_text()}
        if models := self.judge_models("patterns"):
            inputs["unclear"] = {
                "template": self.prompts.sha256("judge"),
                "answers": [*self.item(cell).right, *self.item(cell).wrong],
                **self.model_facts("judge", models[0]),
            }
        return inputs

    # Talking

    def _player_prompt(self, cell: Cell, messages: Sequence[Message] = ()) -> str:
        card = with_lore(self.scenes.cards[cell.character], messages)
        return self.prompts.render("player", character=card.model_dump())

    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        probe, card = self.item(cell), self.scenes.cards[cell.character]
        talk = Talk()
        for turn, message in enumerate(probe.messages, 1):
            talk.messages.append(Message(role="user", content=message))
            await self.player_turn(cell, self._player_prompt(cell, talk.messages), talk, ask, turn)
            if talk.failure is not None:
                break
        scene = Scene(
            character_name=card.char_name,
            summary="",
            card=self._player_prompt(cell),
            situation_title=f"{probe.kind}: {cell.situation}",
            situation=probe.as_text(),
            lore=lore_of(card.lorebook, talk.messages) or None,
        )
        return self.conversation_of(cell, talk, scene)

    # Judging

    async def judge(self, conversation: Conversation, judge: str, ask: Ask) -> Judgement:
        reading = _reading(conversation)
        models = self.judge_models(judge)
        if reading.failure is None or not models:
            return self.judgement_of(conversation, judge, reading)
        schema = strict_object({"reason": {"type": "string"}, "passed": {"type": "boolean"}})
        prompt = Message(role="user", content=self.judge_prompt(conversation, 1))
        tries = await self.ask_until_read(
            "judge", models[0], conversation, [prompt], read_decision, ask, schema=schema
        )
        decided = tries[-1].value or Reading(failure=failure_of("judge", len(tries), tries[-1]))
        return self.judgement_of(conversation, judge, decided, self.replies(tries))

    def judge_prompt(self, conversation: Conversation, number: int) -> str:
        patterns = Patterns.of(conversation)
        return self.prompts.render(
            "judge",
            char_name=conversation.scene.character_name,
            kind=patterns.kind,
            right=self.item(conversation).right,
            wrong=self.item(conversation).wrong,
            messages=[message.model_dump() for message in conversation.messages],
        )

    @classmethod
    def verdict_in(cls, judgement: Judgement, conversation: Conversation) -> Reading:
        if judgement.raw:
            return super().verdict_in(judgement, conversation)
        return _reading(conversation)

    @classmethod
    def read_verdict(cls, text: str, number: int, conversation: Conversation) -> Reading:
        return read_decision(text)

    def estimate(self, cell: Cell) -> Mapping[Role, Estimate]:
        answer = self.answer_tokens(ANSWER_TOKENS)
        messages: list[Message] = []
        prompts = 0
        for text in self.item(cell).messages:
            messages.append(Message(role="user", content=text))
            prompts += estimated_tokens(self._player_prompt(cell, messages)) + 30 + answer
            messages.append(Message(role="assistant", content=""))
        turns = self.turns(cell)
        return {"player": Estimate(turns, prompts, turns * answer)}


def read_decision(text: str) -> Reading:
    """A judge's decision on an unclear answer. Raises ReplyFault."""
    found = json_object(text, required=["reason", "passed"])
    repairs = set(found.repairs)
    passed = boolean(found.data["passed"], '"passed"', repairs)
    turn = TurnVerdict(
        turn=1,
        scores={"passed": int(passed)},
        reasons={"passed": reason(found.data, "reason", '"reason"', repairs)},
        detail={"verdict": "pass" if passed else "fail", "decided_by": "judge"},
    )
    return Reading((turn,), tuple(sorted(repairs)))


def _reading(conversation: Conversation) -> Reading:
    """The verdict that the patterns give on a conversation's last answer."""
    patterns = Patterns.of(conversation)
    *before, question, answer = conversation.messages
    found = judged(
        answer.content,
        question.content,
        patterns.accept,
        patterns.reject,
        earlier=[message.content for message in before if message.role == "user"],
        name=conversation.scene.character_name,
        kind=patterns.kind,
        language=conversation.language,
    )
    if found.verdict == "unclear":
        reason = f"{UNCLEAR}: {found.reason}"
        return Reading(failure=Failure(role="judge", turn=1, outcome="parse_error", reason=reason))
    return Reading((_turn(found),))


def _turn(found: Judged) -> TurnVerdict:
    passed = found.verdict == "pass"
    return TurnVerdict(
        turn=1,
        scores={"passed": int(passed)},
        reasons={"passed": f"{'accept' if passed else 'reject'} pattern: {found.pattern}"},
        detail={"verdict": found.verdict, "decided_by": "pattern", "pattern": found.pattern},
    )
