"""A bench in miniature: a prompts folder, a models.toml, and models that answer by script instead of by wire.

Two characters, two situations (of 2 and 3 turns), one suite ``tiny``: 4 conversations, 10 turns a player.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench.catalog import Catalog, load_catalog
from bench.chat.budget import BudgetReached
from bench.chat.requests import ChatRequest, Reply
from bench.chat.stats import Stats
from bench.protocols.pingpong_v2 import PingPongV2
from bench.records import Cell, Message, Usage, canonical
from bench.results import ResultsTree
from bench.suites import load_suite
from tests.scripted_server import Seen, plausible_text

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = ROOT / "prompts" / "pingpong_v2"
PAPER = ROOT.parent / "shared" / "paper" / "prompts"

CALLS = {"interrogator": 10, "player": 10, "judge": 4}
"""Calls of one player in the suite, all going well."""

CARD = '''
char_name = "{name}"
summary = "{name}, who keeps a lighthouse."
system_prompt = """
SECRET CARD of {name}. A keeper of lamps, slow of speech.
"""
example_prompt = "User: Hello. {name}: Mind the step."
initial_message = "The lamp is lit."
tags = ["test"]
source = "Invented for the tests"
style = "prose"
'''

SITUATION = """
title = "{title}"
text = "SITUATION {title}: ask about the lamp."
kind = "common"
num_turns = {turns}
"""

SUITE = """
title = "Tiny"
description = "A suite for tests."
version = "1"

[limits]
utterance = 100
reason = 50

[player]
models = ["bard"]
sampling = { temperature = 0.6, max_tokens = 64 }

[interrogator]
models = ["asker"]
sampling = { temperature = 0.8 }

[judge]
models = ["strict"]
sampling = { temperature = 0.1 }

"""

LANGUAGE = """[languages.{language}]
characters = {characters}
situations = {situations}
"""
SUITE += LANGUAGE.format(language="en", characters='["anna", "bruno"]', situations='["hello", "storm"]')

MODELS = """
[providers.scripted]
base_url = "{url}"
json_schema = true
schema_limits = true
seed = true
max_concurrent = 4
timeout_seconds = 20

[providers.plain]
base_url = "{url}"
json_schema = true

[models.bard]
provider = "scripted"
model = "bard-1"
name = "Bard"
family = "Test"
weights = "open"
licence = "MIT"
prices = {{ input = "1", output = "2" }}

[models.actor]
provider = "plain"
model = "actor-1"
name = "Actor"
family = "Test"
weights = "closed"
licence = "proprietary"

[models.asker]
provider = "scripted"
model = "asker-1"
name = "Asker"
family = "Test"
weights = "open"
licence = "MIT"
prices = {{ input = "1", output = "2" }}

[models.strict]
provider = "scripted"
model = "strict-1"
name = "Strict"
family = "Test"
weights = "open"
licence = "MIT"
prices = {{ input = "1", output = "2" }}

[models.lenient]
provider = "scripted"
model = "lenient-1"
name = "Lenient"
family = "Test"
weights = "open"
licence = "MIT"
prices = {{ input = "1", output = "2" }}
"""


@dataclass(frozen=True)
class Tiny:
    """A bench in miniature below ``root``: where its files are, and what they hold when read."""

    root: Path

    @property
    def prompts(self) -> Path:
        return self.root / "prompts"

    @property
    def models(self) -> Path:
        return self.root / "models.toml"

    @property
    def suite_file(self) -> Path:
        return self.prompts / "pingpong_v2" / "tiny.toml"

    @property
    def card_file(self) -> Path:
        return self.prompts / "characters" / "en" / "anna.toml"

    @property
    def situation_file(self) -> Path:
        return self.prompts / "situations" / "en" / "hello.toml"

    @property
    def tree(self) -> ResultsTree:
        return ResultsTree(self.root / "results")

    def catalog(self) -> Catalog:
        return load_catalog(self.models)

    def protocol(self, language: str = "en") -> PingPongV2:
        return PingPongV2(load_suite(self.prompts, "tiny"), language, self.catalog())

    def cell(self, character: str = "anna", situation: str = "hello", player: str = "bard") -> Cell:
        """A cell of the suite, without loading all of it."""
        version = tomllib.loads(self.suite_file.read_text(encoding="utf-8"))["version"]
        return Cell(
            suite="tiny",
            version=version,
            protocol="pingpong_v2",
            language="en",
            player=player,
            character=character,
            situation=situation,
        )

    def options(self) -> list[str]:
        """The options that point a command here."""
        folders = {"results": "results", "models": "models.toml", "prompts": "prompts", "cache": "cache"}
        return [word for name, path in folders.items() for word in (f"--{name}", str(self.root / path))]


def make_tiny(root: Path, url: str = "http://127.0.0.1:9/v1") -> Tiny:
    """Write a bench in miniature below ``root``; its models are served at ``url``."""
    made = Tiny(root)
    made.suite_file.parent.mkdir(parents=True)
    for path in TEMPLATES.glob("*.jinja"):
        shutil.copy(path, made.suite_file.parent)
    made.suite_file.write_text(SUITE, encoding="utf-8")
    made.card_file.parent.mkdir(parents=True)
    for name in ("anna", "bruno"):
        made.card_file.with_stem(name).write_text(CARD.format(name=name.title()), encoding="utf-8")
    made.situation_file.parent.mkdir(parents=True)
    for title, turns in (("hello", 2), ("storm", 3)):
        path = made.situation_file.with_stem(title)
        path.write_text(SITUATION.format(title=title, turns=turns), encoding="utf-8")
    made.models.write_text(MODELS.format(url=url), encoding="utf-8")
    return made


def served_at(catalog: Catalog, url: str, **changes: Any) -> Catalog:
    """``catalog`` with all its providers at ``url``, and other changes of theirs."""
    providers = {
        name: provider.model_copy(update={"base_url": url, **changes})
        for name, provider in catalog.providers.items()
    }
    return Catalog(catalog.path, providers, catalog.models)


def name_templates(tiny: Tiny, source: Path) -> Path:
    """Have the suite use a copy of the templates in ``source``, in a folder that is returned."""
    folder = tiny.suite_file.parent / "own"
    folder.mkdir()
    for path in source.glob("*.jinja"):
        shutil.copy(path, folder)
    edit(tiny.suite_file, 'version = "1"', f'version = "1"\ntemplates = "{folder.name}"')
    return folder


def play_all(tiny: Tiny, *languages: str) -> None:
    """Have the suite list every card and situation in its folders; without ``languages``, in English."""
    text = tiny.suite_file.read_text(encoding="utf-8").partition("[languages")[0]
    for language in languages or ("en",):
        names = {
            kind: json.dumps(sorted(path.stem for path in (tiny.prompts / kind / language).glob("*.toml")))
            for kind in ("characters", "situations")
        }
        text += LANGUAGE.format(language=language, **names)
    tiny.suite_file.write_text(text, encoding="utf-8")


def edit(path: Path, old: str, new: str) -> None:
    """Replace ``old``, which has to be there, by ``new`` in a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def bytes_below(root: Path) -> dict[str, bytes]:
    """Every file below ``root``, by its path from there."""
    return {
        str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
    }


