"""Group vectors into topics with BERTopic (Grootendorst 2022, arXiv:2203.05794), without compiled extras.

BERTopic uses UMAP and the package hdbscan by default. Here the vectors are reduced to the eigenvectors of
their neighbour graph (Laplacian eigenmaps, Belkin and Niyogi 2003), which UMAP starts from too, and clustered
by scikit-learn's HDBSCAN. Both are deterministic, and numba and LLVM (200 MB) are not needed.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.topics.embedding import Vectors

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NEIGHBOURS: Final = 15
DIMENSIONS: Final = 8
"""Dimensions that are clustered. With UMAP's usual 15 neighbours, 5 to 10 gave the same topics."""
KRYLOV: Final = 60
"""Krylov vectors of the eigenvector search; above the minimum, since the eigenvalues are close together."""
CORE: Final = 3
"""Neighbours that make a message a core point (HDBSCAN's ``min_samples``)."""
SMALLEST: Final = 8
"""Fewest distinct messages in a topic. The default is one in a hundred, if that is more."""
FEWEST: Final = 40
"""Fewest distinct messages to analyse."""
MOST_GROUPED: Final = 10_000
"""Most distinct messages that are clustered; others join the topic of their nearest neighbours."""
WORDS: Final = 10
WORKING_MEMORY: Final = 256
"""Megabytes that scikit-learn may use for distances at a time."""

TOKEN: Final = r"(?<!\w)(?<!\w['’])[^\W\d_]{2,}(?:['’-][^\W\d_]+)*"
"""A word of two or more letters, including inner apostrophes and hyphens, but not the part after one."""


@dataclass(frozen=True)
class Grouped:
    """``labels`` (n,): the topic of every text; 0 is the largest, -1 means none. ``words``: of each topic."""

    labels: NDArray[np.int64]
    words: tuple[tuple[str, ...], ...]


def default_topic_size(texts: int) -> int:
    """Fewest distinct messages in a topic: one in a hundred of those that are clustered."""
    return max(SMALLEST, min(texts, MOST_GROUPED) // 100)


def grouped(
    texts: Sequence[str],
    vectors: Vectors,
    counts: NDArray[np.int64],
    *,
    language: str,
    topic_size: int,
    most: int | None = None,
    seed: int = 1,
) -> Grouped:
    """Group distinct ``texts`` into topics. Deterministic: equal input gives equal topics.

    Args:
        texts: At least FEWEST texts.
        vectors: Their embeddings as unit vectors (n, d).
        counts: How many messages each text stands for (n,). Only affects the order of the topics.
        language: In English, stop words are excluded from the words of a topic.
        topic_size: Fewest texts in a topic.
        most: Merge the most similar topics until at most this many are left.
        seed: Random seed.
    """
    from bertopic import BERTopic
    from bertopic.vectorizers import ClassTfidfTransformer
    from sklearn import config_context
    from sklearn.cluster import HDBSCAN
    from sklearn.feature_extraction.text import CountVectorizer

    chosen = _part(len(texts), seed)
    part, part_vectors = [texts[at] for at in chosen], vectors[chosen]
    ctfidf = ClassTfidfTransformer(bm25_weighting=True, reduce_frequent_words=True)
    model = BERTopic(
        language=None,
        embedding_model=None,
        umap_model=Layout(seed),
        hdbscan_model=HDBSCAN(min_cluster_size=topic_size, min_samples=CORE, copy=True),
        vectorizer_model=CountVectorizer(token_pattern=r"\S+"),  # provisional; every message has a token
        ctfidf_model=ctfidf,
        top_n_words=WORDS,
    )
    logging.getLogger("BERTopic").setLevel(logging.ERROR)
    with warnings.catch_warnings(), config_context(working_memory=WORKING_MEMORY):
        warnings.simplefilter("ignore")  # libraries about each other
        topic_of, _ = model.fit_transform(part, part_vectors)
        if most is not None and max(topic_of) + 1 > most:
            model.reduce_topics(part, nr_topics=most + (-1 in topic_of))
            topic_of = model.topics_
        labels = np.asarray(topic_of, dtype=np.int64)
        if labels.max() < 0:
            return Grouped(np.full(len(texts), -1), ())
        vocabulary = _vocabulary(part, labels, language)
        if vocabulary:
            model.update_topics(
                part,
                vectorizer_model=CountVectorizer(token_pattern=TOKEN, vocabulary=vocabulary),
                ctfidf_model=ctfidf,
                top_n_words=WORDS,
            )
        everything = _joined(labels, vectors, chosen)
    words = tuple(_words(model, topic) if vocabulary else () for topic in range(int(labels.max()) + 1))
    return _by_size(everything, words, counts)


def _part(count: int, seed: int) -> NDArray[np.int64]:
    """Which of ``count`` texts are clustered, ascending."""
    if count <= MOST_GROUPED:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, MOST_GROUPED, replace=False))


