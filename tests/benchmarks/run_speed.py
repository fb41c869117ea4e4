"""How near `bench run` comes to the speed of its server: run by `make benchmarks`, not by the tests.

    python tests/benchmarks/run_speed.py [--repeat 3] [--delay 0.2]

The scripted server answers after 200 ms in a process of its own. `bench run` plays 64 conversations against it
(8 characters, 8 situations, one of 8 turns and seven of 4, one judge) as a user's command would: a process of
its own, real prompts, cache, records on disk, progress on a pipe. What the command takes before its first call
and after its last counts. The exit status is 1 where a limit is missed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
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
NOTHING_TO_DO = "everything is done, no call made"


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
        """`bench run` of the suite with ``at_once`` calls at once, with the named cache and results folders."""
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
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
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


def repeated(count: int, run: Callable[[int], Measured]) -> list[Measured]:
    return [run(number) for number in range(count)]


def listed(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3, help="how often what takes seconds is measured")
    parser.add_argument("--delay", type=float, default=0.2, help="seconds until the server answers")
    options = parser.parse_args()
    repeat, delay = options.repeat, options.delay
    chain, narrow = LONGEST_CHAIN * delay, CALLS * delay / 8
    verdicts = Verdicts()
    print(f"{CONVERSATIONS} conversations, {TURNS} turns, {CALLS} calls of {1000 * delay:.0f} ms; median of {repeat}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with scripted_server(delay) as url:
            bench = Bench(folder, url)
            wide = repeated(repeat, lambda n: bench.run(64, cache=f"cache-{n}", results=f"results-{n}"))
            eight = bench.run(8, cache="cache-eight", results="results-eight")
        for run in (*wide, eight):
            run.check_report(sent=CALLS, cached=0)
        # From here on nobody listens: a connection would end the command with an error.
        replays = repeated(repeat, lambda n: bench.run(64, cache="cache-0", results=f"replayed-{n}"))
        for run in replays:
            run.check_report(sent=0, cached=CALLS)
        again = repeated(repeat, lambda n: bench.run(64, cache=f"no-cache-{n}", results="results-0"))
        for run in again:
            if NOTHING_TO_DO not in run.output:
                raise SystemExit(f"a finished run was not left alone:\n{run.output}")

    walls = [run.wall for run in wide]
    verdicts.say(
        "64 at once: wall / longest chain", median(walls) / chain, 1.25, "", f"{listed(walls)} s / {chain:.1f} s"
    )
    verdicts.say("8 at once: wall / ideal", eight.wall / narrow, 1.1, "", f"{eight.wall:.2f} s / {narrow:.1f} s")
    for what, runs in (("64 at once", wide), ("8 at once", [eight])):
        cpu = [1000 * run.cpu / CALLS for run in runs]
        net = [1000 * (run.cpu - again[0].cpu) / CALLS for run in runs]
        note = f"{listed(cpu)}; without start and end of the command {median(net):.2f} ms"
        verdicts.say(f"CPU a call, {what}", median(cpu), 3, " ms", note)
    verdicts.say("peak memory", max(run.megabytes for run in (*wide, eight, *replays)), 300, " MB")
    times = [run.wall for run in replays]
    verdicts.say("replay from the cache, no connection", median(times), 5, " s", listed(times))
    times = [run.wall for run in again]
    verdicts.say("second run, nothing to do, no connection", median(times), 10, " s", listed(times))
    return 1 if verdicts.missed else 0


if __name__ == "__main__":
    sys.exit(main())
