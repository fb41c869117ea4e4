"""Boards in the schema that Every Eval Ever exchanges evaluations in: a JSON file for each player.

Only aggregates are written. The schema of single samples asks whether an answer is correct, and a score
for role play does not say that.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench import __version__
from bench.boards.loading import LoadedBoard
from bench.catalog import Catalog
from bench.errors import UserError
from bench.protocol_facts import facts_of
from bench.records import PlayerInfo
from bench.scores.board import BoardRow
from bench.slugs import slug
from bench.suites.languages import template_file
from bench.toml_entries import read_text

SCHEMA = "0.3.0"
"""Version of the schema that the files follow."""
_SENT = ("temperature", "top_p", "top_k", "max_tokens")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")


def every_eval_files(
    boards: Sequence[LoadedBoard], title: str, catalog: Catalog | None = None
) -> dict[str, bytes]:
    """The boards of a suite as files by their path: ``data/<suite>/<developer>/<model>/<uuid>.json``.

    Args:
        boards: One for each language.
        title: Title of the suite.
        catalog: Names of judges, where they are known.

    Their time is now, or that of the variable SOURCE_DATE_EPOCH. Raises UserError without a score, and for
    scores that another project published.
    """
    if any(loaded.source is not None for loaded in boards):
        hint = "Export a table: -o x.csv."
        raise UserError(
            "another project published these scores, so only it can exchange them", where=title, hint=hint
        )
    made = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = made if made.isdecimal() else str(int(time.time()))
    results: dict[str, list[dict[str, Any]]] = {}
    players: dict[str, PlayerInfo] = {}
    for loaded in boards:
        judging = _judging(loaded, catalog)
        players |= {info.player: info for info in loaded.frames.players}
        for row in loaded.board.rows:
            results.setdefault(row.player, []).extend(_results(loaded, row, players[row.player], judging))
    files = {}
    for player, entries in results.items():
        if entries:
            log = _log(players[player], boards[0].board.suite, title, now, entries)
            developer, model = log["model_info"]["id"].split("/", 1)
            parts = (slug(boards[0].board.suite), developer, model.replace("/", "_"), f"{_name(log)}.json")
            path = "/".join(["data", *(_UNSAFE.sub("-", part) for part in parts)])
            files[path] = json.dumps(log, indent=2, ensure_ascii=False).encode() + b"\n"
    if not files:
        raise UserError("no player has a score", where=title)
    return files


def _name(log: Mapping[str, Any]) -> str:
    """A UUID of version 4 that follows from what the file says, not from when."""
    said = {key: log[key] for key in ("model_info", "evaluation_results")}
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def _log(info: PlayerInfo, suite: str, title: str, now: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    model = _model(info.name, info.provider, info.model, info.weights)
    model["additional_details"] |= {"player": info.player, "family": info.family, "licence": info.licence}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{suite}/{model['id']}/{now}",
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_name": title,
            "source_type": "evaluation_run",
            "source_organization_name": "Dramaturg",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "dramaturg", "version": __version__},
        "model_info": model,
        "evaluation_results": results,
    }


def _model(name: str, provider: str, model: str, weights: str) -> dict[str, Any]:
    parts = [part for part in model.split("/") if part]
    named = len(parts) > 1 and not model.startswith("/")  # a server may call a model by its path
    return {
        "name": name,
        "id": "/".join(parts if named else [provider, *parts]),
        "inference_platform": provider,
        "additional_details": {
            "deployment_type": "unknown",
            "model_availability": {"open": "open_weights", "closed": "closed_weights"}.get(
                weights, "unknown"
            ),
        },
    }


def _judging(loaded: LoadedBoard, catalog: Catalog | None) -> dict[str, Any] | None:
    """Who judged, and by which prompt; None where rules did."""
    board, suite = loaded.board, loaded.suite
    if facts_of(board.protocol).rule_judge or not board.judges:
        return None
    judges = []
    for judge in board.judges:
        entry = catalog.models.get(judge) if catalog else None
        model = (
            _model(entry.name, entry.provider, entry.model, entry.weights)
            if entry
            else _model(judge, "unknown", judge, "unknown")
        )
        judges.append({"model_info": model})
    path = template_file(suite.templates, "judge", board.language)[0] if suite else None
    prompt = read_text(path) if path is not None and path.is_file() else "unknown"
    return {"judges": judges, "input_prompt": prompt, "aggregation_method": "average"}


def _results(
    loaded: LoadedBoard, row: BoardRow, info: PlayerInfo, judging: dict[str, Any] | None
) -> Iterator[dict[str, Any]]:
    """The mean over the criteria, the same corrected for length, and each criterion."""
    board = loaded.board
    facts = facts_of(board.protocol)
    numbers: dict[str, tuple[float | None, float | None]] = {"score": (row.score, row.score_ci)}
    if facts.length_rule != "none":
        numbers["length_norm_score"] = (row.length_norm_score, row.length_norm_ci)
    numbers |= {name: (value, None) for name, value in row.criteria.items()}
    low, high = facts.scale or ("-Infinity", "Infinity")
    for name, (value, spread) in numbers.items():
        if value is None:
            continue
        details: dict[str, Any] = {"score": value, "details": _counts(row)}
        if spread is not None:
            details["uncertainty"] = {
                "confidence_interval": {
                    "lower": value - spread,
                    "upper": value + spread,
                    "confidence_level": board.confidence,
                    "method": "bootstrap over conversations, half width on either side",
                },
                "num_samples": row.conversations_scored,
                "num_bootstrap_samples": board.resamples,
            }
        metric = {
            "metric_id": f"{board.protocol}.{name}",
            "metric_name": name.replace("_", " "),
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": low,
            "max_score": high,
        }
        sent = {key: info.sampling[key] for key in _SENT if info.sampling.get(key) is not None}
        yield {
            "evaluation_result_id": f"{board.suite}/{board.language}/{name}",
            "evaluation_name": f"{board.suite} {board.language}: {name}",
            "source_data": {
                "dataset_name": f"{board.suite} {board.version} {board.language}",
                "source_type": "other",
            },
            "metric_config": metric | ({"llm_scoring": judging} if judging else {}),
            "score_details": details,
            "generation_config": {"generation_args": sent},
        }


def _counts(row: BoardRow) -> dict[str, str]:
    """What a reader needs beside a score; the schema wants text."""
    counts: dict[str, object] = {
        "rank": row.rank,
        "conversations": row.conversations,
        "conversations_scored": row.conversations_scored,
        "conversations_failed": row.conversations_failed,
        "refusal_ratio": row.refusal_ratio,
        "mean_answer_characters": row.avg_length,
    }
    return {key: "unknown" if value is None else str(value) for key, value in counts.items()}
