"""``bench analyse``: what the evidence says beyond the ranking."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli.common import whole_number
from bench.cli.options import Places, complete_suites, places, suite_option
from bench.cli.output import form_of, forms, write
from bench.records import MOST_REPEATS
from bench.results import ResultsTree
from bench.tables import WRITERS, printable, steerless, text_table, titled

if TYPE_CHECKING:
    from bench.scores.analyses.report import Analysis

FORMS = ("text", "json", *WRITERS)


@click.command()
@click.argument("suite_name", metavar="SUITE", shell_complete=complete_suites)
@click.option("--language", "-l", required=True, metavar="L", help="Language of the board.")
@forms(*FORMS)
@click.option("--only", multiple=True, metavar="NAME", help="Only this table (repeatable).")
@suite_option(
    "--swap-with",
    "A suite of the same players with another interrogator or other judges (repeatable).",
    "swaps",
    multiple=True,
)
@click.option("--again", metavar="DIR", help="A second results tree, from another run of the suite.")
@whole_number("--repeat", "Compare with repeat N, which `bench run --repeat N` makes.", 2, MOST_REPEATS)
@places
def analyse(
    suite_name: str,
    language: str,
    form: str | None,
    output: Path | None,
    only: tuple[str, ...],
    swaps: tuple[str, ...],
    again: str | None,
    repeat: int | None,
    where: Places,
) -> None:
    """Analyse turns, difficulty, length and judges.

    Also shows the measures that need no judge (repetition, stock phrases, other scripts, speaking for the
    user, length by turn, truncation), variety of questions and repeat runs. A figure that does not exist is
    empty (null in JSON), and its row says why.
    """
    from bench.boards.loading import all_suites, catalog_of, load_board
    from bench.records import canonical
    from bench.scores.analyses.preference import judge_models
    from bench.scores.analyses.report import Material, report
    from bench.scores.analyses.texts import turns_of
    from bench.scores.player_measures import player_measures

    form = form_of(form, output, FORMS)
    tree, suites = where.evidence(suite_name, [language]), all_suites(where.layers)
    loaded = load_board(tree, suite_name, language, prompts=suites)
    frames = loaded.frames
    talks = {
        info.player: list(tree.conversations(suite_name, language, info.player)) for info in frames.players
    }
    second = ResultsTree(Path(again or tree.root), repeat=repeat or 1) if again or repeat else None
    made = report(
        Material(
            frames=frames,
            turns=turns_of(chain.from_iterable(talks.values())),
            measures=[player_measures(player, held) for player, held in talks.items()],
            judges=judge_models(frames, catalog_of(where.models)),
            scenes=loaded.scenes,
            others={name: load_board(tree, name, language, prompts=suites).frames for name in swaps},
            again=load_board(second, suite_name, language, prompts=suites).frames if second else None,
        ),
        only,
    )
    if form == "json":
        text = canonical(made.model_dump(mode="json"))
    elif form in WRITERS:
        text = "\n".join(_document(analysis, form) for analysis in made.analyses if analysis.rows)
    else:
        head = f"{made.suite}, {made.language}, version {made.version}, judged by {', '.join(made.judges)}\n"
        text = steerless(head) + "".join(f"\n{_text(analysis)}" for analysis in made.analyses)
    write(text, output)


def _text(analysis: Analysis) -> str:
    """One table for a terminal, with each reason once below it."""
    head = f"{analysis.title} ({analysis.name})\n{analysis.about}\n"
    if not analysis.rows:
        return f"{head}None: {analysis.reason}.\n"
    columns = [name for name in analysis.columns if name != "reason"]
    words = {n for n, name in enumerate(columns) if any(isinstance(r[name], str) for r in analysis.rows)}
    reasons = list(dict.fromkeys(str(row["reason"]) for row in analysis.rows if row.get("reason")))
    rows = [
        [
            *(printable(_shown(name, row[name])) for name in columns),
            *([f"[{reasons.index(str(row['reason'])) + 1}]" if row.get("reason") else ""] if reasons else []),
        ]
        for row in analysis.rows
    ]
    notes = "".join(f"[{n}] {reason}\n" for n, reason in enumerate(reasons, start=1))
    notes += "".join(f"{printable(note)}\n" for note in analysis.notes)
    return head + text_table([*columns, *([""] if reasons else [])], rows, left=words) + notes


def _document(analysis: Analysis, form: str) -> str:
    """One table as Markdown or LaTeX, with its notes below."""
    columns = [name for name in analysis.columns if any(row[name] is not None for row in analysis.rows)]
    words = {n for n, name in enumerate(columns) if any(isinstance(r[name], str) for r in analysis.rows)}
    rows = [[printable(_shown(name, row[name])) for name in columns] for row in analysis.rows]
    mark = "" if form == "markdown" else "% "
    notes = "".join(f"{mark}{printable(note)}\n" for note in analysis.notes)
    return titled(analysis.title, WRITERS[form](columns, rows, words), form) + notes


_EMPTY = {"player": "(all)", "judges": "(all)", "board": "(mean)"}
"""What an empty name stands for, by column."""


def _shown(name: str, value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value) or _EMPTY.get(name, "–")
