"""What of a cluster needs no cluster: bundles, shares of limits, and what is said where there is none."""

from __future__ import annotations

import asyncio
import copy
import json
import shutil
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bench.catalog import Provider
from bench.chat.stats import Stats, add, difference
from bench.errors import CatalogError, UserError
from bench.run.cluster import worker
from bench.run.cluster.bundle import Bundle, bundle_of, protocol_of, shared
from bench.run.cluster.driver import Cluster, check_source, rest_of
from bench.run.cluster.source import source_sha256
from bench.run.cluster.worker import CellResult
from bench.run.plan import CellWork, make_plan
from tests.cli.conftest import Bench
from tests.other_benches import Other, make_likeness, make_v1
from tests.scripted_server import ScriptedServer
from tests.tiny import TEMPLATES, Script, Tiny, edit, name_templates

MODELS = ("bard", "asker", "strict")


def bundle(tiny: Tiny, workers: int = 2) -> Bundle:
    return bundle_of(tiny.protocol(), MODELS, run="r", cache=None, workers=workers)


@pytest.mark.parametrize("own", [False, True])
def test_a_bundle_is_the_protocol_by_value(tiny: Tiny, tmp_path: Path, own: bool) -> None:
    if own:
        name_templates(tiny, TEMPLATES / "templates-2")
    there = Bundle.model_validate_json(bundle(tiny).model_dump_json())
    here = tiny.protocol()
    again = protocol_of(there, tmp_path / "elsewhere")
    cells = here.cells("bard")
    assert again.cells("bard") == cells
    for cell in cells:
        assert again.conversation_fingerprint(cell) == here.conversation_fingerprint(cell)
        assert again.judgement_fingerprint(cell, "strict", "x") == here.judgement_fingerprint(
            cell, "strict", "x"
        )


@pytest.mark.parametrize("make", [make_v1, make_likeness])
def test_a_bundle_of_another_protocol_is_it_by_value(make: Callable[[Path], Other], tmp_path: Path) -> None:
    here = make(tmp_path / "here").made()
    sent = bundle_of(here, MODELS, run="r", cache=None, workers=2).model_dump_json()
    again = protocol_of(Bundle.model_validate_json(sent), tmp_path / "elsewhere")
    cells, judge = here.cells("bard"), here.suite.judges[0]
    assert again.cells("bard") == cells
    assert again.options == here.options
    for cell in cells:
        assert again.conversation_fingerprint(cell) == here.conversation_fingerprint(cell)
        assert again.judgement_fingerprint(cell, judge, "x") == here.judgement_fingerprint(cell, judge, "x")


def test_a_piece_of_work_comes_back_whole(tiny: Tiny) -> None:
    for item in make_plan(tiny.protocol(), tiny.tree, ["bard"], ["strict"]).work:
        assert CellWork.model_validate_json(item.model_dump_json()) == item


def test_each_worker_gets_its_share_of_a_provider(tiny: Tiny) -> None:
    provider = Provider(
        base_url="http://x/v1", max_concurrent=16, requests_per_minute=100, role_concurrent={"judge": 5}
    )
    part = shared("p", provider, 3, tiny.catalog())
    assert (part.max_concurrent, part.requests_per_minute, part.role_concurrent) == (5, 33, {"judge": 1})


def test_the_embedded_model_is_not_shared(tiny: Tiny) -> None:
    provider = Provider(base_url="embedded", max_concurrent=1)
    assert shared("p", provider, 8, tiny.catalog()) == provider


def test_limits_that_cannot_be_divided_are_refused(tiny: Tiny) -> None:
    with pytest.raises(CatalogError, match="max_concurrent = 4 cannot be divided among 5 workers"):
        bundle(tiny, workers=5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("http://127.0.0.1", "http://user:planted-secret@127.0.0.1"),
        ("seed = true\n", 'seed = true\nheaders = { "x-key" = "planted-secret" }\n'),
    ],
)
def test_a_secret_in_the_catalog_never_travels(tiny: Tiny, old: str, new: str) -> None:
    edit(tiny.models, old, new)
    with pytest.raises(CatalogError, match="would travel through the scheduler"):
        bundle(tiny)


def test_what_was_counted_adds_up() -> None:
    from decimal import Decimal

    stats, total = Stats(), Stats()
    told = Stats()
    for step in (1, 2, 3):
        stats.sent += step
        stats.cost += Decimal("0.1")
        stats.outcomes["ok"] += 1
        add(total, difference(stats, told))
        told = copy.deepcopy(stats)
    assert total == stats


