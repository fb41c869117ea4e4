"""``bench diff``: what changed on a board since a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bench.cli.options import (
    ONLY_LANGUAGE,
    Places,
    check_one_language,
    complete_suites,
    naming,
    places,
    suite_option,
)
from bench.cli.output import listing
from bench.errors import UserError
from bench.tables import counted, printable, shown, text_table

if TYPE_CHECKING:
    from bench.boards.diff import BoardDiff, Move, PlayerMove
    from bench.boards.past import Place
    from bench.boards.record_changes import PlayerChange
    from bench.scores.linking import VersionLink

_SHOWN = 10
"""Changed records that are listed by name, per player."""


@click.command()
@click.argument("suite", metavar="SUITE", shell_complete=complete_suites)
@click.option("--since", metavar="COMMIT", help="Compare with this commit of the results.")
@suite_option("--against", "Compare with this suite, an older version.")
@naming("language", "l", ONLY_LANGUAGE)
@listing("text")
@places
def diff(
    suite: str, since: str | None, against: str | None, languages: tuple[str, ...], form: str, where: Places
) -> None:
    """Show what changed on the board of SUITE.

    Needs either --since or --against.

    --since compares the results folder with a commit, without checking anything out. It lists players that
    were added, removed, renamed or rerun, with the reason for every changed record: prompt, parameters,
    model, judge. It divides each move of a score or rank into causes: the player was rerun, other players
    were, players came or left, other judges count, or this program computes another number from the same
    evidence.

    --against links two versions of a suite, and so does --since if the version has changed. The link is the
    mean shift of the scores of players that were run in both, on the scenes that both have. It needs at least
    16 such scenes and 6 such players. Its error is part of every interval across versions.
    """
    if (since is None) == (against is None):
        raise UserError("--since or --against is needed", hint="Example: `--since HEAD~1`.")
    from bench.boards.diff import board_diff, boards_then
    from bench.boards.loading import all_suites, load_board
    from bench.boards.versions import version_link
    from bench.records import canonical
    from bench.scores.linking import VersionLink

    tree = where.evidence(suite, languages)
    suites = all_suites(where.layers)
    found = {code for name, code in tree.boards() if name == suite}
    if since is not None:
        found |= set(boards_then(tree, suite, since))
    else:
        where.evidence(against)
        found &= {code for name, code in tree.boards() if name == against}
    chosen = list(languages) or sorted(found)
    check_one_language(form, chosen, sorted(found))
    if not chosen:
        raise UserError("no language has results on both sides", where=suite)
    for code in chosen:
        made: BoardDiff | VersionLink
        if since is not None:
            made = board_diff(tree, suite, code, since, prompts=suites)
        else:
            boards = [load_board(tree, name, code, prompts=suites).frames for name in (against or "", suite)]
            made = version_link((tree, boards[0]), (tree, boards[1]))
        if form == "json":
            click.echo(canonical(made.model_dump(mode="json")), nl=False)
        else:
            click.echo(link_text(made) if isinstance(made, VersionLink) else diff_text(made), nl=False)


def diff_text(diff: BoardDiff) -> str:
    """The changes of a board as text."""
    since = f"{diff.since[:10]} ({diff.since_date[:10]}, {diff.since_title})"
    lines = [f"{diff.suite}, {diff.language}: since {since}"]
    lines += [f"Renamed: {one.was} is now {one.player}" for one in diff.renamed]
    for change in diff.players:
        place = diff.added.get(change.player)
        lines.append(_player_line(change) + (f": {_place_text(place)}" if place else ""))
        lines += _record_lines(change)
    lines += [f"{one.was} may now be {one.player}: they have the same conversations" for one in diff.alike]
    for verb, judges in (("added", diff.judges_added), ("removed", diff.judges_removed)):
        if judges:
            lines.append(f"Judges {verb}: {', '.join(judges)}")
    if diff.reason:
        lines.append(f"Scores are not compared: {diff.reason}.")
    elif not diff.moves:
        lines.append("No score and no rank moved.")
    text = "".join(f"{printable(line) if line[0] != ' ' else '  ' + printable(line)}\n" for line in lines)
    return text + (_moves_text(diff) if diff.moves else "") + (link_text(diff.link) if diff.link else "")


def link_text(link: VersionLink) -> str:
    """The link of two versions as text."""
    title = printable(f"{link.newer} against {link.older}")
    notes = "".join(f"{printable(note)}.\n" for note in link.notes)
    if link.link is None:
        return f"{title}: not comparable: {printable(link.reason or '')}.\n{notes}"
    shifted = f"scores shifted by {link.link:+.3f} ({shown(link.low, 3)} to {shown(link.high, 3)})"
    basis = f"{link.scenes} anchor scenes and {link.players} players that were run in both"
    furthest = link.without[0]
    scene = printable(f"{furthest.character}.{furthest.situation}")
    rows = [
        [
            *map(shown, (row.player, row.older, row.linked, row.newer)),
            _span(row.low, row.high),
            shown(row.change),
            _span(row.change_low, row.change_high),
        ]
        for row in link.scores
    ]
    heads = ["Player", "Older", "Linked", "Newer", "95% interval", "Change", "95% interval"]
    return (
        f"{title}: {shifted}, by {basis}.\n"
        f"Without one anchor scene: {min(row.link for row in link.without):+.3f} to"
        f" {max(row.link for row in link.without):+.3f}; {scene} matters most.\n{notes}"
        f"{text_table(heads, rows, left={0})}"
        "Robust scores. Linked: the older score on the newer scale. The first interval is that of the linked"
        " score, or\nof the newer one for a player without an older. Intervals of linked scores and changes"
        " include the link's error.\n"
    )


def _span(low: float | None, high: float | None) -> str:
    return shown(None) if low is None or high is None else f"{low:.2f} to {high:.2f}"


def _player_line(change: PlayerChange) -> str:
    from bench.boards.record_changes import REASONS

    if change.change != "rerun":
        return f"{change.change.capitalize()}: {change.name}"
    reasons = "; ".join(f"{count} {REASONS[name]}" for name, count in change.reasons.items())
    counts = f"{counted(change.conversations, 'conversation')}, {counted(change.judgements, 'judgement')}"
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


def _place_text(place: Place) -> str:
    return "not scored" if place.score is None else f"rank {place.rank}, score {place.score:.2f}"


def _moves_text(diff: BoardDiff) -> str:
    from bench.boards.diff import CAUSES

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
    return f"{table}{counted(diff.unmoved, 'player')} did not move. {about}\n{notes}"


def _move_text(move: Move | None) -> str:
    if move is None:
        return ""
    score = "?" if move.score is None else f"{move.score:+.2f}"
    rank = "?" if move.rank is None else f"{move.rank:+d}"
    return score if move.rank == 0 else f"{score} ({rank})"
