"""All conversation pages of one player, with what other pages need of its records.

There are thousands of these pages, so worker processes write them. A worker reads a player's records once and
needs nothing from other players.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.errors import StorageError
from bench.records import Conversation, Judgement, PlayerInfo, Scene
from bench.results import ResultsTree, sounds_of
from bench.scores.player_measures import PlayerMeasures, player_measures
from bench.scores.rows import PlayerRows, player_rows
from bench.site.cells import CellSummary, by_scene, summarise
from bench.site.output import Stamp, digest_of, read_stamps, write_file
from bench.site.paths import Links
from bench.site.places import BoardPlace, Link, common, record_link
from bench.site.render import Pages
from bench.site.shell import Page, Shell
from bench.site.spoken import sound_name
from bench.site.talk import talk_of

MEASURES = "measures.json"
"""File of a player with what its texts show without a judge: they take as long to measure as to read."""


@dataclass(frozen=True)
class Setup:
    """What is the same for all players of a site."""

    results: Path
    output: Path
    templates: Path
    shell: Shell
    source_url: str
    judges: Mapping[str, str]
    """Names of judges by id."""


@dataclass(frozen=True)
class PlayerJob:
    """One player whose pages are to be written."""

    place: BoardPlace
    info: PlayerInfo
    others: tuple[tuple[PlayerInfo, frozenset[str]], ...]
    """Players to link in their common scenes, each with its scenes."""


@dataclass(frozen=True)
class PlayerResult:
    """What is needed of a player's records, and the files that were written."""

    player: str
    measures: PlayerMeasures
    cells: dict[str, CellSummary]
    """By scene."""
    texts: dict[str, Scene]
    """What the sides were told, by scene."""
    rows: PlayerRows
    files: tuple[str, ...]
    """Files of the site that belong to the player, changed or not."""
    written: int
    """How many of them are new or changed."""
    stamps: dict[str, Stamp]
    """Of the pages and of the measures, by path."""


class Steps(NamedTuple):
    """The conversations that a page links: the player's one before and after, and repeats of the scene."""

    previous: CellSummary | None
    following: CellSummary | None
    repeats: Sequence[CellSummary]


