"""The files that hold a community character card: JSON, PNG and CHARX, read within limits and written.

Nothing in a file is unpacked to disk, no picture is decoded, and no name in a file becomes a path.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from bench.errors import UserError
from bench.foreign import Unreadable

MOST_CARD = 8_000_000
"""Size limit of a card's JSON in bytes. Cards with large lorebooks have some hundred kilobytes."""
MOST_FILE = 100_000_000
"""Size limit of a PNG or CHARX file, which may hold pictures."""
MOST_KEPT = 20_000_000
"""Size limit of a file whose pictures are kept for an export."""
MOST_CHUNKS = 100_000
MOST_DIRECTORY = 2_000_000
"""Size limit of the directory of a CHARX file: Python reads all of it."""
MOST_DIGITS = 1_000

PNG = b"\x89PNG\r\n\x1a\n"
OTHER_FILES = (b"RIFF", b"GIF8", b"<")
"""How WebP and GIF pictures and web pages begin."""
ZIP_END = b"PK\x05\x06"
ZIP_END_SIZE = 22
CARD_JSON = "card.json"
USUAL = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error)
"""What reading a damaged or encrypted zip archive raises."""
KEYWORDS = (b"ccv3", b"chara")
"""Keywords of the PNG chunks that hold a card, the preferred one first."""
TEXT_CHUNKS = (b"tEXt", b"zTXt", b"iTXt")
"""The specifications name the first. Programs that edit pictures rewrite it as one of the others."""
MOST_ENCODED = MOST_CARD * 4 // 3
TOO_LARGE = f"the card in this picture is larger than {MOST_CARD // 1_000_000} MB"


def read_card(path: Path) -> dict[str, Any]:
    """The JSON object in a card's file, whose kind its content says. Raises Unreadable."""
    try:
        if not path.is_file():
            raise Unreadable("not a file")
        with path.open("rb") as file:
            start = file.read(len(PNG))
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
            if not size:
                raise Unreadable("the file is empty")
            if start == PNG:
                return _parsed(_from_png(file, size))
            if _is_archive(path, start):
                return _parsed(_from_zip(file, size))
            if size > MOST_CARD:
                raise Unreadable(f"larger than {MOST_CARD // 1_000_000} MB")
            if start.startswith(OTHER_FILES):
                raise Unreadable("neither a JSON file, a PNG nor a zip archive")
            return _parsed(file.read(MOST_CARD + 1))
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from None


def _is_archive(path: Path, start: bytes) -> bool:
    return path.suffix.lower() == ".charx" or start.startswith((b"PK", b"\xff\xd8"))


def carrier_of(path: Path) -> tuple[str, bytes | None]:
    """What a file is if it may hold pictures (``png``, ``charx``), and its bytes if not too large."""
    with path.open("rb") as file:
        start = file.read(len(PNG))
        form = "png" if start == PNG else "charx" if _is_archive(path, start) else ""
        small = form and file.seek(0, io.SEEK_END) <= MOST_KEPT
        file.seek(0)
        return form, file.read() if small else None


