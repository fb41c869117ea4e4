"""500 conversations at once, against a server in a process of its own that takes 2 seconds to answer.

    python tests/benchmarks/load_500.py [--delay 2] [--turns 8]

The whole run: real prompts, cache, records on disk. Prints calls a second beside the ideal, CPU a call,
memory, descriptors, and the same run from the cache. The exit status is 1 where a limit is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import uvloop

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import bench.chat.endpoint  # noqa: E402, F401  # loaded late by a run; its second is no part of the load
from bench.chat import Chat, ResponseCache  # noqa: E402
from bench.results import ResultsTree  # noqa: E402
from bench.run.plan import make_plan  # noqa: E402
from bench.run.runner import run_plan  # noqa: E402
from tests.tiny import CARD, SITUATION, Tiny, edit, make_tiny, play_all  # noqa: E402

CHARACTERS, SITUATIONS = 25, 20
CONVERSATIONS = CHARACTERS * SITUATIONS
REPLAYED_A_SECOND = 2000
MOST_MEGABYTES = 500
MOST_CPU = 3.0
LEAST_OF_IDEAL = 0.9


@dataclass(frozen=True)
class Load:
    """One run, from its first call to its last record."""

    calls: int
    sent: int
    wall: float
    cpu: float


@contextmanager
def server(delay: float) -> Iterator[str]:
    """The scripted server's base URL."""
    command = [sys.executable, str(ROOT / "tests/scripted_server.py"), "--delay", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def wide(folder: Path, url: str, turns: int) -> Tiny:
    """A bench of 500 scenes."""
    tiny = make_tiny(folder, url)
    for place in (tiny.card_file.parent, tiny.situation_file.parent):
        for path in place.glob("*.toml"):
            path.unlink()
    for n in range(CHARACTERS):
        text = CARD.format(name=f"Character {n}")
        tiny.card_file.with_stem(f"character-{n}").write_text(text, encoding="utf-8")
    for n in range(SITUATIONS):
        text = SITUATION.format(title=f"situation-{n}", turns=turns)
        tiny.situation_file.with_stem(f"situation-{n}").write_text(text, encoding="utf-8")
    play_all(tiny)
    edit(tiny.models, "max_concurrent = 4", f"max_concurrent = {CONVERSATIONS}")
    return tiny


async def load(tiny: Tiny, results: str) -> Load:
    """Run the suite into the named results folder, with the cache that is there."""
    protocol, catalog, tree = tiny.protocol(), tiny.catalog(), ResultsTree(tiny.root / results)
    plan = make_plan(protocol, tree, ["bard"], ["strict"])
    wall, cpu = perf_counter(), process_time()
    with ResponseCache(tiny.root / "cache", print) as cache:
        async with Chat(catalog, cache=cache) as chat:
            report = await run_plan(protocol, plan, tree, chat.ask)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    done = (report.conversations, report.judgements, report.conversations_failed, report.judgements_failed)
    if done != (CONVERSATIONS, CONVERSATIONS, 0, 0):
        raise SystemExit(f"the run did not do what it was to do: {report}, {chat.stats}")
    return Load(chat.stats.asked, chat.stats.sent, wall, cpu)


def open_descriptors() -> int:
    folder = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")
    return len(os.listdir(folder))  # noqa: PTH208  # an iterator would count its own


def say(what: str, value: float, limit: float, note: str, *, least: bool = False) -> bool:
    """Print a number beside its limit; whether it holds."""
    held = value >= limit if least else value <= limit
    bound = f"{'at least' if least else 'at most'} {limit:g}"
    print(f"{'PASS' if held else 'FAIL'}  {what:<40} {value:>9.2f}  {bound:<14} {note}", flush=True)
    return held


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--delay", type=float, default=2.0, help="seconds until the server answers")
    parser.add_argument("--turns", type=int, default=8, help="of every conversation")
    options = parser.parse_args()
    run: Callable[[Coroutine[Any, Any, Load]], Load] = uvloop.run
    uvloop.run(asyncio.sleep(0))  # it keeps a descriptor or two for itself
    descriptors = open_descriptors()
    with tempfile.TemporaryDirectory() as name:
        with server(options.delay) as url:
            tiny = wide(Path(name) / "bench", url, options.turns)
            fresh = run(load(tiny, "fresh"))
        # From here on nobody listens.
        replayed = run(load(tiny, "replayed"))
    ideal = CONVERSATIONS / options.delay
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    megabytes //= 2**20 if sys.platform == "darwin" else 2**10
    if fresh.sent != fresh.calls or replayed.sent:
        raise SystemExit(f"calls were sent twice, or not at all: {fresh}, {replayed}")
    rate = fresh.calls / fresh.wall
    note = f"{rate:.0f}/s; {fresh.calls} calls in {fresh.wall:.1f} s"
    verdicts = [
        say("calls a second, of the ideal", rate / ideal, LEAST_OF_IDEAL, note, least=True),
        say("CPU a call, ms", 1000 * fresh.cpu / fresh.calls, MOST_CPU, f"{fresh.cpu:.1f} s"),
        say("peak memory, MB", megabytes, MOST_MEGABYTES, ""),
        say("descriptors left open", open_descriptors() - descriptors, 0, ""),
        say(
            "replayed from the cache, calls a second",
            replayed.calls / replayed.wall,
            REPLAYED_A_SECOND,
            f"{replayed.wall:.1f} s, CPU {1000 * replayed.cpu / replayed.calls:.2f} ms a call",
            least=True,
        ),
    ]
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
