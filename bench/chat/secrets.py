"""Reads API keys from the environment or ``.env``, and redacts secrets in text that is printed or kept."""

from __future__ import annotations

import os
import re
from base64 import b32encode, b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from html.entities import html5
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from dotenv import dotenv_values

from bench.catalog import Catalog, Provider
from bench.errors import ProviderError
from bench.toml_entries import fits_header

REDACTED = "[redacted]"
SHORTEST_SECRET = 6
"""Shorter values are not redacted in error messages, because they occur in ordinary words."""
SHORTEST_SEARCHED = 12
"""Shorter values are not searched for in what models write."""
_WORD = re.compile(r"[A-Za-z]?[a-z]{0,29}|[A-Z]{1,30}|[A-Za-z]{1,15}")
_COOKIE = re.compile(r"=([^;,\s]{12,})")
_CREDENTIAL = re.compile(
    r"(?i)auth(?!or(?!i))|(?<!mon)key(?!word|board)|token(?!i[sz])|secret|passw|credential|cookie|session"
    r"|signature|^sig$"
)
"""Names of headers and queries whose values are credentials."""
_MARKS = ("&", "%", *(f"\\{code}" for code in "uUxX01234567"))
"""Every escaped form that has letters or digits of its own begins with one of these."""
_BREAKS = ("\\n", "\\r", "\\t")
_SEPARATORS = " \t\n\r\"'`+,:>|*-._/~;()[]{}"
_LOWER = bytes(range(256)).lower()
_SPREAD = bytes(code for code in range(128) if not chr(code).isalnum())
"""What :func:`_close` drops from ASCII text."""
_BLANK = (
    r"\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u1680\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164"
    r"\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef"
)
"""Spaces, controls and invisible characters, for a regular expression."""
_BETWEEN = rf"(?:[{re.escape(_SEPARATORS)}{_BLANK}]|(?-i:\\[nrt\n])){{0,8}}"
"""What may stand between the characters of a secret that is spread out."""

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
    if not fits_header(key):
        raise ProviderError(
            f"the value of {variable} has characters that are not allowed in an HTTP header",
            where=where,
            hint=f"Set {variable} to the key alone.",
        )
    return key


def secrets_of(provider: Provider, key: str | None) -> tuple[str, ...]:
    """All secret strings in calls to ``provider``, longest first.

    These are the key, values of headers and queries with the name of a credential, and userinfo, each also
    as it looks in a URL, in base64, base32 and hex and backwards, and userinfo as the header that it becomes.
    """
    secrets = {key} if key else set()
    secrets.update(value for name, value in provider.headers.items() if _CREDENTIAL.search(name))
    secrets.update(part for value in list(secrets) for part in _parts(value))
    try:
        url = urlsplit(provider.base_url)
        secrets.update(part for part in (url.username, url.password) if part)
        secrets.update(value for name, value in parse_qsl(url.query) if _CREDENTIAL.search(name))
        encoded = {code for secret in secrets for code in _encoded(secret)}
        if url.username or url.password:
            pair = f"{unquote(url.username or '')}:{unquote(url.password or '')}"
            encoded.add(b64encode(pair.encode()).decode())
    except ValueError:
        encoded = {code for secret in secrets for code in _encoded(secret)}
    for encode in (unquote, lambda part: quote(part, safe=""), quote_plus):
        secrets.update([encode(part) for part in secrets])
    secrets |= encoded
    return tuple(sorted((s for s in secrets if len(s) >= SHORTEST_SECRET), key=len, reverse=True))


def _parts(value: str) -> Iterator[str]:
    """What is secret in a header's value: what follows a scheme such as Bearer, the user and password in
    Basic, and the values of cookies."""
    scheme, _, rest = value.partition(" ")
    if scheme.isalpha() and rest.strip():
        yield rest.strip()
    if scheme.lower() == "basic":
        with suppress(ValueError):
            pair = b64decode(rest).decode()
            yield from (pair, *pair.split(":", 1))
    yield from _COOKIE.findall(value)


