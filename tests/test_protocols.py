"""What all protocols have in common: how they are found, and what of a suite they check."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import bench.protocols
from bench import protocol_facts
from bench.errors import CatalogError
from bench.protocol_facts import facts_of, known_protocols
from bench.protocols import Protocol, protocol_class, protocol_for
from bench.suites import load_suite
from tests.tiny import Tiny, edit, make_tiny

PROMPTS = Path(__file__).resolve().parents[1] / "prompts"


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


def refused(tiny: Tiny) -> str:
    with pytest.raises(CatalogError) as caught:
        protocol_for(load_suite(tiny.prompts, "tiny"), "en", tiny.catalog())
    return caught.value.line()


def test_every_module_is_a_protocol_and_has_a_folder_of_prompts() -> None:
    assert "pingpong_v2" in known_protocols()
    for name in known_protocols():
        kind = protocol_class(name)
        assert kind is not None
        assert issubclass(kind, Protocol)
        assert kind.__module__ == f"bench.protocols.{name}"
        for role in facts_of(name).roles:
            assert list((PROMPTS / name).glob(f"{role}*.jinja")), (name, role)


def test_all_criteria_of_a_protocol_share_a_scale() -> None:
    for name in known_protocols():
        criteria = facts_of(name).criteria
        assert len({(c.low, c.high) for c in criteria}) == 1
        assert all(c.low < c.high for c in criteria)


def test_a_shared_module_is_not_a_protocol() -> None:
    assert protocol_class("base") is None
    assert protocol_class("cards") is None
    assert protocol_class("nothing") is None


def test_a_module_elsewhere_on_the_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "echo.py").write_text(
        "from bench.protocols.pingpong_v2 import PingPongV2\nclass Echo(PingPongV2):\n    pass\n",
        encoding="utf-8",
    )
    (tmp_path / "echo.toml").write_text('roles = ["player"]\ncriteria = []\n', encoding="utf-8")
    monkeypatch.setattr(bench.protocols, "__path__", [*bench.protocols.__path__, str(tmp_path)])
    monkeypatch.setattr(protocol_facts, "FOLDERS", [*protocol_facts.FOLDERS, tmp_path])
    importlib.invalidate_caches()
    echo = protocol_class("echo")
    assert echo is not None
    assert echo.__name__ == "Echo"
    sys.modules.pop("bench.protocols.echo")


def test_a_protocol_with_an_interrogator_needs_one(tiny: Tiny) -> None:
    edit(tiny.suite_file, '[interrogator]\nmodels = ["asker"]\nsampling = { temperature = 0.8 }\n', "")
    assert "key 'interrogator' is missing" in refused(tiny)


def test_options_that_the_protocol_does_not_know_are_named(tiny: Tiny) -> None:
    edit(tiny.suite_file, "[limits]", "[options]\nloud = true\n\n[limits]")
    assert "suite tiny: options: unknown key 'loud'" in refused(tiny)


def test_items_are_no_scenes_of_a_protocol_that_plays_cards(tiny: Tiny) -> None:
    items = tiny.suite_file.with_name("set.jsonl")
    items.write_text('{"character": "ann", "situation": "one"}\n', encoding="utf-8")
    edit(tiny.suite_file, "[languages.en]", '[languages.en]\nitems = "set.jsonl"')
    assert "plays cards in situations" in refused(tiny)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no items"),
        ("\n\n", "no items"),
        ("{", "set.jsonl:1: malformed JSON"),
        ("[" * 100_000, "set.jsonl:1: malformed JSON"),
        ('{"character": ' + "9" * 6000 + "}", "set.jsonl:1: malformed JSON"),
        ("[]", "set.jsonl:1: the line is not a JSON object"),
        ('{"character": "ann"}', "key 'situation' is missing"),
        ('{"character": "ann", "situation": 1}', "key 'situation' is missing or not a string"),
        ('{"character": "../ann", "situation": "one"}', "'../ann' is not a usable id"),
        (
            '{"character": "ann", "situation": "one"}\n\n{"character": "ann", "situation": "one"}',
            "set.jsonl:3: duplicate item 'one' of character 'ann'",
        ),
    ],
)
def test_a_mistake_in_a_data_set_is_named_with_its_line(tiny: Tiny, text: str, said: str) -> None:
    tiny.suite_file.with_name("set.jsonl").write_text(text, encoding="utf-8")
    edit(tiny.suite_file, "[languages.en]", '[languages.en]\nitems = "set.jsonl"')
    assert said in refused(tiny)


@pytest.mark.parametrize(("content", "fault"), [(None, "no such file"), (b"\xff", "not UTF-8 at byte 0")])
def test_a_data_set_that_cannot_be_read_is_named(tiny: Tiny, content: bytes | None, fault: str) -> None:
    if content is not None:
        tiny.suite_file.with_name("set.jsonl").write_bytes(content)
    edit(tiny.suite_file, "[languages.en]", '[languages.en]\nitems = "set.jsonl"')
    assert f"set.jsonl: {fault}" in refused(tiny)


def test_items_are_the_scenes_of_a_suite(tiny: Tiny) -> None:
    lines = [
        '{"character": "ann", "situation": "two", "more": 1}',
        '{"character": "ann", "situation": "one"}',
    ]
    tiny.suite_file.with_name("set.jsonl").write_text("\n".join(lines), encoding="utf-8")
    edit(tiny.suite_file, "[languages.en]", '[languages.en]\nitems = "set.jsonl"')
    scenes = load_suite(tiny.prompts, "tiny").language("en")
    assert scenes.pairs == [("ann", "two"), ("ann", "one")]
    assert scenes.items[0].data == {"more": 1}
    assert scenes.items[1].where.endswith("set.jsonl:2")
