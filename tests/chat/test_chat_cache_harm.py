"""What a hostile or foreign cache could do, and does not; and that no two requests share an entry."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalog import Sampling
from bench.chat import Chat, ChatRequest, ResponseCache
from bench.chat import cache as cache_module
from bench.chat.answers import Answer
from bench.records import Usage
from tests.chat.conftest import asked, catalog
from tests.chat.test_chat_body import requests

ANSWER = Answer(outcome="ok", text="Boo.", usage=Usage(prompt_tokens=3, completion_tokens=2))


class _MakesAFile:
    """Pickled, it makes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, int]]:
        return os.open, (str(self.path), os.O_CREAT | os.O_WRONLY)


def _tampered(folder: Path, *changes: tuple[str, Any]) -> None:
    with ResponseCache(folder) as cache:
        cache.put("k", ANSWER)
    with sqlite3.connect(folder / "cache.db") as database:
        for change, value in changes:
            database.execute(change, (value,))


def test_a_pickle_does_make_a_file_where_it_is_loaded(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(_MakesAFile(tmp_path / "proof")))
    assert (tmp_path / "proof").exists()


@pytest.mark.parametrize("mode", range(6))
def test_a_pickled_value_is_never_loaded(tmp_path: Path, mode: int) -> None:
    bomb = pickle.dumps(_MakesAFile(tmp_path / "proof"))
    _tampered(tmp_path / "cache", (f"UPDATE Cache SET mode = {mode}, value = ?", bomb))
    with ResponseCache(tmp_path / "cache") as cache:
        assert cache.get("k") is None
        cache.put("k", ANSWER)
        assert cache.get("k") == ANSWER
    assert not (tmp_path / "proof").exists()


@pytest.mark.parametrize("mode", range(6))
def test_a_pickle_in_a_file_of_the_cache_is_never_loaded(tmp_path: Path, mode: int) -> None:
    _tampered(tmp_path / "cache", (f"UPDATE Cache SET mode = {mode}, value = NULL, filename = ?", "x.val"))
    (tmp_path / "cache" / "x.val").write_bytes(pickle.dumps(_MakesAFile(tmp_path / "proof")))
    with ResponseCache(tmp_path / "cache") as cache:
        assert cache.get("k") is None
    assert not (tmp_path / "proof").exists()


def test_a_pickled_key_or_setting_is_never_loaded(tmp_path: Path) -> None:
    bomb = pickle.dumps(_MakesAFile(tmp_path / "proof"))
    changes = [
        ("INSERT INTO Cache (key, raw, mode, value) VALUES (?, 0, 4, 'x')", bomb),
        ("UPDATE Settings SET value = ? WHERE key = 'disk_pickle_protocol'", bomb),
    ]
    _tampered(tmp_path / "cache", *changes)
    with ResponseCache(tmp_path / "cache") as cache:
        cache.get("k")
        cache.put("other", ANSWER)
    assert not (tmp_path / "proof").exists()


def test_a_row_that_names_a_file_elsewhere_deletes_nothing(tmp_path: Path) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    _tampered(tmp_path / "cache", ("UPDATE Cache SET filename = ?", "../precious.txt"))
    with ResponseCache(tmp_path / "cache") as cache:
        assert cache.get("k") is None
        cache.put("k", ANSWER)
        assert cache.get("k") == ANSWER
    assert precious.read_text() == "mine"


def test_entries_of_another_version_are_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    now = ResponseCache.key("u", "{}", 0)
    monkeypatch.setattr(cache_module, "CACHE_VERSION", cache_module.CACHE_VERSION + 1)
    assert ResponseCache.key("u", "{}", 0) != now


def test_a_full_disk_leaves_what_is_kept_to_be_read(tmp_path: Path) -> None:
    warnings: list[str] = []
    big = ANSWER.model_copy(update={"text": "x" * 500_000})
    with ResponseCache(tmp_path / "cache", warnings.append) as cache:
        cache.put("k", ANSWER)
        pages = cache._disk._sql("PRAGMA page_count").fetchone()[0]
        cache._disk._sql(f"PRAGMA max_page_count = {pages}")
        cache.put("big", big)
        cache.put("big", big)
        assert cache.get("k") == ANSWER
        assert cache.get("big") is None
    assert len(warnings) == 1


