"""Where two pieces of JSON data differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bench.tables import cut

Difference = tuple[str, Any, Any]
"""(dotted field, actual value, expected value). ABSENT stands for a missing key or item."""


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


ABSENT = _Absent()


def differences(there: Any, due: Any, field: str = "") -> Iterator[Difference]:
    """Every leaf in which ``there`` differs from ``due``. Types count: 1 differs from 1.0 and from true."""
    if isinstance(there, dict) and isinstance(due, dict):
        for key in sorted(there.keys() | due.keys(), key=str):
            yield from differences(there.get(key, ABSENT), due.get(key, ABSENT), _at(field, key))
    elif isinstance(there, list) and isinstance(due, list):
        for n in range(max(len(there), len(due))):
            left = there[n] if n < len(there) else ABSENT
            right = due[n] if n < len(due) else ABSENT
            yield from differences(left, right, _at(field, n))
    elif type(there) is not type(due) or there != due:
        yield field, there, due


def reread_differences(there: Any, due: Any, field: str) -> Iterator[tuple[str, str]]:
    """Field and text of the first places in which a verdict is not what its raw replies read as."""
    for at, left, right in islice(differences(there, due, field), 5):
        yield at, f"the record has {shown(left)}, the raw reply reads as {shown(right)}"


def _at(field: str, key: object) -> str:
    return f"{field}.{key}" if field else str(key)


def shown(value: Any) -> str:
    """A value as text for a message, at most 60 characters."""
    return cut(repr(value) if isinstance(value, _Absent) else json.dumps(value, ensure_ascii=False), 60)
