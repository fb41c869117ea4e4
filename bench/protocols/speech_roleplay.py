"""Spoken role play: a player answers an instruction with its voice, and a judge that hears scores it, 1 to 5.

The player is a speech model or a folder of recorded answers. The judge describes, transcribes, analyses,
checks language and content, rates each style requirement and the naturalness, in that order. Its final score
should follow from these steps, and a verdict records whether it does. The stated score counts.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import JsonValue

from bench.audio.measure import SoundFault, SoundLimits, measured, sendable
from bench.audio.recordings import (
    ENDINGS,
    recorded_bytes,
    recording_name,
    recordings_of,
    transcript_of,
)
from bench.audio.tasks import Given, Task, given_in
from bench.catalog import Catalog
from bench.chat.requests import SOUND_TOKENS_HEARD, SOUND_TOKENS_SPOKEN, Reply, Sound, estimated_tokens
from bench.errors import CatalogError
from bench.files import MOST_BYTES
from bench.items import Item
from bench.protocol_facts import facts_of
from bench.protocols.base import Estimate, Talk
from bench.protocols.calls import (
    ASKS,
    READABLE,
    Ask,
    JsonSchema,
    Try,
    ended_as,
    in_thread,
    without_reasoning,
)
from bench.protocols.items import ItemProtocol
from bench.protocols.verdicts import Reading
from bench.records import Audio, Cell, Conversation, Failure, Message, Outcome, Role, TurnVerdict
from bench.replies.speech import STEPS_SCHEMA, THRESHOLD, speech_verdict
from bench.suites import Suite

ANSWER_SECONDS = 15
"""Assumed length of an answer, for estimates."""
VERDICT_TOKENS = 700
"""Assumed length of a judge's reply."""


