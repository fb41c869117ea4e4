"""What requests of version 2 are made from: seeds, parameters, schemas, and the fingerprints of all of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bench.protocols.pingpong_v2 import PingPongV2, utterance_schema, verdict_schema
from tests.test_protocol_pingpong_v2 import CRITERIA, judged, talk, verdict_text
from tests.tiny import Script, Tiny, edit, make_tiny


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


# --- seeds -----------------------------------------------------------------------------------------------


def test_seeds_differ_by_role_turn_and_scene(tiny: Tiny) -> None:
    script = Script()
    for character in ("anna", "bruno"):
        conversation = talk(tiny, script, character=character)
        asyncio.run(tiny.protocol().judge(conversation, "strict", script))
    seeds = [request.seed for request in script.asked]
    assert len(seeds) == 10
    assert len(set(seeds)) == 10
    assert all(seed is not None and 0 <= seed < 2**31 for seed in seeds)


def test_seeds_differ_by_judge_and_attempt(tiny: Tiny) -> None:
    conversation = talk(tiny, Script())
    script = Script({"judge": ["no", "no", "no", "no", "no", "no"]})
    for judge in ("strict", "lenient"):
        asyncio.run(tiny.protocol().judge(conversation, judge, script))
    assert len({request.seed for request in script.asked}) == 6


def test_the_same_call_has_the_same_seed_in_every_run(tiny: Tiny) -> None:
    scripts = Script(), Script()
    for script in scripts:
        talk(tiny, script)
    assert [r.seed for r in scripts[0].asked] == [r.seed for r in scripts[1].asked]


def test_a_provider_that_takes_no_seed_gets_none(tiny: Tiny) -> None:
    script = Script()
    record = talk(tiny, script, player="actor")
    assert all(request.seed is None for request in script.of("player"))
    assert all(request.seed is not None for request in script.of("interrogator"))
    assert [c.seed for c in record.calls if c.role == "player"] == [None, None]


# --- parameters ------------------------------------------------------------------------------------------


def test_a_models_own_sampling_lies_on_top_of_the_suites(tiny: Tiny) -> None:
    edit(tiny.models, "[models.bard]", "[models.bard]\nsampling = { temperature = 1.5, top_p = 0.5 }")
    assert tiny.protocol().parameters("player", "bard") == {
        "temperature": 1.5,
        "top_p": 0.5,
        "max_tokens": 64,
    }


def test_sampling_of_a_model_as_player_leaves_its_other_roles_alone(tiny: Tiny) -> None:
    edit(tiny.models, "[models.bard]", "[models.bard]\nplayer_sampling = { temperature = 1.5, top_p = 0.5 }")
    made = tiny.protocol()
    assert made.parameters("player", "bard") == {"temperature": 1.5, "top_p": 0.5, "max_tokens": 64}
    assert made.parameters("judge", "bard") == {"temperature": 0.1}
    assert made.parameters("interrogator", "bard") == {"temperature": 0.8}


def test_parameters_that_a_model_refuses_are_not_sent(tiny: Tiny) -> None:
    edit(tiny.models, "[models.bard]", '[models.bard]\ndrop_parameters = ["temperature"]')
    assert tiny.protocol().parameters("player", "bard") == {"max_tokens": 64}


# --- schemas ---------------------------------------------------------------------------------------------


def asked_schema(tiny: Tiny, judge: str) -> dict[str, Any]:
    script = Script()
    conversation = talk(tiny, Script())
    asyncio.run(tiny.protocol().judge(conversation, judge, script))
    schema = script.asked[0].response_schema
    assert schema is not None
    return dict(schema)


def strict_objects(schema: Any) -> bool:
    """Whether every object of a schema says and requires exactly its keys, as strict providers want it."""
    if isinstance(schema, list):
        return all(map(strict_objects, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and (
        schema.get("additionalProperties") is not False or schema["required"] != list(schema["properties"])
    ):
        return False
    return all(map(strict_objects, schema.values()))


@pytest.mark.parametrize("limit", [None, 50])
def test_schemas_are_valid_and_strict(limit: int | None) -> None:
    for schema in (utterance_schema(limit), verdict_schema(3, CRITERIA, limit)):
        Draft202012Validator.check_schema(schema)
        assert strict_objects(schema)


@pytest.mark.parametrize("limit", [None, 50])
def test_a_good_verdict_keeps_to_the_schema(limit: int | None) -> None:
    Draft202012Validator(verdict_schema(3, CRITERIA, limit)).validate(json.loads(verdict_text(3)))


@pytest.mark.parametrize("limit", [None, 50])
@pytest.mark.parametrize("score", [0, 6, 3.5, "3"])
def test_a_score_off_the_scale_breaks_the_schema(limit: int | None, score: Any) -> None:
    validator = Draft202012Validator(verdict_schema(3, CRITERIA, limit))
    assert not validator.is_valid(json.loads(verdict_text(3, score)))


def test_a_strict_provider_gets_no_bounds_that_it_may_refuse(tiny: Tiny) -> None:
    edit(tiny.models, 'provider = "scripted"\nmodel = "strict-1"', 'provider = "plain"\nmodel = "strict-1"')
    text = json.dumps(asked_schema(tiny, "strict"))
    for word in ("maxLength", "minLength", "prefixItems", "minItems", "maxItems", "const"):
        assert word not in text


def test_a_provider_with_a_grammar_is_held_to_the_turns_and_lengths(tiny: Tiny) -> None:
    validator = Draft202012Validator(asked_schema(tiny, "strict"))
    assert validator.is_valid(json.loads(verdict_text(2)))
    assert not validator.is_valid(json.loads(verdict_text(1)))
    assert not validator.is_valid(json.loads(verdict_text(3)))
    data = json.loads(verdict_text(2))
    data["scores"][0]["fluency_explanation"] = "x" * 51
    assert not validator.is_valid(data)
    data = json.loads(verdict_text(2))
    data["scores"].reverse()
    assert not validator.is_valid(data)


def test_reasons_come_before_their_scores_in_the_schema() -> None:
    schema: Any = verdict_schema(1, CRITERIA, 50)
    keys = list(schema["properties"]["scores"]["prefixItems"][0]["properties"])
    assert keys[:3] == ["turn", "is_refusal_explanation", "is_refusal"]
    for name in ("in_character", "entertaining", "fluency"):
        assert keys.index(f"{name}_explanation") + 1 == keys.index(f"{name}_score")


def test_an_utterance_is_bounded_by_the_suites_limit(tiny: Tiny) -> None:
    script = Script()
    talk(tiny, script)
    schema = script.of("interrogator")[0].response_schema
    assert schema == utterance_schema(100)
    assert not Draft202012Validator(dict(schema or {})).is_valid({"next_utterance": ""})


def test_a_player_is_free_of_any_schema(tiny: Tiny) -> None:
    script = Script()
    talk(tiny, script)
    assert all(request.response_schema is None for request in script.of("player"))


# --- fingerprints ----------------------------------------------------------------------------------------

Change = Callable[[Tiny], None]


def in_file(name: str, old: str, new: str) -> Change:
    def change(tiny: Tiny) -> None:
        path = {
            "card": tiny.card_file,
            "situation": tiny.situation_file,
            "suite": tiny.suite_file,
            "models": tiny.models,
            "player": tiny.prompts / "pingpong_v2" / "player.jinja",
            "interrogator": tiny.prompts / "pingpong_v2" / "interrogator.jinja",
            "judge": tiny.prompts / "pingpong_v2" / "judge.jinja",
        }[name]
        edit(path, old, new)

    return change


SHARED_TEXT = [
    in_file("card", "slow of speech", "quick of speech"),
    in_file("card", "keeps a lighthouse", "keeps a mill"),
    in_file("card", "Mind the step", "Watch the step"),
    in_file("card", "The lamp is lit", "The lamp is out"),
]
TALK_INGREDIENTS = [
    *SHARED_TEXT,
    in_file("situation", "about the lamp", "about the sea"),
    in_file("situation", "num_turns = 2", "num_turns = 3"),
    in_file("suite", "temperature = 0.6", "temperature = 0.7"),
    in_file("suite", "max_tokens = 64", "max_tokens = 65"),
    in_file("suite", "temperature = 0.8", "temperature = 0.9"),
    in_file("suite", "utterance = 100", "utterance = 101"),
    in_file("suite", 'version = "1"', 'version = "1"\nsymmetric = true'),
    in_file("suite", 'models = ["asker"]', 'models = ["lenient"]'),
    in_file("player", "Be brief", "Be short"),
    in_file("interrogator", "ordinary", "average"),
    in_file("models", "bard-1", "bard-2"),
    in_file("models", "asker-1", "asker-2"),
    in_file("models", "[models.bard]", '[models.bard]\nsystem_extra = "Be brief."'),
    in_file("models", "[models.bard]", "[models.bard]\nsystem_role = false"),
    in_file("models", "[models.bard]", "[models.bard]\nsampling = { top_p = 0.5 }"),
    in_file("models", "[models.bard]", '[models.bard]\ndrop_parameters = ["temperature"]'),
]
JUDGE_INGREDIENTS = [
    *SHARED_TEXT,
    in_file("judge", "strictly", "mildly"),
    in_file("suite", "temperature = 0.1", "temperature = 0.2"),
    in_file("suite", "reason = 50", "reason = 51"),
    in_file("models", "strict-1", "strict-2"),
]
IRRELEVANT = [
    in_file("models", 'name = "Bard"', 'name = "The Bard"'),
    in_file("models", 'input = "1"', 'input = "9"'),
    in_file("models", 'family = "Test"', 'family = "Other"'),
    in_file("models", 'licence = "MIT"', 'licence = "BSD"'),
    in_file("models", "max_concurrent = 4", "max_concurrent = 5"),
    in_file("models", "timeout_seconds = 20", "timeout_seconds = 30"),
    in_file("suite", 'title = "Tiny"', 'title = "Small"'),
    in_file("card", 'tags = ["test"]', "tags = []"),
    in_file("card", "Invented for the tests", "Found"),
    in_file("situation", 'kind = "common"', 'kind = "attack"'),
]


def fingerprints(tiny: Tiny) -> tuple[str, str]:
    protocol: PingPongV2 = tiny.protocol()
    cell = tiny.cell()
    return protocol.conversation_fingerprint(cell), protocol.judgement_fingerprint(cell, "strict", "sha")


def changed(tiny: Tiny, changes: Sequence[Change]) -> list[tuple[bool, bool]]:
    """For each change made alone, whether it changes the fingerprint of talk and of judgement."""
    talked, judged_ = fingerprints(tiny)
    files = {path: path.read_bytes() for path in tiny.root.rglob("*") if path.is_file()}
    found = []
    for change in changes:
        change(tiny)
        new = fingerprints(tiny)
        found.append((new[0] != talked, new[1] != judged_))
        for path, data in files.items():
            path.write_bytes(data)
    return found


def test_a_conversations_fingerprint_changes_with_each_ingredient(tiny: Tiny) -> None:
    assert [talked for talked, _ in changed(tiny, TALK_INGREDIENTS)] == [True] * len(TALK_INGREDIENTS)


def test_a_judgements_fingerprint_changes_with_each_ingredient(tiny: Tiny) -> None:
    assert [judged for _, judged in changed(tiny, JUDGE_INGREDIENTS)] == [True] * len(JUDGE_INGREDIENTS)


def test_fingerprints_do_not_hang_on_what_no_model_sees(tiny: Tiny) -> None:
    assert changed(tiny, IRRELEVANT) == [(False, False)] * len(IRRELEVANT)


def test_what_only_the_judge_sees_leaves_conversations_alone(tiny: Tiny) -> None:
    own = JUDGE_INGREDIENTS[len(SHARED_TEXT) :]
    assert changed(tiny, own) == [(False, True)] * len(own)


def test_what_only_the_talk_is_made_from_leaves_judgements_alone(tiny: Tiny) -> None:
    own = TALK_INGREDIENTS[len(SHARED_TEXT) :]
    assert changed(tiny, own) == [(True, False)] * len(own)


def test_another_conversation_is_another_judgement(tiny: Tiny) -> None:
    protocol, cell = tiny.protocol(), tiny.cell()
    one, other = (protocol.judgement_fingerprint(cell, "strict", sha) for sha in ("a", "b"))
    assert one != other


def test_records_carry_the_fingerprints_of_now(tiny: Tiny) -> None:
    conversation = talk(tiny, Script())
    record = judged(tiny)
    protocol = tiny.protocol()
    assert conversation.fingerprint == protocol.conversation_fingerprint(tiny.cell())
    assert record.fingerprint == protocol.judgement_fingerprint(
        tiny.cell(), "strict", record.conversation_sha256
    )
