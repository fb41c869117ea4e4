"""Tables as terminal text, CSV, JSON, Markdown and LaTeX: one writer, with one escaping rule per format.

A cell is text, a number, a tuple of texts, or None where nothing is known.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Sequence
from decimal import Decimal

Cell = str | int | float | tuple[str, ...] | None
TableWriter = Callable[[Sequence[str], Sequence[Sequence[str]], Container[int]], str]
"""Writes a table of heads, rows and the numbers of left-aligned columns."""
UNKNOWN = "–"
"""How a missing value is shown to people."""

_CONTROL = re.compile(r"\x1b(?!\[[01]m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What steers a terminal, or turns the direction of what follows; bold text does not."""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "*": "{*}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}
"""After a row, a bracket or asterisk would belong to its end."""


def dollars(amount: Decimal, digits: int = 4) -> str:
    """A sum of money: in cents, or below a dollar with ``digits`` or as many as show that it is not zero."""
    if not amount:
        return "$0"
    return f"${amount:,.2f}" if amount >= 1 else f"${decimals(amount, digits)}"


def decimals(amount: Decimal, digits: int = 4) -> str:
    """``amount`` with ``digits`` after the point, or as many as show that it is not zero."""
    return f"{amount:.{max(digits, 1 - amount.adjusted()) if amount else digits}f}"


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things, such as ``1 player`` or ``2,500 players``. ``many``: a plural that is not in -s."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def printable(text: str) -> str:
    """``text`` on one line; control, format and other invisible characters become spaces."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def steerless(text: str) -> str:
    """``text`` of several lines, with a space for each character that steers a terminal; bold text stays."""
    return _CONTROL.sub(" ", text)


def letters(text: str) -> float:
    """About how many letters of mean width a text takes up in a drawing; rather too many than too few."""
    from rich.cells import cell_len

    return sum(1.6 if c in "MWmw@%&" else max(cell_len(c), 1.25 if c.isupper() else 1) for c in text)


def cut(text: str, most: int) -> str:
    """``text``, cut to ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def fitting(text: str, room: float) -> str:
    """``text`` as :func:`printable` returns it, cut so that it takes up at most ``room`` :func:`letters`."""
    kept = whole = printable(text)
    while letters(kept) > room - (kept != whole):
        kept = kept[:-1]
    return kept if kept == whole else f"{kept}…"


def shown(value: Cell, digits: int = 2) -> str:
    """A cell for people: floats with ``digits`` decimals, an en dash where nothing is known."""
    if value is None:
        return UNKNOWN
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return printable("; ".join(value) if isinstance(value, tuple) else str(value))


def _width(text: str) -> int:
    from rich.cells import cell_len  # no CSV or JSON needs it

    return cell_len(_STYLE.sub("", text))


def text_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], left: Container[int] = frozenset()
) -> str:
    """Aligned plain text for a terminal; columns in ``left`` are left-aligned, the others right-aligned.

    Cells may be bold by ANSI codes, which take no width. Other control characters become spaces.
    """
    lines = [[steerless(text) for text in line] for line in (heads, *rows)]
    widths = [max(_width(line[n]) for line in lines) for n in range(len(heads))]
    return "".join(
        "  ".join(
            text + " " * (width - _width(text)) if n in left else " " * (width - _width(text)) + text
            for n, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


def csv_table(heads: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """CSV with every cell safe to open in a spreadsheet (see :func:`csv_cell`)."""
    return "".join(_csv_line([csv_cell(cell) for cell in row]) for row in (heads, *rows))


def _csv_line(cells: Sequence[str]) -> str:
    # With "\r\n" as line end, the csv module also quotes a lone "\r", which readers take for a new line.
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().removesuffix("\r\n") + "\n"


def csv_cell(value: object) -> str:
    """A value as a CSV cell. Text that a spreadsheet could run as a formula gets an apostrophe in front."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    text = "; ".join(value) if isinstance(value, tuple) else str(value)
    visible = text.lstrip("".join(c for c in text if c.isspace() or unicodedata.category(c)[0] == "C"))
    risky = visible.startswith(_FORMULA_STARTS) or (text != "" and unicodedata.category(text[0]) == "Cc")
    return f"'{text}" if risky else text


def markdown_table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], left: Container[int] = frozenset()
) -> str:
    """A GitHub-flavoured Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |\n"

    def escaped(value: Cell) -> str:
        return shown(value).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")

    rule = ["---" if n in left else "---:" for n in range(len(heads))]
    return (
        line([escaped(head) for head in heads])
        + line(rule)
        + "".join(line([escaped(c) for c in r]) for r in rows)
    )


def latex_table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], left: Container[int] = frozenset()
) -> str:
    """A LaTeX ``tabular`` with booktabs rules."""

    def line(cells: Sequence[Cell]) -> str:
        return " & ".join("".join(_LATEX.get(c, c) for c in shown(cell)) for cell in cells) + r" \\" + "\n"

    align = "".join("l" if n in left else "r" for n in range(len(heads)))
    body = "".join(map(line, rows))
    head = f"\\begin{{tabular}}{{{align}}}\n\\toprule\n{line(heads)}\\midrule\n"
    return f"{head}{body}\\bottomrule\n\\end{{tabular}}\n"


WRITERS: dict[str, TableWriter] = {"markdown": markdown_table, "latex": latex_table}
"""The writer of each format of tables for documents."""


def titled(title: str, table: str, form: str) -> str:
    """A table of a document (a key of WRITERS) below its title."""
    return f"**{markdown_text(title)}**\n\n{table}\n" if form == "markdown" else f"% {title}\n{table}\n"


def markdown_text(text: str) -> str:
    """``text`` as one line of Markdown in which nothing is markup."""
    return _MARKDOWN.sub(_escape, printable(text))


_MARKDOWN = re.compile(r"[\\`*_\[\]<]")


def _escape(match: re.Match[str]) -> str:
    return f"\\{match[0]}"
