"""The exit statuses are those that docs/running.md lists."""

from __future__ import annotations

import re
import signal

from bench.cli import SIGPIPE_STATUS
from bench.cli.stopping import BUDGET_STATUS, SIGNAL_STATUS
from bench.errors import UserError
from tests.cli.conftest import Bench
from tests.scripted_server import ScriptedServer, completion
from tests.tiny import ROOT, Tiny

USAGE_STATUS = 2


def promised() -> dict[int, str]:
    """The listed statuses with their meanings."""
    guide = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    section = guide.split("## Exit statuses")[1].split("\n## ")[0]
    rows = re.findall(r"(?m)^\| ([0-9, ]+) \| (.+) \|$", section)
    return {int(status): said for statuses, said in rows for status in statuses.split(",")}


def test_the_guide_lists_every_status() -> None:
    signals = {SIGNAL_STATUS + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    others = {0, UserError.status, USAGE_STATUS, BUDGET_STATUS, SIGPIPE_STATUS}
    assert set(promised()) == others | signals
    assert len(others | signals) == 8
    assert "--max-cost" in promised()[BUDGET_STATUS]


def test_a_command_that_is_not_understood_ends_with_status_2(bench: Bench, tiny: Tiny) -> None:
    for words in (
        ("runn",),
        ("run",),
        ("run", "tiny", "--max-cots", "1"),
        ("board", "tiny", "--format", "x"),
    ):
        ended = bench(*words)
        assert ended.status == USAGE_STATUS
        assert "Traceback" not in ended.err
    assert bench().status == USAGE_STATUS


def test_recorded_failures_are_results(bench: Bench, tiny: Tiny) -> None:
    with ScriptedServer(lambda seen: completion("no JSON", seen)).in_thread() as server:
        text = tiny.models.read_text(encoding="utf-8")
        tiny.models.write_text(re.sub(r"http://127\.0\.0\.1:\d+/v1", server.url, text), encoding="utf-8")
        ended = bench("run", "tiny", *tiny.options())
    assert ended.status == 0
    assert "4 conversations (4 failed)" in ended.out
