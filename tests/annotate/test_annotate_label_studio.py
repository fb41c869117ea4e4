"""The project that annotators see: readable, blind, and without a way for a model's text to do anything."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.annotate.guideline import guideline_of, load_guideline
from bench.annotate.label_studio import interface, project_of
from bench.errors import CatalogError, UserError
from bench.records import sealed
from bench.results import ResultsTree
from bench.results.studies import StudyFile, write_study
from tests.annotate.studies import CRITERIA, HOSTILE, PROMPTS, make_hostile, make_study


class Text(HTMLParser):
    """The tags of a fragment, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def study(tmp_path: Path) -> StudyFile:
    return make_study(tmp_path, hostile=True)


def tasks_of(root: Path, study: StudyFile) -> list[dict[str, str]]:
    made = project_of(ResultsTree(root), study, load_guideline(PROMPTS, study.language))
    return [task["data"] for task in made.tasks]


def test_a_tasks_html_is_ours_alone_and_shows_what_was_said(tmp_path: Path, study: StudyFile) -> None:
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\x1b", "\ufffd")
    for task in tasks_of(tmp_path, study):
        for part, times in (("card", 1), ("dialogue", 2)):
            read = Text(task[part])
            assert read.tags <= {"div", "b"}
            assert read.attributes <= {"dir", "style"}
            assert read.text.count(shown) == times


def test_a_dialogue_has_every_message_in_order(tmp_path: Path, study: StudyFile) -> None:
    tree = ResultsTree(tmp_path)
    for item, task in zip(study.items, tasks_of(tmp_path, study), strict=True):
        talks = tree.conversations(study.suite, study.language, item.player)
        (talk,) = [t for t in talks if (t.character, t.situation) == (item.character, item.situation)]
        text = Text(task["dialogue"]).text
        at = 0
        for message in talk.messages[2:]:
            at = text.index(message.content, at) + len(message.content)
        assert text.count("Bot") == text.count("User") == len(talk.messages) // 2


def test_a_task_names_neither_player_nor_judge(tmp_path: Path, study: StudyFile) -> None:
    for item, task in zip(study.items, tasks_of(tmp_path, study), strict=True):
        assert set(task) == {"item", "card", "dialogue"}
        assert task["item"] == item.item
        assert not re.search(r"player-\d|judge-\d|nowhere", str(task))


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_interface_asks_the_three_criteria_by_their_scale_and_the_refusal(language: str) -> None:
    root = ElementTree.fromstring(interface(load_guideline(PROMPTS, language)))
    choices = {tag.get("name"): tag for tag in root.iter("Choices")}
    assert list(choices) == [*CRITERIA, "refusal"]
    for name in CRITERIA:
        assert [choice.get("alias") for choice in choices[name]] == ["1", "2", "3", "4", "5"]
    assert [choice.get("alias") for choice in choices["refusal"]] == ["no", "yes"]
    keys = [choice.get("hotkey") for choice in root.iter("Choice")]
    assert len(set(keys)) == len(keys) == 17
    assert all(keys)
    assert {tag.get("toName") for tag in [*choices.values(), *root.iter("TextArea")]} == {"dialogue"}
    assert [tag.get("name") for tag in root.iter("TextArea")] == ["comment"]
    assert [tag.get("value") for tag in root.iter("HyperText")] == ["$card", "$dialogue"]


@pytest.mark.parametrize("language", ["en", "ru", "de", "ja"])
def test_the_guideline_says_what_the_interface_asks(language: str) -> None:
    guideline = load_guideline(PROMPTS, language)
    text = Text(guideline.as_html())
    assert text.tags <= {"h3", "p", "b", "br"}
    for question in guideline.entry.criteria.values():
        assert question.label in text.text
        assert question.statement in text.text
    for word in guideline.entry.scale:
        assert word in text.text
    assert [c.name for c in guideline.criteria()] == list(CRITERIA)
    assert {(c.low, c.high) for c in guideline.criteria()} == {(1, 5)}


@pytest.mark.parametrize("language", ["ru", "de", "ja"])
def test_all_guidelines_have_the_same_parts(language: str) -> None:
    english, other = (load_guideline(PROMPTS, name).entry for name in ("en", language))
    assert english.version == other.version
    assert list(english.criteria) == list(other.criteria)
    for name, question in english.criteria.items():
        assert len(question.hints) == len(other.criteria[name].hints)
    for part in ("introduction", "closing"):
        assert getattr(english, part).count("\n\n") == getattr(other, part).count("\n\n")


def test_a_language_without_a_guideline_names_those_there_are() -> None:
    with pytest.raises(CatalogError, match=r"no guideline.*'fr'.*--guideline: de, en, ja, ru"):
        load_guideline(PROMPTS, "fr")


def test_a_guideline_that_changed_is_not_shown_under_the_old_study(tmp_path: Path) -> None:
    folder = tmp_path / "annotation"
    folder.mkdir()
    text = (PROMPTS / "annotation" / "en.toml").read_text(encoding="utf-8")
    (folder / "en.toml").write_text(text.replace('version = "2"', 'version = "3"'), encoding="utf-8")
    assert guideline_of(tmp_path, "en-3").id == "en-3"
    with pytest.raises(UserError, match=r"uses guideline en-2, and the file holds en-3"):
        guideline_of(tmp_path, "en-2")


def test_conversations_that_changed_or_went_are_not_shown_for_those_that_were_drawn(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    tree = ResultsTree(tmp_path)
    make_hostile(tree, "en")
    with pytest.raises(UserError, match=r"have changed since first was drawn"):
        tasks_of(tmp_path, study)
    for talk in list(tree.conversations(study.suite, "en", "player-01")):
        tree.conversation_path(talk).unlink()
    gone = study.model_copy(update={"items": tuple(i for i in study.items if i.player == "player-01")})
    with pytest.raises(UserError, match="is gone"):
        tasks_of(tmp_path, gone)


def test_a_study_whose_conversations_are_not_here_cannot_be_sent(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    bare = [item.model_copy(update={"character": None, "situation": None}) for item in study.items]
    imported = study.model_copy(update={"items": tuple(bare), "origin": "elsewhere"})
    write_study(tmp_path, imported)
    with pytest.raises(UserError, match="not in the results"):
        tasks_of(tmp_path, imported)


def test_words_of_a_guideline_cannot_break_the_interface(tmp_path: Path) -> None:
    guideline = load_guideline(PROMPTS, "en")
    words = guideline.entry.words.model_copy(update={"card": '"/><b> & </View>', "comment": "'\"<>"})
    entry = guideline.entry.model_copy(update={"words": words, "scale": ('"', "<", ">", "&", "'")})
    root = ElementTree.fromstring(interface(type(guideline)("en", entry)))
    assert next(root.iter("Panel")).get("value") == words.card
    assert [c.get("value") for c in root.iter("Choice")][:5] == ['1: "', "2: <", "3: >", "4: &", "5: '"]


def test_one_edited_digest_does_not_matter_only_the_words_do(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    tree = ResultsTree(tmp_path)
    for talk in list(tree.conversations(study.suite, "en", "player-01")):
        tree.write_conversation(sealed(talk.model_copy(update={"repairs": ("turn 1: x",)})), replace=True)
    assert len(tasks_of(tmp_path, study)) == len(study.items)
