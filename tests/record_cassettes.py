"""Record new cassettes for the tests from the embedded model: `make record`. It takes a minute.

Everything is recorded into a temporary folder, scanned for secrets and replayed from there. Only then does it
replace ``tests/cassettes/`` and ``tests/recorded/expected/``, so a failed recording changes nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests import recording  # noqa: E402


def pytest(folder: Path, *options: str) -> int:
    """Run the recorded tests with cassettes in ``folder``, printing each; the exit status."""
    command = [sys.executable, "-m", "pytest", "-vv", "--no-header", "-n", "0", *options, "tests/recorded"]
    environment = {**os.environ, recording.FOLDER_VARIABLE: str(folder)}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for target in recording.folders(folder):
            target.mkdir()
        print("Recording", flush=True)
        status = pytest(folder, "--record-mode=rewrite", "-m", "vcr")
        if status == 0:
            print("Replaying", flush=True)
            status = recording.scan(folder / "cassettes") or pytest(folder)
        if status:
            print("Recording failed; the old cassettes are unchanged.", file=sys.stderr)
            return status
        for new, old in zip(recording.folders(folder), recording.folders(), strict=True):
            shutil.rmtree(old, ignore_errors=True)
            shutil.copytree(new, old)
            for path in sorted(old.iterdir()):
                print(f"{path.stat().st_size:>8,} bytes  {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
