"""``bench doctor`` and ``bench completion``: is this machine ready, and does the shell know the commands."""

from __future__ import annotations

import sys

import click

from bench.cli.options import Places, places
from bench.cli.output import listing, print_json


@click.command()
@listing("text")
@click.option("--offline", is_flag=True, help="Ask no provider.")
@places
def doctor(form: str, offline: bool, where: Places) -> None:
    """Check installation, keys, providers and disk.

    Lists what is installed, which API keys are set, which providers answer (by asking for their list of
    models, which costs nothing), free space, and what killed runs left. Exits with status 1 if something is
    broken.
    """
    from bench.run.doctor import examine

    checks = examine(where.models, where.results, where.cache, online=not offline)
    if form == "json":
        print_json([check._asdict() for check in checks])
    else:
        width = max(len(check.subject) for check in checks)
        for check in checks:
            click.echo(f"{check.state:<8}{check.subject:<{width}}  {check.text}")
    if any(check.state == "broken" for check in checks):
        sys.exit(1)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands and names.

    For bash: add `eval "$(bench completion bash)"` to ~/.bashrc. For zsh: add
    `eval "$(bench completion zsh)"` to ~/.zshrc. For fish:
    `bench completion fish > ~/.config/fish/completions/bench.fish`.
    """
    from click.shell_completion import get_completion_class

    from bench.cli import cli

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(cli, {}, "bench", "_BENCH_COMPLETE").source())
