"""Names that the site shows: of suites, judges and criteria."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from bench.results.comparisons import FOLDER
from bench.site.text import bdi
from bench.slugs import slug

if TYPE_CHECKING:
    from bench.catalog import Catalog
    from bench.results import ResultsTree
    from bench.results.score_tables import ScoreSource


@dataclass(frozen=True)
class SuiteLabel:
    """A suite's title and description. ``demonstration``: every page says that its scores are meaningless."""

    title: str
    description: str = ""
    demonstration: bool = False
    source: ScoreSource | None = None
    """Where published scores come from: every page says so, and links the conversations."""


def judge_names(tree: ResultsTree, catalog: Catalog | None) -> dict[str, str]:
    """Names of the judges in ``tree``, by id. A judge that shares its name with another keeps its id."""
    if catalog is None:
        return {}
    folders = {path.name for path in tree.root.glob("*/*/*/judgements/*")}
    folders |= {path.name for path in tree.root.glob(f"*/*/{FOLDER}/*")}
    names = {judge: entry.name for judge, entry in catalog.models.items() if slug(judge) in folders}
    taken = Counter([*names, *names.values()])
    return {judge: name for judge, name in names.items() if taken[name] == 1}


def label(criterion: str) -> str:
    """A criterion's name for readers."""
    return f"{criterion[:1].upper()}{criterion[1:]}".replace("_", " ")


@lru_cache(maxsize=256)
def criterion(name: str) -> Markup:
    """A criterion's name as HTML."""
    return bdi(label(name))
