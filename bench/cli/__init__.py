"""The command line: the only place that turns errors into messages and an exit status."""

# ruff: noqa: E402  # Ctrl-C may come during the imports, even that of __future__

import sys

_signal = sys.modules["_signal"]  # loaded when Python starts; `import signal` takes milliseconds
_interrupt = _signal.getsignal(_signal.SIGINT)
try:
    if _interrupt is _signal.default_int_handler:  # until main() catches it, Ctrl-C ends the process silently
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
except ValueError:  # imported in another thread than the main one
    _interrupt = None

import atexit
import contextlib
import errno
import gc
import importlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench import GARBAGE_THRESHOLD, __version__

# Else Pydantic looks for plugins in every package installed.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
gc.set_threshold(GARBAGE_THRESHOLD)  # there is no garbage while modules are loading

import click
from click.shell_completion import CompletionItem

from bench.cli.common import (
    Suggesting,
    colour,
    forget,
    interrupt_again,
    is_interrupt,
    output_options,
    thread_failed,
    verbose,
    with_common,
)
from bench.errors import UserError
from bench.files import storage_error


class Listed(NamedTuple):
    """How `bench --help` lists a command, so that it need not import the command's module."""

    section: str
    target: str
    """``module:function`` within :mod:`bench.cli`."""
    summary: str
    """The first line of the function's docstring; a test compares them."""
    examples: tuple[str, ...] = ()
    """Printed at the end of the command's own help."""


COMMANDS = {
    "suites": Listed("Run", "catalog:suites", "List the suites, their languages and judges."),
    "models": Listed("Run", "catalog:models", "List the models with prices and missing keys."),
    "new": Listed(
        "Run",
        "new:new",
        "Write a suite, card, situation or model entry.",
        (
            "bench new suite mine -c sherlock-holmes -j smollm2-135m",
            "bench new model my-model.gguf",
            "bench new model http://127.0.0.1:8000/v1",
        ),
    ),
    "check": Listed("Run", "check:check", "Check suites, cards, situations and models.toml."),
    "plan": Listed(
        "Run",
        "running:plan",
        "Show what SUITE still needs and what it costs.",
        ("bench plan pingpong-2 -p my-model", "bench plan pingpong-2 -l en --retry-failed"),
    ),
    "run": Listed(
        "Run",
        "running:run",
        "Run missing conversations and judgements.",
        ("bench run pingpong-2 -p my-model --max-cost 5", "bench run pingpong-2 -p my-model --shard 2/8"),
    ),
    "versus": Listed(
        "Run",
        "versus:versus",
        "Run two models, and say whether they differ.",
        ("bench versus mine my-model-1 my-model-2",),
    ),
    "judge": Listed(
        "Run",
        "running:judge",
        "Score existing conversations with other judges.",
        (
            "bench judge pingpong-2 -j other-model",
            "bench judge pingpong-2 -j other-model --batch",
            "bench judge pingpong-2 --reparse",
        ),
    ),
    "compare": Listed(
        "Run",
        "compare:compare",
        "Have judges compare SUITE's players in pairs.",
        (
            "bench plan pingpong-2 --compare",
            "bench compare pingpong-2 -l en --max-cost 5",
            "bench compare pingpong-2 --width 0.5",
        ),
    ),
    "cost": Listed(
        "Run",
        "cost:cost",
        "Show the tokens and dollars that were spent.",
        ("bench cost", "bench cost pingpong-2 -l en --format csv"),
    ),
    "board": Listed(
        "Results",
        "evidence:board",
        "Print the leaderboard of SUITE.",
        (
            "bench board pingpong-2 -l en",
            "bench board pingpong-2 -l en --compare-methods",
            "bench board pingpong-2 -l en --separate my-model other-model",
            "bench board pingpong-2 -l en --rescore --weights 2,1,1 --kind attack",
        ),
    ),
    "rating": Listed(
        "Results",
        "compare:rating",
        "Print the board made of comparisons in pairs.",
        ("bench rating pingpong-2 -l en", "bench rating pingpong-2 -l en --criterion fluency --format json"),
    ),
    "analyse": Listed(
        "Results",
        "analyse:analyse",
        "Analyse turns, difficulty, length and judges.",
        ("bench analyse pingpong-2 -l en", "bench analyse pingpong-2 -l en --only orders --format json"),
    ),
    "diff": Listed(
        "Results",
        "diff:diff",
        "Show what changed on the board of SUITE.",
        (
            "bench diff pingpong-2 -l en --since HEAD~3",
            "bench diff pingpong-2 -l en --against pingpong",
        ),
    ),
    "rank-map": Listed(
        "Results",
        "rankmap:rank_map",
        "Compare ranks with another board or benchmark.",
        ("bench rank-map pingpong-2 -l en --against-suite pingpong-v1-2 -o build/map",),
    ),
    "topics": Listed(
        "Results",
        "topics:topics",
        "Find the topics of user messages in FILE.",
        (
            "bench topics prompts/topics/sample.en.jsonl --suite pingpong-2",
            "bench topics FILE --suite pingpong-2 --coverage build/topics/coverage.toml",
        ),
    ),
    "export": Listed(
        "Results",
        "export:export",
        "Export the results of SUITE as a table or folder.",
        ("bench export pingpong-2 -l en -o scores.csv", "bench export pingpong-2 --columns"),
    ),
    "query": Listed(
        "Results",
        "query:query",
        "Query a store of results with SQL.",
        ('bench query "SELECT player, avg(score) FROM scores WHERE counts GROUP BY player"',),
    ),
    "import": Listed(
        "Results",
        "interop:import_",
        "Import results or character cards.",
        ("bench import card knight.png -l en", "bench import ping-pong-bench FILES -l en"),
    ),
    "annotate": Listed(
        "People",
        "annotate:annotate",
        "Have people rate conversations.",
        (
            "bench annotate sample pingpong-2 -l en --study autumn",
            "bench annotate push --study autumn --url http://localhost:8080",
            "bench annotate pull --study autumn --url http://localhost:8080",
        ),
    ),
    "agreement": Listed(
        "People",
        "agreement:agreement",
        "Measure how well judges agree with people.",
        (
            "bench agreement --study autumn",
            "bench agreement --study autumn --format csv -o agreement.csv",
            "bench agreement --table scores.csv --human anna,boris --judges model-a,model-b --group player",
        ),
    ),
    "site": Listed(
        "Site",
        "website:site",
        "Build the website, or index or serve a built one.",
        ("bench site build", "bench site serve --port 8000"),
    ),
    "audit": Listed(
        "Maintain",
        "audit:audit",
        "Check all results, or those of SUITE.",
        ("bench audit", "bench audit pingpong-2 --strict --format json"),
    ),
    "remove": Listed(
        "Maintain",
        "life:remove",
        "Remove a player from the boards of SUITE.",
        ('bench remove pingpong-2 my-model --reason "The provider served another model."',),
    ),
    "rename": Listed(
        "Maintain",
        "life:rename",
        "Rename a player on the boards of SUITE.",
        ('bench rename pingpong-2 my-model my-model-0.2 --reason "Version 0.3 is out."',),
    ),
    "commit-results": Listed(
        "Maintain",
        "evidence:commit_results",
        "Commit players with complete, valid evidence.",
        ("bench commit-results --dry-run",),
    ),
    "serve-local": Listed("Maintain", "local:serve_local", "Serve a local model until Ctrl-C."),
    "propose": Listed("Maintain", "propose:propose", "Plan, add or run a model that an issue proposes."),
    "doctor": Listed("Maintain", "doctor:doctor", "Check installation, keys, providers and disk."),
    "completion": Listed(
        "Maintain", "doctor:completion", "Print a script that completes commands and names."
    ),
    "schemas": Listed("Maintain", "schemas:schemas", "Write the JSON Schemas of all files."),
}
"""Every command. Its module, and what that needs, is imported when the command is called."""

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
SIGPIPE_STATUS = 141
"""The status a shell reports for a process killed by SIGPIPE (signal 13)."""


