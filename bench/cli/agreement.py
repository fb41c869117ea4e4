"""agreement: judges against people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli.options import Places, places
from bench.errors import UserError

if TYPE_CHECKING:
    from bench.agreement.panel import Panel


@click.command()
@click.argument("suite_name", metavar="[SUITE]", required=False)
@click.option("--language", "-l", metavar="L", help="Of the suite; else the study's.")
@click.option("--study", "study_name", metavar="NAME", help="A study of results/human/.")
@click.option(
    "--also",
    multiple=True,
    metavar="SUITE",
    help="A suite that judged the same conversations by another protocol or version; may be repeated.",
)
@click.option("--table", metavar="FILE", help="Instead of a study: a CSV, one line an item.")
@click.option("--human", metavar="A,B", help="With --table: its columns of people's scores.")
@click.option("--judges", metavar="A,B", help="With --table: its columns of judges' scores.")
@click.option(
    "--criterion", metavar="COLUMN", help="With --table: what a line scores, where that is not all the same."
)
@click.option("--item", metavar="COLUMN", help="With --table: which lines are of one item.")
@click.option("--group", metavar="COLUMN", help="With --table: the player, or what else items belong to.")
@click.option(
    "--ensemble",
    "ensembles",
    multiple=True,
    metavar="A,B",
    help="Show also the plain mean of these judges; may be repeated.",
)
@click.option(
    "--refusals",
    type=click.Choice(["left-out", "lowest", "as-scored"]),
    default="left-out",
    show_default=True,
    help="What becomes of a judgement that saw a refusal.",
)
@click.option(
    "--resample",
    "unit",
    type=click.Choice(["conversations", "players"]),
    default="conversations",
    show_default=True,
    help="What intervals draw: players, with all their conversations, speak of other players too.",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "csv", "json"]), default="text", show_default=True
)
@click.option("--output", "-o", metavar="FILE", help="Write there instead of to the terminal.")
@places
def agreement(
    suite_name: str | None,
    language: str | None,
    study_name: str | None,
    also: tuple[str, ...],
    table: str | None,
    human: str | None,
    judges: str | None,
    criterion: str | None,
    item: str | None,
    group: str | None,
    ensembles: tuple[str, ...],
    refusals: str,
    unit: str,
    form: str,
    output: str | None,
    where: Places,
) -> None:
    """Measure how well judges agree with people.

    Also how well people agree with each other.
    Without SUITE, of the suite that the study is of.

    \b
    Printed are, for each criterion and the final score:
      - Spearman's correlation of every judge, and of the mean of all judges, with the mean of the
        annotators: from -1 (the reverse order) over 0 (no relation) to 1 (the same order);
      - which judges agree with people better than others, surely;
      - five ways to combine judges, and what the plain mean costs against the best of them;
      - each annotator against each other, against the mean of all and against the mean of the others,
        and Krippendorff's alpha: how far people agree limits how far a judge can agree with them;
      - the players in the sample, and where judges and people part most.

    A * marks a p that is not below 0.0001, as in the paper. Intervals are 95%, from 2,000 resamples. Where a
    figure does not exist, a number in brackets leads to the reason below the table. All judges that judged
    the very words that people read are compared; where a conversation has changed since, it is left out.
    """
    from bench.agreement.forms import agreement_csv, agreement_json
    from bench.agreement.report import agreement_of
    from bench.cli.agreement_text import agreement_text
    from bench.files import write_atomically

    only_table = {"--human": human, "--judges": judges, "--criterion": criterion, "--item": item}
    only_table["--group"] = group
    if table is None:
        _refuse([name for name, value in only_table.items() if value is not None], "needs --table")
        panel = _study(suite_name, language, study_name, also, refusals, where)
    else:
        given = {"SUITE": suite_name, "--language": language, "--study": study_name, "--also": also or None}
        _refuse([name for name, value in given.items() if value is not None], "does not go with --table")
        panel = _table(table, human, judges, criterion, item, group)
    made = agreement_of(
        panel,
        refusals=refusals,
        unit="players" if unit == "players" else "conversations",
        ensembles=[_names(text) for text in ensembles],
    )
    text = {"text": agreement_text, "csv": agreement_csv, "json": agreement_json}[form](made)
    if output is None:
        click.echo(text, nl=False)
    elif write_atomically(Path(output), text.encode("utf-8")):
        click.echo(f"{output} written")
    else:
        click.echo(f"{output} is as it was")


def _refuse(names: list[str], why: str) -> None:
    if names:
        raise UserError(
            f"{', '.join(names)} {why}",
            hint="A study takes --study, and SUITE and --language; a CSV --table, --human and --judges.",
        )


def _names(text: str | None) -> list[str]:
    """Names between commas, each once."""
    return list(dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip()))


def _study(
    suite: str | None,
    language: str | None,
    study_name: str | None,
    also: tuple[str, ...],
    refusals: str,
    where: Places,
) -> Panel:
    from bench.agreement.study import study_panel
    from bench.results.studies import load_study, studies
    from bench.scores.frame import load

    if study_name is None:
        known = ", ".join(studies(where.results)) or "none yet"
        raise UserError(
            "--study is needed",
            hint=f"Studies: {known}. For a table of your own: --table FILE --human A,B --judges C,D.",
        )
    tree = where.evidence()
    study = load_study(where.results, study_name)
    suite, language = suite or study.file.suite, language or study.file.language
    boards = [
        load(where.evidence(name, [language]), name, language) for name in dict.fromkeys([suite, *also])
    ]
    for frames in boards:
        if not frames.players:
            raise UserError(
                f"no results of suite {frames.suite!r} in language {language!r}", where=str(where.results)
            )
    catalog = where.catalog() if where.models.exists() else None
    return study_panel(study, tree, boards, refusals=refusals, catalog=catalog)


def _table(
    path: str,
    human: str | None,
    judges: str | None,
    criterion: str | None,
    item: str | None,
    group: str | None,
) -> Panel:
    from bench.agreement.sheet import SheetColumns, sheet_panel

    if not _names(human) or not _names(judges):
        raise UserError("--table needs --human and --judges", hint="Name columns of it, as in --human anna.")
    return sheet_panel(Path(path), SheetColumns(_names(human), _names(judges), criterion, item, group))
