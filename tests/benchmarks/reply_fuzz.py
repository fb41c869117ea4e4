"""Reads 20,000 made and damaged replies of judges, interrogators and players, and says which are misread.

    python tests/benchmarks/reply_fuzz.py [--replies 20000] [--seed 1] [--shown 5]

No reply may be read as something that it does not say, and all of them take at most 60 s of CPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.replies.fuzzing import fuzz

LIMIT = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--replies", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shown", type=int, default=5, help="misread replies to print")
    options = parser.parse_args()
    start = time.process_time()
    became, wrong = fuzz(options.replies, options.seed)
    seconds = time.process_time() - start
    for role, counts in became.items():
        print(f"{role}: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    for reply in wrong[: options.shown]:
        print(f"\nreply ({reply.outcome}): {reply.reply!r}\nread:  {reply.read!r}\ntruth: {reply.truth!r}")
    print(f"{options.replies} replies, {len(wrong)} misread, {seconds:.1f} s of CPU (limit {LIMIT:.0f} s)")
    return 1 if wrong or seconds > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
