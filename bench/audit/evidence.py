"""Check the records of one board together: against each other and against the current suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.audit.differences import reread_differences
from bench.audit.files import FileAudit
from bench.audit.findings import Findings, Severity
from bench.audit.places import BoardFiles, PlayerFiles
from bench.audit.reference import Reference
from bench.audit.sounds import audit_sounds
from bench.protocol_facts import facts_of
from bench.protocols import reread
from bench.records import Conversation, Judgement, messages_sha256, numbered, sha256_of
from bench.results import ResultsTree
from bench.results.facts import Tally, count_calls, standing_out
from bench.scores.rules import is_stale
from bench.tables import counted

COMPARED = {"reread": ("status", "turns"), "reread-wording": ("repairs", "failure")}
"""Fields of a judgement that its raw replies determine, by the code of a difference. The wording of repairs
and failures does not change any number."""

CALL_CODES = {
    "cut": "answers-cut",
    "unknown_endings": "unknown-endings",
    "empty": "empty-replies",
    "repeated": "repeated-calls",
    "reasoned": "reasoning",
    "reasoning_tokens": "reasoning",
    "served_models": "served-models",
}
"""The code of each remark about calls."""


@dataclass
class Played:
    """The valid records of one player."""

    folder: Path
    conversations: dict[tuple[str, str, int], Conversation] = field(default_factory=dict)
    """By (character, situation, repeat)."""
    judged: set[tuple[str, str, int, str]] = field(default_factory=set)
    """(character, situation, repeat, judge)."""
    replies: dict[str, Path] = field(default_factory=dict)
    """SHA-256 of a cell and a judge's raw replies to the first judgement that holds them."""


