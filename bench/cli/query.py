"""``bench query``: SQL over a store of results."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path

import click

from bench.cli.common import whole_number
from bench.cli.output import form_of, forms, write

QUERY_FORMS = ("table", "csv", "json", "markdown", "latex")
WIDEST = 60
"""Characters of a cell on the screen: a column may hold whole cards and conversations."""
LOOKED_AT = 20 * WIDEST
"""Characters of a cell that are made fit for the screen: runs of spaces become one."""


@click.command()
@click.argument("sql", metavar="SQL")
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    default="build/store",
    show_default=True,
    metavar="DIR",
    help="Folder of the store.",
)
@whole_number("--most", "Print at most N rows.", default=1000)
@forms(*QUERY_FORMS)
def query(sql: str, store: Path, most: int, form: str | None, output: Path | None) -> None:
    """Query a store of results with SQL.

    `bench export --format store -o build/store` writes it. Its tables are `conversations`, `scores` and
    `board` (each player's score and its mean by criterion, without intervals). A query that takes more than
    1.5 GB of memory is stopped (on Linux).
    """
    from bench.interop.sql import query as run_query
    from bench.tables import WRITERS, csv_table, cut, text_table

    form = form_of(form, output, QUERY_FORMS)
    columns, rows = run_query(store, sql, most + 1)
    if len(rows) > most:
        click.echo(f"bench: only the first {most:,} rows are shown; --most N shows more", err=True)
        rows = rows[:most]
    if form == "csv":
        write(csv_table(columns, rows), output)
    elif form == "json":
        named = [_json(dict(zip(columns, row, strict=True))) for row in rows]
        write(json.dumps(named, indent=2, ensure_ascii=False, default=str) + "\n", output)
    else:
        short = form == "table" and output is None
        cells = [[_text(cell, short=short) for cell in row] for row in rows]
        if short and any(len(text) > WIDEST for row in cells for text in row):
            click.echo("bench: long cells are cut; `--format json` or `csv` shows them whole", err=True)
            cells = [[cut(text, WIDEST) for text in row] for row in cells]
        words = {n for n in range(len(columns)) if any(isinstance(row[n], (str, list, dict)) for row in rows)}
        write(WRITERS.get(form, text_table)(columns, cells, words), output)


def _text(cell: object, *, short: bool) -> str:
    """A cell of a table. ``short``: only its beginning is needed, and a text may be millions long."""
    from bench.tables import shown

    if cell is None or isinstance(cell, int | float):
        return shown(cell)
    text = str(cell)
    if not short or len(text) <= LOOKED_AT:
        return shown(text)
    return shown(text[:LOOKED_AT]).ljust(WIDEST + 1)


def _json(value: object) -> object:
    """``value`` as JSON can say it: NaN and infinity are null, and keys are text."""
    match value:
        case float() if not math.isfinite(value):
            return None
        case Decimal():
            return float(value)
        case dict():
            return {str(key): _json(item) for key, item in value.items()}
        case list() | tuple():
            return [_json(item) for item in value]
        case _:
            return value
