"""Check the comparisons of one board: against their conversations, the raw replies and the current suite."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from bench.audit.differences import reread_differences
from bench.audit.evidence import EvidenceAudit
from bench.audit.findings import Findings
from bench.audit.places import BoardFiles, files_in, folders_in
from bench.errors import CatalogError, UserError
from bench.protocols.comparing import Comparer, comparable, reread_comparison
from bench.records import messages_sha256
from bench.results import ResultsTree
from bench.results.compared import LINES, SOURCE, csv_of_compared, read_compared
from bench.results.comparison_records import Comparison
from bench.results.score_lines import read_table
from bench.slugs import COMPARED, slug
from bench.tables import counted

_FILES = re.compile("|".join(map(re.escape, (LINES, SOURCE))))
WORDING = frozenset({"repairs", "failure"})
"""Fields of a verdict that the raw replies determine and that change no number."""

Played = dict[tuple[str, str, str, int], str]
"""SHA-256 of each complete conversation's messages, by player, character, situation and repeat."""


def audit_comparisons(
    tree: ResultsTree, board: BoardFiles, evidence: EvidenceAudit, findings: Findings
) -> None:
    """Audit every comparison of a board whose players have been audited as ``evidence``."""
    if not board.comparisons:
        return
    played: Played = {
        (talk.player, *cell): messages_sha256(talk.messages)
        for player in evidence.played
        for cell, talk in player.conversations.items()
        if talk.status == "complete"
    }
    reference, comparer = evidence.reference, None
    if reference.protocol is not None and comparable(reference.protocol.facts):
        try:
            comparer = Comparer(reference.protocol)
        except CatalogError as error:
            findings.add("fingerprint-unknown", board.folder, error.line())
    for path in board.comparisons:
        record = evidence.files.comparison(path)
        if record is None:
            continue
        _check_conversations(record, path, played, findings)
        _check_reread(record, path, findings)
        if count := sum(call.redactions or 0 for call in record.calls):
            findings.add("redacted", path, f"{counted(count, 'credential')} removed from its replies")
        if misfit := reference.misfit(record):
            code, text, field = misfit
            findings.add(code, path, text, field)
        elif (
            comparer is not None
            and reference.knows_model(record.judge)
            and not comparer.fits(record, record.conversations_sha256)
        ):
            text = "prompts, parameters or model settings have changed since"
            findings.add("stale-comparison", path, text, "fingerprint")


def audit_compared(tree: ResultsTree, suites: Collection[str], findings: Findings) -> int:
    """Audit every table of imported comparisons. Returns the number of files checked."""
    folder, files = tree.root / COMPARED, 0
    for entry in folders_in(folder, findings) if folder.is_dir() else ():
        present = list(files_in(entry, _FILES, findings))
        files += len(present)
        if slug(entry.name) != entry.name or entry.name in suites or (tree.root / entry.name).is_dir():
            findings.add("compared-table", entry, "a suite has this name, or no table can have it")
            continue
        try:
            table = read_compared(tree, entry.name)
        except UserError as error:
            findings.add("compared-table", entry, error.line())
            continue
        if csv_of_compared(table.lines) != read_table(entry / LINES, tree.root):
            findings.add(
                "not-canonical", entry / LINES, "right lines, but not in the canonical form and order"
            )
    return files


def _check_conversations(record: Comparison, path: Path, played: Played, findings: Findings) -> None:
    for n, player in enumerate(record.players):
        sha256 = played.get((player, record.character, record.situation, record.repeat))
        if sha256 is None:
            findings.add("orphan", path, f"there is no complete conversation of {player}", f"players.{n}")
        elif sha256 != record.conversations_sha256[n]:
            text = f"the compared messages are not those of the conversation of {player}"
            findings.add("conversation-changed", path, text, f"conversations_sha256.{n}")


def _check_reread(record: Comparison, path: Path, findings: Findings) -> None:
    again = reread_comparison(record)
    for n, (here, due) in enumerate(zip(record.orders, again.orders, strict=True)):
        if not here.raw:
            findings.add("raw-missing", path, "there is no raw reply of the judge", f"orders.{n}.raw")
        if here is due:
            continue
        for at, text in reread_differences(here.plain(), due.plain(), f"orders.{n}"):
            code = "reread-wording" if at.split(".")[2] in WORDING else "reread"
            findings.add(code, path, text, at)
