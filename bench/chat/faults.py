"""Failures of a call: what each status or error code means, and whether a retry may help."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from bench.catalog import Catalog
from bench.chat.endings import ErrorKind, ending_of, word
from bench.chat.error_words import (
    ACCESS_WORDS,
    ACCOUNT_WORDS,
    ADDRESS_WORDS,
    BROKEN_WORDS,
    CREDIT_WORDS,
    ECHO,
    KEY_WORDS,
    MODEL_WORDS,
    NOT_ABOUT_CONTENT,
    THROTTLE_WORDS,
    UNUSABLE_CODES,
    content_kind,
    is_about_answer,
)
from bench.chat.secrets import REDACTED, redacted, shown_url
from bench.chat.signs import Signs, said_in, signs_in
from bench.records import Usage
from bench.replies.later import Later

FaultKind = Literal["unreachable", ErrorKind]
"""``unreachable``: no connection was made. ``rejected``: a 400 or similar, which no retry fixes.
``too_long``: a rejection because of the size of the input. ``user``: the key, the model id or the address is
wrong."""

RETRIED: frozenset[FaultKind] = frozenset({"unreachable", "transport", "rate_limited"})

KEY_HINT = "Check the key in {key}."
CREDIT_HINT = "Add credit at the provider, or raise the limit of the key in {key}."
MODEL_HINT = "Check model = {id!r} in [models.{model}], or base_url in [providers.{provider}], of {catalog}."
ACCESS_HINT = "Check that the key in {key} may use {id!r}, the model of [models.{model}] in {catalog}."
ADDRESS_HINT = "Check base_url = {url!r} in [providers.{provider}] of {catalog}."
FORMAT_HINT = (
    "Set base_url of [providers.{provider}] in {catalog} to the address of the provider's OpenAI-compatible"
    " API, or of a proxy that offers one; it often ends in /v1."
)
UNREACHABLE_HINT = "Start the server at {url}, or check base_url in [providers.{provider}] of {catalog}."
CERTIFICATE_HINT = (
    "Check base_url = {url!r} in [providers.{provider}] of {catalog}. To trust your own certificate"
    " authority, name its file in the environment variable SSL_CERT_FILE."
)
PROXY_HINT = "Check the proxy of the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY)."
BODY_HINT = "Check the parameters and switches of [models.{model}] and [providers.{provider}] in {catalog}."

STATUS_RULES: dict[int, tuple[FaultKind, str]] = {
    400: ("rejected", BODY_HINT),
    401: ("user", KEY_HINT),
    402: ("user", CREDIT_HINT),
    403: ("user", ACCESS_HINT),
    404: ("user", MODEL_HINT),
    405: ("user", ADDRESS_HINT),
    407: ("user", PROXY_HINT),
    408: ("transport", ""),
    409: ("transport", ""),
    410: ("user", MODEL_HINT),
    422: ("rejected", BODY_HINT),
    424: ("transport", ""),
    425: ("transport", ""),
    429: ("rate_limited", ""),
    499: ("transport", ""),
}
"""What a status means. Of the others, 3xx is a wrong address, 4xx is a rejection, and 5xx is retried."""

WORD_RULES: tuple[tuple[Later, FaultKind, str], ...] = (
    (CREDIT_WORDS, "user", CREDIT_HINT),
    (KEY_WORDS, "user", KEY_HINT),
    (MODEL_WORDS, "user", MODEL_HINT),
    (ACCOUNT_WORDS, "user", ACCESS_HINT),
    (ACCESS_WORDS, "user", ACCESS_HINT),
    (ADDRESS_WORDS, "user", ADDRESS_HINT),
    (UNUSABLE_CODES, "transport", ""),
    (THROTTLE_WORDS, "rate_limited", ""),
    (BROKEN_WORDS, "transport", ""),
)
"""What the codes and the message mean where the status is 400 or another that rejects the request; the first
match counts."""
VAGUE = frozenset(range(400, 500)) - NOT_ABOUT_CONTENT - {410, 424, 429, 499}
"""Statuses that providers send for mistakes in the request, and also for anything else."""

CODE_STATUS: tuple[tuple[str, int], ...] = (
    ("insufficient_quota", 402),
    ("insufficient_credit", 402),
    ("billing", 402),
    ("rate_limit", 429),
    ("resource_exhausted", 429),
    ("too_many_requests", 429),
    ("throttl", 429),
    ("rate_quota", 429),
    ("allocation_quota", 429),
    ("overloaded", 529),
    ("invalid_api_key", 401),
    ("authentication", 401),
    ("unauthenticated", 401),
    ("permission", 403),
    ("model_not_found", 404),
    ("not_found", 404),
    ("invalid_request", 400),
    ("invalid_argument", 400),
    # Zhipu, MiniMax
    ("1113", 402),
    ("1302", 429),
    ("1303", 429),
    ("1305", 429),
    ("1002", 429),
    ("1004", 401),
    ("1008", 402),
    ("2013", 400),
)
"""Codes, or words in them, for error objects without a status; the first match counts."""

_TAGS = re.compile(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>")
_HTML = re.compile(r"\s*<[!?a-zA-Z]")
"""A page. DashScope's messages start with a status such as ``<400>``."""
_DELAY = re.compile(r"retryDelay\W{1,5}(\d{1,6}(?:\.\d{1,9})?)s\b")
LONGEST_MESSAGE = 300
LONGEST_SEARCHED = 20_000
"""Characters of an error's text that are searched: its start and its end. A second is enough for 100,000."""


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
    filtered: Literal["input"] | None = None
    """Whether the filter of a ``content_filter`` fault blocked the input."""
    usage: Usage | None = None
    """Tokens that the provider counts and charges, although its answer cannot be used."""
    finish_reason: str | None = None
    """Of an answer that cannot be used."""

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
    signs = signs_in(payload) if isinstance(payload, dict) else Signs()
    codes, said = said_in(payload if signs.error is None else signs.error)
    message = shortened(said, secrets)
    codes, said = _ends(codes), _ends(said)
    detail = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    said = "" if _HTML.match(said) else ECHO.sub("", said)
    content = content_kind(status, codes, said)
    if content == "content_filter" or signs.filtered is not None or _filtered_choice(payload):
        side = signs.filtered or signs.blamed
        answer = side == "answer" if side or content is None else is_about_answer(codes, said)
        return Fault("content_filter", detail, filtered=None if answer else "input")
    if content == "too_long":
        return Fault("too_long", detail)
    if status == 429 and "RESOURCE_EXHAUSTED" in codes:  # Google names billing although waiting helps
        delay = _DELAY.search(str(payload))
        return Fault("rate_limited", detail, wait=wait or (float(delay[1]) if delay else None))
    both = f"{codes}\n{said}"
    if status == 429 and CREDIT_WORDS.search(both):
        return Fault("user", detail, CREDIT_HINT)
    if status in VAGUE:
        for words, kind, hint in WORD_RULES:
            expected = status == 403 and kind == "user" and words is not CREDIT_WORDS  # 403 says it itself
            if not expected and words.search(both):
                return Fault(kind, detail, hint, wait)
        if re.search(r"\b5\d\d\b", codes):
            return Fault("transport", detail)
    if status in STATUS_RULES:
        kind, hint = STATUS_RULES[status]
    elif status >= 500:
        kind, hint = "transport", ""
    elif status >= 400:
        kind, hint = "rejected", BODY_HINT
    else:
        kind, hint = "user", ADDRESS_HINT
    return Fault(kind, detail, hint, wait)


