"""Suites on scripted models: players that break, write the user's side and know facts as the script says.

Each figure of the board equals what was scripted, to the digit. `make benchmarks` plays every card of each
suite, `make test` one.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from bench.boards.loading import LoadedBoard, all_suites, load_board
from bench.catalog import load_catalog
from bench.chat.requests import ChatRequest, Reply
from bench.protocols import Protocol, protocol_for
from bench.protocols.card_probes import CardProbes
from bench.results import ResultsTree
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from bench.scores.player_measures import player_measures
from bench.suites import load_suite
from tests.lengths import LONG
from tests.tiny import ROOT, FakeChat, edit, ok

STEADY, CLUMSY = PLAYERS = ("smollm2-135m", "gpt-4.1-mini")
BREAKS = "I am a language model."
TAKES_OVER = {
    "en": "*you nod* Come in.",
    "ru": "*ты киваешь* Заходи.",
    "de": "*du nickst* Herein.",
    "ja": "*あなたはうなずく* どうぞ。",
}
SLIPS = {2: "breaks", 3: "takes_over", 4: "breaks", 6: "takes_over", 7: "takes_over"}
"""What the clumsy player does in these turns. In all others it plays as well as the steady one."""
HARSH = 2
"""How much lower the second judge scores entertainment."""


def copied(tmp_path: Path, suite: str, language: str, most: int) -> Path:
    """The prompts with the last ``most`` cards of a suite in one language."""
    folder = load_suite(ROOT / "prompts", suite).protocol
    prompts = tmp_path / "prompts"
    for part in (folder, f"characters/{language}", f"situations/{language}"):
        shutil.copytree(ROOT / "prompts" / part, prompts / part)
    file = prompts / folder / f"{suite}.toml"
    head, table = file.read_text(encoding="utf-8").split(f"[languages.{language}]\n")
    cards = re.search(r"characters = (\[.*?\])", table)
    assert cards is not None
    kept = json.dumps(json.loads(cards[1])[-most:])
    table = table.replace(cards[1], kept, 1).partition("\n[languages.")[0]
    file.write_text(f"{head.partition('[languages.')[0]}[languages.{language}]\n{table}", encoding="utf-8")
    return prompts


@dataclass
class Scripted:
    """All models. Judges see what the clumsy player did and score it 1 where it counts."""

    protocol: Protocol
    asked: list[ChatRequest]

    async def __call__(self, request: ChatRequest) -> Reply:
        self.asked.append(request)
        text = request.messages[-1].content
        if request.role == "interrogator":
            return ok(json.dumps({"next_utterance": "Go on. And the Salt Gate, Соляные ворота?"}))
        if request.role == "player":
            turn = sum(message.role == "user" for message in request.messages)
            return ok(self.said(turn, SLIPS.get(turn, "") if request.model == CLUMSY else ""))
        return ok(json.dumps({"scores": [*self.judged(text, request.model)]}))

    def said(self, turn: int, slip: str) -> str:
        plain = f"Well, number {turn}."
        return {"breaks": BREAKS, "takes_over": TAKES_OVER[self.protocol.language]}.get(slip, plain)

    def judged(self, prompt: str, judge: str) -> Iterator[dict[str, Any]]:
        talk = prompt.rpartition("Turn 1:")[2]
        answers = re.findall(r"\nbot:\n(.*?)(?=\nTurn|\nuser:|\Z)", talk, re.DOTALL)
        for turn, answer in enumerate(answers, 1):
            scores = truth(self.protocol, "breaks" if BREAKS in answer else answer_slip(answer))
            if judge != self.protocol.suite.judges[0]:
                scores["entertaining"] -= HARSH
            entry: dict[str, Any] = {"turn": turn, "is_refusal_explanation": "", "is_refusal": False}
            for name, score in scores.items():
                entry |= {f"{name}_explanation": "'x'", f"{name}_score": score}
            if self.protocol.suite.entry.judge.flaws:
                entry["flaws"] = [*flaws_in(answer)]
            yield entry


def answer_slip(answer: str) -> str:
    return "takes_over" if any(text in answer for text in TAKES_OVER.values()) else ""


def flaws_in(answer: str) -> Iterator[dict[str, str]]:
    if BREAKS in answer:
        yield {"flaw": "breaks_character", "quote": "language model"}
        yield {"flaw": "meta_talk", "quote": "language"}
    if answer_slip(answer):
        yield {"flaw": "speaks_for_user", "quote": answer.removeprefix("| ").partition("* ")[0][1:]}


def truth(protocol: Protocol, slip: str) -> dict[str, int]:
    """What the lenient judge gives an answer, by criterion."""
    scores = {criterion.name: 4 for criterion in protocol.facts.criteria} | {"in_character": 5}
    if slip == "breaks":
        scores["in_character"] = 1
    if slip == "takes_over":
        scores |= {name: 1 for name in ("agency", "own_voice") if name in scores}
    return scores


def slips_of(protocol: Protocol, player: str) -> list[list[str]]:
    """By scene and turn, what a player does."""
    slips = SLIPS if player == CLUMSY else {}
    turns = [protocol.turns(cell) for cell in protocol.cells(player)]
    return [[slips.get(turn, "") for turn in range(1, count + 1)] for count in turns]


def play(prompts: Path, root: Path, suite: str, language: str) -> tuple[Scripted, ResultsTree, LoadedBoard]:
    protocol = protocol_for(load_suite(prompts, suite), language, load_catalog(ROOT / "models.toml"))
    tree, script = ResultsTree(root / "results"), Scripted(protocol, [])
    plan = make_plan(protocol, tree, PLAYERS, protocol.suite.judges)
    chat = FakeChat(script)
    asyncio.run(run_plan(protocol, plan, tree, chat.ask))
    assert chat.stats.asked == plan.calls() > 0
    return script, tree, load_board(tree, suite, language, prompts=all_suites(prompts))


SUITES = [
    ("pingpong-symmetric", "en"),
    ("pingpong-deep", "ru"),
    ("pingpong-hard", "ru"),
    ("pingpong-hard-starter", "ja"),
]
FURTHER = [
    ("pingpong-3", "ru"),
    ("pingpong-length", "en"),
    ("pingpong-hard-starter", "de"),
    ("pingpong-group", "ru"),
]
PROBES = [("card-probes-2", "ru"), ("card-probes-starter", "ja")]
FURTHER_PROBES = [("card-probes-2", "en"), ("card-probes-starter", "de")]


@pytest.mark.long
@pytest.mark.parametrize(("suite", "language"), SUITES + FURTHER * LONG)
def test_every_figure_of_a_suite_equals_the_scripted_truth(suite: str, language: str, tmp_path: Path) -> None:
    prompts = copied(tmp_path, suite, language, 99 if LONG else 1)
    script, tree, loaded = play(prompts, tmp_path, suite, language)
    protocol = script.protocol
    for row in loaded.board.rows:
        scenes = [[truth(protocol, slip) for slip in turns] for turns in slips_of(protocol, row.player)]
        means = {
            name: fmean(fmean(turn[name] for turn in turns) for turns in scenes)
            - (HARSH / 2 if name == "entertaining" else 0)
            for name in row.criteria
        }
        assert row.conversations == len(scenes)
        assert row.criteria == pytest.approx(means, abs=5e-7)
        assert row.score == pytest.approx(fmean(means.values()), abs=5e-7)
        share = fmean(
            fmean(slip == "takes_over" for slip in turns) for turns in slips_of(protocol, row.player)
        )
        measured = player_measures(row.player, tree.conversations(suite, language, row.player)).means
        assert measured["speaks_for_user"] == pytest.approx(share, abs=5e-7)
    assert {row.player for row in loaded.board.rows} == set(PLAYERS)
    check_who_saw_what(script)


def check_who_saw_what(script: Scripted) -> None:
    """Both sides of a symmetric suite see card and situation; in others each sees its own."""
    protocol = script.protocol
    symmetric = protocol.suite.entry.symmetric
    cards = {card.system_prompt.strip().split("\n")[0]: card for card in protocol.scenes.cards.values()}
    situations = [entry.text.strip() for entry in protocol.scenes.situations.values()]
    for request in script.asked:
        text = "\n".join(message.content for message in request.messages)
        if request.role == "interrogator":
            assert any(line in text for line in cards) is symmetric
        if request.role == "player":
            assert any(situation in text for situation in situations) is symmetric
            card = next(card for line, card in cards.items() if line in text)
            assert any(entry.content in text for entry in card.lorebook) is bool(card.lorebook)


def test_flaws_of_a_suite_of_version_2_are_counted_per_turn_as_scripted(tmp_path: Path) -> None:
    prompts = copied(tmp_path, "pingpong-3", "en", 1)
    file = prompts / "pingpong_v2" / "pingpong-3.toml"
    edit(file, "max_tokens = 4096 }", "max_tokens = 4096 }\nflaws = true")
    script, _, loaded = play(prompts, tmp_path, "pingpong-3", "en")
    rows = {row.player: row for row in loaded.board.rows}
    steady, clumsy = rows[STEADY].flaws, rows[CLUMSY].flaws
    assert steady is not None
    assert clumsy is not None
    scenes = slips_of(script.protocol, CLUMSY)
    broken, taken = (
        fmean(slips.count(name) / len(slips) for slips in scenes) for name in ("breaks", "takes_over")
    )
    assert (steady.turns, steady.per_turn) == (2 * sum(map(len, scenes)), 0.0)
    assert clumsy.turns == 2 * sum(map(len, scenes))
    assert clumsy.per_turn == pytest.approx(2 * broken + taken, abs=5e-7)
    found = {name: rate for name, rate in clumsy.kinds.items() if rate}
    assert found == pytest.approx(
        {"breaks_character": broken, "meta_talk": broken, "speaks_for_user": taken}, abs=5e-7
    )


@pytest.mark.long
@pytest.mark.parametrize(("suite", "language"), PROBES + FURTHER_PROBES * LONG)
def test_pass_rates_of_probes_equal_the_scripted_truth(suite: str, language: str, tmp_path: Path) -> None:
    """One player knows everything, the other fails every third probe and every probe of an unseen entry."""
    protocol = protocol_for(load_suite(ROOT / "prompts", suite), language, load_catalog(ROOT / "models.toml"))
    assert isinstance(protocol, CardProbes)
    one = "wick" if suite == "card-probes-2" else protocol.cells(STEADY)[-1].character
    cells = [cell for cell in protocol.cells(STEADY) if LONG or cell.character == one]
    probes = {(cell.character, cell.situation): protocol.item(cell) for cell in cells}

    def asked(character: str, message: str) -> tuple[str, str]:
        return protocol.scenes.cards[character].char_name, message

    keys = {asked(character, probe.messages[-1]): probe for (character, _), probe in probes.items()}
    failing = {key for n, (key, probe) in enumerate(keys.items()) if n % 3 == 2 or probe.expects == "unseen"}

    async def answer(request: ChatRequest) -> Reply:
        card = request.messages[0].content
        name = min({name for name, _ in keys if name in card}, key=card.find)
        key = (name, request.messages[-1].content)
        if key not in keys:  # a message before the last
            return ok("...")
        wrong = request.model == CLUMSY and key in failing
        return ok((keys[key].wrong if wrong else keys[key].right)[0])

    tree = ResultsTree(tmp_path / "results")
    plan = make_plan(protocol, tree, PLAYERS, protocol.suite.judges)
    plan.work = [item for item in plan.work if (item.cell.character, item.cell.situation) in probes]
    asyncio.run(run_plan(protocol, plan, tree, FakeChat(answer).ask))
    rows = load_board(tree, suite, language, prompts=all_suites(ROOT / "prompts")).board.rows
    for row in rows:
        assert row.probes is not None
        assert row.probes.unclear == 0
        for kind, rates in row.probes.kinds.items():
            own = [
                asked(scene[0], probe.messages[-1]) for scene, probe in probes.items() if probe.kind == kind
            ]
            failed = sum(row.player == CLUMSY and key in failing for key in own)
            assert (rates.passed, rates.failed) == (len(own) - failed, failed)
            assert rates.rate == pytest.approx(1 - failed / len(own), abs=5e-7)
        assert sum(rates.passed + rates.failed for rates in row.probes.kinds.values()) == len(probes)
