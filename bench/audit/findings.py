"""What an audit finds: one record a finding, its codes in one table, and the report of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bench.records import Record

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

CODES: dict[str, tuple[Severity, str]] = {
    "schema": ("error", "the file is not a record of its kind"),
    "digest": ("error", "the record was edited after it was written"),
    "misplaced": ("error", "the record says that it belongs elsewhere"),
    "inconsistent": ("error", "parts of one record contradict each other"),
    "unknown-file": ("error", "no file of that name belongs there"),
    "symlink": ("error", "a link is not evidence"),
    "player-missing": ("error", "records of a player without its player.json"),
    "duplicate-cell": ("error", "two files hold the same cell"),
    "orphan": ("error", "a judgement of a conversation that is not there"),
    "conversation-changed": ("error", "the judge read other messages than the conversation holds now"),
    "reread": ("error", "the judge's raw replies say something else than the record"),
    "raw-missing": ("error", "a verdict without the judge's raw reply, and not imported"),
    "foreign": ("error", "an imported record in a suite that this project runs itself"),
    "board-differs": ("error", "board.json is not what the evidence gives"),
    "board-impossible": ("error", "no board can be computed from the evidence"),
    "board-orphan": ("error", "a board.json without players"),
    "published-list": ("error", "a list of another benchmark without sound scores, source or date"),
    "alias": ("error", "an alias that no list bears out"),
    "study": ("error", "a file of a human study that is damaged or contradicts its study"),
    "study-changed": ("warning", "a human study of conversations that are not there, or not as they were"),
    "audio-missing": ("error", "a message was spoken, and its sound file is not there"),
    "audio-changed": ("error", "the sound file is not the one that was heard"),
    "audio-measures": ("error", "what a record says of a sound is not what is measured"),
    "audio-orphan": ("warning", "a sound file that no message of the player has"),
    "stale-conversation": ("warning", "made from other prompts or parameters than those of now"),
    "stale-judgement": ("warning", "made from other prompts or parameters than those of now"),
    "other-version": ("warning", "of another version of the suite than that of now"),
    "reread-wording": ("warning", "today's parser words repairs or failures differently"),
    "missing-conversation": ("warning", "a scene of the suite that the player has not played"),
    "missing-judgement": ("warning", "a complete conversation that a judge of the suite has not judged"),
    "unexpected-cell": ("warning", "a scene that the suite does not have"),
    "duplicate-messages": ("warning", "the same messages, word for word, in two conversations"),
    "not-canonical": ("warning", "the same record in other bytes than the program writes"),
    "board-missing": ("warning", "players without a board.json"),
    "leftover": ("warning", "a temporary file of a run that was killed or is under way"),
    "failed-conversation": ("note", "a recorded failure"),
    "failed-judgement": ("note", "a recorded failure"),
    "final-differs": ("note", "a judge's final score does not follow from the steps that it took"),
    "fingerprint-unknown": ("note", "the fingerprint cannot be recomputed"),
    "reread-unknown": ("note", "no parser for the raw replies of this protocol"),
    "imported": ("note", "imported from elsewhere: no raw replies, no calls, no fingerprint of ours"),
    "alias-unused": ("note", "aliases of models that are not ours"),
    "hidden-file": ("note", "a hidden file that is no part of the evidence"),
}
"""Every kind of finding: how grave it is, and what it means."""


class Finding(Record):
    """One thing found. ``path`` is relative to the results tree; ``field`` the dotted place in the file."""

    severity: Severity
    code: str
    path: str
    field: str = ""
    text: str

    def line(self) -> str:
        """One line for a terminal."""
        place = f"{self.path}: {self.field}" if self.field else self.path
        return f"{self.severity} [{self.code}] {place}: {self.text}"


@dataclass
class Findings:
    """Findings as they are gathered. ``strict``: warnings count as errors."""

    root: Path
    strict: bool = False
    found: list[Finding] = field(default_factory=list)

    def add(self, code: str, path: Path, text: str, where: str = "") -> None:
        """Add a finding of ``code`` at ``path``, field ``where``."""
        severity = CODES[code][0]
        if self.strict and severity == "warning":
            severity = "error"
        shown = path.relative_to(self.root).as_posix()
        self.found.append(Finding(severity=severity, code=code, path=shown, field=where, text=text))


class AuditReport(Record):
    """Everything that an audit found, gravest first."""

    schema_version: int = 1
    strict: bool
    files: int
    """Files looked at."""
    counts: dict[Severity, int]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return self.counts["error"] == 0


def report_of(findings: Findings, files: int) -> AuditReport:
    """The findings in an order that does not depend on the file system."""
    order = {severity: n for n, severity in enumerate(SEVERITIES)}
    found = sorted(findings.found, key=lambda f: (order[f.severity], f.path, f.code, f.field, f.text))
    counted = Counter(f.severity for f in found)
    return AuditReport(
        strict=findings.strict,
        files=files,
        counts={severity: counted[severity] for severity in SEVERITIES},
        findings=tuple(found),
    )


def text_lines(report: AuditReport, *, most: int = 20) -> Iterable[str]:
    """The report for a terminal: at most ``most`` findings of each code, and how many there are."""
    shown: Counter[str] = Counter()
    for finding in report.findings:
        shown[finding.code] += 1
        if shown[finding.code] <= most:
            yield finding.line()
    for code, count in shown.items():
        if count > most:
            yield f"{count - most} more of [{code}], {CODES[code][1]}: `--format json` lists them all"
    counts = ", ".join(f"{count} {severity}{'s'[: count != 1]}" for severity, count in report.counts.items())
    yield f"{report.files} files: {counts}"
