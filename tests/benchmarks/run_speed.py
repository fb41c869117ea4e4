"""How near `bench run` comes to the speed of its server: run by `make benchmarks`, not by the tests.

    python tests/benchmarks/run_speed.py [--repeat 3] [--delay 0.2]

The scripted server answers after 200 ms in a process of its own. `bench run` plays 64 conversations against
it (8 characters, 8 situations, one of 8 turns and seven of 4, one judge) just as a user would start it: a
process of its own, real prompts, cache, records on disk, progress on a pipe. What the command takes before
its first call and after its last counts. The exit status is 1 where a limit is missed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

ROOT = Path(__file__).resolve().parents[2]

CONVERSATIONS = 64
TURNS = 8 * (8 + 7 * 4)
CALLS = 2 * TURNS + CONVERSATIONS
LONGEST_CHAIN = 2 * 8 + 1
"""Calls of the longest conversation and its judge, which have to wait for one another."""

SUITE = """
title = "Speed"
description = "Every scene of one language, against a server that plays by script."
version = "1"
[player]
models = ["player"]
sampling = { temperature = 0.6, top_p = 0.9, max_tokens = 1536 }
[interrogator]
models = ["interrogator"]
sampling = { temperature = 0.8, top_p = 0.95, max_tokens = 1024 }
[judge]
models = ["judge"]
sampling = { temperature = 0.1, top_p = 0.95, max_tokens = 4096 }
[languages.en]
characters = [
    "baba-yaga",
    "gorvath-the-retired",
    "mags-the-raccoon",
    "pip-the-pawn",
    "professor-barbenfouillis",
    "scheherazade",
    "sherlock-holmes",
    "tove-adeyemi",
]
situations = [
    "cannot-sleep",
    "first-hello",
    "new-orders",
    "old-friend",
    "only-a-machine",
    "school-trouble",
    "shadow-at-the-bridge",
    "supper-for-two",
]
"""
PROVIDER = """
[providers.scripted]
base_url = "{url}"
json_schema = true
seed = true
max_concurrent = {at_once}
"""
MODEL = """
[models.{name}]
provider = "scripted"
model = "scripted-{name}"
name = "{name}"
family = "Scripted"
weights = "open"
licence = "none"
prices = {{ input = "0.40", output = "1.60" }}
"""
REPORT = re.compile(
    r"(?P<conversations>\d+) conversations \((?P<unheld>\d+) failed\), "
    r"(?P<judgements>\d+) judgements \((?P<unjudged>\d+) failed\); "
    r"(?P<sent>\d+) requests sent, (?P<retried>\d+) of them retries, (?P<cached>\d+) replies from cache"
)
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Compiled modules are kept, as they are where a package is installed."""
NOTHING_TO_DO = "nothing new to run"


@dataclass(frozen=True)
class Measured:
    """One command, from the outside: seconds on the clock, CPU seconds (user and system), peak memory."""

    wall: float
    cpu: float
    megabytes: float
    output: str

    def check_report(self, *, sent: int, cached: int) -> None:
        """Raise SystemExit unless the command reports the whole run, without a failure, and so many calls."""
        report = REPORT.search(self.output)
        wanted = {
            "conversations": CONVERSATIONS,
            "unheld": 0,
            "judgements": CONVERSATIONS,
            "unjudged": 0,
            "sent": sent,
            "retried": 0,
            "cached": cached,
        }
        found = {name: int(value) for name, value in report.groupdict().items()} if report else {}
        if found != wanted:
            raise SystemExit(f"the run did not do what it was to do:\n{self.output}")


