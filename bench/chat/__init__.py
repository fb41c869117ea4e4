"""The only package that talks to model providers: a request goes in, one typed reply comes out.

``Chat.ask`` checks the cache, keeps each provider's limits, retries passing failures, and returns a
:class:`Reply` whatever the outcome. It raises ProviderError only for what the user has to fix: the key, the
model id, the address.
"""

from bench.chat.cache import ResponseCache
from bench.chat.client import Chat
from bench.chat.opening import open_chat
from bench.chat.requests import ChatRequest, Reply
from bench.chat.retry import RetryPolicy
from bench.chat.stats import Stats

__all__ = [
    "Chat",
    "ChatRequest",
    "Reply",
    "ResponseCache",
    "RetryPolicy",
    "Stats",
    "open_chat",
]
