"""What things are called and shown as: the home page, judges, providers, icons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.catalog import Catalog, Model
from bench.results import ResultsTree
from bench.site.build import build_site
from bench.site.labels import judge_names
from bench.site.render import monogram, monograms
from tests.site.hostile import BOOM
from tests.site.site_html import Element, article, links, read

FOLDER = "boards/synthetic/en"


def _rows(table: Element) -> list[list[str]]:
    return [
        [cell.text.strip() for cell in row.children if isinstance(cell, Element)]
        for row in table.tagged("tr")
    ]


def test_home_shows_an_exchange_and_folds_demonstrations_into_one_box(
    small_site: Path, small_tree: ResultsTree
) -> None:
    page = article(read(small_site / "index.html"))
    assert page.having("rc-board-card") == []
    (box,) = page.having("rc-fold")
    boards = {f"boards/synthetic/{language}/index.html" for language in ("en", "ru")}
    assert boards < {address for _, address in links(box)}
    (exchange,) = page.having("rc-exchange")
    user, answer, reason = (element.text for element in exchange.having("rc-message"))
    best = json.loads((small_site / "boards/synthetic/en/board.json").read_text())["rows"][0]["player"]
    talks = list(small_tree.conversations("synthetic", "en", best))
    assert any(user in said and answer in said for t in talks if (said := [m.content for m in t.messages]))
    judgements = small_tree.judgements("synthetic", "en", best)
    assert any(reason in turn.reasons.values() for j in judgements for turn in j.turns)
    headings = [e.text.rstrip("¶") for e in page.tagged("h2")]
    assert headings[:3] == ["Card", "Chat", "Judges"]
    assert headings[-2:] == ["How to read a board", "What changed"]


@pytest.fixture(scope="module")
def named(no_charts: None, small_tree: ResultsTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small site with a catalog that names its judges, one by the name of a third model."""
    root = tmp_path_factory.mktemp("named")
    names = {"judge-01": f"<b onclick={BOOM}>First</b>", "judge-02": "Alike", "someone": "Someone"}
    models = "".join(
        f"[models.{key}]\nprovider = 'p'\nmodel = '{key}'\nname = '{name}'\nfamily = 'f'\n"
        "weights = 'open'\nlicence = 'x'\n"
        for key, name in names.items()
    )
    (root / "models.toml").write_text(f"[providers.p]\nbase_url = 'http://127.0.0.1:1'\n{models}")
    build_site(small_tree, output=root / "site", models=root / "models.toml")
    return root / "site"


def test_judges_are_called_by_their_names(named: Path) -> None:
    first = f"<b onclick={BOOM}>First</b>"
    judges = article(read(named / FOLDER / "judges.html"))
    assert f"{first} (judge-01), Alike (judge-02)" in judges.text
    assert [row[0] for row in _rows(judges.tagged("table")[0])[1:]] == [first, "Alike"]
    assert {f"{first} / Alike"} in [{row[0] for row in _rows(table)[1:]} for table in judges.tagged("table")]
    talk = article(read(named / FOLDER / "players/player-03/character-1.situation-1.html"))
    assert {e.text for e in talk.having("rc-judge")} <= {first, "Alike"}
    assert any(e.attributes.get("id") == "t1-judge-02" for e in talk.walk())
    board_page = article(read(named / FOLDER / "index.html"))
    (choice,) = [e for e in board_page.tagged("select") if e.attributes["name"] == "judge"]
    assert [e.text for e in choice.tagged("option")] == ["all", first, "Alike"]


def test_judges_of_one_name_keep_their_ids(small_tree: ResultsTree, tmp_path: Path) -> None:
    entry = Model(provider="p", model="m", name="Same", family="f", weights="open", licence="x")
    alike = Catalog(tmp_path, {}, {"judge-01": entry, "judge-02": entry})
    assert judge_names(small_tree, alike) == {}
    renamed = {"judge-01": entry, "judge-02": entry.model_copy(update={"name": "Other"})}
    assert judge_names(small_tree, Catalog(tmp_path, {}, renamed)) == {
        "judge-01": "Same",
        "judge-02": "Other",
    }
    assert judge_names(small_tree, None) == {}


def test_a_provider_is_named_beside_its_letters(small_site: Path) -> None:
    page = article(read(small_site / FOLDER / "index.html"))
    (table,) = page.having("rc-board")
    marks = [(e.text, e.attributes["aria-label"]) for e in table.having("rc-provider")]
    assert marks == [("no", "nowhere")] * 3
    assert page.having("rc-providers")[0].text == "Provider codes: no = nowhere."


def test_an_icon_of_the_theme_is_drawn_once(small_site: Path) -> None:
    page = read(small_site / FOLDER / "players/player-03/character-1.situation-1.html")
    drawn = [e.attributes["d"] for e in page.tagged("path")]
    assert len(drawn) == len(set(drawn)) > 5
    assert len(page.tagged("use")) >= 2


def test_monograms_of_a_board_differ() -> None:
    made = monograms(["openai", "openrouter", "op", "Meta Llama", "op", "o"])
    assert made == {"Meta Llama": "ML", "o": "o", "op": "op", "openai": "oe", "openrouter": "on"}


@pytest.mark.parametrize(
    ("name", "letters"), [("OpenAI", "Op"), ("Meta Llama", "ML"), ("<>", "?"), ("é-2", "é2")]
)
def test_monograms(name: str, letters: str) -> None:
    assert monogram(name) == letters
