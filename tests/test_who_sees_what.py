"""Who sees what: the tables of the method pages, checked on what every role is really sent."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Mapping
from itertools import dropwhile, takewhile
from pathlib import Path

import pytest

from bench.catalog import load_catalog
from bench.chat.requests import ChatRequest, Reply
from bench.protocol_facts import facts_of
from bench.protocols import Protocol, protocol_for
from bench.records import Role
from bench.results import ResultsTree
from bench.run.storage import TreeStorage
from bench.suites import load_suite
from tests.other_benches import V1_SUITE, item, make_likeness
from tests.scripted_speech import steps, tone
from tests.spoken_bench import make_spoken
from tests.tiny import ROOT, SUITE, Script, edit, make_tiny, ok

PAGES = ROOT / "site" / "pages"
TEMPLATES_2 = "templates-2"

CARD = """
char_name = "MARK-name"
summary = "MARK-summary"
system_prompt = "MARK-card"
example_prompt = "MARK-sample"
initial_message = "MARK-greeting"
tags = ["MARK-tag"]
source = "MARK-source"
style = "MARK-style"
facts = ["MARK-fact"]
secrets = [{ secret = "MARK-secret", unlocked_by = "MARK-unlocked" }]
unknown = ["MARK-unknown"]
boundaries = ["MARK-boundary"]
lorebook = [
    { keys = ["never", "MARK-said", "MARK-asked-1"], content = "MARK-entry" },
    { keys = ["never"], content = "MARK-other-entry" },
]
"""
SITUATION = """
title = "MARK-title"
text = "MARK-situation"
kind = "common"
num_turns = 3
tags = ["MARK-situation-tag"]
"""
DECLARED = ("MARK-fact", "MARK-secret", "MARK-unlocked", "MARK-unknown", "MARK-boundary")
LORE = {
    "Lorebook entries that the talk mentions": ("MARK-entry",),
    "Other lorebook entries": ("MARK-other-entry",),
}
TALK = {
    "Character's name": ("MARK-name",),
    "Card text": ("MARK-card",),
    "Sample dialogue": ("MARK-sample",),
    "Greeting": ("MARK-greeting",),
    "One-line summary": ("MARK-summary",),
    "Situation": ("MARK-situation",),
    'Which message comes next ("3 of 4")': ("message 1 of 3", "message 2 of 3", "message 3 of 3"),
    "Conversation": ("MARK-said", "MARK-answered"),
    **LORE,
    "Declared facts, secrets, limits": DECLARED,
    "Sources and tags": ("MARK-tag", "MARK-source", "MARK-style", "MARK-title", "MARK-situation-tag"),
}
LIKENESS = {
    "Name and profile": ("MARK-name", "MARK-profile"),
    "Conversation so far": ("MARK-earlier", "MARK-last"),
    "Answers of three people": ("MARK-real-1", "MARK-real-2", "MARK-real-3"),
    "The player's response": ("MARK-answered",),
    "Title and source": ("MARK-title", "MARK-source"),
}
SPEECH = {
    "Instruction": ("MARK-instruction",),
    "Kind of the instruction": ("role and scenario",),
    "The player's recording": ("SOUND",),
    "The player's transcript": ("MARK-transcript",),
    "Character's name and title": ("MARK-name", "MARK-title"),
}
PROBES = {
    "Card text, sample dialogue, greeting": ("MARK-card", "MARK-sample", "MARK-greeting"),
    "Lorebook entries that the dialogue mentions": ("MARK-entry",),
    "Other lorebook entries": ("MARK-other-entry",),
    "User messages of the probe": ("MARK-asked-1", "MARK-asked-2"),
    "Right and wrong answers of the probe": ("MARK-right", "MARK-wrong"),
}

Sent = Mapping[str, str]
"""Everything that a role was sent, by role."""


def table(page: str) -> dict[str, dict[str, bool]]:
    """The table "Who sees what" of a page: column -> row -> whether it is seen."""
    lines = (PAGES / page).read_text(encoding="utf-8").partition("{: #who-sees-what }")[2].splitlines()
    lines = list(takewhile(is_row, dropwhile(lambda line: not is_row(line), lines)))
    columns, _, *rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in lines]
    return {name: {row[0]: row[n] != "no" for row in rows} for n, name in enumerate(columns) if n}


def is_row(line: str) -> bool:
    return line.startswith("|")


def seen(sent: str, marks: Mapping[str, tuple[str, ...]]) -> dict[str, bool]:
    """Whether each row's marks are in what was sent: all of them or none, anything between is a fault."""
    found = {row: {mark in sent for mark in names} for row, names in marks.items()}
    assert all(len(one) == 1 for one in found.values()), found
    return {row: one == {True} for row, one in found.items()}


