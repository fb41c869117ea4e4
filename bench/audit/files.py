"""Check one file at a time: schema, digest, place, and whether the record contradicts itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from bench.audit.findings import Findings
from bench.chat.endings import ending_of
from bench.files import read_bytes
from bench.protocol_facts import facts_of
from bench.records import Call, Cell, Conversation, Judgement, PlayerInfo, Record, canonical, sha256_of
from bench.replies.margins import WIDEST
from bench.results import ResultsTree
from bench.results.comparison_records import Comparison, OrderVerdict
from bench.results.comparisons import comparison_path, pair_of
from bench.results.events import Events

T = TypeVar("T", bound=Record)


class FileAudit:
    """Reads the files of one tree and adds what is wrong with each to ``findings``."""

    def __init__(self, tree: ResultsTree, findings: Findings) -> None:
        self.tree = tree
        self.findings = findings

    def player(self, path: Path) -> PlayerInfo | None:
        """Read player.json. It names no board; its folder determines which board it belongs to."""
        info = self._record(PlayerInfo, path)
        if info is None:
            return None
        folder = path.parent
        due = self.tree.player_folder(folder.parent.parent.name, folder.parent.name, info.player)
        if due.name != folder.name:
            self.findings.add("misplaced", path, f"belongs in the folder {due.name}", "player")
        return info

    def conversation(self, path: Path) -> Conversation | None:
        """Read a conversation. None if it is unreadable or not where it belongs."""
        record = self._record(Conversation, path)
        if record is None:
            return None
        self._check_failure(record, path, "failed-conversation")
        unanswered = not record.messages or record.messages[-1].role != "assistant"
        if record.status == "complete" and unanswered:
            self._contradiction(path, "messages", "complete, but the last message is not the player's")
        return record if self._in_place(record, path, self.tree.conversation_path) else None

    def events(self, path: Path) -> None:
        """Read changes.json, and show each removed or renamed player with the reason."""
        record = self._record(Events, path)
        for n, event in enumerate(record.events if record else ()):
            self.findings.add(f"player-{event.action}", path, event.text, f"events.{n}")

    def judgement(self, path: Path) -> Judgement | None:
        """Read a judgement. None if it is unreadable or not where it belongs."""
        record = self._record(Judgement, path)
        if record is None:
            return None
        self._check_failure(record, path, "failed-judgement")
        if (record.status == "failed") == bool(record.turns):
            self._contradiction(path, "turns", f"{record.status} with {len(record.turns)} turns")
        if len(record.raw) != len(record.calls):
            self._contradiction(path, "raw", f"{len(record.raw)} replies of {len(record.calls)} calls")
        if [turn.turn for turn in record.turns] != list(range(1, len(record.turns) + 1)):
            self._contradiction(path, "turns", "the turns are not numbered 1, 2, 3 ...")
        self._check_scores(record, path)
        in_place = self._in_place(record, path, lambda cell: self.tree.judgement_path(cell, record.judge))
        return record if in_place else None

    def comparison(self, path: Path) -> Comparison | None:
        """Read a comparison. None if it is unreadable or not where it belongs."""
        record = self._record(Comparison, path)
        if record is None:
            return None
        if list(record.players) != list(pair_of(*record.players)) or record.players[0] == record.players[1]:
            self._contradiction(path, "players", "they are not two players in the order of their file names")
        for n, verdict in enumerate(record.orders):
            self._check_order(verdict, facts_of(record.protocol).criterion_names, path, f"orders.{n}")
        due = comparison_path(self.tree, record)
        if due == path:
            return record
        where = due.relative_to(self.tree.root).as_posix()
        self.findings.add("misplaced", path, f"the record belongs at {where}")
        return None

    def _check_order(self, verdict: OrderVerdict, criteria: tuple[str, ...], path: Path, at: str) -> None:
        failed = verdict.status == "failed"
        if failed != (verdict.failure is not None) or failed == bool(verdict.margins):
            self._contradiction(path, at, f"{verdict.status}, but its margins or failure say otherwise")
        if verdict.failure is not None:
            self.findings.add("failed-comparison", path, verdict.failure.reason, f"{at}.failure")
        if len(verdict.raw) != len(verdict.calls):
            text = f"{len(verdict.raw)} replies of {len(verdict.calls)} calls"
            self._contradiction(path, f"{at}.raw", text)
        if verdict.margins and criteria and verdict.margins.keys() != set(criteria):
            self._contradiction(path, f"{at}.margins", f"the criteria are not {', '.join(sorted(criteria))}")
        for name, margin in verdict.margins.items():
            if abs(margin) > WIDEST:
                text = f"{margin} is not from -{WIDEST} to {WIDEST}"
                self._contradiction(path, f"{at}.margins.{name}", text)
        self._check_endings(verdict.calls, path, f"{at}.calls")

    def _record(self, kind: type[T], path: Path) -> T | None:
        data = content(path, self.findings)
        if data is None:
            return None
        try:
            record = kind.model_validate_json(data, strict=True)
        except ValidationError as error:
            for item in error.errors(include_url=False)[:5]:
                self.findings.add("schema", path, item["msg"], ".".join(map(str, item["loc"])))
            return None
        plain = record.plain()
        check_canonical(plain, data, path, self.findings)
        if "digest" in kind.model_fields and (stated := plain.pop("digest")) != (due := sha256_of(plain)):
            text = f"is {stated[:12] or 'empty'}, should be {due[:12]}"
            self.findings.add("digest", path, text, "digest")
        return record

    def _in_place(self, record: Cell, path: Path, place_of: Callable[[Cell], Path]) -> bool:
        due = place_of(record)
        if due == path:
            return True
        here, there = path.relative_to(self.tree.root), due.relative_to(self.tree.root)
        field = _misplaced_field(here.parts, there.parts)
        self.findings.add("misplaced", path, f"the record belongs at {there.as_posix()}", field)
        if due.exists():
            self.findings.add("duplicate-cell", path, "the file at that path holds the same cell", field)
        return False

    def _check_failure(self, record: Conversation | Judgement, path: Path, code: str) -> None:
        failed = record.status == "failed"
        if failed != (record.failure is not None):
            which = "without" if failed else "with"
            self._contradiction(path, "status", f"{record.status} {which} a failure")
        if failed:
            self.findings.add(code, path, record.failure.reason if record.failure else "no reason", "failure")
        self._check_endings(record.calls, path, "calls")

    def _check_endings(self, calls: tuple[Call, ...], path: Path, at: str) -> None:
        for n, call in enumerate(calls):
            ending = ending_of(call.finish_reason)
            if call.outcome == "ok" and call.finish_reason and ending != "complete":
                text = f"{call.finish_reason!r} is not the end of a whole answer ({ending})"
                self.findings.add("not-whole", path, text, f"{at}.{n}.finish_reason")

    def _check_scores(self, record: Judgement, path: Path) -> None:
        facts = facts_of(record.protocol)
        names = set(facts.criterion_names or (record.turns[0].scores if record.turns else ()))
        low, high = facts.scale or (float("-inf"), float("inf"))
        for n, turn in enumerate(record.turns):
            if turn.scores.keys() != names:
                due = ", ".join(sorted(names))
                self._contradiction(path, f"turns.{n}.scores", f"the criteria are not {due}")
            for name, score in turn.scores.items():
                if not low <= score <= high:
                    text = f"{score} is not from {low:.0f} to {high:.0f}"
                    self._contradiction(path, f"turns.{n}.scores.{name}", text)

    def _contradiction(self, path: Path, field: str, text: str) -> None:
        self.findings.add("inconsistent", path, text, field)


def content(path: Path, findings: Findings) -> bytes | None:
    """The content of a file; None, and a finding, if it cannot be read."""
    try:
        return read_bytes(path, findings.root)
    except OSError as error:
        findings.add("schema", path, f"cannot be read: {error.strerror}")
        return None


def check_canonical(plain: dict[str, Any], data: bytes, path: Path, findings: Findings) -> None:
    """Check that a file holds exactly the bytes that its record, as ``plain`` data, is written as."""
    if canonical(plain).encode() != data:
        findings.add("not-canonical", path, "its bytes differ from the canonical form")


def _misplaced_field(have: tuple[str, ...], due: tuple[str, ...]) -> str:
    """The first coordinate in which two paths below the results tree differ."""
    judge = ["judge"] if "judgements" in due else []
    names = ["suite", "language", "player", "", *judge]
    for name, left, right in zip(names, have, due, strict=False):
        if left != right:
            return name
    return "character" if have[-1].split(".")[0] != due[-1].split(".")[0] else "situation"
