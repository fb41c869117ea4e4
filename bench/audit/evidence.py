"""The records of one board together: what belongs to what, what is stale, missing or there twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bench.audit.differences import differences, shown
from bench.audit.files import FileAudit
from bench.audit.findings import Findings
from bench.audit.measure import Measure, Scene
from bench.audit.places import BoardFiles, PlayerFiles
from bench.audit.sounds import audit_sounds
from bench.records import Conversation, Judgement, PlayerInfo, messages_sha256
from bench.results import ResultsTree

VERDICT_FIELDS = ("status", "turns")
"""What a judge's raw replies decide. Other wording of repairs and failures moves no number."""

WORDING_FIELDS = ("repairs", "failure")


@dataclass
class Played:
    """What of a player is sound and in its place."""

    folder: Path
    name: str
    conversations: dict[Scene, Conversation] = field(default_factory=dict)
    judged: set[tuple[str, str, str]] = field(default_factory=set)
    """(character, situation, judge)"""


class EvidenceAudit:
    """Audits the players of one board, one after the other, and then what they ought to have."""

    def __init__(self, tree: ResultsTree, board: BoardFiles, measure: Measure, findings: Findings) -> None:
        self.tree = tree
        self.board = board
        self.measure = measure
        self.findings = findings
        self.files = FileAudit(tree, findings)
        self.played: list[Played] = []
        self.infos: list[PlayerInfo] = []
        self.said: dict[str, Path] = {}
        """SHA-256 of messages to the first conversation that holds them."""
        self.judges: set[str] = set()

    def run(self) -> None:
        """Audit every player, and list what is missing."""
        for player in self.board.players:
            self._player(player)
        self._missing()

    def _player(self, files: PlayerFiles) -> None:
        info = self.files.player(files.info) if files.info else None
        if files.info is None and (files.conversations or files.judgements):
            self.findings.add("player-missing", files.folder, "holds records, but no player.json")
        played = Played(files.folder, info.player if info else files.folder.name)
        imported = 0
        for path in files.conversations:
            imported += self._conversation(path, played)
        audit_sounds(self.tree, played.conversations.values(), files.audio, self.findings)
        for path in files.judgements:
            imported += self._judgement(path, played)
        if info:
            self._say_unknown(info, files, imported)
            self.infos.append(info)
            self.played.append(played)

    def _say_unknown(self, info: PlayerInfo, files: PlayerFiles, imported: int) -> None:
        records = len(files.conversations) + len(files.judgements)
        if imported and self.measure.suite is not None:
            text = f"{imported} of {records} records are imported into a suite of prompts/"
            self.findings.add("foreign", files.folder, text)
        elif imported:
            text = f"{imported} of {records} records are imported: what they say cannot be checked further"
            self.findings.add("imported", files.folder, text)
        elif self.measure.protocol is not None and not self.measure.knows_model(info.player):
            known = info.player in self.measure.protocol.catalog.models
            why = "plays from a folder that is not here" if known else "is not in models.toml"
            text = f"{info.player!r} {why}: fingerprints of its conversations unchecked"
            self.findings.add("fingerprint-unknown", files.info or files.folder, text, "player")

    # One record against the others and the suite

    def _conversation(self, path: Path, played: Played) -> bool:
        """Check one conversation; returns whether it is imported."""
        record = self.files.conversation(path)
        if record is None:
            return False
        played.conversations[(record.character, record.situation)] = record
        self._check_words(record, path)
        if self._of_now(record, path) and record.origin is None:
            due = self.measure.conversation_fingerprint(record)
            self._check_fingerprint("stale-conversation", path, record.fingerprint, due)
        return record.origin is not None

    def _judgement(self, path: Path, played: Played) -> bool:
        """Check one judgement; returns whether it is imported."""
        record = self.files.judgement(path)
        if record is None:
            return False
        played.judged.add((record.character, record.situation, record.judge))
        self.judges.add(record.judge)
        conversation = played.conversations.get((record.character, record.situation))
        if conversation is None:
            self.findings.add("orphan", path, "there is no sound conversation of this cell")
        elif conversation.status == "failed":
            self.findings.add("orphan", path, "the conversation of this cell failed")
        elif record.conversation_sha256 != messages_sha256(conversation.messages):
            text = "the judged messages are not those of the conversation"
            self.findings.add("conversation-changed", path, text, "conversation_sha256")
        else:
            self._check_verdict(record, conversation, path)
        if self._of_now(record, path) and record.origin is None:
            due = self.measure.judgement_fingerprint(record)
            self._check_fingerprint("stale-judgement", path, record.fingerprint, due)
        return record.origin is not None

    def _check_words(self, record: Conversation, path: Path) -> None:
        if record.status == "complete" and record.messages:
            first = self.said.setdefault(messages_sha256(record.messages), path)
            if first != path:
                text = f"word for word those of {first.relative_to(self.tree.root).as_posix()}"
                self.findings.add("duplicate-messages", path, text, "messages")

    def _of_now(self, record: Conversation | Judgement, path: Path) -> bool:
        """Whether the suite of now is the record's: else its fingerprint cannot be expected to be today's."""
        suite, scenes = self.measure.suite, self.measure.scenes
        if suite is None or scenes is None:
            return False
        if record.version != suite.entry.version:
            text = f"version {record.version}, the suite is at version {suite.entry.version}"
            self.findings.add("other-version", path, text, "version")
            return False
        if (record.character, record.situation) not in scenes:
            text = f"the suite has no scene {record.character}.{record.situation}"
            self.findings.add("unexpected-cell", path, text, "character")
            return False
        if record.protocol != suite.protocol:
            self.findings.add("inconsistent", path, f"the suite's is {suite.protocol}", "protocol")
            return False
        return True

    def _check_fingerprint(self, code: str, path: Path, stated: str, due: str | None) -> None:
        if due is not None and stated != due:
            text = "made from other prompts, parameters or model settings than those of now"
            self.findings.add(code, path, text, "fingerprint")

    def _check_verdict(self, record: Judgement, conversation: Conversation, path: Path) -> None:
        """Hold the turns against the conversation's and the raw replies."""
        due = self.measure.verdicts_due(conversation)
        for n, turn in enumerate(record.turns):
            if turn.detail is not None and turn.detail.get("consistent") is False:
                stated, follows = turn.scores, turn.detail.get("derived_score")
                text = f"it states {', '.join(map(str, stated.values()))}, its steps come to {follows}"
                self.findings.add("final-differs", path, text, f"turns.{n}.detail")
        if record.status == "ok" and due is not None and len(record.turns) != due:
            text = f"{len(record.turns)} turns of a conversation with {due}"
            self.findings.add("inconsistent", path, text, "turns")
        if not record.raw and not (record.origin is None and self.measure.judged_in_talk(record)):
            if record.origin is None:
                self.findings.add("raw-missing", path, "no raw reply says what the judge said", "raw")
            return
        if len(record.raw) != len(record.calls):
            return
        again = self.measure.reread(record, conversation)
        if again is None:
            self.findings.add("reread-unknown", path, f"protocol {record.protocol!r}", "raw")
            return
        for code, fields in (("reread", VERDICT_FIELDS), ("reread-wording", WORDING_FIELDS)):
            self._compare(code, path, record, again, fields)

    def _compare(
        self, code: str, path: Path, record: Judgement, again: Judgement, fields: tuple[str, ...]
    ) -> None:
        if all(getattr(record, name) == getattr(again, name) for name in fields):
            return
        there, due = record.plain(), again.plain()
        for name in fields:
            for at, left, right in list(differences(there.get(name), due.get(name), name))[:5]:
                text = f"the record has {shown(left)}, the raw reply reads as {shown(right)}"
                self.findings.add(code, path, text, at)

    # What ought to be there

    def _missing(self) -> None:
        """List the cells that are not there: by the suite where it is known, else by what others played."""
        scenes = self.measure.scenes
        if scenes is None:
            scenes = sorted({scene for played in self.played for scene in played.conversations})
        suite = self.measure.suite
        judges = sorted(self.judges) if suite is None else suite.judges
        for played in self.played:
            for scene in scenes:
                self._missing_of(played, scene, judges)

    def _missing_of(self, played: Played, scene: Scene, judges: tuple[str, ...] | list[str]) -> None:
        character, situation = scene
        conversation = played.conversations.get(scene)
        if conversation is None:
            text = f"{character}.{situation} has not been played"
            self.findings.add("missing-conversation", played.folder / "conversations", text)
        elif conversation.status == "complete":
            for judge in judges:
                if (*scene, judge) not in played.judged:
                    text = f"{character}.{situation} has not been judged by {judge}"
                    path = self.tree.judgement_path(conversation, judge).parent
                    self.findings.add("missing-judgement", path, text)
