"""Comparisons in pairs as rows of a table: one for each order and criterion."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bench.records import messages_sha256
from bench.results import ResultsTree
from bench.results.comparisons import comparisons

COLUMNS = {
    "suite": "suite id",
    "language": "language code",
    "character": "character id",
    "situation": "situation id",
    "repeat": "number of the sample; 2 is the first repeat",
    "judge": "id of the judge",
    "first": "id of the player whose conversation was shown first",
    "second": "id of the player whose conversation was shown second",
    "criterion": "what was compared; null where the comparison failed",
    "margin": "-3 to 3: positive where the first is better, 0 for a tie; null where the comparison failed",
    "reason": "the judge's reason, or why the comparison failed",
    "first_refuses": "whether the judge saw a refusal of the first player",
    "second_refuses": "whether the judge saw a refusal of the second player",
    "stale": "whether one of the conversations has changed since, so that the row does not count",
}
"""Meaning by column."""


def comparison_rows(tree: ResultsTree, suite: str, language: str) -> pd.DataFrame:
    """All comparisons of a board, also failed ones. Raises RecordError for a damaged record."""
    return pd.DataFrame(_rows(tree, suite, language), columns=list(COLUMNS), dtype=object)


def _rows(tree: ResultsTree, suite: str, language: str) -> Iterator[tuple[object, ...]]:
    records = list(comparisons(tree, suite, language))
    now = {
        (talk.player, talk.character, talk.situation, talk.repeat): messages_sha256(talk.messages)
        for player in sorted({player for record in records for player in record.players})
        for talk in tree.conversations(suite, language, player)
    }
    for record in records:
        scene = (record.character, record.situation, record.repeat)
        sha256 = tuple(now.get((player, *scene)) for player in record.players)
        for order, players in zip(record.orders, (record.players, record.players[::-1]), strict=True):
            start = (suite, language, *scene, record.judge, *players)
            end = (*order.refusals, sha256 != record.conversations_sha256)
            if order.failure is not None:
                yield *start, None, None, order.failure.reason, *end
            for criterion, margin in order.margins.items():
                yield *start, criterion, margin, order.reasons.get(criterion), *end
