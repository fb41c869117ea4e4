"""Options that several commands share, and checks of what users name with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click
from click.core import ParameterSource

from bench.catalog import Catalog, load_catalog
from bench.cli.common import F, gathered, one_of
from bench.errors import CatalogError, UserError
from bench.results import ResultsTree
from bench.suites import Suite, load_suite, suite_files
from bench.suites.layers import layers_of, visible
from bench.toml_entries import check_known


class Number(click.FloatRange):
    """A number within a range. Rejects "nan", which a comparison with the limits lets through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


@dataclass(frozen=True)
class Places:
    """The paths of results, catalog, prompts and response cache."""

    results: Path
    models: Path
    layers: tuple[Path, ...]
    """The folders of prompts, the lowest first."""
    cache: Path

    @property
    def prompts(self) -> Path:
        """The lowest folder of prompts."""
        return self.layers[0]

    def tree(self) -> ResultsTree:
        return ResultsTree(self.results)

    def evidence(
        self, suite: str | None = None, languages: Sequence[str] = (), *, public: bool = False
    ) -> ResultsTree:
        """The results tree, for a command that only reads it; ``public``: without private suites.

        Raises UserError if the folder does not exist, or if ``suite`` or one of ``languages`` is neither in
        the tree nor in the prompts.
        """
        tree = self._evidence(suite, languages)
        if not public:
            return tree
        if suite is None:
            return self.public()
        tree = self.public(suite)
        tree.check_public(suite)
        return tree

    def public(self, *suites: str) -> ResultsTree:
        """The results without private suites, for a command that publishes or exports them, or ``suites`` of
        them."""
        from bench.boards.loading import all_suites
        from bench.boards.privacy import public_tree

        return public_tree(self.results, all_suites(self.layers), suites or None)

    def _evidence(self, suite: str | None, languages: Sequence[str]) -> ResultsTree:
        if not self.results.is_dir():
            hint = f"Name another with --results, or create it: `bench run {suite or 'SUITE'}`."
            raise UserError(_missing(self.results, "folder"), where=str(self.results), hint=hint)
        tree = self.tree()
        if suite is None:
            return tree
        suites = suite_files(self.layers) if self.prompts.is_dir() else {}
        known = suites.keys() | set(tree.suites())
        check_known([suite], known, "suite", f"{self.results} and {self.prompts}")
        if languages:
            played = set(self.suite(suite).scenes) if suite in suites else set()
            played |= {language for _, language in tree.boards(suite)}
            check_known(languages, played, "language", f"suite {suite}")
        return tree

    def catalog(self) -> Catalog:
        return load_catalog(self.models)

    def suite(self, name: str) -> Suite:
        return load_suite(self.layers, name, check=False)


_PLACES = {
    "results": ("DIR", "results", "Folder of results."),
    "models": ("FILE", "models.toml", "Catalog of providers and models."),
    "prompts": (
        "DIR",
        "prompts",
        "Folder of suites, cards, situations and templates. Repeatable: a suite may play what is in any of"
        " them. A single one is read together with `private` beside it.",
    ),
    "cache": ("DIR", ".cache/responses", "Folder of the response cache."),
}
"""Name of each option to (metavar, default, help)."""


def _places(prompts: Sequence[str], results: str, models: str, cache: str) -> Places:
    folders = [_checked_path("prompts", value) for value in prompts]
    return Places(
        layers=layers_of(folders if len(folders) > 1 else folders[0]),
        results=_checked_path("results", results),
        models=_checked_path("models", models),
        cache=_checked_path("cache", cache),
    )


places = gathered(
    "where",
    _places,
    *(
        click.option(
            f"--{name}",
            metavar=metavar,
            default=[default] if name == "prompts" else default,
            multiple=name == "prompts",
            show_default=True,
            envvar=f"DRAMATURG_{name.upper()}",
            show_envvar=True,
            type=click.Path(),
            help=text,
        )
        for name, (metavar, default, text) in _PLACES.items()
    ),
)
"""Adds --results, --models, --prompts and --cache; the command gets them as one ``where``."""

private_option = click.option(
    "--private",
    is_flag=True,
    help="Include suites with private cards. Do not publish the result.",
)


