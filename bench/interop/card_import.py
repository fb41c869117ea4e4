"""Import community character cards into a folder of prompts, and export cards from there."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_in
from pathlib import Path
from typing import Any

import tomli

from bench.errors import UserError
from bench.files import check_inside, hide_from_git, holds, read_bytes, storage_error, write_atomically
from bench.foreign import Unreadable
from bench.interop.card_files import MOST_CARD, MOST_KEPT, card_bytes, carrier_of, form_of, read_card
from bench.interop.card_format import Choices, card_fields, exported, read_data, upgraded
from bench.slugs import slug
from bench.suites import Card, read_entry
from bench.suites.layers import (
    CARRIERS,
    IMPORTED,
    checked_language,
    entries_in,
    existing_layers,
    private_layer,
)
from bench.suites.macros import settled
from bench.toml_entries import MOST_TEXT, check_known, entry_from, toml_value


@dataclass(frozen=True)
class ImportedCard:
    """A card that was imported."""

    id: str
    path: Path
    private: bool
    notes: tuple[str, ...]
    """What could not be taken over."""


def import_card(
    file: Path,
    layers: Sequence[Path],
    language: str,
    choices: Choices,
    *,
    name: str = "",
    replace: bool = False,
) -> ImportedCard:
    """Write the card in ``file`` as ``characters/<language>/<id>.toml``, and beside it as it came.

    Args:
        file: A card of version 1, 2 or 3 as JSON, PNG or CHARX.
        layers: The folders of prompts. A card without a licence goes into the private one.
        language: The language of the card.
        choices: What to take of it.
        name: Its id; default: made from the character's name.
        replace: Replace a card that has this id.

    Raises:
        UserError: The file holds no usable card, the id is taken, or there is no folder of prompts.
        StorageError: A file cannot be written.
    """
    layers = existing_layers(layers)
    choices = replace_in(choices, licence=choices.licence.strip())
    try:
        card = upgraded(read_card(file))
        fields, notes = card_fields(read_data(card), choices, language)
    except Unreadable as error:
        fault = f"{error.place}: {error}" if error.place else str(error)
        raise UserError(_printable(fault), where=_printable(str(file))) from None
    if name and slug(name) != name:
        raise UserError(f"{name!r} cannot name a card", hint="Use lower-case letters, digits and '-'.")
    identity = name or card_id(fields["char_name"])
    layer = layers[0] if choices.licence else private_layer(layers)
    folder = layer / "characters" / checked_language(language)
    path = folder / f"{identity}.toml"
    taken = entries_in([*layers, *({layer} - set(layers))], "characters", language).get(identity)
    text = card_toml(fields, f"Imported from {_printable(file.name)}.")
    again = taken == path and holds(path, text.encode())  # the same card, with the same options
    if taken is not None and not again and not (replace and taken == path):
        hint = "Name another id with --name" + (", or use --replace." if taken == path else ".")
        raise UserError(f"card {identity!r} already exists: {taken}", where=str(file), hint=hint)
    if len(text.encode()) > MOST_TEXT:
        raise UserError(f"its texts are larger than {MOST_TEXT // 1024**2} MB", where=_printable(str(file)))
    settled(entry_from(Card, tomli.loads(text), str(file)), str(file), "")
    if not choices.licence:
        hide_from_git(layer)
    _write(layer, folder / f"{identity}{IMPORTED}", card_bytes(card, "json"))
    _write(layer, path, text.encode())
    if not _keep_pictures(file, layer, path):
        notes.append(f"its pictures are not kept: the file is larger than {MOST_KEPT // 1_000_000} MB")
    return ImportedCard(identity, path, not choices.licence, tuple(map(_printable, notes)))


def _keep_pictures(file: Path, layer: Path, path: Path) -> bool:
    """Keep the file that a card came in, if it may hold pictures. False if it is too large."""
    form, data = carrier_of(file)
    for other, suffix in CARRIERS.items():
        if other == form and data is not None:
            _write(layer, path.with_suffix(suffix), data)
        else:
            path.with_suffix(suffix).unlink(missing_ok=True)
    return data is not None or not form


def _write(layer: Path, path: Path, data: bytes) -> None:
    """Write a file, whose folder must not be a link that leads out of ``layer``."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        check_inside(path.parent, layer)
    except OSError as error:
        raise storage_error(error, path) from None
    write_atomically(path, data)


def card_id(name: str) -> str:
    """An id made from a character's name: letters without accents, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode().lower()
    plain = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-")
    return slug(plain or name)


def card_toml(fields: dict[str, Any], comment: str) -> str:
    """A card as the text of its file; empty fields are left out."""
    lines = [f"{key} = {toml_value(value)}\n" for key, value in fields.items() if value not in ("", [], ())]
    return f"# {comment}\n" + "".join(lines)


def export_card(layers: Sequence[Path], language: str, name: str, output: Path) -> Path:
    """Write the card ``name`` as a version 3 card in JSON, PNG or CHARX, as the suffix of ``output`` says.

    An imported card is written with every field that it came with, and with its pictures if the file is of
    the kind that it came in. Raises UserError.
    """
    form = form_of(output)
    files = entries_in(layers, "characters", language)
    where = " and ".join(str(layer / "characters" / language) for layer in layers)
    check_known([name], files, "character", where)
    path = files[name]
    card = read_entry(Card, path, path.parents[2])
    kept = path.with_suffix(IMPORTED)
    try:
        whole = exported(card, _original(path))
        kept = path.with_suffix(CARRIERS.get(form, IMPORTED))
        data = card_bytes(whole, form, _carrier(path, form))
    except Unreadable as error:
        fault = f"{error.place}: {error}" if error.place else str(error)
        raise UserError(fault, where=str(kept), hint="Import the card again.") from None
    write_atomically(output, data)
    return output


def kept_form(path: Path) -> str:
    """The kind of file whose pictures are kept beside the card ``path``; empty if there are no pictures."""
    return next((form for form, suffix in CARRIERS.items() if path.with_suffix(suffix).exists()), "")


def _carrier(path: Path, form: str) -> bytes | None:
    if form == "json" or form != kept_form(path):
        return None
    try:
        return read_bytes(path.with_suffix(CARRIERS[form]), path.parents[2], MOST_KEPT)
    except OSError:
        raise Unreadable("its pictures cannot be read") from None


def _original(path: Path) -> dict[str, Any] | None:
    """The card that ``path`` was imported from; None if it was not imported. Raises Unreadable."""
    kept = path.with_suffix(IMPORTED)
    if not kept.exists():
        return None
    try:
        return upgraded(json.loads(read_bytes(kept, path.parents[2], MOST_CARD * 2)))
    except (OSError, ValueError, AttributeError, RecursionError):
        raise Unreadable("not a card") from None


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[:400]
