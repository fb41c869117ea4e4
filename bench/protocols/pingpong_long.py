"""PingPong in long conversations, in which the user plants facts, asks for them later, and attacks.

The interrogator learns of a plant or an attack in its turn only. Patterns decide whether a fact was recalled.
A judge scores a window of turns at a time, with the card and its own summary of what came before, so a turn
costs the same however long the conversation is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count

from pydantic import Field, JsonValue

from bench.catalog import Catalog
from bench.chat.requests import estimated_tokens
from bench.errors import CatalogError
from bench.protocol_facts import facts_of
from bench.protocols.base import Estimate, text_schema
from bench.protocols.calls import ASKS, JsonSchema
from bench.protocols.pingpong_v2 import PingPongV2, verdict_schema
from bench.protocols.verdicts import Reading
from bench.records import Attack, Cell, Conversation, JudgeMode, Message, Plant, Role
from bench.replies import ReplyFault, Utterance, utterance, verdict
from bench.replies.patterns import pattern_fault
from bench.replies.probes import any_case, mentions
from bench.suites import Suite
from bench.toml_entries import Entry, located, read_text


class LongOptions(Entry):
    """``[options]`` of a suite."""

    window: int = Field(default=8, ge=1, le=64)
    """Turns that a judge scores at a time. Choose it so that its prompt and reply fit the judge's context."""
    summary: int = Field(default=900, ge=100, le=10_000)
    """Longest summary of the earlier turns, in characters; a longer one is cut."""