def test_nothing_is_ever_evicted(tmp_path: Path) -> None:
    with ResponseCache(tmp_path / "cache") as cache:
        assert cache._disk.eviction_policy == "none"
        assert cache._disk.cull_limit == 0
        assert cache._disk.size_limit >= 2**50


def test_a_claim_keeps_another_process_from_sending(tmp_path: Path) -> None:
    key, other = ResponseCache.key("u", "1", 0), ResponseCache.key("u", "2", 0)
    with ResponseCache(tmp_path / "cache") as cache:
        assert cache.claim(key)
        assert _claims_in_a_child(tmp_path / "cache", key, other) == [False, True]
        cache.release(key)
        assert _claims_in_a_child(tmp_path / "cache", key, other) == [True, True]


def _claims_in_a_child(folder: Path, *keys: str) -> list[bool]:
    """What another process gets when it claims ``keys``; it ends without giving them back."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        cache = ResponseCache(folder)
        os.write(write, json.dumps([cache.claim(key) for key in keys]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said: list[bool] = json.loads(pipe.read())
    os.waitpid(child, 0)
    return said


# --- no two requests share an entry ----------------------------------------------------------------------

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "temperature": st.floats(0, 2),
    "top_p": st.floats(0.01, 1),
    "top_k": st.integers(0, 100),
    "min_p": st.floats(0, 1),
    "frequency_penalty": st.floats(-2, 2),
    "presence_penalty": st.floats(-2, 2),
    "repetition_penalty": st.floats(0.1, 2),
    "max_tokens": st.integers(1, 9000),
    "reasoning_effort": st.sampled_from(["low", "medium", "high"]),
}
URLS = (
    "https://a/v1",
    "https://a/v2",
    "https://b/v1",
    "http://a/v1",
    "https://a:8443/v1",
    "https://a/v1?x=1",
)


def key(url: str, request: ChatRequest) -> str:
    return Chat(catalog(url, {"seed": True, "json_schema": True}), environ={}).prepared(request).key


def test_every_sampling_parameter_is_varied() -> None:
    assert set(VALUES) == set(Sampling.model_fields)


@given(requests, st.sampled_from(sorted(VALUES)), st.data())
def test_requests_that_differ_in_one_parameter_share_no_entry(
    request: ChatRequest, name: str, data: st.DataObject
) -> None:
    one, two = data.draw(VALUES[name]), data.draw(VALUES[name])
    given_ = [{**request.parameters, name: value} for value in (one, two)]
    given_.append({k: v for k, v in request.parameters.items() if k != name})
    keys = [key(URLS[0], asked_like(request, parameters=parameters)) for parameters in given_]
    assert (keys[0] == keys[1]) == (json.dumps(one) == json.dumps(two))
    assert keys[2] not in keys[:2]


@given(requests, st.sampled_from(URLS), st.sampled_from(URLS), st.integers(0, 5), st.integers(0, 5))
def test_requests_that_differ_in_address_or_sample_share_no_entry(
    request: ChatRequest, one: str, two: str, first: int, second: int
) -> None:
    keys = {key(one, asked_like(request, sample=first)), key(two, asked_like(request, sample=second))}
    assert len(keys) == 1 + ((one, first) != (two, second))


@given(requests, requests)
def test_requests_that_differ_in_words_schema_or_seed_share_no_entry(
    one: ChatRequest, two: ChatRequest
) -> None:
    def facts(request: ChatRequest) -> str:
        role = request.role if request.response_schema is not None else ""  # it names the schema
        words = [m.plain() for m in request.messages]
        more = [dict(request.parameters), request.response_schema, role, request.seed, request.sample]
        return json.dumps([words, more], sort_keys=True)

    assert (key(URLS[0], one) == key(URLS[0], two)) == (facts(one) == facts(two))


def asked_like(request: ChatRequest, **changes: Any) -> ChatRequest:
    fields = ("role", "messages", "parameters", "response_schema", "seed", "sample")
    return asked(**{name: getattr(request, name) for name in fields} | changes)
