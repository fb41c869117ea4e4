"""serve-local: the embedded model as a server of its own."""

from __future__ import annotations

import click


@click.command("serve-local")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1; 0 takes a free one."
)
@click.option("--slots", type=click.IntRange(1, 64), default=4, show_default=True, help="Answers at once.")
def serve_local(port: int, slots: int) -> None:
    """Serve the embedded model until Ctrl-C.

    It is SmolLM2-135M-Instruct behind an OpenAI-compatible API on this machine.

    `bench run` starts and stops it by itself; use this to try requests by hand.
    """
    from bench.local.embedded import serve_local as serve

    serve(port, slots)
