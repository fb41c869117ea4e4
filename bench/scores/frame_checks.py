"""What the records of one board must have in common; otherwise its numbers would mean nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench.errors import RecordError
from bench.protocol_facts import facts_of
from bench.records import PlayerInfo, numbered
from bench.results import ResultsTree


def the_only(what: str, values: set[str], where: str) -> str:
    """The only one of ``values``; empty without any. Raises RecordError for several."""
    if len(values) > 1:
        raise RecordError(
            f"holds records of several {what}s: {', '.join(sorted(values))}",
            where=where,
            hint="Their numbers cannot be compared. Redo the older ones: `bench run SUITE --refresh-stale`.",
        )
    return next(iter(values), "")


def check_folders(tree: ResultsTree, suite: str, language: str, players: Sequence[PlayerInfo]) -> None:
    """Check that each player.json is in its own player's folder: a copied folder would count twice."""
    seen: set[str] = set()
    for info in players:
        folder = tree.player_folder(suite, language, info.player)
        if info.player in seen or not (folder / "player.json").exists():
            raise RecordError(
                f"player.json of {info.player!r} is in another player's folder",
                where=str(tree.board_folder(suite, language)),
                hint="Give each player one folder, with the name that `bench run` gives it.",
            )
        seen.add(info.player)


def check_scale(scores: pd.DataFrame, protocol: str, board: str) -> None:
    """Refuse a score off its protocol's scale: it must not enter a mean."""
    scale = facts_of(protocol).scale
    if scale is not None:
        off = scores[~scores["score"].between(*scale)]
        if len(off):
            row = off.iloc[0]
            raise RecordError(
                f"{row['criterion']} {row['score']} in turn {row['turn']} is not in {scale[0]:.0f} to"
                f" {scale[1]:.0f}",
                where=f"{board}/{row['player']}/{row['judge']}/"
                + numbered(f"{row['character']}.{row['situation']}", row["repeat"]),
                hint="Restore the file from version control, or judge again.",
            )


def common_criteria(scores: pd.DataFrame, protocol: str, board: str) -> tuple[str, ...]:
    """Names of the criteria, the protocol's in its order, then others by name; all judgements must agree."""
    place = {name: n for n, name in enumerate(facts_of(protocol).criterion_names)}
    counts = scores["criterion"].value_counts()
    if counts.nunique() > 1:
        raise RecordError("judgements of this board score different criteria", where=board)
    return tuple(sorted(counts.index, key=lambda name: (place.get(name, len(place)), name)))
