"""suites, models: lists of what can be run."""

from __future__ import annotations

import os

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.cli.options import Places, places
from bench.errors import CatalogError, UserError
from bench.suites import load_suite, suite_files

PIPED_WIDTH = 400
"""Columns where the output is not a terminal: wide enough for any row."""


def _print(table: Table) -> None:
    """Print a table without cutting names, which users type after --player and --judge."""
    for column in table.columns:
        column.overflow = "fold"
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPED_WIDTH)
    console.print(table)


@click.command()
@places
def suites(where: Places) -> None:
    """List the suites, their languages and judges.

    Also their protocol, number of scenes and interrogator. Scores that other benchmarks published come last.
    Faults of their files follow on standard error.
    """
    table = Table("suite", "protocol", "languages", "scenes", "interrogator", "judges", "title", box=None)
    faults: dict[str, None] = {}
    for name in suite_files(where.prompts):
        try:
            suite = load_suite(where.prompts, name, check=False)
        except CatalogError as error:
            faults[error.line()] = None
            continue
        counts: set[str] = set()
        for language in suite.scenes:
            try:
                counts.add(str(len(suite.scenes[language].pairs)))
            except CatalogError as error:
                faults[error.line()] = None
                counts.add("?")
        table.add_row(
            name,
            suite.protocol,
            " ".join(suite.scenes),
            " / ".join(sorted(counts, key=lambda count: (len(count), count))),
            suite.interrogator or "-",
            ", ".join(suite.judges),
            Text(suite.entry.title),
        )
    tree = where.tree()
    for name in filter(tree.is_table, tree.score_tables()):
        try:
            scores = next(tree.score_table(*board) for board in tree.boards(name))
        except UserError as error:
            faults[error.line()] = None
            continue
        assert scores is not None
        judges = ", ".join(sorted({line.judge for line in scores.lines}))
        scenes = str(len({(line.character, line.situation) for line in scores.lines}))
        title = Text(scores.source.title)
        table.add_row(name, "(published)", scores.source.language, scenes, "-", Text(judges), title)
    _print(table)
    for line in faults:
        click.echo(f"bench: {line}", err=True)


@click.command()
@places
def models(where: Places) -> None:
    """List the models with prices and missing keys.

    They come from models.toml. Prices are in US dollars per million tokens. Nobody has checked ids that are
    marked as unverified.
    """
    catalog = where.catalog()
    table = Table("model", "name", "provider", "id", "weights", "$ per M in / out", "key", box=None)
    for name, model in catalog.models.items():
        variable = catalog.providers[model.provider].api_key_env
        key = "not needed"
        if variable is not None:
            key = f"{variable} {'set' if os.environ.get(variable) else 'not set'}"
        prices = "unknown" if model.prices is None else f"{model.prices.input} / {model.prices.output}"
        identity = Text(model.model + (" (unverified)" if model.unverified else ""))
        table.add_row(name, Text(model.name), model.provider, identity, model.weights, prices, key)
    _print(table)
