"""How long the long tests are: simulations and made-up inputs.

`make test` runs them short, `make benchmarks` in full.
"""

from __future__ import annotations

import os

from hypothesis import settings

LONG = bool(os.environ.get("DRAMATURG_LONG_TESTS"))
"""Whether this run takes all of them. `make benchmarks` says so, and selects the tests that have two lengths:
those marked ``long``, and all property tests."""


def of_long(short: int, full: int) -> int:
    """How many times a long test repeats: ``full`` where all of it is asked for."""
    return full if LONG else short


def prepare() -> None:
    """Set the number of examples of property tests that do not say their own. Their time is not limited."""
    settings.register_profile("tests", max_examples=of_long(20, 300), deadline=None)
    settings.load_profile("tests")
