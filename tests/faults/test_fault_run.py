"""A run of 64 conversations in which three replies of ten are faulty, through the command."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench import cli
from bench.chat import RetryPolicy, client
from bench.protocols.calls import ASKS
from bench.records import Conversation, Judgement
from tests.scripted_faults import FAULTS, faulty
from tests.scripted_server import ScriptedServer
from tests.tiny import CARD, SITUATION, Tiny, edit, make_tiny, play_all

pytestmark = pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1"])

SIDE = 8
TURNS = 2
CONVERSATIONS = SIDE * SIDE
FAULT_FREE = CONVERSATIONS * (2 * TURNS + 1)
QUICK = RetryPolicy(attempts=4, first_wait=0.01, longest_backoff=0.03, longest_wait=5)
ONE_IN_A_RUN = ("stall", "slow", "huge", "rate_limit_seconds", "rate_limit_date")
"""Faults that take their time: each is one of forty kinds here, as all the others are."""
REPORT = re.compile(
    r"(\d+) conversations \((\d+) failed\), (\d+) judgements \((\d+) failed\);"
    r" (\d+) requests sent, (\d+) of them retries, 0 replies from cache"
)


@pytest.fixture
def wide(tmp_path: Path) -> Tiny:
    """A bench in miniature with 8 characters and 8 situations of 2 turns."""
    tiny = make_tiny(tmp_path / "wide")
    for folder in (tiny.card_file.parent, tiny.situation_file.parent):
        for path in folder.glob("*.toml"):
            path.unlink()
    for n in range(SIDE):
        path = tiny.card_file.with_stem(f"character-{n}")
        path.write_text(CARD.format(name=f"Character {n}"), encoding="utf-8")
        path = tiny.situation_file.with_stem(f"situation-{n}")
        path.write_text(SITUATION.format(title=f"situation-{n}", turns=TURNS), encoding="utf-8")
    play_all(tiny)
    edit(tiny.models, "max_concurrent = 4", "max_concurrent = 32")
    edit(tiny.models, "timeout_seconds = 20", "timeout_seconds = 3")
    return tiny


def test_a_run_with_three_faults_in_ten_ends_every_cell(
    wide: Tiny, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(client, "RetryPolicy", lambda: replace(QUICK))
    with ScriptedServer(faulty(0.3, 5, FAULTS), record=False).in_thread() as server:
        text = wide.models.read_text(encoding="utf-8")
        wide.models.write_text(text.replace("http://127.0.0.1:9/v1", server.url), encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["bench", "run", "tiny", *wide.options()])
        cli.main()
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    talks = list(wide.tree.conversations("tiny", "en", "bard"))
    verdicts = list(wide.tree.judgements("tiny", "en", "bard"))
    check_cells(talks, verdicts)
    found = REPORT.search(said.out)
    assert found is not None, said.out
    conversations, talks_failed, judgements, verdicts_failed, sent, retried = map(int, found.groups())
    assert (conversations, judgements) == (CONVERSATIONS, len(verdicts))
    assert talks_failed == sum(talk.status == "failed" for talk in talks)
    assert verdicts_failed == sum(verdict.status == "failed" for verdict in verdicts)
    assert talks_failed + verdicts_failed > 0
    asked = re.search(r"Asked for again: (\d+) repl", said.out)
    assert asked is not None, said.out
    check_calls(talks, verdicts, sent, retried, int(asked[1]))
    assert server.count <= sent  # what is sent on a connection that is gone, no server sees


def check_cells(talks: list[Conversation], verdicts: list[Judgement]) -> None:
    """Every cell is complete, or a failure with its reason; every complete conversation has its judgement."""
    assert len(talks) == CONVERSATIONS
    complete = [talk for talk in talks if talk.status == "complete"]
    assert len(complete) == len(verdicts) > CONVERSATIONS / 4
    records: list[Conversation | Judgement] = [*talks, *verdicts]
    for record in records:
        failed = record.status == "failed"
        assert failed == (record.failure is not None)
        assert record.failure is None or record.failure.reason


def check_calls(
    talks: list[Conversation], verdicts: list[Judgement], sent: int, retried: int, re_asked: int
) -> None:
    """Every request beyond those of a run without faults is a retry or a re-ask, within what is allowed."""
    calls = sum(len(talk.calls) for talk in talks) + sum(len(verdict.calls) for verdict in verdicts)
    assert sent == calls + retried
    assert retried <= calls * (QUICK.attempts - 1)
    assert calls - re_asked <= FAULT_FREE
    assert re_asked <= (calls - re_asked) * (ASKS - 1)
    assert sent - FAULT_FREE <= retried + re_asked
