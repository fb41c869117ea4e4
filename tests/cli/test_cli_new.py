"""``bench new`` and cards from the command line: a suite of one's own in a minute."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench.catalog import load_catalog
from bench.interop.card_files import card_bytes
from bench.suites import load_suite
from bench.suites.new_models import NewModel, add_models
from tests.cli.conftest import Bench
from tests.local.test_gguf_files import gguf_bytes
from tests.scripted_server import THOUGHT, ScriptedServer
from tests.tiny import ROOT, Tiny, bytes_below, edit

CARD = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        "name": "Fährmann Holm",
        "description": "{{char}} steuert die Fähre.",
        "first_mes": "Moin, {{user}}.",
        "character_book": {"entries": [{"keys": ["lamp"], "content": "The lamp is blue."}]},
    },
}


@pytest.mark.usefixtures("no_charts")
def test_a_german_card_goes_from_a_picture_to_the_website_in_three_commands(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    file = tiny.root / "holm.png"
    file.write_bytes(card_bytes(CARD, "png"))
    thinkers = ("thinker", "thinker-in-tags")
    added = bench("new", "model", server.url, "--model", ",".join(thinkers), *tiny.options())
    assert added.status == 0, added.err
    words = ["import", "card", str(file), "-l", "de", "--suite", "mine", "-j", "strict"]
    made = bench(*words, "-p", thinkers[0], "-p", thinkers[1], *tiny.options())
    assert made.status == 0, made.err
    assert "private" in made.out
    assert "English" in made.out  # there are no German situations
    assert bench("run", "mine", *tiny.options()).status == 0
    site = tiny.root / "site"
    assert bench("site", "build", "-o", str(site), "--private", *tiny.options()).status == 0
    assert list(site.rglob("*holm*"))
    for thinker in thinkers:
        (talk, *_) = tiny.tree.conversations("mine", "de", thinker)
        assert (talk.messages[0].role, talk.messages[0].content) == ("assistant", "Moin, User.")
        assert len(talk.answers()) == 2
        assert [call.reasoning for call in talk.calls if call.role == "player"] == [THOUGHT] * 2
        (verdict, *_) = tiny.tree.judgements("mine", "de", thinker)
        assert (verdict.status, len(verdict.turns)) == ("ok", 2)
    said = [seen.raw.decode() for seen in server.seen] + [p.read_text("utf-8") for p in site.rglob("*.html")]
    assert not any(THOUGHT in text or "&lt;think&gt;" in text for text in said)
    judged = [
        seen.body["messages"][-1]["content"] for seen in server.seen if seen.body["model"] == "strict-1"
    ]
    assert all("greets people:\n| Moin, User." in prompt for prompt in judged if "greets" in prompt)
    assert (tiny.tree.root / "mine" / ".gitignore").read_text() == "*\n"
    assert bench("audit", "mine", *tiny.options()).status == 0


def test_new_suite_writes_a_suite_that_runs(bench: Bench, tiny: Tiny) -> None:
    words = [
        "-c",
        "anna,bruno",
        "-s",
        "hello",
        "-p",
        "bard",
        "-j",
        "strict",
        "--greeting",
        "--max-turns",
        "1",
    ]
    made = bench("new", "suite", "mine", *words, *tiny.options())
    assert made.status == 0, made.err
    suite = load_suite(tiny.prompts, "mine")
    assert (suite.interrogator, suite.entry.greeting) == ("strict", "first_message")
    assert len(suite.language("en").pairs) == 2
    assert bench("check", *tiny.options()).status == 0
    assert bench("run", "mine", *tiny.options()).status == 0


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["tiny", "-c", "anna", "-j", "strict"], "cannot name a new suite"),
        (["mine", "-c", "ana", "-j", "strict"], "Did you mean 'anna'?"),
        (["mine", "-c", "anna", "-s", "planted", "-j", "strict"], "has no plants and attacks"),
        (["mine", "-c", "ana", "-j", "strict", "-l", "en"], "Did you mean 'anna'?"),
        (["mine", "-c", "anna", "-j", "strct"], "Did you mean 'strict'?"),
        (["mine", "-c", "anna"], "a suite needs a judge"),
        (["Mine", "-c", "anna", "-j", "strict"], "cannot name a new suite"),
        (["mine", "-c", "anna", "-j", "strict", "--protocol", "card_probes"], "plays no cards"),
        (["mine", "-c", "anna", "-j", "strict", "--protocol", "topics"], "Choose from: pingpong_group"),
        (["mine", "-c", "anna", "-j", "strict", "-l", "zz"], "unknown language 'zz'"),
    ],
)
def test_new_suite_names_a_mistake_and_writes_nothing(
    bench: Bench, tiny: Tiny, words: list[str], fault: str
) -> None:
    plant_in(tiny)
    before = bytes_below(tiny.prompts)
    assert fault in bench("new", "suite", *words, *tiny.options()).fault
    assert bytes_below(tiny.prompts) == before


def test_a_new_suite_plays_the_situations_that_its_protocol_can(bench: Bench, tiny: Tiny) -> None:
    plant_in(tiny)
    for protocol in ("pingpong_v1", "pingpong_v2", "pingpong_long"):
        words = ["new", "suite", "my-" + protocol.replace("_", "-"), "-c", "anna", "-j", "strict"]
        made = bench(*words, "--protocol", protocol, "--prompts", str(ROOT / "prompts"), *tiny.options())
        assert made.status == 0, made.err
        scenes = load_suite((ROOT / "prompts", tiny.prompts), words[2]).language("en")
        assert ("planted" in scenes.situations) == (protocol == "pingpong_long")


def plant_in(tiny: Tiny) -> None:
    """Add a situation that only one protocol can play."""
    text = tiny.situation_file.read_text(encoding="utf-8")
    plant = 'plants = [{ turn = 1, fact = "a cat", ask = 2, accept = ["cat"] }]\n'
    (tiny.situation_file.parent / "planted.toml").write_text(text + plant, encoding="utf-8")


def test_new_templates_are_valid_and_marked_as_unfinished(bench: Bench, tiny: Tiny) -> None:
    assert bench("new", "character", "night-porter", *tiny.options()).status == 0
    assert bench("new", "situation", "lost-luggage", "-l", "ru", *tiny.options()).status == 0
    ended = bench("check", *tiny.options())
    assert ended.status == 1
    lines = ended.out.splitlines()
    assert lines[-1].endswith(" 4 mistakes")
    assert any("night-porter.toml:4: not written yet" in line for line in lines)
    assert "exists already" in bench("new", "character", "night-porter", *tiny.options()).fault


def test_a_model_needs_only_provider_model_and_name(bench: Bench, tiny: Tiny) -> None:
    with tiny.models.open("a", encoding="utf-8") as file:
        file.write('[models.short]\nprovider = "scripted"\nmodel = "short-1"\nname = "Short"\n')
    assert bench("run", "tiny", "-p", "short", *tiny.options()).status == 0
    (info,) = tiny.tree.players("tiny", "en")
    assert (info.family, info.weights, info.licence) == ("unknown", "unknown", "unknown")


def test_models_of_a_server_are_added(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    before = tiny.models.read_bytes()
    ended = bench("new", "model", server.url, "--model", "nothing", *tiny.options())
    assert ended.status == 1
    assert tiny.models.read_bytes() == before


def test_two_versions_of_a_model_have_names_of_their_own(tiny: Tiny) -> None:
    both = [NewModel(f"v{n}", {"provider": "plain", "model": f"v{n}", "name": "Same"}) for n in (1, 2)]
    add_models(tiny.models, tiny.catalog(), both)
    add_models(tiny.models, tiny.catalog(), [replace(both[0], id="v3")], name="Same")
    assert [tiny.catalog().models[f"v{n}"].name for n in (1, 2, 3)] == ["Same (v1)", "Same (v2)", "Same"]


def test_two_model_files_are_compared(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    files = [tiny.root / f"version-{number}.gguf" for number in (1, 2)]
    for number, file in enumerate(files, 2):
        file.write_bytes(gguf_bytes(blocks=number))
    with tiny.models.open("a", encoding="utf-8") as catalog:
        catalog.write('[providers.here]\nbase_url = "embedded"\n')
    added = bench("new", "model", *map(str, files), *tiny.options())
    assert added.status == 0, added.err
    models = load_catalog(tiny.models)
    paths = [entry.path for file in files if (entry := models.local_file(file.stem))]
    assert paths == files
    text = tiny.models.read_text(encoding="utf-8").replace('"embedded"', f'"{server.url}"')  # and no file
    tiny.models.write_text(re.sub(r"(?m)^(file|sha256) = .*\n", "", text), encoding="utf-8")
    ended = bench("versus", "tiny", "version-1", "version-2", "--format", "json", *tiny.options())
    (made,) = json.loads(ended.out)
    assert (made["player"], made["other"], made["scenes"]) == ("version-1", "version-2", 4)
    assert "on the 4 scenes" in made["sentence"]


def test_another_interrogator_may_ask(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    shown = bench("plan", "tiny", "--interrogator", "actor", *tiny.options())
    assert "actor" in shown.out
    assert bench("run", "tiny", "--interrogator", "actor", *tiny.options()).status == 0
    assert {seen.body["model"] for seen in server.seen} == {"bard-1", "actor-1", "strict-1"}
    assert "Did you mean" in bench("plan", "tiny", "--interrogator", "actr", *tiny.options()).fault


def test_two_models_are_compared_in_one_sentence(bench: Bench, tiny: Tiny) -> None:
    ended = bench("versus", "tiny", "bard", "actor", *tiny.options())
    assert ended.status == 0, ended.err
    said = r"^.*(bard|actor) scores \d\.\d\d points higher than (bard|actor) on the 4 scenes.*\.$"
    assert re.search(said, ended.out, re.MULTILINE)
    assert "twice" in bench("versus", "tiny", "bard", "bard", *tiny.options()).fault


ISSUE = """### Suite