def test_an_address_where_nobody_answers_is_a_mistake_in_one_line(
    bench: Bench, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("bench.run.cluster.driver.CONNECT_SECONDS", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        ended = bench("run", "tiny", "--cluster", address, *tiny.options())
    assert ended.status == 1
    assert f"--cluster {address}: no Dask scheduler answers" in ended.err
    assert "Traceback" not in ended.err


def test_a_client_that_cannot_connect_is_not_left_to_the_garbage_collector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("bench.run.cluster.driver.CONNECT_SECONDS", 0.5)
    started: list[Any] = []
    start = distributed.Client.start

    def noted(client: Any, **options: Any) -> None:
        started.append(client)
        start(client, **options)

    monkeypatch.setattr(distributed.Client, "start", noted)
    with pytest.raises(UserError), Cluster("tcp://127.0.0.1:9"):
        pass
    assert [client.status for client in started] == ["closed"]


@pytest.mark.parametrize("address", ["nonsense", "ftp://x:1", ""])
def test_an_address_that_is_none_is_a_mistake_in_one_line(
    bench: Bench, tiny: Tiny, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("bench.run.cluster.driver.CONNECT_SECONDS", 0.5)
    ended = bench("run", "tiny", "--cluster", address, *tiny.options())
    assert ended.status == 1
    assert "Traceback" not in ended.err


def test_a_missing_dask_is_named_with_the_target_that_installs_it(
    bench: Bench, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    fault = bench("run", "tiny", "--cluster", "tcp://127.0.0.1:1", *tiny.options()).fault
    assert "distributed" in fault
    assert "make cluster" in fault


def test_ending_a_run_cancels_what_a_worker_has_under_way(
    tiny: Tiny, server: ScriptedServer, tmp_path: Path
) -> None:
    server.delay = 60
    packed = bundle(tiny).model_copy(update={"run": "ends"}).model_dump_json()
    item = make_plan(tiny.protocol(), tiny.tree, ["bard"], ["strict"]).work[0]
    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(worker.work, packed, item.model_dump_json())
        while not server.count:
            assert not going.done(), going.result()
            time.sleep(0.01)
        worker.end("ends")
        assert json.loads(going.result(30))["fault"]["what"] == "the run was stopped"
    with pytest.raises(CancelledError):
        worker.work(packed, item.model_dump_json())


# Sources


def test_a_hash_of_the_source_sees_every_change_of_it_and_nothing_else(tmp_path: Path) -> None:
    for name, text in {"a.py": "x = 1\n", "sub/b.py": "y = 2\n", "sub/rules.toml": "z = 3\n"}.items():
        path = tmp_path / "one" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    one = source_sha256(tmp_path / "one")

    def changed(change: Callable[[Path], object]) -> str:
        copy_of = tmp_path / "two"
        shutil.rmtree(copy_of, ignore_errors=True)
        shutil.copytree(tmp_path / "one", copy_of)
        change(copy_of)
        return source_sha256(copy_of)

    assert changed(lambda root: None) == one
    assert changed(lambda root: (root / "a.py").write_bytes(b"x = 1\r\n")) == one
    assert changed(lambda root: (root / "a.pyc").write_text("compiled")) == one
    others = [
        changed(lambda root: (root / "a.py").write_text("x = 2\n")),
        changed(lambda root: (root / "sub" / "rules.toml").write_text("z = 4\n")),
        changed(lambda root: (root / "c.py").write_text("")),
        changed(lambda root: (root / "sub" / "b.py").unlink()),
        changed(lambda root: (root / "sub" / "b.py").rename(root / "b.py")),
    ]
    assert len({one, *others}) == 1 + len(others)


def test_a_worker_with_another_source_makes_no_call_and_stops_the_run(
    tiny: Tiny, server: ScriptedServer
) -> None:
    packed = bundle(tiny).model_copy(update={"source": "another"}).model_dump_json()
    item = make_plan(tiny.protocol(), tiny.tree, ["bard"], ["strict"]).work[0]
    result = CellResult.model_validate_json(worker.work(packed, item.model_dump_json()))
    assert (result.conversations, result.judgements, server.count) == ([], [], 0)
    for source in ("another", ""):
        with pytest.raises(UserError, match="differs from the command's"):
            check_source("tcp://10.0.0.2:1", source)
    check_source("tcp://10.0.0.2:1", result.source)


# What is left of a cell when the money is spent


def test_the_rest_of_a_cell_is_what_was_not_made(tiny: Tiny) -> None:
    protocol = tiny.protocol()
    item = make_plan(protocol, tiny.tree, ["bard"], ["strict", "lenient"]).work[0]
    talk = asyncio.run(protocol.converse(item.cell, Script()))
    judged = asyncio.run(protocol.judge(talk, "lenient", Script()))
    assert rest_of(item, CellResult()) == item
    rest = rest_of(item, CellResult(conversations=[talk], judgements=[judged]))
    assert rest is not None
    assert (rest.talk, rest.judges, rest.conversation) == (False, ("strict",), talk)
    other = asyncio.run(protocol.judge(talk, "strict", Script()))
    assert rest_of(rest, CellResult(judgements=[other])) is None
    failed = talk.model_copy(update={"status": "failed"})
    assert rest_of(item, CellResult(conversations=[failed])) is None