class Commands(Suggesting):
    """A group that imports its commands late and lists them in sections."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        listed = COMMANDS[cmd_name]
        module, name = listed.target.split(":")
        command = getattr(importlib.import_module(f"bench.cli.{module}"), name)
        assert isinstance(command, click.Command)
        with_common(command)
        if listed.examples:
            command.epilog = "\b\n" + "\n  ".join(["Examples:", *listed.examples])
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        return [CompletionItem(name, help=COMMANDS[name].summary) for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for section in dict.fromkeys(listed.section for listed in COMMANDS.values()):
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (name.ljust(width), listed.summary)
                        for name, listed in COMMANDS.items()
                        if listed.section == section
                    ]
                )

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _reader_watched():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _reader_watched():
            return super().invoke(ctx)


class _ReaderGone(Exception):
    """The program that read our output, such as `head`, has ended."""


@contextlib.contextmanager
def _reader_watched() -> Iterator[None]:
    """Raise ``_ReaderGone`` for a broken pipe, for which click and rich would end with status 1."""
    try:
        yield
    except BrokenPipeError:
        raise _ReaderGone from None
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            raise _ReaderGone from None
        raise


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with `bench suites`, then `bench plan SUITE` to see calls, tokens and cost before you pay."
    " docs/running.md lists the exit statuses.",
)
@click.version_option(__version__, prog_name="Dramaturg")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Dramaturg benchmarks chat models at staying in character.

    One model (the player) plays a character, another (the interrogator) plays the user, and judge models
    score every reply. Conversations and scores are stored as JSON under results/. Boards, analyses and the
    website are computed from these files.
    """
    colour(ctx)


cli.params += output_options()


def main() -> None:
    """Entry point of ``bench``. docs/running.md lists the exit statuses."""
    sys.unraisablehook = interrupt_again
    threading.excepthook = thread_failed
    atexit.register(gc.freeze)  # else the end of the process looks for garbage, which takes 0.1 s and more
    status = _run()
    if status:
        sys.exit(status)


def _run() -> int:
    """Run the command line, print a line about an error, and return the exit status."""
    forget()
    started = time.monotonic()
    try:
        result = cli(prog_name="bench", standalone_mode=False)
        with _reader_watched():
            sys.stdout.flush()
    except UserError as error:
        if verbose():
            traceback.print_exc()
        return _report(error.line(), error.status)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except _ReaderGone:
        _silence_output()
        return SIGPIPE_STATUS  # without a message, like any process that SIGPIPE ends
    except OSError as error:
        if error.filename is None and error.errno not in _DISK_FULL:
            raise
        _silence_output()
        return _report(storage_error(error, Path(error.filename or "output")).line(), 1)
    except (KeyboardInterrupt, Exception) as error:
        if not is_interrupt(error):
            raise
        return _report("stopped", 128 + signal.SIGINT)
    if verbose():
        click.echo(f"bench: {time.monotonic() - started:.1f} s", err=True)
    return result if isinstance(result, int) else 0  # click returns a status where it ended the command


def _silence_output() -> None:
    """Discard what is still buffered for standard output, also at interpreter exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(line: str, status: int) -> int:
    from bench.tables import printable

    click.echo(f"bench: {printable(line)}", err=True)
    return status


if _interrupt is _signal.default_int_handler:
    signal.signal(signal.SIGINT, _interrupt)
