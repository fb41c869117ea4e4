"""The only package that talks to model providers: a request goes in, one typed reply comes out.

``Chat.ask`` checks the cache, keeps each provider's limits, retries passing failures, and returns a
:class:`Reply` whatever the outcome. It raises ProviderError only for what the user has to fix: the key, the
model id, the address.

The names are imported at first use: most commands need the types of requests, and call nobody.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.chat.cache import ResponseCache
    from bench.chat.client import Chat
    from bench.chat.opening import open_chat
    from bench.chat.requests import ChatRequest, Reply
    from bench.chat.retry import RetryPolicy
    from bench.chat.stats import Stats

__all__ = ["Chat", "ChatRequest", "Reply", "ResponseCache", "RetryPolicy", "Stats", "open_chat"]

_MODULES = {
    "Chat": "client",
    "ChatRequest": "requests",
    "Reply": "requests",
    "ResponseCache": "cache",
    "RetryPolicy": "retry",
    "Stats": "stats",
    "open_chat": "opening",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
