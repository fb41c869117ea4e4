"""``bench versus``: run two models on a suite, and say whether they differ."""

from __future__ import annotations

from typing import Any

import click

from bench.cli.asking import RUN_JUDGES, arguments, spending
from bench.cli.options import ONLY_LANGUAGE, Places, complete_models, complete_suites, naming, places
from bench.cli.output import listing, print_json
from bench.cli.run_display import RunDisplay, finish
from bench.cli.stopping import stoppable
from bench.errors import UserError
from bench.run.prices import Spending


@click.command()
@click.argument("suite", metavar="SUITE", shell_complete=complete_suites)
@click.argument("first", metavar="A", shell_complete=complete_models)
@click.argument("second", metavar="B", shell_complete=complete_models)
@naming("language", "l", ONLY_LANGUAGE)
@naming("judge", "j", RUN_JUDGES)
@listing("text")
@spending
@places
def versus(
    suite: str, first: str, second: str, form: str, limits: Spending, where: Places, **part: Any
) -> None:
    """Run two models, and say whether they differ.

    Plays what is missing, as `bench run` does, and compares the two on the scenes that both have, by the
    robust scoring. Other players of the suite play no part.
    """
    from bench.boards.loading import all_suites, load_board
    from bench.run.run_suite import run_suite
    from bench.scores.separate import sentence, separation

    if first == second:
        raise UserError(f"{first!r} is the same player twice", hint="Name two players.")
    with stoppable(), RunDisplay(results=form == "text") as display:
        report = run_suite(
            suite, players=(first, second), **part, **arguments(where, limits), listener=display
        )
    finish(report, show=form == "text")
    tree, suites = where.evidence(suite), all_suites(where.layers)
    comparisons = []
    for language in part["languages"] or [code for _, code in tree.boards(suite)]:
        loaded = load_board(tree, suite, language, prompts=suites, judges=part["judges"])
        frames = loaded.frames.only_players({first, second})
        made = separation(frames, first, second, weights=loaded.weights)
        comparisons.append(made.plain() | {"sentence": sentence(made)})
        if form == "text":
            click.echo(f"{suite} {language}: {sentence(made)}")
    if form == "json":
        print_json(comparisons)
