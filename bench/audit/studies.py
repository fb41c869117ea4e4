"""Human studies: results/human/."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from bench.audit.findings import Findings
from bench.audit.places import entries, stray
from bench.errors import UserError
from bench.records import Record, canonical
from bench.results.studies import HUMAN, StudyFile, read_annotator, read_study


def audit_studies(root: Path, said: Collection[str], findings: Findings) -> int:
    """Audit every study of a results tree; returns how many files were looked at.

    ``said``: SHA-256 of the messages of every complete conversation of the tree, which studies speak of.
    """
    folder = root / HUMAN
    if not folder.is_dir():
        return 0
    files = 0
    for entry in entries(folder, findings):
        if entry.is_dir():
            files += _study(root, Path(entry.path), said, findings)
        elif entry.name != "README.md":
            stray(entry, findings)
    return files


def _study(root: Path, folder: Path, said: Collection[str], findings: Findings) -> int:
    try:
        study = read_study(root, folder.name)
    except UserError as error:
        findings.add("study", folder, error.what)
        return 1
    _check_bytes(study, folder / "study.json", findings)
    _check_conversations(study, folder / "study.json", said, findings)
    files = 1
    for entry in entries(folder, findings):
        if entry.is_dir() and entry.name == "annotations":
            files += _annotators(study, Path(entry.path), findings)
        elif entry.name != "study.json":
            stray(entry, findings)
    return files


def _annotators(study: StudyFile, folder: Path, findings: Findings) -> int:
    files = 0
    for entry in entries(folder, findings):
        path = Path(entry.path)
        if not entry.is_file() or path.suffix != ".json":
            stray(entry, findings)
            continue
        files += 1
        try:
            _check_bytes(read_annotator(path, study), path, findings)
        except UserError as error:
            findings.add("study", path, error.what)
    return files


def _check_bytes(record: Record, path: Path, findings: Findings) -> None:
    if path.read_bytes() != canonical(record.plain()).encode("utf-8"):
        findings.add("not-canonical", path, "not written as the program writes it")


def _check_conversations(study: StudyFile, path: Path, said: Collection[str], findings: Findings) -> None:
    gone = [item.item for item in study.items if item.conversation_sha256 not in said]
    if gone and study.origin is None:
        shown = ", ".join(gone[:5]) + (" and more" if len(gone) > 5 else "")
        text = f"{len(gone)} of {len(study.items)} items are of messages that no conversation holds: {shown}"
        findings.add("study-changed", path, text, "items")
