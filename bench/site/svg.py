"""Figures of matplotlib inside a page: themed, described, and without inline styles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from markupsafe import Markup

from bench.colours import FAINT, INK, PAPER

THEME = {INK: "--rc-ink", PAPER: "--rc-paper", FAINT: "--rc-faint"}
"""Colours of a figure, and the CSS variables that replace them."""
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_FONT = re.compile(r"(?P<before>(?:[a-z0-9]+ )*)(?P<size>[\d.]+px) (?P<family>.*)")


def inline_figure(svg: bytes, ident: str, about: str) -> Markup:
    """The figure for a page. Its styles become attributes, since the page's policy forbids inline styles.

    ``ident``: prefix of the ids of its title and description. ``about``: the description.
    """
    text = svg.decode("utf-8")
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(text[text.index("<svg") :])
    _plain_attributes(root)
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
            yield name, f"var({colour}, {value})" if colour else value
