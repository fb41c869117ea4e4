"""Speed and memory of `bench agreement --table` on a large table.

    python tests/benchmarks/agreement_speed.py [--rows 200000]

The table has three people, three judges with two decimals, and 20 players. Limits for 200,000 rows: 150 CPU
seconds and 2 GB.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
PEOPLE, JUDGES = ("anna", "boris", "clara"), ("one", "two", "three")
SECONDS = 150.0
MEGABYTES = 2_000
AT = 200_000


def write_table(path: Path, rows: int) -> None:
    """A table whose people and judges see the same quality, each with noise."""
    random = np.random.default_rng(1)
    quality = random.normal(3, 1, rows)
    columns: dict[str, object] = {"item": [f"item {n}" for n in range(rows)]}
    columns["player"] = [f"player {n % 20}" for n in range(rows)]
    for name in PEOPLE:
        columns[name] = np.clip(np.round(quality + random.normal(0, 1, rows)), 1, 5).astype(int)
    for name in JUDGES:
        columns[name] = np.round(quality + random.normal(0, 1, rows), 2)
    pd.DataFrame(columns).to_csv(path, index=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=AT)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "scores.csv"
        write_table(table, rows)
        words = ["agreement", "--table", str(table), "--item", "item", "--group", "player"]
        words += ["--human", ",".join(PEOPLE), "--judges", ",".join(JUDGES), "-o", f"{folder}/out.txt"]
        subprocess.run([sys.executable, "-m", "bench.cli", *words], cwd=ROOT, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(f"{rows:,} rows: {seconds:.0f} CPU seconds, {megabytes:,.0f} MB at most")
    if rows != AT:
        return 0
    print(f"limits: {SECONDS:.0f} s, {MEGABYTES:,} MB")
    return int(seconds > SECONDS or megabytes > MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
