"""Output files of commands: the format follows the file's suffix."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from bench.cli.common import F, one_of, together
from bench.errors import UserError
from bench.files import write_atomically

SUFFIXES = {
    ".csv": ("csv",),
    ".json": ("json",),
    ".jsonl": ("jsonl",),
    ".md": ("markdown",),
    ".parquet": ("parquet",),
    ".tex": ("latex",),
    ".txt": ("table", "text"),
}
"""Formats that a file of this suffix can have."""


def forms(*names: str) -> Callable[[F], F]:
    """Add --format, whose default is the first of ``names``, and --output; the command gets ``form`` (None
    where it is not given) and ``output``."""
    text = f"Default: {names[0]}, or what the suffix of --output says."
    return together(
        click.option("--format", "form", type=click.Choice(names), help=text),
        click.option(
            "--output",
            "-o",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Output file (default: stdout).",
        ),
    )


def listing(first: str) -> Callable[[F], F]:
    """Add --format to a command that lists something: ``first``, a form for people, or JSON."""
    return one_of("--format", [first, "json"], None, "form")


def print_json(value: object) -> None:
    """Print ``value``; what JSON does not know, such as an amount of money, as text."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def form_of(form: str | None, output: Path | None, allowed: Sequence[str]) -> str:
    """The format to write, one of ``allowed``: the one that was asked for, else the file's, else the first.

    Raises UserError if the file's suffix stands for no allowed format, or for another one.
    """
    if output is None:
        return form or allowed[0]
    suffix = output.suffix.lower()
    meant = [name for name in SUFFIXES.get(suffix, ()) if name in allowed]
    if not meant:
        known = [end for end, names in SUFFIXES.items() if set(names) & set(allowed)]
        fault = f"unsupported file type {output.suffix!r}" if output.suffix else "the file has no suffix"
        raise UserError(fault, where=str(output), hint=f"Use one of {', '.join(known)}.")
    if form is not None and form not in meant:
        ends = [end for end, names in SUFFIXES.items() if form in names]
        hint = f"Name a {' or '.join(ends)} file, or leave --format out."
        raise UserError(
            f"the suffix {output.suffix!r} does not match format {form}", where=str(output), hint=hint
        )
    return form or meant[0]


def write(data: str | bytes, output: Path | None) -> None:
    """Write ``data`` to a file, and say so, or print it."""
    if output is None:
        click.echo(data, nl=False)
    else:
        changed = write_atomically(output, data.encode() if isinstance(data, str) else data)
        click.echo(f"{output} {'written' if changed else 'unchanged'}")
