"""How soon Ctrl-C ends a run while replies of 8 MB are in flight.

    python tests/benchmarks/long_replies.py [--at-once 64] [--megabytes 8] [--after 4] [--patience 3]

One role answers every request with that much text. Prints the
seconds from the signal to the end of the process, and fails if they are more than ``--patience``.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from time import monotonic, sleep

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.scripted_server import Answer, ScriptedServer, Seen, completion, plausible  # noqa: E402
from tests.tiny import SITUATION, Tiny, edit, make_tiny, play_all  # noqa: E402

TEXTS = {
    "quotes": '{"next_utterance": "he said "no" and ',
    "braces": '{"next_utterance": {"a": [',
    "thoughts": "<think>or not</think> <think>",
    "words": "and then he said that ",
    "brackets": "[",
}
"""What the text repeats."""
MODELS = {"interrogator": "asker-1", "player": "bard-1", "judge": "strict-1"}


def wide(root: Path, url: str, at_once: int) -> Tiny:
    """A tiny bench with ``at_once`` conversations, all under way at the same time."""
    tiny = make_tiny(root, url)
    for n in range(at_once // 2 - 2):
        path = tiny.situation_file.with_stem(f"s{n}")
        path.write_text(SITUATION.format(title=f"s{n}", turns=2), encoding="utf-8")
    play_all(tiny)
    edit(tiny.models, "max_concurrent = 4", f"max_concurrent = {at_once}")
    return tiny


def seconds_to_end(role: str, text: str, at_once: int, megabytes: float, after: float) -> float:
    """Seconds until a run ends that gets Ctrl-C ``after`` seconds from when its long replies were sent."""
    size = int(megabytes * 2**20) - 2**12
    body = completion("").payload()
    whole = json.loads(body)
    whole["choices"][0]["message"]["content"] = ""
    room = size - len(json.dumps(whole))
    unit = json.dumps(text)[1:-1]
    whole["choices"][0]["message"]["content"] = text * (room // len(unit))
    payload = json.dumps(whole).encode()

    long: list[int] = []

    def answer(seen: Seen) -> Answer:
        if seen.body["model"] != MODELS[role]:
            return plausible(seen)
        long.append(seen.number)
        return Answer(payload, delay=2.0)

    with tempfile.TemporaryDirectory() as folder, ScriptedServer(answer).in_thread() as server:
        tiny = wide(Path(folder) / "tiny", server.url, at_once)
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.cli", "run", "tiny", *tiny.options()],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            deadline = monotonic() + 120
            while len(long) < at_once and monotonic() < deadline:
                sleep(0.02)
            sleep(2.0 + after)
            started = monotonic()
            if process.poll() is not None:
                print("(ended before the signal)", end=" ")
            process.send_signal(signal.SIGINT)
            process.wait(300)
            return monotonic() - started
        finally:
            process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--after", type=float, default=4.0, help="seconds from the replies to the signal")
    parser.add_argument("--role", action="append", choices=MODELS)
    parser.add_argument("--text", action="append", choices=TEXTS)
    parser.add_argument("--patience", type=float, default=3.0)
    options = parser.parse_args()
    slow = False
    for role, name in product(options.role or MODELS, options.text or TEXTS):
        seconds = seconds_to_end(role, TEXTS[name], options.at_once, options.megabytes, options.after)
        slow |= seconds > options.patience
        print(f"{role}, {name}: {seconds:.2f} s", flush=True)
    sys.exit(slow)


if __name__ == "__main__":
    main()
