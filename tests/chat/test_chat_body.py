"""What is sent: properties over all requests and capabilities."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalog import Model, Provider
from bench.chat.body import body_of, body_text, folded
from bench.chat.cache import ResponseCache
from bench.chat.requests import ChatRequest, estimated_tokens, scalar_text
from bench.records import Message, Role
from tests.chat.conftest import catalog

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
message = st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=texts)
talks = st.lists(message, min_size=1, max_size=6).map(tuple)
parameters = st.dictionaries(
    st.sampled_from(["temperature", "top_p", "max_tokens", "top_k", "reasoning_effort"]),
    st.one_of(st.integers(0, 9), st.floats(0, 1), texts),
    max_size=4,
)
requests = st.builds(
    ChatRequest,
    model=st.just("m"),
    role=st.sampled_from(["player", "interrogator", "judge"]),
    messages=talks,
    parameters=parameters,
    response_schema=st.none() | st.just({"type": "object"}),
    seed=st.none() | st.integers(0, 5),
    sample=st.integers(0, 3),
)
providers = st.builds(
    Provider,
    base_url=st.sampled_from(["https://a/v1", "https://b/v1"]),
    system_role=st.booleans(),
    json_schema=st.booleans(),
    seed=st.booleans(),
    max_tokens_name=st.sampled_from(["max_tokens", "max_completion_tokens"]),
)


def model(**fields: Any) -> Model:
    return catalog("http://x", model=fields).models["m"]


@given(requests, providers)
def test_a_provider_gets_only_what_it_takes(request: ChatRequest, provider: Provider) -> None:
    body = body_of(request, model(), provider)
    assert ("response_format" in body) == (provider.json_schema and request.response_schema is not None)
    assert body.get("seed") == (request.seed if provider.seed else None)
    other = {"max_tokens": "max_completion_tokens"}.get(provider.max_tokens_name, "max_tokens")
    assert other not in body
    assert (provider.max_tokens_name in body) == ("max_tokens" in request.parameters)
    if not provider.system_role:
        assert all(m["role"] != "system" for m in body["messages"])
    assert json.loads(body_text(body)) == body


@given(talks)
def test_folding_keeps_every_word_and_the_order_of_the_rest(talk: tuple[Message, ...]) -> None:
    result = folded(talk)
    systems = [m for m in talk if m.role == "system"]
    others = [m for m in talk if m.role != "system"]
    assert all(m.role != "system" for m in result)
    has_user = any(m.role == "user" for m in talk)
    assert len(result) == len(others) + (bool(systems) and not has_user)
    if systems:
        first = next(m for m in result if m.role == "user")
        assert first.content.startswith("\n\n".join(m.content for m in systems))
        assert [m for m in result if m.role == "assistant"] == [m for m in talk if m.role == "assistant"]
    else:
        assert result == talk


@given(requests, requests, providers, providers)
def test_requests_that_differ_share_no_key(
    one: ChatRequest, two: ChatRequest, first: Provider, second: Provider
) -> None:
    bodies = [body_of(one, model(), first), body_of(two, model(), second)]
    facts = [
        (json.dumps(bodies[0], sort_keys=True), first.base_url, one.sample),
        (json.dumps(bodies[1], sort_keys=True), second.base_url, two.sample),
    ]
    keys = [
        ResponseCache.key(first.base_url, body_text(bodies[0]), one.sample),
        ResponseCache.key(second.base_url, body_text(bodies[1]), two.sample),
    ]
    assert (facts[0] == facts[1]) == (keys[0] == keys[1])


@given(requests, st.sampled_from(["temperature", "top_p", "top_k"]), st.integers(10, 20))
def test_any_parameter_changes_the_key(request: ChatRequest, name: str, value: int) -> None:
    changed = ChatRequest(
        request.model,
        request.role,
        request.messages,
        {**request.parameters, name: value},
        request.response_schema,
        request.seed,
        request.sample,
    )
    provider = Provider(base_url="https://a/v1")
    keys = {ResponseCache.key("u", body_text(body_of(r, model(), provider)), 0) for r in (request, changed)}
    assert len(keys) == 2


def test_the_model_overrides_its_provider() -> None:
    provider = Provider(base_url="http://x", json_schema=False, system_role=True)
    request = ChatRequest(
        "m",
        "judge",
        (Message(role="system", content="S"), Message(role="user", content="U")),
        {"temperature": 1, "max_tokens": 9},
        {"type": "object"},
    )
    body = body_of(
        request,
        model(
            json_schema=True,
            system_role=False,
            max_tokens_name="max_completion_tokens",
            drop_parameters=["temperature"],
        ),
        provider,
    )
    assert body["messages"] == [{"role": "user", "content": "S\n\nU"}]
    assert body["max_completion_tokens"] == 9
    assert "temperature" not in body
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}


@pytest.mark.parametrize("name", ["model", "messages", "stream", "seed"])
def test_a_parameter_cannot_take_a_fields_place(name: str) -> None:
    role: Role = "player"
    with pytest.raises(ValueError, match=name):
        body_of(
            ChatRequest("m", role, (Message(role="user", content="U"),), {name: 1}),
            model(),
            Provider(base_url="http://x"),
        )


@given(st.text())
def test_scalar_text_can_always_be_encoded(text: str) -> None:
    assert len(scalar_text(text).encode()) >= len(text)


def test_tokens_are_estimated_by_script() -> None:
    assert [estimated_tokens(t) for t in ("", "abcd", "abcde", "привет", "ab при")] == [0, 1, 2, 3, 3]
