"""site: the static website."""

from __future__ import annotations

from pathlib import Path

import click

from bench.cli.options import Places, places

OUTPUT = click.option(
    "--output", "-o", default="build/site", show_default=True, metavar="DIR", help="The built site."
)


@click.group()
def site() -> None:
    """Build the website, or serve a built one."""


@site.command()
@OUTPUT
@click.option("--site-url", default="", metavar="URL", help="Where it will be published, for its sitemap.")
@click.option(
    "--source-url",
    default="",
    metavar="URL",
    help="Where the results folder can be browsed; pages then link each record.",
)
@places
def build(output: str, site_url: str, source_url: str, where: Places) -> None:
    """Build the website of all boards.

    Files that would not change are left alone.
    """
    from bench.boards.loading import all_suites, load_board
    from bench.site.build import build_site
    from bench.site.labels import SuiteLabel

    suites = all_suites(where.prompts)
    labels = {
        name: SuiteLabel(
            suite.entry.title,
            suite.entry.description,
            suite.entry.demonstration,
            dict.fromkeys(suite.scenes, suite.judges),
        )
        for name, suite in suites.items()
    }
    report = build_site(
        where.tree(),
        output=Path(output),
        suites=labels,
        evidence=lambda tree, suite, language: load_board(tree, suite, language, prompts=suites),
        catalog=where.catalog() if where.models.is_file() else None,
        site_url=site_url,
        source_url=source_url,
    )
    click.echo(
        f"{report.pages} pages, {report.conversations} of them conversations, in {report.seconds:.1f} s;"
        f" {report.written} files written, {report.removed} removed"
    )
    click.echo(f"Open {report.index.resolve().as_uri()}, or run `bench site serve`.")


@site.command()
@OUTPUT
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
def serve(output: str, port: int) -> None:
    """Serve a built website until Ctrl-C."""
    from bench.site.serve import serve_site

    serve_site(Path(output), port)
