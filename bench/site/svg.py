"""Figures of matplotlib inside a page: themed, described, and without inline styles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

from markupsafe import Markup

from bench.colours import FAINT, INK, MARK, PAPER

THEME = {INK: "--rc-ink", PAPER: "--rc-paper", FAINT: "--rc-faint", MARK: "--rc-mark"}
"""Colours of a figure, and the CSS variables that replace them."""
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_NUMBERED = re.compile(r"_\d+$")
"""Ids that matplotlib gives to everything; nothing refers to those of groups."""
_PLACES = {"d", "x", "y", "transform"}
_LONG = re.compile(r"\d+\.\d{3,}")
_FONT = re.compile(r"(?P<before>(?:[a-z0-9]+ )*)(?P<size>[\d.]+px) (?P<family>.*)")


def inline_figure(
    svg: bytes, ident: str, about: str, *, names: Mapping[str, str] | None = None, folder: str = ""
) -> Markup:
    """The figure for a page. Its styles become attributes, since the page's policy forbids inline styles.

    ``ident``: prefix of the ids of its title and description. ``about``: the description. ``names``: link to
    its name, for readers who see no text inside it. ``folder``: what the file's links start with, but the
    page's do not.
    """
    text = svg.decode("utf-8")
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(text[text.index("<svg") :])
    _plain_attributes(root)
    for link in root.iter(f"{{{SVG}}}a"):
        name = (names or {}).get(link.get("href", ""))
        if name is not None and name != "".join(link.itertext()).strip():
            titled = ElementTree.Element(f"{{{SVG}}}title")
            titled.text = name
            link.insert(0, titled)
        link.set("href", link.get("href", "").removeprefix(folder))
    title = root.find(f"{{{SVG}}}title")
    assert title is not None
    title.set("id", f"{ident}-t")
    described = ElementTree.Element(f"{{{SVG}}}desc", {"id": f"{ident}-d"})
    described.text = about
    root.insert(1, described)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"class": "rc-figure", "role": "group", "aria-labelledby": f"{ident}-t {ident}-d"}
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _plain_attributes(root: ElementTree.Element) -> None:
    for parent in root.iter():
        for child in list(parent):
            if child.tag == f"{{{SVG}}}metadata" or child.tag == f"{{{SVG}}}style":
                parent.remove(child)
        for name, value in _presentation(parent.attrib.pop("style", "")):
            parent.set(name, value)
        if parent.tag == f"{{{SVG}}}g" and _NUMBERED.search(parent.get("id", "")):
            del parent.attrib["id"]
        if parent.get("transform", "").startswith("rotate(-0 "):
            del parent.attrib["transform"]
        for name in _PLACES & parent.attrib.keys():
            parent.set(name, _LONG.sub(lambda number: f"{float(number[0]):.2f}", parent.attrib[name]))
        link = parent.attrib.pop(f"{{{XLINK}}}href", None)
        if link is not None:
            parent.set("href", link)


def _presentation(style: str) -> Iterator[tuple[str, str]]:
    """The presentation attributes for a style attribute."""
    for part in filter(None, map(str.strip, style.split(";"))):
        name, _, value = (piece.strip() for piece in part.partition(":"))
        if name == "font":
            found = _FONT.fullmatch(value)
            yield "font-size", found["size"] if found else "8px"
            if found and "bold" in (found["before"] or ""):
                yield "font-weight", "bold"
        else:
            colour = THEME.get(value)
            if name == "font-family":  # the page's
                continue
            yield name, f"var({colour}, {value})" if colour else value