class SpeechRoleplay(ItemProtocol[Given]):
    """One suite of this protocol in one language."""

    options_type = SoundLimits
    options: SoundLimits

    def __init__(self, suite: Suite, language: str, catalog: Catalog) -> None:
        super().__init__(suite, language, catalog)
        self._recording_sha256: dict[Path, str] = {}

    def read_item(self, item: Item) -> Given:
        return given_in(item, self.options)

    def talkers(self, player: str) -> tuple[tuple[Role, str], ...]:
        return () if self.catalog.recordings(player) is not None else super().talkers(player)

    def check_models(self, players: Iterable[str], judges: Iterable[str]) -> None:
        where = f"suite {self.suite.id}: protocol {self.name}"
        judges = tuple(judges)
        self.check_apart(judges)
        for name in judges:
            if not self.catalog.model(name).audio_input:
                hint = f"Name another judge, or set audio_input = true in [models.{name!r}] if it hears."
                raise CatalogError(f"judge {name!r} takes no audio input", where=where, hint=hint)
        hears = any(self.item(cell).audio for cell in self.cells(""))
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

    def parameters(self, role: Role, model: str) -> dict[str, JsonValue]:
        parameters = super().parameters(role, model)
        if role != "player":
            return parameters
        if self.catalog.recordings(model) is not None:
            return {}
        voice = self.catalog.model(model).audio_output
        if voice is None:
            return parameters
        return {**parameters, "modalities": ["text", "audio"], "audio": voice.model_dump()}

    # Fingerprints

    def conversation_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        given = self.item(cell)
        return {
            "instruction_type": given.task.instruction_type,
            "instruction": given.task.instruction,
            "instruction_audio": given.audio.sha256 if given.audio else None,
            "limits": self.options.model_dump(),
        }

    def player_facts(self, cell: Cell) -> dict[str, JsonValue]:
        folder = self.catalog.recordings(cell.player)
        if folder is None:
            return super().player_facts(cell)
        recordings = recordings_of(folder, cell)
        if len(recordings) != 1:
            return {"recording": None}
        (path,) = recordings
        if path not in self._recording_sha256:
            try:
                sound = recorded_bytes(path, MOST_BYTES)
            except OSError:
                return {"recording": None}
            self._recording_sha256[path] = hashlib.sha256(sound).hexdigest()
        return {"recording": self._recording_sha256[path], "transcript": transcript_of(path)}

    def judgement_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        return self.item(cell).task.model_dump(include={"instruction_type", "instruction"})

    # The answer

    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        given = self.item(cell)
        talk = Talk([Message(role="user", content=given.task.instruction, audio=given.audio)])
        folder = self.catalog.recordings(cell.player)
        if folder is None:
            await self._ask_player(cell, given, talk, ask)
        else:
            talk.failure = await self._play(recordings_of(folder, cell), cell, talk)
        if given.audio is not None:
            self.sounds.hold(given.audio, given.data)
        return self.conversation_of(cell, talk, given.task.scene(cell))

    async def _play(self, paths: list[Path], cell: Cell, talk: Talk) -> Failure | None:
        """Take the answer of a player that is a folder of recordings. Makes no call."""
        if not paths:
            return _failed("empty", f"there is no recording {recording_name(cell)} ({', '.join(ENDINGS)})")
        if len(paths) > 1:
            names = ", ".join(path.name for path in paths)
            return _failed("bad_audio", f"there are several recordings: {names}; keep one")
        (path,) = paths
        try:
            data = await in_thread(recorded_bytes, path, self.options.max_bytes)
        except OSError as error:
            return _failed("bad_audio", f"the recording {path.name} cannot be read: {error.strerror}")
        return await self._hear(data, transcript_of(path), f"the recording {path.name}", talk)

    async def _ask_player(self, cell: Cell, given: Given, talk: Talk, ask: Ask) -> None:
        """Take the answer of a speech model; the model is asked again after a reply without sound."""
        extra = self.catalog.model(cell.player).system_extra
        system = [Message(role="system", content=extra)] if extra else []
        text = "" if given.audio else given.task.instruction
        messages = [*system, Message(role="user", content=text)]
        sounds = await _sounds(given.data, given.audio)
        for attempt in range(ASKS):
            request = self.request("player", cell.player, cell, messages, attempt=attempt, sounds=sounds)
            reply = without_reasoning("player", await ask(request))
            talk.calls.append(self.call_record(Try(request, reply, None), 1))
            talk.failure = await self._hear_reply(reply, talk)
            if talk.failure is None or talk.failure.outcome != "empty":
                break

    async def _hear_reply(self, reply: Reply, talk: Talk) -> Failure | None:
        if reply.outcome not in READABLE:
            failure = _failed(reply.outcome, ended_as(reply), reply.text)
            return failure.model_copy(update={"filtered": reply.filtered})
        if reply.sound is None:
            return _failed("empty", "the answer holds no sound", reply.text)
        try:
            data = base64.b64decode(reply.sound, validate=True)
        except binascii.Error:
            return _failed("bad_audio", "the answer's sound is not valid base64", reply.text)
        return await self._hear(data, reply.text, "the answer's sound", talk)

    async def _hear(self, data: bytes, transcript: str, what: str, talk: Talk) -> Failure | None:
        """Measure the sound ``data``, hold it and add it to ``talk``; returns why it cannot be used."""
        try:
            audio = await in_thread(measured, data, self.options)
        except SoundFault as fault:
            return _failed("bad_audio", f"{what} {fault}", transcript)
        self.sounds.hold(audio, data)
        talk.messages.append(Message(role="assistant", content=transcript, audio=audio))
        return None

    # Judging

    def judge_prompt(self, conversation: Conversation, number: int) -> str:
        return self._judge_prompt(self.item(conversation).task)

    def _judge_prompt(self, task: Task) -> str:
        return self.prompts.render(
            "judge",
            instruction_type=task.instruction_type,
            instruction=task.instruction,
            threshold=THRESHOLD,
        )

    def judge_schema(self, conversation: Conversation, judge: str) -> JsonSchema:
        return STEPS_SCHEMA

    async def judge_sounds(self, conversation: Conversation) -> tuple[Sound, ...]:
        audio = conversation.messages[-1].audio
        assert audio is not None, "a complete conversation ends with a sound"
        return await _sounds(self.sounds.read(conversation, audio), audio)

    @classmethod
    def read_verdict(cls, text: str, number: int, conversation: Conversation) -> Reading:
        reply = speech_verdict(text)
        (criterion,) = facts_of("speech_roleplay").criterion_names
        turn = TurnVerdict(
            turn=1,
            scores={criterion: reply.score},
            reasons={criterion: reply.reason},
            detail=reply.steps.model_dump(mode="json", exclude_none=True),
        )
        return Reading((turn,), reply.repairs)

    # Estimates

    def estimate(self, cell: Cell) -> Mapping[Role, Estimate]:
        given = self.item(cell)
        asked = estimated_tokens("" if given.audio else given.task.instruction)
        asked_sound = round(given.audio.seconds * SOUND_TOKENS_HEARD) if given.audio else 0
        heard = ANSWER_SECONDS * SOUND_TOKENS_HEARD
        spoken = ANSWER_SECONDS * SOUND_TOKENS_SPOKEN
        judging = estimated_tokens(self._judge_prompt(given.task)) + heard
        return {
            "player": Estimate(
                self.talk_calls(cell), asked + asked_sound, 3 * ANSWER_SECONDS + spoken, asked_sound, spoken
            ),
            "judge": Estimate(1, judging, VERDICT_TOKENS, heard),
        }


def _failed(outcome: Outcome, reason: str, raw: str = "") -> Failure:
    return Failure(role="player", turn=1, outcome=outcome, reason=reason, raw=raw or None)


async def _sounds(data: bytes, audio: Audio | None) -> tuple[Sound, ...]:
    """The sound of a request, in a format that the chat API takes."""
    if audio is None:
        return ()
    return (Sound(*await in_thread(sendable, data, audio)),)
