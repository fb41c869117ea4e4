"""Every fault that a provider may come up with, through whole runs: what the table promises happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.chat import RetryPolicy
from bench.protocols.calls import ASKS
from tests.faults.fault_cases import QUICK, Ended, all_cases
from tests.faults.fault_table import PAGE, TABLE, Row
from tests.faults.reply_table import whole_page
from tests.scripted_faults import FAULTS

pytestmark = pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1"])

MAY_BE_RETRIED = ("reset_after",)
"""The reply is read; that its connection is gone is known when the next call is sent on it."""


def test_every_fault_of_the_server_is_in_the_table() -> None:
    assert list(TABLE.keys() - FAULTS.keys()) == list(FAULTS.keys() - TABLE.keys()) == []


@pytest.mark.parametrize("fault", TABLE)
def test_a_fault_ends_as_the_table_says(fault: str, tmp_path: Path) -> None:
    for (role, length), ended in all_cases(fault, tmp_path).items():
        row, case = TABLE[fault], f"{fault}, {role}, {length}"
        end = row.end(role)
        expected = "failed" if length == "always" and end.lasting else end.once
        fates = {"kept": {"read"}, "-": {"read"}}.get(expected, {expected})
        if fault in MAY_BE_RETRIED:
            fates = {"read", "retried"}
        assert ended.fate in fates, case
        if ended.fate == "failed":
            assert ended.failure is not None
            assert (ended.failure.role, ended.failure.outcome) == (role, end.lasting), case
            assert ended.failure.reason.startswith(row.reason), case
        assert ended.repairs == expected_repairs(row, ended, end.once == "read", role), case
        assert_calls_are_accounted_for(ended)


def expected_repairs(row: Row, ended: Ended, read: bool, role: str) -> tuple[str, ...]:
    """The repairs that a record names; the turns distinguish the two messages of an interrogator."""
    if not (row.repair and read):
        return ()
    if role == "judge":
        return (row.repair,)
    return tuple(f"turn {n}: {row.repair}" for n in range(1, 1 + len(ended.conversation.repairs)))


def assert_calls_are_accounted_for(ended: Ended) -> None:
    """Every request sent is a call of a record, or a retry that the policy allows."""
    calls = list(ended.conversation.calls) + list(ended.judgement.calls if ended.judgement else ())
    assert ended.stats.sent == len(calls) + ended.stats.retried
    assert ended.stats.retried <= len(calls) * (QUICK.attempts - 1)
    assert ended.report.re_asks <= (ASKS - 1) * (len(calls) - ended.report.re_asks)


def test_the_page_of_faults_shows_the_tables() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == whole_page(page), "python -m tests.faults.reply_table rewrites it"


def test_the_page_of_faults_tells_the_limits_of_retries() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    policy = RetryPolicy()
    assert f"up to {policy.attempts} attempts" in page
    assert f"within {policy.total_seconds / 60:g} minutes" in page
    assert f"up to {policy.longest_wait / 60:g} minutes" in page
    assert {2: "up to twice"}[ASKS - 1] in page
