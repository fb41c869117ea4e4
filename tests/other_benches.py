"""Benches in miniature for the other protocols: as :mod:`tests.tiny`, with one suite of theirs."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.protocols import Protocol, protocol_for
from bench.records import Cell
from bench.results import ResultsTree
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from bench.suites import load_suite
from tests.tiny import ROOT, SITUATION, SUITE, FakeChat, Tiny, make_tiny

STRICT = '[judge]\nmodels = ["strict"]\nsampling = { temperature = 0.1 }'
V1_SUITE = SUITE.replace(STRICT, '[judge]\nmodels = ["asker"]')

LONG_SUITE = SUITE.replace(STRICT, f"{STRICT}\nflaws = true")
LONG_SUITE = LONG_SUITE.replace("[limits]", "[options]\nwindow = 2\n\n[limits]")
SCRIPT = """
plants = [{ turn = 1, ask = 3, fact = "<b>A lamp</b> called Ada.", accept = ['ada'] }]
attacks = [{ turn = 2, text = "They shout." }]
"""

LIKENESS_SUITE = """
title = "Tiny likeness"
description = "A suite for tests."
version = "1"

[options]
orders = 2

[limits]
reason = 50

[player]
models = ["bard"]
sampling = { temperature = 0.6, max_tokens = 64 }

[judge]
models = ["strict"]
sampling = { temperature = 0.1 }

[languages.en]
items = "items.jsonl"
"""


def item(character: str, situation: str, **changes: Any) -> dict[str, Any]:
    """One line of a data set."""
    name = character.title()
    return {
        "character": character,
        "situation": situation,
        "name": name,
        "profile": f"PROFILE of {name}, who keeps bees.",
        "history": [
            {"speaker": "Ola", "content": f"EARLIER in {situation}."},
            {"speaker": name, "content": "Before."},
            {"role": "user", "content": f"LAST of {situation}?"},
        ],
        "real_answers": ["FIRST answer", "SECOND answer", "THIRD answer"],
        **changes,
    }


ITEMS = (item("ann", "hive"), item("ann", "rain"), item("bo", "honey"), item("cy", "smoke"))


@dataclass(frozen=True)
class Other(Tiny):
    """A bench in miniature of one other protocol."""

    suite: str = "other"
    name: str = "pingpong_v1"

    @property
    def suite_file(self) -> Path:
        return self.prompts / self.name / f"{self.suite}.toml"

    @property
    def items_file(self) -> Path:
        return self.suite_file.with_name("items.jsonl")

    def made(self) -> Protocol:
        return protocol_for(load_suite(self.prompts, self.suite), "en", self.catalog())

    def first(self, player: str = "bard") -> Cell:
        return self.made().cells(player)[0]


def make_v1(root: Path, url: str = "http://127.0.0.1:9/v1") -> Other:
    """Two cards in two situations (2 and 3 turns), played by version 1 of PingPong."""
    return _made(Other(root, "tiny-v1", "pingpong_v1"), V1_SUITE, url)


def make_long(root: Path, url: str = "http://127.0.0.1:9/v1") -> Other:
    """Two cards in two situations (2 and 3 turns, which has a script), judged in windows of two turns."""
    made = _made(Other(root, "tiny-long", "pingpong_long"), LONG_SUITE, url)
    text = SITUATION.format(title="storm", turns=3) + SCRIPT
    made.situation_file.with_stem("storm").write_text(text, encoding="utf-8")
    return made


def make_likeness(root: Path, url: str = "http://127.0.0.1:9/v1") -> Other:
    """Four items of three characters, each judged in two orders."""
    made = _made(Other(root, "tiny-likeness", "human_likeness"), LIKENESS_SUITE, url)
    write_items(made, ITEMS)
    return made


def played(other: Other, players: Sequence[str]) -> ResultsTree:
    """The results of these players, as the fake chat answers and judges."""
    protocol = other.made()
    plan = make_plan(protocol, other.tree, players, protocol.suite.judges)
    asyncio.run(run_plan(protocol, plan, other.tree, FakeChat().ask))
    return other.tree


def write_items(made: Other, items: Any) -> None:
    """Write the data set anew."""
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in items)
    made.items_file.write_text(text, encoding="utf-8")


def _made(other: Other, suite: str, url: str) -> Other:
    assert make_tiny(other.root, url).root == other.root
    other.suite_file.parent.mkdir()
    for path in (ROOT / "prompts" / other.name).glob("*.jinja"):
        shutil.copy(path, other.suite_file.parent)
    other.suite_file.write_text(suite, encoding="utf-8")
    return other
