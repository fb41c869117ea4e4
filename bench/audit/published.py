"""Check other benchmarks' published scores and the alias table: results/external/."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from bench.audit.findings import Findings
from bench.audit.places import files_in
from bench.catalog import Catalog
from bench.errors import UserError
from bench.scores.external import ALIASES, Published, load_aliases, read_published

_FILES = re.compile(rf"README\.md|{re.escape(ALIASES)}|.*\.csv", re.DOTALL)


def audit_published(
    folder: Path, players: Collection[str], catalog: Catalog | None, findings: Findings
) -> int:
    """Audit the folder of published lists. Returns the number of files checked.

    ``players``: model and player ids of the results tree. An alias should name one of them or a model of
    ``catalog``.
    """
    if not folder.is_dir():
        return 0
    files = {path.name: path for path in files_in(folder, _FILES, findings)}
    lists = {path.stem: _list(path, findings) for path in files.values() if path.suffix == ".csv"}
    if ALIASES in files:
        models = catalog.models if catalog else {}
        ours = {*players, *models, *(entry.model for entry in models.values())}
        _check_aliases(files[ALIASES], lists, ours, findings)
    return len(lists) + (ALIASES in files)


def _list(path: Path, findings: Findings) -> Published | None:
    try:
        return read_published(path)
    except UserError as error:
        findings.add("published-list", path, error.what)
    return None


def _check_aliases(
    path: Path, lists: Mapping[str, Published | None], ours: Collection[str], findings: Findings
) -> None:
    try:
        aliases = load_aliases(path.parent)
    except UserError as error:
        findings.add("alias", path, error.what)
        return
    for alias in aliases:
        for name, model in alias.names.items():
            published = lists.get(name)
            if name not in lists:
                findings.add("alias", path, f"there is no {name}.csv", f"{alias.model}.{name}")
            elif published is not None and model not in published.scores:
                findings.add("alias", path, f"{name}.csv has no {model!r}", f"{alias.model}.{name}")
    unused = [alias.model for alias in aliases if not any(name in ours for name in alias.ids)]
    if unused:
        text = f"{len(unused)} of {len(aliases)} name neither a player nor a model of models.toml"
        findings.add("alias-unused", path, f"{text}: {', '.join(unused)}")
