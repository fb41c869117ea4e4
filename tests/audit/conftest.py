"""A small tree made by the real protocol from scripted answers, so that every check of the audit applies."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.audit import AuditReport, audit_tree
from bench.boards.loading import all_suites, load_board, write_board
from bench.records import Conversation, Judgement, sealed
from bench.results import ResultsTree, read_record
from tests.tiny import Script, Tiny, make_tiny

PLAYERS = ("bard", "actor")


@dataclass(frozen=True)
class Audited:
    """The bench in miniature with a clean results tree, and the audit of it."""

    tiny: Tiny

    @property
    def tree(self) -> ResultsTree:
        return self.tiny.tree

    @property
    def folder(self) -> Path:
        """Of the suite's language."""
        return self.tree.board_folder("tiny", "en")

    @property
    def conversation_file(self) -> Path:
        return self.tree.conversation_path(self.tiny.cell())

    @property
    def judgement_file(self) -> Path:
        return self.tree.judgement_path(self.tiny.cell(), "strict")

    @property
    def conversation(self) -> Conversation:
        return read_record(Conversation, self.conversation_file)

    @property
    def judgement(self) -> Judgement:
        return read_record(Judgement, self.judgement_file)

    def rewrite(self, record: Conversation | Judgement) -> None:
        """Put a forged record in the place of the true one, with a digest that fits it."""
        if isinstance(record, Judgement):
            self.tree.write_judgement(sealed(record), replace=True)
        else:
            self.tree.write_conversation(sealed(record), replace=True)

    def write_board(self) -> None:
        write_board(
            self.tree, load_board(self.tree, "tiny", "en", prompts=all_suites(self.tiny.prompts)).board
        )

    def report(self, *, strict: bool = False, suite: str | None = None) -> AuditReport:
        suites = all_suites(self.tiny.prompts)
        return audit_tree(self.tree, suites, self.tiny.catalog(), suite=suite, strict=strict)

    def found(self, code: str, *, strict: bool = False) -> list[tuple[str, str]]:
        """(path below the language's folder, field) of every finding of a code."""
        report = self.report(strict=strict)
        return [(f.path.removeprefix("tiny/en/"), f.field) for f in report.findings if f.code == code]


async def _play(tiny: Tiny) -> None:
    protocol, tree, script = tiny.protocol(), tiny.tree, Script()
    for player in PLAYERS:
        info = tiny.catalog().player_info(player, protocol.parameters("player", player))
        tree.write_player("tiny", "en", info)
        for cell in protocol.cells(player):
            conversation = await protocol.converse(cell, script)
            tree.write_conversation(conversation)
            tree.write_judgement(await protocol.judge(conversation, "strict", script))


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clean bench, played once."""
    made = Audited(make_tiny(tmp_path_factory.mktemp("audit") / "tiny"))
    asyncio.run(_play(made.tiny))
    made.write_board()
    return made.tiny.root


@pytest.fixture
def audited(played: Path, tmp_path: Path) -> Audited:
    """A copy of the clean bench for one test to spoil."""
    shutil.copytree(played, tmp_path / "tiny")
    return Audited(Tiny(tmp_path / "tiny"))
