"""Protocols that play the items of a data set: JSON Lines, parsed before anything is paid for."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

from bench.catalog import Catalog
from bench.errors import each
from bench.items import Item
from bench.protocols.base import Protocol
from bench.records import Cell
from bench.suites import Suite

I = TypeVar("I")  # noqa: E741


class ItemProtocol(Protocol, Generic[I]):
    """A protocol whose cells are items of type ``I``."""

    def __init__(self, suite: Suite, language: str, catalog: Catalog) -> None:
        super().__init__(suite, language, catalog)
        items = self.scenes.items
        places = ((item.character, item.situation) for item in items)
        self._items = dict(zip(places, each(self.read_item, items), strict=True))

    @abstractmethod
    def read_item(self, item: Item) -> I:
        """Check and convert a line of the data set. Raises CatalogError that names file, line and key."""

    def item(self, cell: Cell) -> I:
        """The item of a cell."""
        return self._items[cell.character, cell.situation]
