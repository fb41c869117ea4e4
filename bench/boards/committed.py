"""The results as the last commit has them, read through git."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bench.boards.git import git
from bench.results import ResultsTree
from bench.slugs import NOT_SUITES


@dataclass(frozen=True)
class Committed:
    """The files of a results tree in the last commit; paths are relative to the tree."""

    tree: ResultsTree
    top: Path
    """The work tree's top folder."""
    files: frozenset[PurePosixPath]

    def players(self, suite: str, language: str) -> set[str]:
        """Names of the folders of a board that have a player.json."""
        return {
            path.parts[2]
            for path in self.files
            if path.parts[:2] == (suite, language) and path.parts[3:] == ("player.json",)
        }

    def boards_without_players(self) -> set[tuple[str, str]]:
        """(suite, language) of each board.json that was left when the last player was deleted."""
        boards = {path.parts[:2] for path in self.files if path.parts[2:] == ("board.json",)}
        return {(suite, language) for suite, language in boards if not self.players(suite, language)}

    def gone(self) -> list[Path]:
        """Folders of players that are no longer in the work tree."""
        folders = {
            self.tree.root.joinpath(*path.parts[:3])
            for path in self.files
            if len(path.parts) > 3 and path.parts[0] not in NOT_SUITES
        }
        return sorted(folder for folder in folders if not folder.exists())

    def extract(self, suite: str, language: str, players: set[str], target: Path) -> None:
        """Write the records of some players, as committed, into the results tree ``target``."""
        root = self.tree.root.resolve()
        archive = target / "committed.tar"
        for player in sorted(players):
            folder = f"HEAD:{(root / suite / language / player).relative_to(self.top).as_posix()}"
            git("-C", str(self.top), "archive", "--format=tar", "--output", str(archive), folder)
            with tarfile.open(archive) as packed:
                files = (member for member in packed.getmembers() if member.isfile())  # no links
                records = [member for member in files if member.name.endswith(".json")]
                packed.extractall(target / suite / language / player, records, filter="data")
        archive.unlink(missing_ok=True)


def committed(tree: ResultsTree) -> Committed:
    """What the last commit has of a results tree. Raises UserError if the tree is in no repository."""
    top = Path(git("rev-parse", "--show-toplevel").stdout.strip()).resolve()
    root = tree.root.resolve()
    listed = git("-C", str(top), "ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", check=False)
    paths = [top / name for name in listed.stdout.split("\0") if name]  # nothing before the first commit
    inside = [path for path in paths if path.is_relative_to(root)]
    return Committed(
        tree, top, frozenset(PurePosixPath(path.relative_to(root).as_posix()) for path in inside)
    )
