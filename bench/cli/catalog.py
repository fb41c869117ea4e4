"""``bench suites`` and ``bench models``: lists of what can be run."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.chat.secrets import Environment
from bench.cli.options import Places, places
from bench.cli.output import listing, print_json
from bench.errors import CatalogError, UserError, each
from bench.suites import load_suite, suite_files
from bench.suites.layers import check_suite_name, suite_paths
from bench.tables import printable

PIPED_WIDTH = 400
"""Columns where the output is not a terminal: wide enough for any row."""


def _print(heads: Sequence[str], rows: Sequence[Sequence[object]], form: str) -> None:
    """Print rows as JSON, or as a table without cutting names that users type."""
    if form == "json":
        print_json([dict(zip(heads, row, strict=True)) for row in rows])
        return
    table = Table(*heads, box=None)
    for row in rows:
        table.add_row(*(Text(_text(cell)) for cell in row))
    for column in table.columns:
        column.overflow = "fold"
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPED_WIDTH)
    console.print(table)


def _text(value: object) -> str:
    if isinstance(value, dict):  # the numbers of scenes of a suite's languages, each once
        counts = {"?" if count is None else str(count) for count in value.values()}
        return " / ".join(sorted(counts, key=lambda count: (len(count), count)))
    texts = value if isinstance(value, list) else ["-" if value is None else value]
    return printable(", ".join(map(str, texts)))


@click.command()
@listing("table")
@places
def suites(form: str, where: Places) -> None:
    """List the suites, their languages and judges.

    Also their protocol, number of scenes and interrogator. Published scores of other benchmarks come last.
    Mistakes in suite files follow on standard error.
    """
    heads = ("suite", "protocol", "languages", "scenes", "interrogator", "judges", "title")
    rows: list[Sequence[object]] = []
    faults: dict[str, None] = {}
    try:
        each(check_suite_name, suite_paths(where.layers))
    except CatalogError as error:
        faults |= dict.fromkeys(fault.line() for fault in (error, *error.others))
    for name in suite_files(where.layers):
        try:
            suite = load_suite(where.layers, name, check=False)
        except CatalogError as error:
            faults[error.line()] = None
            continue
        scenes: dict[str, int | None] = {}
        for language in suite.scenes:
            try:
                scenes[language] = len(suite.scenes[language].pairs)
            except CatalogError as error:
                faults[error.line()] = None
                scenes[language] = None
        own = (suite.interrogator, list(suite.judges), suite.entry.title)
        rows.append((name, suite.protocol, list(suite.scenes), scenes, *own))
    tree = where.tree()
    for name in filter(tree.is_table, tree.score_tables()):
        try:
            scores = next(tree.score_table(*board) for board in tree.boards(name))
        except UserError as error:
            faults[error.line()] = None
            continue
        assert scores is not None
        language, judges = scores.source.language, sorted({line.judge for line in scores.lines})
        scenes = {language: len({(line.character, line.situation) for line in scores.lines})}
        rows.append((name, "(published)", [language], scenes, None, judges, scores.source.title))
    _print(heads, rows, form)
    for line in faults:
        click.echo(f"bench: {line}", err=True)


@click.command()
@listing("table")
@places
def models(form: str, where: Places) -> None:
    """List the models with prices and missing keys.

    Prices are in US dollars per million tokens. Nobody has checked ids that are marked as unverified.
    """
    catalog = where.catalog()
    rows: list[Sequence[object]] = []
    environment = Environment()
    for name, model in catalog.models.items():
        variable = catalog.providers[model.provider].api_key_env
        key = "not needed"
        if variable is not None:
            key = f"{variable} {'set' if environment.get(variable) else 'not set'}"
        prices = "unknown" if model.prices is None else f"{model.prices.input} / {model.prices.output}"
        identity = model.model + (" (unverified)" if model.unverified else "")
        rows.append((name, model.name, model.provider, identity, model.weights, prices, key))
    _print(("model", "name", "provider", "id", "weights", "$ per M in / out", "key"), rows, form)
