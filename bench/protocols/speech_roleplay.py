"""Spoken role play: a player answers an instruction with its voice, and a judge that hears scores it, 1 to 5.

The player is a speech model, or a folder of recorded answers. The judge describes, transcribes, analyses,
checks language and content, rates each style requirement and the naturalness, in that order; its final score
has to follow from these steps, and a verdict says whether it does. The stated score is the one that counts.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from bench.audio.measure import Sendable, SoundFault, SoundLimits, measured, sendable
from bench.audio.recordings import (
    ENDINGS,
    recorded_bytes,
    recording_name,
    recording_of,
    recordings_of,
    transcript_of,
)
from bench.audio.tasks import Given, Task, given_in
from bench.chat.requests import (
    SOUND_TOKENS_HEARD,
    SOUND_TOKENS_SPOKEN,
    ChatRequest,
    Reply,
    Sound,
    estimated_tokens,
)
from bench.errors import CatalogError
from bench.protocol_facts import facts_of
from bench.protocols._asking import READABLE, Read, ask_judge, coordinates, judgement, reread, updated
from bench.protocols.base import ASKS, Ask, Estimate, Protocol
from bench.records import (
    Audio,
    Call,
    Cell,
    Conversation,
    Failure,
    Judgement,
    Message,
    Outcome,
    Role,
    TurnVerdict,
    sealed,
    sha256_of,
)
from bench.replies.speech import STEPS_SCHEMA, THRESHOLD, speech_verdict

FACTS = facts_of("speech_roleplay")
(CRITERION,) = FACTS.criteria

ANSWER_SECONDS = 15
"""A guess at the length of an answer, for estimates."""
VERDICT_TOKENS = 700
"""A guess at a judge's reply."""


@dataclass
class _Answer:
    """What came of asking the player."""

    message: Message | None = None
    failure: Failure | None = None
    calls: tuple[Call, ...] = ()


