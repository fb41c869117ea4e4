"""One way to open a :class:`Chat` with all it needs: the response cache and the servers of local models."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager
from decimal import Decimal
from pathlib import Path

from bench.catalog import Catalog
from bench.chat.cache import ResponseCache
from bench.chat.client import Chat
from bench.chat.requests import ChatRequest, Reply
from bench.chat.secrets import Environment, weak_keys
from bench.local import LocalServers


@asynccontextmanager
async def open_chat(
    catalog: Catalog,
    *,
    cache: Path | None = None,
    max_cost: Decimal | None = None,
    models: Iterable[str] = (),
    proven: Iterable[str] = (),
    on_call: Callable[[ChatRequest, Reply], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
    without_cache: str = "The run goes on without it.",
) -> AsyncIterator[Chat]:
    """Open a Chat for the models of ``catalog``; on leaving, close its connections, cache and servers.

    Nothing is sent and no server is started before the first call that the cache cannot answer::

        async with open_chat(load_catalog(Path("models.toml")), cache=Path(".cache")) as chat:
            reply = await chat.ask(request)
        print(reply.text, chat.stats.cost)

    Args:
        catalog: The providers and models that may be called.
        cache: Folder of the response cache, shared with other processes. None: no cache.
        max_cost: US dollars. Once they are spent, a call that may cost more raises BudgetReached.
        models: Catalog names of all models that will be called. If one of them has no API key, the first call
            fails, before anything is paid for.
        proven: Catalog names of models that have answered in earlier runs, so that one rejected request does
            not stop the run.
        on_call: Called with every request and its reply, including replies from the cache.
        warn: Called with a message if the cache cannot be used, and for each key that is too weak to be
            searched for in what models write.
        without_cache: Sentence of that message that says what happens then.

    Returns:
        A context manager that yields the Chat. Its ``cache`` is the open ResponseCache.

    Raises:
        ProviderError: From ``ask``, for a missing key, a wrong address or an unknown model.
        EmbeddedModelError: From ``ask``, if a local model is not installed or does not start.
        ModelFileError: From ``ask``, if a GGUF file is missing, damaged or too large.
    """
    for message in weak_keys(catalog, models, Environment()):
        warn(message)
    with ExitStack() as stack:
        responses = None
        if cache is not None:
            responses = stack.enter_context(ResponseCache(cache, warn, without=without_cache))
        slots = [provider.max_concurrent for provider in catalog.providers.values() if provider.embedded]
        async with Chat(
            catalog,
            cache=responses,
            local=stack.enter_context(LocalServers(max(slots, default=1))),
            on_call=on_call,
            max_cost=max_cost,
            models=models,
            proven=proven,
        ) as chat:
            yield chat
