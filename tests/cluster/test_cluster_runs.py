"""run --cluster: the tree of one process, whatever happens to a worker."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Bench
from tests.scripted_server import ScriptedServer, plausible
from tests.tiny import CALLS, SITUATION, Tiny, bytes_below, edit, play_all

PLAYERS = ("-p", "bard", "-p", "actor")
THREADS = 8
"""Of the cluster's workers together: cells at once."""
SITUATIONS = 6
"""Of a suite that has more cells than that, with two players and two characters."""


def words(tiny: Tiny, results: Path, *more: str) -> list[str]:
    options = tiny.options()
    options[options.index("--results") + 1] = str(results)
    return ["run", "tiny", *PLAYERS, *options, *more]


def test_a_cluster_makes_the_tree_of_one_process(
    bench: Bench, tiny: Tiny, server: ScriptedServer, tmp_path: Path, cluster: Any
) -> None:
    assert bench(*words(tiny, tmp_path / "one", "--no-cache")).status == 0
    alone = server.count
    ended = bench(*words(tiny, tmp_path / "many", "--no-cache", "--cluster", cluster.scheduler_address))
    assert ended.status == 0, ended.err
    assert "8 conversations (0 failed), 8 judgements (0 failed)" in ended.out
    assert f"{2 * sum(CALLS.values())} requests sent" in ended.out
    assert server.count == 2 * alone
    assert bytes_below(tmp_path / "many") == bytes_below(tmp_path / "one")


def test_repeats_and_rotated_judges_are_those_of_one_process(
    bench: Bench, tiny: Tiny, tmp_path: Path, cluster: Any
) -> None:
    edit(tiny.suite_file, 'version = "1"', 'version = "1"\nrepeats = 2\njudges = "rotate"')
    edit(tiny.suite_file, 'models = ["strict"]', 'models = ["strict", "lenient"]')
    assert bench(*words(tiny, tmp_path / "one", "--no-cache")).status == 0
    many = words(tiny, tmp_path / "many", "--no-cache", "--cluster", cluster.scheduler_address)
    ended = bench(*many)
    assert ended.status == 0, ended.err
    assert "16 conversations (0 failed), 16 judgements (0 failed)" in ended.out
    made = bytes_below(tmp_path / "many")
    assert made == bytes_below(tmp_path / "one")
    assert sum(name.endswith(".2.json") for name in made) == 16
    assert "nothing new" in bench(*many).out


def test_the_cells_of_a_killed_worker_are_done_again(
    bench: Bench, tiny: Tiny, server: ScriptedServer, tmp_path: Path, cluster: Any
) -> None:
    assert bench(*words(tiny, tmp_path / "one", "--no-cache")).status == 0
    whole = server.count
    server.delay = 0.05

    def kill() -> None:
        while server.count < whole + 12:
            time.sleep(0.01)
        worker = next(iter(cluster.workers.values()))
        os.kill(worker.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    ended = bench(*words(tiny, tmp_path / "many", "--cluster", cluster.scheduler_address))
    killer.join(10)
    assert ended.status == 0, ended.err
    assert not killer.is_alive()
    assert bytes_below(tmp_path / "many") == bytes_below(tmp_path / "one")
    assert server.count <= 2 * whole + 8, "paid again is at most what was in flight on the killed worker"


def spent(server: ScriptedServer, since: int) -> tuple[Decimal, Decimal]:
    """Cost of the calls from ``since`` on, and of the dearest of them, at $1 and $2 per 1,000 tokens."""
    usages = [json.loads(plausible(seen).payload())["usage"] for seen in server.seen[since:]]
    costs = [Decimal(u["prompt_tokens"] + 2 * u["completion_tokens"]) / 1000 for u in usages]
    return sum(costs, Decimal(0)), max(costs)


@pytest.mark.parametrize("share", ["0.000001", "0.3", "0.8"])
def test_a_limit_is_divided_and_exceeded_by_no_more_than_the_calls_in_flight(
    bench: Bench, tiny: Tiny, server: ScriptedServer, tmp_path: Path, cluster: Any, share: str
) -> None:
    for path in tiny.situation_file.parent.iterdir():
        path.unlink()
    for n in range(SITUATIONS):
        text = SITUATION.format(title=f"situation-{n}", turns=2)
        tiny.situation_file.with_stem(f"situation-{n}").write_text(text, encoding="utf-8")
    play_all(tiny)
    prices = tiny.models.read_text().replace('input = "1", output = "2"', 'input = "1000", output = "2000"')
    tiny.models.write_text(prices)
    start = [word for word in words(tiny, tmp_path / "one", "--no-cache") if word not in PLAYERS]
    assert bench(*start).status == 0
    whole, dearest = spent(server, 0)
    sent = server.count
    limit = (whole * Decimal(share)).quantize(Decimal("0.000001"))
    start[start.index("--results") + 1] = str(tmp_path / "many")
    ended = bench(*start, "--cluster", cluster.scheduler_address, "--max-cost", str(limit))
    assert ended.status == 3, ended.err
    cost, _ = spent(server, sent)
    assert limit <= cost <= limit + THREADS * dearest
    stated = re.search(r"stopped by --max-cost: \$([0-9.]+)", ended.err)
    assert stated is not None
    assert Decimal(stated[1]) == cost.quantize(Decimal(stated[1]))
    assert bench(*start, "--cluster", cluster.scheduler_address).status == 0
    assert bytes_below(tmp_path / "many") == bytes_below(tmp_path / "one")


def test_a_worker_with_another_source_is_refused(
    bench: Bench,
    tiny: Tiny,
    server: ScriptedServer,
    tmp_path: Path,
    cluster: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bench.run.cluster.driver.SOURCE", "0" * 64)
    ended = bench(*words(tiny, tmp_path / "many", "--cluster", cluster.scheduler_address))
    assert (ended.status, server.count) == (1, 0)
    assert "its Dramaturg differs from the command's" in ended.err


def test_a_key_that_a_worker_lacks_is_named(
    bench: Bench, tiny: Tiny, tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", "sk-planted-0123456789")
    edit(tiny.models, "requests_per_minute = 60000", 'api_key_env = "PLANTED_API_KEY"')
    ended = bench(*words(tiny, tmp_path / "many", "--cluster", cluster.scheduler_address))
    assert ended.status == 1
    assert (
        "on a worker: provider scripted: no API key. Set the environment variable PLANTED_API_KEY"
        in ended.err
    )
    assert "sk-planted" not in ended.err


def test_a_run_whose_last_worker_is_gone_ends(
    bench: Bench,
    tiny: Tiny,
    server: ScriptedServer,
    tmp_path: Path,
    cluster: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bench.run.cluster.driver.CONNECT_SECONDS", 2)
    server.delay = 0.1

    def close() -> None:
        while server.count < 3:
            time.sleep(0.01)
        cluster.scale(0)

    closer = threading.Thread(target=close, daemon=True)
    closer.start()
    ended = bench(*words(tiny, tmp_path / "many", "--cluster", cluster.scheduler_address))
    closer.join(10)
    assert ended.status == 1
    assert "the cluster has no worker left" in ended.err
