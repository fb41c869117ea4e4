"""Any language that Babel knows: its name in prompts, its templates, and errors where they are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import CatalogError
from bench.prompts import PromptSet
from bench.suites import load_suite
from bench.suites.languages import known_language, language_name, script_of, writing_direction
from tests.test_prompts import CARD
from tests.tiny import ROOT, Tiny, edit, make_tiny, name_templates

FOLDERS = [
    max(folder.glob("templates-*"), default=folder)
    for folder in sorted((ROOT / "prompts").iterdir())
    if (folder / "player.jinja").exists()
]
"""The newest templates of each protocol whose player gets text."""


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


def test_names_are_those_that_people_use() -> None:
    names = {
        "de": "German",
        "ja": "Japanese",
        "ru": "Russian",
        "ar": "Arabic",
        "zh-hant": "Chinese (Traditional)",
    }
    assert {tag: language_name(tag) for tag in names} == names
    assert language_name("de", "de") == "Deutsch"
    assert language_name("en", "ja") == "英語"
    assert language_name("de", "ru") == "немецкий"
    assert language_name("nonsense") == "nonsense"


@pytest.mark.parametrize(
    "tag", ["xx", "tlh", "english", "", "c", "posix", "root", "en_us", "de-xx", "ÄÖ", "../x"]
)
def test_a_tag_that_names_no_language_is_not_known(tag: str) -> None:
    assert not known_language(tag)
    assert writing_direction(tag) == "ltr"
    assert script_of(tag) == ""


def test_languages_know_their_direction() -> None:
    assert [tag for tag in ("ar", "de", "fa", "he", "ja", "ur", "yi") if writing_direction(tag) == "rtl"] == [
        "ar",
        "fa",
        "he",
        "ur",
        "yi",
    ]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
@pytest.mark.parametrize(
    ("tag", "name"), [("cs", "Czech"), ("de", "Deutsch|German"), ("ja", "日本語|Japanese"), ("ru", "русски")]
)
def test_every_player_is_told_the_language_in_words(folder: Path, tag: str, name: str) -> None:
    text = PromptSet(folder, tag, ["player"]).render(
        "player",
        character=CARD.model_dump(),
        symmetric=False,
        situation="",
        name="Anna",
        profile="A keeper.",
        history=[],
        partner="user",
    )
    assert any(word in text for word in name.split("|"))


@pytest.mark.parametrize("path", sorted((ROOT / "prompts").glob("*/**/*.jinja")), ids=lambda path: path.name)
def test_no_template_prints_a_tag_in_place_of_a_language(path: Path) -> None:
    assert "{{ language }}" not in path.read_text(encoding="utf-8")


def test_templates_fall_back_to_the_more_general_tag_and_then_to_english(tiny: Tiny) -> None:
    folder = name_templates(tiny, ROOT / "prompts" / "pingpong_hard")
    (folder / "player.pt.jinja").write_text("Responde em {{ language_name }}.", encoding="utf-8")
    assert PromptSet(folder, "pt-br", ["player"]).render("player") == "Responde em português (Brasil)."
    english = PromptSet(folder, "cs", ["judge"]).judge(CARD, ())
    assert "The Czech of the answer is flawless" in english


def said_of(tiny: Tiny, old: str, new: str) -> str:
    edit(tiny.suite_file, old, new)
    with pytest.raises(CatalogError) as caught:
        load_suite(tiny.prompts, "tiny")
    return caught.value.line()


def line_of(tiny: Tiny, text: str) -> str:
    lines = tiny.suite_file.read_text(encoding="utf-8").split("\n")
    return f"{tiny.suite_file}:{lines.index(text) + 1}: "


def test_an_unknown_tag_is_named_with_its_line(tiny: Tiny) -> None:
    said = said_of(tiny, "[languages.en]", "[languages.xx]")
    assert said.startswith(line_of(tiny, "[languages.xx]"))
    assert "unknown language 'xx'" in said


def test_a_language_without_a_template_is_named_with_its_line(tiny: Tiny) -> None:
    folder = name_templates(tiny, ROOT / "prompts" / "pingpong_v2" / "templates-2")
    (folder / "judge.jinja").rename(folder / "judge.de.jinja")
    said = said_of(tiny, "[languages.en]", "[languages.en] ")
    assert said.startswith(line_of(tiny, "[languages.en] "))
    assert "language 'en' has no template of the judge" in said
    assert "judge.en.jinja" in said
