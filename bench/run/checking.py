"""Checks everything under the folders of prompts, and models.toml: all faults at once, with file and line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.catalog import Catalog, Model, Provider, load_catalog
from bench.errors import CatalogError, each
from bench.items import first_version, read_probes
from bench.prompts import PromptSet
from bench.protocol_facts import facts_of
from bench.protocols import protocol_for
from bench.protocols.card_probes import probe_in
from bench.run.processes import beside
from bench.run.rehearsal import rehearse, templates_key
from bench.suites import Card, Situation, Suite, SuiteEntry, read_suite, suite_files
from bench.suites.drafts import UNFINISHED
from bench.suites.layers import (
    check_suite_name,
    checked_language,
    entries_in,
    existing_layers,
    protocol_folders,
    suite_paths,
    visible,
)
from bench.toml_entries import Entry, checked_id, entry_faults, located, read_tables, read_toml, unknown_name

_ENTRIES: dict[str, tuple[str, type[Entry]]] = {
    "characters": ("character", Card),
    "situations": ("situation", Situation),
}
PROBES = "card_probes"
_PLACE = re.compile(r"(?P<path>.*?)(?::(?P<line>\d+))?(?: \[.*\])?")


@dataclass
class CheckReport:
    """What was read, and all faults in the order of files and lines."""

    files: int = 0
    faults: list[CatalogError] = field(default_factory=list)
    unchecked: str = ""
    """What could not be checked, and why; empty if everything was."""

    def add(self, *faults: CatalogError) -> None:
        """Add faults; one that is known already, or has no line where the same file has one, is left out."""
        known = {fault.line() for fault in self.faults}
        self.faults += {fault.line(): fault for fault in faults if fault.line() not in known}.values()

    def add_of_other_files(self, faults: Sequence[CatalogError]) -> None:
        """Add those of ``faults`` whose file has none so far."""
        known = self.faulty()
        self.add(*(fault for fault in faults if _place(fault.where)[0] not in known))

    def sort(self) -> None:
        """Sort the faults by file and line."""
        self.faults.sort(key=lambda fault: _place(fault.where))

    def faulty(self) -> set[str]:
        """The files that have a fault."""
        return {_place(fault.where)[0] for fault in self.faults}


def _place(where: str) -> tuple[str, int]:
    match = _PLACE.fullmatch(where)
    return (match["path"], int(match["line"] or 0)) if match else (where, 0)


def check_all(layers: Sequence[Path], models: Path) -> CheckReport:
    """Check suites, characters, situations, data sets, templates and the catalogue, and read nothing else."""
    report = CheckReport()
    layers = existing_layers(layers)
    catalog = _check_catalog(models, report)
    named = _models_named(models)
    if catalog is None:
        which = "whether the judges of a suite are one model"
        which = which if named else f"which models suites name, and {which}"
        report.unchecked = f"{which} (correct {models} first)"
    protocols = protocol_folders(layers)
    for layer in layers:
        for path in visible(layer, "**/*.toml"):
            report.files += 1
            try:
                tables, text = read_tables(path, root=layer)
            except CatalogError as error:
                report.add(error)
                continue
            kind, depth = path.relative_to(layer).parts[0], len(path.relative_to(layer).parts)
            report.add(*_misplaced(path, kind, depth, tables, protocols))
            if kind in _ENTRIES and depth == 3:
                report.add(*entry_faults(_ENTRIES[kind][1], tables, str(path), text=text))
                report.add(*_unfinished(path, text))
            elif kind in protocols and depth == 2:
                report.add(*entry_faults(SuiteEntry, tables, str(path), text=text))
                report.add(*_names(path, tables, text, layers, named))
    try:
        each(check_suite_name, suite_paths(layers))
        suite_files(layers)  # each has a name of its own
    except CatalogError as error:
        report.add(error, *error.others)
    _check_protocols(layers, protocols, catalog, report)
    report.sort()
    return report


def _check_catalog(models: Path, report: CheckReport) -> Catalog | None:
    """The catalogue; None, and its faults, if it has some."""
    report.files += 1
    try:
        return load_catalog(models)
    except CatalogError as error:
        first = error
    try:
        tables, text = read_tables(models)
    except CatalogError as error:
        report.add(error)
        return None
    kinds: dict[str, type[Entry]] = {"providers": Provider, "models": Model}
    for key, kind in kinds.items():
        named = tables.get(key)
        for name, data in named.items() if isinstance(named, dict) else ():
            report.add(*entry_faults(kind, data, str(models), text=text, table=(key, name)))
            report.add(*_unusable_id(name, located(models, (key, name), text)))
            provider = data.get("provider") if key == "models" and isinstance(data, dict) else None
            providers = tables.get("providers")
            known = providers if isinstance(providers, dict) else {}
            if isinstance(provider, str) and provider not in known:
                where = located(models, (key, name, "provider"), text)
                report.add(unknown_name(provider, known, "provider", where))
    if not report.faults:
        report.add(first)
    return None


def _unusable_id(name: str, where: str) -> Iterator[CatalogError]:
    try:
        checked_id(name, where)
    except CatalogError as error:
        yield error


def _models_named(models: Path) -> Collection[str]:
    """The ids in the catalogue, also those of faulty entries; empty if it cannot be read."""
    try:
        named = read_toml(models).get("models")
    except CatalogError:
        return ()
    return named.keys() if isinstance(named, dict) else ()


def _misplaced(
    path: Path, kind: str, depth: int, tables: Mapping[str, object], protocols: Collection[str]
) -> Iterator[CatalogError]:
    """Faults of a file that nothing reads, because of the folder that it is in."""
    if kind in _ENTRIES and depth == 3:
        try:
            checked_language(path.parent.name, str(path))
        except CatalogError as error:
            yield error
    elif kind in _ENTRIES:
        hint = f"Move it to {kind}/LANGUAGE/, such as {kind}/en/{path.name}."
        yield CatalogError(
            f"a {_ENTRIES[kind][0]} must be in the folder of its language", where=str(path), hint=hint
        )
    elif kind not in protocols and depth == 2 and "languages" in tables:
        yield unknown_name(kind, protocols, "protocol", str(path))


def _unfinished(path: Path, text: str) -> Iterator[CatalogError]:
    for number, line in enumerate(text.split("\n"), 1):
        if UNFINISHED in line and not line.lstrip().startswith("#"):
            yield CatalogError("not written yet", where=f"{path}:{number}", hint=f"Replace {UNFINISHED}.")


def _names(
    path: Path, tables: Mapping[str, object], text: str, layers: Sequence[Path], models: Collection[str]
) -> Iterator[CatalogError]:
    """Faults of the models, cards and situations that a suite names."""
    for role in ("player", "interrogator", "judge"):
        for name in _list(tables.get(role), "models") if models else ():
            if name not in models:
                yield unknown_name(name, models, "model", located(path, (role, "models"), text))
    languages = tables.get("languages")
    for language, selection in languages.items() if isinstance(languages, dict) else ():
        try:
            checked_language(language, located(path, ("languages", language), text))
            files = {kind: entries_in(layers, kind, language) for kind in _ENTRIES}
        except CatalogError as error:
            yield error
            continue
        for kind, (what, _) in _ENTRIES.items():
            known = files[kind]
            for name in _list(selection, kind) if known else ():
                if name not in known:
                    yield unknown_name(name, known, what, located(path, ("languages", language, kind), text))


def _list(table: object, key: str) -> list[str]:
    values = table.get(key) if isinstance(table, dict) else None
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _check_protocols(
    layers: tuple[Path, ...], protocols: set[str], catalog: Catalog | None, report: CheckReport
) -> None:
    """Check the templates and suites of each protocol, half of them in a process beside this one.

    That process takes the spoken ones, since sound files and the libraries that read them take longest.
    """
    templates = [path.relative_to(layer) for layer in layers for path in visible(layer, "*/**/*.jinja")]
    report.files += len(templates)
    folders = {path.parts[0] for path in templates}
    names = sorted(folders | protocols, key=lambda name: (name in protocols and facts_of(name).spoken, name))
    known = len(report.faults)
    rehearsed: set[tuple[object, ...]] = set()

    def check(share: Sequence[str]) -> list[CatalogError]:
        for name in share:
            _check_templates(layers, name, protocols, report)
        for path in sorted(
            path for layer in layers for name in share for path in visible(layer / name, "*.toml")
        ):
            if str(path) not in report.faulty():
                _check_suite(path, layers, catalog, report, rehearsed)
        if PROBES in share:
            _check_new_probes(layers, report)
        return report.faults[known:]

    found_there = beside(lambda: check(names[-1::-2]))
    check(names[-2::-2])
    report.add_of_other_files(found_there())


def _check_new_probes(layers: Sequence[Path], report: CheckReport) -> None:
    """Check the probes of cards that no suite of probes plays yet."""
    played = {
        (language, first_version(name))
        for layer in layers
        for path in visible(layer / PROBES, "*.toml")
        for language, selection in _languages(path).items()
        for name in _list(selection, "characters")
    }
    for layer in layers:
        for path in visible(layer / PROBES, "*/*.toml"):
            card = (path.parent.name, first_version(path.stem))
            if card not in played and not path.stem.startswith("_") and str(path) not in report.faulty():
                try:
                    each(probe_in, read_probes(path.parent, path.stem, layer))
                except CatalogError as error:
                    report.add(error, *error.others)


def _languages(path: Path) -> Mapping[str, object]:
    """The languages of a suite's file; empty if it is malformed."""
    try:
        languages = read_toml(path).get("languages")
    except CatalogError:
        return {}
    return languages if isinstance(languages, dict) else {}