def _joined(labels: NDArray[np.int64], vectors: Vectors, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """``labels`` for the ``chosen`` rows of ``vectors``; other rows get their neighbours' majority label."""
    from sklearn.neighbors import KNeighborsClassifier

    everything = np.full(len(vectors), -1, dtype=np.int64)
    everything[chosen] = labels
    rest = np.setdiff1d(np.arange(len(vectors)), chosen)
    if len(rest):
        nearest = KNeighborsClassifier(NEIGHBOURS, metric="cosine").fit(vectors[chosen], labels)
        for start in range(0, len(rest), MOST_GROUPED):
            some = rest[start : start + MOST_GROUPED]
            everything[some] = nearest.predict(vectors[some])
    return everything


class Layout:
    """Dimension reduction by Laplacian eigenmaps; BERTopic uses it as its ``umap_model``."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def fit_transform(self, vectors: Vectors, y: object = None) -> NDArray[np.float64]:
        """Reduce ``vectors`` (n, d) to points (n, DIMENSIONS).

        The points are the eigenvectors of the normalised graph Laplacian with the smallest eigenvalues,
        without the constant one, divided by the square roots of the degrees. scikit-learn's SpectralEmbedding
        computes the same with an LU decomposition, which takes minutes for ten thousand messages. Searching
        for the largest eigenvalues of the normalised adjacency takes a second.
        """
        from scipy.sparse import diags
        from scipy.sparse.linalg import eigsh

        graph = _neighbours(vectors)
        roots = np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
        scaled = diags(1 / roots) @ graph @ diags(1 / roots)
        start = np.random.default_rng(self._seed).uniform(-1, 1, len(roots))
        _, eigenvectors = eigsh(
            scaled, k=DIMENSIONS + 1, which="LA", v0=start, ncv=min(KRYLOV, len(roots)), tol=1e-8
        )
        points: NDArray[np.float64] = eigenvectors[:, -2::-1] / roots[:, None]
        return points


def _neighbours(vectors: Vectors) -> csr_matrix:
    """The symmetric graph of nearest neighbours (n, n).

    Uses more neighbours until the graph is connected, because a separate component would take up a dimension.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components
    from sklearn.neighbors import kneighbors_graph

    count = min(NEIGHBOURS, len(vectors) - 1)
    while True:
        graph = kneighbors_graph(vectors, count - 1, metric="cosine")  # each is its own first neighbour
        graph = 0.5 * (graph + graph.T)
        if count >= min(8 * NEIGHBOURS, len(vectors) - 1) or connected_components(graph)[0] == 1:
            return csr_matrix(graph)
        count = min(2 * count, len(vectors) - 1)


def min_uses(texts: int) -> int:
    """How many distinct messages must have a word before it is shown, so that one user's words are not.

    Two, or one in a thousand if that is more.
    """
    return max(2, -(-texts // 1000))


def _vocabulary(texts: Sequence[str], labels: NDArray[np.int64], language: str) -> list[str]:
    """Words that may describe a topic: in several messages, and in at most half of the topics.

    Words that most topics share are function words, in any language.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    counting = CountVectorizer(token_pattern=TOKEN, binary=True)
    try:
        uses = counting.fit_transform(texts)
    except ValueError:  # no text has a word
        return []
    topics = int(labels.max()) + 1
    spread = sum((np.asarray(uses[labels == topic].sum(axis=0)).ravel() > 0) for topic in range(topics))
    common = np.asarray(uses.sum(axis=0)).ravel() >= min_uses(len(texts))
    rare = spread <= topics / 2 if topics > 3 else np.ones_like(common)
    stopped = ENGLISH_STOP_WORDS if language == "en" else frozenset[str]()
    words = counting.get_feature_names_out()
    kept = [str(word) for word, keep in zip(words, common & rare, strict=True) if keep]
    return [word for word in kept if re.split("['’]", word)[0] not in stopped]


def _words(model: Any, topic: int) -> tuple[str, ...]:
    """The topic's words, the most characteristic first."""
    return tuple(word for word, weight in model.get_topic(topic) or () if word and weight > 0)


def _by_size(
    labels: NDArray[np.int64], words: Sequence[tuple[str, ...]], counts: NDArray[np.int64]
) -> Grouped:
    """Renumber the topics by their messages, the most first; ties keep their order."""
    sizes = [int(counts[labels == topic].sum()) for topic in range(len(words))]
    order = sorted(range(len(words)), key=lambda topic: -sizes[topic])
    new = {old: at for at, old in enumerate(order)} | {-1: -1}
    return Grouped(
        np.array([new[int(label)] for label in labels], dtype=np.int64), tuple(words[old] for old in order)
    )
