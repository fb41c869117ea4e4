"""``bench propose``: plan, add or run a model that an issue proposes."""

from __future__ import annotations

from typing import TextIO

import click

from bench.cli.asking import arguments, spending
from bench.cli.options import Places, places
from bench.run.prices import Spending


@click.command()
@click.argument("issue", metavar="FILE", type=click.File(encoding="utf-8"))
@click.option("--add", is_flag=True, help="Add the entry to models.toml.")
@click.option("--run", "run_it", is_flag=True, help="Run the model that was added.")
@spending
@places
def propose(issue: TextIO, add: bool, run_it: bool, limits: Spending, where: Places) -> None:
    """Plan, add or run a model that an issue proposes.

    FILE is the text of the issue form (`-`: standard input). Without an option, prints calls and cost, which
    needs no key.
    """
    from bench.cli.run_display import RunDisplay, print_report
    from bench.cli.stopping import stoppable, stopped_by_budget
    from bench.run.proposals import entry_for, plan_text, read_proposal
    from bench.run.run_suite import run_suite
    from bench.suites.new_models import add_models

    text, catalog = issue.read(), where.catalog()
    if run_it:
        added = read_proposal(text, catalog, added=True)
        with stoppable(), RunDisplay() as display:
            report = run_suite(added.suite, players=[added.id], **arguments(where, limits), listener=display)
        print_report(report)
        if report.budget_reached:
            raise stopped_by_budget(report.stats)
        return
    proposal = read_proposal(text, catalog)
    if add:
        for name in add_models(where.models, catalog, [entry_for(proposal)]):
            click.echo(f"{name}: added to {where.models}")
    else:
        click.echo(plan_text(proposal, catalog, where.results, where.layers), nl=False)
