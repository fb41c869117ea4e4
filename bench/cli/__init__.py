"""The command line: the only place that turns errors into messages and an exit status."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from bench import __version__
from bench.errors import UserError
from bench.files import storage_error

COMMANDS = {
    "suites": "bench.cli.catalog:suites",
    "models": "bench.cli.catalog:models",
    "plan": "bench.cli.running:plan",
    "run": "bench.cli.running:run",
    "judge": "bench.cli.running:judge",
    "board": "bench.cli.evidence:board",
    "cost": "bench.cli.cost:cost",
    "rank-map": "bench.cli.rankmap:rank_map",
    "analyse": "bench.cli.analyse:analyse",
    "agreement": "bench.cli.agreement:agreement",
    "topics": "bench.cli.topics:topics",
    "audit": "bench.cli.audit:audit",
    "export": "bench.cli.interop:export",
    "import": "bench.cli.interop:import_",
    "annotate": "bench.cli.annotate:annotate",
    "site": "bench.cli.website:site",
    "serve-local": "bench.cli.local:serve_local",
    "schemas": "bench.cli.schemas:schemas",
    "commit-results": "bench.cli.evidence:commit_results",
}
"""Commands and where they are; a command's module, and what it needs, is loaded when it is called."""

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
SIGPIPE_STATUS = 141
"""What a shell gives for a process that died of SIGPIPE, which is 13."""


class Commands(click.Group):
    """A group that loads its commands late."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _reader_watched():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _reader_watched():
            return super().invoke(ctx)


class _Unread(Exception):
    """Whoever read the output (`| head`) has gone."""


@contextlib.contextmanager
def _reader_watched() -> Iterator[None]:
    """Tell a reader that has gone by an exception of our own: click ends with status 1, and so does rich."""
    try:
        yield
    except BrokenPipeError:
        raise _Unread from None
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            raise _Unread from None
        raise


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with `bench suites`, then `bench plan SUITE` to see calls, tokens and cost before you pay."
    " The README lists the exit statuses.",
)
@click.version_option(__version__, prog_name="Dramaturg")
def cli() -> None:
    """Dramaturg measures how well chat models play a role, and publishes the evidence.

    A player model is given a character card; an interrogator, which sees one line about the character and a
    situation, plays the user; judges score every turn. All that was said and scored is kept as JSON under
    results/, every number can be recomputed from it, and the website is built from it.
    """


def main() -> None:
    """Entry point of ``bench``. The README lists the exit statuses."""
    status = _ended()
    if status:
        sys.exit(status)


def _ended() -> int:
    """Carry out the command line; the exit status, after a line for what went wrong."""
    try:
        result = cli(prog_name="bench", standalone_mode=False)
        with _reader_watched():
            sys.stdout.flush()
    except UserError as error:
        return _said(error.line(), error.status)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _said("stopped", 128 + signal.SIGINT)
    except _Unread:
        _silence_output()
        return SIGPIPE_STATUS  # without a word, as a process that SIGPIPE ends
    except OSError as error:
        if error.filename is None and error.errno not in _DISK_FULL:
            raise
        _silence_output()
        return _said(storage_error(error, Path(error.filename or "output")).line(), 1)
    return result if isinstance(result, int) else 0  # of what click itself has ended


def _silence_output() -> None:
    """Let what is still buffered for standard output go nowhere, also at interpreter exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _said(line: str, status: int) -> int:
    click.echo(f"bench: {line}", err=True)
    return status
