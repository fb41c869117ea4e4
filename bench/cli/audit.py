"""audit: is every committed file what it claims to be, and does every number follow?"""

from __future__ import annotations

import sys

import click

from bench.cli.options import Places, places


@click.command()
@click.argument("suite_name", metavar="[SUITE]", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--strict", is_flag=True, help="Count warnings (stale or missing evidence) as errors.")
@places
def audit(suite_name: str | None, form: str, strict: bool, where: Places) -> None:
    """Check all results, or those of SUITE.

    Changes nothing.
    Every file against its schema, its digest and its place; every judgement against the messages that it
    judged and the judge's raw replies; every fingerprint against the prompts and models of now; every
    board.json against the numbers that the evidence gives. Without SUITE also the published lists in
    results/external/ and the human studies in results/human/. Ends with status 1 where there is an error.
    """
    from bench.audit import audit_tree
    from bench.audit.findings import text_lines
    from bench.boards.loading import all_suites
    from bench.records import canonical

    catalog = where.catalog() if where.models.exists() else None
    report = audit_tree(
        where.evidence(suite_name), all_suites(where.prompts), catalog, suite=suite_name, strict=strict
    )
    if form == "json":
        click.echo(canonical(report.plain()), nl=False)
    else:
        for line in text_lines(report):
            click.echo(_printable(line))
    if not report.ok:
        sys.exit(1)


def _printable(line: str) -> str:
    """``line`` without control characters: file names and ids may hold any."""
    return "".join(c if c.isprintable() else "?" for c in line)
