"""Dramaturg: measure how well chat models play a role, and publish the evidence.

The command ``bench`` and a notebook use the same functions::

    from decimal import Decimal

    import bench

    report = bench.run_suite("pingpong-2", players=["my-model"], max_cost=Decimal("5"))
    board = bench.load_board("results", "pingpong-2", "en").board

They are imported at first use, so that ``import bench`` takes no time.
"""

TYPE_CHECKING = False  # before bench.cli, Ctrl-C prints a traceback: so import nothing
if TYPE_CHECKING:
    from typing import Any

    from bench.boards.compare_suite import compare_suite
    from bench.boards.loading import load_board
    from bench.chat.opening import open_chat
    from bench.run.judge_suite import judge_suite
    from bench.run.run_suite import run_suite
    from bench.site.build import build_site

__version__ = "0.2.0"
GARBAGE_THRESHOLD = 200_000
"""New objects until Python looks for cyclic garbage. With its default of 700 that takes a tenth of a run's
CPU time, although calls leave hardly any garbage, and loading modules leaves none."""
__all__ = ["build_site", "compare_suite", "judge_suite", "load_board", "open_chat", "run_suite"]

_MODULES = {
    "build_site": "bench.site.build",
    "compare_suite": "bench.boards.compare_suite",
    "judge_suite": "bench.run.judge_suite",
    "load_board": "bench.boards.loading",
    "open_chat": "bench.chat.opening",
    "run_suite": "bench.run.run_suite",
}


def __getattr__(name: str) -> "Any":
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
