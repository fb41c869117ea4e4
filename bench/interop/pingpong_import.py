"""Importing a folder of ping_pong_bench's result files into the results tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bench.catalog import Catalog
from bench.errors import UserError
from bench.files import BulkWriter
from bench.foreign import Problem
from bench.interop.pingpong_files import Choice, askers, result_files
from bench.interop.pingpong_records import Importer
from bench.records import PlayerInfo
from bench.results import NOT_SUITES, ResultsTree
from bench.slugs import slug

DEFAULT_SUITE = "ping-pong-bench"


@dataclass(frozen=True)
class ImportReport:
    """What was imported, and what was not."""

    suites: tuple[str, ...]
    files: int
    players: int
    conversations: int
    judgements: int
    written: int
    """Files of the results tree that are new or changed."""
    problems: tuple[Problem, ...]


def import_pingpong(
    tree: ResultsTree,
    path: Path,
    *,
    language: str,
    suite: str | None = None,
    own_suites: frozenset[str] = frozenset(),
    catalog: Catalog | None = None,
    choice: Choice | None = None,
) -> ImportReport:
    """Import the result files of a folder, or one file; of these only what ``choice`` takes.

    Version 2 goes into the suite ``suite``, version 1, whose scale is another, into ``<suite>-v1``. Files
    whose names say who the interrogator was (``..._interrogator_Z.json``) play the scenes of other files once
    more: they go into a suite of that interrogator, with its name behind (``<suite>-z``). The files are taken
    in the order of their names. What was imported before is replaced where it differs; nothing is deleted.
    ``own_suites`` are refused as targets, and so is a suite that holds evidence which was not imported.
    Raises UserError.
    """
    name = DEFAULT_SUITE if suite is None else suite
    for text, what in ((name, "suite"), (language, "language")):
        if slug(text) != text:
            raise UserError(f"{text!r} cannot name a {what}", hint="Use small letters, digits and '-'.")
    choice = choice or Choice()
    suites = _suites(name, askers(path, choice))
    for target in suites.values():
        _check_target(tree, target, language, own_suites)
    problems: list[Problem] = []
    importer = Importer(suites, language, catalog, problems)
    files = players = 0
    with BulkWriter() as writer:
        for file in result_files(path, problems, choice):
            files += 1
            for record in importer.records(file):
                if isinstance(record, PlayerInfo):
                    players += tree.write_player(suites[file.version, file.asker], language, record)
                else:
                    tree.write_imported(record, writer)
    return ImportReport(
        suites=tuple(sorted({key[0] for key in importer.conversations})),
        files=files,
        players=len(importer.players),
        conversations=len(importer.conversations),
        judgements=len(importer.judgements),
        written=writer.written + players,
        problems=tuple(problems),
    )


def _suites(name: str, interrogators: list[str]) -> dict[tuple[int, str], str]:
    """Suite by version and interrogator. An interrogator whose suite would have no sound name, or the name of
    another's, has none."""
    found = {(1, ""): f"{name}-v1", (2, ""): name}
    for asker in interrogators:
        plain = re.sub(r"[^a-z0-9]+", "-", asker.lower()).strip("-")
        for version in (1, 2):
            suite = f"{found[version, '']}-{plain}"
            if plain and slug(suite) == suite and suite not in found.values():
                found[version, asker] = suite
    return found


def _check_target(tree: ResultsTree, suite: str, language: str, own_suites: frozenset[str]) -> None:
    """Refuse to mix imported evidence with our own."""
    if suite in own_suites or suite in NOT_SUITES:
        raise UserError(
            f"{suite!r} is not a suite for imports",
            hint="Name another one by --suite: imported evidence stays apart.",
        )
    for info in tree.players(suite, language):
        first = next(tree.conversations(suite, language, info.player), None)
        if first is not None and first.origin is None:
            raise UserError(
                "holds evidence that was not imported",
                where=str(tree.player_folder(suite, language, info.player)),
                hint="Name another suite by --suite.",
            )
