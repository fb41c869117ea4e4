"""``bench schemas``: the JSON Schema of every kind of file that the project reads or writes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from bench.records import RECORD_TYPES, SCHEMA_VERSION
from bench.schemas import json_schema
from bench.tables import counted


@cache
def all_schemas() -> dict[str, dict[str, Any]]:
    """Every schema by the name of its file without ``.schema.json``."""
    from bench.agreement.report import Agreement
    from bench.audit.findings import AuditReport
    from bench.protocols.human_likeness import LikenessLine
    from bench.results.comparison_records import Comparison
    from bench.results.events import Events
    from bench.results.studies import STUDY_TYPES
    from bench.scores.analyses.report import Report
    from bench.scores.board import Board
    from bench.scores.designs import DesignStudy
    from bench.scores.pairwise_records import Rating
    from bench.scores.rankmap import RankMap
    from bench.scores.rescore import Rescored
    from bench.scores.separate import Separation

    derived: dict[str, type[BaseModel]] = {
        "board": Board,
        "analyses": Report,
        "rank-map": RankMap,
        "rating": Rating,
        "separation": Separation,
        "rescored": Rescored,
        "design": DesignStudy,
        "audit": AuditReport,
        "agreement": Agreement,
    }
    version = f"version {SCHEMA_VERSION}"
    return {
        **{
            name: json_schema(kind, f"{name} record, {version}")
            for name, kind in (
                RECORD_TYPES | {"comparison": Comparison, "changes": Events} | STUDY_TYPES
            ).items()
        },
        **{name: json_schema(kind, f"{name}, {version}", "serialization") for name, kind in derived.items()},
        "likeness-item": json_schema(LikenessLine, "likeness-item, one line of a data set"),
    }


@click.command()
@click.option("--output", "-o", default="schemas", show_default=True, metavar="DIR", help="Output directory.")
def schemas(output: str) -> None:
    """Write the JSON Schemas of all files.

    They cover every record and everything that is computed from the records.
    """
    from bench.files import write_atomically
    from bench.records import canonical

    every = all_schemas()
    for name, schema in every.items():
        write_atomically(Path(output) / f"{name}.schema.json", canonical(schema).encode())
    click.echo(f"{counted(len(every), 'schema')} in {output}")
