"""Decodes one candidate text with the standard decoder, and cleans decoded values."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass
from typing import Any, Final

from bench.replies.faults import ReplyFault

MAX_DEPTH: Final = 64
"""Deeper nesting is not read; no reply we ask for has it."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
MAY_HOLD_SURROGATES: Final = re.compile("[\ud800-\udfff]|\\\\u[dD][89a-fA-F]")
"""Found in every JSON text that decodes to a lone surrogate."""


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key occurs twice")
    return data


_PLAIN: Final = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=str)
"""Reads what needs no repair; made once, as making it takes as long as reading a reply."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decoded data, the repairs it took, and whether the standard decoder could not read it."""

    data: Any
    repairs: frozenset[str]
    mended: bool = False
    clashes: bool = False
    """Whether an object has a key twice, and not only a number or boolean corrected at once."""


def strictly(raw: str) -> Decoded | None:
    """Decode ``raw`` with the standard decoder, accepting raw control characters; None if it fails."""
    with contextlib.suppress(ValueError, RecursionError):
        return Decoded(_PLAIN.decode(raw), frozenset())
    for forgiving in (False, True):
        repairs = {"raw_control"} if forgiving else set()

        def build(pairs: list[tuple[str, Any]], repairs: set[str] = repairs) -> dict[str, Any]:
            data = dict(pairs)
            if len(data) < len(pairs):
                repairs.update(("duplicate_keys", "clashes") if _clash(pairs) else ("duplicate_keys",))
            return data

        try:
            data = json.loads(raw, strict=not forgiving, object_pairs_hook=build, parse_constant=str)
        except (ValueError, RecursionError):
            continue
        clashes = "clashes" in repairs
        return Decoded(data, frozenset(repairs - {"clashes"}), clashes=clashes)
    return None


def _clash(pairs: list[tuple[str, Any]]) -> bool:
    places: dict[str, int] = {}
    for place, (key, value) in enumerate(pairs):
        before = places.get(key, place)
        if value != pairs[before][1] and (isinstance(value, str) or before < place - 1):
            return True
        places[key] = place
    return False


def cleaned(value: Any, repairs: set[str], depth: int = 0) -> Any:
    """``value`` with lone surrogates replaced, so that it can be stored as UTF-8."""
    if depth > MAX_DEPTH:
        raise ReplyFault("bad_json", "The JSON in the reply is nested too deeply.")
    if isinstance(value, str):
        clean = _SURROGATE.sub("\ufffd", value)
        if clean != value:
            repairs.add("surrogate_replaced")
        return clean
    if isinstance(value, list):
        return [cleaned(item, repairs, depth + 1) for item in value]
    if isinstance(value, dict):
        return {
            cleaned(str(key), repairs, depth + 1): cleaned(item, repairs, depth + 1)
            for key, item in value.items()
        }
    return value
