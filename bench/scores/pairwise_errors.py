"""Standard errors of a fitted model whose observations come in few clusters, and two ways of clustering.

The plain sandwich is too small with few clusters, most of all for an effect that varies within them, such as
that of length: a cluster with much weight draws the estimate towards itself, which shrinks its own residuals.
The scores of each cluster are therefore scaled as Bell and McCaffrey (2002) do it, here for likelihoods as in
Kauermann and Carroll (2001): the variance is unbiased where the model holds. Degrees of freedom are also
theirs, by Satterthwaite from the model's own variances: fewer where some clusters weigh more than others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.scores.bootstrap import Array
from bench.scores.clusters import MeanError, Positions, two_way

LOST = 0.02
"""Where other clusters know less than this share of a direction of the parameters, its error is unknown."""
MOST_NUMBERS = 4_000_000
"""Numbers in the largest array; contrasts are worked through in parts."""


@dataclass(frozen=True)
class Scenes:
    """What each judged scene adds to the likelihood: scores (scenes x parameters), information (scenes x
    parameters x parameters), and the positions of its character and situation."""

    scores: Array
    information: Array
    character: Positions
    situation: Positions


def errors(scenes: Scenes, penalty: Array, contrasts: Array) -> MeanError:
    """Errors of ``contrasts`` (contrasts x parameters) of estimates with ``penalty`` on their squares; all
    means are 0. NaN where the scenes do not tell: a single one, or all that is known comes from one cluster.
    """
    total = scenes.information.sum(axis=0) + np.diag(penalty)
    values, vectors = np.linalg.eigh(total)
    root = (vectors / np.sqrt(np.maximum(values, 1e-12))) @ vectors.T
    along = contrasts @ root
    n = len(scenes.scores)
    c = _clustered(scenes, np.arange(n), root, along)
    a, b = (
        c if len(np.unique(groups)) == n else _clustered(scenes, groups, root, along)
        for groups in (scenes.character, scenes.situation)
    )
    return two_way(np.zeros(len(contrasts)), a, b, c, np.full(len(contrasts), float(n)))


def _clustered(scenes: Scenes, groups: Positions, root: Array, along: Array) -> tuple[Array, Array]:
    """Variances of contrasts clustered by ``groups``, and their degrees of freedom; 0 with one cluster.

    With U_g the score of cluster g, H_g its information and B = root H_g root, the scaled score is
    z_g = U_g root (1 - B)^(-1/2) root c. Under the model the covariance of z_g and z_h is
    [g = h] |N_g|^2 - M_g M_h with N = (B / (1 - B))^(1/2) root c and M = B (1 - B)^(-1/2) root c.
    """
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    count = len(along)
    if len(members) < 2:
        return np.zeros(count), np.zeros(count)
    scaled, inner, outer = [], [], []
    for rows in members:
        share, vectors = np.linalg.eigh(root @ scenes.information[rows].sum(axis=0) @ root)
        share = np.clip(share, 0.0, 1.0)
        beyond = np.where(1 - share > LOST, 1 / np.sqrt(np.maximum(1 - share, LOST)), 0.0)
        scaled.append((scenes.scores[rows].sum(axis=0) @ root @ vectors * beyond) @ vectors.T)
        inner.append(vectors * (np.sqrt(share) * beyond))
        outer.append((vectors * (share * beyond)) @ vectors.T)
    variance = ((along @ np.array(scaled).T) ** 2).sum(axis=1)
    step = max(1, MOST_NUMBERS // (len(members) * along.shape[1]))
    parts = [
        _freedom(along[at : at + step], np.array(inner), np.array(outer)) for at in range(0, count, step)
    ]
    trace, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
    known = trace > (along**2).sum(axis=1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(known, variance, np.nan), np.where(known, trace**2 / squares, np.nan)


def _freedom(along: Array, inner: Array, outer: Array) -> tuple[Array, Array]:
    """Traces of the covariance matrices of the clusters' scaled scores, and of their squares, by contrast."""
    own = ((along @ inner) ** 2).sum(axis=2)  # clusters x contrasts
    shared = (along @ outer).transpose(1, 0, 2)  # contrasts x clusters x parameters
    products = shared @ shared.transpose(0, 2, 1)
    lost = np.diagonal(products, axis1=1, axis2=2).T
    squares = (own**2 - 2 * own * lost).sum(axis=0) + (products**2).sum(axis=(1, 2))
    return (own - lost).sum(axis=0), squares