def _encoded(secret: str) -> Iterator[str]:
    """``secret`` in base64; if it is long enough to be searched for, also as a part of a longer text, in hex,
    in base32 and backwards."""
    data = secret.encode()
    if not searched((secret,)):
        yield b64encode(data).decode().rstrip("=")
        return
    for before in range(3):  # what base64 makes of the secret depends on its place, but for the ends
        code = b64encode(bytes(before) + data).decode()
        yield code[-(-before * 4 // 3) : (before + len(data)) * 4 // 3]
    yield from (data.hex(), b32encode(data).decode().rstrip("="), secret[::-1])


def searched(secrets: Iterable[str]) -> tuple[str, ...]:
    """Those of ``secrets`` that are looked for in what models write: no words, and no short values."""
    return tuple(s for s in secrets if len(s) >= SHORTEST_SEARCHED and not _is_words(s))


def _is_words(text: str) -> bool:
    """Whether ``text`` is a word, or words such as ``not-needed-here``."""
    return all(_WORD.fullmatch(part) for part in re.split(r"[-_. ]", text))


def weak_keys(catalog: Catalog, models: Iterable[str], environment: Environment) -> list[str]:
    """A warning for each API key of ``models`` that cannot be searched for in what models write."""
    names = sorted({catalog.model(model).provider for model in models})
    variables = {catalog.providers[name].api_key_env or "": name for name in names}
    return [
        f"provider {name}: the key in {variable} is a word or shorter than {SHORTEST_SEARCHED} characters,"
        " so it is not searched for in what models write."
        for variable, name in variables.items()
        if variable and (key := environment.get(variable)) and not searched((key,))
    ]


def redacted(text: str, secrets: Iterable[str]) -> str:
    """``text`` without the given secrets, their longer halves, and anything that looks like a key."""
    secrets = tuple(secrets)
    text = without(text, secrets)[0]
    for secret in secrets:  # providers repeat a wrong key with a part of it hidden
        for length in range(len(secret) - 1, max(len(secret) // 2, SHORTEST_SEARCHED) - 1, -1):
            text = text.replace(secret[:length], REDACTED).replace(secret[-length:], REDACTED)
    return _KEY_SHAPES.sub(REDACTED, text)


def without(text: str, secrets: Iterable[str]) -> tuple[str, int]:
    """``text`` without the given secrets, also escaped, spread out or in other case, and how often they
    occurred.

    Escapes are those of JSON, HTML, URLs and programming languages. A secret is spread out if its characters
    are on several lines, or have spaces, quotes, commas, hyphens and the like between them.
    """
    chosen = tuple(secrets)
    return _pattern(chosen).subn(REDACTED, text) if _may_hold(text, chosen) else (text, 0)


def _may_hold(text: str, secrets: tuple[str, ...]) -> bool:
    """Whether :func:`without` has to look for ``secrets`` with its pattern, which takes long.

    Where ``n`` characters of a secret are escaped, at least one of any ``n + 1`` pieces of it is in the text
    as it is, apart from case and separators.
    """
    if not secrets:
        return False
    marks = sum(map(text.count, _MARKS if "\\" in text else _MARKS[:2]))
    close = _close(text)
    return any(piece in close for secret in secrets for piece in _pieces(secret, marks + 1))


@lru_cache(maxsize=1024)
def _pieces(secret: str, count: int) -> tuple[bytes, ...]:
    """``count`` pieces of a secret; an empty one if it is too short for them."""
    close = _close(secret)
    length = len(close) // count
    return tuple(close[at * length : (at + 1) * length] for at in range(count)) if length else (b"",)


def _close(text: str) -> bytes:
    """The ASCII letters and digits of ``text``, in lower case, without escaped line breaks and tabs."""
    if "\\" in text:
        for pair in _BREAKS:
            text = text.replace(pair, "")
    return text.encode("ascii", "ignore").translate(_LOWER, _SPREAD)


def without_in(value: Any, secrets: Iterable[str]) -> tuple[Any, int]:
    """Parsed JSON with :func:`without` applied to every string, and how often the secrets occurred."""
    secrets = tuple(secrets)
    if not secrets:
        return value, 0
    if isinstance(value, str):
        return without(value, secrets)
    if isinstance(value, list):
        items = [without_in(item, secrets) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        fields = {key: without_in(item, secrets) for key, item in value.items()}
        return {key: item for key, (item, _) in fields.items()}, sum(count for _, count in fields.values())
    return value, 0


@lru_cache(maxsize=64)
def _pattern(secrets: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(_BETWEEN.join(map(_escapes, secret)) for secret in secrets), re.IGNORECASE)


@lru_cache(maxsize=256)
def _escapes(char: str) -> str:
    """A regular expression for a character and its escaped forms."""
    code, plain = ord(char), re.escape(char)
    names = [re.escape(name.rstrip(";")) for name, text in html5.items() if text == char and name[-1] == ";"]
    entity = "|".join([f"#0*{code}", f"#[xX]0*(?i:{code:x})", *names])
    octets = "".join(f"%(?:25)*(?i:{octet:02x})" for octet in char.encode())
    slashes = "" if char.isalnum() else r"\\*"  # of JSON, Markdown and TeX
    plain = f"[{plain}‐‑‒–—−]" if char == "-" else plain
    coded = rf"u(?i:{code:04x})|[ux]\{{0*(?i:{code:x})\}}|U(?i:{code:08x})"
    coded += rf"|x(?i:{code:02x})|0?{code:03o}" if code < 256 else ""
    return rf"(?:&(?:amp;)*(?:{entity});?|{octets}|\\+(?:{coded})|{slashes}{plain})"


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
