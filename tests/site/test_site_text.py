"""Foreign text as HTML, as a title, as words for search; small drawings; paths."""

from __future__ import annotations

from decimal import Decimal

import pytest

from bench.site.charts import STEPS, Axis, heat, whisker
from bench.site.numbers import dollars
from bench.site.paths import relative
from bench.site.text import bdi, is_long, plain, prose, searchable, visible
from tests.site.hostile import TEXTS, shown
from tests.site.site_html import parse


@pytest.mark.parametrize("text", TEXTS)
def test_visible_text_reads_back_as_the_source(text: str) -> None:
    root = parse(f"<div>{visible(text)}</div>")
    assert root.text == shown(text)
    assert {element.tag for element in root.walk()} <= {"#document", "div", "bdi"}


@pytest.mark.parametrize("character", "\u2028\u202e\u2066\u200b\x1b\x85\ufeff\xad\U000e0041")
def test_hidden_characters_are_isolated_and_named(character: str) -> None:
    (mark,) = parse(str(visible(f"a{character}b"))).having("rc-cp")
    assert mark.tag == "bdi"
    assert mark.attributes["data-cp"] == f"U+{ord(character):04X}"
    assert mark.text == character


@pytest.mark.parametrize("text", ["a\u200db", "\U0001f3f4\U000e0067\U000e007f", "a\r\nb", "a\tb\nc", "é"])
def test_characters_that_mislead_nobody_are_left_alone(text: str) -> None:
    assert "rc-cp" not in visible(text)


def test_lone_surrogates_become_something_that_can_be_written() -> None:
    html = visible("a\ud800b")
    assert html.encode("utf-8")
    assert 'data-cp="U+D800"' in html


def test_titles_are_one_line_with_hidden_characters_spelt() -> None:
    assert plain("a\n\u202eb\x00  c") == "a ⟨U+202E⟩b⟨U+0000⟩ c"
    assert len(plain("x" * 1000)) == 200


def test_search_gets_words_only() -> None:
    assert searchable("<img src=x onerror=alert(1)> Gerät 3.5") == "img src x onerror alert(1) Gerät 3.5"


def test_long_text_gets_a_box_that_scrolls() -> None:
    assert is_long("\n" * 100_000)
    assert "rc-long" in prose("x" * 1_000_000, "rc-message")
    assert "rc-long" not in prose("x", "rc-message")


def test_language_of_a_text_is_only_ever_a_language_code() -> None:
    assert ' lang="ru"' in prose("x", "k", "ru")
    assert "lang" not in prose("x", "k", '"><script>')


@pytest.mark.parametrize(
    ("text", "language", "direction"),
    [
        ("Mags: שלום לכולם", "he", "rtl"),
        ("*waves* مرحبا", "ar", "rtl"),
        ("Only English here.", "he", "auto"),
        ("שלום", "en", "auto"),
        ("Hello", "en", "auto"),
        ("Hello", "", "auto"),
    ],
)
def test_text_in_a_language_written_from_the_right_runs_from_the_right(
    text: str, language: str, direction: str
) -> None:
    """Even if it begins with a Latin name, which ``dir="auto"`` would go by."""
    assert f' dir="{direction}"' in prose(text, "rc-message", language)


def test_tints_cover_the_scale() -> None:
    assert [heat(None), heat(1), heat(5), heat(9), heat(-1)] == [
        "",
        "rc-h0",
        f"rc-h{STEPS}",
        f"rc-h{STEPS}",
        "rc-h0",
    ]


def test_axis_holds_every_interval() -> None:
    axis = Axis.around([(3.1, 3.3), (4.56, 4.66)])
    assert (axis.low, axis.high) == (3.0, 5.0)
    assert axis.ticks == [3.0, 3.5, 4.0, 4.5, 5.0]
    assert Axis.around([]).ticks == [1, 2, 3, 4, 5]
    assert Axis.around([(4.0, 4.0)]).high > Axis.around([(4.0, 4.0)]).low


def test_whisker_without_a_score_is_an_empty_axis() -> None:
    assert "circle" not in whisker(Axis(1, 5), None, None)


@pytest.mark.parametrize(
    ("target", "page", "expected"),
    [
        ("a/b.html", "a/c.html", "b.html"),
        ("a/b.html", "c.html", "a/b.html"),
        ("a.html", "b/c/d.html", "../../a.html"),
        ("a/x/index.html", "a/y/z/index.html", "../../x/index.html"),
        ("index.html", "index.html", "index.html"),
    ],
)
def test_relative_links(target: str, page: str, expected: str) -> None:
    assert relative(target, page) == expected


def test_a_long_word_may_break_between_its_parts_only() -> None:
    assert bdi("org/Model_Name-7b-instruct") == "<bdi>org/<wbr>Model_<wbr>Name-<wbr>7b-instruct</bdi>"
    assert bdi("a/b-7 and_c") == "<bdi>a/b-7 and_c</bdi>"


@pytest.mark.parametrize("text", TEXTS)
def test_a_short_text_reads_back_as_the_source(text: str) -> None:
    root = parse(str(bdi(text, len(text))))
    assert root.text == shown(text)
    assert {element.tag for element in root.walk()} <= {"#document", "bdi", "wbr"}


@pytest.mark.parametrize(
    ("amount", "written"),
    [("0", "$0"), ("0.10", "$0.1"), ("0.005844", "$0.005844"), ("0.0000001", "$0.0000001"), ("12", "$12.00")],
)
def test_a_sum_of_money_that_is_not_zero_never_looks_like_zero(amount: str, written: str) -> None:
    assert dollars(Decimal(amount)) == written
