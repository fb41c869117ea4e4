"""Community character cards: read from every kind of file, macros settled, exported whole."""

from __future__ import annotations

import base64
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.errors import UserError
from bench.interop.card_files import card_bytes, read_card
from bench.interop.card_format import Choices
from bench.interop.card_import import export_card, import_card
from bench.suites import Card, read_entry
from bench.suites.macros import settled
from tests.interop.card_cases import BOOK, LONG_NAME, V1, V2, V3, b64, charx, imported, png

GOOD: dict[str, Callable[[], bytes]] = {
    "v1.json": lambda: json.dumps(V1).encode(),
    "v2.json": lambda: b"\xef\xbb\xbf" + json.dumps(V2).encode(),
    "v3.json": lambda: json.dumps(V3).encode(),
    "v2.png": lambda: png(("chara", b64(V2))),
    "v3.png": lambda: png(("chara", b64({"name": "the old one"})), ("ccv3", b64(V3))),
    "late.png": lambda: png(("ccv3", b64(V3)), late=True),
    "v3-packed.png": lambda: png(("chara", b64({"name": "the old one"})), ("ccv3", b64(V3)), kind="zTXt"),
    "v3-unicode.png": lambda: png(("ccv3", b64(V3)), kind="iTXt"),
    "packed-unicode.png": lambda: png(("chara", b64(V2)), kind="iTXz"),
    "large.png": lambda: png(("ccv3", b64(V3)), padding=50_000_000),
    "v3.charx": lambda: charx(json.dumps(V3).encode()),
    "ours.png": lambda: card_bytes(V3, "png"),
    "ours.charx": lambda: card_bytes(V3, "charx"),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_card_is_imported_from_every_kind_of_file(prompts: Path, name: str) -> None:
    card, path, _ = imported(prompts, name, GOOD[name]())
    nickname = "v3" in name or "l" in name[0] or "ours" in name
    assert card.char_name == ("Holm" if nickname else "Käpt'n Holm")
    assert path.name == ("holm.toml" if nickname else "kapt-n-holm.toml")
    shown = settled(card, "card", "suite", "id")
    assert shown.system_prompt.startswith(f"{card.char_name} steuert seit vierzig Jahren die Fähre.")
    labelled = "Persönlichkeit: Wortkarg, freundlich.\n\nSzenario: User steht nachts am Anleger."
    assert labelled in shown.system_prompt
    assert shown.initial_message == "Moin. Letzte Fähre, User."
    first, second = shown.example_prompt.split("\n\n")
    assert first == f"User: Fährt noch was?\n{card.char_name}: Wat mutt, dat mutt."
    assert second == "User: Danke."


def test_a_card_without_a_licence_is_private(prompts: Path) -> None:
    card, path, _ = imported(prompts, "a.json", json.dumps(V2).encode(), licence=" ")
    private = prompts.parent / "private"
    assert card.private
    assert path == private / "characters" / "de" / "kapt-n-holm.toml"
    assert (private / ".gitignore").read_text() == "*\n"
    card, path, _ = imported(
        prompts, "b.json", json.dumps(V2 | {"data": V2["data"] | {"name": "B"}}).encode(), licence="CC0-1.0"
    )
    assert (card.private, card.licence, path.parents[2]) == (False, "CC0-1.0", prompts)
    with pytest.raises(UserError, match="holds cards that are not private"):  # git would ignore all of them
        import_card(prompts.parent / "a.json", [private, prompts], "de", Choices())
    assert not (prompts / ".gitignore").exists()


def test_the_lorebook_becomes_entries_with_keys_and_what_is_constant_becomes_text(prompts: Path) -> None:
    card, _, notes = imported(prompts, "a.json", json.dumps(V2).encode())
    assert [entry.model_dump() for entry in card.lorebook] == [
        {"keys": ("lamp", "light"), "content": "The lamp has a blue glass.", "scan_depth": 4},
        {"keys": ("loop",), "content": "loop loop loop", "scan_depth": 4},
    ]
    assert "The tide turns at nine." in card.system_prompt
    assert "Pit" not in card.system_prompt
    assert any("--instructions" in note for note in notes)


def test_instructions_and_other_greetings_come_on_request(prompts: Path) -> None:
    card, _, _ = imported(prompts, "a.json", json.dumps(V2).encode(), instructions=True, greeting=2)
    assert card.initial_message == "Third hello."
    assert card.system_prompt.startswith("Stay brief.\n\n{{char}} steuert")
    assert card.system_prompt.endswith("Never shout.")


def test_the_note_of_a_character_is_one_of_its_instructions(prompts: Path) -> None:
    note = {"depth_prompt": {"prompt": "Stay in the rain.\r\n", "depth": 4, "role": "system"}}
    data = json.dumps(V1 | {"extensions": note}).encode()
    card, path, notes = imported(prompts, "a.json", data)
    assert "rain" not in card.system_prompt
    assert notes == ("its own instructions are left out; --instructions takes them",)
    path.unlink()
    card, path, notes = imported(prompts, "a.json", data, instructions=True)
    assert card.system_prompt.endswith("\n\nStay in the rain.")
    assert notes == ()
    back = read_card(export_card([path.parents[2]], "de", path.stem, prompts.parent / "x.json"))
    assert back["data"]["description"] == V1["description"]
    imported(prompts, "b.json", json.dumps(V1 | {"name": "B", "extensions": {"depth_prompt": [1]}}).encode())


def test_draws_of_macros_depend_on_the_suite_and_the_card_alone(prompts: Path) -> None:
    text = "{{random:red,green,blue}} {{pick::a::b::c}} {{roll:d20}} {{roll:6}}"
    text += " {{// note}}{{reverse:abc}} {{other:x}}"
    data = {"name": "{{char}}", "description": text + " {{random:{{char}},{{user}}}}"}
    card, _, _ = imported(prompts, "a.json", json.dumps(data).encode())
    one, same, other = (settled(card, "card", suite, "id").system_prompt for suite in ("s", "s", "t"))
    assert one == same
    assert len({settled(card, "card", f"suite-{n}", "id").system_prompt for n in range(20)}) > 10
    colour, letter, twenty, six, reverse, unknown, nested = one.split()
    assert colour in {"red", "green", "blue"}
    assert letter in {"a", "b", "c"}
    assert 1 <= int(twenty) <= 20
    assert 1 <= int(six) <= 6
    assert (reverse, unknown) == ("cba", "{{other:x}}")
    assert nested in {"{{char}}", "User"}  # what a macro gives is not searched again
    assert other != one or settled(card, "card", "u", "id").system_prompt != one


@pytest.mark.parametrize("form", ["json", "png", "charx"])
@pytest.mark.parametrize("card", [V1, V2, V3, LONG_NAME], ids=["v1", "v2", "v3", "name"])
def test_a_round_trip_loses_nothing(prompts: Path, card: dict[str, Any], form: str) -> None:
    _, path, _ = imported(prompts, "a.json", json.dumps(card).encode(), instructions=True, greeting=0)
    layers = [prompts, path.parents[2]]
    output = export_card(layers, "de", path.stem, prompts.parent / f"out.{form}")
    back = read_card(output)
    assert back["spec"] == "chara_card_v3"
    data = card.get("data", card)
    assert {key: back["data"][key] for key in data} == data
    assert back["data"].get("extensions", {}) == data.get("extensions", {})
    if card is V3:
        assert back == V3
    again = import_card(output, layers, "de", Choices(instructions=True), name="again")
    fields = read_entry(Card, again.path, again.path.parents[2])
    assert fields == read_entry(Card, path, path.parents[2])


def test_our_own_card_survives_the_way_out_and_back(prompts: Path) -> None:
    own = Path(__file__).parents[2] / "prompts"
    for path in sorted((own / "characters" / "en").glob("*.toml")):
        output = export_card([own], "en", path.stem, prompts.parent / "card.png")
        made = import_card(output, [prompts], "en", Choices(licence="MIT"), name=path.stem)
        before, after = (read_entry(Card, p, p.parents[2]) for p in (path, made.path))
        stripped = {key: v.strip() for key, v in before.model_dump().items() if isinstance(v, str)}
        assert after == before.model_copy(update={**stripped, "licence": "MIT"})


def test_an_edited_card_is_exported_with_the_edit(prompts: Path) -> None:
    _, path, _ = imported(prompts, "a.json", json.dumps(V3).encode())
    text = path.read_text(encoding="utf-8").replace("seit vierzig Jahren", "seit gestern")
    path.write_text(text, encoding="utf-8")
    back = read_card(export_card([path.parents[2]], "de", path.stem, prompts.parent / "x.json"))["data"]
    assert "seit gestern" in back["description"]
    assert back["extensions"]["other/program"] == {"depth": [1, 2]}
    assert back["character_book"] == BOOK


def test_a_lorebook_of_sillytavern_keeps_its_words_and_decorators_decide(prompts: Path) -> None:
    def entry(*keys: str, content: str, **rest: object) -> dict[str, object]:
        return {"keys": list(keys), "content": content, "use_regex": True, "enabled": True, **rest}

    book = {
        "extensions": [],
        "entries": [
            entry("oven", "U.S.A.", "what?!", "{{char}}", content="Words.", extensions={"scan_depth": None}),
            entry("/cellar/i", "a|b", "colou?r", content="Patterns alone."),
            entry("rye", r"\\bbun\\b", content="Both.", selective=True, secondary_keys=["bread"]),
            entry("off", content="@@dont_activate\nNever."),
            entry("on", content="@@activate\nAlways."),
            entry("first", content="@@scan_depth 2\n@@unknown 1\n@@@depth 3\nNear."),
            entry("other", content="@@is_greeting 1\nWith the second greeting."),
            entry("late", content="@@activate_only_after 5\nLate."),
        ],
    }
    data = V1 | {"character_book": book, "alternate_greetings": ["x"], "extensions": []}
    card, path, notes = imported(prompts, "a.json", json.dumps(data).encode())
    assert [(entry.keys, entry.content, entry.scan_depth) for entry in card.lorebook] == [
        (("oven", "U.S.A.", "what?!", "{{char}}"), "Words.", None),
        (("rye",), "Both.", None),
        (("first",), "Near.", 2),
        (("late",), "Late.", None),
    ]
    assert card.system_prompt.endswith("\n\nAlways.")
    assert [note.rpartition(": ")[2][:13] for note in notes] == ["'rye', 'late'", "1 (without us"]
    back = read_card(export_card([path.parents[2]], "de", path.stem, prompts.parent / "x.json"))
    assert back["data"]["character_book"] == book


DIALECTS: dict[str, dict[str, Any]] = {
    "pygmalion": {
        "char_name": "Holm",
        "char_persona": "A ferryman.",
        "char_greeting": "Moin.",
        "world_scenario": "Night.",
        "example_dialogue": "{{char}}: Ja.",
    },
    "agnaistic": {
        "kind": "character",
        "name": "Holm",
        "description": "Notes of its writer.",
        "persona": {"kind": "text", "attributes": {"text": ["A ferryman."]}},
        "greeting": "Moin.",
        "scenario": "Night.",
        "sampleChat": "{{char}}: Ja.",
        "characterBook": {"entries": [{"entry": "Blue.", "keywords": ["lamp"], "weight": 1}]},
    },
}


@pytest.mark.parametrize("name", DIALECTS)
def test_cards_in_the_formats_of_other_programs_are_read(prompts: Path, name: str) -> None:
    card, _, _ = imported(prompts, "a.json", json.dumps(DIALECTS[name]).encode())
    assert card.char_name == "Holm"
    assert card.system_prompt == "A ferryman.\n\nSzenario: Night."
    assert (card.initial_message, card.example_prompt) == ("Moin.", "{{char}}: Ja.")
    assert [entry.content for entry in card.lorebook] == ["Blue."] * (name == "agnaistic")


def test_a_damaged_file_beside_a_card_is_named(prompts: Path) -> None:
    _, path, _ = imported(prompts, "a.charx", charx(json.dumps(V3).encode()))
    for suffix, form in ((".card.charx", "charx"), (".card.json", "json")):
        path.with_suffix(suffix).write_bytes(b"damaged")
        with pytest.raises(UserError) as error:
            export_card([path.parents[2]], "de", path.stem, prompts.parent / f"x.{form}")
        assert error.value.where == str(path.with_suffix(suffix))


@pytest.mark.parametrize("kind", ["tEXt", "zTXt", "iTXt"])
def test_an_export_leaves_no_old_card_in_the_picture(prompts: Path, kind: str) -> None:
    _, path, _ = imported(prompts, "a.png", png(("ccv3", b64(V3)), ("Comment", b"x"), kind=kind))
    output = export_card([path.parents[2]], "de", path.stem, prompts.parent / "out.png")
    assert (output.read_bytes().count(b"ccv3\0"), output.read_bytes().count(b"Comment\0")) == (1, 1)


def test_a_value_of_another_type_is_read_and_kept(prompts: Path) -> None:
    entries = {
        "0": {"keys": "lamp, light", "content": "Blue.", "insertion_order": "2", "enabled": "true"},
        "1": {"keys": [1999], "content": "A year.", "insertion_order": 1, "enabled": 1, "selective": "false"},
        "2": {"keys": ["off"], "content": "Off.", "enabled": "False"},
    }
    book = {"scan_depth": "3", "entries": entries}
    data = V1 | {"name": 26, "tags": "sea, night", "creator": 1.5, "character_book": book, "extensions": []}
    card, path, _ = imported(prompts, "a.json", json.dumps(data).encode())
    assert (card.char_name, card.tags, card.source) == ("26", ("sea", "night"), "Character card by 1.5")
    assert [(e.keys, e.content, e.scan_depth) for e in card.lorebook] == [
        (("1999",), "A year.", 3),
        (("lamp", "light"), "Blue.", 3),
    ]
    back = read_card(export_card([path.parents[2]], "de", path.stem, prompts.parent / "x.json"))
    assert {key: back["data"][key] for key in data} == data


def test_conditions_that_a_key_no_longer_has_are_named(prompts: Path) -> None:
    conditions: dict[str, dict[str, Any]] = {
        "case": {"case_sensitive": True},
        "inner": {"extensions": {"case_sensitive": True}},
        "chance": {"extensions": {"probability": 30, "useProbability": True}},
        "plain": {"extensions": {"probability": 100, "useProbability": True, "case_sensitive": None}},
        "unused": {"extensions": {"probability": 30, "useProbability": False}},
    }
    entries = [{"keys": [key], "content": "x", **more} for key, more in conditions.items()]
    data = V1 | {"character_book": {"entries": entries}}
    _, _, notes = imported(prompts, "a.json", json.dumps(data).encode())
    assert [note.rpartition(": ")[2] for note in notes] == ["'case', 'inner', 'chance'"]


def test_pictures_come_back_in_the_kind_of_file_that_they_came_in(prompts: Path) -> None:
    output = prompts.parent / "out.png"
    picture = png(
        ("chara", b64({"name": "old"})), ("ccv3", b64(V3)), ("chara-ext-asset_:1", b"UE5H"), late=True
    )
    _, path, _ = imported(prompts, "a.png", picture, licence="MIT")
    export_card([prompts], "de", path.stem, output)
    assert read_card(output) == V3
    assert b"chara-ext-asset_:1\0UE5H" in output.read_bytes()
    picture = output.read_bytes()
    at = picture.index(b"tEXtchara\0")  # for programs that know version 2 alone
    (length,) = struct.unpack(">I", picture[at - 4 : at])
    old = json.loads(base64.b64decode(picture[at + 10 : at + 4 + length]))
    assert (old["spec"], old["data"]) == ("chara_card_v2", V3["data"])
    assert zlib.compress(b"\0\0\0\0") in output.read_bytes()
    _, path, _ = imported(prompts, "b.charx", charx(json.dumps(V1).encode()))
    export_card([path.parents[2]], "de", path.stem, output.with_suffix(".charx"))
    with zipfile.ZipFile(output.with_suffix(".charx")) as archive:
        assert archive.namelist() == ["card.json"]  # the other name would lead out of a folder
    assert read_card(output.with_suffix(".charx"))["data"]["name"] == V1["name"]


MACROS = {
    "{{ Char }} {{USER}} <BOT> {{charIfNotGroup}}": "N User N N",
    "a{{original}}b{{// {{char}} }}c{{comment: x}}d{{trim}}e{{newline}}": "abcde\n",
    "{{{char}}} {{{{char}}}} {{ {{char}}": "{N} {{N}} {{ N",
    "{{random::a::a}} {{random a, a}} {{pick:a\\,b}}": "a a a,b",
    "{{roll:3d1}} {{roll 1d1}} {{roll::2d1+5}} {{roll:d1}} {{roll:1}}": "3 1 7 1 1",
    "{{time}} {{roll:x}} {{roll:0}} {{char card}}": "{{time}} {{roll:x}} {{roll:0}} {{char card}}",
}


@pytest.mark.parametrize("text", MACROS)
def test_macros_are_read_as_other_programs_write_them(text: str) -> None:
    card = Card(char_name="N", summary="s", system_prompt=text, source="s", style="s")
    assert settled(card, "card", "s").system_prompt == MACROS[text]


def test_an_entry_that_macros_empty_is_left_out_and_unknown_macros_are_named(prompts: Path) -> None:
    entries = [
        {"keys": ["{{// x}}"], "content": "x"},
        {"keys": ["a"], "content": "{{// x}}"},
        {"keys": ["a", "{{// x}}"], "content": "{{time}}"},
    ]
    data = V1 | {"character_book": {"entries": entries}}
    card, _, notes = imported(prompts, "a.json", json.dumps(data).encode())
    assert [entry.keys for entry in settled(card, "card", "s").lorebook] == [("a",)]
    assert notes == ("macros that are unknown here stay in the text: {{time}}",)


def test_macros_that_nest_or_repeat_without_end_are_quick_and_stay_small() -> None:
    name = "{{char}}" * 50
    text = "{{random:" * 5000 + "{{char}}" * 5000 + "}}" * 4000 + "{{" * 50_000
    card = Card(char_name=name, summary="s", system_prompt=text, source="s", style="s")
    assert len(settled(card, "card", "s").system_prompt) < 2_000_000


def test_an_id_that_is_taken_is_not_overwritten(prompts: Path) -> None:
    _, path, _ = imported(prompts, "a.json", json.dumps(V1).encode())
    before = path.read_bytes()
    with pytest.raises(UserError, match="already"):
        imported(prompts, "a.json", json.dumps(V1 | {"description": "Other."}).encode())
    assert path.read_bytes() == before
    for name in ("../x", "X", "a/b"):
        with pytest.raises(UserError, match="cannot name"):
            import_card(prompts.parent / "a.json", [prompts], "de", Choices(), name=name)
