"""Lists of models that servers give: what is taken from them, and what is said about a bad one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bench.chat.listing import entries_of_server, models_of_server
from bench.errors import CatalogError, ProviderError
from bench.suites.new_models import NewModel, add_models
from tests.scripted_server import Answer, ScriptedServer, Way
from tests.tiny import make_tiny

KEY = "the-right-key"


class Listing(ScriptedServer):
    """A server that lists models as the first folder of the path says."""

    def elsewhere(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        kind = path.split("/")[1]
        if kind == "keyed" and headers.get("authorization") != f"Bearer {KEY}":
            return Answer({"error": "who are you?"}, status=401)
        names: dict[str, object] = {"blank": " ", "long": "x" * 201, "escapes": "a\x1b[31m", "number": 5}
        way: Way = "slow" if kind == "slow" else "whole"
        return Answer({"data": [{"id": names.get(kind, "m")}]}, way=way)


@pytest.fixture
def place() -> Iterator[str]:
    with Listing().in_thread() as server:
        yield server.url.removesuffix("/v1")


@pytest.mark.parametrize("kind", ["blank", "long", "escapes", "number"])
def test_a_list_with_an_unusable_name_is_none(place: str, kind: str) -> None:
    with pytest.raises(ProviderError, match="unexpected answer"):
        models_of_server(f"{place}/{kind}/v1")


def test_a_list_that_trickles_in_is_given_up(place: str) -> None:
    with pytest.raises(ProviderError, match=r"no complete answer within 0\.2 s"):
        models_of_server(f"{place}/slow/v1", seconds=0.2)


def test_a_key_is_read_from_the_environment_or_its_file_and_a_missing_one_named(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = make_tiny(tmp_path)
    monkeypatch.chdir(tmp_path)
    keyed = f"{place}/keyed/v1"
    with pytest.raises(ProviderError) as error:
        entries_of_server(keyed, tiny.catalog(), key_env="LISTING_KEY")
    assert "LISTING_KEY" in error.value.line()
    Path(".env").write_text(f"LISTING_KEY={KEY}\n", encoding="utf-8")
    assert [new.id for new in entries_of_server(keyed, tiny.catalog(), key_env="LISTING_KEY")] == ["m"]


def test_two_servers_on_one_host_are_two_providers(place: str, tmp_path: Path) -> None:
    tiny = make_tiny(tmp_path)
    for identity, kind in (("a", "one"), ("b", "two"), ("c", "one")):
        new = entries_of_server(f"{place}/{kind}/v1", tiny.catalog())
        add_models(tiny.models, tiny.catalog(), new, identity=identity)
        provider = tiny.catalog().models[identity].provider
        assert tiny.catalog().providers[provider].base_url == f"{place}/{kind}/v1"


def test_two_models_that_would_get_one_id_are_added_one_by_one(tmp_path: Path) -> None:
    tiny = make_tiny(tmp_path)
    both = [NewModel("m", {"provider": "plain", "model": name, "name": name}) for name in ("a/m", "b/m")]
    with pytest.raises(CatalogError) as error:
        add_models(tiny.models, tiny.catalog(), both)
    assert "one by one" in error.value.line()
