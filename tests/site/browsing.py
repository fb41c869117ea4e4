"""A page in Chromium, watched for whatever ought not to happen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
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
_HERE = Path(__file__).parent
AXE = (_HERE / "vendor/axe.min.js").read_text()
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
        if self.scripts:
            ready(self.page)


READY = (_HERE / "ready.js").read_text()


def ready(page: Page) -> None:
    """Wait until the scripts of a page have run and it has been drawn."""
    page.evaluate(READY)


COLOUR_RULES = ("color-contrast", "link-in-text-block")
"""Rules of axe that depend on the scheme."""
LOOKS = (_HERE / "looks.js").read_text()
MARKED = {"rules": [{"id": "color-contrast", "selector": "[data-rc-look]"}]}
"""Takes half the time of axe, so it checks each look of a text once, see ``looks.js``."""


@dataclass
class Axe:
    """Axe on the pages of one window."""

    page: Page
    looks: dict[str, list[int]] = field(default_factory=lambda: {scheme: [] for scheme in SCHEMES})
    """Looks of texts that have been checked, by scheme."""

    def __post_init__(self) -> None:
        self.page.add_init_script(f"if (self === top) {{\n{AXE}\n}}")

    def faults(self) -> Iterator[tuple[str, str, str, str]]:
        """What axe finds in either scheme: the scheme, the rule, the element, and what is wrong with it."""
        self.page.evaluate("document.querySelectorAll('article details').forEach(d => d.open = true)")
        for scheme in SCHEMES:
            self.page.emulate_media(color_scheme=scheme)
            self.page.evaluate(SCHEME, scheme)
            ready(self.page)
            fresh = self.page.evaluate(LOOKS, self.looks[scheme])
            self.looks[scheme] += fresh
            options: dict[str, object] = {"resultTypes": ["violations"], "preload": False, "iframes": False}
            if scheme != SCHEMES[0]:
                options["runOnly"] = list(COLOUR_RULES if fresh else COLOUR_RULES[1:])
            for rule in self.page.evaluate(RUN, [MARKED, options]):
                node = rule["nodes"][0]
                yield scheme, rule["id"], node["html"][:200], node.get("failureSummary", "")[:300]


SCHEME = """(scheme) => {
  const mine = document.querySelector(`[data-md-color-media="(prefers-color-scheme: ${scheme})"]`);
  if (mine) document.body.dataset.mdColorScheme = mine.dataset.mdColorScheme;
}"""
"""What the theme does as it loads, but not when the scheme changes later."""
RUN = """([configuration, options]) => {
  axe.configure(configuration);
  return axe.run(document, options).then((results) => results.violations);
}"""
