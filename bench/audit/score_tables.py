"""Check published scores of other benchmarks: results/published/."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from bench.audit.findings import Findings
from bench.audit.places import files_in, folders_in
from bench.errors import UserError
from bench.files import read_bytes
from bench.results.score_lines import csv_of, read_table
from bench.results.score_tables import LICENSE, SCORES, SOURCE, read_score_table
from bench.slugs import NOT_SUITES, TABLES, slug

_FILES = re.compile("|".join(map(re.escape, (SCORES, SOURCE, LICENSE))))


def audit_score_tables(
    root: Path, suites: Collection[str], findings: Findings, *, only: str | None = None
) -> int:
    """Audit every table below the results tree ``root``. Returns the number of files checked.

    ``suites``: names of the current suites, which no table may have. ``only``: audit this table alone.
    """
    folder = root / TABLES
    files = 0
    for path in folders_in(folder, findings, readme=True) if folder.is_dir() else ():
        if only in (None, path.name):
            files += _audit_table(path, root, findings)
            if slug(path.name) != path.name or path.name in NOT_SUITES:
                findings.add("score-table", path, "the folder has a name that no board can have")
            elif path.name in suites or (root / path.name).is_dir():
                findings.add("score-table", path, "a suite has the same name, so this board is not shown")
    return files


def _audit_table(folder: Path, root: Path, findings: Findings) -> int:
    present = {path.name: path for path in files_in(folder, _FILES, findings)}
    for name in (SCORES, SOURCE, LICENSE):
        if name not in present:
            findings.add("score-table", folder, f"{name} is missing")
    if LICENSE in present and not _has_text(present[LICENSE], root):
        findings.add("score-table", present[LICENSE], "the text of the licence is empty or cannot be read")
    if SCORES in present and SOURCE in present:
        _check_scores(folder, root, findings)
    return len(present)


def _has_text(path: Path, root: Path) -> bool:
    try:
        return bool(read_bytes(path, root).strip())
    except OSError:
        return False


def _check_scores(folder: Path, root: Path, findings: Findings) -> None:
    """Digest, columns, numbers, scale and repeated cells, which reading checks; then order and gaps."""
    path = folder / SCORES
    try:
        table = read_score_table(folder, root)
        data = read_table(path, root)
    except UserError as error:
        source = (folder / SOURCE).as_posix() in error.where
        findings.add("score-table", folder / SOURCE if source else path, f"{error.where}: {error.what}")
        return
    if csv_of(table.lines) != data:
        findings.add("not-canonical", path, "right scores, but not in the canonical form and order")
    if table.missing or table.incomplete:
        text = f"missing judgements: {table.missing}; not counted for lack of a criterion: {table.incomplete}"
        findings.add("score-gaps", path, text)
