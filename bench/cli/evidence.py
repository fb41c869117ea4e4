"""``bench board`` and ``bench commit-results``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli.options import (
    ONLY_JUDGE,
    ONLY_LANGUAGE,
    Own,
    Places,
    check_one_language,
    complete_suites,
    naming,
    places,
    rescoring,
)
from bench.cli.output import form_of, forms, listing, print_json
from bench.cli.output import write as write_text
from bench.errors import UserError
from bench.tables import WRITERS, steerless

if TYPE_CHECKING:
    from bench.boards.loading import LoadedBoard
    from bench.scores.robust import JudgesAs

BOARD_FORMS = ("table", "csv", "json", *WRITERS)


@click.command()
@click.argument("suite_name", metavar="SUITE", shell_complete=complete_suites)
@naming("language", "l", ONLY_LANGUAGE)
@forms(*BOARD_FORMS)
@click.option("--write", is_flag=True, help="Also write board.json to the results tree.")
@click.option(
    "--weights",
    metavar="W",
    help="Weights of the criteria: 2,1,1 or fluency=2,in_character=1 or entertaining_heavy.",
)
@naming("judge", "j", ONLY_JUDGE)
@click.option(
    "--compare-methods",
    is_flag=True,
    help="Show which ranks change by the robust method, other refusal rules or weights, or fewer judges.",
)
@click.option(
    "--separate",
    nargs=2,
    metavar="A B",
    help="Test whether players A and B differ, and estimate how many scenes would show it.",
)
@click.option(
    "--judges-as",
    type=click.Choice(["fixed", "sample"]),
    help="What robust intervals and ranks hold for: these judges (fixed), or judges like these (sample)."
    " Default: sample, where there are several judges.",
)
@click.option("--design", is_flag=True, help="Show what other numbers of scenes and judges would separate.")
@click.option(
    "--reach",
    metavar="GOAL",
    help="With --design: find the cheapest design for separability=0.6, erho2=0.9 or difference=0.2.",
)
@rescoring
@places
def board(
    suite_name: str,
    languages: tuple[str, ...],
    form: str | None,
    output: Path | None,
    write: bool,
    weights: str | None,
    judges: tuple[str, ...],
    compare_methods: bool,
    separate: tuple[str, str] | None,
    judges_as: JudgesAs | None,
    design: bool,
    reach: str | None,
    own: Own,
    where: Places,
) -> None:
    """Print the leaderboard of SUITE.

    Scores follow the paper's method: length-normalised, with half the width of a 95% interval. Players within
    0.06 points on the scale 1 to 5 (the same share of other scales) share a rank. Beside them stand score,
    interval, rank and its range by the robust method, and the chance of being the best.
    """
    from bench.boards.loading import all_suites, load_board, write_board
    from bench.cli.methods import Asked, rescored_text

    form = form_of(form, output, BOARD_FORMS)
    asked = Asked(compare_methods, separate, judges_as, design, reach, own)
    asked.check(write=write, weights=weights, judges=judges, form=form)
    tree = where.evidence(suite_name, languages)
    suites = all_suites(where.layers)
    found = [language for _, language in tree.boards(suite_name)]
    if not found:
        raise UserError(
            f"no results of suite {suite_name!r}",
            where=str(where.results),
            hint=f"Run it first: `bench run {suite_name}`.",
        )
    chosen = list(languages) or found
    check_one_language(form, chosen, found)
    texts = []
    for language in chosen:
        if own.rescore:
            texts.append(rescored_text(tree, suite_name, language, own, suites, judges, weights, form))
            continue
        loaded = load_board(
            tree, suite_name, language, prompts=suites, judges=judges, weights=weights, models=where.models
        )
        if (text := asked.text(tree, loaded, form)) is not None:
            texts.append(text)
            continue
        texts.append(_board_text(loaded, form, judges_as))
        if write:
            write_board(tree, loaded.board)
    write_text("".join(texts), output)


def _board_text(loaded: LoadedBoard, form: str, judges_as: JudgesAs | None) -> str:
    from bench.scores import forms as board_forms
    from bench.scores.long_forms import figures_text

    board, suite = loaded.board, loaded.suite
    if form in WRITERS:
        return board_forms.to_table(board, judges_as, WRITERS[form])
    if form != "table":
        return {"csv": board_forms.to_csv, "json": board_forms.to_json}[form](board)
    titled = loaded.source or (suite and suite.entry)
    label = titled.title if titled else board.suite
    head = f"{label}, {board.language}, version {board.version}, judged by {', '.join(board.judges)}\n"
    if suite and suite.entry.demonstration:
        head += "A demonstration: these scores say nothing about role play.\n"
    if loaded.source is not None:
        head += f"{loaded.source.notice}\n"
    stale = ""
    if board.stale is not None:
        stale = f"{board.stale.text}{' Redo: `--refresh-stale`.' if board.stale.known else ''}\n"
    text = head + board_forms.to_table(board, judges_as) + board_forms.sampling_line(board)
    text += board_forms.robust_line(board, judges_as) + board_forms.people_table(board) + figures_text(board)
    text += board_forms.gaps(board) + board_forms.judge_gaps(board) + board_forms.remarks(board)
    return steerless(f"{text}{stale}\n")


def _print_left_out(reasons: Iterable[str]) -> None:
    for reason in reasons:
        click.echo(f"left out: {reason}")


@click.command("commit-results")
@click.option("--dry-run", is_flag=True, help="Show what would be committed; change nothing.")
@listing("text")
@places
def commit_results(dry_run: bool, form: str, where: Places) -> None:
    """Commit players with complete, valid evidence.

    Also commits their boards and comparisons, and the prompts, cards, situations and models.toml behind them,
    so that a clone can be audited.

    Complete: every scene of the suite has a conversation and a judgement by each of the suite's judges, or a
    recorded failure. Valid: every file matches its schema and its digest. Other players, and files that git
    ignores, are listed and left alone. A committed player that is no longer complete stays as it was
    committed; one whose folder was deleted is deleted. Exits with status 0 if there is nothing to commit.
    """
    from bench.boards.commit import committable, git_commit
    from bench.boards.loading import all_suites

    tree, suites = where.evidence(), all_suites(where.layers)
    ready, left = committable(tree, suites)
    if form == "text":
        _print_left_out(left)  # before git is asked, which may fail
    made = git_commit(tree, ready, suites, where.models, dry_run=dry_run)
    boards = [f"{board}: git ignores it" for board in made.ignored] + list(made.impossible)
    if form == "json":
        committed = bool(made.message) and not dry_run
        print_json({"message": made.message, "committed": committed, "left_out": left + boards})
        return
    _print_left_out(boards)
    if not made.message:
        seen = {(player.suite, player.language) for player in ready}
        why = "what is complete has been committed before" if ready else "no player is complete and valid"
        if made.impossible:
            why = "see above"
        elif seen and len(made.ignored) == len(seen):
            why = "git ignores what is complete"
        click.echo(f"Nothing to commit: {why}.")
        return
    click.echo("Would commit:" if dry_run else "Committed:")
    click.echo(made.message, nl=False)
