"""Aligned plain-text tables for the terminal."""

from __future__ import annotations

from collections.abc import Container, Sequence

from rich.cells import cell_len


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Container[int] = frozenset()) -> str:
    """Heads and rows in columns, by cells of a terminal; columns of ``left`` to the left, others right."""
    lines = [list(heads), *map(list, rows)]
    widths = [max(cell_len(line[n]) for line in lines) for n in range(len(heads))]
    return "".join(
        "  ".join(
            text + " " * (width - cell_len(text)) if n in left else " " * (width - cell_len(text)) + text
            for n, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )
