"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from bench.catalog import Catalog, load_catalog
from bench.results import ResultsTree
from bench.suites import Suite, load_suite

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Places:
    """Where everything is: results, catalog, prompts, cache."""

    results: Path
    models: Path
    prompts: Path
    cache: Path

    def tree(self) -> ResultsTree:
        return ResultsTree(self.results)

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
        chosen = {name: Path(kwargs.pop(name)) for name, _, _ in _PLACES}
        return command(*args, where=Places(**chosen), **kwargs)

    result = cast(F, wrapper)
    for name, metavar, text in reversed(_PLACES):
        result = click.option(
            f"--{name}", metavar=metavar, default=_DEFAULTS[name], show_default=True, help=f"{text}."
        )(result)
    return result


def chosen_languages(suite: Suite, languages: tuple[str, ...]) -> list[str]:
    """The languages asked for, each checked, or all of the suite's."""
    return [suite.language(language).language for language in languages] or list(suite.scenes)
