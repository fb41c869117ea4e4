"""Reads API keys from the environment or ``.env``, and redacts secrets in text that is printed or kept."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from dotenv import dotenv_values

from bench.catalog import Provider
from bench.errors import ProviderError

REDACTED = "[redacted]"
SHORTEST_SECRET = 6
"""Shorter values are not redacted, because they occur in ordinary words."""

_KEY_SHAPES = re.compile(
    r"""(?ix)
    \b(?:sk|pk|rk|xai|gsk|hf|ghp|gho|pplx|nvapi|r8)[-_][A-Za-z0-9_-]{8,}   # keys that start with their kind
    | \bAIza[A-Za-z0-9_-]{20,} | \bAKIA[A-Z0-9]{12,}
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]+                                 # JSON web tokens
    | (?<=bearer\ )[^\s"',;]{6,} | (?<=basic\ )[A-Za-z0-9+/_-]{6,}={0,2}
    | (?<=://)[^/\s:@]+:[^/\s@]+(?=@)                                          # user:password in a URL
    | (?<=[?&])(?:api[-_]?key|key|token|access_token|secret|sig)=[^&\s"']+
    """
)
_HARMLESS_HEADERS = frozenset(
    {"http-referer", "referer", "x-title", "user-agent", "accept", "anthropic-version"}
)
_HARMLESS_QUERIES = frozenset({"api-version"})


class Environment:
    """Environment variables; those of ``.env`` in the current folder count where a variable is not set."""

    def __init__(self, environ: Mapping[str, str] = os.environ, dotenv: Path = Path(".env")) -> None:
        self._environ = environ
        self._dotenv = dotenv

    def get(self, name: str) -> str | None:
        """The value of ``name`` without surrounding whitespace; None if it is unset or blank."""
        return (self._environ.get(name) or self._from_file.get(name) or "").strip() or None

    @cached_property
    def _from_file(self) -> Mapping[str, str | None]:
        try:
            return dotenv_values(self._dotenv, interpolate=False) if self._dotenv.is_file() else {}
        except (OSError, UnicodeDecodeError):
            raise ProviderError(
                "cannot be read as UTF-8 text", where=str(self._dotenv), hint="Fix or remove the file."
            ) from None


def key_of(name: str, provider: Provider, environment: Environment) -> str | None:
    """The provider's API key, or None if it needs none. Raises ProviderError that names the variable."""
    variable = provider.api_key_env
    if variable is None:
        return None
    key = environment.get(variable)
    where = f"provider {name}"
    if key is None:
        raise ProviderError(
            "no API key", where=where, hint=f"Set the environment variable {variable}, or put it into .env."
        )
    if not (key.isascii() and key.isprintable()):
        raise ProviderError(
            f"the value of {variable} has characters that are not allowed in an HTTP header",
            where=where,
            hint=f"Set {variable} to the key alone.",
        )
    return key


def secrets_of(provider: Provider, key: str | None) -> tuple[str, ...]:
    """All secret strings in calls to ``provider``, longest first.

    These are the key, header values, userinfo and query values, each also as it looks in a URL, and userinfo
    as the header that it becomes.
    """
    secrets = {key} if key else set()
    secrets.update(v for k, v in provider.headers.items() if k.lower() not in _HARMLESS_HEADERS)
    secrets.update(v.split(None, 1)[1] for v in list(secrets) if v.lower().startswith(("bearer ", "basic ")))
    try:
        url = urlsplit(provider.base_url)
        secrets.update(part for part in (url.username, url.password) if part)
        if url.username or url.password:
            pair = f"{unquote(url.username or '')}:{unquote(url.password or '')}"
            secrets.add(b64encode(pair.encode()).decode())
        secrets.update(value for name, value in parse_qsl(url.query) if name not in _HARMLESS_QUERIES)
    except ValueError:
        pass
    for encode in (unquote, lambda part: quote(part, safe=""), quote_plus):
        secrets.update([encode(part) for part in secrets])
    return tuple(sorted((s for s in secrets if len(s) >= SHORTEST_SECRET), key=len, reverse=True))


def redacted(text: str, secrets: Iterable[str]) -> str:
    """``text`` without the given secrets and without anything that looks like a key."""
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return _KEY_SHAPES.sub(REDACTED, text)


def is_http(url: str) -> bool:
    """Whether ``url`` is an http or https address with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def shown_url(url: str) -> str:
    """``url`` without userinfo and query, safe to print."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=host, query="", fragment="").geturl()
    except ValueError:
        return redacted(url, ())
