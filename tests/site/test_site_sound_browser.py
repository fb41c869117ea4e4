"""The sound of a conversation page, in a browser: loaded from the site itself, and only when asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.site.browsing import BROWSER, ready

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = BROWSER

LOADED = """() => Promise.all([...document.querySelectorAll("audio")].map(sound => new Promise(done => {
    sound.onloadeddata = () => done(sound.duration);
    sound.onerror = () => done(String(sound.error && sound.error.message));
    sound.preload = "auto";
    sound.load();
})))"""


@pytest.mark.parametrize(("scene", "seconds"), [("keeper.storm", [2.0]), ("crier.plums", [1.0, 1.5])])
def test_a_page_plays_its_own_sound_under_its_policy(
    other_site: Path, browser: Browser, scene: str, seconds: list[float]
) -> None:
    page = browser.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((other_site / f"boards/spoken/en/players/tape/{scene}.html").as_uri())
    ready(page)
    assert not [url for url in asked if "/audio/" in url]
    assert page.evaluate(LOADED) == pytest.approx(seconds, abs=0.1)
    assert said == []
    page.close()
