"""The index for the full-text search of conversations, which ``bench site index`` makes with Pagefind.

A build does not make it: it takes long, and Pagefind is optional. Pagefind never sees a page of the site. It
reads plain pages that are made for it here, with a heading for each turn and nothing but escaped words.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from bench.errors import SiteError, UserError
from bench.files import storage_error
from bench.records import Conversation, PlayerInfo, numbered
from bench.results import ResultsTree
from bench.site.output import check_built, tool_output
from bench.site.paths import TALK_INDEX, Links, scene_name
from bench.site.talk import talk_of
from bench.site.text import cut, plain, words
from bench.slugs import slug

LONGEST = 20_000
"""Characters of one conversation that are indexed, at most."""
MOST = 60_000_000
"""Characters of all conversations in one language, at most: if there are more, each gets an equal share."""
LEFT_OUT = ("pagefind-*ui*", "pagefind-highlight.js")
"""Files of Pagefind that the site does not need: it has its own page."""


@dataclass(frozen=True)
class IndexReport:
    """What an index holds."""

    conversations: int
    cut: int
    """Conversations that are too long to be indexed whole."""
    size: int
    """Bytes of all files."""
    seconds: float


def index_talks(results: Path, output: Path) -> IndexReport:
    """Index all conversations that have a page on a built site, for its search page.

    Args:
        results: The results folder that the site was built from.
        output: The folder of the built site.

    Raises:
        UserError: Pagefind is not installed.
        SiteError: There is no built site, or Pagefind failed.
        RecordError: A record is damaged.
        StorageError: A file cannot be written.
    """
    started = time.perf_counter()
    executable = _pagefind()
    check_built(output)
    tree, folder = ResultsTree(results), output / TALK_INDEX
    boards: dict[str, list[str]] = {}
    for suite, language in tree.boards():
        if tree.score_source(suite) is None:
            boards.setdefault(language, []).append(suite)
    talks = cut = 0
    try:
        with tempfile.TemporaryDirectory(prefix="dramaturg-index-") as work:
            made = Path(work) / TALK_INDEX
            for language, suites in boards.items():
                pages = Path(work) / language
                counted = _write_pages(tree, output, suites, language, pages)
                if counted[0]:
                    _run(executable, pages, made / language, language)
                talks, cut = talks + counted[0], cut + counted[1]
                shutil.rmtree(pages, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)
            if made.is_dir():
                shutil.move(made, folder)
    except OSError as error:
        raise storage_error(error, Path(str(error.filename or folder))) from None
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return IndexReport(talks, cut, size, time.perf_counter() - started)


def _pagefind() -> Path:
    """Pagefind's program. Raises UserError if it is not installed."""
    found = None
    if importlib.util.find_spec("pagefind") is not None:
        from pagefind.service import get_executable

        found = get_executable()
    if found is None:
        raise UserError("pagefind is not installed", hint="Install it with `make search`.")
    return Path(found)


def _write_pages(
    tree: ResultsTree, output: Path, suites: list[str], language: str, folder: Path
) -> tuple[int, int]:
    """Write the pages for Pagefind. Returns the number of conversations, and how many of them were cut."""
    count = sum(len(list(output.glob(Links(suite, language).file("players/*/*.*.html")))) for suite in suites)
    most = min(LONGEST, MOST // max(count, 1))
    talks = cut = 0
    for suite in suites:
        for page, info, talk in _listed(tree, output, suite, language):
            text, whole = _page(talk, info, most)
            path = folder / page
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="replace")
            talks, cut = talks + 1, cut + (not whole)
    return talks, cut


def _listed(
    tree: ResultsTree, output: Path, suite: str, language: str
) -> Iterator[tuple[str, PlayerInfo, Conversation]]:
    """The conversations of a board that have a page, each with that page and its player."""
    for info in tree.players(suite, language):
        for talk in tree.conversations(suite, language, info.player):
            scene = numbered(scene_name(talk.character, talk.situation), talk.repeat)
            page = Links(suite, language).talk(info.player, scene)
            if (output / page).is_file():
                yield page, info, talk


def _page(talk: Conversation, info: PlayerInfo, most: int) -> tuple[str, bool]:
    """A conversation as a page of words, and whether it holds all of them. ``most``: its characters."""
    view = talk_of(talk, ())
    said = [("opening", view.opening)]
    said += [(f"t{turn.number}", (*turn.user, turn.answer or "")) for turn in view.turns]
    texts = [(anchor, words(" ".join(messages))) for anchor, messages in said]
    left, parts = most, []
    for anchor, text in texts:
        if text and left > 0:
            heading = f'<h2 id="{anchor}">{anchor.removeprefix("t")}</h2>'
            parts.append(f"{heading}<p>{escape(cut(text, left))}</p>")
        left -= len(text)
    title = plain(f"{talk.scene.character_name}, {talk.scene.situation_title}: {info.name}")
    filters = f"board:{slug(talk.suite)}", f"player:{slug(talk.player)}"
    marks = "".join(f'<i data-pagefind-filter="{value}"></i>' for value in filters)
    page = f"<html><body><h1>{escape(title)}</h1>{marks}{''.join(parts)}</body></html>"
    return page, left >= 0


def _run(executable: Path, pages: Path, output: Path, language: str) -> None:
    """Index a folder of pages, all of them in one language."""
    command = [str(executable), "--site", str(pages), "--output-path", str(output), "--silent"]
    command += ["--force-language", language]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0 or not (output / "pagefind.js").is_file():
        raise SiteError(f"Pagefind failed: {tool_output(done)}")
    for pattern in LEFT_OUT:
        for path in output.glob(pattern):
            path.unlink()
