"""Boards of published scores: what their pages need, from the table in place of conversations."""

from __future__ import annotations

from statistics import fmean

from bench.records import Scene
from bench.results.score_tables import ScoreTable
from bench.scores.player_measures import player_measures
from bench.scores.rows import table_rows
from bench.scores.rules import final_score
from bench.site.cells import CellSummary, JudgeScores
from bench.site.conversation_pages import PlayerResult
from bench.site.paths import scene_name


def table_results(table: ScoreTable) -> list[PlayerResult]:
    """What pages need of each player, in the order of the table's players."""
    players = {
        rows.player: PlayerResult(rows.player, player_measures(rows.player, ()), {}, {}, rows, (), 0, {})
        for rows in table_rows(table)
    }
    for (player, character, situation), judges in table.verdicts.items():
        scene = scene_name(character, situation)
        players[player].cells[scene] = _cell(table, (player, character, situation), judges)
        players[player].texts[scene] = Scene(
            character_name=character, summary="", card="", situation_title=_title(situation), situation=""
        )
    return list(players.values())


def _title(situation: str) -> str:
    """A situation's title: of one that has only a number, words that stand on their own."""
    return f"Scene {situation}" if situation.isdecimal() else situation


def _cell(
    table: ScoreTable, key: tuple[str, str, str], judges: dict[str, dict[str, int | float]]
) -> CellSummary:
    scores = []
    for judge, given in sorted(judges.items()):
        whole = len(given) == len(table.criteria)
        means = {name: float(score) for name, score in given.items()}
        turns: dict[str, tuple[int | float, ...]] = {name: (score,) for name, score in given.items()}
        final = final_score(means) if whole else None
        scores.append(JudgeScores(judge, "counts" if whole else "failed", turns, means, final))
    finals = [one.final for one in scores if one.final is not None]
    player, character, situation = key
    return CellSummary(
        player=player,
        character=character,
        situation=situation,
        character_name=character,
        situation_title=_title(situation),
        scene=scene_name(character, situation),
        state="scored" if finals else "unjudged",
        score=fmean(finals) if finals else None,
        refusal=False,
        failed_judgements=len(scores) - len(finals),
        answers=1,
        judges=tuple(scores),
        dispute=None,
    )
