"""Plans which pairs of players a suite's judges compare next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.boards.compare_rounds import Chosen, Rounds
from bench.boards.loading import load_board
from bench.boards.rating import compared, ranked_scores
from bench.catalog import Catalog, load_catalog
from bench.errors import CatalogError
from bench.protocols import protocol_for
from bench.protocols.base import Estimate
from bench.protocols.comparing import Comparer
from bench.records import sha256_of
from bench.results import ResultsTree
from bench.results.comparison_records import Comparison
from bench.results.comparisons import pair_of
from bench.run.comparing import CompareWork, failed_temporarily
from bench.run.jobs import Part
from bench.scores.pair_choice import NEIGHBOURS, Choice, Picked, choose, pairs_within, rotated
from bench.scores.pairwise_board import quick_ratings
from bench.scores.pairwise_data import Evidence, Slot, slot_of
from bench.suites import load_suite, once
from bench.suites.layers import Prompts
from bench.toml_entries import check_known

ROUNDS = 8
"""How often pairs are chosen again, from what the comparisons so far have shown."""
SMALLEST_ROUND = 32


@dataclass(frozen=True)
class PairPlan:
    """Which pairs to compare."""

    neighbours: int = NEIGHBOURS
    """Pairs within this many ranks of each other, and some at random."""
    most: int | None = None
    """Comparisons that each judge makes in all, or all judges together if they rotate. None: as many as there
    are pairs of neighbours and scenes."""
    width: float | None = None
    """Stop once no 95% interval of a rating is wider than this (log odds)."""
    rotate: bool = False
    """Each comparison is made by one of the judges, in turn; always so where the suite's judges rotate."""
    seed: int = 0