class EvidenceAudit:
    """Audits the players of one board one after the other, then lists what is missing."""

    def __init__(
        self, tree: ResultsTree, board: BoardFiles, reference: Reference, findings: Findings
    ) -> None:
        self.tree = tree
        self.board = board
        self.reference = reference
        self.findings = findings
        self.files = FileAudit(tree, findings)
        self.played: list[Played] = []
        self.models: set[str] = set()
        """Ids of the players and of their models."""
        self.messages: dict[str, Path] = {}
        """SHA-256 of a complete conversation's messages to the first file that holds them."""
        self.judges: set[str] = set()
        self.calls: Tally = {}

    def run(self) -> None:
        """Audit every player, then list what stands out among its calls, and what is missing."""
        for player in self.board.players:
            self._player(player)
        self._calls()
        self._missing()

    def _player(self, files: PlayerFiles) -> None:
        info = self.files.player(files.info) if files.info else None
        if files.info is None and (files.conversations or files.judgements):
            self.findings.add("player-missing", files.folder, "has records but no player.json")
        played = Played(files.folder)
        imported = sum(self._conversation(path, played) for path in files.conversations)
        audit_sounds(self.tree, played.conversations.values(), files.audio, self.findings)
        imported += sum(self._judgement(path, played) for path in files.judgements)
        if info:
            self._note_unchecked(info.player, files, imported)
            self.models |= {info.player, info.model}
            self.played.append(played)

    def _note_unchecked(self, player: str, files: PlayerFiles, imported: int) -> None:
        """Note what cannot be checked of a player's records, and why."""
        text = f"{imported} of {len(files.conversations) + len(files.judgements)} records are imported"
        if imported and self.reference.suite is not None:
            self.findings.add("foreign", files.folder, f"{text} into a suite of prompts/")
        elif imported:
            self.findings.add("imported", files.folder, f"{text}: their content cannot be checked further")
        elif self.reference.protocol is not None and not self.reference.knows_model(player):
            known = player in self.reference.protocol.catalog.models
            why = "plays from a folder that is not here" if known else "is not in models.toml"
            text = f"{player!r} {why}: fingerprints of its conversations unchecked"
            self.findings.add("fingerprint-unknown", files.info or files.folder, text, "player")

    def _conversation(self, path: Path, played: Played) -> bool:
        """Check one conversation; returns whether it is imported."""
        record = self.files.conversation(path)
        if record is None:
            return False
        played.conversations[record.character, record.situation, record.repeat] = record
        count_calls(record, self.calls)
        probe = facts_of(record.protocol).rule_judge  # models give the same short answer to a fixed question
        if record.status == "complete" and record.messages and not probe:
            first = self.messages.setdefault(messages_sha256(record.messages), path)
            self._note_copy(path, first, "duplicate-messages", "messages")
        self._note_redactions(record, path)
        self._check_against_suite(record, path, "stale-conversation")
        return record.origin is not None

    def _judgement(self, path: Path, played: Played) -> bool:
        """Check one judgement; returns whether it is imported."""
        record = self.files.judgement(path)
        if record is None:
            return False
        played.judged.add((record.character, record.situation, record.repeat, record.judge))
        count_calls(record, self.calls)
        self.judges.add(record.judge)
        conversation = played.conversations.get((record.character, record.situation, record.repeat))
        if conversation is None:
            self.findings.add("orphan", path, "there is no valid conversation of this cell")
        elif conversation.status == "failed":
            self.findings.add("orphan", path, "the conversation of this cell failed")
        elif is_stale(record, conversation):
            text = "the judged messages are not those of the conversation"
            if record.origin is None and self._is_gone(record.judge):
                text += f"; {record.judge!r} is not in models.toml: add it again, or delete the file"
            elif record.origin is None:
                again = f"{record.suite} -l {record.language} -p {record.player} -j {record.judge}"
                text += f"; judge them again: `bench judge {again} --refresh-stale`"
            self.findings.add("conversation-changed", path, text, "conversation_sha256")
        else:
            self._check_verdict(record, conversation, path)
        if record.status == "ok" and record.raw:
            same = sha256_of([record.character, record.situation, record.repeat, *record.raw])
            self._note_copy(path, played.replies.setdefault(same, path), "duplicate-replies", "raw")
        self._note_redactions(record, path)
        self._check_against_suite(record, path, "stale-judgement")
        return record.origin is not None

    def _is_gone(self, judge: str) -> bool:
        """Whether no entry of the catalog could judge again as ``judge``."""
        protocol = self.reference.protocol
        return (
            protocol is not None
            and judge not in protocol.catalog.models
            and judge != protocol.facts.rule_judge
        )

    def _note_copy(self, path: Path, first: Path, code: str, where: str) -> None:
        """Note that ``path`` says the same as another file, the ``first`` with its words."""
        if first != path:
            text = f"word for word the same as in {first.relative_to(self.tree.root).as_posix()}"
            self.findings.add(code, path, text, where)

    def _note_redactions(self, record: Conversation | Judgement, path: Path) -> None:
        if count := sum(call.redactions or 0 for call in record.calls):
            self.findings.add(
                "redacted", path, f"{counted(count, 'credential')} removed from its replies", "calls"
            )

    def _check_against_suite(self, record: Conversation | Judgement, path: Path, stale: str) -> None:
        """Check that the record is of the current suite and its prompts; ``stale``: code if it is not."""
        suite, scenes = self.reference.suite, self.reference.scenes
        if suite is None or scenes is None:
            return
        cell = (record.character, record.situation, record.repeat)
        if record.repeat not in suite.repeats:
            text = f"the suite asks for {len(suite.repeats)}, so it does not count"
            self.findings.add("extra-repeat", path, text, "repeat")
        if isinstance(record, Judgement) and cell[:2] in scenes and not self._asked([record.judge], cell):
            text = f"it is not the turn of {record.judge} in this scene, so it does not count"
            self.findings.add("unexpected-judge", path, text, "judge")
        if misfit := self.reference.misfit(record):
            code, text, field = misfit
            self.findings.add(code, path, text, field)
        elif record.protocol != suite.protocol:
            self.findings.add("inconsistent", path, f"the suite's is {suite.protocol}", "protocol")
        elif record.origin is None:
            due = self.reference.fingerprint(record)
            if due is not None and record.fingerprint != due:
                text = "prompts, parameters or model settings have changed since"
                self.findings.add(stale, path, text, "fingerprint")

    def _check_verdict(self, record: Judgement, conversation: Conversation, path: Path) -> None:
        """Check the turns against the conversation and the judge's raw replies."""
        for n, turn in enumerate(record.turns):
            if turn.detail is not None and turn.detail.get("consistent") is False:
                stated, derived = ", ".join(map(str, turn.scores.values())), turn.detail.get("derived_score")
                text = f"states {stated}, but its steps come to {derived}"
                self.findings.add("final-differs", path, text, f"turns.{n}.detail")
        due = self.reference.verdicts_due(conversation)
        if record.status == "ok" and due is not None and len(record.turns) != due:
            text = f"{len(record.turns)} turns of a conversation with {due}"
            self.findings.add("inconsistent", path, text, "turns")
        if not record.raw and record.origin is not None:
            return
        facts = facts_of(record.protocol)
        if not record.raw and not (facts.judged_in_talk or facts.rule_judge):
            self.findings.add("raw-missing", path, "there is no raw reply of the judge", "raw")
        elif len(record.raw) == len(record.calls):
            self._check_reread(record, conversation, path)

    def _check_reread(self, record: Judgement, conversation: Conversation, path: Path) -> None:
        again = reread(record, conversation)
        if again is None:
            self.findings.add("reread-unknown", path, f"protocol {record.protocol!r}", "raw")
            return
        for code, fields in COMPARED.items():
            if all(getattr(record, name) == getattr(again, name) for name in fields):
                continue
            here, due = record.plain(), again.plain()
            for name in fields:
                for at, text in reread_differences(here.get(name), due.get(name), name):
                    self.findings.add(code, path, text, at)

    def _calls(self) -> None:
        """List what stands out among the calls: notes in a demonstration, whose scores mean nothing."""
        suite = self.reference.suite
        severity: Severity | None = "note" if suite is not None and suite.entry.demonstration else None
        for (player, *_), facts in standing_out(self.calls).items():
            folder = self.tree.player_folder(self.board.suite, self.board.language, player)
            whose = "" if facts.role == "player" else f"{facts.role} {facts.model}: "
            for name, text in facts.remarks().items():
                self.findings.add(CALL_CODES[name], folder, whose + text, "calls", severity)

    def _missing(self) -> None:
        """List missing cells: those of the suite if it is known, else those that other players have."""
        suite, scenes = self.reference.suite, self.reference.scenes
        cells = sorted({cell for played in self.played for cell in played.conversations})
        if scenes is not None and suite is not None:
            cells = [(*scene, repeat) for scene in scenes for repeat in suite.repeats]
        for played in self.played:
            for cell in cells:
                judges = sorted(self.judges) if suite is None else self._asked(suite.judges, cell)
                self._missing_of(played, cell, judges)

    def _asked(self, judges: Sequence[str], cell: tuple[str, str, int]) -> Sequence[str]:
        """Those of ``judges`` whose turn it is in a cell, as far as the suite is known."""
        suite = self.reference.suite
        if suite is None or self.reference.scenes is None:
            return judges
        return suite.asked(judges, cell[:2], self.reference.rota)

    def _missing_of(self, played: Played, cell: tuple[str, str, int], judges: Sequence[str]) -> None:
        name = numbered(f"{cell[0]}.{cell[1]}", cell[2])
        conversation = played.conversations.get(cell)
        if conversation is None:
            text = f"{name} has not been played"
            self.findings.add("missing-conversation", played.folder / "conversations", text)
        elif conversation.status == "complete":
            for judge in judges:
                if (*cell, judge) not in played.judged:
                    path = self.tree.judgement_path(conversation, judge).parent
                    self.findings.add("missing-judgement", path, f"{name} has not been judged by {judge}")
