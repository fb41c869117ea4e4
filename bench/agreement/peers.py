"""Weights of judges from PageRank over the graph of who rates whom highly.

PageRank: Page, Brin, Motwani and Winograd (1999). As in peer ranking of language models (Li, Patel and Du,
"PRD", 2023), the idea is that a model which plays well in the eyes of good players is a better judge. Human
ratings are not used.

The graph has one node for every judge and every player; a judge that is also a player is one node. A judge
votes for each player by how far its mean score of it lies above its lowest mean score of any player, so that
leniency cancels out. Nobody votes for itself, and players that do not judge do not vote. A walker follows
votes with probability 0.85; otherwise, and where there is no vote, it restarts at a random judge. A judge's
weight is its share of the walker's time. A judge that did not play gets the mean weight of those that did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bench.scores.bootstrap import NOISE_DECIMALS, Array

DAMPING = 0.85
NO_PLAYERS = "no judge is also a player, so the graph says nothing about judges"
NO_VOTES = "the judges' scores of the players are not known"


def peer_weights(
    votes: pd.DataFrame, own: Mapping[str, Sequence[str]], judges: Sequence[str]
) -> tuple[dict[str, float] | None, str | None]:
    """Weights of ``judges``, adding up to 1, or None and the reason.

    ``votes``: judges x players, mean scores, NaN if none. ``own``: judge to the players that are the same
    model.
    """
    if votes.empty:
        return None, NO_VOTES
    playing = [judge for judge in judges if own.get(judge)]
    if not playing:
        return None, NO_PLAYERS
    names = list(map(str, votes.index))
    ranks = pagerank(*_graph(votes, own, names))
    shares = {judge: float(ranks[names.index(judge)]) for judge in playing}
    typical = sum(shares.values()) / len(shares)
    raw = {judge: shares.get(judge, typical) for judge in judges}
    total = sum(raw.values())
    return {judge: round(weight / total, NOISE_DECIMALS) for judge, weight in raw.items()}, None


def pagerank(links: Array, start: Array, damping: float = DAMPING) -> Array:
    """The walker's share of time at each node, solved as a linear system.

    ``links[a, b]``: weight of a's vote for b, 0 or more. ``start``: probability of each node at a restart.
    """
    sums = links.sum(axis=1, keepdims=True)
    steps = np.where(sums > 0, np.divide(links, sums, out=np.zeros_like(links), where=sums > 0), start)
    size = len(start)
    ranks = np.linalg.solve(np.eye(size) - damping * steps.T, (1 - damping) * start)
    return ranks.astype(np.float64)


def _graph(
    votes: pd.DataFrame, own: Mapping[str, Sequence[str]], names: Sequence[str]
) -> tuple[Array, Array]:
    """Links and restart probabilities. Nodes: the judges in order, then the players that do not judge."""
    node_of = {player: names.index(judge) for judge, players in own.items() for player in players}
    size = len(names)
    for player in map(str, votes.columns):
        if player not in node_of:
            node_of[player] = size
            size += 1
    links = np.zeros((size, size))
    for at, judge in enumerate(names):
        given = votes.loc[judge].dropna().rename(index=node_of)
        by_node = given[given.index != at].groupby(level=0).mean()
        links[at, by_node.index.to_numpy(dtype=np.int64)] = by_node - by_node.min()
    start = np.zeros(size)
    start[: len(names)] = 1 / len(names)
    return links, start
