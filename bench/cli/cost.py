"""``bench cost``: what the committed evidence cost, in tokens and dollars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any

import click

from bench.boards.costs import CostRow, Part, Took, comparison_cost_rows, cost_rows, total, totals
from bench.cli.common import one_of
from bench.cli.options import ONLY_LANGUAGE, Places, complete_suites, naming, places
from bench.errors import UserError
from bench.records import canonical
from bench.results import ResultsTree
from bench.results.comparisons import comparisons
from bench.run.progress import short
from bench.tables import counted, csv_table, dollars, text_table

_NAMES = [field.name for field in (*fields(Part), *fields(Took))]
_TOTALS: dict[str, Callable[[Part], str]] = {
    "by_player": lambda part: part.player,
    "by_role": lambda part: part.role,
    "by_model": lambda part: f"{part.role} {part.model}",
}


@click.command()
@click.argument("suite_name", metavar="[SUITE]", shell_complete=complete_suites, required=False)
@naming("language", "l", ONLY_LANGUAGE)
@naming("player", "p", "Only this player (repeatable).")
@one_of("--format", ("table", "json", "csv"), None, "form")
@places
def cost(
    suite_name: str | None, languages: tuple[str, ...], players: tuple[str, ...], form: str, where: Places
) -> None:
    """Show the tokens and dollars that were spent.

    By player, role and model, for SUITE or for all suites. Costs are at the prices on the day of each call.
    Unknown prices and estimated tokens are marked, never counted as zero.
    """
    tree = where.evidence(suite_name, languages if suite_name else ())
    rows = _rows(tree, suite_name, languages, players)
    if not rows:
        raise UserError(
            "no matching results" + (f" of suite {suite_name!r}" if suite_name else ""),
            where=str(where.results),
            hint="Run the suite first (`bench run SUITE`), or leave out --language and --player.",
        )
    click.echo({"table": _table, "json": _json, "csv": cost_csv}[form](rows), nl=False)


def _rows(
    tree: ResultsTree, suite: str | None, languages: Sequence[str], players: Sequence[str]
) -> list[CostRow]:
    rows: list[CostRow] = []
    for board in tree.boards():
        if (suite is not None and board[0] != suite) or (languages and board[1] not in languages):
            continue
        for info in tree.players(*board):
            if not players or info.player in players:
                who = (*board, info.player)
                rows += cost_rows(tree.conversations(*who), tree.judgements(*who))
        records = comparisons(tree, *board)
        rows += comparison_cost_rows(r for r in records if not players or set(players) & set(r.players))
    return rows


def shown_cost(took: Took) -> str:
    """Dollars, with ``~`` if tokens were estimated, and the number of calls of unknown cost."""
    if not took.known:
        return "unknown"
    about = "~" if took.estimated else ""
    return f"{about}{dollars(took.cost)}" + (" + unknown" if took.unpriced or took.silent else "")


def _cells(took: Took) -> list[str]:
    about = "~" if took.estimated else ""
    tokens = [f"{about}{short(count)}" for count in (took.prompt_tokens, took.completion_tokens)]
    return [str(took.calls), *tokens, shown_cost(took)]


def _table(rows: Sequence[CostRow]) -> str:
    heads = ["calls", "tokens in", "tokens out", "cost"]
    boards = len({(row.part.suite, row.part.language) for row in rows}) > 1
    parts = ["suite", "language"] * boards + ["player", "role", "model"]
    body = [[str(getattr(row.part, name)) for name in parts] + _cells(row.took) for row in rows]
    lines = [text_table([*parts, *heads], body, left=range(len(parts)))]
    for title, by in (("player", "by_player"), ("role", "by_role"), ("role and model", "by_model")):
        sums = totals(rows, _TOTALS[by])
        lines += ["\n", text_table([title, *heads], [[n, *_cells(t)] for n, t in sums.items()], left={0})]
    whole = total(rows)
    tokens = f"{short(whole.prompt_tokens)} tokens in, {short(whole.completion_tokens)} out"
    lines += [f"\nTotal: {counted(whole.calls, 'call')}, {tokens}: {shown_cost(whole)}\n", *_notes(whole)]
    return "".join(lines)


def _notes(whole: Took) -> Iterator[str]:
    """What the totals do not include, and what is estimated."""
    notes = (
        (whole.unpriced, "calls had no known price and are excluded from the totals"),
        (whole.silent, "imported records list no calls, so their cost is unknown"),
        (whole.estimated, "calls came without token counts, which are estimated (~)"),
        (whole.unanswered, "calls got no answer, and their cost is unknown"),
        (whole.batch, "calls went through a Batch API at the batch price"),
    )
    for count, text in notes:
        if count:
            yield f"  {count:,} {text}\n"


def _plain(took: Took) -> dict[str, Any]:
    """Amounts as exact decimal strings; None where nothing is known of them."""
    return asdict(took) | {"cost": f"{took.cost.normalize():f}" if took.known else None}


def _lines(rows: Sequence[CostRow]) -> list[dict[str, Any]]:
    return [asdict(row.part) | _plain(row.took) for row in rows]


def _json(rows: Sequence[CostRow]) -> str:
    sums = {
        name: {key: _plain(took) for key, took in totals(rows, by).items()} for name, by in _TOTALS.items()
    }
    return canonical({"rows": _lines(rows), **sums, "total": _plain(total(rows))})


def cost_csv(rows: Sequence[CostRow]) -> str:
    """One line per part of the evidence; amounts are exact decimals, empty if unknown."""
    return csv_table(_NAMES, [[line[name] for name in _NAMES] for line in _lines(rows)])
