"""File and page names made from arbitrary ids."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

MAX_LENGTH = 60
HASH_LENGTH = 8

TABLES, COMPARED = "published", "compared"
NOT_SUITES = frozenset({"external", "human", TABLES, COMPARED})
"""Folders of the results tree that are not suites."""

_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "index"] + [f"{port}{n}" for port in ("com", "lpt") for n in range(10)]
)
_LOOKS_HASHED = re.compile(rf"(.*-)?[0-9a-f]{{{HASH_LENGTH}}}")


@lru_cache(maxsize=1 << 14)
def slug(name: str) -> str:
    """A name of ``[a-z0-9-]``, at most 69 characters, safe on every file system and unique to its id.

    An id that already is such a name is its own slug. Any other is rewritten and gets the first eight hex
    digits of its SHA-256, so that ids that differ only in case or punctuation get different slugs. Ids that
    end like such a slug, or that a file system reserves, get the digits too. An id without a single usable
    character becomes its digits.
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:MAX_LENGTH].strip("-")
    if plain and plain == name and plain not in _RESERVED and not _LOOKS_HASHED.fullmatch(plain):
        return plain
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]
    return f"{plain}-{digits}" if plain else digits