# --- answers without a wire ------------------------------------------------------------------------------

USAGE = Usage(prompt_tokens=100, completion_tokens=50)
COST = Decimal("0.0002")


def ok(text: str, **changes: Any) -> Reply:
    fields: dict[str, Any] = {"finish_reason": "stop", "usage": USAGE, "cost": COST, **changes}
    return Reply("ok", text, **fields)


def bad(outcome: Any, text: str = "", detail: str = "") -> Reply:
    return Reply(outcome, text, detail=detail)


def good_text(request: ChatRequest) -> str:
    """A plausible answer, from a hash of the request."""
    body = {
        "messages": [m.plain() for m in request.messages],
        "response_format": dict(request.response_schema or {}),
        "model": request.model,
        "seed": request.seed,
    }
    return plausible_text(Seen(0, "", {}, canonical(body).encode(), 0))


@dataclass
class Script:
    """Answers requests: for each role the given steps in order, then plausibly. ``asked`` holds them all.

    A step is the text of a good answer, a whole Reply, an exception to raise, or None for a plausible answer.
    """

    steps: Mapping[str, list[str | Reply | Exception | None]] = field(default_factory=dict)
    asked: list[ChatRequest] = field(default_factory=list)

    async def __call__(self, request: ChatRequest) -> Reply:
        self.asked.append(request)
        queue = self.steps.get(request.role)
        step = queue.pop(0) if queue else None
        if isinstance(step, Exception):
            raise step
        if isinstance(step, Reply):
            return step
        return ok(good_text(request) if step is None else step)

    def of(self, role: str) -> list[ChatRequest]:
        return [request for request in self.asked if request.role == role]

    def prompts(self, role: str) -> list[str]:
        """The last message of each request of ``role``."""
        return [request.messages[-1].content for request in self.of(role)]


class FakeChat:
    """Stands for a Chat in a run: asks a script, counts calls and money, and spends no more than it may."""

    def __init__(
        self, ask: Callable[[ChatRequest], Any] | None = None, max_cost: Decimal | None = None
    ) -> None:
        self.max_cost = max_cost
        self.script = Script()
        self.stats = Stats()
        self.in_flight = 0
        self._ask = ask or self.script

    async def ask(self, request: ChatRequest) -> Reply:
        if self.max_cost is not None and self.stats.cost >= self.max_cost:
            raise BudgetReached
        if self._ask is not self.script:
            self.script.asked.append(request)
        self.stats.asked += 1
        self.in_flight += 1
        try:
            reply: Reply = await self._ask(request)
        finally:
            self.in_flight -= 1
        self.stats.replied(reply)
        if reply.usage is not None:
            self.stats.paid(reply.usage, reply.cost)
        return reply


def said(*texts: str) -> tuple[Message, ...]:
    """Messages that take turns, the user first."""
    roles = ("user", "assistant")
    return tuple(Message.model_validate({"role": roles[n % 2], "content": t}) for n, t in enumerate(texts))
