"""The website: built from the results tree, and served for a look at it. See :func:`build_site`."""

from bench.site.build import SiteReport, build_site
from bench.site.labels import SuiteLabel
from bench.site.serve import serve_site, site_server

__all__ = ["SiteReport", "SuiteLabel", "build_site", "serve_site", "site_server"]
