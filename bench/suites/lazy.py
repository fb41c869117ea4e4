"""A mapping whose values are loaded when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

V = TypeVar("V")


class Lazy(Mapping[str, V]):
    """Values by name, loaded when they are first used: a faulty file stops only what needs it."""

    def __init__(self, names: Iterable[str], load: Callable[[str], V]) -> None:
        self._names = dict.fromkeys(names)
        self._load = load
        self._loaded: dict[str, V] = {}

    def __getitem__(self, name: str) -> V:
        if name not in self._loaded:
            if name not in self._names:
                raise KeyError(name)
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
