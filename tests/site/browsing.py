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
    faults: list[str] = field(default_factory=list)

    def open(self, name: str) -> Page:
        """Go to a page of the site and let its scripts settle."""
        self.page.goto(self.base + name)
        self.page.wait_for_timeout(300)
        return self.page
