"""The charts of a board and what it gives to other sites: the numbers of board.json, text as text."""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib.text import Text

from bench.figures import rendered
from bench.site.board_charts import (
    HeatRow,
    Interval,
    Line,
    Point,
    best_of,
    draw_heat,
    draw_intervals,
    draw_lines,
    draw_scatter,
    spread,
)
from tests.site.site_html import article, read

FOLDER = "boards/synthetic/en"
NAMED = re.compile(r'<text [^>]*? x="([\d.]+)" y="([\d.]+)"[^>]*>(here|there)<')
CHARTS = ("ranks", "cost", "length", "stamina", "criteria")


@pytest.fixture(scope="module")
def rows(small_site: Path) -> dict[str, dict[str, Any]]:
    """Rows of the small site's board.json by player."""
    board = json.loads((small_site / FOLDER / "board.json").read_text())
    return {row["player"]: row for row in board["rows"]}


def _table(site: Path, chart: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((site / FOLDER / f"charts/{chart}.csv").read_text())))


def test_a_board_shows_its_charts_as_text_above_the_table(small_site: Path) -> None:
    page = article(read(small_site / FOLDER / "index.html"))
    figures = page.having("rc-figure")
    assert [f.attributes["aria-labelledby"].split()[0] for f in figures] == [f"chart-{c}-t" for c in CHARTS]
    for chart, figure in zip(CHARTS, figures, strict=True):
        assert "Player 02" in " ".join(e.text for e in figure.tagged("text")), chart
        links = {a.attributes["href"] for a in figure.tagged("a")}
        assert links == {f"players/player-0{n}/index.html" for n in (1, 2, 3)}
        for form, start in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("csv", b"player,name")):
            assert (small_site / FOLDER / f"charts/{chart}.{form}").read_bytes().startswith(start)
    order = [e.tag for e in page.walk() if e.tag in ("svg", "table") and "rc-whisker" not in e.classes]
    assert order[:6] == ["svg"] * 5 + ["table"]


def test_charts_hold_the_numbers_of_the_board(small_site: Path, rows: dict[str, dict[str, Any]]) -> None:
    for line in _table(small_site, "ranks"):
        robust = rows[line["player"]]["robust"]
        standing = robust["sample"] or robust
        found = [int(line[name]) for name in ("rank", "robust_rank", "rank_low", "rank_high")]
        assert found[0] == rows[line["player"]]["rank"]
        assert found[1:] == [standing[name] for name in ("rank", "rank_low", "rank_high")]
    for line in _table(small_site, "cost"):
        row = rows[line["player"]]
        assert float(line["cost_of_a_conversation"]) * row["conversations"] == pytest.approx(
            float(row["cost"])
        )
    for line in _table(small_site, "length"):
        row = rows[line["player"]]
        factor = float(line["length_norm_score"]) / float(line["score"])
        assert factor == pytest.approx(row["length_factor"], abs=1e-5)
    for line in _table(small_site, "criteria"):
        assert float(line["fluency"]) == rows[line["player"]]["fluency"]


def test_stamina_starts_at_zero_and_is_what_the_analysis_says(small_site: Path) -> None:
    analyses = json.loads((small_site / FOLDER / "analyses.json").read_text())
    by_turn = next(a for a in analyses["analyses"] if a["name"] == "by_turn")["rows"]
    expected = {(r["player"], r["turn"]): r["change"] for r in by_turn if r["player"] and r["change"]}
    found = {(r["player"], int(r["turn"])): float(r["change"]) for r in _table(small_site, "stamina")}
    assert {key: change for key, change in found.items() if change} == pytest.approx(expected)
    assert {change for (_, turn), change in found.items() if turn == 1} == {0.0}


def test_each_column_of_the_heat_map_has_all_tints() -> None:
    rows = [HeatRow(f"p{n}", "", (float(n), 100.0 - n / 100, None if n else 3.0)) for n in range(3)]
    svg = rendered(lambda: draw_heat(rows, ["a", "b", "c"]), "svg", "t", "x").decode()
    tints = re.findall(r"fill: #1d6fa3; opacity: ([\d.]+)", svg)
    assert [float(tint) for tint in tints] == pytest.approx([0.04, 0.23, 0.42])
    cells = [path.count("M") for path in re.findall(r' d="(M[^"]*)"', svg)]
    assert (
        sum(sorted(cells)[-3:]) >= 7
    )  # two cells of each tint, and the only one of its column in the middle


def test_names_stand_beside_their_points() -> None:
    points = [Point("here", "", 2.0, 3.0, 2.5, 3.5), Point("there", "", 1.0, 4.0, None, None)]
    svg = rendered(lambda: draw_scatter(points, ("x", "y")), "svg", "t", "x").decode()
    width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    places = {name: (float(x), float(y)) for x, y, name in NAMED.findall(svg)}
    assert set(places) == {"here", "there"}
    assert all(0 < x < width and 0 < y < height for x, y in places.values())
    assert places["there"][0] < places["here"][0]
    assert places["there"][1] < places["here"][1]


@pytest.mark.parametrize("name", ["W" * 60, "MW@%" * 15, "ÀÉÎ" * 20, "a-name-0" * 8])
def test_no_name_leaves_its_chart(name: str) -> None:
    figures = [
        draw_intervals([Interval(name, "", 1.0, 0.5, 1.5)], "x", False, ("a", "b"), width)
        for width in (4.4, 6.6)
    ]
    figures += [
        draw_lines([Line(name, "", (1, 2), (0.0, 1.0))], None, ("x", "y")),
        draw_heat([HeatRow(name, "", (1.0,) * 5)], [name] * 5),
        draw_scatter(
            [Point(name, "", 1.0, 2.0, None, None), Point("b", "", 2.0, 3.0, None, None)], ("x", "y")
        ),
    ]
    for figure in figures:
        figure.draw_without_rendering()
        whole = figure.bbox
        names = [text for text in figure.findobj(Text) if str(text.get_text()).startswith(name[:5])]
        boxes = [text.get_window_extent() for text in names]
        assert boxes or figure is figures[-1]
        assert all(box.x0 >= 0 and box.x1 <= whole.x1 and box.y1 <= whole.y1 for box in boxes)


def test_names_that_would_overlap_are_moved_apart() -> None:
    places = spread([0.0, 0.0, 0.1, 5.0], 1.0)
    assert all(b - a >= 1 - 1e-9 for a, b in pairwise(places))
    assert spread([0.0, 2.0, 4.0], 1.0) == [0.0, 2.0, 4.0]
    assert spread([], 1.0) == []


def test_the_best_value_is_what_nothing_cheaper_beats() -> None:
    points = [Point(name, "", x, y, None, None) for name, x, y in (("a", 1, 3), ("b", 2, 2.9), ("c", 3, 4))]
    assert [point.name for point in best_of(points)] == ["a", "c"]


def test_the_embedded_table_has_the_numbers_of_the_board(
    small_site: Path, rows: dict[str, dict[str, Any]]
) -> None:
    page = read(small_site / FOLDER / "embed.html")
    lines = [[cell.text for cell in row.walk() if cell.tag in ("th", "td")] for row in page.tagged("tr")[1:]]
    for line, row in zip(lines, rows.values(), strict=True):
        assert line[:2] == [str(row["rank"]), row["name"]]
        assert line[2].startswith(f"{row['length_norm_score']:.2f} ")
    assert page.tagged("script") == []
    badge = (small_site / FOLDER / "badge.svg").read_text()
    assert "demonstration, 3 players" in badge
