"""Result files of ping_pong_bench as our records: one conversation, and a judgement of each judge.

Imported evidence says so in ``origin``: it has no reasons, no raw replies and no calls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.catalog import Catalog, Model
from bench.foreign import Problem, Unreadable
from bench.interop.pingpong_files import CRITERIA, ResultFile, sound
from bench.records import SCHEMA_VERSION, PlayerInfo, Scene, sha256_of

PROTOCOLS = {1: "pingpong_v1", 2: "pingpong_v2"}
SCALES = {1: (1, 10), 2: (1, 5)}
"""Lowest and highest score by version."""

TITLE_LENGTH = 60


Plain = dict[str, Any]
"""A record as plain data, keys in order."""

CellKey = tuple[str, str, str, str]
"""(suite, player, character, situation)"""


@dataclass
class Importer:
    """Makes records of files, one file after the other, and remembers what there is already."""

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
        """All that is sound in a file and not there yet; the rest becomes problems.

        A player comes before its first conversation, and a conversation before its judgements. These two are
        plain data in the form that the results tree writes in bulk: checked here, field by field.
        """
        info = player_info(file, self.catalog)
        if (file.version, file.asker) not in self.suites:
            self._problem(file, Unreadable(f"no suite can be named after interrogator {file.asker!r}"))
            return
        suite = self.suites[file.version, file.asker]
        known = self.players.get((suite, file.player))
        if known not in (None, info):
            self._problem(
                file, Unreadable(f"other settings of {file.player!r} than in a file before", "player")
            )
            return
        for n, output in enumerate(file.outputs):
            made: list[Plain] = []
            try:
                self._add_output(file, output, f"outputs.{n}", made)
            except Unreadable as fault:
                self._problem(file, fault)
            if made and known is None:
                known = self.players[(suite, file.player)] = info
                yield info
            yield from made

    def _problem(self, file: ResultFile, fault: Unreadable) -> None:
        self.problems.append(Problem(file.path, fault.place, str(fault)))

    def _add_output(self, file: ResultFile, output: Any, place: str, made: list[Plain]) -> None:
        """Add the conversation and the judgement of an output to ``made``, as far as they are sound."""
        if not isinstance(output, dict):
            raise Unreadable("is no object", place)
        character, situation, scene = self._scene(output, place)
        key = (self.suites[file.version, file.asker], file.player, character, situation)
        messages = _messages(output.get("messages"), f"{place}.messages")
        sha256 = sha256_of(messages)
        known, source = self.conversations.get(key, (sha256, file.path))
        if known != sha256:
            raise Unreadable(f"other messages of this cell than in {source}", f"{place}.messages")
        if key not in self.conversations:
            made.append(_conversation(file, key, self.language, scene, messages))
            self.conversations[key] = (sha256, file.path)
        if (key, file.judge) in self.judgements:
            raise Unreadable(f"a second judgement of this cell by {file.judge}", place)
        turns = _verdicts(file.version, output, sum(m["role"] == "user" for m in messages), place)
        made.append(_judgement(file, key, self.language, sha256, turns))
        self.judgements.add((key, file.judge))

    def _scene(self, output: dict[str, Any], place: str) -> tuple[str, str, Scene]:
        """(character id, situation id, texts) of an output."""
        character, situation = output.get("character"), output.get("situation")
        name = _text(character, "char_name", f"{place}.character")
        text = _text(situation, "text", f"{place}.situation")
        card = _text(character, "system_prompt", f"{place}.character", needed=False)
        known = self.scenes.get((name, text))
        if known is not None and known[2].card == card:
            return known
        title = " ".join(text.split())
        scene = Scene(
            character_name=name,
            summary=_text(character, "summary", f"{place}.character", needed=False),
            card=card,
            situation_title=title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1]}…",
            situation=text,
        )
        digits = hashlib.sha256(text.encode()).hexdigest()[:12]
        found = (name, f"situation-{digits}", scene)
        return self.scenes.setdefault((name, text), found) if known is None else found


def _conversation(
    file: ResultFile, key: CellKey, language: str, scene: Scene, messages: list[dict[str, str]]
) -> Plain:
    suite, player, character, situation = key
    return {
        "calls": [],
        "character": character,
        "digest": "",
        "fingerprint": sha256_of(["imported", scene.plain(), file.interrogator.name, player]),
        "language": language,
        "messages": messages,
        "origin": f"{_origin(file)}; interrogator {file.interrogator.name}",
        "player": player,
        "protocol": PROTOCOLS[file.version],
        "repairs": [],
        "scene": dict(sorted(scene.plain().items())),
        "schema_version": SCHEMA_VERSION,
        "situation": situation,
        "status": "complete",
        "suite": suite,
        "version": str(file.version),
    }


def _judgement(file: ResultFile, key: CellKey, language: str, sha256: str, turns: list[Plain]) -> Plain:
    suite, player, character, situation = key
    return {
        "calls": [],
        "character": character,
        "conversation_sha256": sha256,
        "digest": "",
        "fingerprint": sha256_of(["imported", file.judge_model.name, sha256]),
        "judge": file.judge,
        "language": language,
        "origin": f"{_origin(file)}; judge {file.judge_model.name}",
        "player": player,
        "protocol": PROTOCOLS[file.version],
        "raw": [],
        "repairs": [],
        "schema_version": SCHEMA_VERSION,
        "situation": situation,
        "status": "ok",
        "suite": suite,
        "turns": turns,
        "version": str(file.version),
    }


def player_info(file: ResultFile, catalog: Catalog | None) -> PlayerInfo:
    """player.json of an imported player: family, weights and licence from models.toml where it has the model.

    Where it has not, all three are "unknown".
    """
    facts = file.player_model
    entry = _entry(catalog, facts.name)
    return PlayerInfo(
        player=file.player,
        provider=entry.provider if entry else "imported",
        model=facts.name,
        name=entry.name if entry else file.player,
        family=entry.family if entry else "unknown",
        weights=entry.weights if entry else "unknown",
        licence=entry.licence if entry else "unknown",
        parameters_billion=entry.parameters_billion if entry else None,
        sampling=dict(facts.params),
        system_extra=facts.system_prompt,
    )


def _entry(catalog: Catalog | None, model: str) -> Model | None:
    """The catalog's only entry of a provider's model id, if there is exactly one family of them."""
    found = [entry for entry in catalog.models.values() if entry.model == model] if catalog else []
    return found[0] if len(found) == 1 else None


def _origin(file: ResultFile) -> str:
    return f"ping_pong_bench version {file.version}, {file.path}"


def _text(source: Any, key: str, place: str, *, needed: bool = True) -> str:
    """A text field of an object; empty where it is absent and not ``needed``."""
    value = source.get(key) if isinstance(source, dict) else None
    if isinstance(value, str) and (value.strip() or not needed):
        return sound(value, f"{place}.{key}")
    if value is None and not needed:
        return ""
    raise Unreadable("is no text", f"{place}.{key}")


def _messages(source: Any, place: str) -> list[dict[str, str]]:
    """Messages that take turns, the player's last; before the first question there may be a greeting."""
    if not isinstance(source, list) or not source:
        raise Unreadable("there are none", place)
    messages: list[dict[str, str]] = []
    for n, item in enumerate(source):
        if not isinstance(item, dict):
            raise Unreadable("is no object", f"{place}.{n}")
        role, content = item.get("role"), item.get("content")
        if role not in ("user", "assistant") or not isinstance(content, str):
            raise Unreadable("is not a text of user or assistant", f"{place}.{n}")
        if messages and messages[-1]["role"] == role:
            raise Unreadable(f"two messages of {role} in a row", f"{place}.{n}")
        messages.append({"content": sound(content, f"{place}.{n}"), "role": role})
    if messages[-1]["role"] != "assistant" or len(messages) < 2:
        raise Unreadable("the player has not answered", f"{place}.{len(messages) - 1}")
    return messages


