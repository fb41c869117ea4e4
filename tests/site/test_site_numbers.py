"""Every number on the pages is in a file next to it, or can be calculated from the records."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bench.cli.schemas import all_schemas
from bench.results import ResultsTree
from bench.scores.analyses.preference import judge_models
from bench.scores.analyses.report import Material, report
from bench.scores.analyses.texts import no_turns
from bench.scores.frame import load
from bench.site.build import build_site
from bench.site.evidence import ANALYSES
from bench.slugs import slug
from tests.site import recomputed
from tests.site.site_html import Element, article, read
from tests.synthetic import make_tree

FOLDER = "boards/synthetic/en"
OF_OTHER_PROTOCOLS = ("orders",)
"""Analyses that have no rows where scores are not of this kind."""
JUDGES = ("player-01", "judge-x", "judge-y")
"""One judge is a player, so that self-preference has rows."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> ResultsTree:
    """Five players, twelve scenes, three judges, with refusals, failures and a conversation missing."""
    made = make_tree(
        tmp_path_factory.mktemp("numbers") / "results",
        players=5,
        characters=4,
        situations=3,
        judges=JUDGES,
        refusal_rate=0.2,
        failure_rate=0.1,
        seed=11,
    )
    folder = made.tree.player_folder("synthetic", "en", "player-02")
    for path in folder.rglob("character-1.situation-1.json"):
        path.unlink()
    return made.tree


