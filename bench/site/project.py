"""The sources of the site, and what comes from CHANGELOG.md and CITATION.cff: changes, feed, how to cite."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import yaml  # type: ignore[import-untyped]

from bench.errors import SiteError

ROOT = Path(__file__).resolve().parents[2]
FEED = "changelog.xml"
MOST_ENTRIES = 100
"""Of the feed."""
_VERSION = re.compile(r"^## (?P<name>\S+)(?:\s*\((?P<date>[^)]*)\))?\s*$", re.MULTILINE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Sources:
    """Where the site's own pages, templates and styles are, and the project's files."""

    site: Path = ROOT / "site"
    mkdocs_yml: Path = ROOT / "mkdocs.yml"
    project: Path = ROOT
    """The folder of CHANGELOG.md and CITATION.cff."""

    @property
    def templates(self) -> Path:
        return self.site / "templates"

    @property
    def changelog(self) -> str:
        path = self.project / "CHANGELOG.md"
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    @property
    def citation(self) -> Path:
        return self.project / "CITATION.cff"


@dataclass(frozen=True)
class Version:
    """One section of CHANGELOG.md."""

    name: str
    date: str
    """The date, or other text of the heading, such as ``unreleased``."""
    text: str

    @property
    def day(self) -> str | None:
        """The release date as YYYY-MM-DD; None if it is not released."""
        match = _DAY.search(self.date)
        return match.group() if match else None

    @property
    def points(self) -> list[str]:
        """The changes, each as one line of plain text."""
        return _points(self.text)

    @property
    def highlights(self) -> list[str]:
        """The first sentence of each part, or the first ones of a version without parts."""
        parts = [_points(part) for part in re.split(r"^### ", self.text, flags=re.MULTILINE)]
        firsts = [points[0] for points in parts if points]
        return [_SENTENCE.split(point)[0] for point in (firsts if len(firsts) > 1 else self.points[:4])]


def _points(text: str) -> list[str]:
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    items = re.split(r"^[-*] ", text, flags=re.MULTILINE)[1:]
    plain = (re.sub(r"`|\*\*|\*(?=\w)|(?<=\w)\*", "", item) for item in items)
    return [" ".join(item.split()) for item in plain]


def changelog(text: str) -> list[Version]:
    """The versions of a changelog, in its order."""
    headings = list(_VERSION.finditer(text))
    ends = [match.start() for match in headings[1:]] + [len(text)]
    return [
        Version(match["name"], match["date"] or "", text[match.end() : end].strip())
        for match, end in zip(headings, ends, strict=True)
    ]


@dataclass(frozen=True)
class FeedEntry:
    """An entry of the feed. All texts are plain."""

    title: str
    ident: str
    """Unique within the feed."""
    page: str
    updated: str
    """Date and time (RFC 3339)."""
    points: Sequence[str]


def version_entries(versions: Sequence[Version]) -> list[FeedEntry]:
    """The entries of the released versions."""
    return [
        FeedEntry(version.name, version.name, "changelog.html", f"{day}T00:00:00Z", version.points)
        for version in versions
        if (day := version.day)
    ]


def feed(entries: Sequence[FeedEntry], site_url: str) -> str | None:
    """An Atom feed, the latest first; None without entries. Without ``site_url`` its links are relative."""
    base = f"{site_url.rstrip('/')}/" if site_url else ""
    if not entries:
        return None
    latest = sorted(entries, key=lambda entry: datetime.fromisoformat(entry.updated), reverse=True)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>Dramaturg: changes</title>\n<id>{escape(base) or 'urn:dramaturg:changelog'}</id>\n"
        f'<link rel="self" href="{escape(base)}{FEED}"/>\n<link href="{escape(base)}changelog.html"/>\n'
        f"<updated>{latest[0].updated}</updated>\n<author><name>The Dramaturg contributors</name></author>\n"
        f"{''.join(_entry(entry, base) for entry in latest[:MOST_ENTRIES])}</feed>\n"
    )


def _entry(entry: FeedEntry, base: str) -> str:
    points = "".join(f"<li>{escape(point)}</li>" for point in entry.points)
    return (
        f"<entry><title>{escape(entry.title)}</title>"
        f"<id>urn:dramaturg:changelog:{escape(entry.ident)}</id>"
        f'<link href="{escape(base)}{entry.page}"/><updated>{entry.updated}</updated>'
        f'<content type="html">{escape(f"<ul>{points}</ul>")}</content></entry>\n'
    )


@dataclass(frozen=True)
class Citation:
    """The content of CITATION.cff, ready to paste."""

    text: str
    bibtex: str
    references: tuple[str, ...]
    source: str
    repository: str = ""
    """Address of the source; empty if the file does not say."""


def citation(path: Path) -> Citation:
    """CITATION.cff as text and BibTeX. Raises SiteError if it is malformed."""
    source = path.read_text(encoding="utf-8")
    try:
        data = yaml.safe_load(source)
        title, version = str(data["title"]), str(data["version"])
        names = [_name(author) for author in data["authors"]]
        references = tuple(map(_reference, data.get("references", [])))
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise SiteError(f"cannot be read: {type(error).__name__} {error}", where=str(path)) from None
    year = str(data.get("date-released", ""))[:4]
    when = f" ({year})" if year else ""
    fields = {"title": title, "author": " and ".join(f"{{{name}}}" for name in names), "version": version}
    if year:
        fields["year"] = year
    if data.get("url"):
        fields["url"] = str(data["url"])
    lines = "".join(f"  {key} = {{{value}}},\n" for key, value in fields.items())
    return Citation(
        text=f"{', '.join(names)}{when}. {title}. Version {version}.",
        bibtex=f"@software{{dramaturg,\n{lines}}}\n",
        references=references,
        source=source,
        repository=str(data.get("repository-code") or ""),
    )


def _name(author: Mapping[str, Any]) -> str:
    given = " ".join(str(author[key]) for key in ("given-names", "family-names") if key in author)
    return given or str(author["name"])


def _reference(entry: Mapping[str, Any]) -> str:
    names = ", ".join(_name(author) for author in entry.get("authors", []))
    year = f" ({entry['year']})" if "year" in entry else ""
    return f"{names}{year}. {entry['title']}." if names else f"{entry['title']}."
