"""File and page names from ids that anyone may have chosen."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

MAX_LENGTH = 60
HASH_LENGTH = 8

_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "index"] + [f"{port}{n}" for port in ("com", "lpt") for n in range(10)]
)
_LOOKS_HASHED = re.compile(rf"(.*-)?[0-9a-f]{{{HASH_LENGTH}}}")


@lru_cache(maxsize=1 << 14)
def slug(name: str) -> str:
    """A name of ``[a-z0-9-]``, at most 69 characters, safe on every file system and different for every id.

    An id that is such a name already is its own slug; any other is changed and gets eight hexadecimal digits
    of its SHA-256, so that ids which differ only in case or punctuation stay apart. Ids that end like that,
    or that some file system reserves, get the digits too; an id without any such character is its digits.
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:MAX_LENGTH].strip("-")
    if plain and plain == name and plain not in _RESERVED and not _LOOKS_HASHED.fullmatch(plain):
        return plain
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]
    return f"{plain}-{digits}" if plain else digits
