"""``bench import card`` and ``bench export card``: characters in the community's card format."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.cli.common import whole_number
from bench.cli.options import Places, complete_cards, naming, places
from bench.errors import UserError

if TYPE_CHECKING:
    from bench.interop.card_import import ImportedCard

LANGUAGE = click.option(
    "--language", "-l", required=True, metavar="L", help="Language of the card, such as de."
)


@click.command("card")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@LANGUAGE
@click.option("--name", default="", metavar="ID", help="Id of the character (default: from its name).")
@click.option("--licence", default="", metavar="NAME", help="Licence of the card; without one it is private.")
@click.option("--source", default="", metavar="TEXT", help="Where it comes from (default: its creator).")
@click.option("--summary", default="", metavar="TEXT", help="The line that the interrogator reads.")
@whole_number(
    "--greeting", "Greeting to use: 0 is the first message, 1 and up are the alternatives.", 0, 999, default=0
)
@click.option(
    "--instructions", is_flag=True, help="Also use its system prompt, post-history instructions and note."
)
@click.option("--replace", is_flag=True, help="Replace a card that has this id.")
@click.option("--suite", default="", metavar="NAME", help="Also write a suite with these cards.")
@naming("player", "p", "With --suite: a player.")
@naming("judge", "j", "With --suite: a judge.")
@naming("situation", "s", "With --suite (default: all).")
@whole_number("--max-turns", "With --suite: cut situations to N turns.")
@places
def import_card_command(
    files: tuple[Path, ...],
    language: str,
    name: str,
    licence: str,
    source: str,
    summary: str,
    greeting: int,
    instructions: bool,
    replace: bool,
    suite: str,
    players: tuple[str, ...],
    judges: tuple[str, ...],
    situations: tuple[str, ...],
    max_turns: int | None,
    where: Places,
) -> None:
    """Import community character cards (V1, V2, V3).

    FILE is a .json, .png or .charx file. Without --licence the card goes into the folder `private`, which git
    ignores, and neither the card nor its results are committed or published. Macros such as {{char}} stay in
    the texts; a suite replaces them. The card is kept with all its fields, and `bench export card` writes it
    back.
    """
    from bench.interop.card_format import Choices
    from bench.interop.card_import import import_card
    from bench.suites.drafts import check_new_name

    if name and len(files) > 1:
        raise click.UsageError("--name names one card: import the files one by one.")
    playing = {"players": players, "judges": judges, "situations": situations, "max_turns": max_turns}
    if any(playing.values()) and not suite:
        raise click.UsageError("--player, --judge, --situation and --max-turns go with --suite.")
    if suite and not judges:
        raise click.UsageError("--suite needs a judge: name a model of `bench models` with --judge.")
    for model in (*players, *judges):  # before anything is written
        where.catalog().model(model)
    if suite:
        check_new_name(suite, where.layers)
    choices = Choices(greeting, instructions, summary, source, licence)
    made, failed = [], False
    for file in files:
        try:
            card = import_card(file, where.layers, language, choices, name=name, replace=replace)
        except UserError as error:
            failed = True
            click.echo(f"bench: {error.line()}", err=True)
            continue
        made.append(card)
        click.echo(f"{card.id}: {card.path}" + (" (private: no --licence)" if card.private else ""))
        for note in card.notes:
            click.echo(f"  {note}")
    if failed:
        if suite:
            click.echo(f"bench: the suite {suite} was not written, because a card is missing", err=True)
        sys.exit(1)
    if suite:
        _write_suite(suite, made, where, language, **playing)


def _write_suite(name: str, cards: Sequence[ImportedCard], where: Places, language: str, **rest: Any) -> None:
    """Write a suite with ``cards``, whose chats open with their greetings."""
    from bench.protocols import protocol_for
    from bench.suites.drafts import NewSuite, write_suite

    catalog = where.catalog()
    layers = tuple(dict.fromkeys((*where.layers, *(card.path.parents[2] for card in cards))))
    new = NewSuite(name, tuple(card.id for card in cards), language=language, greeting=True, **rest)
    path, notes = write_suite(new, layers, catalog, lambda suite, code: protocol_for(suite, code, catalog))
    run = f"bench run {name}" if new.players else f"bench run {name} --player MODEL"
    site = "bench site build" + (" --private" if any(card.private for card in cards) else "")
    for line in (*notes, f"{path}", f"Next: `{run}`, then `{site}`."):
        click.echo(line)


@click.command("card")
@click.argument("name", metavar="ID", shell_complete=complete_cards)
@LANGUAGE
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A .json, .png or .charx file (default: ID.json).",
)
@places
def export_card_command(name: str, language: str, output: Path | None, where: Places) -> None:
    """Write a character as a community card (V3).

    An imported card is written with every field that it came with, and with your changes; with its pictures
    too, if FILE is of the kind that it came in.
    """
    from bench.interop.card_import import export_card, kept_form
    from bench.suites import Card, read_entry
    from bench.suites.layers import entries_in

    written = export_card(where.layers, language, name, output or Path(f"{name}.json"))
    click.echo(written)
    path = entries_in(where.layers, "characters", language)[name]
    if (kept := kept_form(path)) and written.suffix.lower() != f".{kept}":
        click.echo(f"Its pictures are left out: only a .{kept} file has them.", err=True)
    if read_entry(Card, path, path.parents[2]).private:
        click.echo("The card has no licence: do not publish it.", err=True)
