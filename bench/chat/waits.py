"""How long a provider asks to wait, as its response headers say it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from time import time

_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)(ms|d|h|m|s))")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RESETS = ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset", "ratelimit-reset")


def wait_asked(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by ``retry-after-ms`` or ``Retry-After``; None where neither says anything usable."""
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is None:
        seconds = duration(value or "")
    if seconds is None and value:
        until = _date(value)
        now = _date(headers.get("date") or "")
        if until is not None:
            seconds = max(0.0, until - (time() if now is None else now))
    return seconds


def reset_in(headers: Mapping[str, str]) -> float | None:
    """Seconds until a spent budget is renewed by ``x-ratelimit-reset-*``; the longest of the spent ones."""
    resets = {name: _reset(headers[name]) for name in _RESETS if name in headers}
    known = {name: seconds for name, seconds in resets.items() if seconds is not None}
    spent = [s for name, s in known.items() if headers.get(name.replace("reset", "remaining"), "") == "0"]
    return max(spent or known.values(), default=None)


def duration(text: str) -> float | None:
    """Seconds of ``6m0s``, ``1s`` or ``250ms``; None where it is no such duration."""
    text = text.strip().lower()
    if not text or _DURATION.sub("", text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))


def _reset(text: str) -> float | None:
    """A reset as duration, as seconds from now, or as Unix time in seconds or milliseconds."""
    number = _number(text)
    if number is None:
        return duration(text)
    if number > 1e11:
        return max(0.0, number / 1000 - time())
    return max(0.0, number - time()) if number > 1e9 else number


def _number(text: str | None) -> float | None:
    """A finite number of at least 0."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _date(text: str) -> float | None:
    try:
        moment: datetime = parsedate_to_datetime(text)
        return moment.timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
