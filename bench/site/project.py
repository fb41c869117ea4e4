"""Pages made of files that the project has anyway: the changelog, its feed, how to cite."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import yaml  # type: ignore[import-untyped]

from bench.errors import SiteError

FEED = "changelog.xml"
_VERSION = re.compile(r"^## (?P<name>\S+)(?:\s*\((?P<date>[^)]*)\))?\s*$", re.MULTILINE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
UNDATED = "1970-01-01"
"""Stands in a feed, which needs a day, for a version that is not out yet."""


@dataclass(frozen=True)
class Version:
    """One section of CHANGELOG.md."""

    name: str
    date: str
    """A day, or what else the heading says, such as unreleased."""
    text: str

    @property
    def points(self) -> list[str]:
        """Its list of changes, each as one line of plain text."""
        items = re.split(r"^[-*] ", self.text, flags=re.MULTILINE)[1:]
        return [" ".join(item.replace("`", "").replace("**", "").split()) for item in items]


def changelog(text: str) -> list[Version]:
    """The versions of a changelog, newest first as it has them."""
    found = list(_VERSION.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [
        Version(match["name"], match["date"] or "", text[match.end() : end].strip())
        for match, end in zip(found, ends, strict=True)
    ]


def feed(versions: list[Version], site_url: str) -> str:
    """An Atom feed of the versions; without ``site_url`` its links are relative."""
    base = f"{site_url.rstrip('/')}/" if site_url else ""
    days = [match.group() for v in versions if (match := _DAY.search(v.date))]
    latest = max(days, default=UNDATED)
    entries = "".join(_entry(version, base, latest) for version in versions)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>Rolecall: changes</title>\n<id>{escape(base) or 'urn:rolecall:changelog'}</id>\n"
        f'<link rel="self" href="{escape(base)}{FEED}"/>\n<link href="{escape(base)}changelog.html"/>\n'
        f"<updated>{latest}T00:00:00Z</updated>\n<author><name>The Rolecall contributors</name></author>\n"
        f"{entries}</feed>\n"
    )


def _entry(version: Version, base: str, latest: str) -> str:
    day = match.group() if (match := _DAY.search(version.date)) else latest
    points = "".join(f"<li>{escape(point)}</li>" for point in version.points)
    note = "" if _DAY.search(version.date) or not version.date else f" ({escape(version.date)})"
    return (
        f"<entry><title>{escape(version.name)}{note}</title>"
        f"<id>urn:rolecall:changelog:{escape(version.name)}</id>"
        f'<link href="{escape(base)}changelog.html"/><updated>{day}T00:00:00Z</updated>'
        f'<content type="html">{escape(f"<ul>{points}</ul>")}</content></entry>\n'
    )


@dataclass(frozen=True)
class Citation:
    """What CITATION.cff says, as readers paste it."""

    text: str
    bibtex: str
    references: tuple[str, ...]
    source: str


def citation(path: Path) -> Citation:
    """CITATION.cff in words and as BibTeX. Raises SiteError where it is not as it should be."""
    source = path.read_text(encoding="utf-8")
    try:
        data = yaml.safe_load(source)
        title, version = str(data["title"]), str(data["version"])
        names = [_name(author) for author in data["authors"]]
        references = tuple(_reference(one) for one in data.get("references", []))
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
        bibtex=f"@software{{rolecall,\n{lines}}}\n",
        references=references,
        source=source,
    )


def _name(author: Mapping[str, Any]) -> str:
    given = " ".join(str(author[key]) for key in ("given-names", "family-names") if key in author)
    return given or str(author["name"])


def _reference(one: Mapping[str, Any]) -> str:
    names = ", ".join(_name(author) for author in one.get("authors", []))
    year = f" ({one['year']})" if "year" in one else ""
    return f"{names}{year}. {one['title']}." if names else f"{one['title']}."
