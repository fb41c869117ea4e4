"""Community character cards and the files that hold them.

The files are made by the rules of the public specifications (V1, V2, V3), not by the program's writer.
"""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

from bench.interop.card_format import Choices
from bench.interop.card_import import import_card
from bench.suites import Card, read_entry

V1: dict[str, Any] = {
    "name": "Käpt'n Holm",
    "description": "{{char}} steuert seit vierzig Jahren die Fähre.",
    "personality": "Wortkarg, freundlich.",
    "scenario": "{{user}} steht nachts am Anleger.",
    "first_mes": "Moin. Letzte Fähre, {{user}}.",
    "mes_example": "<START>\n{{user}}: Fährt noch was?\n{{char}}: Wat mutt, dat mutt.\n"
    "<start>\n{{user}}: Danke.",
}
BOOK: dict[str, Any] = {
    "scan_depth": 4,
    "entries": [
        {"keys": ["lamp", "light"], "content": "@@depth 4\nThe lamp has a blue glass.", "insertion_order": 2},
        {"keys": ["gull"], "content": "The gull is called Pit.", "enabled": False},
        {"keys": ["x"], "content": "The tide turns at nine.", "constant": True, "insertion_order": 1},
        {"keys": ["loop"], "content": "loop loop loop", "insertion_order": 3, "extensions": {"own": 1}},
    ],
}
V2: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": V1
    | {
        "creator_notes": "Notes.",
        "system_prompt": "Stay brief. {{original}}",
        "post_history_instructions": "Never shout.",
        "alternate_greetings": ["Second hello.", "Third hello."],
        "character_book": BOOK,
        "tags": ["sea", "night"],
        "creator": "someone",
        "character_version": "1.2",
        "extensions": {"other/program": {"depth": [1, 2]}},
        "not_in_any_specification": {"kept": True},
    },
}
V3: dict[str, Any] = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "own_root": 7,
    "data": V2["data"]
    | {
        "nickname": "Holm",
        "group_only_greetings": [],
        "source": ["https://example.org/1"],
        "creation_date": 1,
    },
}


LONG_NAME: dict[str, Any] = V1 | {"name": " Käpt'n\x00 Holm" * 30, "creation_date": 12345678901234567890}


def png(*chunks: tuple[str, bytes], late: bool = False, padding: int = 0, kind: str = "tEXt") -> bytes:
    """A picture of one pixel with text chunks, before or after its data.

    ``kind``: that of the text chunks; ``iTXz`` stands for a packed ``iTXt``.
    """
    starts = {"tEXt": b"\0", "zTXt": b"\0\0", "iTXt": b"\0\0\0en\0Karte\0", "iTXz": b"\0\1\0\0\0"}

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    name = b"iTXt" if kind == "iTXz" else kind.encode()
    texts = [
        chunk(name, keyword.encode() + starts[kind] + (zlib.compress(text) if "z" in kind else text))
        for keyword, text in chunks
    ]
    data = [chunk(b"IDAT", zlib.compress(b"\0\0\0\0")), chunk(b"prVt", bytes(padding))]
    parts = [*data, *texts] if late else [*texts, *data]
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(parts) + chunk(b"IEND", b"")


def b64(card: object) -> bytes:
    return base64.b64encode(json.dumps(card, ensure_ascii=False).encode())


def charx(data: bytes, name: str = "card.json", compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        archive.writestr("assets/icon/images/../../../../escape.png", b"picture")
        archive.writestr(name, data)
    return made.getvalue()


def imported(prompts: Path, name: str, data: bytes, **choices: Any) -> tuple[Card, Path, tuple[str, ...]]:
    """The card that a file becomes, its path, and the notes."""
    file = prompts.parent / name
    file.write_bytes(data)
    made = import_card(file, [prompts], "de", Choices(**choices))
    return read_entry(Card, made.path, made.path.parents[2]), made.path, made.notes
