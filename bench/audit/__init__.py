"""The audit: is every committed file what it claims to be, and does every number follow from them?"""

from bench.audit.audit import audit_tree
from bench.audit.findings import CODES, AuditReport, Finding

__all__ = ["CODES", "AuditReport", "Finding", "audit_tree"]
