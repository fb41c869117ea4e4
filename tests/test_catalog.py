"""models.toml: what is read, what is refused and how that is said, and the repository's own."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from bench.catalog import Catalog, Model, Prices, load_catalog
from bench.chat.body import body_of
from bench.chat.requests import ChatRequest
from bench.errors import CatalogError
from bench.records import Usage
from bench.run.checking import check_all
from bench.toml_entries import entry_from
from tests.tiny import ROOT, Tiny, edit, make_tiny


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


@pytest.fixture(scope="module")
def ours() -> Catalog:
    return load_catalog(ROOT / "models.toml")


def refused(path: Path) -> CatalogError:
    with pytest.raises(CatalogError) as caught:
        load_catalog(path)
    line = caught.value.line()
    assert str(path) in line
    assert "\n" not in line
    return caught.value


def priced(**prices: str) -> Model:
    facts = {"provider": "p", "model": "m", "name": "M", "family": "f", "weights": "open", "licence": "x"}
    return entry_from(Model, facts | ({"prices": prices} if prices else {}), "here")


# --- the repository's own --------------------------------------------------------------------------------


def test_every_entry_of_the_repository_loads(ours: Catalog) -> None:
    assert len(ours.models) > 10
    for name in ours.models:
        assert ours.provider_of(name) is ours.providers[ours.model(name).provider]


@pytest.mark.parametrize(
    "part", ["openai.com", "openrouter.ai", "anthropic.com", "googleapis.com", "127.0.0.1", "embedded"]
)
def test_the_repository_has_each_kind_of_provider_with_a_model(ours: Catalog, part: str) -> None:
    (name,) = [name for name, provider in ours.providers.items() if part in provider.base_url]
    assert any(model.provider == name for model in ours.models.values())


def test_ids_of_hosted_models_are_marked_as_unverified(ours: Catalog) -> None:
    hosted = {name for name in ours.models if ours.provider_of(name).api_key_env is not None}
    assert {name for name, model in ours.models.items() if model.unverified} == hosted


def test_thinking_comes_in_pairs_that_differ_in_thinking_only(ours: Catalog) -> None:
    pairs = [
        (ours.models[name.removesuffix("-thinking")], ours.models[name])
        for name in ours.models
        if name.endswith("-thinking")
    ]
    assert len(pairs) >= 10
    for plain, thinking in pairs:
        shared = {"provider", "family", "weights", "licence", "parameters_billion", "prices"}
        assert plain.model_dump(include=shared) == thinking.model_dump(include=shared)
        assert plain.name != thinking.name
        assert (plain.model, plain.extra_body) != (thinking.model, thinking.extra_body)
        assert thinking.sampling.max_tokens is not None


def test_keys_of_one_provider_are_sent_as_they_are(tiny: Tiny) -> None:
    """And stand in the parameters of the record, so that they are part of fingerprint and cache key."""
    edit(tiny.models, "[models.bard]", "[models.bard]\nextra_body = { reasoning = { enabled = false } }")
    catalog = tiny.catalog()
    parameters = tiny.protocol().parameters("player", "bard")
    assert parameters == {"temperature": 0.6, "max_tokens": 64, "reasoning": {"enabled": False}}
    request = ChatRequest(model="bard", role="player", messages=(), parameters=parameters)
    body = body_of(request, catalog.model("bard"), catalog.provider_of("bard"))
    assert body["reasoning"] == {"enabled": False}


@pytest.mark.parametrize("keys", ["{ seed = 1 }", "{ temperature = 1 }", "{ x = nan }", "{ messages = [] }"])
def test_keys_that_have_a_place_of_their_own_are_refused(tiny: Tiny, keys: str) -> None:
    edit(tiny.models, "[models.bard]", f"[models.bard]\nextra_body = {keys}")
    assert "extra_body" in refused(tiny.models).line()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Title", "Пьеса"),
        ("X-Title", "Queen of Hearts\nX-Other: 1"),
        ("X-Title", " Queen of Hearts"),
        ("X Title", "Queen of Hearts"),
        ("X-Tëtle", "Queen of Hearts"),
        ("", "Queen of Hearts"),
        ("Content-Length", "3"),
        ("transfer-encoding", "chunked"),
    ],
)
def test_headers_that_http_cannot_send_are_refused(tiny: Tiny, name: str, value: str) -> None:
    """Here, where the file can be named: the client would fail at the first call. A value may be a key."""
    table = f"headers = {{ {json.dumps(name)} = {json.dumps(value)} }}\nbase_url"
    edit(tiny.models, "base_url", table)
    fault = refused(tiny.models).line()
    assert "headers" in fault
    assert "Hearts" not in fault


@pytest.mark.parametrize(
    "line",
    [
        'headers = "X-Key: Hearts"',
        'headers = [["X-Key", "Hearts"]]',
        'headers = { "X-Key" = ["Hearts"] }',
        'headers = { "X-Key" = { of = "Hearts" } }',
        'headers = { "X-Key: Hearts" = "" }',
        "headers = { X-Key = 77777 }",
        'api_key_env = "sk-Hearts"',
    ],
)
def test_what_may_be_a_key_is_not_printed(tiny: Tiny, line: str) -> None:
    edit(tiny.models, "base_url", f"{line}\nbase_url")
    fault = refused(tiny.models).line()
    assert "models.toml:3" in fault
    assert line.split()[0] in fault
    assert not {"Hearts", "77777"} & set(re.findall(r"\w+", fault))


def test_only_providers_on_this_machine_need_no_key(ours: Catalog) -> None:
    keyless = {p.base_url for p in ours.providers.values() if p.api_key_env is None}
    assert keyless == {"embedded", "recordings", "http://127.0.0.1:8000/v1"}


def test_the_repository_names_every_model_differently(ours: Catalog) -> None:
    names = [model.name for model in ours.models.values()]
    assert len(set(names)) == len(names)


def test_open_weights_have_a_licence_of_their_own_and_a_size(ours: Catalog) -> None:
    for model in ours.models.values():
        assert (model.licence == "proprietary") == (model.weights == "closed")
        called = not ours.providers[model.provider].recorded
        assert (model.parameters_billion is not None) == (called and model.weights == "open")


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("max_concurrent", "max_concurent", "'max_concurent' (did you mean 'max_concurrent'?)"),
        ("licence", "license", "'license' (did you mean 'licence'?)"),
        ("prices = { input", "prices = { inptu", "'prices.inptu' (did you mean 'input'?)"),
        ("licence", "colour", "unknown key 'colour' (known keys: audio_input"),
        ('name = "Actor"', 'nome = "Actor"', "key 'name' is missing"),
        ('name = "Actor"', "", 'Add `name = "..."`.'),
        ("[providers.scripted]", "[provider.scripted]", "unknown table 'provider'"),
        ('provider = "plain"', 'provider = "plane"', "unknown provider 'plane'"),
        ('provider = "plain"', 'provider = "plane"', "Did you mean 'plain'?"),
        ('weights = "closed"', 'weights = "shut"', "got 'shut'"),
        ('input = "1"', "input = 0.15", "price as a string"),
        ('input = "1"', 'input = "-1"', "greater than or equal to 0"),
        ('input = "1"', 'input = "nan"', "finite"),
        ("[models.bard]", '[models."bard/1"]', "'bard/1' is not a usable id"),
        ("max_concurrent = 4", "max_concurrent = 0", "providers.scripted"),
        ("json_schema = true\nschema", "json_schema = 7\nschema", "json_schema"),
        ("[providers.scripted]", "[providers.scripted", "malformed TOML"),
        ("[models.bard]", "[models.actor]", "malformed TOML"),
    ],
)
def test_a_mistake_is_named(tiny: Tiny, old: str, new: str, said: str) -> None:
    edit(tiny.models, old, new)
    assert said in refused(tiny.models).line()


@pytest.mark.parametrize("text", ["models = 3", "providers = []", "[[models]]\nmodel = 'x'", "models.x = 3"])
def test_an_invalid_table_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "models.toml"
    path.write_text(text, encoding="utf-8")
    assert "table" in refused(path).line() or "dictionary" in refused(path).line()


def test_a_malformed_line_is_given_by_its_number(tiny: Tiny) -> None:
    edit(tiny.models, "[models.bard]", "[models.bard")
    number = tiny.models.read_text(encoding="utf-8").splitlines().index("[models.bard") + 1
    assert f"at line {number}" in refused(tiny.models).line()


def test_a_missing_file_is_named_with_a_hint(tmp_path: Path) -> None:
    error = refused(tmp_path / "no.toml")
    assert "no such file" in error.what
    assert error.hint


def test_a_folder_is_no_catalog(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path).line()


def test_a_file_in_another_encoding_is_refused(tiny: Tiny) -> None:
    tiny.models.write_bytes(tiny.models.read_text(encoding="utf-8").replace("Bard", "Bärd").encode("latin-1"))
    assert "UTF-8" in refused(tiny.models).line()


def test_an_unknown_model_is_answered_with_the_nearest(tiny: Tiny) -> None:
    with pytest.raises(CatalogError, match=r"unknown judge 'strickt'.*Did you mean 'strict'"):
        tiny.catalog().model("strickt", "judge")


def test_a_model_like_no_other_is_answered_with_all_there_are(tiny: Tiny) -> None:
    with pytest.raises(CatalogError, match=r"Choose from: actor, asker, bard, lenient, strict\."):
        tiny.catalog().model("zzzzzz")


# --- money -----------------------------------------------------------------------------------------------


def test_a_cost_is_exact() -> None:
    usage = Usage(prompt_tokens=3, completion_tokens=1)
    assert priced(input="0.1", output="0.2").cost_of(usage) == Decimal("0.0000005")


def test_an_unknown_price_is_never_zero() -> None:
    assert priced().cost_of(Usage(prompt_tokens=1, completion_tokens=1)) is None


@pytest.mark.parametrize(("cached", "cost"), [(None, "10"), (0, "10"), (4, "8"), (10, "5"), (99, "5")])
def test_tokens_that_the_provider_had_cached_have_their_own_price(cached: int | None, cost: str) -> None:
    model = priced(input="1000000", cached_input="500000", output="0")
    usage = Usage(prompt_tokens=10, completion_tokens=0, cached_tokens=cached)
    assert model.cost_of(usage) == Decimal(cost)


def test_cached_tokens_cost_what_others_do_where_no_price_is_given() -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=0, cached_tokens=10)
    assert priced(input="1000000", output="0").cost_of(usage) == 10


def test_a_price_may_be_a_whole_number() -> None:
    assert Prices.model_validate({"input": 3, "output": "0.5"}).input == 3


# --- what player.json gets -------------------------------------------------------------------------------


def test_a_player_is_described_as_the_catalog_says(tiny: Tiny) -> None:
    info = tiny.catalog().player_info("bard", {"temperature": 0.6})
    assert (info.player, info.provider, info.model, info.name) == ("bard", "scripted", "bard-1", "Bard")
    assert (info.weights, info.licence, info.sampling) == ("open", "MIT", {"temperature": 0.6})


def test_what_is_not_set_is_not_sent(tiny: Tiny) -> None:
    assert tiny.catalog().model("bard").sampling.given() == {}


@pytest.mark.parametrize(
    ("change", "apart"),
    [
        ("", False),
        ('licence = "other"', False),
        ("sampling = { temperature = 0.9 }", True),
        ("extra_body = { reasoning = { enabled = true } }", True),
        ("json_schema = true", False),  # as its provider
        ("json_schema = false", True),
    ],
)
def test_judges_whose_replies_would_be_copies_of_each_other_are_refused(
    tiny: Tiny, change: str, apart: bool
) -> None:
    entry = f'provider = "plain"\nmodel = "judge-1"\nname = "Judge"\n{change}\n'
    plain = '\n[models.one]\nprovider = "plain"\nmodel = "judge-1"\nname = "Judge"\n'
    tiny.models.write_text(f"{tiny.models.read_text()}{plain}\n[models.two]\n{entry}", encoding="utf-8")
    protocol = tiny.protocol()
    protocol.check_models([], ["one", "strict"])
    if apart:
        protocol.check_models([], ["one", "strict", "two"])
        return
    with pytest.raises(CatalogError, match="judges one and two are one model with one set of settings"):
        protocol.check_models([], ["one", "strict", "two"])


def test_seeds_tell_two_entries_of_one_judge_apart(tiny: Tiny) -> None:
    entry = 'provider = "scripted"\nmodel = "strict-1"\nname = "Strict"\n'
    tiny.models.write_text(f"{tiny.models.read_text()}\n[models.again]\n{entry}", encoding="utf-8")
    tiny.protocol().check_models([], ["strict", "again"])
    edit(tiny.models, "seed = true\n", "")
    assert tiny.catalog().twins(["strict", "again"]) == ("strict", "again")


def test_check_finds_judges_that_would_copy_each_other(tiny: Tiny) -> None:
    edit(tiny.models, "seed = true\n", "")
    entry = 'provider = "scripted"\nmodel = "strict-1"\nname = "Strict"\n'
    tiny.models.write_text(f"{tiny.models.read_text()}\n[models.again]\n{entry}", encoding="utf-8")
    edit(tiny.suite_file, 'models = ["strict"]', 'models = ["strict", "again"]')
    (fault,) = check_all([tiny.prompts], tiny.models).faults
    assert "judges strict and again are one model" in fault.what
    assert fault.where.startswith(str(tiny.suite_file))
