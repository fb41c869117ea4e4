"""Reads a git repository: single commands, the files of a commit, and the commits that changed a folder."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bench.errors import StorageError, UserError

_DEEPEN = "This is a shallow clone: `git fetch --unshallow` fetches the whole history."
_FILES = ("100644", "100755")
"""Modes of regular files; links and submodules are not read."""


def git(*arguments: str, check: bool = True, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run git in ``folder`` or the current one. Raises UserError if it fails and ``check``, or is missing."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except FileNotFoundError:
        raise StorageError("git is not installed", hint="Install git, or copy the results by hand.") from None
    if check and done.returncode != 0:
        raise UserError(f"git {arguments[0]} failed: {done.stderr.strip()}", where=str(folder or Path.cwd()))
    return done


@dataclass(frozen=True)
class GitCommit:
    """A commit of a repository."""

    sha: str
    date: str
    """Committer date (ISO 8601)."""
    title: str

    @property
    def short(self) -> str:
        """The start of its hash, for people."""
        return self.sha[:10]


@dataclass(frozen=True)
class Repository:
    """A work tree, and where the results lie in it."""

    top: Path
    results: PurePosixPath
    """Folder of the results, relative to ``top``."""

    @property
    def shallow(self) -> bool:
        """Whether commits are missing."""
        return self._git("rev-parse", "--is-shallow-repository").stdout.strip() == "true"

    def _git(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return git(*arguments, check=check, folder=self.top)

    def commit(self, name: str) -> GitCommit:
        """The commit that a user names. Raises UserError if no commit has that name."""
        given = [f"{name}^{{commit}}"]
        found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", *given, check=False)
        if found.returncode != 0 or not name.strip():
            hint = _DEEPEN if self.shallow else "`git log --oneline -- results` lists the commits."
            raise UserError(f"unknown commit {name!r}", where=str(self.top), hint=hint)
        sha = found.stdout.strip()
        return _commit(self._git("show", "--no-patch", f"--format={_FORMAT}", sha).stdout)

    def files(self, commit: GitCommit, folder: str) -> dict[str, str]:
        """Object id of every JSON file below ``folder`` of the results, by its path relative to it."""
        below = f"{self.results / folder}/"
        listed = self._git("ls-tree", "-r", "-z", "--full-tree", commit.sha, "--", below).stdout
        files = {}
        for line in filter(None, listed.split("\0")):
            head, _, path = line.partition("\t")
            mode, kind, object_id = head.split()
            name = PurePosixPath(path.removeprefix(below))
            if mode in _FILES and kind == "blob" and name.suffix == ".json" and ".." not in name.parts:
                files[str(name)] = object_id
        return files

    def write_files(self, files: dict[str, str], folder: Path) -> None:
        """Write the files of :meth:`files` below ``folder``. Raises UserError if git lacks one of them."""
        for name, data in zip(files, self.contents(list(files.values())), strict=True):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def contents(self, object_ids: Sequence[str]) -> Iterator[bytes]:
        """The bytes of each object. Raises UserError if git lacks one of them."""
        with tempfile.TemporaryFile() as asked:
            asked.write("".join(f"{object_id}\n" for object_id in object_ids).encode())
            asked.seek(0)
            command = ["git", "cat-file", "--batch"]
            with subprocess.Popen(
                command, cwd=self.top, stdin=asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as process:
                assert process.stdout is not None
                for object_id in object_ids:
                    head = process.stdout.readline().split()
                    if len(head) != 3:
                        fault = f"git cannot read object {object_id}"
                        raise UserError(fault, where=str(self.top), hint="Fetch it: `git fetch --refetch`.")
                    yield process.stdout.read(int(head[2]))
                    process.stdout.read(1)

    def history(self, folder: str, most: int) -> list[tuple[GitCommit, dict[str, str]]]:
        """The latest ``most`` commits that changed ``folder`` of the results, newest first.

        With each comes what it did to files below ``folder``: A (added), M (changed) or D (deleted), by path.
        Merges are skipped, since the commits they bring in are listed themselves.
        """
        below = f"{self.results / folder}/"
        words = ["log", f"--max-count={most}", "--no-merges", "--no-renames", "--name-status", "-z"]
        text = self._git(*words, f"--format=%x01{_FORMAT}%x02", "--", below).stdout
        history = []
        for part in text.split("\x01")[1:]:
            head, _, rest = part.partition("\x02")
            names = [name.strip("\n") for name in rest.split("\0") if name.strip("\n")]
            changed = dict(zip(names[1::2], names[::2], strict=False))
            history.append(
                (_commit(head), {name.removeprefix(below): status for name, status in changed.items()})
            )
        return history


_FORMAT = "%H%x1f%cI%x1f%s"


def _commit(line: str) -> GitCommit:
    sha, date, title = line.strip().split("\x1f")
    return GitCommit(sha, date, title)


def repository_of(results: Path) -> Repository:
    """The repository that holds the ``results``. Raises UserError if they are in no work tree."""
    found = git("rev-parse", "--show-toplevel", check=False, folder=results)
    if found.returncode != 0:
        reason = found.stderr.strip().partition("\n")[0].removeprefix("fatal: ")
        hint = "Clone the repository with its history: a downloaded archive has none."
        raise UserError(f"no git history: {reason}", where=str(results), hint=hint)
    top = Path(found.stdout.rstrip("\n")).resolve()
    return Repository(top, PurePosixPath(results.resolve().relative_to(top).as_posix()))
