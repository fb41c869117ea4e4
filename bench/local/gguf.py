"""GGUF files: whether one is whole, and how much memory it needs. Reads only its header.

The format is described in ggml's ``docs/gguf.md``: metadata, then the place of each tensor, then the data.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from bench.errors import UserError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""``struct`` letters of the value types."""
STRING, ARRAY = 8, 9
MOST_DIMENSIONS = 4
"""GGML's limit for a tensor."""
LONGEST_LIST = 4096
"""Longer lists, such as a vocabulary, are skipped."""
BLOCKS = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 36),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
}
"""(values, bytes) of one block of each tensor type, from ggml's ``type_traits``; of others only the start is
checked."""
CACHE_BYTES = 2
"""Bytes of one value in the cache of keys and values."""
SPARE_BYTES = 256 * 2**20
"""Memory of a server besides weights and cache: buffers, vocabulary, the interpreter."""
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
MODEL_FILE_HINT = "Fetch or copy the file again."


class ModelFileError(UserError):
    """A GGUF file is missing, damaged, not the expected one, or too large for this machine."""


class _Short(Exception):
    """The file ends within its header."""


@dataclass(frozen=True)
class Header:
    """What the header of a file says."""

    metadata: dict[str, object]
    file_bytes: int
    """Size of the whole file, as far as the tensors' types are known."""

    def number(self, key: str) -> int:
        """A number of the model's architecture; the largest of a list, 0 if it is not given."""
        value = self.metadata.get(f"{self.metadata.get('general.architecture')}.{key}", 0)
        values = value if isinstance(value, list) else [value]
        return max((item for item in values if isinstance(item, int)), default=0)

    def cache_bytes(self, tokens: int) -> int:
        """Memory for the keys and values of ``tokens`` tokens."""
        heads = self.number("attention.head_count")
        width = self.number("embedding_length") // heads if heads else 0
        keys = self.number("attention.key_length") or width
        values = self.number("attention.value_length") or width
        per_layer = (self.number("attention.head_count_kv") or heads) * (keys + values) * CACHE_BYTES
        return tokens * self.number("block_count") * per_layer


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self.at = 0

    def skip(self, count: int) -> int:
        """Where the next ``count`` bytes begin; they are passed over."""
        start = self.at
        if count > len(self._data) - start:
            raise _Short
        self.at += count
        return start

    def scalar(self, letter: str) -> int | float | bool:
        value: int | float | bool
        (value,) = struct.unpack_from(f"<{letter}", self._data, self.skip(struct.calcsize(f"<{letter}")))
        return value

    def count(self, letter: str = "Q") -> int:
        return int(self.scalar(letter))

    def text(self) -> str:
        length = self.count()
        start = self.skip(length)
        return self._data[start : start + length].decode("utf-8", "replace")

    def value(self, kind: int) -> object:
        """A value of metadata. Raises KeyError for an unknown type."""
        if kind == STRING:
            return self.text()
        if kind != ARRAY:
            return self.scalar(SCALARS[kind])
        kind, count = self.count("I"), self.count()
        if kind == STRING:
            for _ in range(count):
                self.skip(self.count())
        elif count <= LONGEST_LIST:
            return [self.scalar(SCALARS[kind]) for _ in range(count)]
        else:
            self.skip(count * struct.calcsize(f"<{SCALARS[kind]}"))
        return None


def read_header(path: Path) -> Header:
    """The header of a GGUF file. Raises ModelFileError if the file is missing, foreign or not whole."""
    if path.exists() and not (path.is_file() or path.is_dir()):  # opening a pipe would wait for a writer
        raise ModelFileError("not a regular file", where=str(path), hint="Name a file in GGUF format.")
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            if file.read(len(MAGIC)) != MAGIC:
                raise ModelFileError("not a GGUF file", where=str(path), hint="Name a file in GGUF format.")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                header = _header(_Reader(data))
    except OSError as error:
        hint = "Check the path. `make models` fetches the files that this project names."
        raise ModelFileError(f"cannot be read: {error.strerror}", where=str(path), hint=hint) from None
    except _Short:
        fault = f"the file is truncated: it ends at byte {size:,}, within its header"
        raise ModelFileError(fault, where=str(path), hint=MODEL_FILE_HINT) from None
    except (KeyError, ValueError, OverflowError):
        raise ModelFileError("damaged header", where=str(path), hint=MODEL_FILE_HINT) from None
    if header.file_bytes > size:
        fault = f"the file is truncated: it has {size:,} of {header.file_bytes:,} bytes"
        raise ModelFileError(fault, where=str(path), hint=MODEL_FILE_HINT)
    return header


def _header(reader: _Reader) -> Header:
    reader.skip(len(MAGIC))
    if reader.count("I") not in VERSIONS:
        raise ValueError("an unknown version of the format")
    tensors, pairs = reader.count(), reader.count()
    metadata: dict[str, object] = {}
    for _ in range(pairs):
        key = reader.text()
        metadata[key] = reader.value(reader.count("I"))
    end = 0
    for _ in range(tensors):
        reader.skip(reader.count())
        values = 1
        if (dimensions := reader.count("I")) > MOST_DIMENSIONS:
            raise ValueError("a tensor of too many dimensions")
        for _ in range(dimensions):
            values *= reader.count()
        per_block, block_bytes = BLOCKS.get(reader.count("I"), (1, 0))
        end = max(end, reader.count() + values // per_block * block_bytes)
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError("an alignment that is not a positive number")
    return Header(metadata, -(-reader.at // alignment) * alignment + end)


def available_memory() -> int | None:
    """Bytes of memory that a new process may use, limited by a container's; None if unknown."""
    try:
        lines = dict(line.split(":", 1) for line in MEMINFO.read_text(encoding="ascii").splitlines())
        free = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    try:  # a container's limit; the pages of files that it holds can be dropped
        most, used = (
            int((CGROUP / f"memory.{name}").read_text(encoding="ascii")) for name in ("max", "current")
        )
        stat = dict(
            line.split() for line in (CGROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        )
        free = min(free, max(0, most - used + int(stat["inactive_file"])))
    except (OSError, KeyError, ValueError):  # no cgroup v2, or "max": no limit
        pass
    return free


def check_memory(path: Path, header: Header, tokens: int) -> None:
    """Raise ModelFileError if the weights and a context of ``tokens`` tokens do not fit into memory."""
    free = available_memory()
    needed = header.file_bytes + header.cache_bytes(tokens) + SPARE_BYTES
    if free is not None and needed > free:
        fault = (
            f"does not fit into memory: it needs {needed / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free"
        )
        hint = "Use a smaller or more quantised model, a smaller context, or fewer calls at once (slots)."
        raise ModelFileError(fault, where=str(path), hint=hint)


def check_sha256(path: Path, expected: str) -> None:
    """Raise ModelFileError if the file has another SHA-256 than ``expected``."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelFileError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if found != expected:
        fault = f"the checksum is wrong: SHA-256 is {found}, expected {expected}"
        hint = f"{MODEL_FILE_HINT} If this is the file you mean, correct `sha256`."
        raise ModelFileError(fault, where=str(path), hint=hint)
