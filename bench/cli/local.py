"""``bench serve-local``: serve a local model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bench.cli.common import whole_number


@click.command("serve-local")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port on 127.0.0.1 (default: a free one).",
)
@whole_number("--slots", "Number of parallel calls.", most=64, default=4)
@click.option("--file", type=click.Path(path_type=Path), help="GGUF file (default: SmolLM2-135M-Instruct).")
@whole_number("--context", "Context of each call in tokens (default: 8192).", 256)
@whole_number("--threads", "Threads (default: one per core, up to 8).")
@whole_number("--gpu-layers", "Layers to run on the graphics card (default: as many as fit).", 0)
@click.option("--chat-template", help="Jinja template instead of the file's own.")
def serve_local(port: int, slots: int, file: Path | None, **options: Any) -> None:
    """Serve a local model until Ctrl-C.

    Serves SmolLM2-135M-Instruct, or any GGUF file, behind an OpenAI-compatible API on this machine, so that
    you can try requests by hand. `bench run` starts and stops servers by itself.
    """
    from bench.catalog import LocalFile
    from bench.local.embedded import serve_local as serve

    given = {key: option for key, option in options.items() if option is not None}
    if given and file is None:
        raise click.UsageError(f"--{next(iter(given)).replace('_', '-')} needs --file.")
    serve(port, slots, None if file is None else LocalFile(path=file, **given))
