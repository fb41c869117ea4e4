"""What `judge --batch` makes of the results of a batch, however they are written and whatever is missing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from bench.chat.batch_api import lines_of
from tests.cli.batches.conftest import POLL, judgements
from tests.cli.conftest import TALKS, Bench
from tests.scripted_batches import BatchServer
from tests.scripted_server import Answer, Seen, completion, error, plausible
from tests.tiny import Tiny


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
