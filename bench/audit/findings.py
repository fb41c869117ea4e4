"""The findings of an audit: all codes in one table, one record per finding, and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bench.records import Record
from bench.tables import counted

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

CODES: dict[str, tuple[Severity, str]] = {
    "schema": ("error", "the file does not match its schema"),
    "digest": ("error", "the record was edited after it was written"),
    "misplaced": ("error", "the record belongs at another path"),
    "inconsistent": ("error", "parts of one record contradict each other"),
    "unknown-file": ("error", "no file of this name belongs here"),
    "symlink": ("error", "a link is not evidence"),
    "player-missing": ("error", "a player has records but no player.json"),
    "duplicate-cell": ("error", "two files hold the same cell"),
    "orphan": ("error", "a judgement or comparison without a valid conversation"),
    "conversation-changed": ("error", "the conversation has changed since it was judged or compared"),
    "reread": ("error", "the judge's raw replies do not match the record"),
    "raw-missing": ("error", "a verdict has no raw reply and is not imported"),
    "foreign": ("error", "an imported record in a suite that this project runs itself"),
    "board-differs": ("error", "board.json does not match the evidence"),
    "board-impossible": ("error", "no board can be computed from the evidence"),
    "board-orphan": ("error", "a board.json without players"),
    "published-list": ("error", "a list of another benchmark has no valid scores, source or date"),
    "score-table": ("error", "published scores are damaged, or do not match their source.toml"),
    "compared-table": ("error", "imported comparisons are damaged, or do not match their source.toml"),
    "alias": ("error", "an alias names a model that its list does not have"),
    "study": ("error", "a file of a human study is damaged or contradicts its study"),
    "study-changed": ("warning", "conversations of a human study are missing or have changed"),
    "audio-missing": ("error", "the sound file of a message is missing"),
    "audio-changed": ("error", "the sound file has changed"),
    "audio-measures": ("error", "the recorded measurements of a sound are wrong"),
    "audio-orphan": ("warning", "a sound file that no message uses"),
    "stale-conversation": ("warning", "prompts, parameters or model settings have changed since"),
    "stale-judgement": ("warning", "prompts, parameters or model settings have changed since"),
    "stale-comparison": ("warning", "prompts, parameters or model settings have changed since"),
    "other-version": ("warning", "the suite is at another version now"),
    "reread-wording": ("warning", "the current parser words repairs or failures differently"),
    "missing-conversation": ("warning", "a scene of the suite that the player has not played"),
    "missing-judgement": ("warning", "a complete conversation that a judge of the suite has not judged"),
    "unexpected-cell": ("warning", "a scene that the suite does not have"),
    "unexpected-judge": ("warning", "judges rotate, and it was not this judge's turn"),
    "player-removed": ("note", "a player was removed, for the reason given"),
    "player-renamed": ("note", "a player was renamed, for the reason given"),
    "extra-repeat": ("note", "a repeat beyond those of the suite"),
    "duplicate-messages": ("warning", "two conversations have the same messages, word for word"),
    "duplicate-replies": ("warning", "two judges gave the same replies to a conversation, word for word"),
    "not-canonical": ("warning", "the bytes differ from the canonical form"),
    "redacted": ("warning", "replies repeated an API key or other credential, which was removed"),
    "answers-cut": ("warning", "answers cut off at the token limit; only a note in a demonstration"),
    "not-whole": ("warning", "an answer counts as whole although its finish reason says otherwise"),
    "unknown-endings": ("warning", "replies whose finish reason is not known; as above"),
    "empty-replies": ("warning", "replies without text; as above"),
    "repeated-calls": ("warning", "calls repeated because a reply could not be used; as above"),
    "served-models": ("warning", "one entry of models.toml was answered by several models; as above"),
    "board-missing": ("warning", "there are players but no board.json"),
    "leftover": ("warning", "a temporary file of a run that was killed or is still running"),
    "failed-conversation": ("note", "a recorded failure"),
    "failed-judgement": ("note", "a recorded failure"),
    "failed-comparison": ("note", "a recorded failure in one or both orders"),
    "final-differs": ("note", "a judge's final score does not follow from its own steps"),
    "reasoning": ("note", "answers that came with reasoning"),
    "fingerprint-unknown": ("note", "the fingerprint cannot be recomputed"),
    "reread-unknown": ("note", "there is no parser for raw replies of this protocol"),
    "imported": ("note", "imported: no raw replies, calls or fingerprints to check"),
    "score-gaps": ("note", "published scores do not cover every player, scene, judge and criterion"),
    "alias-unused": ("note", "aliases of models that are neither players nor in models.toml"),
    "hidden-file": ("note", "a hidden file, which is not part of the evidence"),
}
"""Every kind of finding: its severity and meaning."""


class Finding(Record):
    """One finding. ``path`` is relative to the results tree, ``field`` is the dotted place in the file."""

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
    """Collects findings. ``strict``: count warnings as errors."""

    root: Path
    strict: bool = False
    items: list[Finding] = field(default_factory=list)

    def add(
        self, code: str, path: Path, text: str, where: str = "", severity: Severity | None = None
    ) -> None:
        """Add a finding of ``code`` at ``path``, field ``where``. ``severity``: default: that of the code."""
        severity = severity or CODES[code][0]
        if self.strict and severity == "warning":
            severity = "error"
        place = path.relative_to(self.root).as_posix()
        self.items.append(Finding(severity=severity, code=code, path=place, field=where, text=text))


class AuditReport(Record):
    """All findings of an audit, errors first."""

    schema_version: int = 1
    strict: bool
    files: int
    """Number of files checked."""
    counts: dict[Severity, int]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return self.counts["error"] == 0


def report_of(findings: Findings, files: int) -> AuditReport:
    """The report of ``findings``, sorted so that it does not depend on the file system."""
    order = {severity: n for n, severity in enumerate(SEVERITIES)}
    ordered = sorted(findings.items, key=lambda f: (order[f.severity], f.path, f.code, f.field, f.text))
    counted = Counter(f.severity for f in ordered)
    return AuditReport(
        strict=findings.strict,
        files=files,
        counts={severity: counted[severity] for severity in SEVERITIES},
        findings=tuple(ordered),
    )


def text_lines(report: AuditReport, *, most: int = 20) -> Iterable[str]:
    """Lines for a terminal: at most ``most`` findings of each code, and the counts."""
    shown: Counter[str] = Counter()
    for finding in report.findings:
        shown[finding.code] += 1
        if shown[finding.code] <= most:
            yield finding.line()
    for code, count in shown.items():
        if count > most:
            yield f"{count - most} more of [{code}], {CODES[code][1]}: `--format json` lists them all"
    counts = ", ".join(counted(count, severity) for severity, count in report.counts.items())
    yield f"{counted(report.files, 'file')}: {counts}"
