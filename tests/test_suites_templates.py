"""The templates of a suite."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.errors import CatalogError
from bench.suites import load_suite
from tests.tiny import ROOT, TEMPLATES, Tiny, edit, make_tiny, name_templates


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


def refused(tiny: Tiny) -> CatalogError:
    with pytest.raises(CatalogError) as caught:
        load_suite(tiny.prompts, "tiny")
    assert "\n" not in caught.value.line()
    return caught.value


def test_a_suite_uses_the_templates_of_the_folder_that_it_names(tiny: Tiny) -> None:
    cell = tiny.cell()
    before = tiny.protocol()
    folder = name_templates(tiny, TEMPLATES)
    same = tiny.protocol()
    assert same.conversation_fingerprint(cell) == before.conversation_fingerprint(cell)
    assert same.judgement_fingerprint(cell, "strict", "x") == before.judgement_fingerprint(
        cell, "strict", "x"
    )
    edit(folder / "player.jinja", "Stay {{ character.char_name }}", "Remain {{ character.char_name }}")
    other = tiny.protocol()
    assert "Remain Anna" in other.player_prompt(cell)
    assert other.conversation_fingerprint(cell) != before.conversation_fingerprint(cell)


@pytest.mark.parametrize("name", ["../pingpong_v2", "a/b", "/tmp", ".", "..", "Own", "own\\\\n"])
def test_templates_lie_in_the_protocols_folder(tiny: Tiny, name: str) -> None:
    edit(tiny.suite_file, 'version = "1"', f'version = "1"\ntemplates = "{name}"')
    assert "templates" in refused(tiny).line()


def test_a_folder_of_templates_that_is_missing_is_named(tiny: Tiny) -> None:
    edit(tiny.suite_file, 'version = "1"', 'version = "1"\ntemplates = "templates-9"')
    with pytest.raises(CatalogError, match=r"no template of the player in .*/templates-9\."):
        tiny.protocol()


def test_a_folder_of_templates_leads_nowhere_else(tiny: Tiny, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(TEMPLATES, elsewhere)
    (tiny.suite_file.parent / "own").symlink_to(elsewhere)
    edit(tiny.suite_file, 'version = "1"', 'version = "1"\ntemplates = "own"')
    with pytest.raises(CatalogError):
        tiny.protocol()


def test_a_changed_declaration_makes_only_those_judgements_stale_whose_judge_reads_it(tiny: Tiny) -> None:
    def fingerprints() -> tuple[str, str]:
        made, cell = tiny.protocol(), tiny.cell()
        return made.conversation_fingerprint(cell), made.judgement_fingerprint(cell, "strict", "x")

    for reads in (False, True):
        if reads:
            name_templates(tiny, TEMPLATES / "templates-2")
        before = fingerprints()
        edit(tiny.card_file, 'tags = ["test"]', f'tags = ["test"]\nunknown = ["{reads}"]')
        after = fingerprints()
        edit(tiny.card_file, f'\nunknown = ["{reads}"]', "")
        assert after[0] == before[0]
        assert (after[1] != before[1]) == reads


def test_the_second_suite_of_version_1_samples_as_the_original_did() -> None:
    suite = load_suite(ROOT / "prompts", "pingpong-v1-2")
    assert suite.entry.interrogator is not None
    sampling = suite.entry.interrogator.sampling
    assert (sampling.temperature, sampling.top_p) == (0.1, 0.9)
