"""Records as plain rows, one player at a time: the first half of loading a board.

:mod:`bench.scores.frame` makes the data frames from these rows. This module does not need pandas, so a worker
process that reads a player's records anyway can prepare its rows cheaply.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import takewhile
from pathlib import Path

from bench.errors import RecordError
from bench.records import Conversation, Judgement, re_asks, sha256_of
from bench.results import ResultsTree
from bench.results.facts import Tally, count_calls
from bench.results.score_tables import ScoreTable
from bench.scores.rules import ended_by_player, flaw_counts, is_stale, saw_refusal
from bench.scores.scripts import events_of

Row = tuple[object, ...]
Inputs = dict[tuple[str | int, ...], tuple[str, str, str]]
"""By player, character, situation, repeat and (of a judgement) judge: the suite's version, the fingerprint
of a record's inputs, and the SHA-256 of the messages that were judged. Imported records have none."""
ScoreRow = tuple[int, int, str, int | float, bool]
"""Index of the judgement in :attr:`PlayerRows.judgements`, turn, criterion, score, whether a refusal."""


@dataclass
class PlayerRows:
    """The rows of one player. Their columns are those of bench.scores.frame.COLUMNS, without suite and
    language."""

    player: str
    versions: set[str] = field(default_factory=set)
    """Of the suite, as the conversations name it."""
    protocols: set[str] = field(default_factory=set)
    conversations: list[Row] = field(default_factory=list)
    judgements: list[Row] = field(default_factory=list)
    scores: list[ScoreRow] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    flaws: list[Row] = field(default_factory=list)
    openings: dict[tuple[str, str, str, int], str] = field(default_factory=dict)
    """:func:`opening_of` each conversation, by player, character, situation and repeat."""
    calls: Tally = field(default_factory=dict)
    """Counts of the player's calls, and of those of its interrogators and judges."""
    inputs: Inputs = field(default_factory=dict)

    def note(self, record: Conversation | Judgement) -> None:
        """Note what else a record says: its protocol, its calls, and what it was made from."""
        self.protocols.add(record.protocol)
        count_calls(record, self.calls)
        talk = (record.player, record.character, record.situation, record.repeat)
        if record.origin is None and isinstance(record, Judgement):
            inputs = (record.version, record.fingerprint, record.conversation_sha256)
            self.inputs[*talk, record.judge] = inputs
        elif record.origin is None:
            self.inputs[talk] = (record.version, record.fingerprint, "")


def player_rows(
    tree: ResultsTree,
    suite: str,
    language: str,
    player: str,
    conversations: Iterable[Conversation],
    judgements: Iterable[Judgement],
    version: str | None = None,
) -> PlayerRows:
    """The rows of a player's records, in the given order.

    Args:
        tree: Where the records are from; for error messages.
        suite, language: The board.
        player: The player.
        conversations: All conversations in the player's folder.
        judgements: All judgements in the player's folder.
        version: Skip records of other versions of the suite. None: keep all.

    Raises:
        RecordError: A record belongs to another player or board, a conversation occurs twice, or the turns of
            a judgement do not match each other.
    """
    rows = PlayerRows(player)
    here = (suite, language, player)

    def counted(cell: Conversation | Judgement) -> bool:
        if (cell.suite, cell.language, cell.player) != here:
            raise RecordError(
                f"holds a record of {cell.suite} {cell.language} {cell.player}"
                f" ({cell.character}, {cell.situation})",
                where=str(tree.player_folder(*here)),
                hint="Move it back, or restore the tree from version control.",
            )
        if version is not None and cell.version != version:
            return False
        rows.note(cell)
        return True

    talks: dict[tuple[str, str, int], Conversation] = {}
    for talk in filter(counted, conversations):
        scene = (talk.character, talk.situation, talk.repeat)
        if scene in talks:
            raise _twice(tree.conversation_path(talk))
        talks[scene] = talk
        rows.versions.add(talk.version)
        rows.openings[player, *scene] = opening_of(talk)
        rows.conversations.append((player, *scene, *_conversation_values(talk)))
        rows.events += [(player, *scene, *event) for event in events_of(talk)]
    seen: set[tuple[str, str, int, str]] = set()
    for judgement in filter(counted, judgements):
        scene = (judgement.character, judgement.situation, judgement.repeat)
        if (*scene, judgement.judge) in seen:
            raise _twice(tree.judgement_path(judgement, judgement.judge))
        seen.add((*scene, judgement.judge))
        rows.scores += _score_rows(len(rows.judgements), judgement, tree)
        rows.flaws += [(player, *scene, judgement.judge, *count) for count in flaw_counts(judgement)]
        values = _judgement_values(judgement, talks.get(scene))
        rows.judgements.append((player, *scene, judgement.judge, *values))
    return rows


