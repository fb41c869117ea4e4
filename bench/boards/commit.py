"""Chooses which results may be committed, and commits them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.boards.committed import Committed, committed
from bench.boards.git import git
from bench.boards.loading import load_board, stored_json
from bench.boards.privacy import is_private
from bench.errors import UserError
from bench.files import holds, write_atomically
from bench.protocol_facts import facts_of
from bench.protocols.comparing import templates_of
from bench.records import Conversation, Judgement, digest_of, messages_sha256
from bench.results import ResultsTree, sounds_of
from bench.results.comparisons import comparison_path, comparisons, comparisons_folder
from bench.results.events import EVENTS_FILE
from bench.scores.board import Board, BoardRow
from bench.scores.frame import load
from bench.slugs import slug
from bench.suites import Suite
from bench.suites.languages import fallbacks
from bench.suites.layers import CARRIERS, IMPORTED, is_private_layer, situation_files
from bench.tables import counted


@dataclass(frozen=True)
class ReadyPlayer:
    """A player whose evidence is complete and valid."""

    suite: str
    language: str
    player: str
    version: str


def committable(tree: ResultsTree, suites: Mapping[str, Suite]) -> tuple[list[ReadyPlayer], list[str]]:
    """(players that may be committed, why each other one may not)."""
    ready, left = [], []
    for suite_name, language in tree.boards():
        if tree.is_table(suite_name):
            continue  # published scores are committed by hand
        for info in tree.players(suite_name, language):
            label = f"{suite_name} {language} {info.player}"
            try:
                suite = suites.get(suite_name)
                if is_private(tree, suite_name, suites):
                    fault = "plays a private card, so its results are not published"
                elif suite is None or language not in suite.scenes:
                    fault = "its suite is not in prompts/, so nothing says what is complete"
                elif hidden := _hidden(suite, language):
                    fault = f"git ignores {hidden}; move it into prompts/"
                elif not (fault := _fault(tree, suite, language, info.player)):
                    ready.append(ReadyPlayer(suite_name, language, info.player, suite.entry.version))
            except UserError as error:
                fault = error.line()
            if fault:
                left.append(f"{label}: {fault}")
    return ready, left


def _hidden(suite: Suite, language: str) -> Path | None:
    """A file behind the evidence of a suite that lies in a folder of private ones."""
    hidden = [layer for layer in suite.layers if is_private_layer(layer)]
    files = _needed(suite, language, ()) if hidden else []
    return next((file for file in files for layer in hidden if layer in file.parents and file.exists()), None)


def _fault(tree: ResultsTree, suite: Suite, language: str, player: str) -> str:
    """What keeps a player's evidence from being committed; empty if nothing does."""
    talks = tree.conversations(suite.id, language, player)
    conversations = {(c.character, c.situation, c.repeat): c for c in talks}
    judgements = list(tree.judgements(suite.id, language, player))
    pairs = suite.language(language).pairs
    due = [(*pair, repeat) for pair in pairs for repeat in suite.repeats]
    missing = [cell for cell in due if cell not in conversations]
    if missing:
        return f"{len(missing)} of {len(due)} conversations missing"
    for conversation in conversations.values():
        for audio in sounds_of(conversation):
            if not tree.audio_path(conversation, audio).is_file():
                return f"{conversation.name}: its sound file is missing"
    records: list[Conversation | Judgement] = [*conversations.values(), *judgements]
    for record in records:
        fault = _record_fault(record, suite, player, conversations)
        if fault:
            return f"{record.name}: {fault}"
    done = {(j.character, j.situation, j.repeat, j.judge) for j in judgements}
    rota = suite.rota(language)
    for judge in suite.judges:
        lacking = [
            cell
            for cell in due
            if suite.asked([judge], cell[:2], rota)
            and conversations[cell].status == "complete"
            and (*cell, judge) not in done
        ]
        if lacking:
            return f"{counted(len(lacking), 'judgement')} by {judge} missing"
    return ""


def _record_fault(
    record: Conversation | Judgement,
    suite: Suite,
    player: str,
    conversations: Mapping[tuple[str, str, int], Conversation],
) -> str:
    if record.digest != digest_of(record):
        return "the record was edited (its digest does not fit)"
    if record.player != player or record.suite != suite.id:
        return f"belongs to {record.suite} {record.player}"
    if record.version != suite.entry.version:
        return f"is of version {record.version}, the suite is version {suite.entry.version}"
    if isinstance(record, Judgement):
        conversation = conversations.get((record.character, record.situation, record.repeat))
        if conversation is None or record.conversation_sha256 != messages_sha256(conversation.messages):
            return f"the judgement by {record.judge} is of another conversation"
    return ""


@dataclass(frozen=True)
class Commit:
    """What there is to commit, or was committed."""

    message: str
    """Empty if nothing has changed since the last commit."""
    ignored: tuple[str, ...]
    """Boards with complete players that git ignores, as ``suite language``."""
    impossible: tuple[str, ...]
    """Boards that cannot be computed from what the commit would hold, and why."""


