"""MkDocs Material renders the hand-written pages, and an empty shell for each kind of generated page.

Text from models and records never goes through MkDocs. The title, heading and content of a shell are
placeholder tokens. :class:`Shell` cuts the rendered HTML at the tokens, and fills the gaps with escaped text.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import SiteError
from bench.files import storage_error
from bench.site.csp import with_policy
from bench.site.output import tool_output
from bench.site.paths import SEARCH
from bench.site.text import bdi, plain

TITLE = "RCTITLERC"
HEADING = "RCHEADINGRC"
CONTENT = '<div data-dramaturg="content"></div>'
DESCRIPTION = "RCDESCRIPTIONRC"
ADDRESS = "RCADDRESSRC"
IMAGE = '<meta property="og:image" content="RCIMAGERC">'
PREVIEW = "assets/preview.png"
"""The picture in previews of pages without one of their own."""
CHANGES = "What changed in each version of Dramaturg."
_NAV = "RCNAV{:04d}RC"
_SLOT = re.compile(f"({TITLE}|{HEADING}|{DESCRIPTION}|{ADDRESS}|{re.escape(IMAGE)}|{re.escape(CONTENT)})")
_UNUSED = re.compile(r".*\.map|sitemap\.xml(\.gz)?|404\.html|shells/.*|assets/javascripts/lunr/.*")
"""Files that MkDocs writes and the site does not need."""

_UNNAMED_DIALOG = ('role="dialog">', 'role="dialog" aria-label="Search">')
"""Gives the theme's search dialog a name for screen readers."""

_INDENT = re.compile(r"\n\s+")
"""The theme's indentation, which thousands of pages would repeat. A shell has no preformatted text."""

_ICON = re.compile(
    r'<svg xmlns="http://www\.w3\.org/2000/svg"(?P<about>[^>]*)>(?P<drawing>(?:<path[^>]*/>)+)</svg>'
)
"""An icon of the theme, inlined in a page."""

DEPTHS = {"model": 1, "part": 3, "scene": 4, "conversation": 5}
"""Number of folders above a generated page of each kind. Relative links depend on it."""

NAV = {
    "Method": {
        "Method": "method.md",
        "Version 1": "version-1.md",
        "Human likeness": "human-likeness.md",
        "Spoken role play": "speech.md",
        "Card probes": "card-probes.md",
        "Long conversations, and flaws": "long-conversations.md",
        "Measures without a judge": "measures.md",
        "Reading the numbers": "reading-the-numbers.md",
        "Judges and people": "people.md",
        "How people rate": "rating.md",
        "What users talk about": "topics.md",
        "About the demonstration": "demonstration.md",
    },
    "Data": {"Data": "data.md", "Search the conversations": "search.md"},
    "Take part": {"Submit a model": "submit.md"},
    "For maintainers": {"Running at scale": "running-at-scale.md", "When something goes wrong": "faults.md"},
    "About": {"Changes": "changelog.md", "How to cite": "cite.md"},
}
"""Sections of the navigation after the boards: titles, and files of site/pages."""
LAST = "About"
"""The section for pages that are not listed in NAV."""


@dataclass(frozen=True)
class Page:
    """A generated page: its path, the kind of shell it needs, and what fills the shell."""

    path: str
    kind: str
    title: str
    heading: str
    """Plain text, as are the title and what previews of links say."""
    content: str
    """HTML."""
    about: str = ""
    """What previews of links say; empty: the title."""
    image: str = ""
    """Path of the picture in previews."""


