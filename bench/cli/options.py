"""Options that several commands share, and the names that users give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from bench.catalog import Catalog, load_catalog
from bench.errors import CatalogError, UserError
from bench.results import ResultsTree
from bench.suites import Suite, load_suite, suite_files
from bench.toml_entries import named

F = TypeVar("F", bound=Callable[..., Any])


class Number(click.FloatRange):
    """A number of a range; "nan", which compares with nothing, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


@dataclass(frozen=True)
class Places:
    """Where everything is: results, catalog, prompts, cache."""

    results: Path
    models: Path
    prompts: Path
    cache: Path

    def tree(self) -> ResultsTree:
        return ResultsTree(self.results)

    def evidence(self, suite: str | None = None, languages: Iterable[str] = ()) -> ResultsTree:
        """The results tree for a command that only reads it, what is asked of it checked.

        Raises UserError where there is no such folder, and where neither it nor the prompts know ``suite`` or
        one of its ``languages``, with the nearest name or those that there are.
        """
        if not self.results.is_dir():
            raise UserError(
                "is no folder" if self.results.exists() else "no such folder",
                where=str(self.results),
                hint=f"Name another by --results, or make it: `bench run {suite or 'SUITE'}`.",
            )
        tree = self.tree()
        if suite is None:
            return tree
        suites = suite_files(self.prompts) if self.prompts.is_dir() else {}
        known = suites.keys() | set(tree.suites())
        if suite not in known:
            raise named(suite, known, "suite", f"{self.results} and {self.prompts}")
        for language in languages:
            there = {language for name, language in tree.boards() if name == suite}
            there |= set(self.suite(suite).scenes) if suite in suites else set()
            if language not in there:
                raise named(language, there, "language", f"suite {suite}")
        return tree

    def catalog(self) -> Catalog:
        return load_catalog(self.models)

    def suite(self, name: str) -> Suite:
        return load_suite(self.prompts, name)


_PLACES = (
    ("results", "DIR", "The results tree"),
    ("models", "FILE", "The catalog of providers and models"),
    ("prompts", "DIR", "Templates, suites, characters, situations"),
    ("cache", "DIR", "The response cache"),
)
_DEFAULTS = {"results": "results", "models": "models.toml", "prompts": "prompts", "cache": ".cache/responses"}


def places(command: F) -> F:
    """Add --results, --models, --prompts and --cache; the command gets them as one ``where``."""

    @wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = {name: _chosen(name, kwargs.pop(name)) for name, _, _ in _PLACES}
        return command(*args, where=Places(**chosen), **kwargs)

    result = cast(F, wrapper)
    for name, metavar, text in reversed(_PLACES):
        result = click.option(
            f"--{name}", metavar=metavar, default=_DEFAULTS[name], show_default=True, help=f"{text}."
        )(result)
    return result


def _chosen(name: str, value: str) -> Path:
    """The path given by ``--name``. Where a user has given it, also a command that could do without it checks
    that it is there; results and cache are made where they are missing."""
    if not value.strip():
        raise click.UsageError(f"--{name} names nothing; the default is {_DEFAULTS[name]}.")
    path = Path(value)
    given = click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT
    if given and name == "models" and not path.is_file():
        fault = "is no file" if path.exists() else "no such file"
        raise CatalogError(fault, where=value, hint="Name a catalog such as models.toml by --models.")
    if given and name == "prompts" and not path.is_dir():
        fault = "is no folder" if path.exists() else "no such folder"
        raise CatalogError(fault, where=value, hint="Name the folder of the texts by --prompts.")
    return path


def chosen_languages(suite: Suite, languages: tuple[str, ...]) -> list[str]:
    """The languages asked for, each checked, or all of the suite's."""
    return [suite.language(language).language for language in languages] or list(suite.scenes)
