"""Slugs: names that every file system takes, different for every id."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench.slugs import HASH_LENGTH, MAX_LENGTH, slug

ids = st.one_of(
    st.text(max_size=100),
    st.text("abcABC012-._:/ é", max_size=12),
    st.from_regex(r"[a-z0-9-]{0,6}-?[0-9a-f]{8}", fullmatch=True),
)


@given(ids)
def test_a_slug_has_plain_characters_only(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-+[a-z0-9]+)*", slug(name))


@given(ids)
def test_a_slug_is_of_bounded_length(name: str) -> None:
    assert 1 <= len(slug(name)) <= MAX_LENGTH + 1 + HASH_LENGTH


@given(ids, ids)
def test_different_ids_have_different_slugs(one: str, other: str) -> None:
    assume(one != other)
    assert slug(one) != slug(other)


@given(ids)
def test_a_slug_of_one_id_is_never_the_slug_of_itself_as_an_id(name: str) -> None:
    made = slug(name)
    assert made == name or slug(made) != made


@pytest.mark.parametrize("other", ["GPT-4o", "Gpt-4o", "gpt_4o", "gpt 4o", "gpt-4o-", "-gpt-4o", "gpt--4o "])
def test_ids_that_differ_in_case_or_punctuation_stay_apart(other: str) -> None:
    assert slug(other) != slug("gpt-4o") == "gpt-4o"
    assert slug(other).startswith("gpt")


@pytest.mark.parametrize("name", ["con", "CON", "prn", "aux", "nul", "com1", "lpt9", "index"])
def test_names_that_a_file_system_or_site_reserves_get_digits(name: str) -> None:
    assert re.fullmatch(rf"{name.lower()}-[0-9a-f]{{8}}", slug(name))


@pytest.mark.parametrize("name", ["Ж", "!!!", "", "\ud800"])
def test_ids_without_a_plain_character_are_their_digits(name: str) -> None:
    assert re.fullmatch(r"[0-9a-f]{8}", slug(name))


@pytest.mark.parametrize("name", ["Ж", "!!!", "Model/X"])
def test_an_id_that_is_spelt_like_the_slug_of_another_gets_a_slug_of_its_own(name: str) -> None:
    assert slug(slug(name)) != slug(name)


def test_a_long_id_is_cut_and_told_from_its_neighbours() -> None:
    one, other = slug("m" * 80), slug("m" * 81)
    assert one != other
    assert one.startswith("m" * MAX_LENGTH)
