"""Reads single values of a reply: of the right type, or repaired to it if that is safe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from bench.replies.faults import ReplyFault, shown

_INTEGER: Final = re.compile(r"-?[0-9]{1,9}")
_BOOLEANS: Final = {"true": True, "false": False}


def integer(value: Any, where: str, repairs: set[str]) -> int:
    """``value`` as an integer.

    Args:
        value: What the reply holds.
        where: Names the value in a fault's sentence.
        repairs: Slugs of the repairs are added here.

    Raises:
        ReplyFault: It is no integer.
    """
    match value:
        case bool():
            pass
        case int():
            return value
        case float() if value.is_integer():
            repairs.add("float_integral")
            return int(value)
        case str() if _INTEGER.fullmatch(value.strip()):
            repairs.add("number_from_string")
            return int(value)
    raise ReplyFault("bad_type", f"The value of {where} is {shown(value)}; it must be an integer.")


def boolean(value: Any, where: str, repairs: set[str]) -> bool:
    """``value`` as a boolean; arguments as for :func:`integer`."""
    match value:
        case bool():
            return value
        case int() if value in (0, 1):
            repairs.add("boolean_from_number")
            return bool(value)
        case str() if value.strip().lower() in _BOOLEANS:
            repairs.add("boolean_from_string")
            return _BOOLEANS[value.strip().lower()]
    raise ReplyFault("bad_type", f"The value of {where} is {shown(value)}; it must be true or false.")


def reason(data: Mapping[str, Any], key: str, where: str, repairs: set[str]) -> str:
    """The text under ``key``; a missing one is read as empty."""
    value = data.get(key)
    if value is None:
        repairs.add("reason_missing")
        return ""
    if not isinstance(value, str):
        raise ReplyFault("bad_type", f"The value of {where} is {shown(value)}; it must be a string.")
    return value


def in_range(number: int, low: int, high: int, where: str) -> int:
    """``number``, which must be from ``low`` to ``high``."""
    if not low <= number <= high:
        scale = f"an integer from {low} to {high}"
        raise ReplyFault("out_of_range", f"The value of {where} is {shown(number)}; it must be {scale}.")
    return number
