"""``bench new``: write suites, characters, situations and catalogue entries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bench.cli.common import F, Suggesting, whole_number
from bench.cli.options import Places, complete_cards, complete_models, places

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def names(*flags: str, text: str, complete: Complete | None = None) -> Callable[[F], F]:
    """An option that takes several names, repeated or separated by commas."""
    return click.option(
        flags[0].removeprefix("--"),
        *flags,
        multiple=True,
        metavar="NAMES",
        shell_complete=complete,
        help=f"{text} Repeat it, or separate names by commas.",
    )


@click.group(cls=Suggesting)
def new() -> None:
    """Write a suite, card, situation or model entry."""


@new.command("suite")
@click.argument("name", metavar="NAME")
@names("--characters", "--character", "-c", text="Characters to play.", complete=complete_cards)
@names(
    "--situations",
    "--situation",
    "-s",
    text="Situations (default: all that suit the protocol).",
    complete=complete_cards,
)
@names("--players", "--player", "-p", text="Players that run by default.", complete=complete_models)
@names("--judges", "--judge", "-j", text="Judges.", complete=complete_models)
@click.option(
    "--interrogator",
    metavar="MODEL",
    default="",
    shell_complete=complete_models,
    help="Plays the user (default: the first judge).",
)
@click.option("--language", "-l", metavar="L", default="", help="Language (default: that of the characters).")
@click.option("--title", metavar="TEXT", default="", help="Title to display (default: from NAME).")
@click.option("--protocol", metavar="NAME", default="pingpong_v2", show_default=True)
@click.option("--greeting", is_flag=True, help="Open each chat with the card's first message.")
@whole_number("--max-turns", "Cut situations to N turns.")
@places
def suite(name: str, where: Places, **rest: Any) -> None:
    """Write the file of a suite.

    It is written beside its characters: a suite with private cards becomes private too.
    """
    from bench.protocols import protocol_for
    from bench.suites.drafts import NewSuite, write_suite

    if not rest["characters"]:
        raise click.UsageError("Name the characters with --characters.")
    catalog = where.catalog()
    path, notes = write_suite(
        NewSuite(name, **rest), where.layers, catalog, lambda suite, code: protocol_for(suite, code, catalog)
    )
    for note in notes:
        click.echo(note)
    player = "" if rest["players"] else " --player MODEL"
    click.echo(f"{path}\nNext: `bench plan {name}{player}`, then `bench run {name}{player}`.")


def _template(kind: str, singular: str) -> click.Command:
    @click.command(singular, help=f"Write a commented file for a {singular}.")
    @click.argument("name", metavar="ID")
    @click.option(
        "--language", "-l", default="en", show_default=True, metavar="L", help="Language of the text."
    )
    @click.option("--private", is_flag=True, help="Write it into `private`, which git ignores.")
    @places
    def command(name: str, language: str, private: bool, where: Places) -> None:
        from bench.suites.drafts import write_template

        path = write_template(kind, name, language, where.layers, private=private)
        click.echo(f"{path}\nEdit it, then run `bench check`.")

    return command


new.add_command(_template("characters", "character"))
new.add_command(_template("situations", "situation"))


@new.command("model")
@click.argument("sources", metavar="FILE|URL...", nargs=-1, required=True)
@click.option(
    "--id", "identity", metavar="ID", default="", help="Name of the entry (default: from the model)."
)
@click.option("--name", metavar="TEXT", default="", help="Name to display (default: what the model says).")
@names("--model", text="With a URL that offers many models: which of them.")
@click.option("--key-env", metavar="VARIABLE", default="", help="Environment variable with the API key.")
@places
def model(
    sources: tuple[str, ...],
    identity: str,
    name: str,
    model: tuple[str, ...],
    key_env: str,
    where: Places,
) -> None:
    """Add GGUF files or a server's models.

    They get entries in models.toml. Name, family, size and licence are read from the file. A server is asked
    for its models; URL is its base address, such as http://127.0.0.1:8000/v1.
    """
    from bench.chat.listing import entries_of_server
    from bench.local.entries import entry_of_file
    from bench.suites.new_models import NewModel, add_models

    catalog = where.catalog()
    made: list[NewModel] = []
    for source in sources:
        if "://" in source:
            made += entries_of_server(source, catalog, wanted=model, key_env=key_env)
        else:
            made.append(entry_of_file(Path(source), catalog))
    for entry in add_models(where.models, catalog, made, identity=identity, name=name):
        click.echo(f"{entry}: added to {where.models}")
    click.echo("Next: `bench plan SUITE --player ID`.")