tiny

### Provider

scripted

### Model

someone/new-1

### Name

New `$(touch x)` | one

### Input price

0.40

### Output price

1.60

### Anything else

ignored
"""


def test_a_model_that_an_issue_proposes_is_planned_without_keys_and_run(bench: Bench, tiny: Tiny) -> None:
    file = tiny.root / "issue.md"
    file.write_text(ISSUE, encoding="utf-8")
    before = tiny.models.read_bytes()
    planned = bench("propose", str(file), *tiny.options())
    assert planned.status == 0, planned.err
    assert "| tiny en | player | new-1 | 10 | $" in planned.out
    assert tiny.models.read_bytes() == before
    assert "not been added" in bench("propose", str(file), "--run", *tiny.options()).fault
    assert bench("propose", str(file), "--add", *tiny.options()).status == 0
    assert bench("propose", str(file), "--run", "--max-cost", "5", *tiny.options()).status == 0
    assert [info.name for info in tiny.tree.players("tiny", "en")] == ["New `$(touch x)` | one"]
    for old, new, fault in (
        ("\nscripted", "\nhttp://evil.example", "provider"),
        ("\nscripted", "\nelsewhere", "unknown provider"),
        ("\nscripted", "\nscripted\n\n### Provider\n\nelsewhere", "duplicate 'provider'"),
        ("### Name\n", "### Name\n\u202e", "name"),
        ("someone/new-1", "new-2; rm", "model"),
        ("0.40", "cheap", "input_price"),
        ("### Name", "### Nome", "key 'name' is missing"),
    ):
        file.write_text(ISSUE.replace(old, new).replace("new-1", "new-3"), encoding="utf-8")
        assert fault in bench("propose", str(file), *tiny.options()).fault


def test_plan_names_missing_keys(bench: Bench, tiny: Tiny) -> None:
    edit(tiny.models, "[providers.scripted]", '[providers.scripted]\napi_key_env = "TINY_API_KEY"')
    assert "set TINY_API_KEY" in bench("plan", "tiny", *tiny.options()).out
    plan = json.loads(bench("plan", "tiny", "--format", "json", *tiny.options()).out)
    assert plan[0]["missing_keys"] == {"TINY_API_KEY": ["asker", "bard", "strict"]}


def test_folders_of_prompts_lie_on_top_of_each_other(bench: Bench, tiny: Tiny) -> None:
    above = tiny.root / "above"
    (above / "characters" / "en").mkdir(parents=True)
    text = tiny.card_file.read_text(encoding="utf-8").replace("Anna", "Clara")
    (above / "characters" / "en" / "clara.toml").write_text(text, encoding="utf-8")
    words = ["--prompts", str(tiny.prompts), "--prompts", str(above)]
    options = [*words, *(word for word in tiny.options() if word not in words)]
    assert (
        bench("new", "suite", "mine", "-c", "anna,clara", "-s", "hello", "-j", "strict", *options).status == 0
    )
    assert (above / "pingpong_v2" / "mine.toml").is_file()
    assert bench("run", "mine", "-p", "bard", *options).status == 0


@pytest.mark.parametrize(
    "words", [["import", "card", "{card}", "-l", "en"], ["new", "character", "x"], ["new", "situation", "x"]]
)
def test_nothing_is_written_in_a_folder_that_is_not_dramaturgs(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (tmp_path / "card.json").write_text(json.dumps(CARD), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ended = bench(*(word.format(card=tmp_path / "card.json") for word in words))
    assert "no such folder" in ended.fault
    assert bytes_below(tmp_path).keys() == {"card.json"}