class SpeechRoleplay(Protocol):
    """One suite of this protocol in one language."""

    name = "speech_roleplay"
    facts = FACTS
    options_type = SoundLimits
    options: SoundLimits

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        items = self.scenes.items
        self._given = {(item.character, item.situation): given_in(item, self.options) for item in items}
        self._recorded: dict[Path, str] = {}

    def turns(self, cell: Cell) -> int:
        return 1

    def talkers(self, player: str) -> tuple[tuple[Role, str], ...]:
        return () if self.catalog.recordings(player) is not None else super().talkers(player)

    def check_models(self, players: Iterable[str], judges: Iterable[str]) -> None:
        where = f"suite {self.suite.id}: protocol {self.name}"
        for name in judges:
            if not self.catalog.model(name).audio_input:
                hint = f"Name another judge, or set audio_input = true in [models.{name!r}] if it does hear."
                raise CatalogError(f"judge {name!r} takes no audio input", where=where, hint=hint)
        hears = any(given.audio for given in self._given.values())
        for name in players:
            folder, entry = self.catalog.recordings(name), self.catalog.model(name)
            if folder is not None:
                if not folder.is_dir():
                    hint = f"Put the recorded answers there, or set `recordings` in {self.catalog.path}."
                    raise CatalogError(f"player {name!r}: no such folder", where=str(folder), hint=hint)
            elif entry.audio_output is None:
                hint = 'If it speaks, set audio_output = { voice = "..." } in its entry of models.toml.'
                raise CatalogError(f"player {name!r} gives no audio output", where=where, hint=hint)
            elif hears and not entry.audio_input:
                hint = "Some instructions are spoken: set audio_input = true if it hears, or name another."
                raise CatalogError(f"player {name!r} takes no audio input", where=where, hint=hint)

    def player_parameters(self, player: str) -> dict[str, JsonValue]:
        parameters = super().player_parameters(player)
        voice = self.catalog.model(player).audio_output
        if voice is None:
            return {} if self.catalog.recordings(player) is not None else parameters
        return {**parameters, "modalities": ["text", "audio"], "audio": voice.model_dump()}

    # Fingerprints

    def conversation_fingerprint(self, cell: Cell) -> str:
        given = self._given[cell.character, cell.situation]
        return sha256_of(
            {
                "protocol": self.name,
                "language": self.language,
                "instruction_type": given.task.instruction_type,
                "instruction": given.task.instruction,
                "instruction_audio": given.audio and given.audio.sha256,
                "limits": self.options.model_dump(),
                "player": self._player_facts(cell),
            }
        )

    def _player_facts(self, cell: Cell) -> dict[str, JsonValue]:
        folder = self.catalog.recordings(cell.player)
        if folder is None:
            facts = self.model_facts(cell.player, self.suite.entry.player.sampling)
            return {**facts, "parameters": self.player_parameters(cell.player)}
        path = recording_of(folder, cell)
        if path is None:
            return {"recording": None}
        if path not in self._recorded:
            with path.open("rb") as file:
                self._recorded[path] = hashlib.file_digest(file, "sha256").hexdigest()
        return {"recording": self._recorded[path], "transcript": transcript_of(path)}

    def judgement_fingerprint(self, cell: Cell, judge: str, conversation_sha256: str) -> str:
        task = self._given[cell.character, cell.situation].task
        return sha256_of(
            {
                "protocol": self.name,
                "template": self.prompts.sha256("judge"),
                "instruction_type": task.instruction_type,
                "instruction": task.instruction,
                "judge": self.model_facts(judge, self.suite.entry.judge.sampling),
                "conversation": conversation_sha256,
            }
        )

    # The answer

    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        given = self._given[cell.character, cell.situation]
        recorded = self.catalog.recordings(cell.player) is not None
        answer = await (self._played(cell) if recorded else self._asked(cell, given, ask))
        question = Message(role="user", content=given.task.instruction, audio=given.audio)
        if given.audio is not None:
            self.sounds.hold(given.audio, given.data)
        return sealed(
            Conversation(
                **cell.plain(),
                fingerprint=self.conversation_fingerprint(cell),
                scene=given.task.scene(cell),
                status="complete" if answer.message is not None else "failed",
                messages=(question,) if answer.message is None else (question, answer.message),
                calls=answer.calls,
                failure=answer.failure,
            )
        )

    async def _played(self, cell: Cell) -> _Answer:
        """The answer of a player that is a folder of recordings. Nobody is called."""
        folder = self.catalog.recordings(cell.player)
        found = [] if folder is None else recordings_of(folder, cell)
        if not found:
            reason = f"there is no recording {recording_name(cell)} ({', '.join(ENDINGS)})"
            return _failed("empty", reason)
        if len(found) > 1:
            reason = f"there are several recordings: {', '.join(path.name for path in found)}; keep one"
            return _failed("bad_audio", reason)
        path = found[0]
        try:
            data = await asyncio.to_thread(recorded_bytes, path, self.options.max_bytes)
        except OSError as error:
            reason = f"the recording {path.name} cannot be read: {error.strerror}"
            return _failed("bad_audio", reason)
        return await self._heard(data, transcript_of(path), f"the recording {path.name}")

    async def _asked(self, cell: Cell, given: Given, ask: Ask) -> _Answer:
        """The answer of a speech model, asked anew where it says nothing at all."""
        extra = self.catalog.model(cell.player).system_extra
        system = [Message(role="system", content=extra)] if extra else []
        text = "" if given.audio else given.task.instruction
        sounds = await _sounds(given.data, given.audio)
        calls: list[Call] = []
        answer = _Answer()
        for attempt in range(ASKS):
            request = self.request(
                "player",
                cell.player,
                [*system, Message(role="user", content=text)],
                self.suite.entry.player.sampling,
                schema=None,
                seed_of=coordinates(cell),
                attempt=attempt,
            )
            request = replace(request, parameters=self.player_parameters(cell.player), sounds=sounds)
            reply = await ask(request)
            calls.append(self.call_record(request, reply, 1))
            answer = await self._answer_in(reply)
            if answer.failure is None or answer.failure.outcome != "empty":
                break
        return replace(answer, calls=tuple(calls))

    async def _answer_in(self, reply: Reply) -> _Answer:
        """What a reply of the player holds."""
        if reply.outcome not in READABLE:
            reason = reply.detail or f"the call ended as {reply.outcome}"
            return _failed(reply.outcome, reason, reply.text)
        if reply.sound is None:
            return _failed("empty", "the answer holds no sound", reply.text)
        try:
            data = base64.b64decode(reply.sound, validate=True)
        except binascii.Error:
            reason = "the answer's sound is no base64"
            return _failed("bad_audio", reason, reply.text)
        return await self._heard(data, reply.text, "the answer's sound")

    async def _heard(self, data: bytes, transcript: str, what: str) -> _Answer:
        """The answer that ``data`` is, measured and held; or why it cannot be used."""
        try:
            audio = await asyncio.to_thread(measured, data, self.options)
        except SoundFault as fault:
            return _failed("bad_audio", f"{what} {fault}", transcript)
        self.sounds.hold(audio, data)
        return _Answer(Message(role="assistant", content=transcript, audio=audio))

    # Judging

    async def judge(self, conversation: Conversation, judge: str, ask: Ask) -> Judgement:
        task = self._given[conversation.character, conversation.situation].task
        audio = conversation.messages[-1].audio
        assert audio is not None  # a complete conversation ends in a sound
        sounds = await _sounds(self.sounds.read(conversation, audio), audio)
        prompt = self._judge_prompt(task)

        def request_for(complaint: str, attempt: int) -> ChatRequest:
            request = self.request(
                "judge",
                judge,
                [Message(role="user", content=prompt + complaint)],
                self.suite.entry.judge.sampling,
                schema=STEPS_SCHEMA,
                seed_of=[judge, *coordinates(conversation)],
                attempt=attempt,
            )
            return replace(request, sounds=sounds)

        verdict = await ask_judge(self, request_for, _read_verdict, ask)
        return judgement(self, conversation, judge, verdict.read, [verdict])

    def _judge_prompt(self, task: Task) -> str:
        return self.prompts.render(
            "judge",
            instruction_type=task.instruction_type,
            instruction=task.instruction,
            threshold=THRESHOLD,
        )

    def reparsed(self, judgement: Judgement, conversation: Conversation) -> Judgement:
        before = Read(judgement.turns, judgement.repairs, judgement.failure)
        return updated(judgement, reread(judgement.calls, judgement.raw, _read_verdict, before))

    # Before anyone pays

    def estimate(self, cell: Cell) -> Estimate:
        given = self._given[cell.character, cell.situation]
        asked = estimated_tokens("" if given.audio else given.task.instruction)
        asked_sound = round(given.audio.seconds * SOUND_TOKENS_HEARD) if given.audio else 0
        heard = ANSWER_SECONDS * SOUND_TOKENS_HEARD
        spoken = ANSWER_SECONDS * SOUND_TOKENS_SPOKEN
        return Estimate(
            calls={"player": self.talk_calls(cell), "interrogator": 0, "judge": 1},
            prompt_tokens={
                "player": asked + asked_sound,
                "interrogator": 0,
                "judge": estimated_tokens(self._judge_prompt(given.task)) + heard,
            },
            completion_tokens={
                "player": 3 * ANSWER_SECONDS + spoken,
                "interrogator": 0,
                "judge": VERDICT_TOKENS,
            },
            audio_prompt_tokens={"player": asked_sound, "judge": heard},
            audio_completion_tokens={"player": spoken},
        )


def _read_verdict(text: str) -> tuple[tuple[TurnVerdict, ...], tuple[str, ...]]:
    found = speech_verdict(text)
    name = CRITERION.name
    turn = TurnVerdict(turn=1, scores={name: found.score}, reasons={name: found.reason}, detail=found.steps)
    return (turn,), found.repairs


def _failed(outcome: Outcome, reason: str, raw: str = "") -> _Answer:
    return _Answer(failure=Failure(role="player", turn=1, outcome=outcome, reason=reason, raw=raw or None))


async def _sounds(data: bytes, audio: Audio | None) -> tuple[Sound, ...]:
    """What a request sends of a sound."""
    if audio is None:
        return ()
    sent: Sendable = await asyncio.to_thread(sendable, data, audio)
    return (Sound(sent.format, sent.data),)
