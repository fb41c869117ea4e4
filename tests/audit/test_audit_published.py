"""The audit of other benchmarks' published lists and of the alias table."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.audit.findings import Findings
from bench.audit.published import audit_published
from bench.scores.external import FOLDER, LIST_COLUMNS
from tests.audit.conftest import Audited

ROW = ("Bench", "1", "their-bard", "4.5", "bench.example, table 1", "2024-09")


def written(*rows: tuple[str, ...], columns: tuple[str, ...] = LIST_COLUMNS) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns, *rows])
    return out.getvalue()


@pytest.fixture
def folder(audited: Audited) -> Path:
    made = audited.tree.root / "external"
    made.mkdir()
    (made / "bench.csv").write_text(written(ROW, (*ROW[:2], "other", "3", *ROW[4:])), encoding="utf-8")
    (made / "aliases.toml").write_text('[Bard]\nids = ["bard"]\nbench = "their-bard"\n', encoding="utf-8")
    return made


def findings(audited: Audited) -> list[tuple[str, str, str]]:
    return [(f.code, f.path, f.text) for f in audited.report().findings]


def test_sound_lists_and_aliases_are_counted_and_nothing_is_said(audited: Audited, folder: Path) -> None:
    assert findings(audited) == []
    assert audited.report().files == 19 + 2
    assert audited.report(suite="tiny").files == 19


def _changed(at: int, text: str) -> str:
    return written(tuple(text if n == at else cell for n, cell in enumerate(ROW)))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (written(ROW, columns=LIST_COLUMNS[::-1]), "unexpected columns"),
        (written(), "several benchmarks"),
        (written(ROW, ("Bench", "2", "other", "3", *ROW[4:])), "several benchmarks"),
        (written(ROW, ROW), "repeated"),
        (written(ROW[:5]), "6 fields"),
        (written((*ROW, "more")), "6 fields"),
        (_changed(3, "high"), "not a number"),
        (_changed(3, "nan"), "not a number"),
        (_changed(4, " "), "no source"),
        (_changed(0, ""), "no benchmark"),
        (_changed(5, ""), "invalid date ''"),
        (_changed(5, "September 2024"), "invalid date"),
        (_changed(5, "2024-13"), "invalid date"),
        (_changed(5, "2024-02-30"), "invalid date"),
        (_changed(5, "0000"), "invalid date"),
    ],
)
def test_an_unsound_list_is_an_error(audited: Audited, folder: Path, content: str, said: str) -> None:
    (folder / "aliases.toml").unlink()
    (folder / "bench.csv").write_text(content, encoding="utf-8")
    [(code, path, text)] = findings(audited)
    assert (code, path) == ("published-list", "external/bench.csv")
    assert said in text
    assert not audited.report().ok


@pytest.mark.parametrize("date", ["2024", "2024-09", "2024-02-29"])
def test_a_date_is_a_year_a_month_or_a_day(audited: Audited, folder: Path, date: str) -> None:
    (folder / "bench.csv").write_text(_changed(5, date), encoding="utf-8")
    assert findings(audited) == []


@pytest.mark.parametrize(
    ("content", "field", "said"),
    [
        ('[Bard]\nids = ["bard"]\nbench = "nobody"\n', "Bard.bench", "bench.csv has no 'nobody'"),
        ('[Bard]\nids = ["bard"]\nlost = "their-bard"\n', "Bard.lost", "there is no lost.csv"),
        ('[A]\nids = ["bard"]\n[B]\nids = ["bard"]\n', "", "stands for 'A' and for 'B'"),
        ("[Bard\n", "", ""),
    ],
)
def test_an_alias_that_no_list_bears_out_is_an_error(
    audited: Audited, folder: Path, content: str, field: str, said: str
) -> None:
    (folder / "aliases.toml").write_text(content, encoding="utf-8")
    [found] = audited.report().findings
    assert (found.severity, found.code, found.field) == ("error", "alias", field)
    assert said in found.text


def test_aliases_of_models_that_are_not_ours_are_noted(audited: Audited, folder: Path) -> None:
    text = '[Bard]\nids = ["bard"]\nbench = "their-bard"\n[Far]\nids = ["far-7b"]\nbench = "other"\n'
    (folder / "aliases.toml").write_text(text, encoding="utf-8")
    [(code, _, said)] = findings(audited)
    assert code == "alias-unused"
    assert said.startswith("1 of 2")
    assert said.endswith(": Far")
    assert audited.report(strict=True).ok


def _link(folder: Path) -> None:
    (folder / "more.csv").symlink_to(folder / "bench.csv")


def _other_file(folder: Path) -> None:
    (folder / "notes.txt").write_text("x", encoding="utf-8")


def _binary(folder: Path) -> None:
    (folder / "more.csv").write_bytes(b"\xff\xfe\x00")


@pytest.mark.parametrize(
    ("spoil", "code"), [(_link, "symlink"), (_other_file, "unknown-file"), (_binary, "published-list")]
)
def test_other_files_are_found(
    audited: Audited, folder: Path, spoil: Callable[[Path], None], code: str
) -> None:
    spoil(folder)
    assert [found for found, *_ in findings(audited)] == [code]


def test_the_committed_lists_are_sound() -> None:
    root = Path(__file__).parents[2] / "results"
    findings = Findings(root)
    assert audit_published(root / FOLDER, (), None, findings) > 1
    assert [found.line() for found in findings.items if found.severity == "error"] == []
