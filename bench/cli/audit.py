"""``bench audit``: check the evidence and recompute the numbers."""

from __future__ import annotations

import sys

import click

from bench.cli.options import Places, complete_suites, places
from bench.cli.output import listing


@click.command()
@click.argument("suite_name", metavar="[SUITE]", shell_complete=complete_suites, required=False)
@listing("text")
@click.option("--strict", is_flag=True, help="Count warnings (stale or missing evidence) as errors.")
@places
def audit(suite_name: str | None, form: str, strict: bool, where: Places) -> None:
    """Check all results, or those of SUITE.

    Changes nothing, and exits with status 1 if there is an error. Without SUITE, also checks the published
    lists in results/external/ and the human studies in results/human/.

    \b
    It checks
      - every file against its schema, digest and place;
      - every judgement against the judged messages and the judge's raw replies;
      - every fingerprint against the current prompts and models;
      - every board.json against the numbers recomputed from the evidence;
      - published scores against their digest and scale.
    """
    from bench.audit import audit_tree
    from bench.audit.findings import text_lines
    from bench.boards.loading import all_suites, catalog_of
    from bench.records import canonical
    from bench.tables import printable

    report = audit_tree(
        where.evidence(suite_name),
        all_suites(where.layers),
        catalog_of(where.models),
        suite=suite_name,
        strict=strict,
    )
    if form == "json":
        click.echo(canonical(report.plain()), nl=False)
    else:
        for line in text_lines(report):
            click.echo(printable(line))
    if not report.ok:
        sys.exit(1)
