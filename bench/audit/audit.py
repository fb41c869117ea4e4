"""The audit of a results tree, or of one suite in it."""

from __future__ import annotations

from collections.abc import Mapping

from bench.audit.boards import audit_board
from bench.audit.comparisons import audit_compared, audit_comparisons
from bench.audit.evidence import EvidenceAudit
from bench.audit.files import FileAudit
from bench.audit.findings import AuditReport, Findings, report_of
from bench.audit.places import survey
from bench.audit.published import audit_published
from bench.audit.reference import reference_of
from bench.audit.score_tables import audit_score_tables
from bench.audit.studies import audit_studies
from bench.catalog import Catalog
from bench.errors import UserError
from bench.results import ResultsTree
from bench.scores.external import FOLDER
from bench.suites import Suite


def audit_tree(
    tree: ResultsTree,
    suites: Mapping[str, Suite],
    catalog: Catalog | None,
    *,
    suite: str | None = None,
    strict: bool = False,
) -> AuditReport:
    """Audit every file below ``tree``, or only the files of one suite. Changes nothing.

    Args:
        tree: The results tree.
        suites: The current suites, by name. Evidence of other suites is checked without them.
        catalog: The current catalog. Without one, fingerprints are not checked.
        suite: Audit only this suite or table of published scores, without the published lists and the human
            studies.
        strict: Count warnings as errors.

    Raises UserError if the folder or the suite does not exist.
    """
    if not tree.root.is_dir():
        raise UserError("no such folder", where=str(tree.root), hint="Name the results tree with --results.")
    findings = Findings(tree.root, strict)
    boards = survey(tree.root, suite, findings)
    if suite is not None and tree.is_table(suite):
        return report_of(findings, audit_score_tables(tree.root, suites, findings, only=suite))
    if suite is not None and not boards:
        raise UserError(f"no results of suite {suite!r}", where=str(tree.root))
    models: set[str] = set()
    messages: set[str] = set()
    for board in boards:
        if board.events is not None:
            FileAudit(tree, findings).events(board.events)
        evidence = EvidenceAudit(tree, board, reference_of(board, suites, catalog, findings), findings)
        evidence.run()
        audit_comparisons(tree, board, evidence, findings)
        audit_board(tree, board, suites, findings)
        models |= evidence.models
        messages |= evidence.messages.keys()
    files = sum(map(len, boards))
    if suite is None:
        files += audit_score_tables(tree.root, suites, findings)
        files += audit_compared(tree, suites, findings)
        files += audit_published(tree.root / FOLDER, models, catalog, findings)
        files += audit_studies(tree.root, messages, findings)
    return report_of(findings, files)
