"""Players that behave by script: every figure of boards and analyses equals what the script says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from statsmodels.stats.proportion import proportion_confint

from bench.catalog import load_catalog
from bench.protocols.card_probes import CardProbes, Probe
from bench.records import Cell
from bench.suites import load_suite
from tests.cli.conftest import Bench
from tests.scripted_server import Answer, ScriptedServer, Seen, completion, plausible, verdict
from tests.tiny import MODELS, ROOT, Tiny, make_tiny

CATALOG = MODELS.replace(
    "[models.lenient]", "[models.smollm2-135m]"
)  # the suite's own player has to be there
EVASIVE = {"en": "Well. Well, well.", "ru": "Гм. Так-так."}


@contextmanager
def served(answer: Callable[[Seen], Answer]) -> Iterator[str]:
    """The URL of a server that answers by script."""
    with ScriptedServer(answer).in_thread() as server:
        yield server.url


# Card probes


@dataclass(frozen=True)
class Behaviour:
    """How a scripted player behaves."""

    facts: int
    """Facts of each card that it knows; it states the next one wrongly, and evades the rest."""
    keeps: bool
    tells: bool
    """What it does with a secret before and after its condition is met."""
    leaves_role: frozenset[str]
    """Cards in which it leaves its role."""
    speaks_for_user: frozenset[str]
    """Cards in which it writes the user's side."""

    def verdict(self, cell: Cell, probe: Probe, number: int) -> str:
        """The true verdict on a probe, the ``number``-th of its kind on the card."""
        if probe.kind == "fact":
            return "pass" if number < self.facts else "fail" if number == self.facts else "unclear"
        passes = {
            "secret": self.keeps if probe.expects == "kept" else self.tells,
            "identity": cell.character not in self.leaves_role,
            "agency": cell.character not in self.speaks_for_user,
            "unknown": True,
            "language": cell.character != "baba-yaga",
        }
        return "pass" if passes[probe.kind] else "fail"


PLAYERS = {
    "bard": Behaviour(4, True, True, frozenset({"baba-yaga"}), frozenset()),
    "actor": Behaviour(1, False, True, frozenset(), frozenset({"baba-yaga", "belikov", "pip-the-pawn"})),
    "smollm2-135m": Behaviour(0, True, False, frozenset({"rys", "tove-adeyemi"}), frozenset({"rys"})),
}


def truth(protocol: CardProbes, player: str) -> dict[tuple[str, str], str]:
    """The verdict that every probe deserves, by character and probe."""
    seen: dict[tuple[str, str], int] = {}
    verdicts = {}
    for cell in protocol.cells(player):
        probe = protocol.item(cell)
        number = seen.get((cell.character, probe.kind), 0)
        seen[cell.character, probe.kind] = number + 1
        verdicts[cell.character, cell.situation] = PLAYERS[player].verdict(cell, probe, number)
    return verdicts


def script(language: str, models: Path) -> Callable[[Seen], Answer]:
    """Answers each probe as :func:`truth` says, and earlier messages of a probe with "Yes."."""
    protocol = CardProbes(load_suite(ROOT / "prompts", "card-probes"), language, load_catalog(models))
    replies: dict[tuple[str, str, str], str] = {}
    for player in PLAYERS:
        verdicts = truth(protocol, player)
        for cell in protocol.cells(player):
            probe, card = protocol.item(cell), protocol._player_prompt(cell)
            model = protocol.catalog.model(player).model
            due = verdicts[cell.character, cell.situation]
            replies |= {(model, card, message): "Yes." for message in probe.messages[:-1]}
            said = {"pass": probe.right[0], "fail": probe.wrong[0], "unclear": EVASIVE[language]}
            replies[model, card, probe.messages[-1]] = said[due]

    def answer(seen: Seen) -> Answer:
        first, *_, last = seen.body["messages"]
        return completion(replies[seen.body["model"], first["content"], last["content"]], seen)

    return answer


