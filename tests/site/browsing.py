"""A page in Chromium, watched for whatever ought not to happen."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = Path(shutil.which("chromium-headless-shell") or "/usr/bin/chromium")
"""Without windows if Debian's chromium-headless-shell is installed: each page takes half the time."""
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
)
AXE = Path(__file__).parent / "vendor/axe.min.js"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no Chromium at {CHROMIUM}"),
    pytest.mark.block_network(allowed_hosts=["127.0.0.1", "localhost"]),
]
"""Marks of a module whose tests drive Chromium."""


@dataclass
class Watched:
    """A page, and everything about it that ought not to have happened."""

    page: Page
    base: str
    scripts: bool = True
    """Whether JavaScript is enabled."""
    faults: list[str] = field(default_factory=list)

    def open(self, name: str) -> Page:
        """Go to a page of the site, and wait until its scripts have run."""
        self.page.goto(self.base + name)
        self.drawn()
        return self.page

    def drawn(self) -> None:
        """Wait until the scripts of the page, if it has any, have run and it has been drawn."""
        if self.scripts and self.page.locator("script[src]").count():
            ready(self.page)


def ready(page: Page) -> None:
    """Wait until the scripts of a page have run and it has been drawn."""
    page.locator("html[data-rc-ready]").wait_for(state="attached")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


COLOUR_RULES = ("color-contrast", "link-in-text-block")
"""Rules of axe that depend on the scheme."""


def access_faults(page: Page, *rules: str) -> list[tuple[str, str, str]]:
    """What axe finds: the rule, the element, and what is wrong with it. ``rules``: check only these."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    violations = page.evaluate("o => axe.run(document, o).then(r => r.violations)", options)
    return [
        (rule["id"], rule["nodes"][0]["html"][:200], rule["nodes"][0].get("failureSummary", "")[:300])
        for rule in violations
    ]


def check_access(watched: Watched, name: str) -> None:
    """Axe finds no fault of a page in the light and the dark scheme, and fits the width of a phone."""
    page = watched.page
    page.emulate_media(reduced_motion="reduce")
    watched.open(name)
    page.evaluate("document.querySelectorAll('article details').forEach(d => d.open = true)")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        ready(page)
        assert access_faults(page, *(COLOUR_RULES if scheme != SCHEMES[0] else ())) == [], scheme
    page.evaluate("document.querySelectorAll('article details').forEach(d => d.open = false)")
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert watched.faults == []
