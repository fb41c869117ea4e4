"""A player's conversation pages, stamped from one shell: thousands of pages, so this is what workers do.

Nothing here needs the board: a worker reads one player's records, writes the pages that differ, and hands
back what the other pages need. A player whose files, templates and shell are as they were is left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bench.errors import StorageError
from bench.records import Conversation, Judgement, PlayerInfo
from bench.results import ResultsTree, sounds_of
from bench.site import paths
from bench.site.cells import CellSummary, summarise
from bench.site.labels import BoardPlace, language_name
from bench.site.output import OutputFolder
from bench.site.render import Pages
from bench.site.scoring import BoardRules
from bench.site.shell import Shell
from bench.site.spoken import sound_name
from bench.site.talk import talk_of
from bench.site.text import bdi, plain

FEW = 12
"""Up to so many players, a conversation page links each one's conversation of the same scene itself."""
STATE = ".dramaturg"
"""Folder of what a build keeps for the next one."""


@dataclass(frozen=True)
class Link:
    href: str
    text: str


@dataclass(frozen=True)
class Stamped:
    """What came of one player."""

    player: str
    cells: tuple[CellSummary, ...]
    kept: tuple[str, ...]
    """Files of the site that belong to it."""
    written: int


@dataclass(frozen=True)
class Stamper:
    """Stamps the players of one site; goes to the workers as it is."""

    results: Path
    output: Path
    templates: Path
    shell: Shell
    source_url: str
    environment: str
    """Hash of all that the pages are made with: program, templates, shell, names of judges."""
    judges: Mapping[str, str] = field(default_factory=dict)
    """What judges are called, by id."""

    def stamp(self, place: BoardPlace, info: PlayerInfo, others: Sequence[PlayerInfo]) -> Stamped:
        """The pages of ``info``; ``others``: players whose conversation of the same scene is linked."""
        tree = ResultsTree(self.results)
        folder = OutputFolder.part(self.output)
        key = self._key(tree, place, info, others)
        state = f"{STATE}/{place.suite}.{place.language}.{paths.slug(info.player)}.json"
        before = _restored(self.output, state, key)
        if before is not None:
            return Stamped(info.player, before.cells, (*before.pages, state), 0)
        page = _PlayerPages(tree, place, info, others, self)
        hashes: dict[str, str] = {}
        for name, made in page.pages():
            raw = made if isinstance(made, bytes) else made.encode("utf-8", "replace")
            hashes[name] = _hash(raw)
            folder.write(name, raw)
        saved = _State(key, tuple(page.cells), hashes)
        folder.write(state, json.dumps(asdict(saved), sort_keys=True, separators=(",", ":")))
        return Stamped(info.player, saved.cells, (*hashes, state), folder.written)

    def _key(
        self, tree: ResultsTree, place: BoardPlace, info: PlayerInfo, others: Sequence[PlayerInfo]
    ) -> str:
        """Hash of everything that the player's pages show."""
        made = hashlib.blake2b(self.environment.encode(), digest_size=20)
        label = place.label
        about = [place.suite, place.language, label.title, label.description, str(label.demonstration)]
        made.update(repr([about, place.judges, self.source_url]).encode("utf-8", "surrogatepass"))
        root = tree.player_folder(place.suite, place.language, info.player)
        for path in sorted([*root.rglob("*.json"), *root.glob("audio/*.*")]):
            made.update(path.relative_to(root).as_posix().encode())
            made.update(hashlib.blake2b(path.read_bytes(), digest_size=20).digest())
        for other in others:
            found = tree.player_folder(place.suite, place.language, other.player) / "conversations"
            names = sorted(path.name for path in found.glob("*.json"))
            made.update(repr([other.player, other.name, names]).encode("utf-8", "surrogatepass"))
        return made.hexdigest()


@dataclass(frozen=True)
class _State:
    """What a build keeps of a player."""

    key: str
    cells: tuple[CellSummary, ...]
    pages: dict[str, str]
    """Path of each page to the hash of its bytes."""


_STATES = TypeAdapter(_State)


def _restored(output: Path, name: str, key: str) -> _State | None:
    """The state of the build before, if it still holds and its pages are as it left them."""
    try:
        state = _STATES.validate_json((output / name).read_bytes())
        if state.key != key:
            return None
        sound = all(_hash((output / page).read_bytes()) == found for page, found in state.pages.items())
    except (OSError, ValidationError):
        return None
    return state if sound else None


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def environment_of(shell: str, templates: Path, judges: Mapping[str, str]) -> str:
    """The hash for :attr:`Stamper.environment`."""
    made = hashlib.blake2b(shell.encode(), digest_size=20)
    made.update(repr(sorted(judges.items())).encode("utf-8", "surrogatepass"))
    here = Path(__file__).resolve()
    bench = here.parents[1]
    sources = [*here.parent.glob("*.py"), *(bench / "protocols").glob("*.py")]
    sources += [bench / "records.py", bench / "slugs.py", bench / "protocol_facts.py"]
    for path in sorted([*sources, *templates.glob("*.j2")]):
        made.update(path.name.encode() + path.read_bytes())
    return made.hexdigest()


