"""Community character cards that are broken or hostile: rejected in one line, or kept as text."""

from __future__ import annotations

import copy
import json
import struct
import time
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.errors import CatalogError, UserError
from bench.suites import Card, read_entry
from tests.interop.card_cases import V1, V3, b64, charx, imported, png
from tests.tiny import bytes_below


def _nested(depth: int) -> bytes:
    return b'{"name": "n", "description": ' + b"[" * depth + b"]" * depth + b"}"


def _encrypted() -> bytes:
    data = bytearray(charx(json.dumps(V3).encode()))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.rfind(mark)
        data[at + offset] |= 1
    return bytes(data)


def _lying() -> bytes:
    """A zip whose directory says that the bomb in it has 100 bytes."""
    data = bytearray(charx(b'{"name": "' + b"a" * 50_000_000 + b'"}'))
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 100)
    return bytes(data)


BAD: dict[str, tuple[bytes | Callable[[], bytes], str]] = {
    "bomb.charx": (lambda: charx(b'{"name": "' + b"a" * 60_000_000 + b'"}'), "when unpacked"),
    "lying.charx": (_lying, ""),
    "many.charx": (b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 9, 9, 2**31, 0, 0), "too many files"),
    "encrypted.charx": (_encrypted, "encrypted"),
    "empty.charx": (charx(b"{}", name="other.json"), "no card.json"),
    "lzma.charx": (charx(b"{}", compression=zipfile.ZIP_LZMA), "unusual"),
    "text.charx": (b"not a zip", "neither"),
    "plain.png": (png(("comment", b"hello")), "no card in this picture"),
    "cut.png": (png(("ccv3", b64(V3)))[:300], "truncated"),
    "bomb.png": (lambda: png(("chara", b"A" * 60_000_000), kind="zTXt"), "larger than 8 MB"),
    "unicode-bomb.png": (lambda: png(("ccv3", b"A" * 60_000_000), kind="iTXz"), "larger than 8 MB"),
    "unpacked.png": (png(("ccv3", b64(V3)), kind="zTXt").replace(b"\0\0x", b"\0\0y"), "damaged"),
    "flipped.png": (png(("ccv3", b64(V3))).replace(b"ccv3\0ey", b"ccv3\0EY"), "checksum"),
    "base64.png": (png(("ccv3", b"%%%")), "base64"),
    "utf16.json": (json.dumps(V1, ensure_ascii=False).encode("utf-16"), ""),
    "infinite.json": (b'{"name": "n", "description": "x", "y": 1e999}', "1e999"),
    "digits.json": (b'{"name": "n", "description": "x", "y": ' + b"9" * 5000 + b"}", "5,000 digits"),
    "object.json": (json.dumps(V3 | {"spec": {}}).encode(), "unknown kind"),
    "invisible.json": (json.dumps(V1 | {"name": "\u200b\u202e"}).encode(), "no name"),
    "comment.json": (json.dumps({"name": "n", "description": "{{// x}}"}).encode(), "system_prompt"),
    "picture.json": (b"RIFF\x10\0\0\0WEBP", "neither"),
    "long.json": (json.dumps(V1 | {"description": "x" * 2_000_000}).encode(), "larger than 1 MB"),
    "surrogate.json": (b'{"name": "\\ud800", "description": "x"}', "surrogate"),
    "nan.json": (b'{"name": "n", "description": "x", "y": NaN}', "NaN is not a number"),
    "deep.json": (_nested(100_000), "nested"),
    "list.json": (b"[]", "not a JSON object"),
    "other.json": (b'{"hello": 1}', "not a character card"),
    "spec.json": (json.dumps(V3 | {"spec": "chara_card_v9"}).encode(), "unknown kind"),
    "nameless.json": (json.dumps(V1 | {"name": " "}).encode(), "no name"),
    "empty.json": (json.dumps({"name": "n"}).encode(), "says nothing"),
    "typed.json": (json.dumps(V1 | {"description": ["x"]}).encode(), "data.description"),
    "huge.json": (b'{"name": "' + b"a" * 9_000_000 + b'"}', "larger than"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_card_is_rejected_in_one_line_and_nothing_is_written(prompts: Path, name: str) -> None:
    made, words = BAD[name]
    data = made() if callable(made) else made
    with pytest.raises(UserError) as error:
        imported(prompts, name, data)
    line = error.value.line()
    assert words in line
    assert "\n" not in line
    assert len(line) < 700
    assert bytes_below(prompts.parent).keys() == {name}


SCRIPT = "</script><script>alert(1)</script>{{user}}\u202e\x00\x1b[31m'''\"\"\"\\"


def test_a_hostile_card_stays_text_within_the_folder(prompts: Path) -> None:
    data = copy.deepcopy(V3)
    for key, value in data["data"].items():
        if isinstance(value, str):
            data["data"][key] = SCRIPT
    data["data"] |= {"name": "../../../etc/passwd", "nickname": "../..//..\\x", "tags": [SCRIPT, "a/b"]}
    card, path, _ = imported(prompts, "a.json", json.dumps(data).encode(), instructions=True)
    assert path.parent == prompts.parent / "private" / "characters" / "de"
    assert path.name == "x.toml"
    assert "<script>alert(1)</script>" in card.system_prompt
    assert "\x1b" not in path.read_text(encoding="utf-8")
    tomllib.loads(path.read_text(encoding="utf-8"))
    assert bytes_below(prompts.parent).keys() == {
        "a.json",
        "private/.gitignore",
        "private/characters/de/x.card.json",
        "private/characters/de/x.toml",
    }


SPACES = " " * 60_000
ENTRY = {"keys": ["k"], "content": f"@@a {SPACES}\nx"}


@pytest.mark.parametrize(
    "fields",
    [
        {"description": f"a{SPACES}x"},
        {"description": "\r" * 60_000 + "x"},
        {"description": f"a{{{{roll:{SPACES}x}}}}"},
        {"description": f"a{{{{ {SPACES}char"},
        {"character_book": {"entries": [ENTRY]}},
    ],
    ids=["spaces", "line-ends", "roll", "macro", "decorator"],
)
def test_long_runs_of_spaces_are_read_at_once(prompts: Path, fields: dict[str, object]) -> None:
    started = time.perf_counter()
    _, path, _ = imported(prompts, "a.json", json.dumps(V1 | fields).encode())
    path.write_text(path.read_text(encoding="utf-8") + "unknown_key = 1\n", encoding="utf-8")
    with pytest.raises(CatalogError, match="unknown_key"):  # its line is looked for
        read_entry(Card, path, path.parents[2])
    assert time.perf_counter() - started < 1
