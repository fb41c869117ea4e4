"""Screenshots of a board and a conversation for the README, light and dark.

    python tests/site/screenshots.py [--results DIR] [--board SUITE/LANGUAGE] [--conversation SUITE/LANGUAGE]

Builds the site of the results into a temporary folder and opens it as files; nothing is asked of the network.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.results import ResultsTree  # noqa: E402
from bench.site import paths  # noqa: E402
from tests.site.browsing import CHROMIUM, FLAGS, ready  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def conversation_of(tree: ResultsTree, suite: str, language: str) -> str:
    """Page of the first complete conversation that every judge of it judged."""
    for info in tree.players(suite, language):
        judged = [j for j in tree.judgements(suite, language, info.player) if j.status == "ok"]
        for talk in tree.conversations(suite, language, info.player):
            if any((j.character, j.situation) == (talk.character, talk.situation) for j in judged):
                scene = paths.scene_name(talk.character, talk.situation)
                return paths.Links(suite, language).talk(info.player, scene)
    raise SystemExit(f"no judged conversation of {suite} in {language}")


def shoot(browser: Browser, address: str, path: Path, scheme: Literal["light", "dark"]) -> None:
    """One picture of the first screen of a page."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    ready(page)
    if "#" in address:
        page.eval_on_selector_all("section:target details", "all => all.forEach(d => (d.open = true))")
    page.screenshot(path=str(path))
    context.close()
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)  # a third of the size


def main() -> None:
    """Build and take all four."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--board", default="japanese-rp-bench/ja")
    parser.add_argument("--conversation", default="card-probes/en")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/images")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    tree = ResultsTree(options.results)
    pages = {
        "board": paths.Links(*options.board.split("/")).board(),
        "conversation": f"{conversation_of(tree, *options.conversation.split('/'))}#talk",
    }
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = [sys.executable, "-m", "bench.cli", "site", "build"]
        command += ["--results", str(options.results.resolve()), "--output", f"{folder}/site"]
        subprocess.run(command, cwd=ROOT, check=True)
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS.split())
        for name, page in pages.items():
            for scheme in SCHEMES:
                path = options.output / f"{name}-{scheme}.png"
                shoot(browser, f"file://{folder}/site/{page}", path, scheme)
                print(path)
        browser.close()


if __name__ == "__main__":
    main()
