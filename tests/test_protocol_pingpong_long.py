"""Long conversations with scripted players: every reported figure equals what the script did.

`make benchmarks` plays all four cards of the suite, `make test` one.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.boards.loading import LoadedBoard, all_suites, load_board
from bench.catalog import load_catalog
from bench.chat.requests import ChatRequest, Reply
from bench.errors import CatalogError
from bench.interop.export import tidy_table
from bench.protocols import Protocol, protocol_for, reread
from bench.protocols.pingpong_long import PingPongLong
from bench.records import Message, Plant
from bench.results import ResultsTree
from bench.run.plan import estimate, make_plan
from bench.run.runner import run_plan
from bench.scores.analyses.report import Material, report
from bench.scores.analyses.texts import turns_of
from bench.scores.forms import to_json
from bench.scores.long_forms import figures_text
from bench.scores.long_talks import Slope
from bench.site.talk import talk_of
from bench.suites import load_suite
from tests.lengths import of_long
from tests.tiny import ROOT, FakeChat, edit, ok

STEADY, FORGETFUL = PLAYERS = ("smollm2-135m", "gpt-4.1-mini")
CRITERIA = ("in_character", "entertaining", "fluency")
TAKES_OVER = "*You nod and sit down.*"
BREAKS = "I am only a language model."
SITUATIONS = ("long-evening", "planning-a-journey", "two-friends-apart")
CARDS = of_long(1, 4)
LAST_ASKS = 23
"""The forgetful player forgets what it is asked for from this turn on, and everything in one situation."""


def long_protocol(prompts: Path, language: str = "en") -> Protocol:
    return protocol_for(load_suite(prompts, "pingpong-long"), language, load_catalog(ROOT / "models.toml"))


def copied(tmp_path: Path) -> Path:
    """The prompts with ``CARDS`` characters in English: all of them, or one."""
    prompts = tmp_path / "prompts"
    for part in ("pingpong_long", "characters", "situations"):
        shutil.copytree(ROOT / "prompts" / part, prompts / part)
    file = prompts / "pingpong_long" / "pingpong-long.toml"
    cards = json.dumps(["tove-adeyemi-3", "scheherazade-3", "gorvath-the-retired-3", "baba-yaga-3"][:CARDS])
    file.write_text(re.sub(r"characters = .*", f"characters = {cards}", file.read_text(), count=1))
    return prompts


class Scripted:
    """All models: two players that break, forget and take over in known turns, and a judge that sees it."""

    def __init__(
        self, plants: Mapping[str, tuple[Plant, ...]], attacks: Mapping[str, tuple[int, ...]]
    ) -> None:
        self.facts = {plant.question: plant for name in plants for plant in plants[name]}
        self.attacks = attacks

    def broken(self, situation: str, turn: int) -> bool:
        """The forgetful player breaks in every attack, and holds again two turns later."""
        return any(turn in (at, at + 1) for at in self.attacks[situation])

    async def __call__(self, request: ChatRequest) -> Reply:
        text = request.messages[-1].content
        if request.role == "interrogator":
            return ok(json.dumps({"next_utterance": self.asked(text)}))
        if request.role == "judge":
            return ok(json.dumps(self.judged(text)))
        turn = sum(message.role == "user" for message in request.messages)
        situation = next(name for name in SITUATIONS if f"({name})" in request.messages[1].content)
        return ok(self.answered(request.model == STEADY, situation, turn, text))

    def asked(self, prompt: str) -> str:
        if fact := re.search(r"as here: (.*)", prompt):
            return fact[1]
        if question := re.search(r"or their own: (.*)", prompt):
            return question[1]
        start = next(name for name in SITUATIONS if TITLES[name] in prompt)
        return f"Let us begin ({start})." if "The chat is empty" in prompt else "Go on, tell me more."

    def answered(self, steady: bool, situation: str, turn: int, text: str) -> str:
        said = f"Answer {turn} of this evening, spoken softly"
        if plant := self.facts.get(text):
            forgets = not steady and (situation == SITUATIONS[0] or plant.ask >= LAST_ASKS)
            said = "I cannot say." if forgets else f"That was it: {plant.fact}"
        if not steady and self.broken(situation, turn):
            said = f"{BREAKS} {turn}"
        return f"{said} {TAKES_OVER}" if not steady and turn % 4 == 0 else said

    def judged(self, prompt: str) -> dict[str, Any]:
        talk = prompt.rpartition("The conversation")[2]
        turns = re.findall(r"Turn (\d+):.*?bot:\n(.*?)(?=\nTurn|\nuser:|\Z)", talk, re.DOTALL)
        scores = []
        for number, answer in turns:
            entry: dict[str, Any] = {"turn": int(number), "is_refusal_explanation": "", "is_refusal": False}
            entry |= {f"{name}_explanation": "'x'" for name in CRITERIA}
            entry |= {
                "in_character_score": 1 if BREAKS in answer else 5,
                "entertaining_score": 4,
                "fluency_score": fluency(int(number)),
                "flaws": [{"flaw": "speaks_for_user", "quote": "“You nod"}] if TAKES_OVER in answer else [],
            }
            scores.append(entry)
        more = {} if turns[-1][0] == "24" else {"summary": f"They talked up to turn {turns[-1][0]}."}
        return {"scores": scores, **more}


def fluency(turn: int) -> int:
    return 5 - turn // 7


TITLES = dict(zip(SITUATIONS, ("dropped in", "planning a journey", "fallen out"), strict=True))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Protocol, ResultsTree, LoadedBoard, Scripted]:
    root = tmp_path_factory.mktemp("long")
    prompts = copied(root)
    protocol, tree = long_protocol(prompts), ResultsTree(root / "results")
    situations = protocol.scenes.situations
    script = Scripted(
        {name: situation.plants for name, situation in situations.items()},
        {name: tuple(attack.turn for attack in situation.attacks) for name, situation in situations.items()},
    )
    plan = make_plan(protocol, tree, PLAYERS, protocol.suite.judges)
    chat = FakeChat(script)
    asyncio.run(run_plan(protocol, plan, tree, chat.ask))
    assert chat.stats.asked == plan.calls() == 2 * 3 * CARDS * (24 + 24 + 2 * 3)
    return protocol, tree, load_board(tree, "pingpong-long", "en", prompts=all_suites(prompts)), script


Played = tuple[Protocol, ResultsTree, LoadedBoard, Scripted]


@pytest.mark.long
def test_every_figure_equals_the_scripted_truth(played: Played) -> None:
    protocol, _, loaded, script = played
    rows = {row.player: row for row in loaded.board.rows}
    steady, forgetful = rows[STEADY].long_talk, rows[FORGETFUL].long_talk
    assert steady is not None
    assert forgetful is not None
    plants = {name: situation.plants for name, situation in protocol.scenes.situations.items()}
    kept = [[plant.ask < LAST_ASKS for plant in plants[name]] for name in SITUATIONS[1:]]
    assert (steady.recall.asked, steady.recall.recalled, steady.recall.share) == (15 * CARDS, 15 * CARDS, 1.0)
    assert forgetful.recall.recalled == CARDS * sum(map(sum, kept))
    assert forgetful.recall.forgotten == CARDS * (15 - sum(map(sum, kept)))
    assert forgetful.recall.share == round(sum(sum(k) / 5 for k in kept) / 3, 6)
    slope = float(np.polyfit(range(1, 25), [fluency(turn) for turn in range(1, 25)], 1)[0])
    slopes = {name: found.per_turn for name, found in steady.slopes.items()}
    assert slopes == {"in_character": 0.0, "entertaining": 0.0, "fluency": round(slope, 6)}
    firsts = [script.attacks[name][0] for name in SITUATIONS]
    assert (steady.breaks.broken, steady.breaks.first, steady.breaks.turns_held) == (0, None, 24.0)
    assert (forgetful.breaks.broken, forgetful.breaks.conversations) == (3 * CARDS, 3 * CARDS)
    assert forgetful.breaks.first == round(sum(firsts) / 3, 6)
    assert forgetful.breaks.turns_held == round(sum(firsts) / 3 - 1, 6)
    attacks = CARDS * sum(map(len, script.attacks.values()))
    assert (steady.recovery.held, steady.recovery.attacks, steady.recovery.change_after) == (
        attacks,
        7 * CARDS,
        0.0,
    )
    assert (forgetful.recovery.held, forgetful.recovery.recovered) == (0, attacks)
    assert forgetful.recovery.turns_to_recover == 2.0
    assert forgetful.recovery.change_after == round((1 + 5 + 5) / 3 - 5, 6)


@pytest.mark.long
def test_flaws_and_taking_over_are_counted_by_turn(played: Played) -> None:
    _, tree, loaded, _ = played
    rows = {row.player: row for row in loaded.board.rows}
    steady, forgetful = rows[STEADY].flaws, rows[FORGETFUL].flaws
    assert steady is not None
    assert forgetful is not None
    assert steady.per_turn == 0.0
    assert forgetful.per_turn == forgetful.kinds["speaks_for_user"] == 0.25  # every fourth answer
    assert forgetful.turns == 3 * 24 * 2 * CARDS
    table = tidy_table(tree, "pingpong-long", ["en"], "flaws")
    assert table["count"].sum() == 3 * 6 * 2 * CARDS
    assert len(table) == 2 * 3 * 24 * 2 * 8 * CARDS
    events = tidy_table(tree, "pingpong-long", ["en"], "events")
    assert (events["event"] == "attack").sum() == 2 * 7 * CARDS


def test_repetition_by_turn_is_the_same_on_the_board_and_in_the_analysis(played: Played) -> None:
    _, tree, loaded, _ = played
    talk = next(row for row in loaded.board.rows if row.player == STEADY).long_talk
    assert talk is not None
    shares = {entry.turn: entry.share for entry in talk.repetition}
    # "answer N of this evening spoken softly" has four runs of four words; two do not hold the number
    assert shares[2] == shares[3] == 2 / 4
    talks = [record for player in PLAYERS for record in tree.conversations("pingpong-long", "en", player)]
    made = report(Material(frames=loaded.frames, turns=turns_of(talks)), ["repetition_by_turn", "recall"])
    found = {
        row["turn"]: row["share"] for row in made.rows_of("repetition_by_turn") if row["player"] == STEADY
    }
    assert found == shares
    whole = next(r for r in made.rows_of("recall") if (r["player"], r["distance"]) == (STEADY, None))
    assert whole["recalled"] == 15 * CARDS


def test_every_gap_of_the_analyses_has_a_reason(played: Played) -> None:
    made = report(
        Material(frames=played[2].frames, turns=turns_of([])), ["recall", "slopes", "breaks", "flaws"]
    )
    for table in made.analyses:
        assert table.rows
        for row in table.rows:
            gaps = {name for name, cell in row.items() if cell is None} - {"low", "high", "reason"}
            assert not gaps or row["reason"]


def test_a_slope_of_a_long_conversation_is_told_by_ten_turns(played: Played) -> None:
    """A point in 300 turns is 0.003 by turn."""
    frames, board = played[2].frames, played[2].board
    talk = next(row.long_talk for row in board.rows if row.player == STEADY)
    assert talk is not None
    made = report(Material(frames=frames, turns=turns_of([])), ["slopes"]).rows_of("slopes")
    told = {row["criterion"]: row["per_ten_turns"] for row in made if row["player"] == STEADY}
    assert told == {name: round(10 * slope.per_turn, 6) for name, slope in talk.slopes.items()}
    slope = {"in_character": Slope(per_turn=-0.00333, low=-0.0061, high=0.0004)}
    slope |= {"entertaining": Slope(per_turn=0, low=None, high=None)}
    rows = [
        row.model_copy(update={"long_talk": talk.model_copy(update={"slopes": slope})}) for row in board.rows
    ]
    text = figures_text(board.model_copy(update={"rows": rows}))
    assert "-0.033 (-0.061 to +0.004)         0.000        –" in text


def test_board_prints_and_stores_the_figures(played: Played) -> None:
    board = played[2].board
    rows = {row["player"]: row for row in json.loads(to_json(board))["rows"]}
    assert rows[STEADY]["long_talk"]["recall"]["share"] == 1.0
    text = figures_text(board)
    assert "Recall" in text
    assert "100.0%" in text
    assert f"{7 * CARDS} of {7 * CARDS}" in text
    assert "Speaks for user" in text


def test_a_window_holds_the_card_a_summary_and_its_own_turns_only(played: Played) -> None:
    protocol, tree, _, script = played
    record = next(tree.conversations("pingpong-long", "en", STEADY))
    judgement = tree.judgement(record, protocol.suite.judges[0])
    assert judgement is not None
    assert judgement.mode is not None
    assert (judgement.mode.window, len(judgement.raw), len(judgement.turns)) == (8, 3, 24)
    assert judgement.turns[7].detail == {"summary": "They talked up to turn 8."}
    assert reread(judgement, record) == judgement
    asked: list[str] = []

    async def ask(request: ChatRequest) -> Reply:
        asked.append(request.messages[-1].content)
        return await script(request)

    asyncio.run(protocol.judge(record, protocol.suite.judges[0], ask))
    card = protocol.scenes.cards[record.character].system_prompt.strip().splitlines()[0]
    assert all(card in prompt for prompt in asked)
    assert "Your summary of the turns before turn 17:\n| They talked up to turn 16." in asked[2]
    assert "Turn 17:" in asked[2]
    assert "Turn 16:" not in asked[2]
    assert max(map(len, asked)) < 1.1 * min(map(len, asked))


def test_the_page_of_a_conversation_marks_the_turns_of_its_script(played: Played) -> None:
    protocol, tree, _, script = played
    record = next(tree.conversations("pingpong-long", "en", FORGETFUL))
    judgement = tree.judgement(record, protocol.suite.judges[0])
    assert judgement is not None
    talk = talk_of(record, [judgement])
    due: dict[int, list[str]] = {}
    for plant in record.scene.plants:
        due.setdefault(plant.turn, []).append("fact planted")
        due.setdefault(plant.ask, []).append("fact asked for: forgotten")  # the first situation is forgotten
    for turn in script.attacks[record.situation]:
        due.setdefault(turn, []).append("attack")
    assert {turn.number: [*turn.marks] for turn in talk.turns if turn.marks} == due
    assert talk.window == 8


def test_the_interrogator_learns_of_facts_and_attacks_in_their_turns_only(played: Played) -> None:
    protocol, *_ = played
    assert isinstance(protocol, PingPongLong)
    cell = protocol.cells(STEADY)[0]
    talk: list[Message] = []
    for turn in range(1, 25):
        prompt = protocol.asking(cell, talk)
        plants, attacks = protocol.scenes.situations[cell.situation].within(24)
        for plant in plants:
            assert (plant.fact in prompt) == (turn == plant.turn)
            assert (plant.question in prompt) == (turn == plant.ask)
        for attack in attacks:
            assert (attack.text in prompt) == (turn == attack.turn)
        talk += [Message(role="user", content="x"), Message(role="assistant", content="y")]


@pytest.mark.parametrize("language", ["en", "ru"])
def test_costs_stay_near_those_of_pingpong_3(language: str, tmp_path: Path) -> None:
    costs = {}
    for name in ("pingpong-3", "pingpong-long"):
        suite = load_suite(ROOT / "prompts", name)
        protocol = protocol_for(suite, language, load_catalog(ROOT / "models.toml"))
        plan = make_plan(protocol, ResultsTree(tmp_path), ["gpt-4.1-mini"], protocol.suite.judges)
        roles = estimate(plan, protocol)
        judges = sum(float(role.cost or 0) for role in roles if role.role == "judge")
        costs[name] = (sum(float(role.cost or 0) for role in roles), judges)
    assert costs["pingpong-long"][0] <= 1.5 * costs["pingpong-3"][0]
    assert costs["pingpong-long"][1] <= 1.2 * costs["pingpong-3"][1]


@pytest.mark.parametrize(
    ("old", "new", "fault", "line"),
    [
        ("ask = 13, fact", "ask = 2, fact", "asked in turn 2 but planted in turn 2", 9),
        ("turn = 4, ask = 20", "turn = 4, ask = 30", "needs turn 30, but there are only 24", 8),
        ("accept = ['\\bostby\\b']", "accept = ['(a+)+']", "exponential time", 11),
        ("accept = ['\\bostby\\b']", "aceept = ['x']", "accept", 11),
        ("{ turn = 16, text", "{ turn = 40, text", "attack 2 needs turn 40", 15),
    ],
)
def test_a_faulty_script_is_an_error_with_its_line(
    old: str, new: str, fault: str, line: int, tmp_path: Path
) -> None:
    prompts = copied(tmp_path)
    file = prompts / "situations" / "en" / "long-evening.toml"
    edit(file, old, new)
    with pytest.raises(CatalogError) as error:
        long_protocol(prompts)
    assert fault in error.value.line()
    assert f"{file}:{line}:" in error.value.line()


def test_the_languages_have_the_same_scripts() -> None:
    english, russian = (
        [
            ([(p.turn, p.ask) for p in s.plants], [a.turn for a in s.attacks], s.tags)
            for s in long_protocol(ROOT / "prompts", language).scenes.situations.values()
        ]
        for language in ("en", "ru")
    )
    assert english == russian
    assert all(len(plants) == 5 and len(attacks) in (2, 3) for plants, attacks, _ in english)
