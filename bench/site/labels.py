"""What a suite is called on the site, and what is said of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.results import ResultsTree
from bench.slugs import slug
from bench.suites import LANGUAGES

if TYPE_CHECKING:
    from bench.catalog import Catalog


@dataclass(frozen=True)
class SuiteLabel:
    """A suite's words for readers. ``demonstration``: its scores mean nothing, and every page says so."""

    title: str
    description: str = ""
    demonstration: bool = False
    judges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By language, the judges whose verdicts make the board; where there is none, all of them."""


@dataclass(frozen=True)
class BoardPlace:
    """A board's coordinates, what its suite is called, and the judges that count (empty: all)."""

    suite: str
    language: str
    label: SuiteLabel
    judges: tuple[str, ...] = ()


def label_of(suites: Mapping[str, SuiteLabel], suite: str) -> SuiteLabel:
    """The label of a suite; one that nobody described is called by its folder name."""
    return suites.get(suite) or SuiteLabel(title=suite)


def place_of(tree: ResultsTree, suites: Mapping[str, SuiteLabel], suite: str, language: str) -> BoardPlace:
    """A board's place. Judges that judged nobody on it do not count, as in the published board."""
    label = label_of(suites, suite)
    folders = {path.name for path in tree.board_folder(suite, language).glob("*/judgements/*")}
    judges = tuple(j for j in label.judges.get(language, ()) if slug(j) in folders)
    return BoardPlace(suite, language, label, judges)


def judge_names(tree: ResultsTree, catalog: Catalog | None) -> dict[str, str]:
    """What the judges of a results tree are called; one whose name others have too keeps its id."""
    if catalog is None:
        return {}
    folders = {path.name for path in tree.root.glob("*/*/*/judgements/*")}
    names = {judge: entry.name for judge, entry in catalog.models.items() if slug(judge) in folders}
    taken = Counter([*names, *names.values()])
    return {judge: name for judge, name in names.items() if taken[name] == 1}


def language_name(language: str) -> str:
    """English name of a language code, or the code itself."""
    return LANGUAGES.get(language, language)
