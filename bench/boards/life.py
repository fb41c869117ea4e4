"""Removes and renames players of a board, with a reason that stays on record."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from bench.catalog import Catalog
from bench.errors import UserError
from bench.files import storage_error
from bench.records import PlayerInfo, sealed
from bench.results import ResultsTree, sounds_of
from bench.results.comparison_records import Comparison
from bench.results.comparisons import comparison_path, comparisons, pair_of, write_comparison
from bench.results.events import Event
from bench.slugs import slug
from bench.toml_entries import checked_id, unknown_name


@dataclass(frozen=True)
class Done:
    """What was done to a player on one board."""

    language: str
    event: Event
    records: int
    """Conversations, judgements and comparisons that were deleted or moved."""


def _boards_of(tree: ResultsTree, suite: str, languages: Sequence[str], player: str) -> dict[str, PlayerInfo]:
    """The player by language, in those of ``languages`` (default: all) that have it. Raises UserError."""
    if tree.is_table(suite):
        hint = "Import the scores again with --replace."
        raise UserError("published scores can only be replaced as a whole", where=suite, hint=hint)
    boards = [language for _, language in tree.boards(suite) if not languages or language in languages]
    infos = [(language, info) for language in boards for info in tree.players(suite, language)]
    found = {language: info for language, info in infos if info.player == player}
    if not found:
        names = {info.player for _, info in infos}
        raise unknown_name(player, names, "player", str(tree.root / slug(suite)))
    return found


def _checked(reason: str, day: str) -> tuple[str, str]:
    """The reason on one line, and the day. Raises UserError."""
    reason = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    if not 1 <= len(reason) <= 1000:
        hint = "Give the reason in a sentence: --reason TEXT."
        raise UserError("the reason is empty" if not reason else "the reason is too long", hint=hint)
    try:
        return reason, date.fromisoformat(day).isoformat() if day else date.today().isoformat()
    except ValueError:
        raise UserError(f"invalid date {day!r}", hint="Write it as 2026-11-28.") from None


def remove_player(
    tree: ResultsTree, suite: str, player: str, reason: str, *, languages: Sequence[str] = (), day: str = ""
) -> list[Done]:
    """Delete a player's results on the boards of ``suite``, and record why.

    Raises UserError if the player is not there or the reason is unusable.
    """
    reason, day = _checked(reason, day)
    done = []
    for language, info in _boards_of(tree, suite, languages, player).items():
        folder = tree.player_folder(suite, language, player)
        records = len([*folder.glob("conversations/*.json"), *folder.glob("judgements/*/*.json")])
        compared = _compared(tree, suite, language, player)
        event = Event(action="removed", player=player, name=info.name, reason=reason, day=day)
        tree.add_event(suite, language, event)
        _delete(tree, folder, compared)
        done.append(Done(language, event, records + len(compared)))
    return done


def _compared(tree: ResultsTree, suite: str, language: str, player: str) -> list[Comparison]:
    """The comparisons of a player."""
    return [record for record in comparisons(tree, suite, language) if player in record.players]


def _delete(tree: ResultsTree, player: Path, records: Sequence[Comparison]) -> None:
    """Delete the folder of a player and its comparisons, with the folders that this leaves empty."""
    path = player
    try:
        for path in (comparison_path(tree, record) for record in records):
            path.unlink()
            for folder in path.parents[:3]:
                if any(folder.iterdir()):
                    break
                folder.rmdir()
        path = player
        shutil.rmtree(player)
    except OSError as error:
        raise storage_error(error, path) from None


def _renamed(record: Comparison, player: str, to: str) -> Comparison:
    """``record`` with another id of a player. The order of the pair may change, what was asked does not."""
    named = {name: to if name == player else name for name in record.players}
    values: dict[str, Any] = {"players": tuple(named[name] for name in record.players)}
    if pair_of(*values["players"]) != values["players"]:
        turned = ("players", "conversations_sha256", "orders")
        values = {name: (dict(record) | values)[name][::-1] for name in turned}
    return sealed(record.model_copy(update=values))


def rename_player(
    tree: ResultsTree,
    suite: str,
    player: str,
    to: str,
    reason: str,
    *,
    catalog: Catalog | None = None,
    languages: Sequence[str] = (),
    day: str = "",
) -> list[Done]:
    """Give a player another id in all its records, and record why. Its answers and scores stay.

    With a ``catalog`` that has the new id, the player's name comes from there.

    Raises UserError if the player is not there, the new id is taken or another model's, or the reason is
    unusable.
    """
    reason, day = _checked(reason, day)
    checked_id(to, "NEW")
    boards = _boards_of(tree, suite, languages, player)
    for language in boards:
        if tree.player_folder(suite, language, to).exists():
            where = str(tree.player_folder(suite, language, to))
            raise UserError(f"player {to!r} already exists", where=where, hint="Choose another id.")
    entry = catalog.models.get(to) if catalog else None
    for info in boards.values():
        if catalog and entry and info.model and entry.model != info.model:
            fault = f"{to!r} is another model: {entry.model!r}, while {info.model!r} gave these answers"
            raise UserError(fault, where=str(catalog.path), hint="Choose the id of the same model.")
    done = []
    for language, info in boards.items():
        talks = list(tree.conversations(suite, language, player))
        verdicts = list(tree.judgements(suite, language, player))
        compared = _compared(tree, suite, language, player)
        name = entry.name if entry else info.name
        for talk in talks:
            moved = sealed(talk.model_copy(update={"player": to}))
            for audio in sounds_of(talk):
                tree.write_audio(moved, audio, tree.read_audio(talk, audio))
            tree.write_conversation(moved)
        for verdict in verdicts:
            tree.write_judgement(sealed(verdict.model_copy(update={"player": to})))
        for record in compared:
            write_comparison(tree, _renamed(record, player, to))
        tree.write_player(suite, language, info.model_copy(update={"player": to, "name": name}))
        event = Event(action="renamed", player=player, name=info.name, to=to, reason=reason, day=day)
        tree.add_event(suite, language, event)
        _delete(tree, tree.player_folder(suite, language, player), compared)
        done.append(Done(language, event, len(talks) + len(verdicts) + len(compared)))
    return done
