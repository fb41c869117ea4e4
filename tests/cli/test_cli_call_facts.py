"""What the records of calls say beside the scores, wherever it has to be seen."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from bench.records import Call, Cell, Conversation, Role, Scene, Usage, sealed
from bench.results.facts import CallFacts, Tally, count_calls, standing_out
from tests.cli.conftest import Bench
from tests.scripted_server import Answer, ScriptedServer, Seen, completion, plausible
from tests.tiny import Tiny, edit

ROLES: tuple[Role, ...] = ("player", "interrogator")
CELL = Cell(
    suite="tiny",
    version="1",
    protocol="pingpong_v2",
    language="en",
    player="bard",
    character="a",
    situation="b",
)


@dataclass(frozen=True)
class Kind:
    """A way in which calls can stand out."""

    model: str
    """Whose replies do, by the provider's id."""
    role: Role
    changes: dict[str, Any]
    """What the provider's reply says, at every second request."""
    text: str | None = None
    """None: a plausible text."""
    counts: tuple[str, ...] = ()
    code: str = ""


KINDS = {
    "answers cut": Kind("bard-1", "player", {"finish_reason": "length"}, counts=("cut",), code="answers-cut"),
    "verdicts cut": Kind(
        "strict-1", "judge", {"finish_reason": "length"}, counts=("cut",), code="answers-cut"
    ),
    "empty answers": Kind(
        "bard-1", "player", {}, text="", counts=("empty", "repeated"), code="empty-replies"
    ),
    "empty verdicts": Kind("strict-1", "judge", {}, text="", counts=("empty",), code="repeated-calls"),
    "empty questions": Kind("asker-1", "interrogator", {}, text="", counts=("empty",), code="repeated-calls"),
    "unknown endings": Kind(
        "bard-1",
        "player",
        {"finish_reason": "mercury"},
        counts=("unknown_endings",),
        code="unknown-endings",
    ),
    "reasoning": Kind(
        "bard-1", "player", {"reasoning_content": "Hm."}, counts=("reasoned",), code="reasoning"
    ),
    "reasoning tokens": Kind(
        "bard-1",
        "player",
        {
            "usage": {
                "prompt_tokens": 90,
                "completion_tokens": 60,
                "completion_tokens_details": {"reasoning_tokens": 40},
            }
        },
        counts=("reasoning_tokens",),
        code="reasoning",
    ),
    "another player": Kind("bard-1", "player", {"model": "bard-2"}, code="served-models"),
    "another judge": Kind("strict-1", "judge", {"model": "strict-2"}, code="served-models"),
}


TOGETHER = (
    ("answers cut", "verdicts cut"),
    ("empty answers", "empty verdicts"),
    ("unknown endings", "another judge"),
    ("empty questions",),
    ("reasoning",),
    ("reasoning tokens",),
    ("another player",),
)
"""Kinds of different roles, which one run shows."""


def answers(server: ScriptedServer, *kinds: Kind) -> None:
    """Have every second request to the model of each kind answered in that way."""
    asked: Counter[str] = Counter()
    by_model = {kind.model: kind for kind in kinds}

    def answer(seen: Seen) -> Answer:
        model = seen.body["model"]
        asked[model] += 1
        if model not in by_model or asked[model] % 2:
            return plausible(seen)
        kind = by_model[model]
        usual = plausible(seen).body
        assert isinstance(usual, dict)
        text = usual["choices"][0]["message"]["content"] if kind.text is None else kind.text
        return completion(text, seen, **kind.changes)

    server.answer = answer


def test_every_kind_is_in_a_run() -> None:
    assert sorted(name for names in TOGETHER for name in names) == sorted(KINDS)


@pytest.mark.parametrize("names", TOGETHER, ids=" and ".join)
def test_what_stands_out_is_counted_everywhere(
    bench: Bench, tiny: Tiny, server: ScriptedServer, names: tuple[str, ...]
) -> None:
    kinds = [KINDS[name] for name in names]
    answers(server, *kinds)
    edit(tiny.models, "max_concurrent = 4", "max_concurrent = 1")  # else chance says whose reply is second
    ended = bench("run", "tiny", *tiny.options())
    assert ended.status == 0
    (row,) = json.loads(bench("board", "tiny", "--write", "--format", "json", *tiny.options()).out)["rows"]
    board = bench("board", "tiny", *tiny.options()).out
    audit = json.loads(bench("audit", "--format", "json", *tiny.options()).out)["findings"]
    for kind in kinds:
        (facts,) = [facts for facts in row["calls"] if facts["role"] == kind.role]
        assert {count for count in kind.counts if facts[count] > 1} == set(kind.counts)
        assert (len(facts.get("served_models", {})) == 2) == (kind.code == "served-models")
        line = CallFacts.model_validate(facts).line("Bard").removeprefix("Bard")
        assert f"bard{line}" in ended.out
        assert f"Bard{line}" in board
    assert {kind.code for kind in kinds} <= {finding["code"] for finding in audit}
    calls = json.loads(
        bench("analyse", "tiny", "-l", "en", "--only", "calls", "--format", "json", *tiny.options()).out
    )
    assert [r["role"] for r in calls["analyses"][0]["rows"]] == [f["role"] for f in row["calls"]]


def test_tokens_of_reasoning_are_the_mean_of_the_answers_that_count_them() -> None:
    """Worked by hand: (100 + 300 + 0) / 3. Judges and answers without a count are left out."""
    tally: Tally = {}
    for spent in (100, 300, 0, None):
        usage = Usage(prompt_tokens=9, completion_tokens=400, reasoning_tokens=spent)
        count_calls(talk_with(usage), tally)
    (facts,) = standing_out(tally).values()
    assert facts.reasoning_tokens == 133.3
    assert "133 tokens of reasoning an answer" in facts.line("Bard")


def talk_with(usage: Usage) -> Conversation:
    """A conversation with one call of the player and one of the interrogator."""
    calls = [
        Call(role=role, turn=1, provider="p", model="m", parameters={}, outcome="ok", usage=usage)
        for role in ROLES[:2]
    ]
    scene = Scene(character_name="A", summary="", card="", situation_title="", situation="")
    return sealed(
        Conversation(
            **CELL.plain(),
            scene=scene,
            fingerprint="0" * 64,
            status="complete",
            messages=(),
            calls=tuple(calls),
        )
    )


def test_calls_that_went_well_are_not_mentioned(bench: Bench, tiny: Tiny) -> None:
    bench("run", "tiny", *tiny.options())
    (row,) = json.loads(bench("board", "tiny", "--write", "--format", "json", *tiny.options()).out)["rows"]
    assert "calls" not in row
    assert bench("audit", "--strict", *tiny.options()).status == 0


def test_a_demonstration_gets_notes(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    answers(server, KINDS["answers cut"])
    tiny.suite_file.write_text(f"demonstration = true\n{tiny.suite_file.read_text(encoding='utf-8')}")
    bench("run", "tiny", *tiny.options())
    bench("board", "tiny", "--write", *tiny.options())
    findings = json.loads(bench("audit", "--format", "json", *tiny.options()).out)["findings"]
    assert [(f["severity"], f["code"]) for f in findings] == [("note", "answers-cut")]


def test_a_judge_that_served_each_player_by_another_model_stands_out() -> None:
    tally: Tally = {
        (player, "judge", "strict"): Counter({("answers", ""): 3, ("served_models", f"strict-{n}"): 3})
        for n, player in enumerate(("actor", "bard"))
    }
    facts = standing_out(tally)
    assert [list(fact.served_models.items()) for fact in facts.values()] == [
        [("strict-0", 3)],
        [("strict-1", 3)],
    ]
