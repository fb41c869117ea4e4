"""Check the human studies: results/human/."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from bench.audit.files import check_canonical, content
from bench.audit.findings import Findings
from bench.audit.places import JSON, entries, files_in, folders_in, stray
from bench.errors import UserError
from bench.results.studies import HUMAN, StudyFile, read_annotator, read_study


def audit_studies(root: Path, messages: Collection[str], findings: Findings) -> int:
    """Audit every study of a results tree. Returns the number of files checked.

    ``messages``: SHA-256 of the messages of every complete conversation of the tree.
    """
    folder = root / HUMAN
    found = folders_in(folder, findings, readme=True) if folder.is_dir() else ()
    return sum(_study(root, study, messages, findings) for study in found)


def _study(root: Path, folder: Path, messages: Collection[str], findings: Findings) -> int:
    path = folder / "study.json"
    try:
        study = read_study(root, folder.name)
    except UserError as error:
        findings.add("study", folder, error.what)
        return 1
    check_canonical(study.plain(), content(path, findings) or b"", path, findings)
    _check_conversations(study, path, messages, findings)
    files = 1
    for entry in entries(folder, findings):
        if entry.is_dir() and entry.name == "annotations":
            for annotations in files_in(Path(entry.path), JSON, findings):
                files += 1
                _annotator(study, annotations, findings)
        elif entry.name != "study.json":
            stray(entry, findings)
    return files


def _annotator(study: StudyFile, path: Path, findings: Findings) -> None:
    try:
        annotator = read_annotator(path, study, findings.root)
        check_canonical(annotator.plain(), content(path, findings) or b"", path, findings)
    except UserError as error:
        findings.add("study", path, error.what)


def _check_conversations(study: StudyFile, path: Path, messages: Collection[str], findings: Findings) -> None:
    gone = [item.item for item in study.items if item.conversation_sha256 not in messages]
    if gone and study.origin is None:
        names = ", ".join(gone[:5]) + (" and more" if len(gone) > 5 else "")
        text = f"no conversation has the messages of {len(gone)} of {len(study.items)} items: {names}"
        findings.add("study-changed", path, text, "items")