def _verdicts(version: int, output: dict[str, Any], turns: int, place: str) -> list[Plain]:
    """The scores of each turn and whether it was a refusal."""
    scores = output.get("scores")
    if not isinstance(scores, dict):
        raise Unreadable("there are none", f"{place}.scores")
    columns = {}
    broke_off = "is_refusal" not in scores and output.get("has_refusal") is True
    refusals = _refusals(scores, output, turns, f"{place}.scores.is_refusal")
    for ours, old in CRITERIA.items():
        key = old if version == 1 and ours not in scores else ours
        values = scores.get(key, [])
        if broke_off and isinstance(values, list) and len(values) == turns - 1:
            # Version 1 ends at a refusal; what it gave that turn stands beside the scores.
            values = [*values, output.get(f"{key}_score", SCALES[version][0])]
        columns[ours] = _scores(values, turns, SCALES[version], f"{place}.scores.{key}")
    return [
        {
            "is_refusal": bool(refusals[n]),
            "reasons": {},
            "refusal_reason": "",
            "scores": {name: columns[name][n] for name in sorted(columns)},
            "turn": n + 1,
        }
        for n in range(turns)
    ]


def _refusals(scores: dict[str, Any], output: dict[str, Any], turns: int, place: str) -> list[int]:
    """0 or 1 for each turn. Version 1 says only whether the last turn was one."""
    values = scores.get("is_refusal")
    if values is None:
        return [0] * (turns - 1) + [int(output.get("has_refusal") is True)]
    if not isinstance(values, list) or len(values) != turns:
        raise Unreadable(f"is not a list of {turns} values, one a turn", place)
    for n, value in enumerate(values):
        if not isinstance(value, (int, bool)) or value not in (0, 1):
            raise Unreadable("is neither 0 nor 1", f"{place}.{n}")
    return [int(value) for value in values]


def _scores(values: Any, turns: int, scale: tuple[int, int], place: str) -> list[int]:
    if not isinstance(values, list) or len(values) != turns:
        raise Unreadable(f"is not a list of {turns} scores, one a turn", place)
    low, high = scale
    for n, value in enumerate(values):
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole:
            raise Unreadable("is no whole number", f"{place}.{n}")
        if not low <= value <= high:
            raise Unreadable(f"{value} is not from {low} to {high}", f"{place}.{n}")
    return [int(value) for value in values]
