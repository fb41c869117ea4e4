"""``bench export``: results for other programs."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.cli.cards import export_card_command
from bench.cli.common import one_of
from bench.cli.options import ONLY_LANGUAGE, Places, complete_suites, naming, places, private_option
from bench.cli.output import form_of
from bench.errors import UserError
from bench.tables import counted

if TYPE_CHECKING:
    from bench.results import ResultsTree

TABLE_FORMS = ("csv", "jsonl", "parquet")
FOLDER_FORMS = ("hf-dataset", "inspect", "every-eval-ever", "store")


class Export(click.Command):
    """The command that exports results, with a command of its own for cards."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:
        if args[:1] == ["card"]:
            return export_card_command.make_context(f"{info_name} card", args[1:], *rest, **extra)
        return super().make_context(info_name, args, *rest, **extra)


@click.command(cls=Export)
@click.argument("suite_name", metavar="SUITE", shell_complete=complete_suites, required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice([*TABLE_FORMS, *FOLDER_FORMS]),
    help="Default: csv, or what the suffix of --output says. `hf-dataset`: a folder of conversations and"
    " scores for Hugging Face and pandas. `inspect`: logs for `inspect view`. `every-eval-ever`: boards in"
    " that project's schema. `store`: Parquet for `bench query`; without SUITE, of all suites.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help="Output file (default: stdout), or output directory of a format that writes a folder.",
)
@click.option(
    "--licence", default="", metavar="NAME", help="hf-dataset: licence of the data, such as CC-BY-4.0."
)
@naming("language", "l", ONLY_LANGUAGE)
@one_of(
    "--table",
    ("scores", "conversations", "events", "flaws", "calls", "comparisons"),
    "Which table; see above.",
    "name",
)
@click.option("--columns", is_flag=True, help="Explain the columns of the table, and write nothing.")
@private_option
@places
def export(
    suite_name: str | None,
    form: str | None,
    output: Path | None,
    licence: str,
    languages: tuple[str, ...],
    name: str,
    columns: bool,
    private: bool,
    where: Places,
) -> None:
    """Export the results of SUITE as a table or folder.

    \b
    Tables:
      scores         every turn, judge and criterion, even if the board leaves it out
      conversations  every conversation, with the measures that need no judge:
                     repetition, stock phrases, other scripts, length, ...
      events         planted facts recalled or forgotten, attacks, repetition
      flaws          the flaws that judges listed, by turn
      calls          every player, interrogator and judge: replies that were cut
                     off, empty, asked for again, or ended in an unknown way
      comparisons    every comparison of two players, by order and criterion

    `bench export card ID` writes a character as a community card.
    """
    from bench.files import write_atomically
    from bench.interop.export import TABLES, exported, tidy_table

    if columns:
        width = max(map(len, TABLES[name])) + 1
        for column, meaning in TABLES[name].items():
            click.echo(f"{column:<{width}}{meaning}")
        return
    if form in FOLDER_FORMS and output is None:
        raise click.UsageError(f"{form} writes a folder: name it with --output.")
    if suite_name is None and form != "store":
        raise click.UsageError("Missing argument 'SUITE'.")
    tree = where.evidence(suite_name, languages, public=not private)
    if form in FOLDER_FORMS and output is not None:
        _write_folder(form, tree, suite_name or "", languages, output, licence, where)
        return
    form = form_of(form, output, TABLE_FORMS)
    if form == "parquet" and output is None:
        raise click.UsageError("Parquet is binary: name a file with --output.")
    table = tidy_table(tree, suite_name or "", languages, name)
    data = exported(table, form)
    if output is None:
        click.echo(data, nl=False)
    else:
        write_atomically(output, data)
        click.echo(f"{counted(len(table), 'row')} in {output}")


def _write_folder(
    form: str,
    tree: ResultsTree,
    suite: str,
    languages: tuple[str, ...],
    output: Path,
    licence: str,
    where: Places,
) -> None:
    """Write one of FOLDER_FORMS into the folder ``output``; other files there stay."""
    from bench.boards.loading import all_suites, catalog_of, counting_judges, load_board
    from bench.files import write_atomically
    from bench.interop.export import languages_with_results

    if output.exists() and not output.is_dir():
        raise UserError("not a folder", where=str(output), hint=f"{form} needs a folder.")
    chosen = languages_with_results(tree, suite, languages) if suite else list(languages)
    suites = all_suites(where.layers)

    def judges(name: str, present: Collection[str]) -> Collection[str]:
        return counting_judges(suites.get(name), present)

    if form == "store":
        from bench.interop.store import write_store

        if tree.hidden and not suite:
            names = ", ".join(sorted(tree.hidden))
            click.echo(f"Left out, because they play private cards: {names}.", err=True)
        counts = write_store(tree, output, [suite] if suite else [], chosen, judges)
        click.echo(", ".join(f"{count:,} {table}" for table, count in counts.items()) + f" in {output}")
        return
    title = suites[suite].entry.title if suite in suites else suite
    if form == "hf-dataset":
        from bench.interop.dataset import dataset_files

        files = dataset_files(tree, suite, chosen, title=title, licence=licence, judges=judges)
    elif form == "inspect":
        from bench.interop.inspect_logs import inspect_files

        files = inspect_files(tree, suite, chosen)
    else:
        from bench.interop.every_eval import every_eval_files

        boards = [load_board(tree, suite, language, prompts=suites) for language in chosen]
        files = every_eval_files(boards, title, catalog_of(where.models))
    for name, data in files.items():
        write_atomically(output / name, data)
    click.echo(f"{counted(len(files), 'file')} in {output}")
