"""How fast `bench query` answers over a large store: run by `make benchmarks`, not by the tests.

    python tests/benchmarks/store_speed.py [--copies 32] [--repeat 5] [--keep DIR]

Makes results of 63 players x 2 languages x 64 conversations x 2 judges, writes their store with
`bench export`, and repeats its rows under other players' names until it has 256,000 conversations. Then
`bench query` asks for one board, for both, and for one conversation, each as a process of its own. The exit
status is 1 where a limit is missed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.interop.dataset import schema_of  # noqa: E402
from bench.interop.sql import TABLES  # noqa: E402
from bench.interop.store import CHUNKS  # noqa: E402
from tests.benchmarks.run_speed import Verdicts, listed, measured  # noqa: E402
from tests.synthetic import make_tree  # noqa: E402

QUERIES = {
    "a board": ("SELECT * FROM board WHERE language = 'en' ORDER BY score DESC", 1.0),
    "both boards": ("SELECT * FROM board ORDER BY score DESC", 2.0),
    "one conversation": (
        "SELECT contents FROM conversations WHERE player = 'player-40-7' AND language = 'en'"
        " AND character = 'character-3' AND situation = 'situation-5'",
        0.2,
    ),
}
"""What is asked, and the seconds it may take."""
MEGABYTES = 1000
LANGUAGES = ("en", "ru")


def bench(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "bench.cli", *map(str, words)]


def multiplied(small: Path, large: Path, copies: int) -> int:
    """Write each table of ``small`` ``copies`` times into ``large``. Returns the number of conversations."""
    import pyarrow
    from pyarrow import compute, parquet

    large.mkdir(parents=True, exist_ok=True)
    rows = 0
    for name in TABLES:
        table = parquet.read_table(small / f"{name}.parquet")
        with parquet.ParquetWriter(large / f"{name}.parquet", schema_of(name), compression="zstd") as writer:
            for copy in range(copies):
                renamed = table
                for column in ("player", "digest"):
                    names = compute.binary_join_element_wise(table[column], pyarrow.scalar(str(copy)), "-")
                    place = table.schema.get_field_index(column)
                    renamed = renamed.set_column(place, table.schema.field(place), names)
                writer.write_table(renamed.cast(schema_of(name)), row_group_size=CHUNKS[name])
        rows = rows or table.num_rows * copies
    return rows


def make(folder: Path, large: Path, copies: int) -> None:
    """Make the store ``large`` out of ``copies`` of a small one, and both in ``folder``."""
    small = folder / "small"
    make_tree(folder / "results", players=63, languages=LANGUAGES)
    exported = measured(bench("export", "--format", "store", "-o", small, "--results", folder / "results"))
    print(f"store of the small tree: {exported.wall:.1f} s, {exported.megabytes:.0f} MB")
    print(f"{multiplied(small, large, copies):,} conversations", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--copies", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=5, help="how often each query is asked")
    parser.add_argument("--keep", type=Path, help="folder for results and stores, used again")
    options = parser.parse_args()
    verdicts = Verdicts()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        store = folder / f"store-{options.copies}"
        if not store.is_dir():
            # In a process of its own: a command counts the memory of the one that starts it as its own peak.
            making = multiprocessing.get_context("spawn").Process(
                target=make, args=(folder, store, options.copies)
            )
            making.start()
            making.join()
        for what, (sql, limit) in QUERIES.items():
            asked = [measured(bench("query", "--store", store, sql)) for _ in range(options.repeat)]
            walls = [one.wall for one in asked]
            verdicts.say(what, median(walls), limit, " s", listed(walls))
            verdicts.say(f"{what}, memory", max(one.megabytes for one in asked), MEGABYTES, " MB")
    return 1 if verdicts.missed else 0


if __name__ == "__main__":
    sys.exit(main())
