"""What all tests share: how cassettes are recorded and replayed (see ``tests/recording.py``)."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pytest_recording.network import blocking_context

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""For numpy, before its import: on small matrices more threads only wait for each other, busily."""

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench.local.server import usable_cores  # noqa: E402
from tests import lengths, recording  # noqa: E402
from tests.sharing import computed_once, shared_folder  # noqa: E402

TESTS = Path(__file__).parent
MEMORY = Path("/dev/shm")
ENOUGH = 4 * 10**9
"""Bytes: tests keep their files in memory where there is as much room. Databases wait for no disk then."""
LOOPBACK = ("chat", "cli", "cluster")
"""Folders whose tests may all use loopback, which is the only network of any test."""

# Shells start background jobs with SIGINT ignored, and children inherit that. Tests that send Ctrl-C need it.
signal.signal(signal.SIGINT, signal.default_int_handler)


lengths.prepare()


def _memory_has_room() -> bool:
    with suppress(OSError, AttributeError):
        state = os.statvfs(MEMORY)
        return state.f_bavail * state.f_frsize >= ENOUGH and not state.f_flag & os.ST_NOEXEC
    return False


if "TMPDIR" not in os.environ and _memory_has_room():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

gc.disable()  # while tests are collected there is no garbage; looking for it takes a tenth of the time


@pytest.fixture(autouse=True)
def block_network(request: pytest.FixtureRequest) -> Iterator[None]:
    """No network but the hosts of the mark ``block_network``, as pytest-recording blocks it.

    Its own fixtures of this name and of ``vcr`` look for cassettes, which only ``tests/recorded/`` has, and
    take a fifth of the time of most tests.
    """
    mark = request.node.get_closest_marker("block_network")
    allowed = mark.kwargs["allowed_hosts"] if mark else None
    if mark is None and request.path.relative_to(TESTS).parts[0] in LOOPBACK:
        allowed = ["127\\.0\\.0\\.1", "localhost"]
    with blocking_context(allowed_hosts=allowed):
        yield


@pytest.fixture(scope="session", autouse=True)
def vcr() -> None:
    """No cassette."""


@pytest.fixture(scope="session")
def vcr_config() -> dict[str, Any]:
    """Options of vcrpy. Cassettes are only replayed, unless `make record` asks for a recording."""
    return recording.vcr_config()


@pytest.fixture(scope="session")
def vcr_cassette_dir() -> str:
    """One folder for all cassettes."""
    return str(recording.folders_in_use()[0])


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Workers of `make test`: one more than there are cores, because some tests wait for timeouts."""
    return min(usable_cores() + 1, 8)


LONGEST = (
    "site/test_site_kinds_browser.py",
    "site/test_site_browser.py",
    "site/test_site_board_browser.py",
    "site/test_site_reading_browser.py",
    "site/test_site_layout_browser.py",
    "site/test_site_readers_browser.py",
    "site/test_site_human_browser.py",
    "site/test_site_search_browser.py",
    "site/test_site_sound_browser.py",
    "cluster/test_cluster_runs.py",
    "local/test_embedded.py",
    "faults/test_fault_bench.py",
    "site/test_site_build.py",
    "site/test_site_rescore.py",
    "tests/test_guides.py",
    "replies/test_reply_properties.py",
    "batches/test_cli_batches.py",
    "faults/test_fault_protocols.py",
    "boards/test_diff.py",
    "tests/test_committing.py",
    "cli/test_cli_signals.py",
    "agreement/test_agreement_study.py",
    "site/test_site_human.py",
    "site/test_site_pages.py",
    "cli/test_cli_topics.py",
    "cli/test_cli_scripted_truth.py",
    "topics/test_topics_analysis.py",
    "cli/test_cli_again.py",
    "chat/test_chat_faults.py",
    "comparing/test_comparing_asked.py",
    "scores/test_scores_judges_sampled.py",
    "kills/test_kills.py",
    "agreement/test_agreement_cli.py",
    "scores/test_scores_board.py",
    "audit/test_audit_protocols.py",
    "local/test_gguf_serving.py",
    "faults/test_fault_run.py",
    "scores/test_scores_strings.py",
    "scores/test_scores_components.py",
    "tests/test_structure.py",
    "tests/test_template_limits.py",
    "replies/test_reply_reasoning.py",
)
"""Files that take longest. They start first, so that no worker is left alone with one of them at the end.

