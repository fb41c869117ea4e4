"""A catalogue entry for a GGUF file, from the metadata in the file."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from bench.catalog import Catalog
from bench.errors import CatalogError
from bench.local.gguf import ModelFileError, read_header
from bench.suites.new_models import NewModel, usable_id

_SIZE = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\s*([MB])(?![a-z])", re.IGNORECASE)
_BILLIONS = {"M": 0.001, "B": 1.0}


def entry_of_file(path: Path, catalog: Catalog) -> NewModel:
    """The entry for the GGUF file at ``path``: name, family, size, licence and SHA-256.

    What the file does not say is left out, which reads as unknown. Raises ModelFileError if it is damaged or
    holds no language model, CatalogError if no provider of the catalogue serves files.
    """
    header = read_header(path)
    provider = next((name for name, entry in catalog.providers.items() if entry.embedded), None)
    if provider is None:
        hint = 'Add [providers.embedded] with base_url = "embedded".'
        raise CatalogError("no provider serves files", where=str(catalog.path), hint=hint)

    def said(key: str) -> str:
        value = header.metadata.get(f"general.{key}")
        return (
            " ".join("".join(c for c in value if c.isprintable()).split()) if isinstance(value, str) else ""
        )

    if not said("architecture") or said("type") not in ("", "model"):  # such as an adapter
        fault = f"a GGUF file of type {said('type') or 'unknown'}, and no language model"
        raise ModelFileError(fault, where=str(path), hint="Name the file of the model itself.")
    folder = catalog.path.resolve().parent
    inside = path.resolve().is_relative_to(folder)
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    values: dict[str, object] = {
        "provider": provider,
        "file": path.resolve().relative_to(folder).as_posix() if inside else str(path.resolve()),
        "sha256": sha256,
        "model": path.stem.lower(),
        "name": said("name") or path.stem,
        "family": said("basename") or said("architecture"),
        "weights": "open",
        "licence": said("license") or None,
        "parameters_billion": _billions(said("size_label") or said("name") or path.stem),
        "prices": {"input": "0", "output": "0"},
    }
    return NewModel(usable_id(path.stem), values)


def _billions(label: str) -> float | None:
    """The number of parameters in a label such as ``1.7B`` or ``135M``."""
    match = _SIZE.search(label)
    value = float(match[1]) * _BILLIONS[match[2].upper()] if match else 0.0
    return round(value, 4) or None