def _parsed(data: bytes) -> dict[str, Any]:
    """The JSON object in ``data``. Raises Unreadable."""
    try:
        card = json.loads(
            data.decode("utf-8-sig"), parse_constant=_number, parse_float=_number, parse_int=_integer
        )
        json.dumps(card, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"the card is not UTF-8 at byte {error.start}") from None
    except UnicodeEncodeError:
        raise Unreadable("the card holds half of a surrogate pair") from None
    except RecursionError:
        raise Unreadable("the card is nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"the card is not JSON: {str(error)[:120]}") from None
    if not isinstance(card, dict):
        raise Unreadable("the card is not a JSON object")
    return card


def _number(text: str) -> float:
    """A number that JSON can hold; Python would read `1e999` as infinite, which JSON cannot say."""
    if not math.isfinite(float(text)):
        fault = "is not a number in JSON" if text in ("NaN", "Infinity", "-Infinity") else "is too large"
        raise ValueError(f"{text:.40} {fault}")
    return float(text)


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number has {len(text):,} digits")
    return int(text)


def _from_png(file: BinaryIO, size: int) -> bytes:
    """The card in the text chunks of a PNG; the picture is passed over."""
    found: dict[bytes, bytes] = {}
    for keyword, text in _text_chunks(file, size):
        found.setdefault(keyword.lower(), text)
    held = next((found[keyword] for keyword in KEYWORDS if keyword in found), None)
    if held is None:
        raise Unreadable("no card in this picture: it has no text chunk 'ccv3' or 'chara'")
    try:
        return base64.b64decode(held.translate(None, b"\r\n \t"), validate=True)
    except binascii.Error:
        raise Unreadable("the card in this picture is not base64") from None


def _text_chunks(file: BinaryIO, size: int) -> Iterator[tuple[bytes, bytes]]:
    """(keyword, text) of the text chunks that may hold a card."""
    for kind, _, length in _chunks(file, size):
        start = file.read(min(length, 80)) if kind in TEXT_CHUNKS else b""
        keyword, end, _ = start.partition(b"\0")
        if end and keyword.lower() in KEYWORDS:
            if length > MOST_ENCODED:
                raise Unreadable(TOO_LARGE)
            body = start + file.read(length - len(start))
            (stated,) = struct.unpack(">I", file.read(4).rjust(4, b"\0"))
            if zlib.crc32(body, zlib.crc32(kind)) != stated:
                raise Unreadable("the card in this picture is damaged (wrong checksum)")
            yield keyword, _text_of(kind, body[len(keyword) + 1 :])


def _text_of(kind: bytes, body: bytes) -> bytes:
    """The text of a chunk, from what follows its keyword."""
    if kind == b"tEXt":
        return body
    packed, text = kind == b"zTXt" or body[:1] == b"\1", body[1:]
    if kind == b"iTXt":  # the method, the language, the translated keyword
        text = body[2:].partition(b"\0")[2].partition(b"\0")[2]
    if not packed:
        return text
    try:
        text = zlib.decompressobj().decompress(text, MOST_ENCODED + 1)
    except zlib.error:
        raise Unreadable("the card in this picture is damaged (cannot be unpacked)") from None
    if len(text) > MOST_ENCODED:
        raise Unreadable(TOO_LARGE)
    return text


def _chunks(file: BinaryIO, size: int) -> Iterator[tuple[bytes, int, int]]:
    """(kind, place, length) of the content of each chunk, where ``file`` then stands; up to ``IEND``."""
    at = len(PNG)
    for _ in range(MOST_CHUNKS):
        file.seek(at)
        head = file.read(8)
        if len(head) < 8:
            return
        length, kind = struct.unpack(">I4s", head)
        if at + 8 + length > size:
            raise Unreadable("the picture is truncated")
        yield kind, at + 8, length
        if kind == b"IEND":
            return
        at += length + 12
    raise Unreadable(f"the picture has more than {MOST_CHUNKS:,} chunks")


def _from_zip(file: BinaryIO, size: int) -> bytes:
    """The file ``card.json`` in a zip, as much of it as a card may have."""
    if size > MOST_FILE:
        raise Unreadable(f"larger than {MOST_FILE // 1_000_000} MB")
    _check_directory(file, size)
    try:
        with zipfile.ZipFile(file) as archive:
            info = archive.getinfo(CARD_JSON)
            if info.compress_type not in USUAL:
                raise Unreadable(f"{CARD_JSON} is compressed in an unusual way")
            with archive.open(info) as held:
                data = held.read(MOST_CARD + 1)
    except KeyError:
        raise Unreadable(f"no {CARD_JSON} in this archive") from None
    except DAMAGED:
        raise Unreadable(f"the archive is damaged, or {CARD_JSON} is encrypted") from None
    if len(data) > MOST_CARD:
        raise Unreadable(f"{CARD_JSON} is larger than {MOST_CARD // 1_000_000} MB when unpacked")
    return data


def _check_directory(file: BinaryIO, size: int) -> None:
    """Raise Unreadable unless the zip's directory is small: it is read into memory as a whole."""
    file.seek(max(0, size - ZIP_END_SIZE - 65_535))
    tail = file.read()
    at = tail.rfind(ZIP_END)
    if at < 0 or len(tail) - at < ZIP_END_SIZE:
        raise Unreadable("neither a JSON file, a PNG nor a zip archive")
    (length,) = struct.unpack_from("<I", tail, at + 12)
    if length > MOST_DIRECTORY:
        raise Unreadable("the archive has too many files")
    file.seek(0)


def card_bytes(card: dict[str, Any], form: str, carrier: bytes | None = None) -> bytes:
    """A card as the bytes of a ``json``, ``png`` or ``charx`` file. Equal cards give equal bytes.

    ``carrier``: a file of this form, whose pictures are taken over. Raises Unreadable if it is damaged.
    """
    data = json.dumps(card, ensure_ascii=False, indent=2).encode() + b"\n"
    match form:
        case "png":
            old = card | {"spec": "chara_card_v2", "spec_version": "2.0"}
            held = {b"ccv3": data, b"chara": json.dumps(old, ensure_ascii=False).encode()}
            return _png(held, carrier or _plain_picture())
        case "charx":
            return _charx(data, carrier)
        case _:
            return data


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))