Those in a browser come one after the other, because each worker then starts it once.
"""


def pytest_collection(session: pytest.Session) -> None:
    """Before all tests are collected, compile a share of their modules in each worker process.

    All of them collect everything, in the same order. At the first run each would compile everything, too.
    """
    worker: dict[str, Any] = getattr(session.config, "workerinput", {})
    if worker and [Path(arg).resolve() for arg in session.config.args] == [TESTS]:
        modules = sorted(TESTS.rglob("test_*.py"))
        for path in modules[int(worker["workerid"][2:]) :: worker["workercount"]]:
            with suppress(Exception, pytest.skip.Exception):  # pytest says why, when it collects the module
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark property tests as long. Put the longest files first; the rest keep their order."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("long")
    place = {name: n for n, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get("/".join(item.path.parts[-2:]), len(place)))


def pytest_collection_finish() -> None:
    """Look for garbage in what the tests themselves make, and never again in what was collected.

    Let pandas keep text as where pyarrow is not installed, as in most installations. It is faster, too.
    """
    gc.freeze()
    gc.enable()
    if "pandas" in sys.modules:
        import pandas as pd

        pd.set_option("mode.string_storage", "python")


ONCE = {
    "bench.site.evidence": ["report", "robust_board", "criteria_alone", "shipped"],
    "bench.site.chart_pages": ["renderings"],
}
"""What takes most of the time of a site, and depends on the evidence of a board alone."""


@pytest.fixture(scope="session", autouse=True)
def quick_boards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Boards of equal evidence are computed once, over all worker processes.

    ``board_of`` itself is not replaced, only what :mod:`bench.boards.loading` calls.
    """
    if "bench.boards.loading" not in sys.modules:  # no test of this run needs it
        yield
        return
    from bench.scores.board import board_of

    once = computed_once(shared_folder(tmp_path_factory), board_of)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.boards.loading.board_of", once)
        yield


@pytest.fixture(scope="session")
def quick_sites(tmp_path_factory: pytest.TempPathFactory, quick_boards: None) -> Iterator[None]:
    """Sites of tests share what MkDocs renders and compiled templates, over all worker processes.

    Numbers and charts of boards with equal evidence are made once.
    """
    import jinja2

    from tests.site.shells import shells_in

    folder = shared_folder(tmp_path_factory)
    compiled = jinja2.FileSystemBytecodeCache(str(folder), "template-%s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.site.build.build_shells", partial(shells_in, folder))
        patch.setattr("bench.site.render.Environment", partial(jinja2.Environment, bytecode_cache=compiled))
        for place, names in ONCE.items():
            module = import_module(place)
            for name in names:
                patch.setattr(module, name, computed_once(folder, getattr(module, name)))
        yield


@pytest.fixture(scope="module")
def quick_figures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands draw equal figures once, over all worker processes. Other tests look at their bytes."""
    import bench.figures

    with pytest.MonkeyPatch.context() as patch:
        drawn = computed_once(shared_folder(tmp_path_factory), bench.figures.renderings)
        patch.setattr(bench.figures, "renderings", drawn)
        yield


@pytest.fixture(scope="module")
def no_charts(quick_sites: None) -> Iterator[None]:
    """Boards without charts, where no test looks at one: they take a quarter of the time of a small site."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.site.chart_pages._charts", lambda context: iter(()))
        yield


def git_as_test(patch: pytest.MonkeyPatch) -> None:
    """Git without the variables of a hook that runs the tests, and with a made-up author."""
    for name in os.environ:
        if name.startswith("GIT_"):
            patch.delenv(name)
    for name in ("AUTHOR", "COMMITTER"):
        patch.setenv(f"GIT_{name}_NAME", "Test")
        patch.setenv(f"GIT_{name}_EMAIL", "test@example.org")


@pytest.fixture
def git_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """See :func:`git_as_test`."""
    git_as_test(monkeypatch)


def pytest_recording_configure(config: pytest.Config, vcr: Any) -> None:
    """Write cassettes as readable JSON."""
    vcr.register_serializer("json", recording)