def git_commit(
    tree: ResultsTree,
    ready: Sequence[ReadyPlayer],
    suites: Mapping[str, Suite],
    models: Path,
    *,
    dry_run: bool,
) -> Commit:
    """Commit players that have changed, their boards, and the prompts, cards and models.toml behind them.

    A board follows from what the commit holds: the players in ``ready`` as they are now, and other players as
    they were committed. Players whose folders are gone are deleted, with the board once all of them are.

    Raises UserError where git is missing or the results lie in no work tree.
    """
    head = committed(tree)
    gone = head.gone()
    lines: list[str] = []
    paths: list[Path] = []
    ignored: list[str] = []
    impossible: list[str] = []
    scored = 0
    boards = {(item.suite, item.language) for item in ready} | head.boards_without_players()
    boards |= {(folder.parts[-3], folder.parts[-2]) for folder in gone}
    for suite_name, language in sorted(boards):
        path = tree.board_folder(suite_name, language) / "board.json"
        players = {item.player for item in ready if (item.suite, item.language) == (suite_name, language)}
        dropped = [folder for folder in gone if folder.parent == path.parent]
        if players and _ignored(path):
            ignored.append(f"{suite_name} {language}")
            continue
        found, fault = _possible(head, suite_name, language, players, suites)
        impossible += [f"{suite_name} {language}: {fault}"] if fault else []
        if found is None:
            continue
        board, compared = found
        label = f"{suite_name} v{board.version} {language}" if board else f"{suite_name} {language}"
        changed = _changed_players(tree, board, players) if board else []
        paths += [tree.player_folder(suite_name, language, row.player) for row in changed]
        lines += [_line(board, row) for row in changed if board]
        scored += len(changed)
        paths += compared
        lines += [f"{label}: comparisons" for _ in compared]
        if _board_changed(path, board, dry_run=dry_run):
            paths.append(path)
            if not changed and not dropped:
                lines.append(f"{label}: the board" if board else f"{label}: the board, deleted")
        needed = _changed_files(_needed(suites[suite_name], language, compared)) if players else []
        if needed and not changed:
            lines.append(f"{label}: prompts")
        paths += needed + dropped
        lines += [f"{folder.relative_to(tree.root).as_posix()}: deleted" for folder in dropped]
        paths += _changed_files([path.with_name(EVENTS_FILE)])
    paths += _changed_files([models]) if paths else []  # a new entry alone belongs to no results
    message = _message(lines, scored)
    if message and not dry_run:
        _record(list(dict.fromkeys(paths)), message)
    return Commit(message, tuple(ignored), tuple(impossible))


def _possible(
    head: Committed, suite: str, language: str, players: set[str], suites: Mapping[str, Suite]
) -> tuple[tuple[Board | None, list[Path]] | None, str]:
    """The board that can be committed with ``players`` as they are now and the changed folder of its
    comparisons, and what cannot be committed and why. A comparison that is committed and no longer fits keeps
    the whole board back."""
    try:
        board = _board(head, suite, language, players, suites)
    except UserError as error:
        fault = f"no board from what would be committed: {error.what}"
        return None, f"{fault}. Finish the players left out, or delete them."
    folder = comparisons_folder(head.tree, suite, language)
    if board is None or not folder.is_dir():
        return (board, []), ""
    fault, keeps = _comparison_fault(head.tree, folder, board, players)
    if fault:
        return None if keeps else (board, []), f"comparisons: {fault}."
    return (board, [folder] if _changed(folder) else []), ""


def _comparison_fault(tree: ResultsTree, folder: Path, board: Board, ready: set[str]) -> tuple[str, bool]:
    """Why the comparisons of a board cannot be committed, and whether that holds for a committed one.

    ``ready``: players that are committed as they are now.
    """
    changed = set(_changed_files(list(folder.glob("*/*/*.json"))))
    talks = {
        (player, talk.character, talk.situation, talk.repeat): messages_sha256(talk.messages)
        for player in ready
        for talk in tree.conversations(board.suite, board.language, player)
        if talk.status == "complete"
    }
    players = {row.player for row in board.rows}
    try:
        for record in comparisons(tree, board.suite, board.language):
            new = comparison_path(tree, record) in changed
            if record.digest != digest_of(record):
                return f"{record.name} was edited (its digest does not fit)", not new
            for player, sha256 in zip(record.players, record.conversations_sha256, strict=True):
                if player not in (ready if new else players):
                    return f"{record.name} is of a player that is left out, {player}", not new
                place = (player, record.character, record.situation, record.repeat)
                if player in ready and talks.get(place) != sha256:
                    again = f"`bench compare {board.suite} --refresh-stale` repeats it"
                    return f"{record.name} is of an older conversation of {player}; {again}", not new
    except UserError as error:
        return error.line(), False
    return "", False