@pytest.fixture(scope="module")
def site(no_charts: None, tree: ResultsTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("numbers-site") / "site"
    build_site(tree, output=output)
    return output / FOLDER


@pytest.fixture(scope="module")
def tables(site: Path) -> dict[str, list[dict[str, Any]]]:
    data = json.loads((site / "analyses.json").read_text(encoding="utf-8"))
    Draft202012Validator(all_schemas()["analyses"]).validate(data)
    return {analysis["name"]: analysis["rows"] for analysis in data["analyses"]}


def shown(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def signed(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:+.2f}".replace("-", "−") if round(value, 2) else "0.00"


def between(text: str, low: str, high: str) -> str:
    return text if low == "–" else f"{text} {low} to {high}"


def cells(table: Element) -> list[list[str]]:
    """Texts of the body's rows, heads included."""
    (body,) = table.tagged("tbody")
    return [
        [" ".join(cell.text.split()) for cell in row.children if isinstance(cell, Element)]
        for row in body.tagged("tr")
    ]


def table_called(page: Element, caption: str) -> list[list[str]]:
    found = [t for t in page.tagged("table") if any(caption in c.text for c in t.tagged("caption"))]
    assert len(found) == 1, caption
    return cells(found[0])


def test_the_file_is_what_the_analyses_give(tree: ResultsTree, tables: dict[str, Any]) -> None:
    frames = load(tree, "synthetic", "en")
    made = report(Material(frames, no_turns(), judge_models(frames, None)))
    assert sorted(tables) == sorted(ANALYSES)
    for name in ANALYSES:
        assert tables[name] == [dict(row) for row in made.rows_of(name)], name
        assert tables[name] or name in OF_OTHER_PROTOCOLS, name


def test_scores_and_refusals_follow_from_the_records(tree: ResultsTree, site: Path) -> None:
    due = recomputed.board(tree.root / "synthetic/en")
    rows = {row["player"]: row for row in json.loads((site / "board.json").read_text())["rows"]}
    assert rows.keys() == due.keys()
    assert any(row["refusal_ratio"] for row in rows.values())
    for player, numbers in due.items():
        row = rows[player]
        shown = {"score": row["score"], "norm": row["length_norm_score"], "refusals": row["refusal_ratio"]}
        assert shown == {name: pytest.approx(number, abs=1e-6) for name, number in numbers.items()}


def test_the_audit_page_shows_the_steps_to_the_score(tree: ResultsTree, site: Path) -> None:
    for player, numbers in recomputed.board(tree.root / "synthetic/en").items():
        page = article(read(site / f"players/{player}/audit.html"))
        scores, _ = recomputed.conversation_scores(tree.root / "synthetic/en" / player)
        text = " ".join(page.text.split())
        total = f"{math.fsum(scores.values()):.6f} / {len(scores)} conversations"
        assert f"{total} = {numbers['score']:.6f}, shown as {numbers['score']:.2f}" in text
        assert f"= {numbers['norm']:.6f}, shown as {numbers['norm']:.2f}" in text
        table = [row[-1] for row in cells(page.having("rc-steps-table")[0]) if row[-1] not in ("", "–")]
        assert sorted(table) == sorted(f"{score:.6f}" for score in scores.values())


@pytest.mark.usefixtures("no_charts")
def test_a_changed_score_in_a_record_changes_the_score(tree: ResultsTree, tmp_path: Path) -> None:
    for player in ("player-01", "player-02"):
        folder = f"synthetic/en/{player}"
        shutil.copytree(tree.root / folder, tmp_path / "results" / folder)
    before = recomputed.board(tmp_path / "results/synthetic/en")["player-01"]["score"]
    path = next((tmp_path / "results/synthetic/en/player-01/judgements").glob("*/*.json"))
    record = json.loads(path.read_text(encoding="utf-8"))
    for turn in record["turns"]:
        turn["scores"] = dict.fromkeys(turn["scores"], 1)
    path.write_text(json.dumps(record), encoding="utf-8")
    after = recomputed.board(tmp_path / "results/synthetic/en")["player-01"]["score"]
    assert after != before
    build_site(tmp_path / "results", tmp_path / "site")
    text = article(read(tmp_path / "site" / FOLDER / "players/player-01/audit.html")).text
    assert f"{after:.6f}" in text
    assert f"{before:.6f}" not in text


def test_leniency_agreement_pairs_and_preference_are_those_of_the_file(
    site: Path, tables: dict[str, Any]
) -> None:
    page = read(site / "judges.html")
    assert table_called(page, "A judge's scores minus the mean") == [
        [
            row["judge"],
            between(signed(row["offset"]), signed(row["low"]), signed(row["high"])),
            shown(row["mean"]),
            shown(row["deviation"]),
            str(row["conversations"]),
            row["reason"] or "",
        ]
        for row in tables["leniency"]
    ]
    alphas = [cell for row in table_called(page, "Krippendorff") for cell in row[1:4]]
    assert alphas == [shown(row["alpha"]) for row in tables["agreement"]]
    assert [row[1:5] for row in table_called(page, "Pairs of judges")] == [
        [shown(row[name]) for name in ("spearman", "spearman_players", "kendall_players")]
        + [str(row["conversations"])]
        for row in tables["judge_pairs"]
    ]
    assert [row[2:4] for row in table_called(page, "itself or its family")] == [
        [
            between(signed(row["preference"]), signed(row["low"]), signed(row["high"])),
            "–" if row["chance"] is None else f"{100 * row['chance']:.1f}%",
        ]
        for row in tables["preference"]
    ]


def test_components_are_those_of_the_file(site: Path, tables: dict[str, Any]) -> None:
    page = read(site / "judges.html")
    rows = table_called(page, "Variance of a single score")
    due = tables["components"]
    assert {row["players"] for row in due} == {"all"}
    assert [row[1:3] for row in rows] == [
        [shown(row["variance"], 3), "–" if row["share"] is None else f"{100 * row['share']:.1f}%"]
        for row in due
    ]
    (figure,) = page.having("rc-shares")
    titles = [title.text for title in figure.tagged("title")]
    assert any(title.startswith("player ") for title in titles)
    text = " ".join(article(page).text.split())
    notes = next(
        a["notes"]
        for a in json.loads((site / "analyses.json").read_text(encoding="utf-8"))["analyses"]
        if a["name"] == "components"
    )
    assert notes
    assert all(note in text for note in notes)


def test_judges_apart_and_their_means_are_those_of_the_file(site: Path, tables: dict[str, Any]) -> None:
    alone = {
        (r["judge"], r["player"]): r["score"] for r in tables["boards_alone"] if r["weighting"] == "equal"
    }
    rows = table_called(read(site / "judges.html"), "mean score by one judge alone")
    due = sorted(tables["judges_apart"], key=lambda row: -row["apart"])
    assert len(rows) == len(due) == 5
    for row, expected in zip(rows, due, strict=True):
        player = expected["player"]
        means = [shown(alone[judge, player]) for judge in sorted(JUDGES)]
        assert row == [player.replace("-", " ").title(), *means, shown(expected["apart"])]


def test_disagreements_are_those_of_the_file(site: Path, tables: dict[str, Any]) -> None:
    rows = table_called(read(site / "judges.html"), "Single turns")
    assert [(row[0].rsplit("turn ", 1)[1], row[1], row[2]) for row in rows] == [
        (str(r["turn"]), r["player"].replace("-", " ").title(), str(r["gap"])) for r in tables["disputes"]
    ]


def test_scores_by_turn_are_those_of_the_file(site: Path, tables: dict[str, Any]) -> None:
    for player in (f"player-0{n}" for n in range(1, 6)):
        rows = table_called(read(site / f"players/{player}/index.html"), "Mean over conversations, judges")
        due = [row for row in tables["by_turn"] if row["player"] == player]
        assert rows == [
            [
                str(row["turn"]),
                between(shown(row["score"]), shown(row["low"]), shown(row["high"])),
                between(signed(row["change"]), signed(row["change_low"]), signed(row["change_high"])),
                str(row["conversations"]),
            ]
            for row in due
        ]
    average = [row for row in tables["by_turn"] if row["player"] == ""]
    titles = {t.text for t in read(site / "players/player-01/index.html").tagged("title")}
    assert {f"Turn {r['turn']}, average of all players: {r['score']:.2f}" for r in average} <= titles


def test_means_of_a_players_matrix_are_those_of_the_file(site: Path, tables: dict[str, Any]) -> None:
    means = {(row["player"], row["kind"], row["id"]): row["score"] for row in tables["sides"]}
    for player in (f"player-0{n}" for n in range(1, 6)):
        (matrix,) = read(site / f"players/{player}/index.html").having("rc-matrix")
        *rows, total = cells(matrix)
        assert [row[-1] for row in rows] == [
            shown(means.get((player, "character", f"character-{n}")), 1) for n in range(1, 5)
        ]
        assert total[1:-1] == [
            shown(means.get((player, "situation", f"situation-{n}")), 1) for n in range(1, 4)
        ]


def test_scenes_and_their_difficulty_are_those_of_the_file(site: Path, tables: dict[str, Any]) -> None:
    page = read(site / "scenes.html")
    means = {(row["character"], row["situation"]): row["score"] for row in tables["scenes"]}
    (matrix,) = page.having("rc-matrix")
    assert [row[1:] for row in cells(matrix)] == [
        [shown(means.get((f"character-{c}", f"situation-{s}")), 1) for s in range(1, 4)] for c in range(1, 5)
    ]
    for kind in ("character", "situation"):
        due = [row for row in tables["difficulty"] if row["kind"] == kind]
        found = [t for t in page.tagged("table") if t.tagged("th")[0].text == kind.capitalize()]
        assert [row[1:] for row in cells(found[0])] == [
            [
                between(signed(row["effect"]), signed(row["low"]), signed(row["high"])),
                shown(row["score"]),
                str(row["conversations"]),
            ]
            for row in due
        ]


def test_pages_of_characters_and_situations_show_the_numbers_of_the_file(
    site: Path, tables: dict[str, Any]
) -> None:
    for row in tables["difficulty"]:
        page = article(read(site / f"{row['kind']}s/{slug(row['id'])}.html"))
        assert f"Players score {signed(row['effect'])} here" in " ".join(page.text.split())
        mine = [r for r in tables["sides"] if (r["kind"], r["id"]) == (row["kind"], row["id"])]
        due = sorted((shown(r["score"]), str(r["conversations"])) for r in mine)
        found = [t for t in page.tagged("table") if t.tagged("th")[0].text == "Model"]
        assert sorted((r[1], r[2]) for r in cells(found[0])) == due


def test_a_judge_alone_on_the_board_shows_the_numbers_of_the_file(site: Path, tables: dict[str, Any]) -> None:
    (script,) = [s for s in read(site / "index.html").tagged("script") if "data-rc-data" in s.attributes]
    data = json.loads(script.text)
    keys = [row["key"] for row in data["rows"]]
    for row in tables["boards_alone"]:
        view = data["views"][f"paper.{row['weighting']}.{slug(row['judge'])}"]
        at = keys.index(slug(row["player"]))
        assert [view["rank"][at], view["norm"][at], view["ci"][at], view["score"][at], view["half"][at]] == [
            row[name] for name in ("rank", "length_norm_score", "length_norm_ci", "score", "score_ci")
        ]