class _PlayerPages:
    """The conversation pages of one player."""

    def __init__(
        self,
        tree: ResultsTree,
        place: BoardPlace,
        info: PlayerInfo,
        others: Sequence[PlayerInfo],
        stamper: Stamper,
    ) -> None:
        self.cells: list[CellSummary] = []
        self._tree = tree
        self._place = place
        self._info = info
        self._others = others
        self._shell = stamper.shell
        self._source = stamper.source_url
        self._pages = Pages(stamper.templates, stamper.judges)

    def pages(self) -> Iterable[tuple[str, str | bytes]]:
        """(path, page) of every conversation, and (path, bytes) of their sound files."""
        place = self._place
        judgements: dict[str, list[Judgement]] = {}
        for judgement in self._tree.judgements(place.suite, place.language, self._info.player):
            scene = paths.scene_name(judgement.character, judgement.situation)
            judgements.setdefault(scene, []).append(judgement)
        talks = list(self._tree.conversations(place.suite, place.language, self._info.player))
        for talk in talks:
            given = judgements.get(paths.scene_name(talk.character, talk.situation), [])
            self.cells.append(summarise(talk, given, place.judges))
        for n, (talk, cell) in enumerate(zip(talks, self.cells, strict=True)):
            before = self.cells[n - 1] if n else None
            after = self.cells[n + 1] if n + 1 < len(talks) else None
            sounds = self._sounds(talk)
            folder = paths.player_folder(place.suite, place.language, self._info.player)
            yield from ((f"{folder}/{name}", data) for name, data in sounds.items())
            yield self._page(talk, cell, judgements.get(cell.scene, []), before, after, sounds)

    def _sounds(self, talk: Conversation) -> dict[str, bytes]:
        """The sound files of a conversation that are there, and what they were when it was held."""
        found = {}
        for audio in sounds_of(talk):
            with contextlib.suppress(StorageError):
                found[sound_name(audio)] = self._tree.read_audio(talk, audio)
        return found

    def _page(
        self,
        talk: Conversation,
        cell: CellSummary,
        judgements: list[Judgement],
        before: CellSummary | None,
        after: CellSummary | None,
        sounds: Collection[str],
    ) -> tuple[str, str]:
        place, info = self._place, self._info
        page = self._path(info, cell.scene)
        player_page = paths.player_page(place.suite, place.language, info.player)
        here = f"{cell.character_name}, {cell.situation_title}"
        content = self._pages.render(
            "conversation",
            {
                **common(place, page),
                "heat": BoardRules.of(talk.protocol).heat,
                "crumbs": [*crumbs(place, page), Link(paths.relative(player_page, page), info.name)],
                "here": here,
                "lang": place.language,
                "info": info,
                "player_href": paths.relative(player_page, page),
                "conversation": talk,
                "summary": cell,
                "talk": talk_of(talk, judgements, sounds),
                "previous": self._step(before, page),
                "following": self._step(after, page),
                **self._sides(cell, page),
                "others": self._same_scene(talk, cell, page),
                "records": [self._record(self._tree.conversation_path(talk))]
                + [self._record(self._tree.judgement_path(talk, j.judge)) for j in judgements],
            },
        )
        title = plain(f"{here}: {info.name}")
        heading = bdi(" ".join(here.split()), 200)
        return page, self._shell.fill(title=title, heading=heading, content=content)

    def _sides(self, cell: CellSummary, page: str) -> dict[str, str]:
        """Links to the pages of the scene, its character and its situation."""
        place = self._place
        character, situation = cell.scene.split(".")
        targets = {
            "scene_href": paths.scene_page(place.suite, place.language, cell.scene),
            "character_href": paths.side_page(place.suite, place.language, "character", character),
            "situation_href": paths.side_page(place.suite, place.language, "situation", situation),
        }
        return {name: paths.relative(target, page) for name, target in targets.items()}

    def _step(self, cell: CellSummary | None, page: str) -> Link | None:
        if cell is None:
            return None
        href = paths.relative(self._path(self._info, cell.scene), page)
        return Link(href, f"{cell.character_name}, {cell.situation_title}")

    def _same_scene(self, talk: Conversation, cell: CellSummary, page: str) -> list[Link]:
        """The same scene by the other players."""
        links = []
        for other in self._others:
            twin = talk.model_copy(update={"player": other.player})
            if other.player != self._info.player and self._tree.conversation_path(twin).exists():
                links.append(Link(paths.relative(self._path(other, cell.scene), page), other.name))
        return links

    def _path(self, info: PlayerInfo, scene: str) -> str:
        return paths.conversation_page(self._place.suite, self._place.language, info.player, scene)

    def _record(self, path: Path) -> Link:
        return record_link(self._tree, self._source, path)


def record_link(tree: ResultsTree, source_url: str, path: Path) -> Link:
    """A record's path as the repository has it, with a link where the source can be browsed."""
    inside = path.relative_to(tree.root).as_posix()
    return Link(f"{source_url.rstrip('/')}/{inside}" if source_url else "", f"results/{inside}")


def common(place: BoardPlace, page: str) -> dict[str, Any]:
    """What every page of a board shows."""
    return {
        "suite": place.label,
        "language": place.language,
        "about": paths.relative(paths.DEMONSTRATION, page),
        "method": paths.relative(paths.METHOD, page),
    }


def crumbs(place: BoardPlace, page: str) -> list[Link]:
    """The way from the list of boards to a page of a board."""
    board = paths.board_page(place.suite, place.language)
    title = f"{place.label.title}, {language_name(place.language)}"
    return [Link(paths.relative(paths.BOARDS, page), "Boards"), Link(paths.relative(board, page), title)]
