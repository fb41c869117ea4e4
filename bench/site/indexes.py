"""The search index and the sitemap. They list pages by their titles, and hold no text of models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import escape

from bench.site.text import searchable

_INDEX = "search/search_index.json"


def search_files(built: Mapping[str, bytes], pages: Iterable[tuple[str, str]]) -> dict[str, str]:
    """MkDocs' search index with generated pages added, as JSON and as a script.

    ``pages``: (path, title) of each. The script is for pages opened as files, which cannot fetch JSON.
    """
    if _INDEX not in built:
        return {}
    index: dict[str, Any] = json.loads(built[_INDEX])
    index["docs"] += [{"location": path, "title": searchable(title), "text": ""} for path, title in pages]
    text = json.dumps(index, separators=(",", ":"), sort_keys=True)
    return {_INDEX: text, _INDEX.replace(".json", ".js"): f"var __index = {text}"}


def sitemap(site_url: str, pages: Iterable[str]) -> str:
    """A sitemap of pages, given by their paths."""
    base = site_url.rstrip("/")
    entries = "".join(f"<url><loc>{escape(f'{base}/{page}')}</loc></url>\n" for page in sorted(set(pages)))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'
    )
