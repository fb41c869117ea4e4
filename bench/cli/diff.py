"""diff: what changed on a board since a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bench.cli.options import Places, places
from bench.errors import UserError

if TYPE_CHECKING:
    from bench.boards.diff import BoardDiff, Move, PlayerMove
    from bench.boards.record_changes import PlayerChange

_SHOWN = 10
"""Changed records that are listed by name, per player."""


@click.command()
@click.argument("suite", metavar="SUITE")
@click.option("--since", required=True, metavar="COMMIT", help="Compare with this commit of the results.")
@click.option(
    "--language", "-l", "languages", multiple=True, metavar="L", help="Only this language (repeatable)."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@places
def diff(suite: str, since: str, languages: tuple[str, ...], form: str, where: Places) -> None:
    """Show what changed on the board of SUITE.

    --since reads the records and board.json of a commit, checks nothing out, and compares them with the
    results folder. It lists players that were added, removed or rerun, with the reason for every changed
    record: prompt, parameters, model, judge. A score or rank can move because the player was rerun, other
    players were, players came or left, other judges count, or this program computes another number from
    the same evidence. These parts add up to the move.
    """
    from bench.boards.diff import board_diff, boards_then
    from bench.boards.loading import all_suites
    from bench.records import canonical

    tree = where.evidence(suite, languages)
    suites = all_suites(where.prompts)
    now = {code for name, code in tree.boards() if name == suite}
    found = sorted(now | set(boards_then(tree, suite, since)))
    chosen = list(languages) or found
    if form == "json" and len(chosen) > 1:
        raise UserError("json holds one language", hint=f"Choose by --language: {', '.join(found)}.")
    if not chosen:
        raise UserError(f"no results of suite {suite!r}, neither now nor then", where=str(where.results))
    for code in chosen:
        made = board_diff(tree, suite, code, since, prompts=suites)
        click.echo(canonical(made.model_dump(mode="json")) if form == "json" else diff_text(made), nl=False)


def diff_text(diff: BoardDiff) -> str:
    """The changes of a board as text."""
    from bench.tables import printable

    since = f"{diff.since[:10]} ({diff.since_date[:10]}, {diff.since_title})"
    lines = [f"{diff.suite}, {diff.language}: since {since}"]
    for change in diff.players:
        place = diff.added.get(change.player)
        lines.append(_player_line(change) + (f": {_place_text(place)}" if place else ""))
        lines += _record_lines(change)
    for verb, judges in (("added", diff.judges_added), ("removed", diff.judges_removed)):
        if judges:
            lines.append(f"Judges {verb}: {', '.join(judges)}")
    if diff.reason:
        lines.append(f"Scores are not compared: {diff.reason}.")
    elif not diff.moves:
        lines.append("No score and no rank moved.")
    text = "".join(f"{printable(line) if line[0] != ' ' else '  ' + printable(line)}\n" for line in lines)
    return text + (_moves_text(diff) if diff.moves else "")


def _player_line(change: PlayerChange) -> str:
    from bench.boards.record_changes import REASONS

    if change.change != "rerun":
        return f"{change.change.capitalize()}: {change.name}"
    reasons = "; ".join(f"{count} {REASONS[name]}" for name, count in change.reasons.items())
    counts = f"{change.conversations} conversations, {change.judgements} judgements"
    return f"Rerun: {change.name}: {counts}" + (f" ({reasons})" if reasons else "")


def _record_lines(change: PlayerChange) -> list[str]:
    from bench.boards.record_changes import REASONS

    lines = []
    for record in change.records[:_SHOWN]:
        number = f".{record.repeat}" if record.repeat > 1 else ""
        whose = f", judge {record.judge}" if record.judge else ""
        why = ", ".join(REASONS[name] for name in record.reasons)
        scene = f"{record.character}.{record.situation}{number}{whose}"
        lines.append(f"  {scene}: {record.change}" + (f" ({why})" if why else ""))
    if (rest := len(change.records) - _SHOWN) > 0:
        lines.append(f"  and {rest} more; --format json lists all")
    return lines


def _place_text(place: object) -> str:
    from bench.boards.past import Place

    assert isinstance(place, Place)
    return "not scored" if place.score is None else f"rank {place.rank}, score {place.score:.2f}"


def _moves_text(diff: BoardDiff) -> str:
    from bench.boards.diff import CAUSES
    from bench.tables import shown, text_table

    used = [cause for cause in CAUSES if any(cause in move.causes for move in diff.moves)]
    heads = ["Player", "Rank then", "now", "Score then", "now", "Moved", *used]

    def row(move: PlayerMove) -> list[str]:
        before, after = move.before, move.after
        known = before.score is not None and after.score is not None
        moved = f"{(after.score or 0) - (before.score or 0):+.2f}" if known else shown(None)
        cells = [move.name, before.rank, after.rank, before.score, after.score]
        return [*map(shown, cells), moved, *(_move_text(move.causes.get(cause)) for cause in used)]

    table = text_table(heads, [row(move) for move in diff.moves], left={0})
    notes = "".join(f"{cause}: {CAUSES[cause]}\n" for cause in used)
    about = "The columns on the right say why, in points, and in ranks in brackets."
    return f"{table}{diff.unmoved} players did not move. {about}\n{notes}"


def _move_text(move: Move | None) -> str:
    if move is None:
        return ""
    score = "?" if move.score is None else f"{move.score:+.2f}"
    rank = "?" if move.rank is None else f"{move.rank:+d}"
    return score if move.rank == 0 else f"{score} ({rank})"
