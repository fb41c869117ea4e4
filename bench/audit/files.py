"""One file at a time: schema, digest, place, and whether the record agrees with itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from bench.audit.findings import Findings
from bench.protocol_facts import facts_of
from bench.records import (
    Cell,
    Conversation,
    Judgement,
    PlayerInfo,
    Record,
    canonical,
    sha256_of,
)
from bench.results import ResultsTree

T = TypeVar("T", bound=Record)


class FileAudit:
    """Reads the files of one tree and tells ``findings`` what is wrong with each."""

    def __init__(self, tree: ResultsTree, findings: Findings) -> None:
        self.tree = tree
        self.findings = findings

    def player(self, path: Path) -> PlayerInfo | None:
        """player.json; its board is where it lies, since it names none."""
        info = self._record(PlayerInfo, path)
        if info is None:
            return None
        folder = path.parent
        due = self.tree.player_folder(folder.parent.parent.name, folder.parent.name, info.player)
        if due.name != folder.name:
            self.findings.add("misplaced", path, f"belongs into the folder {due.name}", "player")
        return info

    def conversation(self, path: Path) -> Conversation | None:
        """A conversation, where it can be read and lies where it belongs."""
        record = self._record(Conversation, path)
        if record is None:
            return None
        self._check_conversation(record, path)
        return record if self._placed(record, path, self.tree.conversation_path) else None

    def judgement(self, path: Path) -> Judgement | None:
        """A judgement, where it can be read and lies where it belongs."""
        record = self._record(Judgement, path)
        if record is None:
            return None
        self._check_judgement(record, path)
        placed = self._placed(record, path, lambda cell: self.tree.judgement_path(cell, record.judge))
        return record if placed else None

    def _record(self, kind: type[T], path: Path) -> T | None:
        try:
            data = path.read_bytes()
            record = kind.model_validate_json(data, strict=True)
        except OSError as error:
            self.findings.add("schema", path, f"cannot be read: {error.strerror}")
            return None
        except ValidationError as error:
            for item in error.errors(include_url=False)[:5]:
                self.findings.add("schema", path, item["msg"], ".".join(str(part) for part in item["loc"]))
            return None
        plain = record.plain()
        if canonical(plain).encode() != data:
            self.findings.add("not-canonical", path, "not written as the program writes it")
        if "digest" in kind.model_fields:
            stated = plain.pop("digest")
            due = sha256_of(plain)
            if stated != due:
                self.findings.add(
                    "digest", path, f"is {stated[:12] or 'empty'}, the record's is {due[:12]}", "digest"
                )
        return record

    def _placed(self, record: Cell, path: Path, due: Callable[[Cell], Path]) -> bool:
        right = due(record)
        if right == path:
            return True
        here, there = path.relative_to(self.tree.root), right.relative_to(self.tree.root)
        wrong = _misplaced_field(here.parts, there.parts)
        text = f"the record belongs at {there.as_posix()}"
        self.findings.add("misplaced", path, text, wrong)
        if right.exists():
            self.findings.add("duplicate-cell", path, "the file of that place holds the same cell", wrong)
        return False

    def _check_conversation(self, record: Conversation, path: Path) -> None:
        failed = record.status == "failed"
        if failed != (record.failure is not None):
            self._contradiction(path, "status", f"{record.status}, but the failure says otherwise")
        if not failed and (not record.messages or record.messages[-1].role != "assistant"):
            self._contradiction(path, "messages", "complete, but the player does not have the last word")
        if failed:
            reason = record.failure.reason if record.failure else "no reason given"
            self.findings.add("failed-conversation", path, reason, "failure")

    def _check_judgement(self, record: Judgement, path: Path) -> None:
        failed = record.status == "failed"
        if failed != (record.failure is not None):
            self._contradiction(path, "status", f"{record.status}, but the failure says otherwise")
        if failed:
            reason = record.failure.reason if record.failure else "no reason given"
            self.findings.add("failed-judgement", path, reason, "failure")
        if failed == bool(record.turns):
            self._contradiction(path, "turns", f"{record.status} with {len(record.turns)} turns")
        if len(record.raw) != len(record.calls):
            self._contradiction(path, "raw", f"{len(record.raw)} replies of {len(record.calls)} calls")
        if [turn.turn for turn in record.turns] != list(range(1, len(record.turns) + 1)):
            self._contradiction(path, "turns", "the turns are not numbered 1, 2, 3 and so on")
        self._check_scores(record, path)

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


def _misplaced_field(have: tuple[str, ...], due: tuple[str, ...]) -> str:
    """The first coordinate in which two paths below the results tree differ."""
    judge = ["judge"] if "judgements" in due else []
    names = ["suite", "language", "player", "", *judge]
    for name, left, right in zip(names, have, due, strict=False):
        if left != right:
            return name
    return "character" if have[-1].split(".")[0] != due[-1].split(".")[0] else "situation"
