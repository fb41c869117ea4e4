"""Which pages of a built site stand for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_VARIABLE = (
    (r"(?<=boards/)[^/]+/[^/]+(?=/)", "*"),
    (r"(?<=players/)[^/]+(?=/)", "*"),
    (r"(?<=people/)[^/]+/[^/]+(?=/)", "*"),
    (r"(?<=pairs/)[^/]+(?=/)", "*"),
    (r"(?<=/)[^/]+\.[^/]+(?=\.html)", "*"),
    (r"(?<=(?:scenes|models)/)[^/]+(?=\.html)", "*"),
    (r"(?<=(?:characters)/)[^/]+(?=\.html)", "*"),
    (r"(?<=(?:situations)/)[^/]+(?=\.html)", "*"),
)
_CLASSES = re.compile(r'<(\w+)\b[^>]*?\sclass="([^"]*)"')


def kind(page: str) -> str:
    """The path of a page without what differs between boards, players and scenes."""
    for pattern, shape in _VARIABLE:
        page = re.sub(pattern, shape, page)
    return page


def features(site: Path, page: str) -> frozenset[str]:
    """The kind of a page, and each element with each of its classes in the article."""
    text = (site / page).read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
    found = {kind(page)}
    for tag, classes in _CLASSES.findall(text):
        found.update(f"{tag}.{name}" for name in classes.split())
    return frozenset(found)


def representatives(sites: Iterable[Path]) -> list[tuple[Path, str]]:
    """Few pages that have all features of all pages of these sites between them."""
    pages = {
        (site, path.relative_to(site).as_posix()): features(site, path.relative_to(site).as_posix())
        for site in sites
        for path in sorted(site.rglob("*.html"))
    }
    left = set().union(*pages.values())
    chosen = []
    while left:
        best = max(pages, key=lambda page: len(pages[page] & left))
        left -= pages[best]
        chosen.append(best)
    return chosen
