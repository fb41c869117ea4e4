"""The website: built from the results tree, and served for a look at it. See :func:`build_site`.

Names are looked up when they are asked for: worker processes need only what they use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.site.build import SiteReport as SiteReport
    from bench.site.build import build_site as build_site
    from bench.site.labels import SuiteLabel as SuiteLabel
    from bench.site.serve import serve_site as serve_site
    from bench.site.serve import site_server as site_server

__all__ = ["SiteReport", "SuiteLabel", "build_site", "serve_site", "site_server"]

_WHERE = {"SiteReport": "build", "build_site": "build", "SuiteLabel": "labels"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"bench.site.{_WHERE.get(name, 'serve')}"), name)
