"""Suites, cards and situations: what is read, what is refused, and the repository's own."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from bench import cli
from bench.audit import audit_tree
from bench.boards.commit import committable
from bench.boards.loading import all_suites, load_board, write_board
from bench.catalog import Catalog, load_catalog
from bench.errors import CatalogError
from bench.run.checking import check_all
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from bench.suites import Card, SceneSet, Situation, Suite, load_suite, suite_files
from tests.tiny import ROOT, FakeChat, Tiny, edit, make_tiny, play_all

PROMPTS = ROOT / "prompts"
LANGUAGES = ("en", "ru")


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT / "models.toml")


@pytest.fixture(scope="module")
def pingpong() -> Suite:
    return load_suite(PROMPTS, "pingpong")


@pytest.fixture(params=LANGUAGES)
def scenes(request: pytest.FixtureRequest, pingpong: Suite) -> SceneSet:
    return pingpong.language(request.param)


def refused(tiny: Tiny) -> CatalogError:
    with pytest.raises(CatalogError) as caught:
        load_suite(tiny.prompts, "tiny")
    assert "\n" not in caught.value.line()
    return caught.value


# --- the repository's own --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(suite_files(PROMPTS)))
def test_every_suite_loads_and_its_models_exist(name: str, catalog: Catalog) -> None:
    load_suite(PROMPTS, name).check_models(catalog)


def test_the_main_suite_has_eight_characters_and_eight_situations(scenes: SceneSet) -> None:
    assert (len(scenes.cards), len(scenes.situations)) == (8, 8)


def test_seven_situations_have_four_turns_and_one_has_eight(pingpong: Suite, scenes: SceneSet) -> None:
    assert sorted(pingpong.turns_of(s) for s in scenes.situations.values()) == [4] * 7 + [8]


def test_a_player_is_judged_on_288_turns_of_64_conversations(pingpong: Suite, scenes: SceneSet) -> None:
    turns = [pingpong.turns_of(s) for _ in scenes.cards for s in scenes.situations.values()]
    assert (len(turns), sum(turns)) == (64, 288)


def test_cards_are_written_in_different_styles(scenes: SceneSet) -> None:
    assert len({card.style for card in scenes.cards.values()}) == 8


def test_situations_are_of_both_kinds(scenes: SceneSet) -> None:
    kinds = [s.kind for s in scenes.situations.values()]
    assert min(kinds.count("common"), kinds.count("attack")) >= 2


def test_characters_come_from_several_places(scenes: SceneSet) -> None:
    sources = [card.source for card in scenes.cards.values()]
    assert len(set(sources)) >= 4
    assert len({card.char_name for card in scenes.cards.values()}) == 8


def test_a_summary_does_not_give_the_card_away(scenes: SceneSet) -> None:
    for card in scenes.cards.values():
        assert len(card.summary) < 200
        assert card.summary not in card.system_prompt


def test_russian_texts_are_russian(pingpong: Suite) -> None:
    scenes = pingpong.language("ru")
    for text in (
        *(t for c in scenes.cards.values() for t in (c.summary, c.system_prompt)),
        *(s.text for s in scenes.situations.values()),
    ):
        letters = [c for c in text.lower() if c.isalpha()]
        assert sum("а" <= c <= "я" or c == "ё" for c in letters) > 0.8 * len(letters)


def test_the_quickstart_is_small_and_needs_the_embedded_model_only(catalog: Catalog) -> None:
    suite = load_suite(PROMPTS, "quickstart")
    assert suite.interrogator is not None
    names = (*suite.entry.player.models, suite.interrogator, *suite.judges)
    assert all(catalog.provider_of(name).embedded for name in names)
    scenes = suite.language("en")
    turns = [suite.turns_of(s) for _ in scenes.cards for s in scenes.situations.values()]
    assert turns == [1, 1]


def test_a_new_card_or_situation_changes_no_suite(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    shutil.copytree(PROMPTS, prompts)

    def played() -> dict[tuple[str, str], list[tuple[str, str]]]:
        suites = {name: load_suite(prompts, name) for name in suite_files(prompts)}
        return {(n, language): s.language(language).pairs for n, s in suites.items() for language in s.scenes}

    before = played()
    for kind in ("characters", "situations"):
        for language in LANGUAGES:
            old = min((prompts / kind / language).glob("*.toml"))
            for stem in ("aaa-new", "zzz-new"):
                shutil.copy(old, old.with_stem(stem))
    assert played() == before


@pytest.mark.parametrize("name", ["demo", "demo-2", "quickstart"])
def test_suites_of_the_embedded_model_are_called_demonstrations(name: str) -> None:
    assert load_suite(PROMPTS, name).entry.demonstration


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "old", "new", "said"),
    [
        ("card", "summary =", "sumary =", "unknown key 'sumary' (did you mean 'summary'?)"),
        ("card", "summary =", "sumary =", "key 'summary' is missing"),
        ("card", '"Anna, who keeps a lighthouse."', '""', "summary"),
        ("card", "who keeps", "who\\nkeeps", "must be one line"),
        ("card", "example_prompt", "exemple_prompt", "did you mean 'example_prompt'?"),
        ("card", "source = ", "# ", "key 'source' is missing"),
        ("situation", "num_turns", "num_turn", "did you mean 'num_turns'?"),
        ("situation", "num_turns = 2", "num_turns = 0", "num_turns"),
        ("situation", "num_turns = 2", "num_turns = 'two'", "num_turns"),
        ("situation", '"common"', '"comon"', "got 'comon'"),
        ("suite", "[interrogator]", "[interogator]", "did you mean 'interrogator'?"),
        ("suite", 'models = ["asker"]', "models = []", "exactly one interrogator"),
        ("suite", 'models = ["strict"]', "models = []", "at least one judge"),
        ("suite", "temperature = 0.6", "temprature = 0.6", "did you mean 'temperature'?"),
        ("suite", "temperature = 0.6", "temperature = 3", "player.sampling.temperature"),
        ("suite", "[languages.en]", "[languages]", "languages"),
        ("suite", "[languages.en]", "[languages.en]\ncharacter = []", "did you mean 'characters'?"),
        ("suite", '["anna", "bruno"]', '["ana"]', "unknown character 'ana'. Did"),
        ("suite", "[languages.en]", "[languages.fr]", "no character (.toml) in"),
        ("suite", "[languages.en]", "[languages.tlh]", "unknown language 'tlh'"),
        ("suite", "[limits]", "[limits", "malformed TOML"),
    ],
)
def test_a_mistake_is_named_with_its_file(tiny: Tiny, kind: str, old: str, new: str, said: str) -> None:
    path = {"card": tiny.card_file, "situation": tiny.situation_file, "suite": tiny.suite_file}[kind]
    edit(path, old, new)
    line = refused(tiny).line()
    assert said in line
    assert str(path) in line


def test_a_folder_without_a_card_names_the_files_it_ignored(tiny: Tiny) -> None:
    folder = tiny.prompts / "characters" / "de"
    folder.mkdir()
    (folder / "lena.json").write_text("{}", encoding="utf-8")
    edit(tiny.suite_file, "[languages.en]", "[languages.de]")
    assert f"no character (.toml) in {folder} (ignored: lena.json)" in refused(tiny).line()


def test_an_unknown_suite_is_answered_with_the_nearest(tiny: Tiny) -> None:
    with pytest.raises(CatalogError, match="Did you mean 'tiny'"):
        load_suite(tiny.prompts, "tinny")


def test_an_unknown_language_is_answered_with_what_there_is(tiny: Tiny) -> None:
    with pytest.raises(CatalogError, match=r"unknown language 'xx'.*Choose from: en"):
        load_suite(tiny.prompts, "tiny").language("xx")


def test_a_model_that_the_catalog_lacks_is_named(tiny: Tiny) -> None:
    edit(tiny.suite_file, '"bard"', '"bart"')
    with pytest.raises(CatalogError, match=r"suite tiny.*unknown model 'bart'.*Did you mean 'bard'"):
        load_suite(tiny.prompts, "tiny").check_models(tiny.catalog())


@pytest.mark.parametrize("name", ["Tiny", "tiny.v2", "tiny_2", "index"])
def test_a_suite_is_named_as_its_results_folder_will_be(tiny: Tiny, name: str) -> None:
    tiny.suite_file.rename(tiny.suite_file.with_name(f"{name}.toml"))
    with pytest.raises(CatalogError, match="cannot name a suite"):
        load_suite(tiny.prompts, name)


@pytest.mark.parametrize(
    "name",
    [
        "pingpong_v2/tiny copy.toml",
        "pingpong_v2/Draft.toml",
        "pingpong_v2/._tiny.toml",
        "pingpong_v2/._player.jinja",
        "pingpong_v2/.ipynb_checkpoints/tiny-checkpoint.toml",
        "characters/en/._anna.toml",
        "situations/en/.#storm.toml",
        ".trash/tiny.toml",
        ".trash/player.jinja",
    ],
)
def test_a_file_that_cannot_be_a_suite_or_is_hidden_stops_no_other(tiny: Tiny, name: str) -> None:
    stray = tiny.prompts / name
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"\x00\xff")
    assert list(suite_files(tiny.prompts)) == ["tiny"]
    assert load_suite(tiny.prompts, "tiny").scenes["en"].pairs
    faulty = [str(stray)] if "/." not in f"/{name}" else []
    assert [
        *dict.fromkeys(f.where.split(":")[0] for f in check_all((tiny.prompts,), tiny.models).faults)
    ] == faulty


def test_a_language_is_named_as_its_results_folder_will_be(tiny: Tiny) -> None:
    for kind in ("characters", "situations"):
        (tiny.prompts / kind / "en").rename(tiny.prompts / kind / "pt-BR")
    edit(tiny.suite_file, "[languages.en]", "[languages.pt-BR]")
    assert "'pt-BR' cannot name a language" in refused(tiny).line()


def test_two_suites_of_one_name_are_refused(tiny: Tiny) -> None:
    other = tiny.prompts / "other_protocol" / "tiny.toml"
    other.parent.mkdir()
    other.with_name("judge.jinja").touch()
    other.write_bytes(tiny.suite_file.read_bytes())
    with pytest.raises(CatalogError, match="duplicate suite 'tiny'"):
        suite_files(tiny.prompts)


def test_a_prompts_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"no such folder.*--prompts"):
        suite_files(tmp_path / "no")


# --- what a suite selects --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "line"),
    [
        ('characters = ["anna", "bruno"]', '`characters = ["anna", "bruno"]`'),
        ('situations = ["hello", "storm"]', '`situations = ["hello", "storm"]`'),
    ],
)
@pytest.mark.parametrize("instead", ["", "[]"])
def test_a_suite_without_a_list_is_answered_with_the_line_to_add(
    tiny: Tiny, listed: str, line: str, instead: str
) -> None:
    key = listed.partition(" ")[0]
    edit(tiny.suite_file, listed, f"{key} = {instead}" if instead else "")
    said = refused(tiny).line()
    assert f"languages.en lists no {key}" in said
    assert line in said


def test_a_suite_has_its_scenes_in_its_own_order(tiny: Tiny) -> None:
    edit(tiny.suite_file, '["anna", "bruno"]', '["bruno", "anna"]')
    assert list(load_suite(tiny.prompts, "tiny").language("en").cards) == ["bruno", "anna"]


def test_a_suite_may_cut_its_conversations_short(tiny: Tiny) -> None:
    edit(tiny.suite_file, 'version = "1"', 'version = "1"\nmax_turns = 2')
    suite = load_suite(tiny.prompts, "tiny")
    assert [suite.turns_of(s) for s in suite.language("en").situations.values()] == [2, 2]


def test_a_mistake_in_a_card_that_no_suite_wants_stops_nobody(tiny: Tiny) -> None:
    edit(tiny.card_file, "summary =", "sumary =")
    edit(tiny.suite_file, '["anna", "bruno"]', '["bruno"]')
    assert list(load_suite(tiny.prompts, "tiny").language("en").cards) == ["bruno"]


def test_entries_are_frozen(tiny: Tiny) -> None:
    scenes = load_suite(tiny.prompts, "tiny").language("en")
    card: Card = scenes.cards["anna"]
    situation: Situation = scenes.situations["hello"]
    for entry in (card, situation):
        with pytest.raises(ValueError, match="frozen"):
            entry.tags = ("x",)


def test_a_folder_without_templates_holds_no_suites(tiny: Tiny) -> None:
    other = tiny.prompts / "notes" / "tiny.toml"
    other.parent.mkdir()
    other.write_text("anything", encoding="utf-8")
    assert "tiny" in suite_files(tiny.prompts)


# --- names listed twice ----------------------------------------------------------------------------------


def test_a_name_listed_twice_counts_once(tiny: Tiny) -> None:
    edit(tiny.suite_file, 'models = ["bard"]', 'models = ["bard", "actor", "bard"]')
    edit(tiny.suite_file, 'models = ["asker"]', 'models = ["asker", "asker"]')
    edit(tiny.suite_file, 'models = ["strict"]', 'models = ["strict", "strict"]')
    edit(tiny.suite_file, '["anna", "bruno"]', '["bruno", "bruno"]')
    edit(tiny.suite_file, '["hello", "storm"]', '["storm", "hello", "storm"]')
    suite = load_suite(tiny.prompts, "tiny")
    assert suite.entry.player.models == ("bard", "actor")
    assert (suite.interrogator, suite.judges) == ("asker", ("strict",))
    assert suite.language("en").pairs == [("bruno", "storm"), ("bruno", "hello")]


@pytest.mark.parametrize("damage", ["", 'title = "Half', "title = 1"])
def test_an_unfinished_file_stops_only_what_uses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    made = make_tiny(tmp_path)
    for folder in ("characters", "situations"):
        shutil.copytree(made.prompts / folder / "en", made.prompts / folder / "ru")
    play_all(made, "en", "ru")
    (made.prompts / "situations" / "ru" / "hello.toml").write_text(damage, encoding="utf-8")
    made.suite_file.with_stem("other").write_text(damage or "title", encoding="utf-8")
    suites = all_suites(made.prompts)
    assert set(suites) == {"tiny", "other"}
    assert len(suites["tiny"].language("en").pairs) == 4
    assert list(suites["tiny"].scenes) == ["en", "ru"]
    for use in (lambda: suites["other"].entry, lambda: suites["tiny"].language("ru").pairs):
        with pytest.raises(CatalogError):
            use()
    monkeypatch.setattr(sys, "argv", ["bench", "suites", "--prompts", str(made.prompts)])
    cli.main()
    said = capsys.readouterr()
    assert "4 / ?" in said.out or "? / 4" in said.out
    assert "hello.toml" in said.err
    assert "other.toml" in said.err


def test_an_unfinished_file_stops_neither_boards_nor_audits_of_others(tmp_path: Path) -> None:
    made = make_tiny(tmp_path)
    plan = make_plan(made.protocol(), made.tree, ["bard"], ["strict"])
    asyncio.run(run_plan(made.protocol(), plan, made.tree, FakeChat().ask))
    before = load_board(made.tree, "tiny", "en", prompts=made.prompts).board
    write_board(made.tree, before)
    draft = made.suite_file.with_stem("draft")
    draft.write_text("title = ", encoding="utf-8")
    assert load_board(made.tree, "tiny", "en", prompts=all_suites(made.prompts)).board == before
    assert audit_tree(made.tree, all_suites(made.prompts), made.catalog()).ok
    assert committable(made.tree, all_suites(made.prompts))[0]
    draft.rename(made.suite_file)
    with pytest.raises(CatalogError):
        load_board(made.tree, "tiny", "en", prompts=all_suites(made.prompts))
    assert not audit_tree(made.tree, all_suites(made.prompts), made.catalog()).ok
    assert not committable(made.tree, all_suites(made.prompts))[0]


@pytest.mark.parametrize("name", ["published", "external", "human"])
def test_a_suite_cannot_have_the_name_of_another_part_of_the_results(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "pingpong_v2"
    folder.mkdir()
    (folder / "player.jinja").write_text("x")
    (folder / f"{name}.toml").write_text("")
    with pytest.raises(CatalogError, match="reserved"):
        load_suite(tmp_path, name)
