"""plan, run, judge: the commands that call models, or say what calling them would take."""

from __future__ import annotations

from decimal import Decimal

import click
from rich.console import Console
from rich.table import Table

from bench.catalog import Catalog
from bench.cli.execution import Job, print_states, run_jobs
from bench.cli.options import Places, chosen_languages, places
from bench.errors import CatalogError
from bench.plan import Redo, estimate, make_plan
from bench.progress import short
from bench.protocols import protocol_for
from bench.records import messages_sha256
from bench.results import ResultsTree
from bench.suites import Suite

SUITE = click.argument("suite_name", metavar="SUITE")
LANGUAGE = click.option(
    "--language", "-l", "languages", multiple=True, metavar="L", help="Only this language (may be repeated)."
)
PLAYER = click.option(
    "--player",
    "-p",
    "players",
    multiple=True,
    metavar="P",
    help="A player, by its name in models.toml (may be repeated). Without it: the suite's own players.",
)
JUDGE = click.option(
    "--judge",
    "-j",
    "judges",
    multiple=True,
    metavar="J",
    help="A judge, by its name in models.toml (may be repeated). Without it: the suite's own judges.",
)
REDO = (
    click.option("--retry-failed", is_flag=True, help="Do recorded failures again, whatever they failed of."),
    click.option(
        "--refresh-stale",
        is_flag=True,
        help="Do again what was made from other prompts or parameters than those of now. It is replaced.",
    ),
)


def _jobs(
    where: Places,
    suite_name: str,
    languages: tuple[str, ...],
    players: tuple[str, ...],
    judges: tuple[str, ...],
    redo: Redo,
    *,
    talk: bool = True,
) -> tuple[Suite, Catalog, list[Job]]:
    """What a command is about, everything named by the user checked before anything is done."""
    catalog = where.catalog()
    suite = where.suite(suite_name)
    suite.check_models(catalog)
    for name in players:
        catalog.model(name, "player")
    for name in judges:
        catalog.model(name, "judge")
    jobs = []
    for language in chosen_languages(suite, languages):
        protocol = protocol_for(suite, language, catalog)
        tree = where.tree()
        chosen = players or suite.entry.player.models
        if not talk and not players:
            present = [info.player for info in tree.players(suite.id, language)]
            chosen = tuple(name for name in present if name in catalog.models)
        if not chosen:
            raise CatalogError(
                "names no players of its own" if talk else "has no players yet",
                where=f"suite {suite.id}, language {language}",
                mend="Name one by --player." if talk else f"Run `bench run {suite.id}` first.",
            )
        plan = make_plan(protocol, tree, chosen, judges or suite.judges, talk=talk, redo=redo)
        jobs.append(Job(protocol, plan, chosen))
    return suite, catalog, jobs


@click.command()
@SUITE
@LANGUAGE
@PLAYER
@JUDGE
@REDO[0]
@REDO[1]
@places
def plan(
    suite_name: str,
    languages: tuple[str, ...],
    players: tuple[str, ...],
    judges: tuple[str, ...],
    retry_failed: bool,
    refresh_stale: bool,
    where: Places,
) -> None:
    """Show what SUITE still needs: conversations, calls, tokens, cost. Calls nobody.

    Prompts are measured and answers guessed, so tokens and cost are estimates.
    """
    redo = Redo(failed=retry_failed, stale=refresh_stale)
    suite, catalog, jobs = _jobs(where, suite_name, languages, players, judges, redo)
    console = Console()
    for job in jobs:
        console.print(f"{suite.id} {job.protocol.language}: {', '.join(job.players)}", highlight=False)
        print_states(console, job.plan)
        _print_costs(console, job, catalog)


