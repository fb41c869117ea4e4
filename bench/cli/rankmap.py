"""``bench rank-map``: our board beside another benchmark's published scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli.options import Places, complete_suites, places, suite_option
from bench.cli.output import listing
from bench.errors import UserError
from bench.tables import printable, text_table

if TYPE_CHECKING:
    from bench.scores.rankmap import RankMap


@click.command("rank-map")
@click.argument("suite_name", metavar="SUITE", shell_complete=complete_suites)
@click.option("--language", "-l", required=True, metavar="L", help="Language of the board.")
@click.option("--against", metavar="NAME", help="Published list in results/external/, without .csv.")
@suite_option("--against-suite", "Another suite with a board in that language.", "other")
@click.option("--output", "-o", metavar="DIR", help="Output directory for the map as SVG, PNG, PDF and JSON.")
@listing("text")
@places
def rank_map(
    suite_name: str,
    language: str,
    against: str | None,
    other: str | None,
    output: str | None,
    form: str,
    where: Places,
) -> None:
    """Compare ranks with another board or benchmark.

    --against compares with a published list; results/external/aliases.toml matches its names with ours.
    --against-suite compares with another suite's players. Prints Spearman's and Kendall's correlations with
    p, a 95% interval, the number of models, and warnings, and lists models that only one side has.
    """
    from bench.boards.loading import all_suites, load_board
    from bench.boards.rank_map_chart import draw_rank_map, prefix_of, title_of
    from bench.figures import FORMS, renderings
    from bench.files import write_atomically
    from bench.records import canonical
    from bench.scores.external import FOLDER, load_aliases, load_published
    from bench.scores.rankmap import board_list, board_rank_map
    from bench.scores.robust import told_apart
    from bench.scores.weights import EQUAL, standard_weightings

    if (against is None) == (other is None):
        raise UserError(
            "a rank map compares two lists", hint="Name the other one with --against or --against-suite."
        )
    if other == suite_name:
        raise UserError(
            f"a rank map compares two boards, and both are {suite_name}",
            hint="Name another suite with --against-suite, or see `bench analyse --repeat`.",
        )
    tree, suites = where.evidence(suite_name, [language]), all_suites(where.layers)
    folder = where.results / FOLDER
    loaded = load_board(tree, suite_name, language, prompts=suites)
    frames, board = loaded.frames, loaded.board
    sure = told_apart(frames, standard_weightings(frames.criteria)[EQUAL]) if frames.criteria else None
    if other is not None:
        against = other
        second = load_board(where.evidence(other, [language]), other, language, prompts=suites)
        title = suites[other].entry.title if other in suites else other
        published, aliases = board_list(board, second.board, title)
    else:
        assert against is not None
        published, aliases = load_published(folder, against), load_aliases(folder)
    made = board_rank_map(board, published, aliases, sure)
    if not made.drawable:
        here = f"{suite_name} and {other}, {language}" if other else f"{suite_name} {language}"
        raise _too_few(made, against, here, None if other else folder / "aliases.toml")
    data = canonical(made.model_dump(mode="json"))
    click.echo(data if form == "json" else _text(made), nl=False)
    if output is not None:
        stem = Path(output) / f"{suite_name}.{language}.{against}"
        write_atomically(stem.with_name(f"{stem.name}.json"), data.encode())
        drawn = renderings(lambda: draw_rank_map(made), FORMS, title_of(made), prefix_of(made))
        for kind, figure in drawn.items():
            write_atomically(stem.with_name(f"{stem.name}.{kind}"), figure)
        click.echo(f"written: {stem}.json, {', '.join(f'.{kind}' for kind in FORMS)}", err=form == "json")


def _too_few(made: RankMap, against: str, where: str, aliases: Path | None) -> UserError:
    """The error for too few models in both lists; ``aliases`` is None if both are our own boards."""
    if aliases is None:
        return UserError(
            f"need 3 players with a score on both boards; found {made.n}",
            where=where,
            hint="Run the same players in both suites.",
        )
    missing, unused = (
        [left.name for left in made.unmatched if left.side == side] for side in ("ours", "theirs")
    )
    return UserError(
        f"need 3 models in common with {against}; found {made.n}"
        + (f" (not in it: {', '.join(missing)})" if missing else ""),
        where=where,
        hint=f"Map your names to its names in {aliases}, e.g. a table with"
        f' ids = ["{(missing or ["my-model"])[0]}"] and {against} = "{(unused or ["Its Model"])[0]}".',
    )


def _text(made: RankMap) -> str:
    """The map for a terminal."""
    from bench.boards.rank_map_chart import bands_note, caption

    rows = [
        [
            f"{m.our_rank:g}",
            _ranks(m.our_rank_low, m.our_rank_high),
            printable(m.name),
            f"{m.our_score:.2f}",
            f"{m.their_rank:g}",
            printable(m.their_name),
            f"{m.their_score:.4g}",
            f"{m.moved:+g}" if m.moved else "0",
        ]
        for m in made.models
    ]
    heads = ["#", "open", "ours", "score", "#", printable(made.benchmark), "score", "moved"]
    lines = [f"{made.ours} against {made.benchmark} ({made.source}, {made.date})", ""]
    lines += [text_table(heads, rows, left={2, 5})]
    lines += [caption(made), f"Open: {bands_note(made)}."]
    lines += [f"Note: {warning}" for warning in made.warnings]
    for side, title in (("ours", "Ours, not compared"), ("theirs", "Theirs, not compared")):
        names = [printable(left.name) for left in made.unmatched if left.side == side]
        if names:
            lines += [f"{title} ({len(names)}): {', '.join(names)}"]
    several = [left for left in made.unmatched if left.reason.startswith("several")]
    lines += [f"{left.name}: {left.reason}" for left in several]
    return "\n".join(lines) + "\n"


def _ranks(low: int | None, high: int | None) -> str:
    if low is None or high is None:
        return "–"
    return f"{low}" if low == high else f"{low}-{high}"