def table_rows(table: ScoreTable) -> list[PlayerRows]:
    """The rows of published scores, one entry per player. Only the scores are known.

    A verdict that lacks a criterion counts as failed.
    """
    players = {
        info.player: PlayerRows(info.player, {table.source.commit[:12]}, {table.protocol})
        for info in table.players
    }
    for (player, character, situation), judges in table.verdicts.items():
        rows, scene = players[player], (character, situation, 1)
        talk = (situation, "complete", 0, 0, None, None, None, False, None)
        rows.conversations.append((player, *scene, *talk))
        for judge, scores in judges.items():
            whole = len(scores) == len(table.criteria)
            if whole:
                index = len(rows.judgements)
                rows.scores += [(index, 1, criterion, score, False) for criterion, score in scores.items()]
            status = "ok" if whole else "failed"
            rows.judgements.append((player, *scene, judge, status, False, False, False, 1, None))
    return list(players.values())


def opening_of(talk: Conversation) -> str:
    """What identifies a conversation's sample: its repeat number, its seed, and all up to the first answer.

    Two runs that share it have, or may have, the same replies: each request depends on the replies before it,
    so the cache can only have answered a later one if it has answered the first. Empty if no call was made.
    """
    call = next((call for call in talk.calls if call.role == "player"), None)
    first = next(iter(talk.answers()), None)
    if call is None or first is None:
        return ""
    before = [message.plain() for message in takewhile(lambda message: message is not first, talk.messages)]
    return sha256_of([talk.repeat, call.seed, *before, first.plain()])


def _twice(path: Path) -> RecordError:
    return RecordError("another file in the folder has the same cell", where=str(path))


def _conversation_values(conversation: Conversation) -> Row:
    """The columns after the key."""
    lengths = [len(answer.content) for answer in conversation.answers()]
    mean = sum(lengths) / len(lengths) if lengths else None
    failure = conversation.failure
    ended = (failure.role, failure.outcome) if failure else (None, None)
    own = ended_by_player(failure)
    title = conversation.scene.situation_title
    return title, conversation.status, len(lengths), sum(lengths), mean, *ended, own, _cost(conversation)


def _judgement_values(judgement: Judgement, conversation: Conversation | None) -> Row:
    """The columns after the key."""
    return (
        judgement.status,
        saw_refusal(judgement),
        is_stale(judgement, conversation),
        bool(judgement.repairs) or re_asks(judgement) > 0,
        len(judgement.turns),
        _cost(judgement),
    )


def _score_rows(index: int, judgement: Judgement, tree: ResultsTree) -> list[ScoreRow]:
    """A row for each score of an ok judgement. ``tree``: for error messages."""
    if judgement.status != "ok":
        return []
    turns = judgement.turns
    names = turns[0].scores.keys() if turns else set()
    if not names or any(turn.scores.keys() != names for turn in turns):
        fault = "its turns do not all score the same criteria"
    elif len({turn.turn for turn in turns}) != len(turns):
        fault = "it scores a turn twice"
    else:
        fault = ""
    if fault:
        raise RecordError(fault, where=str(tree.judgement_path(judgement, judgement.judge)))
    return [
        (index, turn.turn, criterion, score, turn.is_refusal)
        for turn in turns
        for criterion, score in turn.scores.items()
    ]


def _cost(record: Conversation | Judgement) -> str | None:
    """Sum of the costs of the calls. None if the cost of a call is unknown, or if imported evidence has no
    calls. (Our own records without calls cost nothing: a recorded answer, a verdict given in the talk.)"""
    if any(call.cost is None for call in record.calls) or (not record.calls and record.origin is not None):
        return None
    return str(sum((Decimal(call.cost or "0") for call in record.calls), Decimal(0)))
