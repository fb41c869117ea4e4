"""Weights of judges from PageRank over the graph of who rates whom well.

PageRank (Page, Brin, Motwani and Winograd, 1999): a node counts as much as those who vote for it count. As in
peer ranking of language models (Li, Patel and Du, "PRD", 2023), the idea is that a model which plays well in
the eyes of good players is a better judge. No human rating enters.

The graph: one node for every judge and every player; a judge that is also a player is one node. A judge
votes for each player by how far its mean score of it lies above its lowest mean score of any player, so that
leniency drops out; nobody votes for itself. Players that do not judge vote for nobody. A walker follows
votes with probability 0.85, else, and where there is no vote, it begins anew at a judge drawn at random. A
judge's weight is its share of the walker's time. A judge that did not play gets the mean weight of those that
did: not having played says nothing for or against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bench.scores.bootstrap import NOISE_DECIMALS, Array

DAMPING = 0.85
NO_PLAYERS = "no judge is among the players: the graph says nothing about judges"
NO_VOTES = "the judges' scores of the players are not known"


def peer_weights(
    votes: pd.DataFrame, own: Mapping[str, Sequence[str]], judges: Sequence[str]
) -> tuple[dict[str, float] | None, str | None]:
    """Weights of ``judges``, adding up to 1, or why there are none.

    ``votes``: judges x players, mean scores, NaN where none. ``own``: judge to the players that are it.
    """
    if votes.empty:
        return None, NO_VOTES
    playing = [judge for judge in judges if own.get(judge)]
    if not playing:
        return None, NO_PLAYERS
    ranks = pagerank(*_graph(votes, own))
    names = list(_nodes(votes, own))
    found = {judge: float(ranks[names.index(judge)]) for judge in playing}
    typical = sum(found.values()) / len(found)
    raw = {judge: found.get(judge, typical) for judge in judges}
    total = sum(raw.values())
    return {judge: round(weight / total, NOISE_DECIMALS) for judge, weight in raw.items()}, None


def pagerank(links: Array, start: Array, damping: float = DAMPING) -> Array:
    """The walker's share of time at each node. ``links[a, b]``: weight of the vote of a for b, 0 or more;
    ``start``: where it begins anew, adding up to 1. Solved as a linear system, so there is no tolerance."""
    sums = links.sum(axis=1, keepdims=True)
    steps = np.where(sums > 0, np.divide(links, sums, out=np.zeros_like(links), where=sums > 0), start)
    size = len(start)
    ranks = np.linalg.solve(np.eye(size) - damping * steps.T, (1 - damping) * start)
    return ranks.astype(np.float64)


def _nodes(votes: pd.DataFrame, own: Mapping[str, Sequence[str]]) -> list[str]:
    """Judges by their names, then the players that are no judge, told apart by a mark that no id has."""
    judging = {player for players in own.values() for player in players}
    return [*map(str, votes.index), *(f"\0{p}" for p in map(str, votes.columns) if p not in judging)]


def _graph(votes: pd.DataFrame, own: Mapping[str, Sequence[str]]) -> tuple[Array, Array]:
    names = _nodes(votes, own)
    node_of = {name.removeprefix("\0"): n for n, name in enumerate(names) if name.startswith("\0")}
    for judge, players in own.items():
        for player in players:
            node_of[player] = names.index(judge)
    links = np.zeros((len(names), len(names)))
    for at, judge in enumerate(map(str, votes.index)):
        given = votes.loc[judge].dropna()
        given = given[[node_of[str(player)] != at for player in given.index]]
        by_node = given.groupby([node_of[str(player)] for player in given.index]).mean()
        for node, score in by_node.items():
            links[at, int(str(node))] = score - by_node.min()
    start = np.zeros(len(names))
    start[: len(votes.index)] = 1 / len(votes.index)
    return links, start
