"""The protocol pingpong_v1: one model asks and judges, and its verdicts are read out of the conversation."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bench.boards.loading import load_board
from bench.errors import CatalogError
from bench.protocols import reread
from bench.protocols.calls import ASKS
from bench.protocols.pingpong_v1 import reply_schema
from bench.records import Conversation, Judgement, digest_of, messages_sha256, sealed
from bench.run.plan import estimate, make_plan
from bench.run.runner import run_plan
from tests.other_benches import Other, make_v1
from tests.scripted_server import rating
from tests.tiny import FakeChat, Script, bad, edit


@pytest.fixture
def tiny(tmp_path: Path) -> Other:
    return make_v1(tmp_path)


def talk(tiny: Other, script: Script, situation: str = "hello") -> Conversation:
    cell = next(c for c in tiny.made().cells("bard") if c.situation == situation)
    return asyncio.run(tiny.made().converse(cell, script))


def judged(tiny: Other, conversation: Conversation) -> Judgement:
    script = Script()
    found = asyncio.run(tiny.made().judge(conversation, "asker", script))
    assert script.asked == []  # it takes no call
    return found


def said(text: str = "Go on?", refusal: bool = False, **scores: int) -> str:
    """A rating and the next message."""
    given = {f"{name}_score": score for name, score in scores.items()}
    return json.dumps(rating(0) | given | {"is_refusal": refusal, "next_utterance": text})


OPENING = '{"next_utterance": "One?"}'

# --- a conversation --------------------------------------------------------------------------------------


def test_n_turns_take_n_plus_one_calls_of_the_interrogator(tiny: Other) -> None:
    script = Script({"interrogator": [OPENING, said("Two?"), said("Three?"), None]})
    record = talk(tiny, script, "storm")
    assert record.status == "complete"
    assert [m.content for m in record.messages if m.role == "user"] == ["One?", "Two?", "Three?"]
    assert [(c.role, c.turn) for c in record.calls] == [
        ("interrogator", 1),
        ("player", 1),
        ("interrogator", 2),
        ("player", 2),
        ("interrogator", 3),
        ("player", 3),
        ("interrogator", 4),
    ]
    protocol, cell = tiny.made(), record.cell()
    assert protocol.talk_calls(cell) == len(record.calls)
    assert protocol.judge_calls() == 0


def test_the_interrogator_sees_card_situation_criteria_and_all_that_was_said(tiny: Other) -> None:
    script = Script({"player": ["FIRST ANSWER", "SECOND ANSWER"]})
    talk(tiny, script)
    opening, middle, last = script.prompts("interrogator")
    for prompt in (opening, middle, last):
        assert "SECRET CARD of Anna" in prompt
        assert "SITUATION hello" in prompt
    assert "entertaining" not in opening
    assert "number 1, and no other" in middle
    assert "FIRST ANSWER" in middle
    assert "number 2, and no other" in last
    assert "SECOND ANSWER" in last
    assert "next_utterance" not in last


def test_the_player_sees_the_card_only(tiny: Other) -> None:
    script = Script()
    talk(tiny, script)
    system = script.of("player")[0].messages[0]
    assert system.role == "system"
    assert "SECRET CARD of Anna" in system.content
    assert "SITUATION" not in system.content


def test_every_reply_of_the_interrogator_is_kept_as_it_came(tiny: Other) -> None:
    record = talk(tiny, Script({"interrogator": [OPENING, said("Two?")]}))
    raws = [call.raw for call in record.calls if call.role == "interrogator"]
    assert raws[:2] == [OPENING, said("Two?")]
    assert all(raws)


def test_a_refusal_ends_the_conversation(tiny: Other) -> None:
    record = talk(tiny, Script({"interrogator": [OPENING, said("Never sent.", refusal=True)]}), "storm")
    assert record.status == "complete"
    assert len(record.messages) == 2
    verdict = judged(tiny, record)
    assert [turn.is_refusal for turn in verdict.turns] == [True]


def test_a_reply_that_cannot_be_used_is_asked_for_again_with_the_fault_named(tiny: Other) -> None:
    script = Script({"interrogator": [OPENING, said(fluency=11), "no JSON", said("Two?")]})
    record = talk(tiny, script)
    assert record.status == "complete"
    assert "must be an integer from 1 to 10" in script.prompts("interrogator")[2]
    assert [(c.turn, c.outcome) for c in record.calls if c.role == "interrogator"][:4] == [
        (1, "ok"),
        (2, "ok"),
        (2, "ok"),
        (2, "ok"),
    ]
    assert judged(tiny, record).turns[0].scores == json_scores(said())


def json_scores(text: str) -> dict[str, int]:
    return {k.removesuffix("_score"): v for k, v in json.loads(text).items() if k.endswith("_score")}


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (json.dumps(rating(0)), "needs one"),
        (json.dumps(rating(0) | {"next_utterance": "  "}), "blank"),
        (OPENING, "must hold one JSON object"),
        (said(in_character=0), "from 1 to 10"),
        (json.dumps({k: v for k, v in json.loads(said()).items() if k != "fluency_score"}), "fluency_score"),
        (said().replace("false", '"perhaps"'), "must be true or false"),
    ],
)
def test_after_three_such_replies_the_conversation_is_a_failure(tiny: Other, reply: str, fault: str) -> None:
    record = talk(tiny, Script({"interrogator": [OPENING, *[reply] * ASKS]}))
    assert (record.status, len(record.calls)) == ("failed", 2 + ASKS)
    assert record.failure is not None
    assert (record.failure.role, record.failure.turn, record.failure.outcome) == (
        "interrogator",
        2,
        "parse_error",
    )
    assert fault in record.failure.reason
    assert record.failure.raw == reply


@pytest.mark.parametrize("outcome", ["refused", "content_filter", "transport", "rate_limited"])
def test_a_call_that_fails_ends_the_conversation(tiny: Other, outcome: Any) -> None:
    record = talk(tiny, Script({"interrogator": [OPENING, bad(outcome, detail="why")]}))
    assert record.failure is not None
    assert (record.failure.outcome, record.failure.reason) == (outcome, "why")
    player = talk(tiny, Script({"player": [bad(outcome)]}))
    assert player.failure is not None
    assert (player.failure.role, player.failure.turn) == ("player", 1)


def test_an_empty_reply_is_asked_for_again(tiny: Other) -> None:
    script = Script({"interrogator": [bad("empty"), OPENING], "player": [bad("empty"), "Here."]})
    record = talk(tiny, script)
    assert record.status == "complete"
    assert record.messages[1].content == "Here."
    assert "It was empty." in script.prompts("interrogator")[1]


# --- a judgement -----------------------------------------------------------------------------------------


def test_the_verdicts_are_those_of_the_conversation(tiny: Other) -> None:
    record = talk(tiny, Script({"interrogator": [OPENING, said(in_character=3), None]}))
    found = judged(tiny, record)
    assert (found.status, found.judge, found.raw, found.calls) == ("ok", "asker", (), ())
    assert len(found.turns) == tiny.made().verdicts_due(record) == 2
    assert found.turns[0].scores["in_character"] == 3
    assert found.turns[0].reasons["fluency"] == "'...' so I give 1."
    assert found.conversation_sha256 == messages_sha256(record.messages)
    assert found.digest == digest_of(found)


def test_a_rating_read_anew_is_the_same(tiny: Other) -> None:
    record = talk(tiny, Script())
    found = judged(tiny, record)
    assert reread(found, record) == found


def test_an_edited_rating_is_told_from_the_conversations(tiny: Other) -> None:
    record = talk(tiny, Script())
    found = judged(tiny, record)
    better = found.turns[0].model_copy(update={"scores": dict.fromkeys(found.turns[0].scores, 10)})
    edited = sealed(found.model_copy(update={"turns": (better, *found.turns[1:])}))
    assert tiny.made().reread(edited, record) == found != edited


def test_a_conversation_whose_replies_were_lost_fails_its_judgement(tiny: Other) -> None:
    record = talk(tiny, Script())
    found = judged(tiny, record)
    bare = record.model_copy(update={"calls": record.calls[:4]})
    again = tiny.made().reread(found, bare)
    assert (again.status, again.turns) == ("failed", ())
    assert again.failure is not None
    assert again.failure.turn == 2


# --- the suite -------------------------------------------------------------------------------------------


def test_the_judge_must_be_the_interrogator(tiny: Other) -> None:
    edit(tiny.suite_file, '[judge]\nmodels = ["asker"]', '[judge]\nmodels = ["strict"]')
    with pytest.raises(CatalogError, match=r"one model asks and judges.*'asker'.*'strict'"):
        tiny.made()


def test_sampling_of_the_judge_would_never_be_used(tiny: Other) -> None:
    edit(
        tiny.suite_file,
        '[judge]\nmodels = ["asker"]',
        '[judge]\nmodels = ["asker"]\nsampling = { temperature = 0 }',
    )
    with pytest.raises(CatalogError, match="sampling"):
        tiny.made()


def test_no_other_judge_can_be_named_for_a_run(tiny: Other) -> None:
    tiny.made().check_models(["bard"], ["asker"])
    with pytest.raises(CatalogError, match="'strict' cannot judge"):
        tiny.made().check_models(["bard"], ["strict"])


def test_fingerprints_change_with_what_is_asked(tiny: Other) -> None:
    def prints() -> tuple[str, str]:
        protocol, cell = tiny.made(), tiny.first()
        return protocol.conversation_fingerprint(cell), protocol.judgement_fingerprint(cell, "asker", "0")

    seen = [prints()]
    for path, old, new in (
        (tiny.suite_file, "utterance = 100", "utterance = 99"),
        (tiny.suite_file, "temperature = 0.8", "temperature = 0.7"),
        (tiny.suite_file.with_name("interrogator.jinja"), "Every fault", "Each fault"),
        (tiny.card_file, "slow of speech", "quick of speech"),
        (tiny.situation_file, "ask about", "talk about"),
    ):
        edit(path, old, new)
        seen.append(prints())
    assert len({talk for talk, _ in seen}) == len({judging for _, judging in seen}) == len(seen)
    edit(tiny.suite_file, "max_tokens = 64", "max_tokens = 65")  # the player's alone
    assert prints()[0] != seen[-1][0]
    assert prints()[1] == seen[-1][1]


def test_seeds_differ_from_call_to_call_and_are_the_same_again(tiny: Other) -> None:
    first, second = Script(), Script()
    talk(tiny, first, "storm")
    talk(tiny, second, "storm")
    seeds = [request.seed for request in first.asked]
    assert len(set(seeds)) == len(seeds)
    assert seeds == [request.seed for request in second.asked]


@pytest.mark.parametrize("limit", [None, 50])
def test_replies_that_fit_the_schema_can_be_read(limit: int | None) -> None:
    schema = reply_schema(limit, limit, rate=True, more=True)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads(said()))
    assert not Draft202012Validator(schema).is_valid(json.loads(said(fluency=0)))
    assert not Draft202012Validator(schema).is_valid(json.loads(OPENING))
    Draft202012Validator(reply_schema(limit, limit, rate=False, more=True)).validate(json.loads(OPENING))
    Draft202012Validator(reply_schema(limit, limit, rate=True, more=False)).validate(rating(7))


# --- a run -----------------------------------------------------------------------------------------------


def test_a_run_makes_a_board(tiny: Other) -> None:
    protocol, chat = tiny.made(), FakeChat()
    plan = make_plan(protocol, tiny.tree, ["bard", "actor"], ["asker"])
    costs = {(cost.role, cost.model): cost.calls for cost in estimate(plan, protocol)}
    assert costs == {("interrogator", "asker"): 28, ("player", "bard"): 10, ("player", "actor"): 10}
    told = asyncio.run(run_plan(protocol, plan, tiny.tree, chat.ask))
    assert (told.conversations, told.judgements, told.re_asks) == (8, 8, 0)
    assert len(chat.script.asked) == plan.calls() == 48
    made = load_board(tiny.tree, "tiny-v1", "en", prompts={}).board
    assert made.protocol == "pingpong_v1"
    bard = next(row for row in made.rows if row.player == "bard")
    assert (bard.conversations, bard.judgements_ok) == (4, 4)
    assert bard.cost == "0.0048"  # 24 calls at 0.0002: its own and those that asked and rated
    assert make_plan(protocol, tiny.tree, ["bard"], ["asker"]).work == []
