"""The command line: the only place that turns errors into messages and an exit status."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from pathlib import Path

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
    "audit": "bench.cli.audit:audit",
    "export": "bench.cli.interop:export",
    "import": "bench.cli.interop:import_",
    "site": "bench.cli.website:site",
    "serve-local": "bench.cli.local:serve_local",
    "schemas": "bench.cli.evidence:schemas",
    "commit-results": "bench.cli.evidence:commit_results",
}
"""Commands and where they are; a command's module, and what it needs, is loaded when it is called."""

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class Commands(click.Group):
    """A group that loads its commands late and turns the user's mistakes into one line and status 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with `bench suites`, then `bench plan SUITE` to see calls, tokens and cost before you pay.",
)
@click.version_option(__version__, prog_name="Rolecall")
def cli() -> None:
    """Rolecall measures how well chat models play a role, and publishes the evidence.

    A player model is given a character card; an interrogator, which sees one line about the character and a
    situation, plays the user; judges score every turn. All that was said and scored is kept as JSON under
    results/, every number can be recomputed from it, and the website is built from it.
    """


def main() -> None:
    """Entry point of ``bench``."""
    try:
        cli(prog_name="bench", standalone_mode=False)
    except UserError as error:
        _end(error.line(), 1)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _end("stopped", 130)
    except BrokenPipeError:
        _silence_output()  # whoever read it has gone
        sys.exit(1)
    except OSError as error:
        if error.filename is None and error.errno not in _DISK_FULL:
            raise
        _silence_output()
        _end(storage_error(error, Path(error.filename or "output")).line(), 1)


def _silence_output() -> None:
    """Let what is still buffered for standard output go nowhere, also at interpreter exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(line: str, status: int) -> None:
    click.echo(f"bench: {line}", err=True)
    sys.exit(status)