def complete_suites(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Suites whose names begin with ``incomplete``, for the shell."""
    with suppress(UserError):
        return [name for name in suite_files(_layers_typed(ctx)) if name.startswith(incomplete)]
    return []


def complete_cards(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Characters, or situations for an option of that name, whose ids begin with ``incomplete``."""
    kind = "situations" if param.name == "situations" else "characters"
    folders = [layer / kind / (ctx.params.get("language") or "*") for layer in _layers_typed(ctx)]
    names = {path.stem for folder in folders for path in visible(folder.parent, f"{folder.name}/*.toml")}
    return sorted(name for name in names if name.startswith(incomplete))


def _layers_typed(ctx: click.Context) -> tuple[Path, ...]:
    """The folders of prompts on a command line that is still being typed."""
    prompts = ctx.params.get("prompts") or ("prompts",)
    return layers_of([Path(name) for name in prompts] if len(prompts) > 1 else prompts[0])


def complete_models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Models whose names begin with ``incomplete``, for the shell."""
    with suppress(UserError):
        catalog = load_catalog(Path(ctx.params.get("models") or "models.toml"))
        return [name for name in catalog.models if name.startswith(incomplete)]
    return []


def suite_option(flag: str, text: str, *name: str, multiple: bool = False) -> Callable[[F], F]:
    """An option that takes the name of a suite. The command gets it as ``name``."""
    return click.option(
        flag, *name, multiple=multiple, metavar="SUITE", shell_complete=complete_suites, help=text
    )


ONLY_LANGUAGE = "Only this language (repeatable)."
ONLY_JUDGE = "Only this judge (repeatable)."


def naming(long: str, short: str, text: str) -> Callable[[F], F]:
    """An option that takes several names: of ``--player``, the command gets ``players``."""
    completions = {"language": None, "situation": complete_cards}
    return click.option(
        f"--{long}",
        f"-{short}",
        f"{long}s",
        multiple=True,
        metavar=short.upper(),
        help=text,
        shell_complete=completions.get(long, complete_models),
    )


def check_one_language(form: str, chosen: Sequence[str], known: Sequence[str]) -> None:
    """Raise UserError if several languages are ``chosen`` for a form that holds only one."""
    if form not in ("table", "text") and len(chosen) > 1:
        hint = f"Choose it with --language: {', '.join(known)}."
        raise UserError(f"{form} holds only one language", hint=hint)


def _checked_path(name: str, value: str) -> Path:
    """The path given with ``--name``.

    Models and prompts that a user names must exist, even for a command that does not need them. Results and
    cache are created when needed.
    """
    if not value.strip():
        raise click.UsageError(f"--{name} is empty; the default is {_PLACES[name][1]}.")
    path = Path(value)
    given = click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT
    if given and name == "models" and not path.is_file():
        hint = "Name a catalog such as models.toml with --models."
        raise CatalogError(_missing(path, "file"), where=value, hint=hint)
    if given and name == "prompts" and not path.is_dir():
        hint = "Name the folder of suites and templates with --prompts."
        raise CatalogError(_missing(path, "folder"), where=value, hint=hint)
    return path


def _missing(path: Path, kind: str) -> str:
    return f"not a {kind}" if path.exists() else f"no such {kind}"


class Own(NamedTuple):
    """A reader's own choices for re-scoring a board."""

    rescore: bool = False
    refusals: Literal["robust", "lowest", "left_out", "shared"] = "robust"
    characters: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    no_length_rule: bool = False


rescoring = gathered(
    "own",
    Own,
    click.option(
        "--rescore",
        is_flag=True,
        help="Score by the robust method with your own choices, and show the published board beside it. The"
        " website's page *Your scoring* prints this command.",
    ),
    one_of(
        "--refusals",
        ("robust", "lowest", "left_out", "shared"),
        "With --rescore. `robust`: a refusal is the lowest score, a missing judgement is estimated."
        " `lowest`: the same, but missing judgements are left out. `left_out`: refusals are left out too."
        " `shared`: the same, on scenes that all players have.",
    ),
    click.option(
        "--character", "characters", multiple=True, metavar="ID", help="With --rescore: only this character."
    ),
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        metavar="KIND",
        help="With --rescore: only common or attack situations.",
    ),
    click.option("--no-length-rule", is_flag=True, help="With --rescore: do not correct for long answers."),
)
"""Adds the options of re-scoring; the command gets them as one ``own``."""
