"""What a run is about: a part of a suite, planned for each language, with every name checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.catalog import Catalog, load_catalog
from bench.chat.secrets import Environment
from bench.errors import CatalogError
from bench.protocols import Protocol, protocol_for
from bench.results import ResultsTree
from bench.run.plan import Plan, make_plan
from bench.run.shards import Shard
from bench.suites import Suite, load_suite, once
from bench.suites.layers import Prompts


@dataclass(frozen=True)
class Part:
    """A part of a suite. Empty languages, players or judges mean all that the suite names."""

    languages: tuple[str, ...] = ()
    players: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    retry_failed: bool = False
    refresh_stale: bool = False
    shard: Shard | None = None
    repeat: int | None = None
    """Only this sample of each scene; None: all repeats of the suite."""
    interrogator: str = ""
    """A model instead of the suite's interrogator."""


@dataclass(frozen=True)
class Job:
    """One suite in one language and what is to be done for it."""

    protocol: Protocol
    plan: Plan
    players: tuple[str, ...]
    tree: ResultsTree
    judges: tuple[str, ...]
    refreshes: bool = False
    """Whether it replaces what is out of date."""

    @property
    def other_judges(self) -> list[str]:
        """Judges of these players who are not part of the job, sorted."""
        suite, language = self.protocol.suite.id, self.protocol.language
        present = {judge for player in self.players for judge in self.tree.judges(suite, language, player)}
        return sorted(present - set(self.judges))

    def left_stale(self) -> dict[str, int]:
        """How many judgements of each other judge will be out of date once the job is done: those of
        conversations that are played again and, of a job that refreshes, those that are out of date now."""
        others = self.other_judges
        redone = [item.cell for item in self.plan.work if item.talk] if others else []
        left = {(cell, judge) for cell in redone for judge in others if self.tree.judgement(cell, judge)}
        if others and self.refreshes:
            known = [judge for judge in others if judge in self.protocol.catalog.models]
            now = make_plan(self.protocol, self.tree, self.players, known, talk=False)
            left |= {(item.cell, judge) for item in now.stale for judge in item.judges}
        return dict(sorted(Counter(judge for _, judge in left).items()))

    @property
    def name(self) -> str:
        """Suite and language."""
        return f"{self.protocol.suite.id} {self.protocol.language}"


def plan_suite(
    name: str,
    part: Part,
    results: Path | str,
    models: Catalog | Path | str,
    prompts: Prompts,
    *,
    talk: bool = True,
) -> list[Job]:
    """Plan what ``part`` of the suite called ``name`` still needs, one job for each language.

    Without ``talk`` only judgements are planned, and the players are by default those that have results.
    Raises CatalogError for published scores, for an unknown suite, language or model, and for a model that
    cannot do what it must.
    """
    catalog = models if isinstance(models, Catalog) else load_catalog(Path(models))
    tree = ResultsTree(Path(results), repeat=part.repeat)
    if tree.is_table(name):
        hint = f"`bench board {name}` shows them; another benchmark asked the models."
        raise CatalogError("published scores cannot be run or judged", where=name, hint=hint)
    suite = load_suite(prompts, name, check=False)
    suite = _asked(suite, part.interrogator, catalog)
    for player in part.players:
        catalog.model(player, "player")
    for judge in part.judges:
        catalog.model(judge, "judge")
    judges = once(part.judges) or suite.judges
    run_first = f"Run `bench run {suite.id}` first."
    jobs = []
    for language in once(part.languages) or suite.scenes:
        protocol = protocol_for(suite, language, catalog)
        protocol.sounds.source = tree.read_audio
        players = once(part.players) or suite.entry.player.models
        if not talk and not part.players:
            present = [info.player for info in tree.players(suite.id, language)]
            players = tuple(player for player in present if player in catalog.models)
            if not (players or part.languages):
                continue  # another language may have results
        if not players:
            raise CatalogError(
                "the suite names no players" if talk else "no player has results yet",
                where=f"suite {suite.id}, language {language}",
                hint="Name one with --player." if talk else run_first,
            )
        protocol.check_models(players if talk else (), judges)
        plan = make_plan(
            protocol,
            tree,
            players,
            judges,
            talk=talk,
            retry_failed=part.retry_failed,
            refresh_stale=part.refresh_stale,
            shard=part.shard,
        )
        jobs.append(Job(protocol, plan, players, tree, judges, part.refresh_stale))
    if not jobs:
        raise CatalogError("no player has results yet", where=f"suite {suite.id}", hint=run_first)
    return jobs


def _asked(suite: Suite, interrogator: str, catalog: Catalog) -> Suite:
    """``suite`` with another interrogator, if one is named."""
    if not interrogator:
        return suite
    catalog.model(interrogator, "interrogator")
    return suite.asked_by(interrogator)


def keep_private(jobs: Iterable[Job]) -> None:
    """Have git ignore the results of suites that play a private card. Raises StorageError."""
    for job in jobs:
        if any(card.private for card in job.protocol.scenes.cards.values()):
            job.tree.keep_private(job.protocol.suite.id)


def missing_keys(jobs: Sequence[Job]) -> dict[str, list[str]]:
    """The environment variables of API keys that the plans of ``jobs`` need and nobody has set, each with
    the models that need it."""
    environment = Environment()
    missing: dict[str, list[str]] = {}
    for name in models_called(jobs):
        variable = jobs[0].protocol.catalog.provider_of(name).api_key_env
        if variable is not None and environment.get(variable) is None:
            missing.setdefault(variable, []).append(name)
    return missing


def models_called(jobs: Iterable[Job]) -> list[str]:
    """Every model that the plans of ``jobs`` call, sorted."""
    names: set[str] = set()
    for job in jobs:
        for item in job.plan.work:
            names.update(name for judge in item.judges for name in job.protocol.judge_models(judge))
            if item.talk:
                names.update(name for _, name in job.protocol.talkers(item.cell.player))
    return sorted(names)
