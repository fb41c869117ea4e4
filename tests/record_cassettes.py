"""Record the tests' cassettes anew from the embedded model, then replay them: `make record`.

It takes a minute on a free machine. The tests' own prompts and catalog are in ``tests/recorded/``; what the
models said is kept beside them in ``expected/``, for the replays to be compared with.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CASSETTES = ROOT / "tests" / "cassettes"
EXPECTED = ROOT / "tests" / "recorded" / "expected"


def pytest(*options: str) -> int:
    """The exit status of pytest over the recorded tests."""
    command = [sys.executable, "-m", "pytest", *options]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main() -> int:
    for folder in (CASSETTES, EXPECTED):
        folder.mkdir(exist_ok=True)
        for path in folder.glob("*.json"):
            path.unlink()
    status = pytest("--record-mode=rewrite", "-m", "vcr", "tests/recorded")
    if status:
        print(
            "Not all could be recorded; `git checkout tests/` brings the old cassettes back.", file=sys.stderr
        )
        return status
    for path in sorted(CASSETTES.glob("*.json")):
        print(f"{path.stat().st_size:>8,} bytes  {path.relative_to(ROOT)}")
    return pytest("tests/recorded")


if __name__ == "__main__":
    sys.exit(main())
