"""``bench agreement``: judges against people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli.common import one_of
from bench.cli.options import Places, complete_suites, places, suite_option
from bench.cli.output import form_of, forms, write
from bench.errors import UserError
from bench.tables import WRITERS

if TYPE_CHECKING:
    from bench.agreement.panel import Panel

FORMS = ("text", "csv", "json", *WRITERS)


@click.command()
@click.argument("suite_name", metavar="[SUITE]", shell_complete=complete_suites, required=False)
@click.option("--language", "-l", metavar="L", help="Language of the suite (default: the study's).")
@click.option("--study", "study_name", metavar="NAME", help="A study in results/human/.")
@suite_option(
    "--also",
    "Compare a suite that judged the same conversations by another protocol or version (repeatable).",
    multiple=True,
)
@click.option("--table", metavar="FILE", help="A CSV with one line per item, instead of a study.")
@click.option("--human", metavar="A,B", help="With --table: columns with people's scores.")
@click.option("--judges", metavar="A,B", help="With --table: columns with judges' scores.")
@click.option(
    "--criterion", metavar="COLUMN", help="With --table: column with the criterion, if there are several."
)
@click.option("--item", metavar="COLUMN", help="With --table: column with the item, if it has several lines.")
@click.option("--group", metavar="COLUMN", help="With --table: column with the player or other group.")
@click.option(
    "--ensemble",
    "ensembles",
    multiple=True,
    metavar="A,B",
    help="Also show the plain mean of these judges (repeatable).",
)
@one_of("--refusals", ("left-out", "lowest", "as-scored"), "How to count a judgement that saw a refusal.")
@one_of(
    "--resample",
    ("conversations", "players"),
    "Resampling unit; `players` generalises to new players.",
    "unit",
)
@forms(*FORMS)
@places
def agreement(
    suite_name: str | None,
    language: str | None,
    study_name: str | None,
    also: tuple[str, ...],
    table: str | None,
    ensembles: tuple[str, ...],
    refusals: str,
    unit: str,
    form: str | None,
    output: Path | None,
    where: Places,
    **columns: str | None,
) -> None:
    """Measure how well judges agree with people.

    Also measures how well people agree with each other. Without SUITE, uses the suite of the study.

    \b
    For each criterion and the final score, it prints:
      - Spearman's correlation of every judge, and of the mean of all judges,
        with the mean of the annotators (1: same order, 0: no relation);
      - which judges agree with people better than others;
      - five ways to combine judges, and how far the plain mean is below the best;
      - agreement among annotators (in pairs, with the mean of all, with the mean
        of the others, Krippendorff's alpha), which a judge can hardly exceed;
      - the players in the sample, and where judges and people disagree most.

    Intervals are 95%, from 2,000 resamples. Correlations with p < 0.0001 are bold. Where a figure does not
    exist, a number in brackets refers to the reason below the table. Conversations that have changed since
    people read them are left out.
    """
    from bench.agreement.forms import agreement_csv, agreement_document, agreement_json
    from bench.agreement.report import agreement_of
    from bench.cli.agreement_text import agreement_text

    form = form_of(form, output, FORMS)
    if table is None:
        only_table = ("human", "judges", "criterion", "item", "group")
        _refuse({f"--{name}": columns[name] for name in only_table}, "needs --table")
        panel = _study(suite_name, language, study_name, also, refusals, where)
    else:
        given = {"SUITE": suite_name, "--language": language, "--study": study_name, "--also": also or None}
        _refuse(given, "cannot be used with --table")
        panel = _table(table, **columns)
    result = agreement_of(
        panel,
        refusals=refusals,
        unit="players" if unit == "players" else "conversations",
        ensembles=[_names(text) for text in ensembles],
    )
    if form in WRITERS:
        text = agreement_document(result, form)
    else:
        text = {"text": agreement_text, "csv": agreement_csv, "json": agreement_json}[form](result)
    write(click.unstyle(text) if form == "text" and output else text, output)


def _refuse(options: Mapping[str, object], why: str) -> None:
    if names := [name for name, value in options.items() if value is not None]:
        raise UserError(
            f"{', '.join(names)} {why}",
            hint="For a study: --study, SUITE, --language. For a CSV: --table, --human, --judges.",
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
    from bench.boards.loading import catalog_of
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
    return study_panel(study, tree, boards, refusals=refusals, catalog=catalog_of(where.models))


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
        raise UserError("--table needs --human and --judges", hint="Name its columns, such as --human anna.")
    return sheet_panel(Path(path), SheetColumns(_names(human), _names(judges), criterion, item, group))
