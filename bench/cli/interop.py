"""``bench import``: results of other projects, and cards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import click

from bench.cli.cards import import_card_command
from bench.cli.common import F, Suggesting, together
from bench.cli.options import Places, places
from bench.errors import UserError
from bench.suites import suite_files
from bench.tables import counted


@click.group("import", cls=Suggesting)
def import_() -> None:
    """Import results or character cards."""


import_.add_command(import_card_command)


@import_.command("ping-pong-bench")
@click.argument("path", metavar="PATH", type=click.Path(exists=True, path_type=Path))
@click.option("--language", "-l", required=True, metavar="L", help="The language of the conversations.")
@click.option(
    "--suite", "suite_name", metavar="NAME", help="Suite to import into (default: ping-pong-bench)."
)
@click.option(
    "--judge",
    "-j",
    "judges",
    multiple=True,
    metavar="JUDGE",
    help="Only files of this judge, as in the file names (repeatable).",
)
@click.option(
    "--interrogator",
    "interrogators",
    multiple=True,
    metavar="Z",
    help="Only files of this interrogator, as in the file names (repeatable).",
)
@places
def ping_pong_bench(
    path: Path,
    language: str,
    suite_name: str | None,
    judges: tuple[str, ...],
    interrogators: tuple[str, ...],
    where: Places,
) -> None:
    """Import results of the public ping_pong_bench.

    PATH is one result file of that repository, or a folder of them, of version 1 or 2. Version 1 has another
    scale and goes into the suite NAME-v1. Files of an experiment with several interrogators
    (`..._interrogator_Z.json`) go into one suite per interrogator, NAME-z; compare these with
    `bench analyse --swap-with`. Invalid data is skipped and reported with its file and place.
    """
    from bench.boards.loading import all_suites, catalog_of
    from bench.foreign import problem_lines
    from bench.interop.pingpong_files import Choice
    from bench.interop.pingpong_import import import_pingpong

    report = import_pingpong(
        where.tree(),
        path,
        language=language,
        suite=suite_name,
        own_suites=frozenset(all_suites(where.layers)),
        catalog=catalog_of(where.models),
        choice=Choice(frozenset(judges), frozenset(interrogators)),
    )
    if not report.files and (judges or interrogators):
        raise UserError(
            "no file name has this judge and interrogator",
            where=str(path),
            hint="File names: judge_<judge>_player_<player>_interrogator_<interrogator>.json.",
        )
    if not report.files and not report.problems:
        raise UserError("no result file found", where=str(path), hint="Name a .json file, or their folder.")
    for line in problem_lines(report.problems):
        click.echo(line, err=True)
    click.echo(
        f"{counted(report.players, 'player')}, {counted(report.conversations, 'conversation')},"
        f" {counted(report.judgements, 'judgement')} from {counted(report.files, 'file')}"
        f" ({counted(report.written, 'record')} new or changed); {counted(len(report.problems), 'problem')}"
    )
    for suite in report.suites:
        click.echo(f"Show the board: `bench board {suite} --language {language}`")
    if not report.conversations:
        sys.exit(1)


def column(flag: str, default: str, text: str, *letter: str) -> Callable[[F], F]:
    """An option that names a column of a table."""
    return click.option(flag, *letter, default=default, show_default=True, metavar="COLUMN", help=text)


judge_columns = together(
    column("--judge", "judge", "Column of the judges.", "-j"),
    click.option("--one-judge", metavar="NAME", help="The only judge, if the table has no column of judges."),
)


def about_table(what: str, kind: str, *more: Callable[[Any], Any]) -> Callable[[F], F]:
    """FILE, and the options that say what another project published in it; ``more`` come after --language."""
    needed = partial(click.option, required=True)
    return together(
        click.argument("path", metavar="FILE", type=click.Path(exists=True, path_type=Path)),
        needed("--name", metavar="NAME", help=f"Name of the {kind}, such as other-bench."),
        needed("--title", metavar="TEXT", help="Title of the benchmark, as pages show it."),
        needed("--language", "-l", metavar="L", help="Language of the conversations, such as ja."),
        *more,
        needed("--url", metavar="URL", help=f"Page of the project that published the {what}."),
        needed("--commit", metavar="C", help="Its commit, version, or date of the download."),
        needed("--licence", metavar="NAME", help=f"Licence of the {what}, such as MIT."),
    )


def _suites(where: Places) -> Collection[str]:
    """Names that no imported table may have."""
    return suite_files(where.layers) if where.prompts.is_dir() else ()


@import_.command("comparisons")
@about_table("verdicts", "table")
@column("--first", "model_a", "Column of the player shown first.")
@column("--second", "model_b", "Column of the player shown second.")
@column("--winner", "winner", "Column that says a, b or tie, or the winner's name.")
@click.option("--margin", metavar="COLUMN", help="Column of signed whole numbers, in place of --winner.")
@column("--scene", "question_id", "Column of the scene or question.")
@judge_columns
@click.option("--order-unknown", is_flag=True, help="The first player was not always the one shown first.")
@click.option("--replace", is_flag=True, help="Replace the table that has this name.")
@places
def comparisons(
    path: Path, name: str, replace: bool, order_unknown: bool, where: Places, **rest: Any
) -> None:
    """Import pairwise judgements of another project.

    FILE has a line for each verdict: .csv, .tsv, .jsonl or .parquet, also .gz. Only these figures are kept,
    in results/compared/NAME/, with their source. `bench rating NAME` rates the players. If anything is
    wrong, nothing is written.
    """
    from bench.interop.comparison_import import ComparedColumns, import_comparisons
    from bench.results.compared import compared_folder

    columns = {key: rest.pop(key) for key in ComparedColumns.__dataclass_fields__}
    table = import_comparisons(
        where.tree(),
        path,
        name,
        ComparedColumns(**columns),
        rest | {"order_known": not order_unknown},
        suites=_suites(where),
        replace=replace,
    )
    click.echo(f"{counted(len(table.lines), 'comparison')} in {compared_folder(where.tree(), name)}")
    click.echo(f"Show the ratings: `bench rating {name}`")


@import_.command("scores")
@about_table(
    "scores",
    "board",
    click.option(
        "--scale", required=True, nargs=2, type=int, metavar="LOW HIGH", help="Lowest and highest score."
    ),
)
@click.option(
    "--licence-file",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Its text, which is kept beside the scores.",
)
@click.option("--conversations", metavar="URL", help="Page with the conversations (default: that of --url).")
@click.option("--description", metavar="TEXT", help="A sentence about the benchmark (default: its counts).")
@click.option("--changes", metavar="TEXT", help="What was done to the scores (default: copied as they are).")
@column("--player", "player", "Column of the models.", "-p")
@click.option(
    "--scene",
    "scenes",
    multiple=True,
    default=["scene"],
    show_default=True,
    metavar="COLUMN",
    help="Column of the scenes; repeat it if several columns name a scene together.",
)
@click.option("--character", metavar="COLUMN", help="With --situation, in place of --scene.")
@click.option("--situation", metavar="COLUMN", help="With --character, in place of --scene.")
@judge_columns
@column("--criterion", "criterion", "Column of the criteria.")
@click.option(
    "--no-criterion", is_flag=True, help="The table has only one criterion, and no column of criteria."
)
@column("--score", "score", "Column of the scores.")
@click.option("--replace", is_flag=True, help="Replace the scores that have this name.")
@places
def scores(
    path: Path,
    name: str,
    licence_file: Path,
    character: str | None,
    situation: str | None,
    scenes: tuple[str, ...],
    no_criterion: bool,
    replace: bool,
    where: Places,
    **rest: Any,
) -> None:
    """Import scores that another benchmark published.

    FILE has a line for each player, scene, judge and criterion: .csv, .tsv, .jsonl or .parquet, also .gz.
    Only these figures are kept, in results/published/NAME/, with source and licence. They get a board,
    analyses and pages like other suites; the conversations stay where they are. If anything is wrong, nothing
    is written.
    """
    from bench.interop.score_import import TableColumns, import_scores

    if (character is None) != (situation is None):
        raise click.UsageError("--character and --situation go together.")
    grid = None if character is None or situation is None else (character, situation)
    columns = {key: rest.pop(key) for key in ("player", "judge", "one_judge", "criterion", "score")}
    if no_criterion:
        columns["criterion"] = None
    table = import_scores(
        where.tree(),
        path,
        name,
        TableColumns(scene=scenes, grid=grid, **columns),
        rest,
        licence_file,
        suites=_suites(where),
        replace=replace,
    )
    click.echo(f"{counted(len(table.lines), 'score')} in {where.tree().table_folder(name)}")
    if table.missing or table.incomplete:
        click.echo(
            f"Missing judgements: {table.missing} (not every judge scored every player in every scene)."
            f" Not counted because a criterion is missing: {table.incomplete}."
        )
    click.echo(f"Show the board: `bench board {name} --language {table.source.language}`")
