"""How an item is produced and judged. A protocol is one module here and one folder in prompts/.

The module bears the protocol's name and holds one subclass of :class:`Protocol` with that ``name``. It is
found by that, and imported when asked for; modules whose names begin with ``_`` are shared by protocols.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping

from bench.catalog import Catalog
from bench.errors import CatalogError
from bench.protocols.base import Protocol
from bench.suites import Suite

__all__ = ["PROTOCOLS", "Protocol", "protocol_for"]


class Registry(Mapping[str, type[Protocol]]):
    """Every protocol that has a module here, by name."""

    def __init__(self) -> None:
        self._loaded: dict[str, type[Protocol]] = {}

    def __getitem__(self, name: str) -> type[Protocol]:
        if name not in self._loaded:
            if name not in self._names():
                raise KeyError(name)
            held = vars(importlib.import_module(f"{__name__}.{name}")).values()
            kinds = [kind for kind in held if isinstance(kind, type) and issubclass(kind, Protocol)]
            self._loaded[name] = next(kind for kind in kinds if vars(kind).get("name") == name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> list[str]:
        names = [module.name for module in pkgutil.iter_modules(__path__)]
        return sorted(name for name in names if name != "base" and not name.startswith("_"))


PROTOCOLS = Registry()


def protocol_for(suite: Suite, language: str, catalog: Catalog) -> Protocol:
    """The protocol that plays and judges ``suite`` in ``language``."""
    if suite.protocol not in PROTOCOLS:
        raise CatalogError(
            f"unknown protocol {suite.protocol!r}",
            where=str(suite.prompts / suite.protocol),
            hint=f"A folder of suites bears a protocol's name: {', '.join(PROTOCOLS)}.",
        )
    suite.check_models(catalog)
    return PROTOCOLS[suite.protocol](suite, language, catalog)
