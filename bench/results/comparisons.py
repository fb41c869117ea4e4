"""Where comparisons of two players are in the results tree, and how they are read and written.

    results/<suite>/<language>/_comparisons/<judge>/<character>.<situation>/<player-a>~<player-b>.json
        (repeat 2 of a scene: <character>.<situation>.2)

No slug starts with "_", so the folder cannot be a player's. The players of a pair stand in the order of their
slugs, so that a pair has one file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.records import numbered
from bench.results import ResultsTree, read_record
from bench.results.comparison_records import Comparison
from bench.slugs import slug

FOLDER = "_comparisons"


def pair_of(one: str, other: str) -> tuple[str, str]:
    """Two players in the order of their slugs."""
    first, second = sorted((one, other), key=slug)
    return first, second


def comparisons_folder(tree: ResultsTree, suite: str, language: str) -> Path:
    """The folder of all comparisons of a board."""
    return tree.board_folder(suite, language) / FOLDER


def comparison_path(tree: ResultsTree, record: Comparison) -> Path:
    """Where ``record`` belongs."""
    scene = numbered(f"{slug(record.character)}.{slug(record.situation)}", record.repeat)
    first, second = map(slug, record.players)
    board = tree.board_folder(record.suite, record.language)
    return board / f"{FOLDER}/{slug(record.judge)}/{scene}/{first}~{second}.json"


def comparisons(tree: ResultsTree, suite: str, language: str) -> Iterator[Comparison]:
    """All comparisons of a board, sorted by judge folder, scene and pair. Raises RecordError."""
    for path in sorted(comparisons_folder(tree, suite, language).glob("*/*/*.json")):
        if not path.name.startswith("."):
            yield read_record(Comparison, path, tree.root)


def has_comparisons(tree: ResultsTree, suite: str, language: str) -> bool:
    """Whether a board has any comparison."""
    return any(comparisons_folder(tree, suite, language).glob("*/*/*.json"))


def write_comparison(tree: ResultsTree, record: Comparison, *, replace: bool = False) -> bool:
    """Write a comparison; an existing one stays unless ``replace``. Returns whether it was written."""
    return tree.write(comparison_path(tree, record), record, replace=replace)
