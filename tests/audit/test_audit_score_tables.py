"""The audit of published scores: digest, cells, scale, licence, and the name of the folder."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.audit import audit_tree
from bench.audit.findings import AuditReport
from bench.results import ResultsTree
from tests.scores.test_scores_published import lines_of, tree_with

Change = Callable[[Path], object]


def codes(report: AuditReport) -> list[str]:
    return [finding.code for finding in report.findings]


def audit(tree: ResultsTree, suite: str | None = None) -> AuditReport:
    return audit_tree(tree, {}, None, suite=suite)


def test_a_complete_table_is_clean(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, lines_of(3, 6, 2))
    for suite in (None, "other"):
        report = audit(tree, suite)
        assert (report.findings, report.files) == ((), 3)


def rewritten(folder: Path, old: bytes, new: bytes) -> None:
    """Replace a text in the decompressed scores."""
    path = folder / "scores.csv.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(old, new, 1)))


CHANGES: dict[str, Change] = {
    "another score": lambda folder: rewritten(folder, b"j0,wit,", b"j0,wit,1"),
    "a repeated line": lambda folder: rewritten(folder, b"p0,s1,", b"p0,s0,"),
    "no scores": lambda folder: (folder / "scores.csv.gz").unlink(),
    "no source": lambda folder: (folder / "source.toml").unlink(),
    "no licence": lambda folder: (folder / "LICENSE").unlink(),
    "an empty licence": lambda folder: (folder / "LICENSE").write_text("\n"),
    "a source that is no TOML": lambda folder: (folder / "source.toml").write_text("title ="),
    "a source without a key": lambda folder: (folder / "source.toml").write_text('title = "x"\n'),
    "a narrower scale": lambda folder: (folder / "source.toml").write_text(
        (folder / "source.toml").read_text().replace("[1, 10]", "[1, 2]")
    ),
    "a damaged file": lambda folder: (folder / "scores.csv.gz").write_bytes(b"\x1f\x8b"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_table_is_an_error(tmp_path: Path, name: str) -> None:
    tree = tree_with(tmp_path, lines_of(3, 6, 2))
    CHANGES[name](tmp_path / "published" / "other")
    assert not audit(tree).ok
    assert set(codes(audit(tree))) == {"score-table"}


def test_other_files_and_links_are_reported(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, lines_of(3, 6, 2))
    (tmp_path / "published" / "other" / "talks.json").write_text("{}")
    (tmp_path / "published" / "link").symlink_to(tmp_path / "published" / "other")
    assert sorted(codes(audit(tree))) == ["symlink", "unknown-file"]


def test_missing_and_incomplete_judgements_are_a_note(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, lines_of(3, 6, 2)[:-3])
    report = audit(tree)
    assert (codes(report), report.ok) == (["score-gaps"], True)


def test_a_table_with_the_name_of_a_suite_is_an_error(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, lines_of(3, 6, 2))
    (tmp_path / "other" / "en").mkdir(parents=True)
    assert "score-table" in codes(audit(tree))
    assert not tree.is_table("other")
