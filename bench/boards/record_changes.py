"""Which records of a board differ between two results trees, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

from bench.files import read_bytes
from bench.records import Call, Conversation, Judgement, Record, Role, messages_sha256
from bench.results import ResultsTree, read_record

Change = Literal["added", "removed", "changed"]
R = TypeVar("R", bound=Conversation | Judgement)

REASONS = {
    "version": "another version of the suite",
    "conversation": "its conversation changed",
    "prompt": "other prompts, card or situation",
    "parameters": "other parameters",
    "model": "another model, or another file of it",
    "judge": "another judge",
    "retry": "a failure was retried",
    "failure": "it failed this time",
    "again": "made again from the same inputs",
    "reread": "the judge's stored reply was read again",
    "details": "only details that no score depends on",
}
"""Why a record changed, in words."""


class RecordChange(Record):
    """A conversation or judgement that was added, removed or changed."""

    character: str
    situation: str
    repeat: int
    judge: str | None
    """None for a conversation."""
    change: Change
    reasons: tuple[str, ...]
    """Keys of REASONS; empty where the record was simply added or removed."""


class PlayerChange(Record):
    """What happened to a player's records."""

    player: str
    name: str
    change: Literal["added", "removed", "rerun"]
    conversations: int
    """Conversations that were added, removed or changed."""
    judgements: int
    """The same of judgements."""
    reasons: dict[str, int]
    """Records by reason, of those that changed."""
    records: tuple[RecordChange, ...]
    """Every record that was added, removed or changed, of a player that was rerun."""


def player_changes(old: ResultsTree, new: ResultsTree, suite: str, language: str) -> list[PlayerChange]:
    """What was done to each player between two trees, by player id. Unchanged players are left out.

    Raises RecordError for a damaged record.
    """
    before = {info.player: info for info in old.players(suite, language)}
    after = {info.player: info for info in new.players(suite, language)}
    changes = []
    for player in sorted(before.keys() | after.keys()):
        info = after.get(player) or before[player]
        folders = [tree.player_folder(suite, language, player) for tree in (old, new)]
        files = [_record_files(folder) for folder in folders]
        both = player in before and player in after
        records = _differences(files[0], files[1], folders[0], folders[1]) if both else []
        if both and not records:
            continue
        talks = [name.startswith("conversations/") for name in files[player in after]]
        if both:
            talks = [record.judge is None for record in records]
        reasons = Counter(reason for record in records for reason in record.reasons)
        changes.append(
            PlayerChange(
                player=player,
                name=info.name,
                change="rerun" if both else "added" if player in after else "removed",
                conversations=sum(talks),
                judgements=len(talks) - sum(talks),
                reasons=dict(sorted(reasons.items())),
                records=tuple(records),
            )
        )
    return changes


def look_alikes(
    changes: Sequence[PlayerChange], old: ResultsTree, new: ResultsTree, suite: str, language: str
) -> list[tuple[str, str]]:
    """Each removed and added player with the same conversations: perhaps one player, renamed by hand."""

    def talks(tree: ResultsTree, change: str) -> dict[str, dict[tuple[str, str, int], str]]:
        return {
            one.player: {
                (talk.character, talk.situation, talk.repeat): messages_sha256(talk.messages)
                for talk in tree.conversations(suite, language, one.player)
            }
            for one in changes
            if one.change == change
        }

    if not {"added", "removed"} <= {one.change for one in changes}:
        return []
    gone, came = talks(old, "removed"), talks(new, "added")
    return [(was, now) for was, held in gone.items() for now, has in came.items() if held == has != {}]


def _record_files(folder: Path) -> dict[str, Path]:
    """The records of a player's folder, by path relative to it."""
    paths = [*folder.glob("conversations/*.json"), *folder.glob("judgements/*/*.json")]
    return {
        path.relative_to(folder).as_posix(): path for path in sorted(paths) if not path.name.startswith(".")
    }


def _differences(
    old: Mapping[str, Path], new: Mapping[str, Path], old_root: Path, new_root: Path
) -> list[RecordChange]:
    """The records that differ between two folders of a player, conversations first."""
    judges = {PurePosixPath(name).parent for name in old}
    changes = []
    for name in sorted(old.keys() | new.keys()):
        if name in old and name in new and _bytes(old[name], old_root) == _bytes(new[name], new_root):
            continue
        kind = Conversation if name.startswith("conversations/") else Judgement
        was = read_record(kind, old[name], old_root) if name in old else None
        made = read_record(kind, new[name], new_root) if name in new else None
        record = made or was
        assert record is not None
        if was is None or made is None:
            other = was is None and kind is Judgement and PurePosixPath(name).parent not in judges
            reasons: tuple[str, ...] = ("judge",) if other else ()
        elif isinstance(was, Judgement) and isinstance(made, Judgement):
            reasons = why_judgement(was, made)
        else:
            assert isinstance(was, Conversation)
            assert isinstance(made, Conversation)
            reasons = why_conversation(was, made)
        changes.append(
            RecordChange(
                character=record.character,
                situation=record.situation,
                repeat=record.repeat,
                judge=record.judge if isinstance(record, Judgement) else None,
                change="added" if was is None else "removed" if made is None else "changed",
                reasons=reasons,
            )
        )
    return changes


def _bytes(path: Path, root: Path) -> bytes | None:
    """The content of a file; None if it cannot be read, which :func:`read_record` then reports."""
    try:
        return read_bytes(path, root)
    except OSError:
        return None


def why_conversation(old: Conversation, new: Conversation) -> tuple[str, ...]:
    """Why a conversation differs from an older one of the same scene: keys of REASONS."""
    reasons = _inputs(old, new)
    if old.scene != new.scene or (not reasons and old.fingerprint != new.fingerprint):
        reasons.append("prompt")
    return _result(reasons, old, new, same=messages_sha256(old.messages) == messages_sha256(new.messages))


def why_judgement(old: Judgement, new: Judgement) -> tuple[str, ...]:
    """Why a judgement differs from an older one by the same judge: keys of REASONS."""
    reasons = _inputs(old, new)
    if old.conversation_sha256 != new.conversation_sha256:
        reasons.append("conversation")
    elif not reasons and old.fingerprint != new.fingerprint:
        reasons.append("prompt")
    if not reasons and old.raw and old.raw == new.raw and old.turns != new.turns:
        reasons.append("reread")
    return _result(reasons, old, new, same=old.turns == new.turns)


def _result(reasons: list[str], old: R, new: R, *, same: bool) -> tuple[str, ...]:
    """``reasons`` with what the outcome says; ``same``: the content has not changed."""
    if (old.status == "failed") != (new.status == "failed"):
        reasons.append("retry" if old.status == "failed" else "failure")
    return tuple(reasons) or (("details",) if same else ("again",))


def _inputs(old: R, new: R) -> list[str]:
    """Which of version, parameters and models changed between two records."""
    found = ["version"] if old.version != new.version else []
    before, after = _first_calls(old.calls), _first_calls(new.calls)
    both = [(before[role], after[role]) for role in before.keys() & after.keys()]
    if any(was.parameters != call.parameters for was, call in both):
        found.append("parameters")
    if any(_model(was) != _model(call) for was, call in both):
        found.append("model")
    return found


def _first_calls(calls: Sequence[Call]) -> dict[Role, Call]:
    return {call.role: call for call in reversed(calls)}


def _model(call: Call) -> tuple[str, str, str | None]:
    return call.provider, call.model, call.model_sha256