def sent_by(protocol: Protocol, replies: Mapping[Role, str | Reply], root: Path) -> Sent:
    """Play and judge the protocol's first cell, and return what each role was sent."""
    requests: dict[str, list[ChatRequest]] = defaultdict(list)
    plausible = Script()

    async def ask(request: ChatRequest) -> Reply:
        requests[request.role].append(request)
        reply = replies.get(request.role)
        if reply is None:
            return await plausible(request)
        return ok(reply) if isinstance(reply, str) else reply

    async def play() -> None:
        conversation = await protocol.converse(protocol.cells(protocol.suite.entry.player.models[0])[0], ask)
        assert conversation.status == "complete", conversation.failure
        conversation = TreeStorage(protocol, ResultsTree(root / "results")).conversation(conversation)
        judgement = await protocol.judge(conversation, protocol.suite.judges[0], ask)
        assert judgement.status == "ok", judgement.failure

    asyncio.run(play())
    return {
        role: "\n".join(
            message.content + (" SOUND" if request.sounds else "")
            for request in made
            for message in request.messages
        )
        for role, made in requests.items()
    }


def talk_sent(
    root: Path, protocol: str, suite: str, *, templates: str, language: str, more: str = ""
) -> Sent:
    """What each role of a PingPong protocol is sent, with every field of card and situation marked."""
    made = make_tiny(root)
    folder = made.prompts / protocol
    shutil.rmtree(made.suite_file.parent)
    shutil.copytree(ROOT / "prompts" / protocol, folder, ignore=shutil.ignore_patterns("*.toml"))
    suite = suite.replace("[languages.en]", f"[languages.{language}]").replace('"hello", "storm"', '"one"')
    suite = suite.replace('"anna", "bruno"', '"marked"')
    named = f'version = "1"\n{more}\n' + (f'templates = "{templates}"' if templates else "")
    (folder / "tiny.toml").write_text(suite.replace('version = "1"', named), encoding="utf-8")
    for kind, name, text in (("characters", "marked", CARD), ("situations", "one", SITUATION)):
        (made.prompts / kind / language).mkdir(exist_ok=True)
        (made.prompts / kind / language / f"{name}.toml").write_text(text, encoding="utf-8")
    replies: dict[Role, str | Reply] = {"player": "MARK-answered"}
    if protocol != "pingpong_v1":
        replies["interrogator"] = json.dumps({"next_utterance": "MARK-said"})
        scores = {f"{name}_score": 5 for name in facts_of(protocol).criterion_names}
        turns = [{"turn": n, "is_refusal": False, **scores} for n in (1, 2, 3)]
        replies["judge"] = json.dumps({"scores": turns})
    else:
        scores = {f"{name}_score": 5 for name in ("in_character", "entertaining", "fluency")}
        reasons = {
            f"{name}_explanation": "x" for name in ("is_refusal", "in_character", "entertaining", "fluency")
        }
        replies["interrogator"] = json.dumps(
            {**reasons, **scores, "is_refusal": False, "next_utterance": "MARK-said"}
        )
    return sent_by(protocol_for(load_suite(made.prompts, "tiny"), language, made.catalog()), replies, root)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_table_of_the_method_is_what_each_role_is_sent(tmp_path: Path, language: str) -> None:
    truth = table("method.md")
    second = talk_sent(tmp_path / "2", "pingpong_v2", SUITE, templates=TEMPLATES_2, language=language)
    first = talk_sent(tmp_path / "1", "pingpong_v1", V1_SUITE, templates=TEMPLATES_2, language=language)
    assert seen(second["player"], TALK) == truth["Player"]
    assert seen(first["player"], TALK) == truth["Player"]
    assert seen(second["interrogator"], TALK) == truth["Interrogator"]
    assert seen(second["judge"], TALK) == truth["Judge"]
    assert seen(first["interrogator"], TALK) == truth["Version 1: asks and judges"]


@pytest.mark.parametrize("protocol", ["pingpong_hard", "pingpong_group"])
@pytest.mark.parametrize("language", ["en", "ru"])
def test_protocols_with_further_criteria_show_what_version_2_shows(
    tmp_path: Path, language: str, protocol: str
) -> None:
    truth = table("method.md")
    sent = talk_sent(tmp_path, protocol, SUITE, templates="", language=language)
    for role in ("player", "interrogator", "judge"):
        assert seen(sent[role], TALK) == truth[role.title()]


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_symmetric_suite_shows_the_situation_and_the_card_as_well(tmp_path: Path, language: str) -> None:
    more = "symmetric = true"
    sent = talk_sent(tmp_path, "pingpong_v2", SUITE, templates=TEMPLATES_2, language=language, more=more)
    truth = table("method.md")
    assert seen(sent["player"], TALK) == truth["Player"] | {"Situation": True}
    assert seen(sent["interrogator"], TALK) == truth["Interrogator"] | dict.fromkeys(
        ("Card text", next(iter(LORE))), True
    )


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_first_templates_show_judges_less(tmp_path: Path, language: str) -> None:
    truth = table("method.md")
    unseen = {row: False for row in TALK if row.startswith(("Sample", "Greeting", "Declared", "Which"))}
    second = talk_sent(tmp_path / "2", "pingpong_v2", SUITE, templates="", language=language)
    first = talk_sent(tmp_path / "1", "pingpong_v1", V1_SUITE, templates="", language=language)
    assert seen(second["judge"], TALK) == truth["Judge"] | unseen
    assert seen(first["interrogator"], TALK) == truth["Version 1: asks and judges"] | unseen
    assert seen(second["interrogator"], TALK) == truth["Interrogator"] | unseen
    assert seen(second["player"], TALK) == truth["Player"]