@pytest.fixture(scope="module", params=["en", "ru"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_rate_of_probes_is_the_scripted_one(bench: Bench, tmp_path: Path, language: str) -> None:
    """Intervals are those of statsmodels: proportion_confint(method="wilson")."""
    models = tmp_path / "models.toml"
    models.write_text(CATALOG.format(url="http://127.0.0.1:9/v1"), encoding="utf-8")
    answer = script(language, models)
    places = ["--results", str(tmp_path / "results"), "--prompts", str(ROOT / "prompts")]
    places += ["--models", str(models), "--cache", str(tmp_path / "cache")]
    of = PLAYERS if language == "en" else ("actor",)  # what a language changes, one player shows
    players = [word for player in of for word in ("-p", player)]
    with served(answer) as url:
        models.write_text(CATALOG.format(url=url), encoding="utf-8")
        ran = bench("run", "card-probes", "-l", language, *players, *places)
    assert ran.status == 0, ran.err
    shown = json.loads(bench("board", "card-probes", "-l", language, "--format", "json", *places).out)
    rows = {row["player"]: row for row in shown["rows"]}
    protocol = CardProbes(load_suite(ROOT / "prompts", "card-probes"), language, load_catalog(models))
    unclear = 0
    for player in of:
        verdicts = truth(protocol, player)
        check(rows[player], list(verdicts.values()))
        for kind, found in rows[player]["probes"]["kinds"].items():
            mine = [
                verdicts[cell.character, cell.situation]
                for cell in protocol.cells(player)
                if protocol.item(cell).kind == kind
            ]
            check({"pass_rate": found["rate"], "pass_rate_ci": found["ci"], **found}, mine)
            assert (found["passed"], found["failed"]) == (mine.count("pass"), mine.count("fail"))
            assert rows[player]["rates"][kind] == found["rate"]
        unclear += list(verdicts.values()).count("unclear")
    assert f"(0 failed, {unclear} unclear)" in ran.out
    assert "nothing new to run" in bench("run", "card-probes", "-l", language, *players, *places).out


def check(found: Mapping[str, Any], verdicts: list[str]) -> None:
    """Whether a rate, its interval and the number of unclear answers follow from the verdicts."""
    passed, decided = verdicts.count("pass"), len(verdicts) - verdicts.count("unclear")
    assert found["unclear"] == verdicts.count("unclear")
    assert found["pass_rate"] == pytest.approx(passed / decided, abs=1e-6)
    interval = proportion_confint(passed, decided, alpha=0.05, method="wilson")
    assert found["pass_rate_ci"] == pytest.approx(interval, abs=1e-6)


# Conversations

FIRST = "The lamp is lit and the door stands open"
"""Nine words, six runs: said by every character in turn 1."""
LEAK = "User: привет! I stand here, a testament to patience"
"""Turn 3: nine words, one in Cyrillic letters, spoken for the user, with a stock phrase, cut off."""
OUT_OF_ROLE = "As a language model I cannot do that"


def spoken(seen: Seen) -> Answer:
    """The player's turns: FIRST, then the same again or for Bruno OUT_OF_ROLE, then LEAK."""
    messages = seen.body["messages"]
    turn = sum(message["role"] == "user" for message in messages)
    if turn == 2 and "Bruno" in messages[0]["content"]:
        return completion(OUT_OF_ROLE, seen)
    if turn == 3:
        return completion(LEAK, seen, finish_reason="length")
    return completion(FIRST, seen)


def judged(seen: Seen) -> Answer:
    """Scores 4, 3, 5 in every turn; a refusal wherever the player is out of its role."""
    text = str(seen.body["messages"][-1]["content"])
    parts = text.split("Turn ")[1:]
    made = verdict("", 0, turns=len(parts))
    for part, entry in zip(parts, made["scores"], strict=True):
        entry |= {"in_character_score": 4, "entertaining_score": 3, "fluency_score": 5}
        entry["is_refusal"] = OUT_OF_ROLE in part
    return completion(json.dumps(made), seen)


@pytest.fixture
def played(bench: Bench, tmp_path: Path) -> Tiny:
    """Anna and Bruno in situations of two and three turns."""
    roles = {"bard-1": spoken, "strict-1": judged}
    with served(lambda seen: roles.get(seen.body["model"], plausible)(seen)) as url:
        tiny = make_tiny(tmp_path / "scripted", url)
        ended = bench("run", "tiny", *tiny.options())
    assert ended.status == 0, ended.err
    return tiny


def analysed(bench: Bench, tiny: Tiny, name: str) -> list[dict[str, Any]]:
    made = json.loads(
        bench("analyse", "tiny", "-l", "en", "--only", name, "--format", "json", *tiny.options()).out
    )
    rows: list[dict[str, Any]] = made["analyses"][0]["rows"]
    return rows


def test_every_measure_of_conversations_is_the_scripted_one(bench: Bench, played: Tiny) -> None:
    """Anna: FIRST twice, then LEAK. Bruno: FIRST, OUT_OF_ROLE, then LEAK. Each in 2 and in 3 turns.

    FIRST has 9 words and 6 runs, OUT_OF_ROLE 8 words and 5 runs, LEAK 9 words and 6 runs.
    """
    [row] = analysed(bench, played, "measures")
    expected = {
        "words": (18 + 27 + 17 + 26) / 4,
        "repeated_runs": (6 / 12 + 6 / 18) / 4,
        "repeated_earlier": (6 / 6 + 6 / 12) / 4,
        "repeated_answers": (1 / 2 + 1 / 3) / 4,
        "stock_answers": 2 * (1 / 3) / 4,
        "stock_per_1000": (1000 / 27 + 1000 / 26) / 4,
        "other_script": (1 / 27 + 1 / 26) / 4,
        "speaks_for_user": 2 * (1 / 3) / 4,
        "truncated": 2 * (1 / 3) / 4,
        "first_answer_characters": len(FIRST),
        "last_answer_characters": (len(FIRST) + len(LEAK) + len(OUT_OF_ROLE) + len(LEAK)) / 4,
        # of anna.hello and bruno.storm 6 of 6 runs are shared, of anna.storm and bruno.hello 6 of 11
        "across": (6 / 6 + 6 / 11) / 2,
    }
    assert row["conversations"] == 4
    assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-6)


def test_lengths_by_turn_and_stock_phrases_are_the_scripted_ones(bench: Bench, played: Tiny) -> None:
    first, second, third = analysed(bench, played, "lengths")
    assert (first["conversations"], first["characters"]) == (4, len(FIRST))
    assert second["characters"] == pytest.approx((len(FIRST) + len(OUT_OF_ROLE)) / 2)
    assert (third["conversations"], third["characters"], third["change"]) == (
        2,
        len(LEAK),
        len(LEAK) - len(FIRST),
    )
    assert analysed(bench, played, "stock_phrases") == [
        {"player": "bard", "phrase": "a testament to", "times": 2}
    ]


def test_the_export_has_the_scripted_measures_of_each_conversation(bench: Bench, played: Tiny) -> None:
    words = ["export", "tiny", "--table", "conversations", "--format", "jsonl", *played.options()]
    rows = {
        (row["character"], row["situation"]): row for row in map(json.loads, bench(*words).out.splitlines())
    }
    assert rows["anna", "hello"]["repeated_answers"] == 0.5
    assert rows["bruno", "hello"]["repeated_answers"] == 0
    assert rows["bruno", "hello"]["truncated"] == 0
    assert rows["anna", "storm"]["truncated"] == pytest.approx(1 / 3)


def test_leaving_the_role_at_known_turns_is_the_refusal_ratio(bench: Bench, played: Tiny) -> None:
    """Bruno leaves his role in turn 2 of both situations: half of the conversations."""
    made = json.loads(bench("board", "tiny", "-l", "en", "--format", "json", *played.options()).out)
    [row] = made["rows"]
    assert row["refusal_ratio"] == 0.5
    assert row["criteria"] == {"in_character": 4.0, "entertaining": 3.0, "fluency": 5.0}
    assert row["conversations_scored"] == 2
