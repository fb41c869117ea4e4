"""Other benchmarks' published scores and the alias table: results/external/."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from bench.audit.findings import Findings
from bench.audit.places import entries, stray
from bench.catalog import Catalog
from bench.errors import UserError
from bench.scores.external import ALIASES, Alias, Published, load_aliases, read_published


def audit_published(
    folder: Path, players: Collection[str], catalog: Catalog | None, findings: Findings
) -> int:
    """Audit the folder of published lists; returns how many files were looked at.

    ``players``: model and player ids of the results tree. They, and those of ``catalog``, are what an alias
    may call ours.
    """
    if not folder.is_dir():
        return 0
    lists: dict[str, Published | None] = {}
    aliases = False
    for entry in entries(folder, findings):
        path = Path(entry.path)
        if entry.is_file() and path.suffix == ".csv":
            lists[path.stem] = _list(path, findings)
        elif entry.is_file() and path.name == ALIASES:
            aliases = True
        elif not (entry.is_file() and path.name == "README.md"):
            stray(entry, findings)
    if aliases:
        _aliases(folder / ALIASES, lists, {*players, *_models(catalog)}, findings)
    return len(lists) + aliases


def _models(catalog: Catalog | None) -> set[str]:
    """Ids by which models.toml knows a model."""
    if catalog is None:
        return set()
    return {*catalog.models, *(entry.model for entry in catalog.models.values())}


def _list(path: Path, findings: Findings) -> Published | None:
    try:
        return read_published(path)
    except UserError as error:
        findings.add("published-list", path, error.what)
    except OSError as error:
        findings.add("published-list", path, f"cannot be read: {error.strerror}")
    return None


def _aliases(
    path: Path, lists: dict[str, Published | None], ours: Collection[str], findings: Findings
) -> None:
    try:
        aliases = load_aliases(path.parent)
    except UserError as error:
        findings.add("alias", path, error.what)
        return
    for alias in aliases:
        for name, model in alias.names.items():
            text = _fault(name, model, lists)
            if text:
                findings.add("alias", path, text, f"{alias.model}.{name}")
    unused = [alias.model for alias in aliases if not _known(alias, ours)]
    if unused:
        names = ", ".join(unused)
        text = f"{len(unused)} of {len(aliases)} name no player and no model of models.toml: {names}"
        findings.add("alias-unused", path, text)


def _fault(name: str, model: str, lists: dict[str, Published | None]) -> str:
    """What is wrong with an alias's name in a list; empty where nothing is, or the list cannot be read."""
    if name not in lists:
        return f"there is no {name}.csv"
    found = lists[name]
    return f"{name}.csv holds no {model!r}" if found is not None and model not in found.scores else ""


def _known(alias: Alias, ours: Collection[str]) -> bool:
    return any(name in ours for name in alias.ids)
