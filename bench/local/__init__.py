"""Local models: llama.cpp servers in child processes. They need no account and no key."""

from bench.local.embedded import EmbeddedModelError, EmbeddedServer, embedded_identity, serve_local
from bench.local.gguf import ModelFileError
from bench.local.servers import LocalServers

__all__ = [
    "EmbeddedModelError",
    "EmbeddedServer",
    "LocalServers",
    "ModelFileError",
    "embedded_identity",
    "serve_local",
]
