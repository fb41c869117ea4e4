"""Why a player has its rank, wins, the judges at a glance, and the marks in a conversation."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from bench.results import ResultsTree
from bench.scores.frame import load
from bench.scores.robust import robust_board
from bench.site.text import acted, visible
from tests.site import recomputed
from tests.site.hostile import TEXTS
from tests.site.site_html import Element, article, parse, read

FOLDER = "boards/synthetic/en"


def tables(page: Element) -> dict[str, list[list[str]]]:
    """Texts of the cells of each table, by the first words of its caption."""
    found = {}
    for table in article(page).tagged("table"):
        caption = " ".join(table.tagged("caption")[0].text.split()[:3])
        rows = [[cell for cell in row.children if isinstance(cell, Element)] for row in table.tagged("tr")]
        found[caption] = [[cell.text.strip() for cell in row] for row in rows[1:]]
    return found


@pytest.fixture(scope="module")
def scores(small_tree: ResultsTree) -> dict[str, dict[str, float]]:
    """Player to scene to score, from the JSON files alone."""
    folder = small_tree.board_folder("synthetic", "en")
    return {
        path.parent.name: {
            name.removesuffix(".json"): score
            for name, score in recomputed.conversation_scores(path.parent)[0].items()
        }
        for path in folder.glob("*/player.json")
    }


def test_scenes_that_cost_most_are_those_furthest_below_the_field(
    small_site: Path, scores: dict[str, dict[str, float]]
) -> None:
    for player, own in scores.items():
        page = article(read(small_site / FOLDER / "players" / player / "index.html"))
        field = {scene: fmean(s[scene] for s in scores.values() if scene in s) for scene in own}
        apart = sorted((own[scene] - field[scene], scene) for scene in own)
        wanted = [scene for gap, scene in apart[:3] if gap < 0]
        headings = [h.text for h in page.tagged("h3") if h.attributes.get("id") == "worst"]
        assert headings == (["Scenes that lower its score most"] if wanted else [])
        if not wanted:
            continue
        first = page.tagged("ol")[1]  # after the breadcrumbs
        items = [item.tagged("a") for item in first.tagged("li")]
        assert [links[0].attributes["href"] for links in items] == [f"{scene}.html" for scene in wanted]
        for links, scene in zip(items, wanted, strict=True):
            assert links[1].attributes["href"].startswith(f"{scene}.html#t")


def test_wins_are_the_share_of_common_scenes_with_a_higher_score(
    small_site: Path, small_tree: ResultsTree
) -> None:
    frames = load(small_tree, "synthetic", "en")
    grid = robust_board(frames, dict.fromkeys(frames.criteria, 1.0)).grid
    rows = tables(read(small_site / FOLDER / "wins.html"))["Scenes won, in"]
    board = json.loads((small_site / FOLDER / "board.json").read_text())
    ranked = sorted(board["rows"], key=lambda row: row["robust"]["rank"])
    order = [grid.players.index(row["player"]) for row in ranked]
    for row, a in zip(rows, order, strict=True):
        for text, b in zip(row[1:], order, strict=True):
            if a == b:
                assert text == ""
                continue
            won = [
                1.0 if x > y else 0.5 if x == y else 0.0
                for x, y in zip(grid.values[a].flat, grid.values[b].flat, strict=True)
                if not np.isnan(x - y)
            ]
            assert text == f"{100 * fmean(won):.0f}"


def test_the_judges_are_summed_up_by_the_numbers_below(small_site: Path) -> None:
    folder = small_site / FOLDER
    page = article(read(folder / "judges.html"))
    analyses: dict[str, Any] = json.loads((folder / "analyses.json").read_text())
    rows = {entry["name"]: entry["rows"] for entry in analyses["analyses"]}
    alpha = fmean(row["alpha"] for row in rows["agreement"])
    assert f"mean alpha of {alpha:.2f}" in page.text
    assert tables(read(folder / "judges.html"))["Alpha of each"][0][2] == f"{alpha:.2f}"
    ranks: dict[str, list[int]] = {}
    for row in rows["boards_alone"]:
        if row["weighting"] == "equal":
            ranks.setdefault(row["player"], []).append(row["rank"])
    largest = max(max(two) - min(two) for two in ranks.values())
    if largest:
        named = [p.replace("-", " ").title() for p, two in ranks.items() if max(two) - min(two) == largest]
        assert any(f"matters most for {name}: rank" in page.text for name in named)
    assert len(page.having("rc-slope")) == len(ranks)


@pytest.mark.parametrize("text", TEXTS)
def test_marking_actions_changes_no_character(text: str) -> None:
    assert parse(str(acted(text))).text == parse(str(visible(text))).text


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("*looks up* The harbour. *sighs*", ["*looks up*", "*sighs*"]),
        ("**bold** 2*3*4 * not * *", []),
        ("(*nods*), *a\nb*", ["*nods*"]),
        ("*<b>&*", ["*<b>&*"]),
    ],
)
def test_actions_are_what_stands_between_asterisks(text: str, actions: list[str]) -> None:
    assert [element.text for element in parse(str(acted(text))).having("rc-act")] == actions


def test_a_conversation_leads_to_its_lowest_turn_and_links_every_verdict(
    small_site: Path, small_tree: ResultsTree
) -> None:
    folder = small_site / FOLDER / "players" / "player-01"
    judgements = list(small_tree.judgements("synthetic", "en", "player-01"))
    checked = 0
    for path in sorted(folder.glob("*.*.html")):
        page = article(read(path))
        own = [j for j in judgements if path.name == f"{j.character}.{j.situation}.html" and j.status == "ok"]
        turns: dict[int, list[int]] = {}
        for judgement in own:
            for verdict in judgement.turns:
                turns.setdefault(verdict.turn, []).extend(verdict.scores.values())
        means = {turn: fmean(values) for turn, values in turns.items()}
        lowest = min(means, key=lambda turn: (means[turn], turn)) if len(set(means.values())) > 1 else None
        jumps = [link.attributes["href"] for p in page.having("rc-jumps") for link in p.tagged("a")]
        assert jumps[:1] == ([f"#t{lowest}"] if lowest else jumps[:1])
        linked = [
            link.attributes["href"] for box in page.having("rc-linked") for link in box.having("rc-link")
        ]
        assert linked == [f"#{box.attributes['id']}" for box in page.having("rc-verdict")]
        assert len(linked) == sum(len(judgement.turns) for judgement in own)
        checked += lowest is not None
    assert checked


def test_a_model_has_a_page_with_all_its_boards(small_site: Path) -> None:
    boards = {
        language: json.loads((small_site / f"boards/synthetic/{language}/board.json").read_text())["rows"]
        for language in ("en", "ru")
    }
    for player in ("player-01", "player-02", "player-03"):
        rows = tables(read(small_site / "models" / f"{player}.html"))["All boards with"]
        assert [row[1] for row in rows] == ["English", "Russian"]
        for row, scored in zip(rows, boards.values(), strict=True):
            (own,) = [one for one in scored if one["player"] == player]
            above = sum(one["length_norm_score"] > own["length_norm_score"] for one in scored)
            assert row[3].split()[0] == str(own["rank"])
            assert row[4] == f"{own['length_norm_score']:.2f} ±{own['length_norm_ci']:.2f}"
            assert row[7:] == [f"{1 + above} of 3", str(own["conversations"])]
