"""Pseudonyms: who rated is kept apart from what was rated.

The folder of a study gets its own file, ignored by git, with a random salt and the pseudonym of each person's
salted hash. Names and addresses are not written anywhere. Without that file nobody can find out who an
annotator is; with it, only by guessing names.

Every Label Studio numbers its people and annotations from 1, so a number belongs to a server. Servers are
salted hashes too.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field

from bench.errors import UserError
from bench.files import write_atomically
from bench.records import Record
from bench.results import read_record, record_bytes
from bench.results.studies import study_folder

FILE = ".annotators.json"
MEAN = "mean"
"""Used as the annotator if only the mean of several was published."""

_NUMBERED = re.compile(r"annotator-(\d+)")


FIRST = ""
"""The group of numbers of a study's first server, and of files that do not say where they come from."""


class PeopleFile(Record):
    """The private file: the salt, and the pseudonym of each salted hash."""

    salt: str = Field(min_length=32)
    names: dict[str, str] = Field(default_factory=dict)
    servers: dict[str, str] = Field(default_factory=dict)
    """Salted hash of a server's address to the group of its numbers: FIRST, or the hash itself."""
    marks: dict[str, dict[int, tuple[str, str]]] = Field(default_factory=dict)
    """By group, the Mark of each annotation."""


@dataclass(frozen=True)
class Mark:
    """What stays the same of an annotation while it is edited. Empty strings are unknown."""

    number: int
    unique_id: str
    """A UUID that the tool has given it."""
    created: str

    def matches(self, unique_id: str, created: str) -> bool | None:
        """Whether it is the annotation of the same number with these marks; None if that cannot be told."""
        if self.unique_id and unique_id:
            return self.unique_id == unique_id
        return self.created == created if self.created and created else None


class People:
    """The pseudonyms of one study. :meth:`save` keeps new ones."""

    def __init__(self, results: Path, study: str, known: set[str], *, new: bool = False) -> None:
        """``known``: pseudonyms that have annotations. ``new``: everyone imported is new to the study.

        Raises UserError if there are annotators but no private file to recognise them, unless ``new``.
        """
        self._path = study_folder(results, study) / FILE
        if self._path.exists():
            file = read_record(PeopleFile, self._path)
        elif known - {MEAN} and not new:
            raise UserError(
                f"the study has {len(known)} annotators, and the file that recognises them is missing",
                where=str(self._path),
                hint="Copy it from the machine of the first import. Or, if none of these annotators has rated"
                " in this study before, pass --new-annotators.",
            )
        else:
            file = PeopleFile(salt=secrets.token_hex(16))
        self._salt, self._names = file.salt, dict(file.names)
        self._servers = dict(file.servers)
        self._marks = {group: dict(marks) for group, marks in file.marks.items()}
        self._group = FIRST
        self.unsure = False
        """Whether the annotations may be of another server than those that the study has."""
        taken = [*known, *self._names.values()]
        numbers = [int(match[1]) for name in taken if (match := _NUMBERED.fullmatch(name))]
        self._next = max(numbers, default=0) + 1

    def choose_server(self, server: str | None, marks: Iterable[Mark]) -> None:
        """Say where the annotations with these ``marks`` come from. Persons are looked up there from now on.

        ``server``: its address, or another name for it; None if unknown: then it is the one with the same
        annotations, else the only one so far. Raises UserError if several are possible, or if an annotation
        cannot be of that server.
        """
        marks = list(marks)
        self._group = self._named(server, marks) if server is not None else self._likely(marks)
        known = self._marks.setdefault(self._group, {})
        self.unsure = server is None and bool(known and marks) and not self._has_some(self._group, marks)
        for mark in marks:
            if mark.number in known and mark.matches(*known[mark.number]) is False:
                raise UserError(
                    f"annotation {mark.number} differs from the one before: this is another Label Studio",
                    where=str(self._path.parent),
                    hint="Every Label Studio counts from 1. Name this one with --server (any name that no"
                    " other has), and import files of several servers one by one.",
                )
            if mark.unique_id or mark.created:
                known[mark.number] = (mark.unique_id, mark.created)

    def _named(self, server: str, marks: list[Mark]) -> str:
        digits = self._digits(f"server\n{server_name(server)}")
        if digits not in self._servers:
            free = FIRST not in self._servers.values()
            first = free and (not self._marks.get(FIRST) or self._has_some(FIRST, marks))
            self._servers[digits] = FIRST if first else digits
        return self._servers[digits]

    def _likely(self, marks: list[Mark]) -> str:
        groups = sorted({*self._servers.values(), *self._marks})
        same = [group for group in groups if self._has_some(group, marks)]
        if len(same) == 1 or len(groups) < 2:
            return (same or groups or [FIRST])[0]
        raise UserError(
            "the study has ratings from several servers, and these files do not name theirs",
            where=str(self._path.parent),
            hint="Add --server with the address, or with the name that you gave it before.",
        )

    def _has_some(self, group: str, marks: list[Mark]) -> bool:
        known = self._marks.get(group, {})
        return any(mark.number in known and mark.matches(*known[mark.number]) for mark in marks)

    def check_sure(self, item: str, person: str) -> None:
        """Raise UserError if a rating would be replaced by what may be another server's."""
        if self.unsure and person.strip().isdecimal():  # an address is the same person on every server
            raise UserError(
                f"{self.pseudonym(person)} has rated item {item} before, in another annotation: this may be"
                " another Label Studio",
                where=str(self._path.parent),
                hint="Each numbers people from 1. If it is another one, name it with --server. If not, import"
                " a file from before together with these.",
            )

    def check_new(self, persons: Iterable[str]) -> None:
        """Raise UserError if one of ``persons`` is known: their earlier annotations would be replaced."""
        known = sorted(self._names[digits] for digits in map(self._hash, persons) if digits in self._names)
        if known:
            raise UserError(
                f"{', '.join(known)} rated in this study before, by their number or address in these files",
                where=str(self._path),
                hint="If they are the same people, leave out --new-annotators. Another Label Studio also"
                " numbers people from 1: name it with --server.",
            )

    def pseudonym(self, person: str) -> str:
        """The pseudonym of a person, given by a stable number or address. :data:`MEAN` is its own."""
        if person == MEAN:
            return MEAN
        digits = self._hash(person)
        if digits not in self._names:
            self._names[digits] = f"annotator-{self._next}"
            self._next += 1
        return self._names[digits]

    def save(self) -> None:
        """Write the private file, readable by its owner only."""
        marks = {group: marks for group, marks in self._marks.items() if marks}
        file = PeopleFile(salt=self._salt, names=self._names, servers=self._servers, marks=marks)
        write_atomically(self._path, record_bytes(file))
        self._path.chmod(0o600)

    def _hash(self, person: str) -> str:
        person = person.strip().casefold()
        return self._digits(f"{self._group}\n{person}" if self._group and person.isdecimal() else person)

    def _digits(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        return hmac.new(self._salt.encode(), data, hashlib.sha256).hexdigest()


def server_name(address: str) -> str:
    """An address without what can differ between two ways to write it. Other names stay as they are."""
    try:
        parts = urlsplit(address.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return address.strip()
    if parts.scheme not in ("http", "https") or not host:
        return address.strip()
    host = "localhost" if host in ("127.0.0.1", "::1") else host
    return f"{host}:{port or {'http': 80, 'https': 443}[parts.scheme]}{parts.path.rstrip('/')}"