class PingPongLong(PingPongV2):
    """One suite of this protocol in one language."""

    greets = False  # turns are counted from the user's first message
    options_type = LongOptions
    options: LongOptions

    def __init__(self, suite: Suite, language: str, catalog: Catalog) -> None:
        super().__init__(suite, language, catalog)
        for name, situation in self.scenes.situations.items():
            for at, plant in enumerate(situation.plants):
                for pattern in (*plant.accept, *plant.reject):
                    if fault := pattern_fault(any_case(pattern)):
                        path = suite.prompts / "situations" / language / f"{name}.toml"
                        raise CatalogError(
                            f"plant {at + 1}: pattern {pattern!r}: {fault}",
                            where=located(path, ("plants", at), read_text(path, root=suite.prompts)),
                            hint="Correct the pattern.",
                        )

    def script(self, cell: Cell) -> tuple[tuple[Plant, ...], tuple[Attack, ...]]:
        """The plants and attacks of a cell's conversation."""
        return self.scene(cell)[1].within(self.turns(cell))

    # Fingerprints

    def conversation_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        plants, attacks = self.script(cell)
        script: dict[str, JsonValue] = {
            "plants": [plant.plain() for plant in plants],
            "attacks": [attack.plain() for attack in attacks],
        }
        return super().conversation_inputs(cell) | script

    def judgement_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        return super().judgement_inputs(cell) | {"summary_limit": self.options.summary}

    # Talking

    def asking(self, cell: Cell, messages: Sequence[Message]) -> str:
        card, situation = self.scene(cell)
        return self.prompts.interrogator(
            card,
            situation,
            messages,
            symmetric=self.suite.entry.symmetric,
            turns=self.turns(cell),
            directions=self.directions(cell, len(messages) // 2 + 1),
        )

    def directions(self, cell: Cell, turn: int) -> list[dict[str, str]]:
        """What the interrogator is to do in ``turn`` only: ``kind`` (plant, ask or attack) and ``text``."""
        plants, attacks = self.script(cell)
        found = [("plant", plant.fact, "") for plant in plants if plant.turn == turn]
        found += [("ask", plant.fact, plant.question) for plant in plants if plant.ask == turn]
        found += [("attack", attack.text, "") for attack in attacks if attack.turn == turn]
        return [{"kind": kind, "text": text.strip(), "question": ask.strip()} for kind, text, ask in found]

    def utterance_reader(self, cell: Cell, turn: int) -> Callable[[str], Utterance]:
        """Parses replies, and refuses a message that is off script; the last try may be."""
        plants, _ = self.script(cell)
        tries = count(1)

        def read(text: str) -> Utterance:
            said = utterance(text)
            if next(tries) < ASKS:
                _check_script(said.text, turn, plants)
            return said

        return read

    # Judging

    def judge_mode(self) -> JudgeMode:
        return JudgeMode(window=self.options.window, flaws=self.suite.entry.judge.flaws)

    def judge_calls(self, cell: Cell | None = None) -> int:
        return 1 if cell is None else -(-self.turns(cell) // self.options.window)

    def judge_question(
        self, conversation: Conversation, judge: str, number: int, earlier: Sequence[Reading]
    ) -> tuple[str, JsonSchema]:
        total = len(conversation.messages) // 2
        turns = window_of(total, self.options.window, number)
        before = conversation.messages[: 2 * turns.start - 2]
        messages = conversation.messages[len(before) : 2 * turns.stop - 2]
        summary = next((made.summary for made in reversed(earlier) if made.summary), "")
        summary = summary[: self.options.summary]
        more = turns.stop <= total
        prompt = self.judging(conversation, messages, before, more=more, summary=summary)
        limit, flaws = self.limit_for(judge, self.suite.entry.limits.reason), self.suite.entry.judge.flaws
        schema = verdict_schema(len(turns), self.facts.criteria, limit, first=turns.start, flaws=flaws)
        if more:
            text = text_schema(self.limit_for(judge, self.options.summary), 1)
            scores = schema["properties"]
            assert isinstance(scores, dict)
            schema |= {"properties": {**scores, "summary": text}, "required": ["scores", "summary"]}
        return prompt, schema

    def judging(
        self,
        cell: Cell,
        messages: Sequence[Message],
        before: Sequence[Message] = (),
        *,
        more: bool = False,
        summary: str = "",
    ) -> str:
        """The judge's prompt about the turns in ``messages``.

        Args:
            cell: The conversation.
            messages: Those of the turns to score.
            before: The messages before them.
            more: Whether there are later turns, for which the judge sums up.
            summary: The judge's summary of the turns before.
        """
        prompt = self.prompts.judge(
            self.scene(cell)[0],
            messages,
            before=before,
            first=len(before) // 2 + 1,
            more=more,
            summary=summary,
            summary_limit=self.options.summary,
        )
        return prompt + self.flaws_request()

    @classmethod
    def read_verdict(
        cls, text: str, number: int, conversation: Conversation, mode: JudgeMode | None = None
    ) -> Reading:
        answers = [answer.content for answer in conversation.answers()]
        mode = mode or JudgeMode()
        turns = window_of(len(answers), mode.window or len(answers), number)
        more = turns.stop <= len(answers)
        reply = verdict(
            text,
            turns=len(turns),
            criteria=facts_of(conversation.protocol).criteria,
            first=turns.start,
            answers=answers[turns.start - 1 : turns.stop - 1] if mode.flaws else None,
            summed_up=more,
        )
        given = list(reply.turns)
        if reply.summary:  # so that a reader sees what the judge knew of the turns before
            given[-1] = given[-1].model_copy(update={"detail": {"summary": reply.summary}})
        return Reading(tuple(given), reply.repairs, summary=reply.summary)

    # Estimates

    def estimate(self, cell: Cell) -> Mapping[Role, Estimate]:
        guess, windows = self.lengths(cell), self.judge_calls(cell)
        directions = sum(
            estimated_tokens(entry["text"] + entry["question"])
            for turn in range(1, guess.turns + 1)
            for entry in self.directions(cell, turn)
        )
        judging = estimated_tokens(self.judging(cell, (), more=windows > 1)) + guess.lore
        summaries = (windows - 1) * self.options.summary // 4
        usual = super().estimate(cell)
        asked = usual["interrogator"]
        return {
            **usual,
            "interrogator": Estimate(asked.calls, asked.prompt_tokens + directions, asked.completion_tokens),
            "judge": Estimate(
                windows,
                windows * judging + guess.turns * (guess.user + guess.answer) + summaries,
                guess.turns * self.verdict_tokens(guess.reason) + summaries,
            ),
        }


def window_of(turns: int, size: int, number: int) -> range:
    """Numbers of the turns in window ``number`` (from 1) of a conversation."""
    start = (number - 1) * size + 1
    return range(start, min(start + size, turns + 1))


def _check_script(said: str, turn: int, plants: Sequence[Plant]) -> None:
    """Raise ReplyFault if a user's message leaves out what it has to mention, or answers its own question."""
    for plant in plants:
        known = mentions(said, plant.accept)
        if plant.turn == turn and not known:
            raise ReplyFault("off_script", f"The message must mention this in plain words: {plant.fact}")
        if plant.ask == turn and known:
            raise ReplyFault("off_script", "The message gives away the answer to its question; leave it out.")
