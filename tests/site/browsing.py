"""A page in Chromium, watched for whatever ought not to happen."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
)
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
        if self.scripts:
            ready(self.page)
        return self.page


def ready(page: Page) -> None:
    """Wait until the scripts of a page have run and it has been drawn."""
    page.locator("html[data-rc-ready]").wait_for(state="attached")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