class ConversationWriter:
    """Writes the conversation pages of one player after another."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._tree = ResultsTree(setup.results)
        self._pages = Pages(setup.templates, setup.judges)
        self._stamps = read_stamps(setup.output)
        self._made_by = _program(setup)

    def write(self, job: PlayerJob) -> PlayerResult:
        """Write all pages of a player, and copy its sound files. Raises RecordError or StorageError."""
        place, player = job.place, job.info.player
        here, at = (place.suite, place.language, player), place.links()
        talks = [t for t in self._tree.conversations(*here) if not place.repeats or t.repeat in place.repeats]
        judgements = [
            j for j in self._tree.judgements(*here) if not place.repeats or j.repeat in place.repeats
        ]
        rows = player_rows(self._tree, place.suite, place.language, player, talks, judgements)
        verdicts: dict[str, list[Judgement]] = {}
        for judgement in judgements:
            verdicts.setdefault(judgement.name, []).append(judgement)
        cells = [
            summarise(talk, verdicts.get(talk.name, []), place.judges_of(talk.character, talk.situation))
            for talk in talks
        ]
        scenes = by_scene(cells)
        files: list[str] = []
        stamps: dict[str, Stamp] = {}
        written = 0
        same = digest_of(self._made_by, _in_words(job).encode())
        for n, (talk, cell) in enumerate(zip(talks, cells, strict=True)):
            neighbours = (cells[n - 1] if n else None, cells[n + 1] if n + 1 < len(cells) else None)
            steps = Steps(*neighbours, scenes[cell.scene].talks)
            given = verdicts.get(talk.name, [])
            sounds = self._sounds(talk)
            for name, data in sounds.items():
                files.append(at.player(player, name))
                written += write_file(self._setup.output, files[-1], data)
            name = at.talk(player, cell.talk)
            records = (record.model_dump_json().encode() for record in (talk, *given))
            inputs = digest_of(same.encode(), _shown(steps, sounds).encode(), *records)
            files.append(name)
            written += self._made(
                name, inputs, partial(self._page, job, name, talk, cell, given, sounds, steps)
            )
            stamps[name] = self._stamps[name]
        name = at.player(player, MEASURES)
        inputs = digest_of(same.encode(), *(stamp.inputs.encode() for stamp in stamps.values()))
        files.append(name)
        written += self._made(name, inputs, lambda: player_measures(player, talks).model_dump_json(indent=2))
        stamps[name] = self._stamps[name]
        measures = PlayerMeasures.model_validate_json((self._setup.output / name).read_bytes())
        texts = {cell.scene: talk.scene for talk, cell in zip(talks, cells, strict=True)}
        return PlayerResult(player, measures, scenes, texts, rows, tuple(files), written, stamps)

    def _made(self, name: str, inputs: str, make: Callable[[], str]) -> bool:
        """Make a file of the site unless it is there as it would be made; whether it is new or changed."""
        if self._is_made(name, inputs):
            return False
        data = make().encode("utf-8", "replace")
        self._stamps[name] = Stamp(inputs, digest_of(data))
        return write_file(self._setup.output, name, data)

    def _is_made(self, name: str, inputs: str) -> bool:
        """Whether the file is there already, as it would be made."""
        stamp, path = self._stamps.get(name), self._setup.output / name
        if stamp is None or stamp.inputs != inputs or path.is_symlink():
            return False
        try:
            return digest_of(path.read_bytes()) == stamp.page
        except OSError:
            return False

    def _page(
        self,
        job: PlayerJob,
        path: str,
        talk: Conversation,
        cell: CellSummary,
        judgements: Sequence[Judgement],
        sounds: Collection[str],
        steps: Steps,
    ) -> str:
        """The page of a conversation."""
        every = common(job.place, path)
        to: Links = every["to"]
        character, situation = cell.scene.split(".")
        records = [self._tree.conversation_path(talk)]
        records += [self._tree.judgement_path(talk, judgement.judge) for judgement in judgements]
        name = job.info.name
        values = {
            **every,
            **steps._asdict(),
            "crumbs": [*every["crumbs"], Link(to.player(job.info.player), name)],
            "info": job.info,
            "conversation": talk,
            "cell": cell,
            "sides": (to.side("character", character), to.side("situation", situation)),
            "talk": talk_of(talk, judgements, sounds),
            "counting": job.place.judges_of(talk.character, talk.situation),
            "others": [
                other
                for other, scenes in job.others
                if other.player != job.info.player and cell.scene in scenes
            ],
            "records": [record_link(self._tree, self._setup.source_url, record) for record in records],
        }
        about = f"{name} as {cell.name}: what was said, and every verdict. {job.place.title}."
        content = self._pages.render("conversation", values)
        page = Page(path, "conversation", f"{cell.name}: {name}", cell.name, content, about)
        return self._setup.shell.fill(page)

    def _sounds(self, talk: Conversation) -> dict[str, bytes]:
        """The sound files of a conversation that exist unchanged."""
        sounds = {}
        for audio in sounds_of(talk):
            with contextlib.suppress(StorageError):
                sounds[sound_name(audio)] = self._tree.read_audio(talk, audio)
        return sounds


def _in_words(job: PlayerJob) -> str:
    """All of a job, in the same words in every process."""
    return repr((job.place, job.info, [(info, sorted(scenes)) for info, scenes in job.others]))


def _shown(steps: Steps, sounds: Collection[str]) -> str:
    """What a page shows of other conversations, and the sounds that it plays."""
    near = [cell and (cell.talk, cell.name) for cell in (steps.previous, steps.following)]
    return repr((near, [(cell.talk, cell.repeat, cell.score) for cell in steps.repeats], sorted(sounds)))


def _program(setup: Setup) -> bytes:
    """A digest of everything that makes pages from records: program, templates, shell and settings."""
    code = [path.read_bytes() for path in sorted(Path(__file__).parents[1].rglob("*.py"))]
    templates = [path.read_bytes() for path in sorted(setup.templates.iterdir()) if path.is_file()]
    settings = repr((setup.shell.page, setup.source_url, sorted(setup.judges.items())))
    return digest_of(*code, *templates, settings.encode()).encode()
