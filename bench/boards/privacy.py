"""Which suites are private: one rule for everything that publishes or exports results."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from bench.errors import CatalogError
from bench.results import ResultsTree
from bench.suites import Suite


def is_private(tree: ResultsTree, name: str, suites: Mapping[str, Suite]) -> bool:
    """Whether the suite ``name`` plays a private card.

    Either its results are marked, as every run does, or its cards say so now.
    """
    if tree.marked_private(name):
        return True
    with suppress(CatalogError):  # cards that cannot be read: the mark alone decides
        defined = suites.get(name)
        return defined is not None and defined.private
    return False


def public_tree(root: Path, suites: Mapping[str, Suite], names: Collection[str] | None = None) -> ResultsTree:
    """The results in ``root`` that may be published: private suites are not listed and cannot be read.

    ``names``: the suites that will be read; None: any of the tree.
    """
    tree = ResultsTree(root)
    hidden = [name for name in (tree.suites() if names is None else names) if is_private(tree, name, suites)]
    return ResultsTree(root, hidden=hidden)