@dataclass
class CompareJob:
    """The comparisons of one suite in one language: what there is, and what is needed."""

    comparer: Comparer
    tree: ResultsTree
    evidence: Evidence
    """What exists; its records grow during a run."""
    order: tuple[str, ...]
    """Players, best first by score."""
    judges: tuple[str, ...]
    part: Part
    plan: PairPlan
    states: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    """How many of these are not repeated."""
    resumed: list[CompareWork] = field(default_factory=list)
    """Comparisons that an earlier command chose and paid for. They are made, whatever would be chosen now."""

    @property
    def name(self) -> str:
        """Suite and language."""
        return f"{self.comparer.protocol.suite.id} {self.comparer.protocol.language}"

    @property
    def slots(self) -> Mapping[str, list[Slot]]:
        """Slots in which each player has a complete conversation."""
        found: dict[str, list[Slot]] = {name: [] for name in self.order}
        for (player, slot), talk in self.evidence.talks.items():
            if talk.complete and player in found:
                found[player].append(slot)
        return found

    @property
    def target(self) -> int:
        """Comparisons that each judge, or all together, should make in all."""
        if self.plan.most is not None:
            return self.plan.most
        slots = len({slot for _, slot in self.evidence.talks})
        return pairs_within(len(self.order), self.plan.neighbours, slots)

    def add(self, records: Sequence[Comparison]) -> None:
        """Add what has been compared."""
        new = {_key(record): record for record in records}
        kept = [record for record in self.evidence.records if _key(record) not in new]
        self.evidence = replace(self.evidence, records=(*kept, *new.values()))

    def again(self) -> list[CompareWork]:
        """Existing comparisons that are to be repeated; counts the states of all, and of those left."""
        self.states, self.left = Counter(), Counter()
        work: list[CompareWork] = []
        for record in self.evidence.records:
            if record.judge not in self.judges or not self._mine((*record.players, slot_of(record))):
                continue
            state = self._state(record)
            self.states[state] += 1
            retried = state == "failed" and (self.part.retry_failed or failed_temporarily(record))
            repeated = retried or (state == "stale" and self.part.refresh_stale)
            item = self._work(*record.players, slot_of(record), record.judge, anew=True) if repeated else None
            if item is None:
                self.left[state] += 1
            else:
                work.append(item)
        return work

    def _state(self, record: Comparison) -> str:
        slot = slot_of(record)
        talks = [self.evidence.talks.get((player, slot)) for player in record.players]
        present = [talk.sha256 for talk in talks if talk is not None and talk.complete]
        if len(present) < 2 or not self.comparer.fits(record, present):
            return "stale"
        return "failed" if any(verdict.status == "failed" for verdict in record.orders) else "done"

    def next_round(self, size: int | None = None) -> list[CompareWork]:
        """The comparisons to make next, at most ``size`` for each judge; None: all that are missing."""
        strengths = {} if size is None and not self.evidence.records else self._strengths()
        if self.plan.rotate:
            counts = Counter(judge for judge, _ in self._made())
            picked = self._picked(self.judges, strengths, size)
            dealt = rotated(picked, self.judges, counts)
        else:
            dealt = {judge: self._picked((judge,), strengths, size) for judge in self.judges}
        work = [self._work(*pick, judge) for judge, picks in dealt.items() for pick in picks]
        return [item for item in work if item is not None]

    @property
    def round_size(self) -> int:
        """Comparisons of a round."""
        return max(SMALLEST_ROUND, -(-self.target // ROUNDS))

    def reached(self) -> bool:
        """Whether every interval is as narrow as wanted."""
        if self.plan.width is None:
            return False
        table = quick_ratings(self.evidence)
        if table is None or not set(self.order) <= set(table.index):
            return False
        widths = table["high"] - table["low"]
        return bool(widths.notna().all() and widths.max() <= self.plan.width)

    def _strengths(self) -> Mapping[str, float]:
        table = quick_ratings(self.evidence)
        return {} if table is None else {str(name): float(score) for name, score in table["score"].items()}

    def _picked(
        self, judges: Sequence[str], strengths: Mapping[str, float], size: int | None
    ) -> list[Picked]:
        done = [pick for judge, pick in self._made() if judge in judges and self._mine(pick)]
        share = 1 if self.part.shard is None else self.part.shard.count
        left = max(0, -(-self.target // share) - len(done))
        choice = Choice(self.order, self.slots, strengths, done, self.plan.neighbours, self._mine)
        return choose(choice, left if size is None else min(left, size), self.plan.seed)

    def _made(self) -> list[tuple[str, Picked]]:
        """Judges and what they have compared, or will without being chosen."""
        made = [(record.judge, (*record.players, slot_of(record))) for record in self.evidence.records]
        return list(
            dict.fromkeys([*made, *((item.judge, (*item.players, item.slot)) for item in self.resumed)])
        )

    def chosen_before(self, rounds: Rounds) -> list[CompareWork]:
        """What an earlier command has chosen of this job and did not store."""
        made = {Chosen(judge=r.judge, players=r.players, slot=slot_of(r)) for r in self.evidence.records}
        work = [
            self._work(*item.players, item.slot, item.judge)
            for item in rounds.missing(made)
            if item.judge in self.judges
            and set(self.order).issuperset(item.players)
            and self._mine((*item.players, item.slot))
        ]
        return [item for item in dict.fromkeys(work) if item is not None]

    def _mine(self, pick: Picked) -> bool:
        """Whether a comparison belongs to this machine's part."""
        one, other, slot = pick
        if self.part.shard is None:
            return True
        number = int(sha256_of([*pair_of(one, other), *slot])[:8], 16) % self.part.shard.count
        return number == self.part.shard.number - 1

    def _work(
        self, one: str, other: str, slot: Slot, judge: str, *, anew: bool = False
    ) -> CompareWork | None:
        protocol = self.comparer.protocol
        for name in (one, other):
            talk = self.evidence.talks.get((name, slot))
            if talk is None or not talk.complete:
                return None
        cells = [protocol.cell(name, *slot) for name in pair_of(one, other)]
        anew = anew or self.part.retry_failed or self.part.refresh_stale
        return CompareWork((cells[0], cells[1]), judge, anew)

    def estimate(self, work: Sequence[CompareWork]) -> Estimate:
        """Expected calls and tokens of ``work``, from the lengths of the conversations."""
        if not work:
            return Estimate(0, 0, 0)
        sample = work[:: max(1, len(work) // 20)]
        made = []
        for item in sample:
            talks = [self.tree.conversation(cell) for cell in item.cells]
            if talks[0] is not None and talks[1] is not None:
                made.append(self.comparer.estimate((talks[0], talks[1])))
        scale = len(work) / max(1, len(made))
        return Estimate(
            2 * len(work),
            round(scale * sum(one.prompt_tokens for one in made)),
            round(scale * sum(one.completion_tokens for one in made)),
        )


def _key(record: Comparison) -> tuple[object, ...]:
    return record.judge, slot_of(record), record.players


def plan_comparisons(
    suite_id: str,
    part: Part,
    plan: PairPlan,
    results: Path | str,
    models: Path | str,
    prompts: Prompts,
) -> list[CompareJob]:
    """What ``part`` of a suite has and needs, one job for each language with results.

    Raises CatalogError for an unknown name, a suite that cannot be compared, or fewer than two players.
    """
    catalog, tree = load_catalog(Path(models)), ResultsTree(Path(results), repeat=part.repeat)
    suite = load_suite(prompts, suite_id, check=False)
    for judge in part.judges:
        catalog.model(judge, "judge")
    judges = once(part.judges) or suite.judges
    jobs = []
    for language in once(part.languages) or suite.scenes:
        protocol = protocol_for(suite, language, catalog)
        comparer = Comparer(protocol)
        protocol.check_models((), judges)
        present = {info.player for info in tree.players(suite_id, language)}
        check_known(part.players, present, "player with results", f"suite {suite_id} {language}")
        if len(set(part.players) or present) < 2:
            if part.languages:
                raise CatalogError(
                    "fewer than two players have results",
                    where=f"suite {suite_id}, language {language}",
                    hint=f"Run another: `bench run {suite_id} --player NAME`.",
                )
            continue
        jobs.append(_job(comparer, tree, catalog, part, plan, judges, prompts))
    if not jobs:
        hint = f"Run `bench run {suite_id} --player NAME` first."
        raise CatalogError("fewer than two players have results", where=f"suite {suite_id}", hint=hint)
    return jobs


def _job(
    comparer: Comparer,
    tree: ResultsTree,
    catalog: Catalog,
    part: Part,
    plan: PairPlan,
    judges: tuple[str, ...],
    prompts: Prompts,
) -> CompareJob:
    suite, language = comparer.protocol.suite, comparer.protocol.language
    ranked = ranked_scores(load_board(tree, suite.id, language, prompts=prompts).frames)
    chosen = set(part.players)
    order = tuple(str(name) for name in ranked.index if not chosen or name in chosen)
    repeats = (part.repeat,) if part.repeat else suite.repeats
    evidence = compared(tree, suite.id, language, catalog, rules=suite, repeats=repeats)
    others = tuple(judge for judge in evidence.other_judges if judge not in judges)
    if suite.entry.judges == "rotate":
        plan = replace(plan, rotate=True)
    return CompareJob(comparer, tree, replace(evidence, other_judges=others), order, judges, part, plan)
