"""The audit of a results tree, or of one suite in it."""

from __future__ import annotations

from collections.abc import Mapping

from bench.audit.boards import audit_board
from bench.audit.evidence import EvidenceAudit
from bench.audit.findings import AuditReport, Findings, report_of
from bench.audit.measure import measure_of
from bench.audit.places import survey
from bench.audit.published import audit_published
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
    """Audit every file below ``tree``, the published lists and the human studies in it, or one suite's files.

    ``strict``: warnings count as errors.

    ``suites`` and ``catalog`` are those of now; what they do not know is said, and checked without them.
    Raises UserError where there is no such folder or suite.
    """
    if not tree.root.is_dir():
        raise UserError("no such folder", where=str(tree.root), hint="Name the results tree by --results.")
    findings = Findings(tree.root, strict)
    boards = survey(tree.root, suite, findings)
    if suite is not None and not boards:
        raise UserError(f"no results of suite {suite!r}", where=str(tree.root))
    ours: set[str] = set()
    said: set[str] = set()
    for board in boards:
        measure = measure_of(board.suite, board.language, suites, catalog, findings, board.folder)
        evidence = EvidenceAudit(tree, board, measure, findings)
        evidence.run()
        audit_board(tree, board, suites, findings)
        ours |= {name for info in evidence.infos for name in (info.player, info.model)}
        said |= evidence.said.keys()
    files = sum(map(len, boards))
    if suite is None:
        files += audit_published(tree.root / FOLDER, ours, catalog, findings)
        files += audit_studies(tree.root, said, findings)
    return report_of(findings, files)
