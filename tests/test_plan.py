"""Plans: what is missing, failed, stale or done, what is done again, and what it is likely to take."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bench.catalog import load_catalog
from bench.chat.requests import estimated_tokens
from bench.protocols import protocol_for
from bench.records import Conversation, Failure, Judgement, Outcome, sealed
from bench.run.plan import TEMPORARY, Plan, RoleCost, estimate, make_plan
from bench.suites import load_suite
from tests.tiny import CALLS, ROOT, Script, Tiny, edit, make_tiny

CELLS = 4


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


@pytest.fixture
def played(tiny: Tiny) -> Tiny:
    """With the whole suite done by ``bard``, judged by ``strict``."""
    protocol = tiny.protocol()
    for cell in protocol.cells("bard"):
        conversation = asyncio.run(protocol.converse(cell, Script()))
        tiny.tree.write_conversation(conversation)
        tiny.tree.write_judgement(asyncio.run(protocol.judge(conversation, "strict", Script())))
    return tiny


def plan_of(
    tiny: Tiny, players: Sequence[str] = ("bard",), judges: Sequence[str] = ("strict",), **options: Any
) -> Plan:
    return make_plan(tiny.protocol(), tiny.tree, players, judges, **options)


def conversation_of(tiny: Tiny) -> Conversation:
    record = tiny.tree.conversation(tiny.cell())
    assert record is not None
    return record


def judgement_of(tiny: Tiny) -> Judgement:
    record = tiny.tree.judgement(tiny.cell(), "strict")
    assert record is not None
    return record


def fail_conversation(tiny: Tiny, outcome: Outcome) -> None:
    failure = Failure(role="player", turn=1, outcome=outcome, reason="as told")
    changes = {"status": "failed", "failure": failure}
    tiny.tree.write_conversation(sealed(conversation_of(tiny).model_copy(update=changes)), replace=True)
    tiny.tree.judgement_path(tiny.cell(), "strict").unlink()


def fail_judgement(tiny: Tiny, outcome: Outcome) -> None:
    failure = Failure(role="judge", turn=1, outcome=outcome, reason="as told")
    changes = {"status": "failed", "failure": failure, "turns": ()}
    tiny.tree.write_judgement(sealed(judgement_of(tiny).model_copy(update=changes)), replace=True)


def test_in_an_empty_tree_everything_is_missing(tiny: Tiny) -> None:
    plan = plan_of(tiny)
    assert plan.conversations == {"missing": CELLS}
    assert plan.judgements == {"missing": CELLS}
    assert all(item.talk and item.judges == ("strict",) for item in plan.work)


def test_a_finished_suite_needs_nothing(played: Tiny) -> None:
    plan = plan_of(played)
    assert plan.work == []
    assert (plan.conversations, plan.judgements) == ({"done": CELLS}, {"done": CELLS})


def test_models_that_have_answered_with_their_current_parameters_are_known(played: Tiny) -> None:
    assert plan_of(played).answered == {"bard", "asker", "strict"}
    fail_conversation(played, "rejected")
    assert plan_of(played).answered == {"bard", "asker", "strict"}
    assert plan_of(played, ("actor",)).answered == set()


def test_every_call_is_counted(tiny: Tiny) -> None:
    assert plan_of(tiny).calls() == sum(CALLS.values())


def test_longest_conversations_come_first_of_all_players(tiny: Tiny) -> None:
    assert [item.turns for item in plan_of(tiny, ("bard", "actor")).work] == [3, 3, 3, 3, 2, 2, 2, 2]


def test_the_characters_of_a_player_take_turns(tiny: Tiny) -> None:
    suite = load_suite(ROOT / "prompts", "card-probes-quick")
    protocol = protocol_for(suite, "en", load_catalog(ROOT / "models.toml"))
    work = make_plan(protocol, tiny.tree, ["smollm2-135m"], ["patterns"]).work
    ours = [item.cell.character for item in work]
    assert ours == ["sherlock-holmes", "mags-the-raccoon"] * (len(work) // 2)
    assert [item.turns for item in work] == sorted((item.turns for item in work), reverse=True)


def test_talks_come_before_mere_judgements(played: Tiny) -> None:
    plan = plan_of(played, ("bard", "actor"), ("strict", "lenient"))
    assert [item.talk for item in plan.work] == [True] * CELLS + [False] * CELLS


def test_a_further_judge_is_wanted_for_conversations_that_are_there(played: Tiny) -> None:
    plan = plan_of(played, judges=("strict", "lenient"))
    assert [item.judges for item in plan.work] == [("lenient",)] * CELLS
    assert not any(item.talk for item in plan.work)
    assert plan.calls() == CELLS


def test_a_missing_judgement_alone_is_judged_alone(played: Tiny) -> None:
    played.tree.judgement_path(played.cell(), "strict").unlink()
    (item,) = plan_of(played).work
    assert (item.talk, item.judges, item.conversation) == (False, ("strict",), conversation_of(played))


def test_without_talk_nobody_is_talked_to(tiny: Tiny) -> None:
    plan = plan_of(tiny, talk=False)
    assert plan.work == []
    assert plan.conversations == {"missing": CELLS}


# --- failures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["empty", "content_filter", "refused", "rejected", "parse_error"])
def test_a_failure_that_is_a_result_stays(played: Tiny, outcome: Outcome) -> None:
    fail_conversation(played, outcome)
    plan = plan_of(played)
    assert plan.work == []
    assert plan.conversations == {"failed": 1, "done": CELLS - 1}


@pytest.mark.parametrize("outcome", sorted(TEMPORARY))
def test_a_failure_of_the_connection_is_tried_again(played: Tiny, outcome: Outcome) -> None:
    fail_conversation(played, outcome)
    (item,) = plan_of(played).work
    assert (item.talk, item.judges) == (True, ("strict",))


def test_any_failed_conversation_is_tried_again_on_request(played: Tiny) -> None:
    fail_conversation(played, "refused")
    (item,) = plan_of(played, retry_failed=True).work
    assert item.talk


def test_a_failed_conversation_is_never_judged(played: Tiny) -> None:
    fail_conversation(played, "refused")
    work = plan_of(played, judges=("lenient",), talk=False).work
    assert len(work) == CELLS - 1
    assert played.cell() not in [item.cell for item in work]


@pytest.mark.parametrize(
    ("outcome", "failed", "again"),
    [
        ("parse_error", False, False),
        ("parse_error", True, True),
        ("transport", False, True),
        ("rate_limited", False, True),
    ],
)
def test_failed_judgements_follow_the_same_rules(
    played: Tiny, outcome: Outcome, failed: bool, again: bool
) -> None:
    fail_judgement(played, outcome)
    plan = plan_of(played, retry_failed=failed)
    assert [(item.talk, item.judges) for item in plan.work] == ([(False, ("strict",))] if again else [])


# --- staleness -------------------------------------------------------------------------------------------


def test_conversations_made_from_another_card_are_stale_and_kept(played: Tiny) -> None:
    edit(played.card_file, "slow of speech", "quick of speech")
    plan = plan_of(played)
    assert plan.conversations == {"stale": 2, "done": 2}
    assert plan.work == []


def test_stale_conversations_are_done_again_on_request_with_their_judgements(played: Tiny) -> None:
    edit(played.card_file, "slow of speech", "quick of speech")
    plan = plan_of(played, refresh_stale=True)
    assert [(item.talk, item.judges) for item in plan.work] == [(True, ("strict",))] * 2


def test_judgements_made_with_another_template_are_stale_alone(played: Tiny) -> None:
    edit(played.prompts / "pingpong_v2" / "judge.jinja", "strictly", "mildly")
    plan = plan_of(played)
    assert (plan.conversations, plan.judgements) == ({"done": CELLS}, {"stale": CELLS})
    assert plan.work == []
    assert len(plan_of(played, refresh_stale=True).work) == CELLS


def test_a_judgement_of_another_conversation_is_stale(played: Tiny) -> None:
    old = conversation_of(played)
    changed = old.messages[-1].model_copy(update={"content": "Another answer."})
    new = sealed(old.model_copy(update={"messages": (*old.messages[:-1], changed)}))
    played.tree.write_conversation(new, replace=True)
    assert plan_of(played).judgements == {"stale": 1, "done": CELLS - 1}


def test_a_display_name_makes_nothing_stale(played: Tiny) -> None:
    edit(played.models, 'name = "Bard"', 'name = "The Bard"')
    assert plan_of(played).conversations == {"done": CELLS}


# --- what it is likely to take -----------------------------------------------------------------------------


def test_an_estimate_counts_calls_by_role_and_model(tiny: Tiny) -> None:
    plan = plan_of(tiny, ("bard", "actor"), ("strict", "lenient"))
    rows = {(row.role, row.model): row.calls for row in estimate(plan, tiny.protocol())}
    assert rows == {
        ("interrogator", "asker"): 20,
        ("judge", "lenient"): 8,
        ("judge", "strict"): 8,
        ("player", "actor"): 10,
        ("player", "bard"): 10,
    }


def test_an_estimate_is_priced_by_the_catalog(tiny: Tiny) -> None:
    for row in estimate(plan_of(tiny), tiny.protocol()):
        assert row.cost == (Decimal(row.prompt_tokens) + 2 * row.completion_tokens) / 1_000_000
        assert row.cost > 0


def test_an_unknown_price_stays_unknown_in_an_estimate(tiny: Tiny) -> None:
    rows = estimate(plan_of(tiny, ("actor",)), tiny.protocol())
    assert [row.cost for row in rows if row.model == "actor"] == [None]


def test_an_estimate_of_nothing_is_empty(played: Tiny) -> None:
    assert estimate(plan_of(played), played.protocol()) == []


def test_an_estimate_is_within_reach_of_what_is_asked(tiny: Tiny) -> None:
    script = Script()
    protocol = tiny.protocol()
    guess = protocol.estimate(tiny.cell())
    asyncio.run(protocol.converse(tiny.cell(), script))
    asked = sum(len(m.content) for request in script.of("player") for m in request.messages) / 4
    assert asked / 3 < guess["player"].prompt_tokens < asked * 3


LORE = "A ship comes in with the tide, and nobody is on it. " * 4


def test_an_estimate_counts_all_of_a_lorebook_for_everyone_who_reads_it(tiny: Tiny) -> None:
    bare = tiny.protocol().estimate(tiny.cell())
    text = tiny.card_file.read_text(encoding="utf-8")
    tiny.card_file.write_text(f'{text}\nlorebook = [{{ keys = ["ship"], content = "{LORE}" }}]\n')
    entry, turns = estimated_tokens(LORE), 2
    more = tiny.protocol().estimate(tiny.cell())
    added = {role: more[role].prompt_tokens - bare[role].prompt_tokens for role in bare}
    assert added == {"player": turns * entry, "interrogator": 0, "judge": entry}
    edit(tiny.suite_file, 'version = "1"', 'version = "1"\nsymmetric = true')
    both = tiny.protocol().estimate(tiny.cell())
    tiny.card_file.write_text(text)
    alone = tiny.protocol().estimate(tiny.cell())
    assert both["interrogator"].prompt_tokens - alone["interrogator"].prompt_tokens == turns * entry


def test_an_estimate_of_probes_has_the_entries_that_their_messages_mention() -> None:
    suite = load_suite(ROOT / "prompts", "card-probes-2")
    protocol = protocol_for(suite, "en", load_catalog(ROOT / "models.toml"))
    wick = {cell.situation: cell for cell in protocol.cells("smollm2-135m") if cell.character == "wick"}
    entry = next(e for e in protocol.scenes.cards["wick"].lorebook if e.keys == ("Salt Gate",))
    plain, mentioned = (protocol.estimate(wick[name])["player"] for name in ("lamps", "entry-keeper"))
    assert mentioned.prompt_tokens - plain.prompt_tokens == pytest.approx(
        estimated_tokens(entry.content), abs=2
    )


@pytest.mark.parametrize(
    ("entry", "thinks"),
    [
        ("extra_body = { reasoning = { enabled = true } }", True),
        ("extra_body = { reasoning = { enabled = false } }", False),
        ('extra_body = { reasoning = { effort = "low", exclude = false } }', True),
        ('extra_body = { reasoning = { effort = "none" } }', False),
        ("extra_body = { chat_template_kwargs = { enable_thinking = true } }", True),
        ("extra_body = { chat_template_kwargs = { enable_thinking = false } }", False),
        ('extra_body = { thinking = { type = "disabled" } }', False),
        ('extra_body = { provider = { order = ["a"] } }', False),
        ('sampling = { reasoning_effort = "minimal" }', True),
        ('sampling = { reasoning_effort = "none" }', False),
        ("", False),
    ],
)
def test_a_model_thinks_if_its_entry_says_so(tiny: Tiny, entry: str, thinks: bool) -> None:
    edit(tiny.models, 'name = "Bard"', f'name = "Bard"\n{entry}')
    assert tiny.catalog().model("bard").thinks is thinks


def test_reasoning_is_counted_where_it_is_known_and_said_to_be_unknown_elsewhere(played: Tiny) -> None:
    def row(player: str = "actor") -> RoleCost:
        plan = plan_of(played, (player,))
        return next(r for r in estimate(plan, played.protocol()) if r.role == "player")

    bare = row()
    assert bare.reasoning_tokens == 0
    thinking = 'name = "Actor"\nextra_body = { thinking = true }'
    edit(played.models, 'name = "Actor"', thinking)
    unknown = row()
    assert (unknown.reasoning_tokens, unknown.completion_tokens) == (None, bare.completion_tokens)
    edit(played.models, thinking, f"{thinking}\nreasoning_tokens = 300")
    known = row()
    assert known.reasoning_tokens == 300 * bare.calls
    assert known.completion_tokens == bare.completion_tokens + known.reasoning_tokens


def test_reasoning_so_far_is_the_mean_of_the_players_answers_here_or_in_other_suites(played: Tiny) -> None:
    for cell in played.protocol().cells("bard"):
        record = played.tree.conversation(cell)
        assert record is not None
        tokens = {"reasoning_tokens": 100 if cell == played.cell() else 250}
        calls = [
            call.model_copy(update={"usage": call.usage and call.usage.model_copy(update=tokens)})
            for call in record.calls
        ]
        changed = sealed(record.model_copy(update={"calls": tuple(calls)}))
        played.tree.write_conversation(changed, replace=True)
    played.tree.conversation_path(played.cell("bruno", "storm")).unlink()
    mean = (2 * 100 + 3 * 250 + 2 * 250) / 7
    plan = plan_of(played)
    assert plan.reasoning == {"bard": mean}
    (row,) = (row for row in estimate(plan, played.protocol()) if row.role == "player")
    assert (row.calls, row.reasoning_tokens) == (3, round(3 * mean))
    played.tree.write_player("tiny", "en", played.catalog().player_info("bard", {}))
    (played.root / "results" / "tiny").rename(played.root / "results" / "other")
    assert plan_of(played).reasoning == {}
    edit(played.models, 'name = "Bard"', 'name = "Bard"\nsampling = { reasoning_effort = "high" }')
    assert plan_of(played).reasoning == {"bard": mean}
