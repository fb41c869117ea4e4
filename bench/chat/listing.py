"""Asks a server which models it offers, and turns the answer into catalogue entries."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import httpx2

from bench.catalog import Catalog
from bench.chat.secrets import Environment, shown_url
from bench.chat.wire import CALL_ERRORS, address, body_of, connection_fault, headers_of, http_client, tls
from bench.errors import ProviderError
from bench.suites.new_models import NewModel, usable_id
from bench.toml_entries import fits_header, unknown_name

MOST_BYTES = 4_000_000
MOST_MODELS = 20
"""Entries that are made without naming the models."""
LONGEST_NAME = 200
SECONDS = 15.0
ADDRESS = "Name the base address of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1."


def models_of_server(
    base_url: str,
    key: str | None = None,
    seconds: float = SECONDS,
    key_env: str = "",
    headers: Mapping[str, str] | None = None,
) -> list[str]:
    """Ids of the models that an OpenAI-compatible server offers, sorted. Raises ProviderError.

    Args:
        base_url: Its base address.
        key: The API key.
        seconds: How long the answer may take.
        key_env: The variable that should hold the key.
        headers: Further headers of the request.
    """
    place = shown_url(base_url)
    if key is not None and not fits_header(key):
        fault = "the API key has characters that are not allowed in an HTTP header"
        raise ProviderError(fault, where=place, hint="Set its variable to the key alone.")
    try:
        status, data = asyncio.run(_listed(base_url, headers_of(headers or {}, key), seconds))
    except CALL_ERRORS as error:
        fault = connection_fault(error, seconds).detail
        raise ProviderError(fault, where=place, hint="Start the server, or check the address.") from None
    if status in (401, 403):
        hint = "Name the environment variable with the API key: --key-env NAME."
        if key_env:
            hint = f"Set the environment variable {key_env}, or put it into .env."
        raise ProviderError(f"the server wants an API key (status {status})", where=place, hint=hint)
    try:
        listed = json.loads(data)["data"] if status == 200 else None
        names = sorted({entry["id"] for entry in listed}) if listed is not None else None
        if names is not None and all(map(_is_name, names)):
            return names
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ProviderError(f"unexpected answer to /models (status {status})", where=place, hint=ADDRESS)


async def _listed(base_url: str, headers: httpx2.Headers, seconds: float) -> tuple[int, bytes]:
    """Status and body of the answer."""
    async with (
        asyncio.timeout(seconds),
        http_client(seconds, tls(base_url), headers) as client,
        client.stream("GET", address(base_url, "/models")) as response,
    ):
        return response.status_code, await body_of(response, MOST_BYTES)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and 0 < len(value.strip()) <= LONGEST_NAME


def entries_of_server(
    url: str, catalog: Catalog, *, wanted: Sequence[str] = (), key_env: str = ""
) -> list[NewModel]:
    """Entries for the models of the server at ``url``, or for those of them that are ``wanted``.

    Raises ProviderError if the server gives no list, CatalogError for an unknown model.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ProviderError("not an address", where=repr(url), hint=ADDRESS) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ProviderError("not an address", where=repr(url), hint=ADDRESS)
    if "@" in parts.netloc or parts.query:
        hint = "Leave it out, and name the environment variable with the key: --key-env NAME."
        raise ProviderError("the address holds credentials or a query", where=parts.hostname or "", hint=hint)
    base = url.rstrip("/") if parts.path.strip("/") else f"{url.rstrip('/')}/v1"
    known = next((name for name, entry in catalog.providers.items() if entry.base_url == base), None)
    variable = key_env or (catalog.providers[known].api_key_env if known else None)
    key = Environment().get(variable) if variable else None
    offered = models_of_server(base, key, key_env=variable or "")
    for name in wanted:
        if name not in offered:
            raise unknown_name(name, offered, "model", base)
    chosen = list(wanted) or offered
    if not chosen or len(chosen) > MOST_MODELS:
        hint = (
            f"Choose with --model, such as --model {offered[0]}." if offered else "Load a model there first."
        )
        raise ProviderError(f"the server offers {len(offered)} models", where=base, hint=hint)
    provider = known or usable_id(parts.netloc.replace(":", "-"))
    new = {} if known else {"base_url": base, **({"api_key_env": key_env} if key_env else {})}
    free = {"prices": {"input": "0", "output": "0"}} if parts.hostname in ("127.0.0.1", "localhost") else {}
    return [
        NewModel(usable_id(name), {"provider": provider, "model": name, "name": name, **free}, new)
        for name in chosen
    ]