def _check_templates(layers: Sequence[Path], protocol: str, protocols: set[str], report: CheckReport) -> None:
    """Compile the templates of a protocol."""
    roles: tuple[str, ...] = facts_of(protocol).roles if protocol in protocols else ()
    for folder in sorted(
        {path.parent for layer in layers for path in visible(layer / protocol, "**/*.jinja")}
    ):
        found = {path.name.split(".")[0] for path in visible(folder, "*.jinja")}
        languages = {path.name.split(".")[1] for path in visible(folder, "*.*.jinja")} | {"en"}
        for role in [role for role in roles if role in found] or sorted(found):
            for language in sorted(languages):
                try:
                    PromptSet(folder, language, [role])
                except CatalogError as error:
                    report.add(error)


def _check_suite(
    path: Path,
    layers: tuple[Path, ...],
    catalog: Catalog | None,
    report: CheckReport,
    rehearsed: set[tuple[object, ...]],
) -> None:
    """Check what a suite and its protocol make of each language: items, options, judges, prompts.

    ``catalog``: None if it is faulty; then any model may be named. ``rehearsed``: keys of templates that have
    been rendered; those of this suite are added.
    """
    try:
        suite = read_suite(path, layers, check=False)
    except CatalogError as error:
        report.add(error)
        return
    catalog = catalog or _stand_in(suite)
    for language in suite.scenes:
        try:
            protocol = protocol_for(suite, language, catalog)
            protocol.check_apart(name for judge in suite.judges for name in protocol.judge_models(judge))
            if (key := templates_key(protocol)) not in rehearsed:
                rehearsed.add(key)
                report.add_of_other_files(rehearse(protocol))
        except CatalogError as error:
            report.add_of_other_files([_in_file(fault, path) for fault in (error, *error.others)])


def _stand_in(suite: Suite) -> Catalog:
    """A catalogue with a model of its own for each name in ``suite``."""
    provider = Provider(base_url="http://localhost")
    models = {name: Model(provider="any", model=name, name=name) for name in ("any", *suite.model_names)}
    return Catalog(suite.prompts, {"any": provider}, models)


def _in_file(fault: CatalogError, path: Path) -> CatalogError:
    """``fault`` with file and line, where it only names the suite in the file ``path``."""
    named, _, key = fault.where.partition(": ")
    if named != f"suite {path.stem}":
        return fault
    text = read_tables(path)[1]
    return CatalogError(fault.what, where=located(path, key.split("."), text), hint=fault.hint)
