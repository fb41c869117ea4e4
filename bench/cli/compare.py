"""``bench compare`` and ``bench rating``: players compared in pairs, and the board that follows."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from bench.cli.asking import JUDGED_PLAYERS, arguments, asking, check_answered, in_batches, kept, spending
from bench.cli.common import together, whole_number
from bench.cli.options import (
    ONLY_JUDGE,
    ONLY_LANGUAGE,
    Number,
    Places,
    check_one_language,
    complete_suites,
    naming,
    places,
)
from bench.cli.output import listing, print_json
from bench.records import Usage, canonical
from bench.run.prices import Spending
from bench.tables import counted, dollars

if TYPE_CHECKING:
    from bench.boards.comparing import CompareJob
    from bench.scores.robust import JudgesAs

choosing = together(
    whole_number(
        "--neighbours",
        "Compare players within K ranks of each other, and every fifth pair at random.",
        most=10_000,
        default=3,
        unit="K",
    ),
    whole_number(
        "--most",
        "At most N comparisons per judge. Default: all pairs of neighbours in all scenes.",
        most=10_000_000,
    ),
    click.option("--rotate", is_flag=True, help="Judges take turns: one judge for each comparison."),
    whole_number("--seed", "Random seed.", 0, default=0),
)
"""Adds the options that say which pairs are compared."""


@click.command()
@asking(JUDGED_PLAYERS)
@choosing
@click.option(
    "--width",
    type=Number(min=0.001),
    metavar="W",
    help="Stop once no 95% interval of a rating is wider than W (log odds).",
)
@spending
@in_batches
@places
def compare(suite: str, reparse: bool, batch: bool, limits: Spending, where: Places, **options: Any) -> None:
    """Have judges compare SUITE's players in pairs.

    A judge reads two players' conversations of one scene, without names and in both orders, and says on each
    criterion which is better and by how much. Players are not called again. The most
    telling pairs come first: neighbours on the board, then pairs whose order is still uncertain.
    Stop with Ctrl-C at any time; the same command continues. With --batch all missing pairs are chosen at
    once, without waiting for what the first ones show. `bench rating` shows the result.
    """
    from bench.boards.compare_suite import compare_suite
    from bench.cli.run_display import RunDisplay, requests_line
    from bench.cli.stopping import stoppable, stopped_by_budget

    if batch and options["width"] is not None:
        raise click.UsageError("--batch chooses all pairs at once: leave --width out")
    with stoppable(kept(batch)), RunDisplay() as display:
        report = compare_suite(
            suite, reparse=reparse, batch=batch, **options, **arguments(where, limits), listener=display
        )
    if reparse:
        for name, (seen, changed) in report.reparsed.items():
            click.echo(f"{name}: {counted(seen, 'comparison')} re-parsed, {changed} changed")
        return
    if not report.planned_comparisons:
        click.echo(
            f"{suite}: nothing to compare. Raise --neighbours or --most for more pairs; --retry-failed and"
            " --refresh-stale repeat comparisons."
        )
        return
    click.echo(
        f"{counted(report.comparisons, 'comparison')}"
        f" ({report.comparisons_failed} failed in at least one order); {requests_line(report.stats)}"
    )
    if report.budget_reached:
        raise stopped_by_budget(report.stats)
    check_answered(report.unanswered)


def print_plan(suite: str, where: Places, options: dict[str, Any], form: str) -> None:
    """What `bench plan --compare` prints."""
    from bench.boards.comparing import PairPlan, plan_comparisons
    from bench.run.jobs import Part

    choosing = {name: options.pop(name) for name in ("neighbours", "most", "rotate", "seed")}
    plan = PairPlan(**choosing)
    jobs = plan_comparisons(suite, Part(**options), plan, where.results, where.models, where.layers)
    plans = [_plan_of(job) for job in jobs]
    if form == "json":
        print_json(plans)
        return
    for line in (line for made in plans for line in _plan_lines(made)):
        click.echo(line)


def _plan_of(job: CompareJob) -> dict[str, Any]:
    """What a job has and needs, as plain data."""
    from bench.run.plan import reasoning_each

    again = job.again()
    work = [*again, *job.next_round()]
    unfinished = sorted(job.evidence.unfinished().items())
    calls: list[dict[str, Any]] = []
    for judge in job.judges:
        own = [item for item in work if item.judge == judge]
        guess, model = job.estimate(own), job.comparer.protocol.catalog.model(judge)
        each = reasoning_each(model)
        written = guess.completion_tokens + round(each or 0) * guess.calls
        cost = model.cost_of(Usage(prompt_tokens=guess.prompt_tokens, completion_tokens=written))
        row: dict[str, Any] = {"judge": judge, "calls": guess.calls, "prompt_tokens": guess.prompt_tokens}
        row |= {"completion_tokens": written, "with_reasoning": each is not None}
        calls += [row | {"cost": None if cost is None else str(cost)}] if own else []
    return {
        "suite": job.comparer.protocol.suite.id,
        "language": job.comparer.protocol.language,
        "players": list(job.order),
        "comparisons": dict(sorted(job.states.items())),
        "to_make": len(work),
        "unfinished": {player: count for player, count in unfinished if player in job.order},
        "left_failed": job.left["failed"],
        "left_stale": job.left["stale"],
        "calls": calls,
    }


def _plan_lines(plan: dict[str, Any]) -> list[str]:
    from bench.run.progress import short

    states = ", ".join(f"{count} {state}" for state, count in plan["comparisons"].items()) or "none yet"
    lines = [
        f"{plan['suite']} {plan['language']}: {counted(len(plan['players']), 'player')}",
        f"  comparisons: {states}; {plan['to_make']} to make",
    ]
    lines += [
        f"  {player}: {counted(count, 'conversation')} failed and cannot be compared"
        for player, count in plan["unfinished"].items()
    ]
    lines += [
        f"  {counted(plan[f'left_{state}'], f'{state} comparison')} without effect; {option} asks again"
        for state, option in (("failed", "--retry-failed"), ("stale", "--refresh-stale"))
        if plan[f"left_{state}"]
    ]
    for row in plan["calls"]:
        tokens = f"~{short(row['prompt_tokens'])} tokens in, ~{short(row['completion_tokens'])} out"
        price = "cost unknown" if row["cost"] is None else f"about {dollars(Decimal(row['cost']))}"
        silent = "" if row["with_reasoning"] else ", without reasoning, whose length is unknown"
        lines.append(f"  judge {row['judge']}: {counted(row['calls'], 'call')}, {tokens}, {price}{silent}")
    return lines


@click.command()
@click.argument("suite", metavar="SUITE", shell_complete=complete_suites)
@naming("language", "l", ONLY_LANGUAGE)
@naming("judge", "j", ONLY_JUDGE)
@click.option("--criterion", default="mean", show_default=True, help="Rate by this criterion alone.")
@click.option(
    "--judges-as",
    type=click.Choice(["fixed", "sample"]),
    help="What intervals and ranks hold for: these judges (fixed), or judges like these (sample)."
    " Default: sample, where there are four judges who each compared all players.",
)
@listing("table")
@places
def rating(
    suite: str,
    languages: tuple[str, ...],
    judges: tuple[str, ...],
    criterion: str,
    judges_as: JudgesAs | None,
    form: str,
    where: Places,
) -> None:
    """Print the board made of comparisons in pairs.

    Ratings come from `bench compare`. They are log odds: a player rated 1 above another wins about 73% of
    their comparisons that are not ties, once the order shown, answer length and the judge's own family are
    accounted for. Each judge's habits follow. Refusals do not count, nor do verdicts in only
    one order, nor judges that the suite does not name, unless --judge chooses them, or the suite names none
    of those present. SUITE can also be a table from `bench import comparisons`.
    """
    from bench.boards.loading import all_suites, catalog_of
    from bench.boards.rating import load_rating, load_table_rating
    from bench.cli.rating_text import rating_text
    from bench.errors import UserError
    from bench.results.compared import is_compared
    from bench.results.comparisons import has_comparisons

    if is_compared(where.tree(), suite):
        made = load_table_rating(
            where.tree(), suite, judges_as, judges, languages=languages, criterion=criterion
        )
        click.echo(canonical(made.model_dump(mode="json")) if form == "json" else rating_text(made), nl=False)
        return
    tree, suites = where.evidence(suite, languages), all_suites(where.layers)
    found = [language for _, language in tree.boards(suite) if has_comparisons(tree, suite, language)]
    chosen = list(languages) or found
    if not chosen:
        hint = f"Have judges compare its players: `bench compare {suite}`."
        raise UserError(f"no comparisons of suite {suite!r}", where=str(where.results), hint=hint)
    check_one_language(form, chosen, chosen)
    for language in chosen:
        made = load_rating(
            tree,
            suite,
            language,
            prompts=suites,
            catalog=catalog_of(where.models),
            criterion=criterion,
            judges_as=judges_as,
            judges=judges,
        )
        if form == "table" and (defined := suites.get(suite)) and defined.entry.demonstration:
            click.echo("A demonstration: these ratings say nothing about role play.")
        click.echo(canonical(made.model_dump(mode="json")) if form == "json" else rating_text(made), nl=False)
