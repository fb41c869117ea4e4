"""The JSON Schema of every kind of file and output: schemas/ holds them, `bench schemas` writes them."""

from __future__ import annotations

from typing import Any

from bench.agreement.report import Agreement
from bench.annotate.records import STUDY_TYPES
from bench.audit.findings import AuditReport
from bench.likeness import LikenessLine
from bench.records import RECORD_TYPES, SCHEMA_VERSION, Record, json_schema
from bench.scores.analyses.report import Report
from bench.scores.board import Board
from bench.scores.rankmap import RankMap
from bench.scores.separate import Separation
from bench.toml_entries import Entry

DERIVED: dict[str, type[Record]] = {
    "board": Board,
    "analyses": Report,
    "rank-map": RankMap,
    "separation": Separation,
    "audit": AuditReport,
    "agreement": Agreement,
}
"""What is made of the evidence, by the name of its schema; records are in RECORD_TYPES."""


def derived_schema(name: str) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of one of DERIVED."""
    schema = DERIVED[name].model_json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Rolecall {name}, version {SCHEMA_VERSION}",
        **{key: value for key, value in schema.items() if key != "title"},
    }


ITEMS: dict[str, type[Entry]] = {"likeness-item": LikenessLine}
"""One line of a data set that users bring, by the name of its schema."""


def item_schema(name: str) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of one of ITEMS."""
    schema = ITEMS[name].model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Rolecall {name}, one line of a data set",
        **{key: value for key, value in schema.items() if key != "title"},
    }


def all_schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its name, which is that of its file without ``.schema.json``."""
    records = {**RECORD_TYPES, **STUDY_TYPES}
    made = {name: json_schema(name, records) for name in records}
    made |= {name: derived_schema(name) for name in DERIVED}
    return made | {name: item_schema(name) for name in ITEMS}
