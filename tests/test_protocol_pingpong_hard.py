"""Hard situations: a fourth criterion, from the judge's prompt to the board, with a scripted judge."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest

from bench.boards.loading import all_suites, load_board
from bench.catalog import load_catalog
from bench.chat.requests import ChatRequest, Reply
from bench.protocols import Protocol, protocol_for
from bench.results import ResultsTree
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from bench.suites import load_suite
from tests.tiny import ROOT, FakeChat, ok

PLAYERS = ("smollm2-135m", "gpt-4.1-mini")
CRITERIA = ("in_character", "entertaining", "fluency", "agency")
TAKES_OVER = "You nod, and your heart sinks."


def hard(language: str = "en", prompts: Path = ROOT / "prompts") -> Protocol:
    return protocol_for(load_suite(prompts, "pingpong-hard"), language, load_catalog(ROOT / "models.toml"))


async def answer(request: ChatRequest) -> Reply:
    """The second player writes the user's side in every second turn; the judge sees it and gives 1."""
    if request.role == "interrogator":
        return ok('{"next_utterance": "I open the door and..."}')
    if request.role == "player":
        turn = sum(message.role == "user" for message in request.messages)
        return ok(TAKES_OVER if "gpt" in request.model and turn % 2 == 0 else "And? What do you see?")
    asked = request.messages[-1].content.partition("The conversation:")[2]
    given = [part.partition("\nuser:")[0] for part in asked.split("bot:\n")[1:]]
    scores = [
        {"turn": n, "is_refusal_explanation": "", "is_refusal": False}
        | {f"{name}_explanation": "'x'" for name in CRITERIA}
        | dict.fromkeys([f"{name}_score" for name in CRITERIA], 4)
        | {"agency_score": 1 if TAKES_OVER in text else 5}
        for n, text in enumerate(given, 1)
    ]
    return ok(json.dumps({"scores": scores}))


def test_agency_equals_the_scripted_truth_on_the_board(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    shutil.copytree(ROOT / "prompts", prompts, ignore=shutil.ignore_patterns("*.mp3"))
    file = prompts / "pingpong_hard" / "pingpong-hard.toml"
    file.write_text(re.sub(r"characters = .*", 'characters = ["pip-the-pawn-3"]', file.read_text(), count=1))
    protocol, tree = hard(prompts=prompts), ResultsTree(tmp_path / "results")
    plan = make_plan(protocol, tree, PLAYERS, protocol.suite.judges[:1])
    asyncio.run(run_plan(protocol, plan, tree, FakeChat(answer).ask))
    board = load_board(tree, "pingpong-hard", "en", prompts=all_suites(prompts)).board
    by_player = {row.player: row for row in board.rows}
    for player, agency in zip(PLAYERS, (5.0, 3.0), strict=True):
        row = by_player[player]
        assert row.conversations == 8
        assert (row.criteria["agency"], row.criteria["fluency"]) == (agency, 4.0)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_situations_are_hard_and_of_both_kinds(language: str) -> None:
    situations = hard(language).scenes.situations
    assert len(situations) == 8
    assert {entry.kind for entry in situations.values()} == {"attack", "common"}
    assert sorted(entry.num_turns for entry in situations.values()) == [4] * 7 + [8]


def test_the_languages_have_the_same_situations() -> None:
    english, russian = (list(hard(name).scenes.situations.values()) for name in ("en", "ru"))
    assert [kind_of(entry) for entry in english] == [kind_of(entry) for entry in russian]


def kind_of(entry: object) -> tuple[object, ...]:
    return tuple(getattr(entry, name) for name in ("kind", "num_turns", "tags"))
