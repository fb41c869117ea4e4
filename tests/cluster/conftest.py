"""A Dask cluster of two processes on this machine, and a bench in miniature for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import bench  # noqa: F401  # a fixture
from tests.scripted_server import ScriptedServer
from tests.tiny import Tiny, edit, make_tiny


@pytest.fixture(scope="module")
def running_cluster() -> Iterator[Any]:
    """Worker processes of four threads; a worker that is killed is started anew."""
    distributed = pytest.importorskip("distributed")
    os.environ.pop("PLANTED_API_KEY", None)
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=4,
        processes=True,
        host="127.0.0.1",
        dashboard_address=":0",
        silence_logs=50,
        memory_limit=0,
    ) as running:
        yield running


@pytest.fixture
def cluster(running_cluster: Any) -> Any:
    """A cluster of two workers, also after a test that has ended some."""
    running_cluster.scale(2)
    running_cluster.wait_for_workers(2)
    return running_cluster


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer().in_thread() as running:
        yield running


@pytest.fixture
def tiny(tmp_path: Path, server: ScriptedServer) -> Tiny:
    made = make_tiny(tmp_path / "tiny", server.url)
    edit(
        made.models,
        f'base_url = "{server.url}"\njson_schema = true\nschema_limits',
        f'base_url = "{server.url}"\nrequests_per_minute = 60000\njson_schema = true\nschema_limits',
    )
    return made
