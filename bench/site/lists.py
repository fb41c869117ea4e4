"""The published lists that a board can be compared with in a rank map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.protocol_facts import facts_of
from bench.scores.board import Board
from bench.scores.external import Alias, Published
from bench.scores.rankmap import board_list, board_rank_map


def lists_for(
    board: Board,
    others: Iterable[tuple[str, Board]],
    published: Sequence[Published],
    aliases: Sequence[Alias],
) -> tuple[list[Published], list[Alias]]:
    """The lists that share enough models with ``board``, and the aliases to use.

    ``others``: title and board of all suites in the same language. Those by another version of the same
    method come before the ``published`` lists.
    """
    versions = [board_list(board, other, title) for title, other in others if _are_versions(board, other)]
    joined = [*aliases, *(alias for _, own in versions for alias in own)]
    lists = [*(version for version, _ in versions), *published]
    return [one for one in lists if board_rank_map(board, one, joined).drawable], joined


def _are_versions(board: Board, other: Board) -> bool:
    """Whether two boards use versions of one method: different protocols with the same criteria."""
    facts, others = facts_of(board.protocol), facts_of(other.protocol)
    return board.protocol != other.protocol and facts.criterion_names == others.criterion_names != ()