class Shell:
    """A rendered page with gaps for its title, heading and content, and for what previews of links show."""

    def __init__(self, page: str, site_url: str = "") -> None:
        self.page = page
        self._site_url = site_url.rstrip("/")
        self._parts = _SLOT.split(page)

    def fill(self, page: Page) -> str:
        """The shell with its gaps filled."""
        title = plain(page.title)
        values = {
            TITLE: html.escape(title),
            HEADING: bdi(" ".join(page.heading.split()), 200),
            CONTENT: page.content,
            DESCRIPTION: html.escape(plain(page.about, 300) or title),
            ADDRESS: html.escape(f"{self._site_url}/{page.path}"),
            IMAGE: "",
        }
        if self._site_url:
            picture = html.escape(f"{self._site_url}/{page.image or PREVIEW}")
            values[IMAGE] = IMAGE.replace("RCIMAGERC", picture)
        return "".join(values[part] if n % 2 else part for n, part in enumerate(self._parts))


@dataclass(frozen=True)
class Stage1:
    """The output of MkDocs."""

    files: Mapping[str, bytes]
    """Files other than pages, by path."""
    pages: Mapping[str, str]
    """Hand-written pages, by path."""
    shells: Mapping[str, Shell]
    """By kind of generated page."""
    board_shells: Mapping[str, Shell]
    """By path of the board's page. In these, the navigation marks the board."""

    def filled(self, page: Page) -> str:
        """A page in its shell."""
        return (self.board_shells.get(page.path) or self.shells[page.kind]).fill(page)


@dataclass(frozen=True)
class NavBoard:
    """A board in the navigation."""

    path: str
    suite: str
    title: str


