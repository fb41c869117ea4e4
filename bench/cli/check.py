"""``bench check``: mistakes in what people write by hand."""

from __future__ import annotations

import gc
import sys

import click

from bench.cli.options import Places, places
from bench.cli.output import listing, print_json
from bench.tables import counted


@click.command()
@listing("text")
@places
def check(form: str, where: Places) -> None:
    """Check suites, cards, situations and models.toml.

    Lists all mistakes with file and line, and exits with status 1 if there are any.
    """
    gc.disable()  # it would take a tenth of the time, and finds little
    try:
        from bench.run.checking import check_all

        report = check_all(where.layers, where.models)
    finally:
        gc.enable()
    if form == "json":
        faults = [{"where": f.where, "fault": f.what, "hint": f.hint} for f in report.faults]
        print_json({"files": report.files, "faults": faults, "unchecked": report.unchecked})
    else:
        for fault in report.faults:
            click.echo(fault.line())
        if report.unchecked:
            click.echo(f"Not checked: {report.unchecked}.")
        click.echo(f"{counted(report.files, 'file')}, {counted(len(report.faults), 'mistake')}")
    if report.faults:
        sys.exit(1)
