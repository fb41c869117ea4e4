"""Time, CPU, memory and sizes of the website by the number of players, against their limits.

    python tests/benchmarks/site_speed.py [--players 16 63 252] [--keep DIR] [--jobs N]

Exits with 1 where a limit is missed: sizes and memory at 63 players, and times as CPU over two cores.

Makes results of so many players x 2 languages x 64 conversations x 2 judges (``--keep`` uses them again),
builds the site from nothing, once more unchanged, and once with one player more. CPU is that of all
processes; memory is the largest sum of what they share out among them (PSS). Wall time means little on a
busy machine, so CPU spread over two cores stands beside it.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

BUILD = """
import sys
from pathlib import Path
import bench.cli  # as in the command, garbage is looked for rarely
from bench.results import ResultsTree
from bench.site.build import build_site
if __name__ == "__main__":
    jobs = int(sys.argv[3]) or None
    report = build_site(ResultsTree(Path(sys.argv[1])), output=Path(sys.argv[2]), jobs=jobs)
    print(report.pages, report.conversations, report.written)
"""


@dataclass
class Measured:
    """One run of a build."""

    wall: float
    cpu: float
    memory: float
    pages: int
    conversations: int
    written: int

    def line(self, what: str) -> str:
        return (
            f"  {what:<12} {self.wall:7.1f} s wall {self.cpu:7.1f} s CPU ({self.cpu / 2:5.1f} on 2 cores)"
            f" {self.memory:6.0f} MB   {self.pages} pages, {self.written} files written"
        )


def measured(results: Path, output: Path, jobs: int) -> Measured:
    """Build in a process of its own, watched."""
    command = [sys.executable, "-c", BUILD, str(results), str(output), str(jobs)]
    before = os.times()
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with _watched(process.pid) as peak:
        said, _ = process.communicate()
    wall = time.perf_counter() - started
    after = os.times()
    if process.returncode:
        raise SystemExit(process.returncode)
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Measured(wall, cpu, max(peak) / 1024, *map(int, said.split()))


@contextmanager
def _watched(pid: int) -> Iterator[list[int]]:
    """Samples of the memory (kB) of a process and all below it."""
    samples = [0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.25):
            samples.append(sum(map(_memory, _family(pid))))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()


def _family(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        try:
            children = Path(f"/proc/{one}/task/{one}/children").read_text().split()
        except OSError:
            continue
        found += map(int, children)
    return found


def _memory(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def sizes(output: Path) -> dict[str, float]:
    """Sizes of a built site in kB, and of the whole in MB."""
    board = output / "boards/synthetic/en/index.html"
    talks = sorted(output.glob("boards/*/*/players/*/*.*.html"))[:200]
    scripts = [output / "assets" / name for name in ("dramaturg.js", "board.js", "compare.js", "search.js")]
    return {
        "whole output, MB": sum(p.stat().st_size for p in output.rglob("*") if p.is_file()) / 1e6,
        "board, gzipped": _gzipped(board),
        "conversation, beyond its text": max(map(_beyond_its_text, talks)),
        "conversation, gzipped": max(map(_gzipped, talks)),
        "our scripts, gzipped": sum(map(_gzipped, scripts)),
        "search index": (output / "search/search_index.json").stat().st_size / 1000,
    }


LIMITS = {
    "from nothing, s": 30.0,
    "one more, s": 12.0,
    "memory, MB": 350.0,
    "whole output, MB": 320.0,
    "board, gzipped": 60.0,
    "conversation, beyond its text": 40.0,
    "conversation, gzipped": 12.0,
    "our scripts, gzipped": 12.0,
    "search index": 200.0,
}
"""At 63 players, of what :func:`sizes` and :func:`run` measure; sizes without a unit are kB."""


def _gzipped(path: Path) -> float:
    return len(gzip.compress(path.read_bytes(), 9, mtime=0)) / 1000


def _beyond_its_text(path: Path) -> float:
    """Size of a page in kB without what was said, in it and about it."""
    page = path.read_text(encoding="utf-8")
    said = re.findall(r'<div class="rc-text[^>]*>(.*?)</div>', page, re.DOTALL)
    return (len(page.encode()) - sum(len(text.encode()) for text in said)) / 1000


def in_the_browser(output: Path) -> str:
    """How long the board takes from a local server until it can be used, and how long sorting takes."""
    try:
        from playwright.sync_api import sync_playwright

        from bench.site.serve import site_server
        from tests.site.browsing import CHROMIUM, FLAGS
    except ImportError:
        return "  no Playwright: the board was not opened"
    with site_server(output, 0) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS.split())
        page = browser.new_page()
        started = time.perf_counter()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/boards/synthetic/en/index.html")
        page.wait_for_selector(".rc-board .rc-sort")
        usable = time.perf_counter() - started
        sort = "() => {const t = performance.now(); document.querySelectorAll('.rc-sort')[5].click();"
        sort += " document.body.offsetHeight; return performance.now() - t}"
        took = float(page.evaluate(sort))
        browser.close()
        server.shutdown()
    return f"  board usable after {usable:.2f} s, sorted again in {took:.0f} ms (limit 1 s together)"


def tree_of(keep: Path, players: int) -> Path:
    """Results of so many players, made if they are not there."""
    root = keep / f"r{players}"
    if not (root / "synthetic").is_dir():
        from tests.synthetic import make_tree

        make_tree(root, players=players, languages=("en", "ru"), failure_rate=0.01, refusal_rate=0.05)
    return root


@contextmanager
def one_more(results: Path) -> Iterator[None]:
    """One player more while inside."""
    made = []
    for language in ("en", "ru"):
        board = results / "synthetic" / language
        source = sorted(path for path in board.iterdir() if path.is_dir())[0]
        target = board / "one-more"
        made.append(target)
        shutil.copytree(source, target)
        for path in target.rglob("*.json"):
            text = path.read_text(encoding="utf-8")
            path.write_text(
                text.replace(f'"player": "{source.name}"', '"player": "one-more"'), encoding="utf-8"
            )
    try:
        yield
    finally:
        for target in made:
            shutil.rmtree(target)


def run(players: int, keep: Path, work: Path, jobs: int) -> dict[str, float]:
    """Measure one size and print it; returns what LIMITS are of."""
    results, output = tree_of(keep, players), work / f"site{players}"
    print(f"{players} players x 2 languages", flush=True)
    first = measured(results, output, jobs)
    print(first.line("from nothing"), flush=True)
    print(measured(results, output, jobs).line("unchanged"), flush=True)
    found = sizes(output)
    with one_more(results):
        more = measured(results, output, jobs)
        print(more.line("one more"), flush=True)
        for name, size in found.items():
            print(f"  {name:<30} {size:8.1f}", flush=True)
        print(in_the_browser(output), flush=True)
    shutil.rmtree(output)
    found |= {"from nothing, s": first.cpu / 2, "one more, s": more.cpu / 2}
    return found | {"memory, MB": max(first.memory, more.memory)}


def main() -> int:
    """Measure every size that is asked for; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--players", type=int, nargs="+", default=[16, 63, 252])
    parser.add_argument("--keep", type=Path, help="folder for results that are used again")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for players in options.players:
            found = run(players, options.keep or Path(folder), Path(folder), options.jobs)
            if players == 63:
                missed = [name for name, limit in LIMITS.items() if found[name] > limit]
    print("Limits at 63 players: " + "; ".join(f"{name} {limit:g}" for name, limit in LIMITS.items()))
    if missed:
        print(f"missed: {'; '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
