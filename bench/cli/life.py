"""``bench remove`` and ``bench rename``: changes to the players of a board."""

from __future__ import annotations

from typing import Any

import click

from bench.cli.common import together
from bench.cli.options import ONLY_LANGUAGE, Places, complete_models, complete_suites, naming, places
from bench.tables import counted, printable

_reasoned = together(
    naming("language", "l", ONLY_LANGUAGE),
    click.option("--reason", required=True, metavar="TEXT", help="Reason, published with the board."),
    click.option("--date", "day", default="", metavar="DATE", help="Date of the change (default: today)."),
)


def _report(suite: str, done: Any) -> None:
    for each in done:
        click.echo(
            printable(f"{suite} {each.language}: {each.event.text} ({counted(each.records, 'record')})")
        )
    click.echo(f"Next: `bench board {suite} --write`, then `bench commit-results`.")


@click.command()
@click.argument("suite", metavar="SUITE", shell_complete=complete_suites)
@click.argument("player", metavar="PLAYER", shell_complete=complete_models)
@_reasoned
@places
def remove(suite: str, player: str, reason: str, day: str, languages: tuple[str, ...], where: Places) -> None:
    """Remove a player from the boards of SUITE.

    Its results are deleted. The reason is kept in the board's changes.json, which the audit, the feed and the
    page of changes show.
    """
    from bench.boards.life import remove_player

    tree = where.evidence(suite, languages)
    _report(suite, remove_player(tree, suite, player, reason, languages=languages, day=day))


@click.command()
@click.argument("suite", metavar="SUITE", shell_complete=complete_suites)
@click.argument("player", metavar="PLAYER", shell_complete=complete_models)
@click.argument("to", metavar="NEW")
@_reasoned
@places
def rename(
    suite: str, player: str, to: str, reason: str, day: str, languages: tuple[str, ...], where: Places
) -> None:
    """Rename a player on the boards of SUITE.

    All its records get the new id; conversations and scores stay as they are. Rename the entry in models.toml
    first: the name for people is taken from there.
    """
    from bench.boards.life import rename_player
    from bench.boards.loading import catalog_of

    tree, catalog = where.evidence(suite, languages), catalog_of(where.models)
    done = rename_player(tree, suite, player, to, reason, catalog=catalog, languages=languages, day=day)
    _report(suite, done)
