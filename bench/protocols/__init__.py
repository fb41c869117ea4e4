"""How an item is produced and judged. A protocol is one module here and one folder in prompts/."""

from __future__ import annotations

from bench.catalog import Catalog
from bench.errors import CatalogError
from bench.protocols.base import Protocol
from bench.protocols.pingpong_v2 import PingPongV2
from bench.suites import Suite

__all__ = ["PROTOCOLS", "Protocol", "protocol_for"]

PROTOCOLS: dict[str, type[Protocol]] = {PingPongV2.name: PingPongV2}


def protocol_for(suite: Suite, language: str, catalog: Catalog) -> Protocol:
    """The protocol that plays and judges ``suite`` in ``language``."""
    if suite.protocol not in PROTOCOLS:
        raise CatalogError(
            f"no protocol is called {suite.protocol!r}",
            where=str(suite.prompts / suite.protocol),
            mend=f"A folder of suites bears a protocol's name: {', '.join(PROTOCOLS)}.",
        )
    suite.check_models(catalog)
    return PROTOCOLS[suite.protocol](suite, language, catalog)
