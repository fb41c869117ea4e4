"""A small reader of built pages: elements, texts, links and ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Element:
    """An element with its attributes; children are elements and strings."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in document order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += [child for child in reversed(element.children) if isinstance(child, Element)]

    @property
    def text(self) -> str:
        """Text content, as a browser gives it."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    def having(self, name: str) -> list[Element]:
        """Elements below with a class."""
        return [element for element in self.walk() if name in element.classes]

    def tagged(self, tag: str) -> list[Element]:
        """Elements below with a tag name."""
        return [element for element in self.walk() if element.tag == tag]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("#document", {})
        self.open = [self.root]
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(set(names)) != len(names):
            self.faults.append(f"<{tag}> has an attribute twice: {names}")
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1].tag == tag:
            self.open.pop()
        else:
            self.faults.append(f"</{tag}> closes <{self.open[-1].tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"comment {data[:40]!r}")


def parse(page: str) -> Element:
    """The page as a tree; a page that is not well nested fails the test."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.faults == []
    assert len(reader.open) == 1
    return reader.root


def read(path: Path) -> Element:
    """A built page as a tree. Tests only look at it: a page that has not changed is parsed once."""
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=400)
def _read(path: Path, changed: int) -> Element:
    return parse(path.read_bytes().decode("utf-8"))


def article(page: Element) -> Element:
    """What we wrote of a page, without the theme around it."""
    (found,) = page.tagged("article")
    return found


def links(page: Element) -> Iterator[tuple[str, str]]:
    """(tag, address) of everything that a page points to or loads."""
    for element in page.walk():
        for name in ("href", "src", "srcset", "action", "data", "poster"):
            if name in element.attributes:
                yield element.tag, element.attributes[name]


def dead_links(output: Path) -> list[str]:
    """Links inside a built site that lead to no file or no id."""
    pages = {path: read(path) for path in sorted(output.rglob("*.html"))}
    ids = {
        path: {e.attributes["id"] for e in page.walk() if "id" in e.attributes}
        for path, page in pages.items()
    }
    files = {str(path) for path in output.rglob("*") if path.is_file()}
    dead = []
    for path, page in pages.items():
        for address in {address for _, address in links(page)}:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = normpath(path.parent / unquote(parts.path)) if parts.path else str(path)
            lost = parts.fragment and target.endswith(".html")
            if target not in files or (lost and unquote(parts.fragment) not in ids[Path(target)]):
                dead.append(f"{path.relative_to(output)}: {address}")
    return dead


def repeated_ids(page: Element) -> list[str]:
    """Ids that a page has more than once."""
    seen = Counter(e.attributes["id"] for e in page.walk() if "id" in e.attributes)
    return sorted(name for name, count in seen.items() if count > 1)
