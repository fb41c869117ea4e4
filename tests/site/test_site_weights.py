"""Weights that nothing is known of are shown as unknown, never as closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.site.build import build_site
from tests.site.site_html import Element, read
from tests.synthetic import make_tree, player_info


@pytest.fixture(scope="module")
def board(no_charts: None, tmp_path_factory: pytest.TempPathFactory) -> Element:
    """Three players, of whom the second has unknown weights."""
    root = tmp_path_factory.mktemp("weights")
    made = make_tree(root / "results", players=3, characters=1, situations=2)
    info = player_info("player-02", 1).model_copy(update={"weights": "unknown"})
    made.tree.write_player("synthetic", "en", info)
    build_site(made.tree, output=root / "site")
    return read(root / "site/boards/synthetic/en/index.html")


def test_unknown_weights_have_no_chip(board: Element) -> None:
    chips = {
        row.tagged("a")[0].text: [chip.text for chip in row.having("rc-chip")]
        for row in board.having("rc-board")[0].tagged("tr")[1:]
    }
    assert chips == {"Player 01": ["closed"], "Player 02": [], "Player 03": ["open"]}


def test_the_filter_offers_them_where_there_are_any(board: Element, small_site: Path) -> None:
    def offered(page: Element) -> list[str]:
        (choice,) = [s for s in page.tagged("select") if s.attributes.get("name") == "weights"]
        return [option.attributes["value"] for option in choice.tagged("option")]

    assert offered(board) == ["", "open", "closed", "unknown"]
    assert offered(read(small_site / "boards/synthetic/en/index.html")) == ["", "open", "closed"]
