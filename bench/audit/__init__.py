"""The audit checks that every committed file is intact and that every number follows from the files."""

from bench.audit.audit import audit_tree
from bench.audit.findings import CODES, AuditReport, Finding

__all__ = ["CODES", "AuditReport", "Finding", "audit_tree"]