def _plain_picture() -> bytes:
    width, height = 48, 64
    rows = b"".join(b"\0" + b"\x60\x50\x90" * width for _ in range(height))
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return PNG + head + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")


def _png(held: dict[bytes, bytes], picture: bytes) -> bytes:
    """A picture with the card in both chunks: programs that know version 2 alone read the second."""
    made = [PNG]
    for kind, start, length in _chunks(io.BytesIO(picture), len(picture)):
        body = picture[start : start + length]
        if kind not in TEXT_CHUNKS or body.partition(b"\0")[0].lower() not in KEYWORDS:
            made.append(picture[start - 8 : start + length + 4])
        if kind == b"IHDR":
            made += [_chunk(b"tEXt", key + b"\0" + base64.b64encode(text)) for key, text in held.items()]
    return b"".join(made)


def _charx(data: bytes, carrier: bytes | None) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(CARD_JSON, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
        try:
            for info, held in _members(carrier) if carrier else ():
                archive.writestr(info, held, info.compress_type)
        except DAMAGED:
            raise Unreadable("its pictures are damaged") from None
    return made.getvalue()


def _members(carrier: bytes) -> Iterator[tuple[zipfile.ZipInfo, bytes]]:
    """The files of an archive besides the card. None of them could be unpacked outside a folder."""
    with zipfile.ZipFile(io.BytesIO(carrier)) as archive:
        files = {info.filename: info for info in archive.infolist() if not info.is_dir()}
        if sum(info.file_size for info in files.values()) > MOST_FILE:
            raise Unreadable(f"its pictures are larger than {MOST_FILE // 1_000_000} MB when unpacked")
        if any(info.compress_type not in USUAL for info in files.values()):
            raise Unreadable("its pictures are compressed in an unusual way")
        for name, info in files.items():
            inside = ".." not in name.split("/") and not name.startswith("/") and "\\" not in name
            if inside and name != CARD_JSON:
                fresh = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                fresh.compress_type = info.compress_type
                yield fresh, archive.read(info)


def form_of(path: Path) -> str:
    """The kind of card file that a path's suffix asks for. Raises UserError for another suffix."""
    form = path.suffix.lower().removeprefix(".")
    if form not in ("json", "png", "charx"):
        hint = "Name a .json, .png or .charx file."
        raise UserError(f"unsupported file type {path.suffix!r}", where=str(path), hint=hint)
    return form
