"""`bench site`: build, index and serve the website."""

from __future__ import annotations

from pathlib import Path

import click

from bench.cli.common import Suggesting, whole_number
from bench.cli.options import Places, places, private_option
from bench.tables import counted

OUTPUT = click.option(
    "--output", "-o", default="build/site", show_default=True, metavar="DIR", help="Folder of the site."
)


@click.group(cls=Suggesting)
def site() -> None:
    """Build the website, or index or serve a built one."""


@site.command()
@OUTPUT
@click.option("--site-url", default="", metavar="URL", help="Address of the published site, for the sitemap.")
@click.option(
    "--source-url",
    default="",
    metavar="URL",
    help="Address where the results folder can be browsed. Pages then link to each record.",
)
@private_option
@places
def build(output: str, site_url: str, source_url: str, private: bool, where: Places) -> None:
    """Build the website of all boards.

    Rewrites only the files that change.
    """
    from bench.boards.loading import all_suites
    from bench.site.build import build_site

    tree = where.tree() if private else where.public()
    if tree.hidden:
        names = ", ".join(sorted(tree.hidden))
        click.echo(f"Left out, because they play private cards: {names}. --private shows them.")
    report = build_site(
        tree,
        output,
        prompts=all_suites(where.layers),
        models=where.models,
        site_url=site_url,
        source_url=source_url,
    )
    click.echo(
        f"{counted(report.pages, 'page')} ({counted(report.conversations, 'conversation')}) in"
        f" {report.seconds:.1f} s: {counted(report.written, 'file')} written, {report.removed} removed"
    )
    click.echo(f"Open {report.index.resolve().as_uri()}, or run `bench site serve`.")


@site.command()
@OUTPUT
@places
def index(output: str, where: Places) -> None:
    """Index a built website for its search.

    Needs Pagefind (`make search`). A build that changes a conversation deletes the index: run this after it.
    """
    from bench.site.talk_index import index_talks

    report = index_talks(where.results, Path(output))
    click.echo(
        f"{counted(report.conversations, 'conversation')} indexed in {report.seconds:.1f} s,"
        f" {report.size / 1e6:.1f} MB"
        + (f"; of {report.cut} long ones only the beginning" if report.cut else "")
    )


@site.command()
@OUTPUT
@whole_number("--port", "Port to listen on.", 0, 65535, default=8000)
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on."
)
def serve(output: str, port: int, host: str) -> None:
    """Serve a built website until Ctrl-C."""
    from bench.site.serve import serve_site

    serve_site(Path(output), port, host)
