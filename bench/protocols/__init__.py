"""How an item is played and judged.

Protocol NAME is the class in ``NAME.py`` here, its facts in ``NAME.toml`` and its templates in
``prompts/NAME/``. The other modules are shared: ``base``, ``cards`` (cards in situations) and ``items``
(items of a data set).
"""

from __future__ import annotations

import importlib

from bench.catalog import Catalog
from bench.errors import CatalogError
from bench.protocol_facts import known_protocols
from bench.protocols.base import Protocol
from bench.records import Conversation, Judgement
from bench.suites import Suite

__all__ = ["Protocol", "protocol_class", "protocol_for", "reread"]


def protocol_class(name: str) -> type[Protocol] | None:
    """The class of the protocol called ``name``; None if there is no such protocol."""
    if name not in known_protocols():
        return None
    module = importlib.import_module(f"{__name__}.{name}")
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    return next(c for c in classes if issubclass(c, Protocol) and c.__module__ == module.__name__)


def protocol_for(suite: Suite, language: str, catalog: Catalog) -> Protocol:
    """The protocol that plays and judges ``suite`` in ``language``.

    Raises CatalogError if the suite names a protocol or a model that does not exist, or lacks something that
    its protocol needs.
    """
    kind = protocol_class(suite.protocol)
    if kind is None:
        raise CatalogError(
            f"unknown protocol {suite.protocol!r}",
            where=str(suite.prompts / suite.protocol),
            hint=f"Name the folder of the suite after its protocol: {', '.join(known_protocols())}.",
        )
    suite.check_models(catalog)
    return kind(suite, language, catalog)


def reread(judgement: Judgement, conversation: Conversation) -> Judgement | None:
    """Re-parse the raw replies of ``judgement``; makes no API call and needs no suite.

    Returns the judgement as the current parser reads it (equal if nothing changed), or None if its protocol
    is unknown.
    """
    kind = protocol_class(judgement.protocol)
    return None if kind is None else kind.reread(judgement, conversation)
