"""The one module that talks to the network: a request goes in, one typed reply comes out.

``Chat.ask`` looks into the cache, keeps to each provider's limits, retries what is worth a retry, and ends
in a :class:`Reply`; only what the user can fix (key, model id, address) is raised, as ProviderError.
"""

from bench.chat.cache import ResponseCache
from bench.chat.client import Chat, EmbeddedHandle
from bench.chat.opening import open_chat
from bench.chat.requests import ChatRequest, Reply
from bench.chat.retry import RetryPolicy
from bench.chat.stats import Stats

__all__ = [
    "Chat",
    "ChatRequest",
    "EmbeddedHandle",
    "Reply",
    "ResponseCache",
    "RetryPolicy",
    "Stats",
    "open_chat",
]
