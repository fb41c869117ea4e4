"""judge_suite: score existing conversations by ordinary calls or in batches, or re-parse stored replies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path

from bench.chat.batch_states import pending_files
from bench.records import messages_sha256
from bench.run.executing import execute, with_work
from bench.run.jobs import Job, Part, plan_suite
from bench.run.loop import run_async
from bench.run.prices import Spending, check_prices
from bench.run.progress import Listener, RunReport
from bench.run.shards import Shard
from bench.suites.layers import Prompts
from bench.tables import counted


def judge_suite(
    suite: str,
    *,
    languages: Iterable[str] = (),
    players: Iterable[str] = (),
    judges: Iterable[str] = (),
    retry_failed: bool = False,
    refresh_stale: bool = False,
    shard: Shard | None = None,
    repeat: int | None = None,
    reparse: bool = False,
    batch: bool = False,
    poll_seconds: float = 30.0,
    max_cost: Decimal | None = None,
    unknown_prices: bool = False,
    results: Path | str = "results",
    models: Path | str = "models.toml",
    prompts: Prompts = "prompts",
    cache: Path | str | None = ".cache/responses",
    listener: Listener | None = None,
) -> RunReport:
    """Score existing conversations of ``suite``; no player is called. See also :func:`bench.run_suite`.

    Args:
        players: Judge only these players; default: every player that has results.
        reparse: Re-parse the stored replies instead; makes no API calls.
        batch: Ask through the judges' Batch APIs, which is cheaper and takes up to 24 hours. Needs ``cache``,
            through which the answers arrive.
        poll_seconds: With ``batch``, seconds between two queries of its state.

    Returns:
        What was done; ``unanswered`` lists requests whose batch ended before they were answered.

    Raises:
        UserError: For the same reasons as :func:`bench.run_suite`.
    """
    check_ways(reparse, batch, shard, cache)
    listener = listener or Listener()
    part = Part(tuple(languages), tuple(players), tuple(judges), retry_failed, refresh_stale, shard, repeat)
    jobs = plan_suite(suite, part, results, models, prompts, talk=False)
    report = RunReport()
    if reparse:
        report.reparsed = {job.name: _reparse(job, part.judges) for job in jobs}
        return report
    limits = Spending(max_cost, unknown_prices=unknown_prices)
    check_prices(jobs, limits, listener.warning)
    folder = None if cache is None else Path(cache)
    if batch and folder is not None:
        from bench.run.batch_judging import Batching, judge_in_batches

        catalog = jobs[0].protocol.catalog
        judge_in_batches(jobs, Batching(catalog, folder, suite, limits, poll_seconds, listener), report)
        return report
    mention_pending(folder, suite, f"bench judge {suite} --batch", listener)
    if work := with_work(jobs, report, listener):
        run_async(lambda: execute(work, folder, max_cost, report, listener))
    return report


def check_ways(reparse: bool, batch: bool, shard: Shard | None, cache: Path | str | None) -> None:
    """Raise ValueError for ways to judge that exclude each other."""
    if (reparse and (batch or shard)) or (batch and cache is None):
        raise ValueError("reparse excludes batch and shard, and batch needs a cache")


def mention_pending(folder: Path | None, name: str, command: str, listener: Listener) -> None:
    """Warn if batches called ``name`` are under way: ordinary calls ask, and pay, again."""
    count = sum(1 for _ in pending_files(folder, name)) if folder else 0
    if count:
        listener.warning(
            f"{counted(count, 'batch', 'batches')} not collected yet, so requests are now made, and paid for,"
            f" again. `{command}` would collect the answers."
        )


def _reparse(job: Job, judges: Sequence[str]) -> tuple[int, int]:
    """Re-parse the judgements of a job's players; returns how many, and how many of them changed."""
    seen = changed = 0
    tree = job.tree
    suite, language = job.protocol.suite.id, job.protocol.language
    for player in job.players:
        talks = tree.conversations(suite, language, player)
        conversations = {(c.character, c.situation, c.repeat): c for c in talks}
        for record in tree.judgements(suite, language, player):
            conversation = conversations.get((record.character, record.situation, record.repeat))
            if (judges and record.judge not in judges) or conversation is None:
                continue
            if record.conversation_sha256 != messages_sha256(conversation.messages):
                continue
            seen += 1
            again = job.protocol.reread(record, conversation)
            if again.status == "ok" and len(again.turns) != job.protocol.verdicts_due(conversation):
                continue  # the judge stopped at a reply that can now be parsed: further questions are missing
            changed += again != record and tree.write_judgement(again, replace=True)
    return seen, changed
