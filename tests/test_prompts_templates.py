"""Templates that are wrong, and how templates are found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.errors import CatalogError
from bench.prompts import PromptSet
from tests.test_prompts import CARD, ROLES, TALK
from tests.tiny import TEMPLATES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in TEMPLATES.glob("*.jinja"):
        shutil.copy(path, tmp_path)
    return tmp_path


def test_a_missing_template_is_named(folder: Path) -> None:
    (folder / "judge.jinja").unlink()
    with pytest.raises(CatalogError, match=r"judge\.jinja: no such file"):
        PromptSet(folder, "en", ROLES)


def test_a_malformed_template_is_named_with_its_line(folder: Path) -> None:
    (folder / "judge.jinja").write_text("one\n{% if %}", encoding="utf-8")
    with pytest.raises(CatalogError, match=r"judge\.jinja:2: malformed template"):
        PromptSet(folder, "en", ROLES)


@pytest.mark.parametrize(
    "template", ["{{ nobody }}", "{{ turns + 'x' }}", "{{ turns / 0 }}", "{{ messages[99].content }}"]
)
def test_a_template_that_fails_is_named_with_its_line(folder: Path, template: str) -> None:
    (folder / "judge.jinja").write_text(f"one\n{template}", encoding="utf-8")
    prompts = PromptSet(folder, "en", ROLES)
    with pytest.raises(CatalogError, match=r"judge\.jinja:2: cannot be rendered") as caught:
        prompts.judge(CARD, TALK)
    assert "\n" not in caught.value.line()


@pytest.mark.parametrize(
    "template",
    ["{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}", "{{ self.__init__.__globals__ }}"],
)
def test_a_template_gets_no_way_out(folder: Path, template: str) -> None:
    (folder / "judge.jinja").write_text(template, encoding="utf-8")
    prompts = PromptSet(folder, "en", ROLES)
    with pytest.raises(CatalogError):
        prompts.judge(CARD, TALK)


def test_a_language_may_have_a_template_of_its_own(folder: Path) -> None:
    (folder / "judge.eo.jinja").write_text("Juĝu.", encoding="utf-8")
    assert PromptSet(folder, "eo", ROLES).judge(CARD, TALK) == "Juĝu."
    assert PromptSet(folder, "en", ROLES).judge(CARD, TALK) != "Juĝu."


def test_the_hash_of_a_template_changes_with_its_text(folder: Path) -> None:
    before = PromptSet(folder, "en", ROLES)
    path = folder / "judge.jinja"
    path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")
    after = PromptSet(folder, "en", ROLES)
    assert before.sha256("judge") != after.sha256("judge")
    assert before.sha256("player") == after.sha256("player")
