"""Coverage: the paper's 30 percent, what a table may say, what similarity proposes."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from bench.errors import UserError
from bench.suites import Suite, load_suite
from bench.topics import THRESHOLD
from bench.topics.coverage import by_table, coverage, matches, proposed, read_table, total
from bench.topics.report import Topic
from tests.tiny import ROOT, Tiny, make_tiny

PUBLISHED = ROOT.parent / "shared" / "paper" / "topics_chai.csv"

PAPER = {
    "Friendly Interactions": (11.1, False),
    "Casual Greetings": (10.6, False),
    "Interpersonal Interaction": (8.9, False),
    "Casual Fun and Games": (8.4, False),
    "Affection and Comfort": (8.0, True),
    "Relationships": (7.7, False),
    "Introductions": (7.3, True),
    "Sleeping Situations": (6.7, False),
    "School Life": (6.0, False),
    "Food and Drink": (6.0, True),
    "Casual Reactions": (4.5, True),
    "Supernatural Battles": (4.2, True),
}
"""Topics of the Chai data set by the paper's appendix C: percent of all messages, and whether situations of
its version 2 cover them."""


def test_the_papers_topics_come_to_its_30_percent() -> None:
    made = total((percent / 100, covered) for percent, covered in PAPER.values())
    assert round(100 * made.covered, 6) == 30.0
    # by hand: the seven others sum to 59.4; the twelve to 89.4, which leaves 10.6 in no topic
    assert round(100 * made.uncovered, 6) == 59.4
    assert round(100 * made.outside, 6) == 10.6


@pytest.mark.skipif(
    not PUBLISHED.is_file(), reason=f"the paper's topics are not beside this repository ({PUBLISHED})"
)
def test_the_papers_own_table_says_the_same() -> None:
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    read = {row["topic"]: (float(row["fraction_percent"]), row["covered_by_v2"] == "yes") for row in rows}
    assert read == PAPER
    made = total((percent / 100, covered) for percent, covered in read.values())
    assert round(100 * made.covered, 6) == 30.0


def test_the_sites_page_prints_the_papers_table_and_the_threshold() -> None:
    page = (ROOT / "site" / "pages" / "topics.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| ([A-Z][\w ]+) \| ([0-9.]+)% \| (yes)? ?\|$", page)
    assert {name: (float(percent), said == "yes") for name, percent, said in rows} == PAPER
    assert f"From {THRESHOLD} (`--threshold`)" in page


def test_shares_of_nothing_are_outside() -> None:
    made = total([])
    assert (made.covered, made.uncovered, made.outside) == (0, 0, 1)


# Tables

TOPICS = (
    Topic(id=1, words=("hi", "hello"), messages=6, distinct=3, share=0.6),
    Topic(id=2, words=("rain", "wind"), messages=3, distinct=3, share=0.3),
)
TABLE = """
suite = "tiny"
language = "en"
[topics.1]
words = "hi, hello"
covered_by = ["hello"]
[topics.2]
words = "rain, wind"
covered_by = []
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path / "tiny")


@pytest.fixture
def suite(tiny: Tiny) -> Suite:
    return load_suite(tiny.prompts, "tiny")


def told(suite: Suite, folder: Path, text: str) -> dict[int, tuple[str, ...]]:
    path = folder / "coverage.toml"
    path.write_text(text, encoding="utf-8")
    return by_table(read_table(path), TOPICS, suite, path)


def test_a_table_says_what_is_covered(suite: Suite, tmp_path: Path) -> None:
    said = told(suite, tmp_path, TABLE)
    assert said == {1: ("hello",), 2: ()}
    topics = [topic.model_copy(update={"covered_by": said[topic.id]}) for topic in TOPICS]
    made = coverage(topics, 10, suite, "en", None)
    assert (made.covered, made.uncovered, made.outside) == (0.6, 0.3, 0.1)
    assert (made.by, made.threshold, made.idle) == ("table", None, ("storm",))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"tiny"', '"other"', "is about suite 'other', not 'tiny'"),
        ('["hello"]', '["helo"]', "Did you mean 'hello'?"),
        ("rain, wind", "rain, sun", "topic 2 has other words"),
        ("[topics.2]", "[topics.3]", "topic 3 does not exist"),
        ('[topics.2]\nwords = "rain, wind"\ncovered_by = []', "", "has no topic 2"),
        ("covered_by = []", "covered = []", "did you mean 'covered_by'?"),
        ("[topics.1]", "[topics.1", "malformed TOML"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    suite: Suite, tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in TABLE
    with pytest.raises(UserError) as caught:
        told(suite, tmp_path, TABLE.replace(old, new))
    assert said in caught.value.line()
    assert "coverage.toml" in caught.value.line()


# Similarity


def test_the_nearest_are_listed_and_those_near_enough_proposed() -> None:
    nearest = matches(np.array([0.1, 0.174, 0.5, -0.2]), ["d", "b", "a", "c"])
    assert [(match.situation, match.similarity) for match in nearest] == [("a", 0.5), ("b", 0.17), ("d", 0.1)]
    assert proposed(nearest, 0.17) == ("a", "b")
    assert proposed(nearest, 0.6) == ()


def test_equally_near_situations_come_by_name() -> None:
    assert [m.situation for m in matches(np.array([0.3, 0.3001]), ["b", "a"])] == ["a", "b"]
