"""Pseudonyms: who rated is kept apart from what was rated.

The folder of a study gets its own file, ignored by git, with a random salt and the pseudonym of each person's
salted hash. Names and addresses are not written anywhere. Without that file nobody can tell who an annotator
is; with it, only by guessing names.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from bench.errors import UserError
from bench.files import write_atomically
from bench.records import Record, canonical
from bench.results import read_record
from bench.results.studies import study_folder

FILE = ".annotators.json"
MEAN = "mean"
"""Used as the annotator if only the mean of several was published."""

_NUMBERED = re.compile(r"annotator-(\d+)")


class PeopleFile(Record):
    """The private file: the salt, and the pseudonym of each salted hash."""

    salt: str = Field(min_length=32)
    names: dict[str, str] = Field(default_factory=dict)


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
                hint="Copy it from the machine of the first import. Or, if nobody in these files has rated in"
                " this study before, pass --new-annotators.",
            )
        else:
            file = PeopleFile(salt=secrets.token_hex(16))
        self._salt, self._names = file.salt, dict(file.names)
        taken = [*known, *self._names.values()]
        numbers = [int(match[1]) for name in taken if (match := _NUMBERED.fullmatch(name))]
        self._next = max(numbers, default=0) + 1

    def check_new(self, persons: Iterable[str]) -> None:
        """Raise UserError if one of ``persons`` is known: their earlier annotations would be replaced."""
        known = sorted(self._names[digits] for digits in map(self._hash, persons) if digits in self._names)
        if known:
            raise UserError(
                f"{', '.join(known)} rated in this study before, by their number or address in these files",
                where=str(self._path),
                hint="If they are the same people, leave out --new-annotators. Another Label Studio also"
                " numbers people from 1: import its ratings into a separate study of the same sample.",
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
        file = PeopleFile(salt=self._salt, names=self._names)
        write_atomically(self._path, canonical(file.plain()).encode())
        self._path.chmod(0o600)

    def _hash(self, person: str) -> str:
        text = person.strip().casefold().encode("utf-8", "surrogatepass")
        return hmac.new(self._salt.encode(), text, hashlib.sha256).hexdigest()
