"""Pseudonyms: who rated is kept apart from what was rated.

The folder of a study gets a file of its own, which git ignores, with a random salt and, for each person, a
salted hash to the pseudonym. Neither names nor addresses are written anywhere; without that file nobody can
tell who an annotator is, and with it only by guessing who it may be.
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
"""Stands for an annotator where only the mean of several was published."""

_NUMBERED = re.compile(r"annotator-(\d+)")


class PeopleFile(Record):
    """The private file: the salt, and the pseudonym of each salted hash."""

    salt: str = Field(min_length=32)
    names: dict[str, str] = Field(default_factory=dict)


class People:
    """The pseudonyms of one study; :meth:`save` keeps new ones."""

    def __init__(self, results: Path, study: str, known: set[str], *, new: bool = False) -> None:
        """``known``: the pseudonyms that have annotations. ``new``: all who come are new to the study.

        Raises UserError where there are annotators but no private file to recognise them by, unless ``new``.
        """
        self._path = study_folder(results, study) / FILE
        if self._path.exists():
            file = read_record(PeopleFile, self._path)
        elif known - {MEAN} and not new:
            raise UserError(
                f"{len(known)} annotators are in the study, and the file that recognises them is missing",
                where=str(self._path),
                hint="Bring it from the machine of the first import; or say --new-annotators where nobody in"
                " these files has rated in this study before.",
            )
        else:
            file = PeopleFile(salt=secrets.token_hex(16))
        self._salt, self._names = file.salt, dict(file.names)
        taken = [*known, *self._names.values()]
        numbers = [int(match[1]) for name in taken if (match := _NUMBERED.fullmatch(name))]
        self._next = max(numbers, default=0) + 1

    def check_new(self, persons: Iterable[str]) -> None:
        """Raise UserError where one of ``persons`` is known: what they said before would be replaced."""
        known = sorted(self._names[digits] for digits in map(self._hash, persons) if digits in self._names)
        if known:
            raise UserError(
                f"{', '.join(known)} rated in this study before, by their number or address in these files",
                where=str(self._path),
                hint="Leave out --new-annotators if it is they. Another Label Studio counts people from 1 as"
                " well: take what was said there into a study of its own, of the same sample.",
            )

    def _hash(self, person: str) -> str:
        text = person.strip().casefold().encode("utf-8", "surrogatepass")
        return hmac.new(self._salt.encode(), text, hashlib.sha256).hexdigest()

    def pseudonym(self, person: str) -> str:
        """The pseudonym of a person, who is given by anything that stays the same: a number, an address.
        :data:`MEAN` stands for itself."""
        if person == MEAN:
            return MEAN
        digits = self._hash(person)
        if digits not in self._names:
            self._names[digits] = f"annotator-{self._next}"
            self._next += 1
        return self._names[digits]

    def save(self) -> None:
        """Write the private file, for its owner only."""
        write_atomically(
            self._path, canonical(PeopleFile(salt=self._salt, names=self._names).plain()).encode()
        )
        self._path.chmod(0o600)
