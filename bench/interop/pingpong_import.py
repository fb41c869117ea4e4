"""Import ping_pong_bench's result files into the results tree."""

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
from bench.results import ResultsTree
from bench.slugs import NOT_SUITES, slug

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
    """Import the result files at ``path``, a file or a folder, in the order of their names.

    Version 1 has another scale and goes into the suite ``<suite>-v1``. Files that name an interrogator
    (``..._interrogator_Z.json``) play the scenes of other files again and go into ``<suite>-z``. Records that
    were imported before are replaced if they differ. Nothing is deleted.

    Args:
        tree: The results tree.
        path: The file or folder.
        language: Language of the conversations.
        suite: Suite for version 2 (default: ping-pong-bench).
        own_suites: Suites that this project runs, into which nothing may be imported.
        catalog: Knows family, weights and licence of models.
        choice: Which files to read.

    Raises UserError if a suite cannot be a target, or already holds evidence that was not imported.
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
    """Suite by version and interrogator.

    An interrogator has no suite if its name gives no valid suite name, or that of another interrogator.
    """
    suites = {(1, ""): f"{name}-v1", (2, ""): name}
    for asker in interrogators:
        plain = re.sub(r"[^a-z0-9]+", "-", asker.lower()).strip("-")
        for version in (1, 2):
            suite = f"{suites[version, '']}-{plain}"
            if plain and slug(suite) == suite and suite not in suites.values():
                suites[version, asker] = suite
    return suites


def _check_target(tree: ResultsTree, suite: str, language: str, own_suites: frozenset[str]) -> None:
    """Refuse to mix imported evidence with our own."""
    if suite in own_suites or suite in NOT_SUITES:
        raise UserError(
            f"cannot import into {suite!r}",
            hint="Name another suite with --suite, only for imported evidence.",
        )
    for info in tree.players(suite, language):
        first = next(tree.conversations(suite, language, info.player), None)
        if first is not None and first.origin is None:
            raise UserError(
                "has evidence that was not imported",
                where=str(tree.player_folder(suite, language, info.player)),
                hint="Name another suite with --suite.",
            )
