"""Tables as CSV, terminal text, Markdown and LaTeX: nothing a cell holds can run or break the table."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from bench.tables import (
    csv_cell,
    csv_table,
    dollars,
    fitting,
    latex_table,
    markdown_table,
    printable,
    shown,
    text_table,
)


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "\x00x", "\u200b=1", "\u00a0@x", "\x00=1"],
)
def test_formulas_are_neutralised_in_csv(text: str) -> None:
    assert csv_cell(text) == "'" + text


@pytest.mark.parametrize(
    ("value", "cell"),
    [("a=b", "a=b"), (-1.5, "-1.5"), (None, ""), (("a", "b"), "a; b"), (3, "3"), (True, "true")],
)
def test_harmless_values_stay_in_csv(value: object, cell: str) -> None:
    assert csv_cell(value) == cell


def test_a_csv_head_is_escaped_too() -> None:
    assert csv_table(["=A1", "b"], [["x", 1]]) == "'=A1,b\nx,1\n"


@given(st.lists(st.text(), min_size=2, max_size=2))
def test_csv_reads_back_as_the_same_cells(row: list[str]) -> None:
    table = io.StringIO(csv_table(["a", "b"], [row]), newline="")
    assert list(csv.reader(table))[1] == [csv_cell(value) for value in row]


@given(st.text())
def test_printable_text_is_one_line_of_printable_characters(text: str) -> None:
    assert printable(text).isprintable()
    assert "\n" not in printable(text)


def test_unknown_cells_are_shown_as_a_dash() -> None:
    assert [shown(None), shown(1.005), shown(("a", "b")), shown(7)] == ["–", "1.00", "a; b", "7"]


def test_text_columns_are_aligned_by_terminal_cells() -> None:
    table = text_table(["name", "n"], [["模型", "1"], ["plain", "10"]], left={0})
    assert [cell_len(line) for line in table.splitlines()] == [9, 9, 9]
    assert table.splitlines()[2] == "plain  10"


def test_markdown_cells_cannot_end_a_cell_or_start_a_tag() -> None:
    assert markdown_table(["a"], [["x|y<b>"]], left={0}) == "| a |\n| --- |\n| x\\|y&lt;b> |\n"


def test_latex_cells_are_escaped() -> None:
    assert "50\\% \\_x\\_ \\$ \\textbackslash{}" in latex_table(["a"], [["50% _x_ $ \\"]])


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "$0"),
        ("0.0000", "$0"),
        ("0.00001", "$0.000010"),
        ("0.1291", "$0.1291"),
        ("2.4536", "$2.45"),
        ("1234.5", "$1,234.50"),
    ],
)
def test_a_sum_of_money_has_more_digits_if_it_is_small(amount: str, shown: str) -> None:
    assert dollars(Decimal(amount)) == shown


def test_latex_cells_cannot_belong_to_the_end_of_a_row_and_print_as_they_are() -> None:
    rows = latex_table(["a"], [["[x]"], ["*x"], ["a<b>|c"]]).splitlines()[4:7]
    assert rows == [r"{[}x] \\", r"{*}x \\", r"a\textless{}b\textgreater{}\textbar{}c \\"]


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("ten letters", "ten letters"),
        ("thirteen or so", "thirteen or…"),
        ("東京大学の", "東京大学の"),
        ("東京大学のモデル", "東京大学の…"),
        ("MMMMMMMM", "MMMMMM…"),
        ("a\x1b\n b", "a b"),
    ],
)
def test_a_name_in_a_drawing_is_cut_by_its_width(name: str, cut: str) -> None:
    """To 12 letters: a character of East Asia counts as two, M as 1.6, the ellipsis as one."""
    assert fitting(name, 12) == cut
