"""Which pages of built sites stand for all of them, so that a slow check sees each kind of page once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_NAMED = re.compile(
    r"(?<=^boards/)[^/]+/[^/]+(?=/)|(?<=^people/)[^/]+/[^/]+(?=/)|(?<=/players/)[^/]+(?=/)|(?<=/pairs/)[^/]+(?=/)"
    r"|(?<=/scenes/).+|(?<=/characters/).+|(?<=/situations/).+|(?<=^models/).+|(?<=/)[^/]+\.[^/]+(?=\.html$)"
)
"""What is in a path because of a board, a player or a scene."""
_CLASSES = re.compile(r'\sclass="([^"]*)"')
_TINT = re.compile(r"rc-[hmp]\d+")


def kind(page: str) -> str:
    """The path of a page, without what differs between pages of one kind."""
    return _NAMED.sub("*", page)


def representatives(sites: Iterable[Path]) -> list[tuple[Path, str]]:
    """(site, page): one of every kind, and a few more until each class of an article's elements is there."""
    pages: dict[tuple[Path, str], tuple[set[str], int]] = {}
    for site in sites:
        for path in sorted(site.rglob("*.html")):
            page, text = path.relative_to(site).as_posix(), path.read_text(encoding="utf-8")
            article = text.partition("<article")[2].partition("</article>")[0]
            classes = {name for group in _CLASSES.findall(article) for name in group.split()}
            features = {kind(page), *(name for name in classes if not _TINT.fullmatch(name))}
            pages[site, page] = features, len(article)
    left = set().union(*(features for features, _ in pages.values()))
    chosen = []
    while left:
        best = max(pages, key=lambda page: (len(pages[page][0] & left), -pages[page][1]))
        left -= pages[best][0]
        chosen.append(best)
    return chosen
