"""The HTTP client of all requests: what it takes from the environment, how much it reads, its errors.

Loaded only when something has to be sent.
"""

from __future__ import annotations

import json
import logging
import os
import ssl
from collections.abc import Iterator, Mapping
from errno import errorcode
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies

import httpx2

from bench import __version__
from bench.chat.faults import ADDRESS_HINT, CERTIFICATE_HINT, PROXY_HINT, UNREACHABLE_HINT, Fault
from bench.chat.secrets import is_http
from bench.errors import ProviderError
from bench.toml_entries import fits_header

LARGEST_ANSWER = 8 * 2**20
"""Largest response body in bytes, after decompression; reading stops there."""
CONNECT_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 30.0

CALL_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError)
"""What a call may raise: the client's errors, and those it lets through (TLS, time limits, host names)."""
_ADDRESS_ERRORS = (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, ValueError)
_BILLED_TO = {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"}
"""Header and variable by which OpenAI, and nobody else, is told whom to bill."""
_NOISY_LOGGERS = ("openai", "httpx2", "httpcore2")
"""Below warning level they may print addresses and headers with keys."""


class AnswerTooLarge(httpx2.ReadError):
    """A response body over the limit."""


def tls(base_url: str) -> ssl.SSLContext:
    """The TLS context of all clients for an address; loads certificate authorities only if needed.

    Raises ProviderError if the environment names authorities that cannot be loaded.
    """
    if urlsplit(base_url).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        fault = f"the certificates of TLS cannot be loaded ({_system_message(error)})"
        hint = "Check SSL_CERT_FILE, SSL_CERT_DIR and SSLKEYLOGFILE in the environment."
        raise ProviderError(fault, where="environment", hint=hint) from None


def http_client(
    seconds: float, context: ssl.SSLContext, headers: httpx2.Headers | None = None, *, proxied: bool = True
) -> httpx2.AsyncClient:
    """A client that keeps no cookies, follows no redirects, and logs warnings only.

    Args:
        seconds: The time limit of a call, of which half are for the connection.
        context: From :func:`tls`.
        headers: Sent with every request.
        proxied: Whether the proxies of the environment count. Raises ProviderError if they cannot be used.
    """
    for logger in _NOISY_LOGGERS:
        logging.getLogger(logger).setLevel(logging.WARNING)
    try:
        if proxied and not all(is_http(f"http://{proxy.rpartition('://')[2]}") for proxy in _proxies()):
            raise ValueError
        return httpx2.AsyncClient(
            verify=context,
            timeout=timeout_of(seconds),
            limits=httpx2.Limits(
                max_connections=None,
                max_keepalive_connections=None,
                keepalive_expiry=KEEP_ALIVE_SECONDS,
            ),
            headers=headers,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            trust_env=proxied,
        )
    except ImportError:
        fault = "a SOCKS proxy needs the package socksio"
        hint = f"Install it with `pip install socksio`. {PROXY_HINT}"
    except (ValueError, httpx2.InvalidURL):  # whose text may hold the proxy's password
        fault, hint = "the proxy's address cannot be used", PROXY_HINT
    raise ProviderError(fault, where="environment", hint=hint)


def timeout_of(seconds: float) -> httpx2.Timeout:
    """How long the server may be silent in a call of at most ``seconds``."""
    return httpx2.Timeout(seconds, connect=connect_seconds(seconds), pool=None)


def connect_seconds(seconds: float) -> float:
    """The time limit of the connection, in a call of at most ``seconds``."""
    return min(CONNECT_SECONDS, seconds / 2)


def headers_of(given: Mapping[str, str], key: str | None, base_url: str = "") -> httpx2.Headers:
    """The headers of every request to a provider, with the ``given`` ones in place of ours."""
    headers = httpx2.Headers({"accept": "application/json", "accept-encoding": "identity"})
    headers["user-agent"] = f"dramaturg/{__version__}"
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    if urlsplit(base_url).hostname == "api.openai.com":
        for name, variable in _BILLED_TO.items():
            if (value := os.environ.get(variable, "")) and fits_header(value):
                headers[name] = value
    headers.update(given)
    return headers


def address(base_url: str, path: str) -> str:
    """The address of ``path`` below ``base_url``, whose query is kept."""
    url = urlsplit(base_url)
    return urlunsplit(url._replace(path=url.path.rstrip("/") + path, fragment=""))


async def body_of(response: httpx2.Response, most: int = LARGEST_ANSWER) -> bytes:
    """The body, decompressed. Raises AnswerTooLarge once it has, or announces, more than ``most`` bytes."""
    body = bytearray()
    announced = response.headers.get("content-length", "")
    if not (announced.isdecimal() and int(announced) > most):
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > most:
                break
        else:
            return bytes(body)
    raise AnswerTooLarge(f"the answer has more than {most} bytes", request=response.request)


def payload_of(body: bytes, response: httpx2.Response) -> object:
    """``body`` as what it is in JSON, or else as text, in the encoding that the response names."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        pass
    try:
        return body.decode(response.charset_encoding or "utf-8", "replace")
    except (LookupError, ValueError):  # not an encoding of text
        return body.decode("utf-8", "replace")


def connection_fault(error: Exception, seconds: float) -> Fault:
    """The fault of a call of at most ``seconds`` that ended without a response. Drops texts that may hold an
    address."""
    if isinstance(error, httpx2.ConnectTimeout):
        fault = f"no connection within {connect_seconds(seconds):g} s"
        return Fault("unreachable", fault, _unreachable_hint())
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return Fault("transport", f"no complete answer within {seconds:g} s")
    if isinstance(error, AnswerTooLarge):
        return Fault("transport", str(error))
    if isinstance(error, _ADDRESS_ERRORS):
        return Fault("user", "the request cannot be sent to this address", ADDRESS_HINT)
    if isinstance(error, httpx2.ProxyError):
        return Fault("unreachable", f"no connection through the proxy ({_system_message(error)})", PROXY_HINT)
    if isinstance(error, httpx2.ConnectError):
        untrusted = any(isinstance(cause, ssl.SSLError) for cause in _causes(error))
        hint = CERTIFICATE_HINT if untrusted else _unreachable_hint()
        return Fault("unreachable", f"no connection ({_system_message(error)})", hint)
    if isinstance(error, httpx2.DecodingError):
        return Fault("transport", "the answer is compressed and damaged")
    return Fault("transport", f"the connection was lost ({type(error).__name__})")


def _unreachable_hint() -> str:
    return f"{UNREACHABLE_HINT} {PROXY_HINT}" if _proxies() else UNREACHABLE_HINT


def _proxies() -> list[str]:
    """The proxies of the environment."""
    return [proxy for scheme, proxy in getproxies().items() if scheme in ("http", "https", "all")]


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _system_message(error: BaseException) -> str:
    """The operating system's or TLS's message, found along the chain of causes."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"certificate not accepted: {cause.verify_message.rstrip('.')}"
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return f"TLS: {cause.reason.replace('_', ' ').lower()}"
        if isinstance(cause, OSError) and cause.strerror:
            return os.strerror(cause.errno or 0) if cause.errno in errorcode else str(cause.strerror)
    text = str(error)
    return "refused or unknown" if not text or "://" in text else text[:120]