def fault_in_success(error: object, secrets: Iterable[str]) -> Fault:
    """The fault of an error object that came with status 200; its code stands in for the status."""
    codes, said = map(_ends, said_in(error))
    status = _status_in(codes)
    if status is None:
        known = any(words.search(f"{codes}\n{said}") for words, kind, _ in WORD_RULES if kind != "transport")
        if content_kind(400, codes, said) is not None or known:
            status = 400
        else:
            message = shortened(said, secrets) or "without a message"
            return Fault("transport", f"an error came with status 200: {message}")
    return fault_of(status, error, secrets)


def shortened(text: str, secrets: Iterable[str]) -> str:
    """A provider's message on one line, without markup and secrets, cut to ``LONGEST_MESSAGE``."""
    for secret in secrets:  # before any cut, which could leave half a secret
        text = text.replace(secret, REDACTED)
    line = " ".join(redacted(_TAGS.sub(" ", text[:LONGEST_SEARCHED]), secrets).split())
    line = "".join(c for c in line if c.isprintable())
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 3].rstrip() + "..."


def _ends(text: str) -> str:
    """``text``, or its start and its end if it is long."""
    half = LONGEST_SEARCHED // 2
    return text if len(text) <= LONGEST_SEARCHED else f"{text[:half]}\n{text[-half:]}"


def _filtered_choice(payload: object) -> bool:
    """Whether an error's body is a completion that a filter ended, as Azure sends it with status 400."""
    choices = payload.get("choices") if isinstance(payload, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    finish = choice.get("finish_reason") if isinstance(choice, dict) else None
    return isinstance(finish, str) and ending_of(finish) == "filtered"


def _status_in(codes: str) -> int | None:
    found = re.search(r"\b[45]\d\d\b", codes)
    if found is not None:
        return int(found[0])
    names = list(map(word, codes.split()))
    for part, status in CODE_STATUS:
        if any(part == name if part.isdecimal() else part in name for name in names):
            return status
    return None
