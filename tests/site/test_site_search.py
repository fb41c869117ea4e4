"""Full-text search of conversations: what Pagefind gets, and when its index goes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from bench.errors import SiteError, UserError
from bench.results import ResultsTree
from bench.site import talk_index
from bench.site.output import OutputFolder
from bench.site.paths import TALK_INDEX
from bench.site.talk_index import index_talks
from bench.slugs import slug
from tests.site.hostile import PLAYERS, TEXTS
from tests.site.site_html import read

STAND_IN = """#!/bin/sh
# Keeps what Pagefind would get: --site PAGES --output-path OUTPUT --silent --force-language LANGUAGE
mkdir -p "$4" && cp -r "$2" "$4/pages" && echo "$7" > "$4/language"
touch "$4/pagefind.js" "$4/pagefind-ui.js"
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in place of Pagefind's, which need not be installed."""
    program = tmp_path / "pagefind"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setattr(talk_index, "_pagefind", lambda: program)


def _copied(site: Path, folder: Path) -> Path:
    """A site of its own to index."""
    return Path(shutil.copytree(site, folder / "indexed"))


@pytest.mark.usefixtures("stand_in")
def test_pagefind_gets_escaped_words_and_marks_of_ours_only(hostile_root: Path, tmp_path: Path) -> None:
    site = _copied(hostile_root / "deep/er/site", tmp_path)
    report = index_talks(hostile_root / "results", site)
    made = site / TALK_INDEX / "en"
    assert (made / "language").read_text() == "en\n"
    assert not (made / "pagefind-ui.js").exists()
    pages = sorted((made / "pages").rglob("*.html"))
    assert len(pages) == report.conversations == 3 * len(PLAYERS)
    assert {path.relative_to(made / "pages").as_posix() for path in pages} == {
        path.relative_to(site).as_posix() for path in site.glob("boards/*/*/players/*/*.*.html")
    }
    for path in pages:
        page = read(path)
        elements = list(page.walk())
        assert {e.tag for e in elements} == {"#document", "html", "body", "h1", "h2", "i", "p"}
        assert {name for e in elements for name in e.attributes} == {"id", "data-pagefind-filter"}
        filters = [e.attributes["data-pagefind-filter"] for e in page.tagged("i")]
        assert filters == ["board:hostile", f"player:{path.parent.name}"]
        assert not re.search("[\x00-\x08\x0b-\x1f\u200b\u202a-\u202e]", page.text)
    whole = read(next(path for path in pages if path.parent.name == slug("CON") and "index" not in path.name))
    anchors = {h.attributes["id"] for h in whole.tagged("h2")}
    assert anchors == {f"t{n}" for n, text in enumerate(TEXTS, start=1) if text.strip()}


@pytest.mark.usefixtures("stand_in")
def test_an_index_is_bounded_however_long_conversations_are(
    small_site: Path, small_tree: ResultsTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = _copied(small_site, tmp_path)
    monkeypatch.setattr(talk_index, "MOST", 27 * 100)  # of 3 players in 9 scenes
    report = index_talks(small_tree.root, site)
    assert report.cut == report.conversations
    for path in (site / TALK_INDEX).rglob("pages/**/*.html"):
        assert sum(len(p.text) for p in read(path).tagged("p")) <= 104


def test_without_pagefind_or_a_site_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pagefind is not installed\. Install it with `make search`"):
        index_talks(tmp_path, tmp_path)
    monkeypatch.setattr(talk_index, "_pagefind", lambda: tmp_path / "pagefind")
    with pytest.raises(SiteError, match="no built site"):
        index_talks(tmp_path, tmp_path)


def test_a_program_that_fails_is_one_line(
    small_site: Path, small_tree: ResultsTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "pagefind"
    program.write_text("#!/bin/sh\necho 'no space left' >&2; exit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(talk_index, "_pagefind", lambda: program)
    site = _copied(small_site, tmp_path)
    with pytest.raises(SiteError, match="Pagefind failed: no space left"):
        index_talks(small_tree.root, site)
    assert not (site / TALK_INDEX).exists()


@pytest.mark.parametrize("changed", ["nothing", "a conversation", "a conversation is gone"])
def test_a_build_keeps_the_index_until_a_conversation_changes(tmp_path: Path, changed: str) -> None:
    talk, gone = (f"boards/a/en/players/p/c.s{n}.html" for n in (1, 2))
    index, leftover = f"{TALK_INDEX}/en/pagefind.js", "old.html"
    OutputFolder(tmp_path)
    for name in (talk, index, leftover, *([gone] if "gone" in changed else [])):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    folder = OutputFolder(tmp_path)
    folder.add([talk], written=int(changed == "a conversation"), stamps={})
    assert folder.prune() == {"nothing": 1, "a conversation": 2, "a conversation is gone": 3}[changed]
    assert (tmp_path / index).exists() == (changed == "nothing")
    assert (tmp_path / talk).exists()
