"""The embedded model: a real llama.cpp server in a child process, with no account and no key."""

from bench.local.embedded import EmbeddedModelError, EmbeddedServer, embedded_identity, serve_local

__all__ = ["EmbeddedModelError", "EmbeddedServer", "embedded_identity", "serve_local"]
