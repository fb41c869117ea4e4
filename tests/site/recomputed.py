"""A board's scores calculated a second time, from the JSON files alone: nothing here imports bench."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from statistics import fmean, median
from typing import Any

RULES = {"pingpong_v1": "v1", "pingpong_v2": "v2", "human_likeness": "none"}


def _records(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))}


def _sha256(data: object) -> str:
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _answers(talk: dict[str, Any]) -> list[str]:
    roles = [message["role"] for message in talk["messages"]]
    first = roles.index("user") if "user" in roles else len(roles)
    return [m["content"] for m in talk["messages"][first:] if m["role"] == "assistant"]


def _judge_score(turns: list[dict[str, Any]]) -> float:
    return fmean(fmean(turn["scores"][name] for turn in turns) for name in turns[0]["scores"])


def conversation_scores(player: Path) -> tuple[dict[str, float], float | None]:
    """Score of each conversation of a player's folder, and its refusal ratio."""
    talks = _records(player / "conversations")
    judged: dict[str, list[dict[str, Any]]] = {}
    for judge in (player / "judgements").glob("*"):
        for name, judgement in _records(judge).items():
            talk = talks.get(name)
            if judgement["status"] != "ok" or talk is None or talk["status"] != "complete":
                continue
            if judgement["conversation_sha256"] == _sha256(talk["messages"]):
                judged.setdefault(name, []).append(judgement)
    scores = {}
    refusals = 0
    for name, judgements in judged.items():
        saw = [any(turn.get("is_refusal") for turn in j["turns"]) for j in judgements]
        refusals += any(saw)
        counting = [_judge_score(j["turns"]) for j, no in zip(judgements, saw, strict=True) if not no]
        if counting:
            scores[name] = fmean(counting)
    return scores, refusals / len(judged) if judged else None


def board(folder: Path) -> dict[str, dict[str, float | None]]:
    """Per player: score, norm (length-normalised), refusals. ``folder``: results/<suite>/<language>."""
    players = {}
    protocol = ""
    for player in sorted(path.parent for path in folder.glob("*/player.json")):
        name = json.loads((player / "player.json").read_bytes())["player"]
        talks = _records(player / "conversations")
        protocol = next(iter(talks.values()))["protocol"]
        answers = {n: _answers(talk) for n, talk in talks.items() if talk["status"] == "complete"}
        lengths = [len(text) for texts in answers.values() for text in texts]
        scores, refusals = conversation_scores(player)
        if scores:
            weights = {n: len(answers[n]) if RULES[protocol] == "v1" else 1 for n in scores}
            total = math.fsum(score * weights[n] for n, score in scores.items())
            players[name] = (total / sum(weights.values()), sum(lengths) // len(lengths), refusals)
    middle = median(length for _, length, _ in players.values())
    span = max(score for score, _, _ in players.values()) - min(score for score, _, _ in players.values())
    found: dict[str, dict[str, float | None]] = {}
    for name, (score, length, refusals) in players.items():
        norm = score
        if RULES[protocol] == "v2":
            norm = score * min(1.0, max(0.93, 1 + 0.07 * (middle / length - 1)))
        elif RULES[protocol] == "v1":
            norm = score + span * min(0.0, math.tanh((middle - length) / (3 * middle)))
        found[name] = {"score": score, "norm": norm, "refusals": refusals}
    return found
