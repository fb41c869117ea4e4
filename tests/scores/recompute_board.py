"""Recompute the scores of a folder results/SUITE/LANGUAGE, as README.md says under "Auditing"."""

import hashlib
import json
from math import tanh
from pathlib import Path
from statistics import fmean, median
from typing import Any

GAPS = {"pingpong_v1": 13.5, "human_likeness": 150, "card_probes": 1.5}  # and 6 for all others


def player_numbers(folder: Path, board: Any) -> Any:
    talks, scores, refused = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for path in folder.glob("conversations/*.json"):
        talk = json.loads(path.read_text("utf-8"))
        text = json.dumps(talk["messages"], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        if talk["status"] == "complete":
            first = [message["role"] for message in talk["messages"]].index("user")
            answers = [m["content"] for m in talk["messages"][first:] if m["role"] == "assistant"]
            talks[path.name] = [hashlib.sha256(text.encode()).hexdigest(), *map(len, answers)]
    for path in folder.glob("judgements/*/*.json"):
        judgement = json.loads(path.read_text("utf-8"))
        current = judgement["conversation_sha256"] == talks.get(path.name, [""])[0]
        if current and judgement["judge"] in board["judges"] and judgement["status"] == "ok":
            by_turn = [[turn["scores"][c] for c in board["criteria"]] for turn in judgement["turns"]]
            kind = refused if any(turn["is_refusal"] for turn in judgement["turns"]) else scores
            kind.setdefault(path.name, []).append([fmean(column) for column in zip(*by_turn, strict=True)])
    weights = [len(talks[name]) - 1 if board["protocol"] == "pingpong_v1" else 1 for name in scores]
    by_talk = [[fmean(column) for column in zip(*by_judge, strict=True)] for by_judge in scores.values()]
    means = [fmean(column, weights) for column in zip(*by_talk, strict=True)]
    lengths = [length for talk in talks.values() for length in talk[1:]]
    ratio = len(refused) / len(refused.keys() | scores.keys()) if refused or scores else None
    return means, ratio, sum(lengths) // len(lengths) if lengths else None, len(talks), len(scores)


def ranking(means: Any, lengths: Any, board: Any, weights: Any) -> dict[str, dict[str, float]]:
    weights = [weights[c] for c in board["criteria"]]
    score = {p: fmean(by_criterion, weights) for p, by_criterion in means.items() if by_criterion}
    norm, middle = dict(score), median([lengths[p] for p in score] or [0])
    for p in score:
        if board["protocol"] not in GAPS:
            norm[p] *= max(0.93, min(1, 1 + 0.07 * (middle / lengths[p] - 1)))
        elif board["protocol"] == "pingpong_v1":
            span = max(score.values()) - min(score.values())
            norm[p] += span * min(0, tanh((middle - lengths[p]) / (3 * middle)))
    rows, leader = {}, 10**9
    for place, p in enumerate(sorted(score, key=lambda p: (-round(norm[p], 6), -round(score[p], 6), p)), 1):
        printed = round(100 * float(f"{round(norm[p], 6):.2f}"))
        if leader - printed > GAPS.get(board["protocol"], 6):
            leader, rank = printed, place
        rows[p] = {"rank": rank, "length_norm_score": round(norm[p], 6), "score": round(score[p], 6)}
    return rows
