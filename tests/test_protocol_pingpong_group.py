"""Groups: several characters on one card, from the judge's prompt to the board, with a scripted judge."""

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
from bench.protocols.comparing import Comparer
from bench.results import ResultsTree
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from bench.suites import Situation, load_suite
from tests.tiny import ROOT, FakeChat, ok

PLAYERS = ("smollm2-135m", "gpt-4.1-mini")
CRITERIA = ("in_character", "entertaining", "fluency", "attribution", "distinct_voices", "own_voice")
TRUE = "Marl: Soup. Sit.\nFenn: What she means, your excellency, is a symphony!"
SWAPPED = "Marl: What I mean, your excellency, is a symphony!\nFenn: Soup. Sit."
NAMELESS = "Soup. Sit."


def group(language: str = "en", prompts: Path = ROOT / "prompts") -> Protocol:
    return protocol_for(load_suite(prompts, "pingpong-group"), language, load_catalog(ROOT / "models.toml"))


def scored(answer: str) -> dict[str, int]:
    """What the scripted judge thinks: swapped voices cost the voices, missing names the attribution."""
    voices = 1 if answer == SWAPPED else 5
    return dict.fromkeys(CRITERIA, 4) | {
        "attribution": 2 if answer == NAMELESS else 5,
        "distinct_voices": voices,
        "own_voice": voices,
    }


async def answer(request: ChatRequest) -> Reply:
    """The second player swaps the voices in turns 2 and 6 and leaves out the names in turn 8."""
    if request.role == "interrogator":
        return ok('{"next_utterance": "And what do you think, Fenn?"}')
    if request.role == "player":
        turn = sum(message.role == "user" for message in request.messages)
        slips = {2: SWAPPED, 6: SWAPPED, 8: NAMELESS} if "gpt" in request.model else {}
        return ok(slips.get(turn, TRUE))
    asked = request.messages[-1].content.partition("The conversation:")[2].partition("Turns to score")[0]
    given = [part.partition("\nTurn ")[0] for part in asked.split("bot:\n")[1:]]
    texts = ["\n".join(line.removeprefix("| ") for line in part.strip().split("\n")) for part in given]
    scores = [
        {"turn": n, "is_refusal_explanation": "", "is_refusal": False}
        | {f"{name}_explanation": "'x'" for name in CRITERIA}
        | {f"{name}_score": score for name, score in scored(text).items()}
        for n, text in enumerate(texts, 1)
    ]
    return ok(json.dumps({"scores": scores}))


def test_voices_and_attribution_equal_the_scripted_truth_on_the_board(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    shutil.copytree(ROOT / "prompts", prompts, ignore=shutil.ignore_patterns("*.mp3"))
    file = prompts / "pingpong_group" / "pingpong-group.toml"
    file.write_text(re.sub(r"characters = .*", 'characters = ["crooked-spoon"]', file.read_text(), count=1))
    protocol, tree = group(prompts=prompts), ResultsTree(tmp_path / "results")
    plan = make_plan(protocol, tree, PLAYERS, protocol.suite.judges[:1])
    asyncio.run(run_plan(protocol, plan, tree, FakeChat(answer).ask))
    board = load_board(tree, "pingpong-group", "en", prompts=all_suites(prompts)).board
    by_player = {row.player: row for row in board.rows}
    truth = {PLAYERS[0]: (5.0, 5.0, 5.0, 4.0), PLAYERS[1]: (37 / 8, 32 / 8, 32 / 8, 4.0)}
    for player, expected in truth.items():
        row = by_player[player]
        assert row.conversations == 3
        names = ("attribution", "distinct_voices", "own_voice", "fluency")
        assert tuple(row.criteria[name] for name in names) == pytest.approx(expected, abs=5e-7)
        assert row.score == pytest.approx((2 * 4.0 + sum(expected)) / 6, abs=5e-7)
    first, second = (next(tree.conversations("pingpong-group", "en", player)) for player in PLAYERS)
    compared = Comparer(protocol).prompt(first, second)
    assert all(f'\n- {name}: "' in compared and f'"{name}_margin"' in compared for name in CRITERIA)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_player_is_told_to_name_who_speaks_and_a_judge_sees_every_criterion(language: str) -> None:
    protocol = group(language)
    for cell in protocol.cells("smollm2-135m"):
        assert protocol.turns(cell) == 8
        card = protocol.scenes.cards[cell.character]
        assert "group" in card.tags
        names = set(re.findall(r"(?m)^([^\W\d_][\w ]*):", card.example_prompt)) - {"User", "Гость"}
        assert len(names) >= 2
        assert all(name in card.system_prompt or name.upper() in card.system_prompt for name in names)
    text = protocol.prompts.judge(card, ())
    assert all(f"- {name}:" in text and f'"{name}_score"' in text for name in CRITERIA)


def test_the_languages_have_the_same_cards_and_situations() -> None:
    english, russian = group("en").scenes, group("ru").scenes
    assert list(english.cards) == list(russian.cards)
    assert [like(entry) for entry in english.situations.values()] == [
        like(entry) for entry in russian.situations.values()
    ]


def like(entry: Situation) -> tuple[object, ...]:
    return entry.kind, entry.num_turns, entry.tags
