"""judge --batch: the same judgements for half the money, and nothing paid twice whatever ends the command."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from bench.chat.batch_api import BatchApi
from bench.chat.batch_states import BatchStates
from bench.records import Judgement
from bench.results import ResultsTree
from bench.run.batch_results import BatchResults
from tests.cli.batches.conftest import POLL, judgements, states
from tests.cli.conftest import TALKS, Bench, Ended
from tests.scripted_batches import BatchServer
from tests.scripted_server import Answer, error
from tests.tiny import Tiny, edit


def without_batch(record: Judgement) -> Judgement:
    calls = tuple(call.model_copy(update={"batch": None, "cost": None}) for call in record.calls)
    return record.model_copy(update={"calls": calls, "digest": ""})


def ids(server: BatchServer) -> list[str]:
    return [line["custom_id"] for line in server.batch_lines]


def test_batched_judgements_are_those_of_ordinary_calls_at_the_batch_price(
    bench: Bench, talked: Tiny, server: BatchServer
) -> None:
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 0, ended.err
    assert "batches: 4 answers, 0 declined" in ended.out
    assert (server.count, len(server.batch_lines)) == (0, TALKS)
    batched = judgements(talked)
    shutil.rmtree(talked.root / "cache")
    shutil.rmtree(talked.tree.player_folder("tiny", "en", "bard") / "judgements")
    assert bench("judge", "tiny", *talked.options()).status == 0
    ordinary = judgements(talked)
    assert [without_batch(j) for j in batched] == [without_batch(j) for j in ordinary]
    for cheap, dear in zip(batched, ordinary, strict=True):
        assert (cheap.calls[0].batch, dear.calls[0].batch) == (True, None)
        assert Decimal(cheap.calls[0].cost or 0) * 2 == Decimal(dear.calls[0].cost or 0) > 0


def test_repeats_and_rotated_judges_are_batched_too(bench: Bench, talked: Tiny, server: BatchServer) -> None:
    edit(talked.suite_file, 'version = "1"', 'version = "1"\nrepeats = 2\njudges = "rotate"')
    edit(talked.suite_file, 'models = ["strict"]', 'models = ["strict", "lenient"]')
    assert bench("run", "tiny", *talked.options()).status == 0
    folder = talked.tree.player_folder("tiny", "en", "bard") / "judgements"
    ordinary = {path: Judgement.model_validate_json(path.read_bytes()) for path in folder.rglob("*.json")}
    shutil.rmtree(folder)
    shutil.rmtree(talked.root / "cache")
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 0, ended.err
    assert len(set(ids(server))) == len(ordinary) == 2 * TALKS
    batched = {path: Judgement.model_validate_json(path.read_bytes()) for path in folder.rglob("*.json")}
    assert {path: without_batch(j) for path, j in batched.items()} == {
        path: without_batch(j) for path, j in ordinary.items()
    }


def test_a_known_secret_is_never_uploaded(bench: Bench, talked: Tiny, server: BatchServer) -> None:
    secret = "sk-0123456789abcdefXYZ"
    edit(talked.models, "seed = true\n", f'seed = true\nheaders = {{ "x-api-key" = "{secret}" }}\n')
    template = next((talked.prompts / talked.protocol().suite.protocol).glob("judge*.jinja"))
    template.write_text(template.read_text(encoding="utf-8") + f"\nKey: {secret}\n", encoding="utf-8")
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 1
    assert "holds a credential of provider scripted; it was not sent" in ended.err
    assert secret not in ended.err
    assert not server.batch_lines
    assert not states(talked)


def test_the_lines_hold_the_very_requests_of_ordinary_calls(
    bench: Bench, talked: Tiny, server: BatchServer
) -> None:
    assert bench("judge", "tiny", *POLL, *talked.options()).status == 0
    shutil.rmtree(talked.root / "cache")
    shutil.rmtree(talked.tree.player_folder("tiny", "en", "bard") / "judgements")
    assert bench("judge", "tiny", *talked.options()).status == 0
    (first, *_) = server.files.values()
    bodies = {line.split(b'"body": ', 1)[1][:-1] for line in first.splitlines()}
    assert bodies == {seen.raw for seen in server.seen}


def test_each_model_has_a_batch_of_its_own(bench: Bench, talked: Tiny, server: BatchServer) -> None:
    words = ("judge", "tiny", "-j", "strict", "-j", "lenient", *POLL, *talked.options())
    assert bench(*words).status == 0
    sent = [server.files[batch["input_file_id"]] for batch in server.batches.values()]
    models = [{json.loads(line)["body"]["model"] for line in data.splitlines()} for data in sent]
    assert sorted(map(sorted, models)) == [["lenient-1"], ["strict-1"]]
    assert len(judgements(talked)) == len(judgements(talked, "lenient")) == TALKS


class Killed(KeyboardInterrupt):
    """Ends the command where it stands."""


def killing(target: Any, name: str, after: bool, times: list[int]) -> Callable[..., Any]:
    """``target.name``, but the ``times[0]``-th call of it is the last thing that happens (or never does)."""
    real = getattr(target, name)

    def dies() -> bool:
        times[0] -= 1
        return times[0] == 0

    async def later(*args: Any, **kwargs: Any) -> Any:
        last = dies()
        if last and not after:
            raise Killed
        result = await real(*args, **kwargs)
        if last:
            raise Killed
        return result

    def now(*args: Any, **kwargs: Any) -> Any:
        last = dies()
        if last and not after:
            raise Killed
        result = real(*args, **kwargs)
        if last:
            raise Killed
        return result

    return later if target is BatchApi else now


STEPS = [
    (BatchStates, "write", False, 1),
    (BatchStates, "write", True, 1),
    (BatchApi, "upload", True, 1),
    (BatchStates, "write", True, 2),
    (BatchApi, "create", False, 1),
    (BatchApi, "create", True, 1),
    (BatchStates, "write", True, 3),
    (BatchApi, "retrieve", True, 2),
    (BatchResults, "store", False, 1),
    (BatchResults, "store", True, 1),
    (BatchStates, "remove", True, 1),
    (ResultsTree, "write_judgement", False, 1),
    (ResultsTree, "write_judgement", True, 1),
]


@pytest.mark.parametrize(("target", "name", "after", "time"), STEPS, ids=lambda value: str(value))
def test_killed_between_two_steps_nothing_is_paid_twice(
    bench: Bench,
    talked: Tiny,
    server: BatchServer,
    monkeypatch: pytest.MonkeyPatch,
    target: type,
    name: str,
    after: bool,
    time: int,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(target, name, killing(target, name, after, [time]))
        assert bench("judge", "tiny", *POLL, *talked.options()).status != 0
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 0, ended.err
    assert sorted(set(ids(server))) == sorted(ids(server))
    assert (len(server.batch_lines), server.count) == (TALKS, 0)
    assert [j.status for j in judgements(talked)] == ["ok"] * TALKS
    assert states(talked) == []


def test_a_batch_whose_creation_was_not_heard_of_is_found(
    bench: Bench, talked: Tiny, server: BatchServer
) -> None:
    server.troubles["POST /batches"] = [Answer(way="reset_after")]
    assert bench("judge", "tiny", *POLL, *talked.options()).status == 0
    assert len(server.batches) == 1
    assert len(judgements(talked)) == TALKS


def test_passing_troubles_are_waited_out(bench: Bench, talked: Tiny, server: BatchServer) -> None:
    for kind in ("POST /files", "POST /batches", "GET /batches", "GET /batches/ID", "GET /files/ID/content"):
        server.troubles[kind] = [error(503, "busy"), Answer(way="close_before"), error(429, "slowly")]
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 0, ended.err
    assert (len(server.batches), len(judgements(talked))) == (1, TALKS)


NONSENSE = [
    Answer("<html>busy</html>", headers={"content-type": "text/html"}),
    Answer("null"),
    Answer([]),
    Answer({"id": 7, "status": [], "data": ["b"], "errors": ["e"], "request_counts": 1}),
    Answer("not gzip", headers={"content-encoding": "gzip"}),
    Answer("x" * 1000, way="reset_during"),
]


def test_answers_that_make_no_sense_are_waited_out(bench: Bench, talked: Tiny, server: BatchServer) -> None:
    for kind in ("POST /files", "POST /batches", "GET /batches"):
        server.troubles[kind] = list(NONSENSE)
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 0, ended.err
    for path in (talked.root / "cache", talked.tree.player_folder("tiny", "en", "bard") / "judgements"):
        shutil.rmtree(path)
    for kind in ("GET /batches/ID", "GET /files/ID/content"):
        server.troubles[kind] = list(NONSENSE)
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 0, ended.err
    assert (len(server.batches), len(judgements(talked)), server.count) == (2, TALKS, 0)


def test_a_state_holds_no_text_and_no_secret(
    bench: Bench, talked: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(talked.models, "batch = true", 'batch = true\napi_key_env = "PLANTED_API_KEY"')
    monkeypatch.setenv("PLANTED_API_KEY", "sk-planted-0123456789")
    with monkeypatch.context() as patch:
        patch.setattr(BatchApi, "retrieve", killing(BatchApi, "retrieve", False, [1]))
        assert bench("judge", "tiny", *POLL, *talked.options()).status != 0
    (path,) = states(talked)
    text = path.read_text()
    assert "planted" not in text
    assert "lighthouse" not in text
    assert set(json.loads(text)) == {
        "token", "provider", "base_url", "model", "planned_at", "keys", "file_id", "batch_id"
    }  # fmt: skip


def refused(bench: Bench, tiny: Tiny, *words: str) -> Ended:
    ended = bench("judge", "tiny", *POLL, *words, *tiny.options())
    assert ended.status != 0
    assert "Traceback" not in ended.err
    return ended


def test_a_batch_dearer_than_the_limit_is_not_submitted(
    bench: Bench, talked: Tiny, server: BatchServer
) -> None:
    assert "estimated cost" in refused(bench, talked, "--max-cost", "0.0000001").err
    assert server.batches == {}


def test_a_judge_without_batches_is_refused(bench: Bench, talked: Tiny) -> None:
    edit(talked.models, "batch = true\n", "")
    assert "batch = true" in refused(bench, talked).err


def test_a_batch_goes_with_neither_no_cache_nor_reparse(bench: Bench, talked: Tiny) -> None:
    assert "--no-cache" in refused(bench, talked, "--no-cache").err
    assert "--reparse" in refused(bench, talked, "--reparse").err


def test_a_wrong_key_ends_the_command_and_keeps_the_batch(
    bench: Bench, talked: Tiny, server: BatchServer
) -> None:
    server.troubles["GET /batches/ID"] = [error(401, "no such key")]
    assert "no such key" in refused(bench, talked).err
    assert len(states(talked)) == 1
    assert bench("judge", "tiny", *POLL, *talked.options()).status == 0
    assert len(server.batches) == 1


def test_ordinary_judging_says_that_batches_are_under_way(
    bench: Bench, talked: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(BatchApi, "retrieve", killing(BatchApi, "retrieve", False, [1]))
        assert bench("judge", "tiny", *POLL, *talked.options()).status != 0
    assert "1 batch not collected yet" in bench("judge", "tiny", *talked.options()).err
