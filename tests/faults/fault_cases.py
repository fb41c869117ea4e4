"""One small run for every fault, role and length of trouble: a talk of two turns and its judgement."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from bench.catalog import Catalog
from bench.chat import Chat, RetryPolicy, Stats
from bench.protocols.pingpong_v2 import PingPongV2
from bench.records import Conversation, Failure, Judgement, Role
from bench.results import ResultsTree
from bench.run.plan import make_plan
from bench.run.progress import RunReport
from bench.run.runner import run_plan
from bench.suites import Suite, load_suite
from tests.scripted_faults import FAULTS
from tests.scripted_server import Answer, ScriptedServer, Seen, plausible
from tests.tiny import make_tiny, served_at

Length = Literal["once", "always"]
ROLES: tuple[Role, ...] = get_args(Role)
LENGTHS: tuple[Length, ...] = get_args(Length)
MODELS: dict[Role, str] = {"player": "bard-1", "interrogator": "asker-1", "judge": "strict-1"}

QUICK = RetryPolicy(attempts=3, first_wait=0.01, longest_backoff=0.02)
TIME_LIMIT = 1.0
"""Seconds of a call where a fault is one of time; elsewhere the machine may be as slow as it likes."""
SLOW_FAULTS = ("stall", "slow")


@dataclass(frozen=True)
class Ended:
    """What a small run came to."""

    stats: Stats
    report: RunReport
    conversation: Conversation
    judgement: Judgement | None

    @property
    def failure(self) -> Failure | None:
        """The recorded failure, of the conversation or of its judgement."""
        return self.conversation.failure or (self.judgement.failure if self.judgement else None)

    @property
    def repairs(self) -> tuple[str, ...]:
        """What had to be repaired in replies."""
        return self.conversation.repairs + (self.judgement.repairs if self.judgement else ())

    @property
    def fate(self) -> str:
        """What became of a fault, in a word; ``read``: it was taken as it came, or after a repair."""
        if self.failure is not None:
            return "failed"
        if self.report.re_asks:
            return "re-asked"
        return "retried" if self.stats.retried else "read"


@dataclass
class _Answerer:
    """Plays ``fault`` to one role's first request, or to all; the path of the request says which and when."""

    fault: str
    asked: Counter[str] = field(default_factory=Counter)

    def __call__(self, seen: Seen) -> Answer:
        _, role, length, *_ = seen.path.split("/")
        model = seen.body["model"]
        self.asked[f"{role} {length} {model}"] += 1
        first = self.asked[f"{role} {length} {model}"] == 1
        if model == MODELS[role] and (first or length == "always"):  # type: ignore[index]
            return FAULTS[self.fault](seen)
        return plausible(seen)


def all_cases(fault: str, folder: Path) -> dict[tuple[Role, Length], Ended]:
    """How ``fault`` ends in every role, befalling it once and always; all side by side."""

    tiny = make_tiny(folder / "tiny")
    suite, catalog = load_suite(tiny.prompts, "tiny"), tiny.catalog()
    changes = {"timeout_seconds": TIME_LIMIT} if fault in SLOW_FAULTS else {}

    async def main() -> dict[tuple[Role, Length], Ended]:
        async with ScriptedServer(_Answerer(fault), record=False) as server:
            keys = [(role, length) for role in ROLES for length in LENGTHS]
            urls = [server.url.replace("/v1", f"/{role}/{length}/v1") for role, length in keys]
            ends = [
                _case(suite, served_at(catalog, url, **changes), ResultsTree(folder / role / length))
                for url, (role, length) in zip(urls, keys, strict=True)
            ]
            return dict(zip(keys, await asyncio.gather(*ends), strict=True))

    return asyncio.run(main())


async def _case(suite: Suite, catalog: Catalog, tree: ResultsTree) -> Ended:
    protocol, report = PingPongV2(suite, "en", catalog), RunReport()
    cell = protocol.cells("bard")[0]
    plan = make_plan(protocol, tree, ["bard"], ["strict"])
    plan.work[:] = [item for item in plan.work if item.cell == cell]
    async with Chat(catalog, retry=QUICK, environ={}, dotenv=tree.root / ".env") as chat:
        await run_plan(protocol, plan, tree, chat.ask, report)
    conversation = tree.conversation(cell)
    assert conversation is not None
    return Ended(chat.stats, report, conversation, tree.judgement(cell, "strict"))