@pytest.mark.parametrize("templates", ["", TEMPLATES_2])
@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_table_of_human_likeness_is_what_each_role_is_sent(
    tmp_path: Path, language: str, templates: str
) -> None:
    made = make_likeness(tmp_path)
    source = ROOT / "prompts" / "human_likeness" / templates
    if templates:
        shutil.copytree(source, made.suite_file.parent / templates)
        edit(made.suite_file, 'version = "1"', f'version = "1"\ntemplates = "{templates}"')
    made.suite_file.write_text(
        made.suite_file.read_text(encoding="utf-8").replace("[languages.en]", f"[languages.{language}]"),
        encoding="utf-8",
    )
    marked = item(
        "ann",
        "hive",
        name="MARK-name",
        profile="MARK-profile",
        history=[{"speaker": "Ola", "content": "MARK-earlier"}, {"role": "user", "content": "MARK-last"}],
        real_answers=["MARK-real-1", "MARK-real-2", "MARK-real-3"],
        title="MARK-title",
        source="MARK-source",
    )
    made.items_file.write_text(json.dumps(marked), encoding="utf-8")
    protocol = protocol_for(load_suite(made.prompts, made.suite), language, made.catalog())
    sent = sent_by(protocol, {"player": "MARK-answered"}, tmp_path)
    truth = table("human-likeness.md")
    assert seen(sent["player"], LIKENESS) == truth["Player"]
    assert seen(sent["judge"], LIKENESS) == truth["Judge"]


@pytest.mark.parametrize("templates", ["", TEMPLATES_2])
def test_the_table_of_spoken_role_play_is_what_each_role_is_sent(tmp_path: Path, templates: str) -> None:
    made = make_spoken(tmp_path)
    if templates:
        shutil.copytree(ROOT / "prompts" / "speech_roleplay" / templates, made.folder / templates)
        edit(made.suite_file, 'version = "1"', f'version = "1"\ntemplates = "{templates}"')
    marked = {
        "character": "keeper",
        "situation": "storm",
        "instruction_type": "role and scenario",
        "instruction": "MARK-instruction",
        "name": "MARK-name",
        "title": "MARK-title",
    }
    made.items_file.write_text(json.dumps(marked), encoding="utf-8")
    sound = base64.b64encode(tone(1)).decode()
    replies: dict[Role, str | Reply] = {
        "player": Reply("ok", "MARK-transcript", sound=sound),
        "judge": json.dumps(steps()),
    }
    sent = sent_by(made.protocol(), replies, tmp_path)
    truth = table("speech.md")
    assert seen(sent["player"], SPEECH) == truth["Player"]
    assert seen(sent["judge"], SPEECH) == truth["Judge"]


def test_the_table_of_card_probes_is_what_each_role_is_sent(tmp_path: Path) -> None:
    made = make_tiny(tmp_path)
    folder = made.prompts / "card_probes"
    shutil.copytree(ROOT / "prompts" / "card_probes", folder, ignore=shutil.ignore_patterns("*.toml"))
    made.card_file.write_text(CARD, encoding="utf-8")
    suite = SUITE.partition("[languages")[0].replace('[interrogator]\nmodels = ["asker"]\n', "")
    suite = suite.replace("sampling = { temperature = 0.8 }\n", "")
    suite += '[languages.en]\nitems = "en"\ncharacters = ["anna"]\n'
    (folder / "probing.toml").write_text(suite, encoding="utf-8")
    (folder / "en").mkdir(exist_ok=True)
    (folder / "en" / "_shared.toml").write_text("[patterns]\n", encoding="utf-8")
    (folder / "en" / "anna.toml").write_text(
        '[[probe]]\nid = "one"\nkind = "fact"\nmessages = ["MARK-asked-1", "MARK-asked-2"]\n'
        'accept = ["lamp"]\nright = ["MARK-right", "b", "c"]\nwrong = ["MARK-wrong", "e", "f"]\n',
        encoding="utf-8",
    )
    protocol = protocol_for(load_suite(made.prompts, "probing"), "en", load_catalog(made.models))
    decided = json.dumps({"reason": "x", "passed": True})
    sent = sent_by(protocol, {"player": "Nobody can say.", "judge": decided}, tmp_path)
    truth = table("card-probes.md")
    assert seen(sent["player"], PROBES) == truth["Player"]
    assert seen(sent["judge"], PROBES) == truth["Judge, if the suite names one"]
