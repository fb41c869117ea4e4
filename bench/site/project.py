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


@dataclass(frozen=True)
class Version:
    """One section of CHANGELOG.md."""

    name: str
    date: str
    """A day, or what else the heading says, such as unreleased."""
    text: str

    @property
    def day(self) -> str | None:
        """The day on which it came out, as ISO 8601 has it; None where it has not yet."""
        found = _DAY.search(self.date)
        return found.group() if found else None

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


def feed(versions: list[Version], site_url: str) -> str | None:
    """An Atom feed of the versions that are out, or None where there is none: every entry needs its day.

    Without ``site_url`` its links are relative.
    """
    base = f"{site_url.rstrip('/')}/" if site_url else ""
    out = [(version, day) for version in versions if (day := version.day)]
    if not out:
        return None
    latest = max(day for _, day in out)
    entries = "".join(_entry(version, day, base) for version, day in out)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>Dramaturg: changes</title>\n<id>{escape(base) or 'urn:dramaturg:changelog'}</id>\n"
        f'<link rel="self" href="{escape(base)}{FEED}"/>\n<link href="{escape(base)}changelog.html"/>\n'
        f"<updated>{latest}T00:00:00Z</updated>\n<author><name>The Dramaturg contributors</name></author>\n"
        f"{entries}</feed>\n"
    )


def _entry(version: Version, day: str, base: str) -> str:
    points = "".join(f"<li>{escape(point)}</li>" for point in version.points)
    return (
        f"<entry><title>{escape(version.name)}</title>"
        f"<id>urn:dramaturg:changelog:{escape(version.name)}</id>"
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
        bibtex=f"@software{{dramaturg,\n{lines}}}\n",
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
