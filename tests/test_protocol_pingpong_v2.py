"""The protocol pingpong_v2: who is asked what, what odd replies come to, what fingerprints hang on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bench.errors import CatalogError
from bench.protocol_facts import facts_of
from bench.protocols import protocol_for
from bench.protocols.calls import ASKS
from bench.protocols.pingpong_v2 import PingPongV2
from bench.records import Conversation, Judgement, digest_of, messages_sha256
from bench.suites import load_suite
from tests.scripted_server import verdict
from tests.tiny import Script, Tiny, bad, edit, make_tiny, ok

CRITERIA = facts_of("pingpong_v2").criteria

Step = Any


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


def talk(tiny: Tiny, script: Script, **cell: str) -> Conversation:
    return asyncio.run(tiny.protocol().converse(tiny.cell(**cell), script))


def judged(tiny: Tiny, *steps: Step, judge: str = "strict", cell: dict[str, str] | None = None) -> Judgement:
    conversation = talk(tiny, Script(), **(cell or {}))
    return asyncio.run(tiny.protocol().judge(conversation, judge, Script({"judge": list(steps)})))


def verdict_text(turns: int = 2, score: int = 4) -> str:
    data = verdict("", 0, turns)
    for entry in data["scores"]:
        entry.update({key: score for key in entry if key.endswith("_score")})
    return json.dumps(data)


# --- a conversation --------------------------------------------------------------------------------------


def test_the_two_sides_take_turns(tiny: Tiny) -> None:
    script = Script({"interrogator": ['{"next_utterance": "One?"}'], "player": ["First.", "Second."]})
    record = talk(tiny, script)
    assert [m.role for m in record.messages] == ["user", "assistant"] * 2
    assert [m.content for m in record.messages[:2]] == ["One?", "First."]
    assert record.messages[3].content == "Second."
    assert [(c.role, c.turn) for c in record.calls] == [
        ("interrogator", 1),
        ("player", 1),
        ("interrogator", 2),
        ("player", 2),
    ]


def test_a_complete_conversation_says_so(tiny: Tiny) -> None:
    record = talk(tiny, Script())
    assert (record.status, record.failure, record.repairs) == ("complete", None, ())
    assert record.digest == digest_of(record)


def test_a_conversation_has_the_turns_of_its_situation(tiny: Tiny) -> None:
    assert len(talk(tiny, Script(), situation="storm").messages) == 6


def test_the_player_gets_the_card_as_system_prompt_and_all_that_was_said(tiny: Tiny) -> None:
    script = Script()
    record = talk(tiny, script)
    first, second = script.of("player")
    assert [m.role for m in first.messages] == ["system", "user"]
    assert [m.role for m in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[1:] == record.messages[:3]
    assert "SECRET CARD of Anna" in first.messages[0].content
    assert "SITUATION" not in first.messages[0].content


def test_the_interrogator_never_sees_the_card(tiny: Tiny) -> None:
    script = Script()
    talk(tiny, script)
    for prompt in script.prompts("interrogator"):
        assert "SECRET CARD" not in prompt
        assert "SITUATION hello" in prompt


def test_a_symmetric_suite_shows_both_sides_both(tiny: Tiny) -> None:
    edit(tiny.suite_file, 'version = "1"', 'version = "1"\nsymmetric = true')
    script = Script()
    talk(tiny, script)
    assert "SECRET CARD" in script.prompts("interrogator")[0]
    assert "SITUATION hello" in script.of("player")[0].messages[0].content


def test_extra_text_of_a_model_stands_before_its_card(tiny: Tiny) -> None:
    edit(tiny.models, "[models.bard]", '[models.bard]\nsystem_extra = "Be brief."')
    script = Script()
    record = talk(tiny, script)
    assert script.of("player")[0].messages[0].content.startswith("Be brief.\n\nYou are Anna.")
    assert "Be brief." not in record.scene.card


def test_a_record_explains_itself_without_prompts(tiny: Tiny) -> None:
    scene = talk(tiny, Script()).scene
    assert (scene.character_name, scene.summary) == ("Anna", "Anna, who keeps a lighthouse.")
    assert (scene.situation_title, scene.situation) == ("hello", "SITUATION hello: ask about the lamp.")
    assert "SECRET CARD of Anna" in scene.card


def test_a_call_keeps_what_was_asked_and_how_it_ended(tiny: Tiny) -> None:
    reply = ok("Boo.", system_fingerprint="fp", served_model="bard-1-0613", finish_reason="stop")
    call = talk(tiny, Script({"player": [reply]})).calls[1]
    assert (call.provider, call.model, call.served_model) == ("scripted", "bard-1", "bard-1-0613")
    assert call.parameters == {"temperature": 0.6, "max_tokens": 64}
    assert (call.outcome, call.finish_reason, call.system_fingerprint) == ("ok", "stop", "fp")
    assert call.usage == reply.usage
    assert call.cost == "0.0002"


def test_a_cost_that_is_unknown_is_left_out(tiny: Tiny) -> None:
    assert talk(tiny, Script({"player": [ok("Boo.", cost=None)]})).calls[1].cost is None


def test_an_answer_that_was_cut_off_is_an_answer(tiny: Tiny) -> None:
    record = talk(tiny, Script({"player": [bad("length", "I was about to")]}))
    assert record.messages[1].content == "I was about to"
    assert (record.status, record.calls[1].outcome) == ("complete", "length")


def test_an_answer_is_kept_as_it_came(tiny: Tiny) -> None:
    text = "  *sighs*\n\n<b>No</b> 🕯  "
    assert talk(tiny, Script({"player": [text]})).messages[1].content == text


# --- an interrogator's odd replies -----------------------------------------------------------------------


def test_a_repaired_utterance_is_flagged_with_its_raw_reply(tiny: Tiny) -> None:
    raw = 'Sure!\n```json\n{"next_utterance": "Hi",}\n```'
    record = talk(tiny, Script({"interrogator": [raw]}))
    assert record.messages[0].content == "Hi"
    assert record.calls[0].raw == raw
    assert record.repairs
    assert all(repair.startswith("turn 1: ") for repair in record.repairs)


def test_a_clean_utterance_keeps_no_raw_reply(tiny: Tiny) -> None:
    assert all(call.raw is None for call in talk(tiny, Script()).calls)


def test_a_reply_that_cannot_be_read_is_asked_for_again_with_the_fault(tiny: Tiny) -> None:
    script = Script({"interrogator": ['{"next_utterance": 7}', '{"next_utterance": "Hi"}']})
    record = talk(tiny, script)
    first, again = script.prompts("interrogator")[:2]
    assert again.startswith(first)
    assert "must be a string" in again.removeprefix(first)
    assert record.status == "complete"
    assert record.calls[0].raw == '{"next_utterance": 7}'


def test_a_re_ask_names_the_last_fault_alone(tiny: Tiny) -> None:
    script = Script({"interrogator": ['{"next_utterance": 7}', "nothing", None]})
    talk(tiny, script)
    first, second, third = script.prompts("interrogator")[:3]
    assert second.removeprefix(first) != third.removeprefix(first)
    assert "must be a string" not in third


def test_a_blank_reply_is_asked_for_again(tiny: Tiny) -> None:
    script = Script({"interrogator": [bad("empty", detail="the answer is blank")]})
    assert talk(tiny, script).status == "complete"
    assert "It was empty." in script.prompts("interrogator")[1]


def test_an_interrogator_that_cannot_be_read_is_a_recorded_failure(tiny: Tiny) -> None:
    script = Script({"interrogator": ["first", "second", "third", "fourth"]})
    record = talk(tiny, script)
    assert (record.status, record.messages) == ("failed", ())
    assert record.failure is not None
    assert (record.failure.role, record.failure.turn) == ("interrogator", 1)
    assert (record.failure.outcome, record.failure.raw) == ("parse_error", "third")
    assert record.failure.reason
    assert [call.raw for call in record.calls] == ["first", "second", "third"]
    assert len(script.asked) == ASKS


@pytest.mark.parametrize("outcome", ["content_filter", "refused", "transport", "rate_limited"])
def test_an_interrogators_call_that_failed_ends_the_conversation(tiny: Tiny, outcome: str) -> None:
    script = Script({"interrogator": [None, bad(outcome, detail="why")]})
    record = talk(tiny, script)
    assert record.failure is not None
    assert (record.failure.role, record.failure.turn) == ("interrogator", 2)
    assert (record.failure.outcome, record.failure.reason) == (outcome, "why")
    assert len(record.messages) == 2
    assert len(script.of("interrogator")) == 2


def test_a_cut_off_utterance_that_reads_is_used(tiny: Tiny) -> None:
    record = talk(tiny, Script({"interrogator": [bad("length", '{"next_utterance": "Hi"}')]}))
    assert record.messages[0].content == "Hi"


# --- a player's odd replies ------------------------------------------------------------------------------


def test_an_empty_answer_is_asked_for_anew_without_a_word(tiny: Tiny) -> None:
    script = Script({"player": [bad("empty"), "Boo."]})
    record = talk(tiny, script)
    first, again = script.of("player")[:2]
    assert first.messages == again.messages
    assert (first.sample, again.sample) == (0, 1)
    assert first.seed != again.seed
    assert record.messages[1].content == "Boo."
    assert [call.outcome for call in record.calls[:3]] == ["ok", "empty", "ok"]


def test_a_player_that_says_nothing_is_a_recorded_failure(tiny: Tiny) -> None:
    script = Script({"player": [bad("empty", detail="the answer is blank")] * 4})
    record = talk(tiny, script)
    assert record.failure is not None
    assert (record.failure.role, record.failure.outcome) == ("player", "empty")
    assert record.failure.reason == "the answer is blank"
    assert len(script.of("player")) == ASKS
    assert len(record.messages) == 1


@pytest.mark.parametrize("outcome", ["content_filter", "refused", "transport", "rate_limited"])
def test_a_players_call_that_failed_ends_the_conversation_at_once(tiny: Tiny, outcome: str) -> None:
    script = Script({"player": [bad(outcome, "what it said")]})
    record = talk(tiny, script)
    assert record.status == "failed"
    assert record.failure is not None
    assert (record.failure.outcome, record.failure.raw) == (outcome, "what it said")
    assert record.failure.reason == f"the call ended as {outcome}"
    assert len(script.of("player")) == 1


# --- a judgement -----------------------------------------------------------------------------------------


def test_a_verdict_is_read_turn_by_turn(tiny: Tiny) -> None:
    record = judged(tiny, verdict_text(score=4))
    assert [turn.turn for turn in record.turns] == [1, 2]
    assert record.turns[0].scores == {"in_character": 4, "entertaining": 4, "fluency": 4}
    assert set(record.turns[0].reasons) == {"in_character", "entertaining", "fluency"}
    assert (record.status, record.failure, record.repairs) == ("ok", None, ())


def test_a_judgement_is_tied_to_what_was_judged(tiny: Tiny) -> None:
    record = judged(tiny)
    conversation = talk(tiny, Script())
    assert record.conversation_sha256 == messages_sha256(conversation.messages)
    assert record.cell() == conversation.cell()
    assert record.digest == digest_of(record)


def test_the_raw_reply_is_kept_where_all_went_well(tiny: Tiny) -> None:
    text = verdict_text()
    assert judged(tiny, text).raw == (text,)


def test_the_judge_gets_the_card_and_the_numbered_talk(tiny: Tiny) -> None:
    script = Script()
    conversation = talk(tiny, Script())
    asyncio.run(tiny.protocol().judge(conversation, "strict", script))
    (prompt,) = script.prompts("judge")
    assert "SECRET CARD of Anna" in prompt
    assert "Turn 1:" in prompt
    assert "Turn 2:" in prompt


def test_a_verdict_that_cannot_be_used_is_asked_for_again_with_the_fault(tiny: Tiny) -> None:
    script = Script({"judge": [verdict_text(turns=1), verdict_text()]})
    conversation = talk(tiny, Script())
    record = asyncio.run(tiny.protocol().judge(conversation, "strict", script))
    first, again = script.prompts("judge")
    assert again.startswith(first)
    assert "turn" in again.removeprefix(first).lower()
    assert record.status == "ok"
    assert [call.turn for call in record.calls] == [1, 2]
    assert len(record.raw) == 2


def test_a_judge_that_cannot_be_read_is_a_recorded_failure_with_all_raw_replies(tiny: Tiny) -> None:
    record = judged(tiny, "no", "nope", "never")
    assert (record.status, record.turns) == ("failed", ())
    assert record.failure is not None
    assert (record.failure.outcome, record.failure.turn) == ("parse_error", 3)
    assert record.raw == ("no", "nope", "never")


@pytest.mark.parametrize("outcome", ["content_filter", "refused", "transport"])
def test_a_judges_call_that_failed_is_not_asked_again(tiny: Tiny, outcome: str) -> None:
    record = judged(tiny, bad(outcome, "x", detail="why"))
    assert record.failure is not None
    assert (record.failure.outcome, record.failure.reason) == (outcome, "why")
    assert (record.raw, len(record.calls)) == (("x",), 1)


def test_an_empty_verdict_is_asked_for_again(tiny: Tiny) -> None:
    assert judged(tiny, bad("empty"), verdict_text()).status == "ok"


def test_a_refusal_that_the_judge_saw_is_kept(tiny: Tiny) -> None:
    data = json.loads(verdict_text())
    data["scores"][1].update(is_refusal=True, is_refusal_explanation="It said no.")
    first, second = judged(tiny, json.dumps(data)).turns
    assert (first.is_refusal, second.is_refusal, second.refusal_reason) == (False, True, "It said no.")


# --- reading again ---------------------------------------------------------------------------------------


def reparsed(tiny: Tiny, record: Judgement) -> Judgement:
    return tiny.protocol().reread(record, talk(tiny, Script()))


@pytest.mark.parametrize(
    "steps",
    [
        [None],
        ["no", None],
        ["no", "nope", "never"],
        [bad("empty"), None],
        ["no", bad("empty", detail="the answer is blank"), bad("empty", detail="the answer is blank")],
        ["no", bad("transport", detail="connection lost")],
        [bad("content_filter", detail="why")],
    ],
)
def test_reading_again_with_the_same_parser_changes_nothing(tiny: Tiny, steps: list[Step]) -> None:
    record = judged(tiny, *steps)
    assert reparsed(tiny, record) == record


def test_reading_again_heals_a_judgement_that_failed(tiny: Tiny) -> None:
    good = judged(tiny, None)
    failed = judged(tiny, "no", "nope", "never")
    healed = reparsed(tiny, failed.model_copy(update={"raw": ("no", good.raw[0], "never")}))
    assert (healed.status, healed.failure, healed.turns) == ("ok", None, good.turns)
    assert healed.digest == digest_of(healed)
    assert healed.raw[0] == "no"


def test_reading_again_takes_back_what_the_parser_no_longer_accepts(tiny: Tiny) -> None:
    record = judged(tiny, None).model_copy(update={"raw": ("gibberish",)})
    again = reparsed(tiny, record)
    assert (again.status, again.turns) == ("failed", ())
    assert again.failure is not None
    assert again.failure.outcome == "parse_error"


def test_reading_again_never_reads_what_a_failed_call_left(tiny: Tiny) -> None:
    record = judged(tiny, bad("content_filter", verdict_text()))
    assert reparsed(tiny, record) == record


# --- which protocol --------------------------------------------------------------------------------------


def test_a_suite_is_played_by_the_protocol_of_its_folder(tiny: Tiny) -> None:
    suite = load_suite(tiny.prompts, "tiny")
    assert isinstance(protocol_for(suite, "en", tiny.catalog()), PingPongV2)


def test_a_folder_of_no_protocol_is_refused_with_what_there_is(tiny: Tiny) -> None:
    tiny.suite_file.parent.rename(tiny.prompts / "ping")
    suite = load_suite(tiny.prompts, "tiny")
    with pytest.raises(CatalogError, match=r"unknown protocol 'ping'.*pingpong_v2"):
        protocol_for(suite, "en", tiny.catalog())


def test_cells_are_every_scene_once(tiny: Tiny) -> None:
    cells = tiny.protocol().cells("bard")
    assert [(c.character, c.situation) for c in cells] == [
        ("anna", "hello"),
        ("anna", "storm"),
        ("bruno", "hello"),
        ("bruno", "storm"),
    ]