class Bench:
    """`bench run` in a folder of its own: real prompts and a suite, and a catalog for each concurrency."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        self._prompts = folder / "prompts"
        shutil.copytree(ROOT / "prompts", self._prompts)
        (self._prompts / "pingpong_v2" / "speed.toml").write_text(SUITE, encoding="utf-8")

    def run(self, at_once: int, *, cache: str, results: str) -> Measured:
        """`bench run` of the suite, ``at_once`` calls at once, with the named cache and results folders."""
        models = self._folder / "models.toml"
        entries = [MODEL.format(name=name) for name in ("player", "interrogator", "judge")]
        models.write_text(PROVIDER.format(url=self._url, at_once=at_once) + "".join(entries))
        places = {
            "--models": models,
            "--prompts": self._prompts,
            "--cache": self._folder / cache,
            "--results": self._folder / results,
        }
        options = [str(word) for pair in places.items() for word in pair]
        return measured([sys.executable, "-m", "bench.cli", "run", "speed", *options])


def measured(command: list[str]) -> Measured:
    """Run ``command`` to its end, with its output on a pipe as where there is no terminal."""
    start = perf_counter()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    output = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)  # unlike wait(), it tells what this one child used
    wall = perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nended with {process.returncode}:\n{output}")
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Measured(wall, usage.ru_utime + usage.ru_stime, kilobytes / 1024, output)


@contextmanager
def scripted_server(delay: float) -> Iterator[str]:
    """The base URL of a scripted server in a process of its own; afterwards nothing listens there."""
    command = [sys.executable, str(ROOT / "tests" / "scripted_server.py"), "--delay", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class Verdicts:
    """Prints each number beside its limit, and keeps whether all have held."""

    def __init__(self) -> None:
        self.missed = 0

    def say(self, what: str, value: float, limit: float, unit: str = "", note: str = "") -> None:
        held = value <= limit
        self.missed += not held
        number, bound = f"{value:.2f}{unit}", f"limit {limit:g}{unit}"
        print(f"{'PASS' if held else 'FAIL'}  {what:<46} {number:>10}  {bound:<14} {note}", flush=True)


@dataclass(frozen=True)
class Runs:
    """What was measured: 64 and 8 calls at once, the same from the cache, and with nothing left to do."""

    wide: list[Measured]
    narrow: Measured
    replayed: list[Measured]
    idle: list[Measured]


def all_runs(folder: Path, delay: float, repeat: int) -> Runs:
    """Measure everything. Raises SystemExit where a run did not do all that it had to, or more."""
    times = range(repeat)
    with scripted_server(delay) as url:
        bench = Bench(folder, url)
        wide = [bench.run(64, cache=f"cache-{n}", results=f"results-{n}") for n in times]
        narrow = bench.run(8, cache="cache-narrow", results="results-narrow")
    # From here on nobody listens: a connection would end the command with an error.
    replayed = [bench.run(64, cache="cache-0", results=f"replayed-{n}") for n in times]
    idle = [bench.run(64, cache=f"no-cache-{n}", results="results-0") for n in times]
    for run in (*wide, narrow):
        run.check_report(sent=CALLS, cached=0)
    for run in replayed:
        run.check_report(sent=0, cached=CALLS)
    for run in idle:
        if NOTHING_TO_DO not in run.output:
            raise SystemExit(f"a finished run was not left alone:\n{run.output}")
    return Runs(wide, narrow, replayed, idle)


def judged(runs: Runs, delay: float) -> Verdicts:
    """Print every number beside its limit. ``bare``: what a command takes that has nothing to do."""
    verdicts = Verdicts()
    chain, ideal = LONGEST_CHAIN * delay, CALLS * delay / 8
    bare = median(run.wall for run in runs.idle)
    walls = [run.wall for run in runs.wide]
    note = f"{listed(walls)} s / {chain:.1f} s; {(median(walls) - bare) / chain:.2f} without {bare:.2f} s"
    verdicts.say("64 at once: wall / longest chain", median(walls) / chain, 1.25, "", f"{note} of start")
    note = f"{runs.narrow.wall:.2f} s / {ideal:.1f} s"
    verdicts.say("8 at once: wall / (calls x delay / 8)", runs.narrow.wall / ideal, 1.1, "", note)
    bare = median(run.cpu for run in runs.idle)
    for what, measurements in (("64 at once", runs.wide), ("8 at once", [runs.narrow])):
        cpu = [1000 * run.cpu / CALLS for run in measurements]
        note = f"{listed(cpu)}; {median(cpu) - 1000 * bare / CALLS:.2f} without {bare:.2f} s of start"
        verdicts.say(f"CPU a call, {what}", median(cpu), 3, " ms", note)
    memory = max(run.megabytes for run in (*runs.wide, runs.narrow, *runs.replayed))
    verdicts.say("peak memory", memory, 300, " MB")
    for what, measurements, limit in (
        ("replay from the cache, no connection", runs.replayed, 5),
        ("second run, nothing to do, no connection", runs.idle, 10),
    ):
        walls = [run.wall for run in measurements]
        verdicts.say(what, median(walls), limit, " s", listed(walls))
    return verdicts


def listed(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3, help="how often what takes seconds is measured")
    parser.add_argument("--delay", type=float, default=0.2, help="seconds until the server answers")
    options = parser.parse_args()
    delay = options.delay
    print(
        f"{CONVERSATIONS} conversations, {TURNS} turns, {CALLS} calls of {1000 * delay:.0f} ms;"
        f" medians of {options.repeat}",
        flush=True,
    )
    measured([sys.executable, "-c", "import bench.cli.running, bench.chat.endpoint"])  # compiles what is new
    with tempfile.TemporaryDirectory() as name:
        runs = all_runs(Path(name), delay, options.repeat)
    return 1 if judged(runs, delay).missed else 0


if __name__ == "__main__":
    sys.exit(main())
