"""judge --batch: the same judgements for half the money, and nothing paid twice whatever ends the command."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bench import cli
from bench.chat.batch_api import BatchApi, lines_of
from bench.chat.batch_states import BatchStates
from bench.records import Judgement
from bench.results import ResultsTree
from bench.run.batch_results import BatchResults
from tests.cli.conftest import Bench, Ended
from tests.scripted_batches import BatchServer
from tests.scripted_server import Answer, Seen, completion, error, plausible
from tests.tiny import Tiny, edit, make_tiny

TALKS = 4
POLL = ("--batch", "--poll", "0.01")


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with BatchServer().in_thread() as running:
        assert isinstance(running, BatchServer)
        yield running


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of one run, without its judgements, for tests to copy."""
    with BatchServer().in_thread() as server:
        tiny = _with_batches(tmp_path_factory.mktemp("talked"), server.url)
        cli.cli(["run", "tiny", *tiny.options()], standalone_mode=False)
    shutil.rmtree(tiny.tree.player_folder("tiny", "en", "bard") / "judgements")
    return tiny.tree.root


@pytest.fixture
def talked(conversations: Path, tmp_path: Path, server: BatchServer) -> Tiny:
    """Conversations without judgements; their judges are at a provider with batches at half price."""
    tiny = _with_batches(tmp_path / "tiny", server.url)
    shutil.copytree(conversations, tiny.tree.root, dirs_exist_ok=True)
    return tiny


def _with_batches(root: Path, url: str) -> Tiny:
    tiny = make_tiny(root, url)
    edit(tiny.models, "schema_limits = true\n", "schema_limits = true\nbatch = true\n")
    text = tiny.models.read_text()
    tiny.models.write_text(text.replace('output = "2" }', 'output = "2", batch_discount = "0.5" }'))
    return tiny


def judgements(tiny: Tiny, judge: str = "strict") -> list[Judgement]:
    return [j for j in tiny.tree.judgements("tiny", "en", "bard") if j.judge == judge]


def without_batch(record: Judgement) -> Judgement:
    calls = tuple(call.model_copy(update={"batch": None, "cost": None}) for call in record.calls)
    return record.model_copy(update={"calls": calls, "digest": ""})


def ids(server: BatchServer) -> list[str]:
    return [line["custom_id"] for line in server.batch_lines]


def states(tiny: Tiny) -> list[Path]:
    return list((tiny.root / "cache" / "batches").rglob("*.json"))


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


@pytest.mark.parametrize(
    "change",
    [
        {"status_code": "200"},
        {"status_code": None},
        {"body": str},
    ],
    ids=["status as text", "no status", "body as text"],
)
def test_results_are_read_however_they_are_written(
    bench: Bench, talked: Tiny, server: BatchServer, change: dict[str, Any]
) -> None:
    def rewrite(lines: list[str]) -> list[str]:
        results = [json.loads(line) for line in lines]
        for result in results:
            response = result["response"]
            response.update({key: json.dumps(response[key]) if v is str else v for key, v in change.items()})
            result["response"] = {key: value for key, value in response.items() if value is not None}
        return [json.dumps(result) for result in results]

    server.rewrite = rewrite
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 0, ended.err
    assert (len(judgements(talked)), server.count) == (TALKS, 0)


@pytest.mark.parametrize(("status", "count"), [("expired", 3), ("cancelled", 1), ("failed", 0)])
def test_a_batch_that_does_not_run_to_its_end_gives_what_it_has(
    bench: Bench, talked: Tiny, server: BatchServer, status: str, count: int
) -> None:
    server.ends = [(status, count)]
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 1
    assert f"{TALKS - count} not answered: batch batch-1 ended as {status}" in ended.err
    assert len(judgements(talked)) == count
    assert server.count == 0
    assert bench("judge", "tiny", *POLL, *talked.options()).status == 0
    assert len(judgements(talked)) == TALKS
    assert len(server.batches["batch-2"]) > 0
    assert len(server.batch_lines) == TALKS + TALKS - count


def test_lines_that_failed_and_replies_that_cannot_be_read_are_asked_again_one_by_one(
    bench: Bench, talked: Tiny, server: BatchServer
) -> None:
    picked: dict[bytes, Answer] = {}

    def answer(seen: Seen) -> Answer:
        if seen.path == "batch":
            step = [error(500, "lost"), completion("I would rather not say.", seen)]
            picked.setdefault(seen.raw, step[len(picked)] if len(picked) < 2 else plausible(seen))
            return picked[seen.raw]
        return plausible(seen)

    server.answer = answer
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 0, ended.err
    assert "3 answers, 1 declined" in ended.out
    assert server.count == 2
    made = judgements(talked)
    assert [j.status for j in made] == ["ok"] * TALKS
    ways = [[c.batch for c in j.calls] for j in made if j.calls[-1].batch is None]
    assert sorted(ways, key=len) == [[None], [True, None]]


def _twice(lines: list[str]) -> list[str]:
    """A bad result and an empty answer before the good one of a request, and another good one after it."""
    line = json.loads(lines[0])
    key = line["custom_id"]
    bad = {"id": "x", "custom_id": key, "response": None, "error": {"code": "lost", "message": "lost"}}
    texts = []
    for text in ("", "Another answer altogether."):
        line["response"]["body"]["choices"][0]["message"]["content"] = text
        texts.append(json.dumps(line))
    return [json.dumps(bad), texts[0], lines[0], texts[1], *lines[1:]]


def test_of_several_results_to_a_request_the_first_good_one_counts(
    bench: Bench, talked: Tiny, server: BatchServer
) -> None:
    server.rewrite = _twice
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 0, ended.err
    assert f"{TALKS} answers, 0 declined" in ended.out
    assert "1 of its requests have several results" in ended.err
    assert server.count == 0
    assert [j.status for j in judgements(talked)] == ["ok"] * TALKS


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda lines: lines[1:],
        lambda lines: [lines[0][: len(lines[0]) // 2], *lines[1:]],
        lambda lines: [lines[0][:-1] + " " * 9_000_000 + "}", *lines[1:]],
        lambda lines: [lines[0].replace('"custom_id": "', '"custom_id": "0'), *lines[1:]],
    ],
    ids=["left out", "cut off", "too long", "of another request"],
)
def test_a_result_that_never_arrived_is_missing(
    bench: Bench, talked: Tiny, server: BatchServer, rewrite: Callable[[list[str]], list[str]]
) -> None:
    server.rewrite = rewrite
    ended = bench("judge", "tiny", *POLL, *talked.options())
    assert ended.status == 0, ended.err
    assert f"{TALKS - 1} answers, 0 declined, 1 missing" in ended.out
    assert server.count == 1, "an ordinary call makes it again"
    assert [j.status for j in judgements(talked)] == ["ok"] * TALKS


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_are_put_together_from_chunks_of_any_size(size: int) -> None:
    text = '{"a": "\u2028\x85"}\n\n' + "x" * 50 + "\n" + "y" * 20 + "\nno newline at the end"
    data = text.encode()

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), size):
            yield data[start : start + size]

    async def read() -> list[str]:
        return [line.decode() async for line in lines_of(chunks(), 25)]

    assert asyncio.run(read()) == ['{"a": "\u2028\x85"}', "", "y" * 20, "no newline at the end"]


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
    assert "1 batches have not been collected" in bench("judge", "tiny", *talked.options()).err