def _message(lines: Sequence[str], scored: int) -> str:
    """The message of a commit of these changes, with new results of ``scored`` players; empty without any."""
    if not lines:
        return ""
    if len(lines) == 1:
        title = lines[0]
    elif scored:
        title = "1 player's results" if scored == 1 else f"{scored} players' results"
    else:
        title = f"{len(lines)} changes"
    return f"Results: {title}\n\n" + "\n".join(lines) + "\n"


def _record(paths: Sequence[Path], message: str) -> None:
    """Commit ``paths`` as they are now: changed, new or deleted."""
    if here := [str(path) for path in paths if path.exists()]:
        git("add", "--", *here)
    if away := [str(path) for path in paths if not path.exists()]:
        git("rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", *away)
    git("commit", "--quiet", "--message", message, "--", *map(str, paths))


def _board(
    head: Committed, suite: str, language: str, players: set[str], suites: Mapping[str, Suite]
) -> Board | None:
    """The board of ``players`` as they are now, and of other players as they were committed. None: nobody."""
    tree = head.tree
    here = {slug(player) for player in players}
    folder = tree.board_folder(suite, language)
    kept = {name for name in head.players(suite, language) - here if (folder / name).exists()}
    if not kept:
        if not players:
            return None
        frames = load(tree, suite, language).only_players(players)
        return load_board(tree, suite, language, prompts=suites, frames=frames).board
    with TemporaryDirectory() as temporary:
        staged = ResultsTree(Path(temporary))
        head.extract(suite, language, kept, staged.root)
        for name in here:
            target = staged.root / suite / language / name
            shutil.copytree(folder / name, target, symlinks=True, ignore=shutil.ignore_patterns("audio"))
        return load_board(staged, suite, language, prompts=suites).board


def _needed(suite: Suite, language: str, compared: Sequence[Path]) -> list[Path]:
    """The prompts, cards and other files behind the evidence of a suite, deleted ones included. ``compared``:
    changed comparisons."""
    scenes, folder = suite.language(language), suite.prompts / suite.protocol
    roles = facts_of(suite.protocol).roles
    files = [folder / f"{suite.id}.toml", *sorted(suite.templates.glob("*.jinja"))]
    files += [suite.templates / f"{role}.{tag}.jinja" for role in roles for tag in fallbacks(language)]
    files += sorted(templates_of(suite).glob("*.jinja")) if compared else []
    cards = [suite.file("characters", language, f"{name}.toml") for name in scenes.cards]
    files += [card.with_suffix(kind) for card in cards for kind in (".toml", IMPORTED, *CARRIERS.values())]
    situations = situation_files(suite.layers or (suite.prompts,), language)
    files += [situations[name] for name in scenes.situations if name in situations]
    if named := suite.entry.languages[language].items:
        items = folder / named
        files += [items / "_shared.toml"] if items.is_dir() else []
        files += sorted({Path(item.where.rpartition(":")[0]) for item in scenes.items})
        sounds = [item.data.get("audio") for item in scenes.items]
        paths = [items.parent / sound for sound in sounds if isinstance(sound, str) and sound]
        files += [path for path in paths if path.resolve().is_relative_to(items.parent.resolve())]
    return list(dict.fromkeys(files))


def _changed_files(paths: Sequence[Path]) -> list[Path]:
    """Those of ``paths`` in this work tree that are new, changed or deleted, and are not ignored by git."""
    top = Path(git("rev-parse", "--show-toplevel").stdout.strip()).resolve()
    inside = [path for path in paths if path.resolve().is_relative_to(top)]
    listed = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--"]
    lines = git(*listed, *map(str, inside)).stdout.split("\0") if inside else []
    changed = {(top / line[3:]).resolve() for line in lines if line}
    return [path for path in inside if path.resolve() in changed]


def _changed_players(tree: ResultsTree, board: Board, players: set[str]) -> list[BoardRow]:
    """The rows of those ``players`` whose files differ from what is committed."""
    return [
        row
        for row in board.rows
        if row.player in players and _changed(tree.player_folder(board.suite, board.language, row.player))
    ]


def _board_changed(path: Path, board: Board | None, *, dry_run: bool) -> bool:
    """Whether board.json, recomputed from the evidence, differs from the committed one. None: deleted."""
    if board is None:
        if not dry_run:
            path.unlink(missing_ok=True)
        return path.exists() or _changed(path)
    data = stored_json(board).encode()
    if dry_run:
        return not holds(path, data) or _changed(path)
    write_atomically(path, data)
    return _changed(path)


def _line(board: Board, row: BoardRow) -> str:
    score = "no score" if row.length_norm_score is None else f"{row.length_norm_score:.2f}"
    spread = "" if row.length_norm_ci is None else f" ± {row.length_norm_ci:.2f}"
    return f"{board.suite} v{board.version} {board.language} {row.player}: {score}{spread}"


def _ignored(path: Path) -> bool:
    return git("check-ignore", "--quiet", str(path), check=False).returncode == 0


def _changed(path: Path) -> bool:
    return bool(git("status", "--porcelain", "--untracked-files=all", "--", str(path)).stdout)
