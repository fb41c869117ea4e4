"""The human studies of a results tree: where their pages are, and links to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.results import ResultsTree
from bench.results.studies import read_study, studies
from bench.site.text import plain
from bench.slugs import slug


@dataclass(frozen=True)
class StudyPlace:
    """A study, the board that it is of, and the paths of its files."""

    study: str
    suite: str
    language: str
    items: int
    """Number of conversations."""

    @property
    def page(self) -> str:
        return f"{self.folder}/index.html"

    @property
    def folder(self) -> str:
        return f"people/{self.study}/{slug(self.language)}"

    @property
    def key(self) -> str:
        """Key of the page among the pages of a board."""
        return f"people-{self.study}"


def study_places(tree: ResultsTree) -> list[StudyPlace]:
    """Every study, by name, of suites that are not hidden. Raises RecordError if a study.json is damaged."""
    files = [read_study(tree.root, name) for name in studies(tree.root)]
    return [
        StudyPlace(file.study, file.suite, file.language, len(file.items))
        for file in files
        if slug(file.suite) not in tree.hidden
    ]


def part_links(places: Sequence[StudyPlace], suite: str, language: str) -> list[tuple[str, str, str]]:
    """Key, title and page of the studies of a board."""
    own = [place for place in places if (slug(place.suite), slug(place.language)) == (suite, language)]
    return [
        (place.key, "People" if len(own) == 1 else f"People: {plain(place.study, 30)}", place.page)
        for place in own
    ]
