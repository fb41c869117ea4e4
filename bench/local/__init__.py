"""The embedded model: a llama.cpp server in a child process. Needs no account and no key."""

from bench.local.embedded import EmbeddedModelError, EmbeddedServer, embedded_identity, serve_local

__all__ = ["EmbeddedModelError", "EmbeddedServer", "embedded_identity", "serve_local"]