def _print_costs(console: Console, job: Job, catalog: Catalog) -> None:
    if not job.plan.work:
        console.print("  Nothing to do.", highlight=False)
        return
    table = Table("role", "model", "calls", "tokens in", "tokens out", "cost", box=None, padding=(0, 2))
    costs = estimate(job.plan, job.protocol, catalog)
    for row in costs:
        cost = "unknown" if row.cost is None else f"${row.cost:.4f}"
        table.add_row(
            row.role,
            row.model,
            str(row.calls),
            f"~{short(row.prompt_tokens)}",
            f"~{short(row.completion_tokens)}",
            cost,
        )
    console.print(table)
    known = sum((row.cost for row in costs if row.cost is not None), Decimal(0))
    unknown = "" if all(row.cost is not None for row in costs) else " and what has no price in models.toml"
    console.print(
        f"  In all {sum(row.calls for row in costs)} calls, about ${known:.4f}{unknown}.", highlight=False
    )


@click.command()
@SUITE
@LANGUAGE
@PLAYER
@JUDGE
@REDO[0]
@REDO[1]
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Send no further call once this much is spent. Calls in flight still end, and count.",
)
@click.option("--no-cache", is_flag=True, help="Neither read nor fill the response cache.")
@places
def run(
    suite_name: str,
    languages: tuple[str, ...],
    players: tuple[str, ...],
    judges: tuple[str, ...],
    retry_failed: bool,
    refresh_stale: bool,
    max_cost: float | None,
    no_cache: bool,
    where: Places,
) -> None:
    """Run what SUITE still needs: conversations side by side, each judged as soon as it has ended.

    Finished conversations and judgements are on disk at once; stop it by Ctrl-C whenever you like, and the
    next run goes on from there. Recorded failures are done again only with --retry-failed, unless the
    connection or a rate limit was to blame.
    """
    redo = Redo(failed=retry_failed, stale=refresh_stale)
    suite, catalog, jobs = _jobs(where, suite_name, languages, players, judges, redo)
    run_jobs(where, catalog, jobs, suite, None if max_cost is None else Decimal(str(max_cost)), no_cache)


@click.command()
@SUITE
@LANGUAGE
@PLAYER
@JUDGE
@REDO[0]
@REDO[1]
@click.option("--reparse", is_flag=True, help="Read the kept raw replies again with today's parser. No call.")
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="As in `bench run`.")
@click.option("--no-cache", is_flag=True, help="Neither read nor fill the response cache.")
@places
def judge(
    suite_name: str,
    languages: tuple[str, ...],
    players: tuple[str, ...],
    judges: tuple[str, ...],
    retry_failed: bool,
    refresh_stale: bool,
    reparse: bool,
    max_cost: float | None,
    no_cache: bool,
    where: Places,
) -> None:
    """Have conversations that exist judged, without talking to any player.

    Name further judges by --judge; without --player all players of the suite are judged.
    """
    redo = Redo(failed=retry_failed, stale=refresh_stale)
    suite, catalog, jobs = _jobs(where, suite_name, languages, players, judges, redo, talk=False)
    if reparse:
        for job in jobs:
            changed, seen = _reparse(where.tree(), job, judges)
            click.echo(f"{suite.id} {job.protocol.language}: {seen} judgements read again, {changed} changed")
        return
    run_jobs(where, catalog, jobs, suite, None if max_cost is None else Decimal(str(max_cost)), no_cache)


def _reparse(tree: ResultsTree, job: Job, judges: tuple[str, ...]) -> tuple[int, int]:
    """Read the raw replies of a job's players again; returns (judgements changed, judgements seen)."""
    changed = seen = 0
    suite, language = job.protocol.suite.id, job.protocol.language
    for player in job.players:
        conversations = {(c.character, c.situation): c for c in tree.conversations(suite, language, player)}
        for record in tree.judgements(suite, language, player):
            conversation = conversations.get((record.character, record.situation))
            if (judges and record.judge not in judges) or conversation is None:
                continue
            if record.conversation_sha256 != messages_sha256(conversation.messages):
                continue
            seen += 1
            again = job.protocol.reparsed(record, conversation)
            changed += again != record and tree.write_judgement(again, replace=True)
    return changed, seen
