"""Failures of a call: what each status or error code means, and whether a retry may help."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bench.catalog import Catalog
from bench.chat.secrets import REDACTED, redacted, shown_url
from bench.records import Usage

FaultKind = Literal["unreachable", "transport", "rate_limited", "rejected", "content_filter", "user"]
"""``unreachable``: no connection was made. ``rejected``: a 400 or similar, which no retry fixes.
``user``: the key, the model id or the address is wrong."""

RETRIED: frozenset[FaultKind] = frozenset({"unreachable", "transport", "rate_limited"})

KEY_HINT = "Check the key in {key}."
CREDIT_HINT = "Add credit at the provider, or raise the limit of the key in {key}."
MODEL_HINT = "Check model = {id!r} in [models.{model}], or base_url in [providers.{provider}], of {catalog}."
ACCESS_HINT = "Check that the key in {key} may use {id!r}, the model of [models.{model}] in {catalog}."
ADDRESS_HINT = "Check base_url = {url!r} in [providers.{provider}] of {catalog}."
UNREACHABLE_HINT = "Start the server at {url}, or check base_url in [providers.{provider}] of {catalog}."
BODY_HINT = "Check the parameters and switches of [models.{model}] and [providers.{provider}] in {catalog}."

STATUS_RULES: dict[int, tuple[FaultKind, str]] = {
    400: ("rejected", BODY_HINT),
    401: ("user", KEY_HINT),
    402: ("user", CREDIT_HINT),
    403: ("user", ACCESS_HINT),
    404: ("user", MODEL_HINT),
    405: ("user", ADDRESS_HINT),
    407: ("user", "Check the proxy of the environment (HTTPS_PROXY)."),
    408: ("transport", ""),
    409: ("transport", ""),
    410: ("user", MODEL_HINT),
    422: ("rejected", BODY_HINT),
    425: ("transport", ""),
    429: ("rate_limited", ""),
}
"""What a status means. Of the others, 3xx is a wrong address, 4xx is a rejection, and 5xx is retried."""

CODE_STATUS: tuple[tuple[str, int], ...] = (
    ("insufficient_quota", 402),
    ("insufficient_credit", 402),
    ("billing", 402),
    ("rate_limit", 429),
    ("resource_exhausted", 429),
    ("too_many_requests", 429),
    ("overloaded", 529),
    ("invalid_api_key", 401),
    ("authentication", 401),
    ("unauthenticated", 401),
    ("permission", 403),
    ("model_not_found", 404),
    ("not_found", 404),
    ("invalid_request", 400),
    ("invalid_argument", 400),
    ("context_length", 400),
)
"""Words in an error's code or type, for error objects without a status; the first match counts."""

_FILTER_WORDS = re.compile(r"content[_ ]?(filter|policy|management)|moderation|flagged|safety", re.IGNORECASE)
_TAGS = re.compile(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>")
LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an attempt gave no answer. ``detail`` holds no secret and can be printed and stored."""

    kind: FaultKind
    detail: str
    hint: str = ""
    """A template; :meth:`hint_for` fills it in."""
    wait: float | None = None
    """Seconds that the provider asked to wait."""
    seconds: float = 0.0
    """Duration of the attempt, without its wait for a slot."""
    usage: Usage | None = None
    """Tokens that the provider counts and charges, although its answer cannot be used."""

    @property
    def retried(self) -> bool:
        """Whether another attempt may succeed."""
        return self.kind in RETRIED

    def hint_for(self, name: str, catalog: Catalog) -> str:
        """The hint for a user who asked the model ``name`` of ``catalog``."""
        model = catalog.model(name)
        provider = catalog.providers[model.provider]
        no_variable = f"[providers.{model.provider}], which names none (api_key_env)"
        return self.hint.format(
            key=provider.api_key_env or no_variable,
            id=model.model,
            model=name,
            provider=model.provider,
            url=shown_url(provider.base_url),
            catalog=catalog.path,
        )


def fault_of(status: int, payload: object, secrets: Iterable[str], wait: float | None = None) -> Fault:
    """The fault that an HTTP status with its decoded body (or text) means."""
    error = _error_in(payload)
    codes = _codes(error)
    message = shortened(_message_in(error, payload), secrets)
    detail = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    if status in (400, 403, 422) and _filtered(codes, error, status):
        return Fault("content_filter", detail)
    if status == 429 and re.search("insufficient_quota|billing", codes):
        return Fault("user", detail, CREDIT_HINT)
    if status in STATUS_RULES:
        kind, hint = STATUS_RULES[status]
    elif status >= 500:
        kind, hint = "transport", ""
    elif status >= 400:
        kind, hint = "rejected", BODY_HINT
    else:
        kind, hint = "user", ADDRESS_HINT
    return Fault(kind, detail, hint, wait)


def fault_in_success(payload: Mapping[str, Any], secrets: Iterable[str]) -> Fault:
    """The fault of an error object that came with status 200; its code stands in for the status."""
    error = _error_in(payload)
    status = _status_of(error)
    if status is None:
        message = shortened(_message_in(error, payload), secrets) or "without a message"
        return Fault("transport", f"an error came with status 200: {message}")
    return fault_of(status, payload, secrets)


def shortened(text: str, secrets: Iterable[str]) -> str:
    """A provider's message on one line, without markup and secrets, cut to ``LONGEST_MESSAGE``."""
    for secret in secrets:  # before any cut, which could leave half a secret
        text = text.replace(secret, REDACTED)
    line = " ".join(redacted(_TAGS.sub(" ", text[:20_000]), secrets).split())
    line = "".join(c for c in line if c.isprintable())
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 3].rstrip() + "..."


def _error_in(payload: object) -> Mapping[str, Any]:
    if isinstance(payload, list) and payload:
        payload = payload[0]
    if not isinstance(payload, dict):
        return {}
    error = payload.get("error", payload)
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else payload


def _message_in(error: Mapping[str, Any], payload: object) -> str:
    for key in ("message", "detail", "error_description", "title"):
        value = error.get(key)
        if isinstance(value, str) and value.strip():
            raw = error.get("metadata")
            raw = raw.get("raw") if isinstance(raw, dict) else None
            return f"{value}: {raw}" if isinstance(raw, str) and raw not in value else value
        if value:
            return json.dumps(value, ensure_ascii=False, default=str)
    return payload if isinstance(payload, str) else ""


def _codes(error: Mapping[str, Any]) -> str:
    return " ".join(str(error.get(key) or "") for key in ("code", "type", "status"))


def _filtered(codes: str, error: Mapping[str, Any], status: int) -> bool:
    """Whether the provider's content filter rejected the request."""
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and metadata.get("reasons"):
        return True
    inner = error.get("innererror")
    inner_code = str(inner.get("code")) if isinstance(inner, dict) else ""
    text = f"{codes} {inner_code}" + (f" {error.get('message')}" if status == 403 else "")
    return _FILTER_WORDS.search(text) is not None


def _status_of(error: Mapping[str, Any]) -> int | None:
    for key in ("code", "status"):
        value = error.get(key)
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and 400 <= value <= 599:
            return value
    codes = _codes(error).lower()
    if _FILTER_WORDS.search(codes):
        return 400
    return next((status for word, status in CODE_STATUS if word in codes), None)
