"""Single values of a reply: of the right type, or converted to it where that is safe, or a fault."""

from __future__ import annotations

import re
from typing import Any, Final

from bench.replies.faults import ReplyFault, shown

_INTEGER: Final = re.compile(r"-?[0-9]{1,9}")
_LITERAL: Final = re.compile(
    r"[\"'“”]?(-?[0-9]{1,9})(?:\.0++)?[\"'“”]?"
    r"(?=[ \t]*+\n|\s*+(?:[}\]]|,\s*+(?![0-9])|//|/\*|#|\Z|[\"'“]?[A-Za-z_]\w*+[\"'”]?\s*+:))"
)
"""A score as it may stand in malformed JSON: a plain integer and nothing more ("4/5", "3,5", "4 - Agree")."""
_BOOLEANS: Final = {"true": True, "false": False}


def integer(value: Any, where: str, repairs: set[str]) -> int:
    """``value`` as an integer; ``where`` names it in a fault, ``repairs`` takes what was put right."""
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
    """``value`` as a boolean."""
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


def literals(source: str, key: str) -> list[int | None]:
    """The integers that stand after ``key`` in malformed JSON, in order; None for anything else."""
    first = re.search(r"[\"'“]", source)
    quote = f"[{first[0] if first else ''}”]?+"
    heads = re.finditer(rf"(?<![\w\\]){re.escape(key)}{quote}\s*+:\s*+", source)
    found = [_LITERAL.match(source, head.end()) for head in heads]
    return [int(literal[1]) if literal else None for literal in found]


def in_range(number: int, low: int, high: int, where: str) -> int:
    """``number``, which must be from ``low`` to ``high``."""
    if not low <= number <= high:
        scale = f"an integer from {low} to {high}"
        raise ReplyFault("out_of_range", f"The value of {where} is {number}; it must be {scale}.")
    return number
