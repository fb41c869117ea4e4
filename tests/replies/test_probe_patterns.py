"""Patterns of probes: which are refused, and mistakes in a file of probes."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from bench.errors import CatalogError
from bench.items import read_probes
from bench.protocols.card_probes import Probe
from bench.replies import patterns
from bench.replies.patterns import never_matched, pattern_fault
from bench.replies.probes import LONGEST, judged, normalised
from bench.toml_entries import entry_from


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("(a+)+$", "exponential"),
        ("a?" * 25 + "a" * 25, "very long"),
        (r"(?:.{0,9}x?){0}" + ".{0,9}" * 6 + "!", "very long"),
        ("one\ntwo", "several lines"),
        ("(?:a|aa)+b", "exponential"),
        ("(a{1,2}){3,}", "exponential"),
        ("(x*y*)*z", "exponential"),
        ("a*", "empty"),
        ("a|", "empty"),
        ("a.*b", "unbounded"),
        ("a.{2,}b", "unbounded"),
        ("(a", "malformed"),
        ("a{2}{3}", "malformed"),
        ("(a|a)*b", "exponential"),
        ("(?:a?){30}a{30}", "exponential"),
        ("(a?)+b", "exponential"),
        (r"(?P<word>\w+\s?)+$", "exponential"),
        ("(?i:a+)+b", "exponential"),
        ("(a+){10}b", "exponential"),
        (r"(?:\w\w?)+b", "exponential"),
        (r"(a+)\1b", "back reference"),
        ("(?P<x>a)(?P=x)", "back reference"),
        (r"\w+\w+b", "very long"),
        (r"\w+\s?\w+b", "very long"),
        (r"\w+a\w+b", "very long"),
        ("(?:x|a+)a+b", "very long"),
        ("a{0,40}a{0,40}b", "very long"),
        ("a*b*a*b*c", "very long"),
        ("[^x]{0,99}[^y]{0,99}z", "very long"),
        (r"[\s\S]+b", "unbounded"),
        ("[^x]+y", "unbounded"),
        ("(?#neg)", "empty"),
        (r"\b", "empty"),
        (r"\b桃", "no border"),
        (r"きびだんご\b", "no border"),
        (r"[ぁ-ん]+[ァ-ヶぁ-ん]+桃", "very long"),
        (r"桃(?:から|より)生まれ", ""),
        (r"(?<!十)三日(?!月)", ""),
        ("(?=a)", "empty"),
        ("(?:a|)", "empty"),
        (r"\w+ \w+ing\b", ""),
        (r"\bcat[^.!?]{0,12}\bsat", ""),
        (r"(?:ab){2,3}", ""),
        (r"(?:\d+|x) (?:y|\w+)", ""),
        (r"\bgr[ea]y\b", ""),
        (r"(?#neg)\bdo not know\b", ""),
        (r"(?:a|b)c", ""),
        (r"\(a+\)+", ""),
    ],
)
def test_unsafe_patterns_are_refused(pattern: str, fault: str) -> None:
    assert fault in pattern_fault(pattern)
    assert bool(pattern_fault(pattern)) == bool(fault)
    if not fault:
        started = time.process_time()
        for text in ("a" * LONGEST, "a " * (LONGEST // 2), "cat " * (LONGEST // 4)):
            assert judged(text, "Who?", [pattern], []).verdict in ("pass", "unclear")
        assert time.process_time() - started < 10


def test_patterns_that_need_no_whole_check_would_pass_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    pieces = [
        "a",
        "б",
        "桃",
        "7",
        "?",
        r"\b",
        " ",
        "[ab]",
        "[",
        "(?:",
        "(?!",
        "|",
        ")",
        ".",
        r"\?",
        r"\w*",
        r"\w+",
    ]
    pieces += ["(?#neg)", r"(?<!\d)"]
    made = {"".join(rng.choices(pieces, k=rng.randint(1, 7))) for _ in range(5000)}
    quick = {pattern: pattern_fault(pattern) for pattern in made if patterns.PLAIN.fullmatch(pattern)}
    assert len(quick) > 150
    monkeypatch.setattr(patterns, "PLAIN", re.compile("(?!)"))
    pattern_fault.cache_clear()
    assert {pattern: pattern_fault(pattern) for pattern in quick} == quick


def test_a_long_answer_takes_no_time() -> None:
    started = time.perf_counter()
    answer = "mrs " * 500_000
    assert judged(answer, "Who?", [r"\bhudson\b"], [r"\bwatson\b"]).verdict == "unclear"
    assert len(normalised(answer)) <= LONGEST
    assert time.perf_counter() - started < 2


PROBE = """
[[probe]]
id = "a"
kind = "fact"
messages = ["Who?"]
accept = ['hudson']
right = ["a", "b", "c"]
wrong = ["d", "e", "f"]
"""


def test_all_faults_of_a_file_of_probes_are_found_together(tmp_path: Path) -> None:
    (tmp_path / "_shared.toml").write_text("[patterns]\nsome = ['x']\n", encoding="utf-8")
    unknown = PROBE.replace("['hudson']", "['@nothing']")
    text = unknown + PROBE + unknown.replace('"a"\n', '"b"\n', 1)
    (tmp_path / "ann.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogError) as caught:
        read_probes(tmp_path, "ann", tmp_path)
    lines = [fault.where.rpartition(":")[2] for fault in (caught.value, *caught.value.others)]
    size = PROBE.count("\n")
    assert lines == [str(text[: text.index("[[probe]]")].count("\n") + 1 + size * n) for n in range(3)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("accept = ['hudson']", ""), "accept"),
        (("accept = ['hudson']", "accept = []"), "accept"),
        (("accept = ['hudson']", "accept = ['(a+)+b']"), "exponential"),
        (("accept = ['hudson']", "accept = ['x*']"), "empty"),
        (("accept = ['hudson']", "accept = ['hudson']\nacept = ['x']"), "unknown key 'acept'"),
        (("accept = ['hudson']", "accept = ['@nothing']"), "nothing"),
        (('kind = "fact"', 'kind = "secret"'), "expects"),
        (('messages = ["Who?"]', 'messages = ["1", "2", "3", "4"]'), "messages"),
        (("[[probe]]", "[probes]\n[[probe]]"), "unknown key 'probes'"),
    ],
)
def test_a_mistake_in_a_probe_is_named_with_file_and_line(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    (tmp_path / "_shared.toml").write_text("[patterns]\nsome = ['x']\n", encoding="utf-8")
    text = PROBE.replace('"a"\n', '"first"\n', 1) + PROBE.replace(*change)
    (tmp_path / "ann.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogError) as caught:
        [entry_from(Probe, dict(item.data), item.where) for item in read_probes(tmp_path, "ann", tmp_path)]
    line = caught.value.line()
    assert said in line
    assert "ann.toml" in line
    if "probes" not in said:
        assert "ann.toml:10" in line


def test_letters_that_normalised_answers_do_not_have_are_named() -> None:
    assert never_matched(r"\bBergen\b|(?P<Place>ёлка)\S\W|straße|Ünter(?#Note)") == "BÜßё"
    assert never_matched(r"\bbergen\B[^\W\d_]+ - 'елка' über strasse 梅さん \"```\"") == ""
