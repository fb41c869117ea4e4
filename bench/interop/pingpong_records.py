"""Convert result files of ping_pong_bench to records: conversations, and one judgement per judge.

``origin`` marks imported evidence. It has no reasons, no raw replies and no calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.catalog import Catalog, Model
from bench.foreign import Problem, Unreadable, checked, situation_id
from bench.interop.pingpong_format import CRITERIA, Dialogue, ResultFile, Scores, TextMessage, scores_of
from bench.records import SCHEMA_VERSION, PlayerInfo, Scene, sha256_of

TITLE_LENGTH = 60

Plain = dict[str, Any]
"""A record as plain data, keys sorted."""

CellKey = tuple[str, str, str, str]
"""(suite, player, character, situation)"""


@dataclass
class Importer:
    """Converts files to records, one after the other, and remembers what it has converted."""

    suites: Mapping[tuple[int, str], str]
    """Suite name by version and interrogator (see :attr:`ResultFile.asker`)."""
    language: str
    catalog: Catalog | None
    problems: list[Problem]
    players: dict[tuple[str, str], PlayerInfo] = field(default_factory=dict)
    """(suite, player)"""
    conversations: dict[CellKey, tuple[str, str]] = field(default_factory=dict)
    """SHA-256 of the messages, and the file that they are from."""
    judgements: set[tuple[CellKey, str]] = field(default_factory=set)
    """(cell, judge)"""
    scenes: dict[tuple[str, str], tuple[str, str, Scene]] = field(default_factory=dict)
    """Scenes that have been read already, by character and situation."""

    def records(self, file: ResultFile) -> Iterator[PlayerInfo | Plain]:
        """Yield the records of a file that are new; add what cannot be used to ``problems``.

        A player comes before its first conversation, and a conversation before its judgements. Conversations
        and judgements are plain data, in the form that the results tree writes in bulk.
        """
        info = player_info(file, self.catalog)
        if (file.version, file.asker) not in self.suites:
            text = f"interrogator {file.asker!r} cannot name a suite of its own"
            self.problems.append(Problem(file.path, "", text))
            return
        suite = self.suites[file.version, file.asker]
        known = self.players.get((suite, file.player))
        if known not in (None, info):
            text = f"other settings of {file.player!r} than in an earlier file"
            self.problems.append(Problem(file.path, "player", text))
            return
        for n, output in enumerate(file.outputs):
            records: list[Plain] = []
            try:
                self._add_output(file, output, f"outputs.{n}", records)
            except Unreadable as fault:
                self.problems.append(Problem(file.path, fault.place, str(fault)))
            if records and known is None:
                known = self.players[(suite, file.player)] = info
                yield info
            yield from records

    def _add_output(self, file: ResultFile, output: Any, place: str, records: list[Plain]) -> None:
        """Add the conversation and the judgement of an output to ``records``.

        Raises Unreadable where one is malformed; a conversation is kept if only its scores are.
        """
        dialogue = checked(Dialogue, output, place)
        character, situation, scene = self._scene(dialogue)
        key = (self.suites[file.version, file.asker], file.player, character, situation)
        messages = dialogue.messages
        sha256 = sha256_of(messages)
        known, source = self.conversations.get(key, (sha256, file.path))
        if known != sha256:
            raise Unreadable(f"the messages of this cell differ from those in {source}", f"{place}.messages")
        if key not in self.conversations:
            records.append(_conversation(file, key, self.language, scene, messages))
            self.conversations[key] = (sha256, file.path)
        if (key, file.judge) in self.judgements:
            raise Unreadable(f"a second judgement of this cell by {file.judge}", place)
        turns = sum(message["role"] == "user" for message in messages)
        scores = scores_of(output, file.version, turns, place)
        records.append(_judgement(file, key, self.language, sha256, _verdicts(scores)))
        self.judgements.add((key, file.judge))

    def _scene(self, dialogue: Dialogue) -> tuple[str, str, Scene]:
        """(character id, situation id, texts) of an output."""
        name, text = dialogue.character.char_name, dialogue.situation.text
        card = dialogue.character.system_prompt or ""
        known = self.scenes.get((name, text))
        if known is not None and known[2].card == card:
            return known
        title = " ".join(text.split())
        scene = Scene(
            character_name=name,
            summary=dialogue.character.summary or "",
            card=card,
            situation_title=title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1]}…",
            situation=text,
        )
        entry = (name, situation_id(text), scene)
        return self.scenes.setdefault((name, text), entry) if known is None else entry


def _verdicts(scores: Scores[int]) -> list[Plain]:
    """The turns of a judgement."""
    columns = [(name, getattr(scores, name)) for name in sorted(CRITERIA)]
    return [
        {
            "is_refusal": bool(refused),
            "reasons": {},
            "refusal_reason": "",
            "scores": {name: values[n] for name, values in columns},
            "turn": n + 1,
        }
        for n, refused in enumerate(scores.is_refusal)
    ]


def _conversation(
    file: ResultFile, key: CellKey, language: str, scene: Scene, messages: list[TextMessage]
) -> Plain:
    asker = file.interrogator.model_name
    own = {
        "fingerprint": sha256_of(["imported", scene.plain(), asker, file.player]),
        "messages": messages,
        "scene": dict(sorted(scene.plain().items())),
        "status": "complete",
    }
    return _record(file, key, language, f"interrogator {asker}", own)


def _judgement(file: ResultFile, key: CellKey, language: str, sha256: str, turns: list[Plain]) -> Plain:
    judge = file.judge_model.model_name
    own = {
        "conversation_sha256": sha256,
        "fingerprint": sha256_of(["imported", judge, sha256]),
        "judge": file.judge,
        "raw": [],
        "status": "ok",
        "turns": turns,
    }
    return _record(file, key, language, f"judge {judge}", own)


def _record(file: ResultFile, key: CellKey, language: str, source: str, own: Plain) -> Plain:
    """The fields that conversations and judgements share, and the record's ``own``, sorted by name."""
    suite, player, character, situation = key
    shared = {
        "calls": [],
        "character": character,
        "digest": "",
        "language": language,
        "origin": f"ping_pong_bench version {file.version}, {file.path}; {source}",
        "player": player,
        "protocol": f"pingpong_v{file.version}",
        "repairs": [],
        "schema_version": SCHEMA_VERSION,
        "situation": situation,
        "suite": suite,
        "version": str(file.version),
    }
    return dict(sorted((shared | own).items()))


def player_info(file: ResultFile, catalog: Catalog | None) -> PlayerInfo:
    """The player.json of an imported player.

    Family, weights and licence come from models.toml. They are "unknown" if it does not have the model.
    """
    facts = file.player_model
    known: dict[str, Any] = {"provider": "imported", "name": file.player, "parameters_billion": None}
    known |= dict.fromkeys(("family", "weights", "licence"), "unknown")
    if (entry := _entry(catalog, facts.model_name)) is not None:
        known = {field: getattr(entry, field) for field in known}
    return PlayerInfo(
        **known,
        player=file.player,
        model=facts.model_name,
        sampling=dict(facts.params),
        system_extra=facts.system_prompt or "",
    )


def _entry(catalog: Catalog | None, model: str) -> Model | None:
    """The catalog's entry for a provider's model id, if there is exactly one."""
    entries = [entry for entry in catalog.models.values() if entry.model == model] if catalog else []
    return entries[0] if len(entries) == 1 else None
