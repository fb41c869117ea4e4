"""A bench in miniature for spoken role play: a suite ``spoken`` of three items, a speech model, a judge that
hears, and a player of recordings."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from bench.catalog import Catalog, load_catalog
from bench.chat.requests import ChatRequest, Reply
from bench.protocols.speech_roleplay import SpeechRoleplay
from bench.records import Cell
from bench.results import ResultsTree
from bench.run.storage import TreeStorage
from bench.suites import load_suite
from tests.scripted_speech import tone

TEMPLATES = Path(__file__).resolve().parents[1] / "prompts" / "speech_roleplay"

SUITE = """
title = "Spoken"
description = "A suite for tests."
version = "1"

[options]
max_seconds = 5
max_bytes = 400000

[player]
models = ["voice"]
sampling = { temperature = 0.6 }

[judge]
models = ["ear"]
sampling = { temperature = 0.1 }

[languages.en]
items = "spoken.jsonl"
"""

MODELS = """
[providers.scripted]
base_url = "{url}"
seed = true
json_schema = true

[providers.recordings]
base_url = "recordings"

[models.voice]
provider = "scripted"
model = "voice-1"
name = "Voice"
family = "Test"
weights = "open"
licence = "MIT"
prices = {{ input = "1", output = "2", audio_input = "10", audio_output = "20" }}
audio_input = true
audio_output = {{ voice = "ash" }}

[models.ear]
provider = "scripted"
model = "ear-1"
name = "Ear"
family = "Test"
weights = "open"
licence = "MIT"
prices = {{ input = "1", output = "2", audio_input = "10" }}
audio_input = true

[models.deaf]
provider = "scripted"
model = "deaf-1"
name = "Deaf"
family = "Test"
weights = "open"
licence = "MIT"

[models.tape]
provider = "recordings"
model = "tape-1"
name = "Tape"
family = "Test"
weights = "open"
licence = "MIT"
recordings = "tapes"
"""

ITEMS = [
    {
        "character": "keeper",
        "situation": "storm",
        "instruction_type": "role and scenario",
        "instruction": "Talk a boat in through the storm.",
        "name": "Lighthouse keeper",
    },
    {
        "character": "crier",
        "situation": "plums",
        "instruction_type": "role",
        "instruction": "Cry out your plums.",
        "audio": "sounds/plums.flac",
    },
    {
        "character": "ghost",
        "situation": "cellar",
        "instruction_type": "explicit style",
        "instruction": "Greet them in a whisper.",
    },
]


@dataclass(frozen=True)
class Spoken:
    """Where its files are, and what they hold when read."""

    root: Path

    @property
    def prompts(self) -> Path:
        return self.root / "prompts"

    @property
    def folder(self) -> Path:
        return self.prompts / "speech_roleplay"

    @property
    def suite_file(self) -> Path:
        return self.folder / "spoken.toml"

    @property
    def items_file(self) -> Path:
        return self.folder / "spoken.jsonl"

    @property
    def models(self) -> Path:
        return self.root / "models.toml"

    @property
    def tapes(self) -> Path:
        return self.root / "tapes" / "en"

    @property
    def tree(self) -> ResultsTree:
        return ResultsTree(self.root / "results")

    def catalog(self) -> Catalog:
        return load_catalog(self.models)

    def protocol(self) -> SpeechRoleplay:
        made = SpeechRoleplay(load_suite(self.prompts, "spoken"), "en", self.catalog())
        made.sounds.source = self.tree.read_audio
        return made

    def cell(self, character: str = "keeper", player: str = "voice") -> Cell:
        return next(cell for cell in self.protocol().cells(player) if cell.character == character)

    def options(self) -> list[str]:
        """The options that point a command here."""
        folders = {"results": "results", "models": "models.toml", "prompts": "prompts", "cache": "cache"}
        return [word for name, path in folders.items() for word in (f"--{name}", str(self.root / path))]


def make_spoken(root: Path, url: str = "http://127.0.0.1:9/v1") -> Spoken:
    """Write the bench below ``root``; its models are served at ``url``. There are tapes of two items."""
    made = Spoken(root)
    made.folder.mkdir(parents=True)
    shutil.copy(TEMPLATES / "judge.jinja", made.folder)
    made.suite_file.write_text(SUITE, encoding="utf-8")
    made.items_file.write_text("\n".join(map(json.dumps, ITEMS)), encoding="utf-8")
    made.models.write_text(MODELS.format(url=url), encoding="utf-8")
    (made.folder / "sounds").mkdir()
    (made.folder / "sounds" / "plums.flac").write_bytes(tone(1, kind="FLAC"))
    made.tapes.mkdir(parents=True)
    (made.tapes / "keeper.storm.mp3").write_bytes(tone(2, kind="MP3"))
    (made.tapes / "keeper.storm.txt").write_text("Keep my light on your left.\n", encoding="utf-8")
    (made.tapes / "crier.plums.flac").write_bytes(tone(1.5, pitch=330, kind="FLAC"))
    return made


def recorded(spoken: Spoken) -> ResultsTree:
    """Results of the player of recordings, whom nobody has judged."""
    protocol = spoken.protocol()
    storage = TreeStorage(protocol, spoken.tree)

    async def nobody(request: ChatRequest) -> Reply:
        raise AssertionError("a recorded player is not called")

    for cell in protocol.cells("tape"):
        storage.conversation(asyncio.run(protocol.converse(cell, nobody)))
    return spoken.tree