def build_shells(
    site_dir: Path,
    mkdocs_yml: Path,
    boards: Sequence[NavBoard],
    site_url: str,
    *,
    changelog: str = "",
    feed: bool = False,
    repository: str = "",
) -> Stage1:
    """Run MkDocs in a temporary folder on the hand-written pages, the changelog and the stubs.

    Args:
        site_dir: The folder with ``pages``, ``assets`` and ``theme``.
        mkdocs_yml: The configuration; its navigation is replaced.
        boards: The boards to put into the navigation.
        site_url: Address of the published site; may be empty.
        changelog: Text of the changelog page; empty: no such page.
        feed: Whether pages should link to the feed of the changelog.
        repository: Address of the source, to link in header and footer; may be empty.

    Raises:
        SiteError: MkDocs failed, or a source is missing.
        StorageError: The temporary folder cannot be written.
    """
    for source in (mkdocs_yml, site_dir / "pages" / "index.md"):
        if not source.is_file():
            raise SiteError("is missing", where=str(source), hint="Build the site from a source tree.")
    for source in (mkdocs_yml, *sorted(site_dir.rglob("*"))):  # anyone may propose a page
        if source.is_symlink():
            raise SiteError("is a link", where=str(source), hint="Put the file itself there.")
    try:
        with tempfile.TemporaryDirectory(prefix="dramaturg-site-") as folder:
            work = Path(folder).resolve()
            docs, output = work / "docs", work / "output"
            shutil.copytree(site_dir / "pages", docs)
            shutil.copytree(site_dir / "assets", docs / "assets")
            if changelog:
                (docs / "changelog.md").write_text(
                    f"---\ntitle: Changes\ndescription: {CHANGES}\n---\n\n{changelog}", encoding="utf-8"
                )
            for kind, depth in DEPTHS.items():
                _stub(docs / Path("shells", *["x"] * (depth - 1), f"{kind}.md"))
            for board in boards:
                _stub(docs / board.path.replace(".html", ".md"))
            config = _config(site_dir, mkdocs_yml, boards, docs)
            config["extra"] = {"feed": feed}
            config |= {"repo_url": repository} if repository else {}
            if site_url:
                config["site_url"] = site_url
            (work / "mkdocs.yml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
            _run_mkdocs(work, output)
            return _collect(output, boards, site_url)
    except OSError as error:
        raise storage_error(error, Path(str(error.filename or tempfile.gettempdir()))) from None


def _stub(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"---\ntitle: {TITLE}\ndescription: {DESCRIPTION}\ngenerated: true\nhide: [navigation, toc]\n"
        "search:\n  exclude: true\n---\n\n"
        f"# {HEADING} {{ #content data-toc-label='Content' }}\n\n{CONTENT}\n",
        encoding="utf-8",
    )


def _config(site_dir: Path, base: Path, boards: Sequence[NavBoard], docs: Path) -> dict[str, Any]:
    """The repository's configuration, with the folders and the navigation of this build."""
    by_suite: dict[str, list[Any]] = {}
    for n, board in enumerate(boards):
        by_suite.setdefault(board.suite, []).append({_NAV.format(n): board.path.replace(".html", ".md")})
    nav_boards: list[Any] = ["boards/index.md"]
    for entries in by_suite.values():
        nav_boards += entries
    return {
        "INHERIT": str(base.resolve()),
        "docs_dir": str(docs),
        "theme": {"custom_dir": str((site_dir / "theme").resolve())},
        "nav": [{"Home": "index.md"}, {"Boards": nav_boards}, *_nav(docs)],
    }


def _nav(docs: Path) -> list[Any]:
    """Hand-written pages in their sections. Missing pages are left out."""
    nav: list[Any] = []
    listed = {"index.md", *(name for pages in NAV.values() for name in pages.values())}
    for section, pages in NAV.items():
        found: list[Any] = [{title: name} for title, name in pages.items() if (docs / name).is_file()]
        if section == LAST:
            found += [path.name for path in sorted(docs.glob("*.md")) if path.name not in listed]
        if len(found) == 1 and isinstance(found[0], dict):
            nav.append({section: next(iter(found[0].values()))})
        elif found:
            nav.append({section: found})
    return nav


def _run_mkdocs(work: Path, output: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    command += ["--config-file", str(work / "mkdocs.yml"), "--site-dir", str(output)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONUTF8": "1"}
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message = tool_output(done).replace(str(work), "")
        raise SiteError(f"MkDocs failed: {message}", where="site/pages")


def _collect(output: Path, boards: Sequence[NavBoard], site_url: str) -> Stage1:
    names = {_NAV.format(n): html.escape(board.title) for n, board in enumerate(boards)}
    files: dict[str, bytes] = {}
    pages: dict[str, str] = {}
    shells: dict[str, Shell] = {}
    board_shells: dict[str, Shell] = {}
    stubs = {board.path for board in boards}
    for path in sorted(path for path in output.rglob("*") if path.is_file()):
        name = path.relative_to(output).as_posix()
        if path.suffix != ".html":
            if not _UNUSED.fullmatch(name):
                files[name] = path.read_bytes()
            continue
        if name == "404.html":
            continue
        text = _named(path.read_text(encoding="utf-8"), names)
        text = text.replace(*_UNNAMED_DIALOG)
        if name.startswith("shells/") or name in stubs:
            text = _with_icons_once(_INDENT.sub("\n", text))
            if site_url:
                text = text.replace(f"{site_url.rstrip('/')}/{name}", ADDRESS)
        page = with_policy(text, wasm=name == SEARCH)
        if name.startswith("shells/"):
            shells[path.stem] = Shell(page, site_url)
        elif name in stubs:
            board_shells[name] = Shell(page, site_url)
        else:
            pages[name] = page
    return Stage1(files, pages, shells, board_shells)


def _with_icons_once(page: str) -> str:
    """The page with each of the theme's icons drawn once; repetitions refer to the first."""
    times = Counter(icon["drawing"] for icon in _ICON.finditer(page))
    seen: dict[str, str] = {}

    def drawn(icon: re.Match[str]) -> str:
        drawing = icon["drawing"]
        if drawing in seen:
            drawing = f'<use href="#{seen[drawing]}"/>'
        elif times[drawing] > 1:
            seen[drawing] = f"__icon_{len(seen)}"
            drawing = f'<g id="{seen[drawing]}">{drawing}</g>'
        return f"<svg{icon['about']}>{drawing}</svg>"

    return _ICON.sub(drawn, page)


def _named(page: str, names: Mapping[str, str]) -> str:
    """The page with the boards' names in its navigation."""
    return re.sub(r"RCNAV\d{4}RC", lambda m: names.get(m.group(), m.group()), page)
