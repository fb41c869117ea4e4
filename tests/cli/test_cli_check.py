"""``bench check``: every fault of prompts and catalogue at once, with file and line."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from bench.run import checking, processes
from bench.run.checking import check_all
from tests.cli.conftest import Bench
from tests.tiny import Tiny, edit


def test_check_lists_every_fault_with_file_and_line(bench: Bench, tiny: Tiny) -> None:
    edit(tiny.card_file, "tags", "tagz")
    edit(tiny.card_file, 'style = "prose"', "style = 3")
    edit(tiny.situation_file, 'kind = "common"', 'kind = "commn"')
    edit(tiny.suite_file, '"storm"', '"strm"')
    edit(tiny.suite_file, '["strict"]', '["strct"]')
    edit(tiny.models, 'provider = "plain"', 'provider = "plan"')
    edit(tiny.models, 'name = "Lenient"\n', "")
    with tiny.models.open("a", encoding="utf-8") as catalog:
        catalog.write('[models."a/b"]\nprovider = "plain"\nmodel = "x"\nname = "x"\n')
    edit(tiny.suite_file, "[languages.en]", "[languages.zz]\n[languages.en]")
    (tiny.prompts / "pingpong_v2" / "player.jinja").write_text("\n{% if %}", encoding="utf-8")
    started = time.perf_counter()
    ended = bench("check", *tiny.options())
    assert time.perf_counter() - started < 1
    text = ended.out.replace(f"{tiny.root}/", "")
    for line in (
        "prompts/characters/en/anna.toml:9: unknown key 'tagz' (did you mean 'tags'?)",
        "prompts/characters/en/anna.toml:11: style: Input should be a valid string",
        "prompts/situations/en/hello.toml:4: kind: Input should be 'common' or 'attack'",
        "prompts/pingpong_v2/player.jinja:2: malformed template",
        "models.toml:24: unknown provider 'plan'. Did you mean 'plain'?",
        "models.toml:49: key 'name' is missing",
        "'a/b' is not a usable id",
        "unknown language 'zz'",
        "unknown model 'strct'. Did you mean 'strict'?",
        "unknown situation 'strm'. Did you mean 'storm'?",
    ):
        assert line in text, (line, text)
    assert ended.status == 1
    faults = json.loads(bench("check", "--format", "json", *tiny.options()).out)["faults"]
    assert len(faults) == len(text.splitlines()) - 2  # what was not checked, and the sum


@pytest.mark.parametrize(
    ("old", "new", "unchecked"),
    [
        ('provider = "plain"', 'provider = "plan"', "whether the judges of a suite are one model"),
        ("[models.actor]", "[models.actor", "which models suites name, and whether the judges"),
    ],
)
def test_suites_are_checked_while_the_catalogue_is_faulty(
    bench: Bench, tiny: Tiny, old: str, new: str, unchecked: str
) -> None:
    edit(tiny.models, old, new)
    edit(tiny.suite_file, "[player]", "[options]\nx = 1\n[player]")
    (tiny.prompts / "pingpong_v2" / "player.jinja").write_text("{{ character.nam }}", encoding="utf-8")
    ended = bench("check", *tiny.options())
    assert "tiny.toml:10: unknown key" in ended.out, ended.out
    assert ended.out.splitlines()[-2].startswith(f"Not checked: {unchecked}")
    assert str(tiny.models) in ended.out.splitlines()[-2]
    edit(tiny.suite_file, "[options]\nx = 1\n", "")
    assert "player.jinja:1: cannot be rendered" in bench("check", *tiny.options()).out


def test_a_fault_that_the_protocol_of_a_suite_finds_has_file_and_line(tiny: Tiny) -> None:
    edit(tiny.suite_file, "[player]", "[options]\nx = 1\n[player]")
    (fault,) = check_all((tiny.prompts,), tiny.models).faults
    place, _, line = fault.where.rpartition(":")
    assert place == str(tiny.suite_file)
    assert tiny.suite_file.read_text(encoding="utf-8").splitlines()[int(line) - 1] == "[options]"


def test_check_names_every_template_that_cannot_be_rendered_with_its_line(tiny: Tiny) -> None:
    folder = tiny.prompts / "pingpong_v2"
    for role, text in {
        "player": "\n{{ character.nam }}",
        "interrogator": "{% for m in messages %}\n\n{{ m.text }}{% endfor %}",
        "judge": "{{ 1 // (turns - turns) }}",
    }.items():
        (folder / f"{role}.jinja").write_text(text, encoding="utf-8")
    faults = check_all((tiny.prompts,), tiny.models).faults
    assert [(Path(fault.where).name, fault.what.partition(":")[0]) for fault in faults] == [
        ("interrogator.jinja:3", "cannot be rendered"),
        ("judge.jinja:1", "cannot be rendered"),
        ("player.jinja:2", "cannot be rendered"),
    ]


def test_check_reads_probes_before_a_suite_plays_their_card(tiny: Tiny) -> None:
    folder = tiny.prompts / "card_probes" / "en"
    folder.mkdir(parents=True)
    (folder / "_shared.toml").write_text("[patterns]\n", encoding="utf-8")
    text = '\n[[probe]]\nid = "one"\nkind = "odd"\nmessages = ["?"]\naccept = ["a"]\n'
    more = "right = ['a', 'a', 'a']\nwrong = ['b', 'b', 'b']\n"
    (folder / "anna.toml").write_text(text + more, encoding="utf-8")
    (fault,) = check_all((tiny.prompts,), tiny.models).faults
    assert fault.where == f"{folder / 'anna.toml'}:2"
    assert fault.what.startswith("kind: ")


def test_check_lists_a_card_that_two_folders_have_with_the_other_faults(tiny: Tiny) -> None:
    above = tiny.root / "above"
    (above / "characters" / "en").mkdir(parents=True)
    (above / "characters" / "en" / "anna.toml").write_bytes(tiny.card_file.read_bytes() + b"tagz = 1\n")
    whats = [fault.what for fault in check_all((tiny.prompts, above), tiny.models).faults]
    assert [what.partition(" (")[0] for what in whats] == [
        "unknown key 'tagz'",
        "two files are called 'anna.toml'",
    ]


def test_check_names_files_in_folders_that_nothing_reads(tiny: Tiny) -> None:
    for source, folder in (
        (tiny.suite_file, "pingpong_v3"),
        (tiny.card_file, "characters/english"),
        (tiny.situation_file, "situations"),
    ):
        (tiny.prompts / folder).mkdir(exist_ok=True)
        (tiny.prompts / folder / "new.toml").write_bytes(source.read_bytes())
    faults = [
        fault.line().replace(f"{tiny.prompts}/", "")
        for fault in check_all((tiny.prompts,), tiny.models).faults
    ]
    assert [fault.split(". ")[0] for fault in faults] == [
        "characters/english/new.toml: unknown language 'english'",
        "pingpong_v3/new.toml: unknown protocol 'pingpong_v3'",
        "situations/new.toml: a situation must be in the folder of its language",
    ]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('name = "Lenient"', 'name = " "', "name"),
        ('name = "Lenient"', 'name = "Lenient"\nparameters_billion = inf', "parameters_billion"),
        ('base_url = "http://', 'base_url = "htp://', "write an address that begins with http://"),
        ('model = "', 'model = "\\u0000', "model"),
    ],
)
def test_values_of_models_that_cannot_be_are_faults(tiny: Tiny, old: str, new: str, fault: str) -> None:
    edit(tiny.models, old, new)
    assert fault in check_all((tiny.prompts,), tiny.models).faults[0].what


def test_check_finds_the_same_faults_without_a_second_process(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    for protocol in ("human_likeness", "pingpong_v1", "pingpong_v2", "speech_roleplay"):
        (tiny.prompts / protocol).mkdir(exist_ok=True)
        (tiny.prompts / protocol / "player.jinja").write_text("{% if %}", encoding="utf-8")
        (tiny.prompts / protocol / f"{protocol}.toml").write_text('title = "T"', encoding="utf-8")
    here = os.getpid()
    found = [fault.line() for fault in check_all((tiny.prompts,), tiny.models).faults]
    assert len(found) >= 8
    dead = processes.beside(lambda: os._exit(1) if os.getpid() != here else "done here")
    assert dead() == "done here"
    monkeypatch.setattr(checking, "beside", lambda work: work)
    assert found == [fault.line() for fault in check_all((tiny.prompts,), tiny.models).faults]


def test_check_finds_nothing_in_the_shipped_files(bench: Bench) -> None:
    root = Path(__file__).parents[2]
    ended = bench("check", "--prompts", str(root / "prompts"), "--models", str(root / "models.toml"))
    assert ended.out.splitlines()[-1].endswith(" 0 mistakes"), ended.out
