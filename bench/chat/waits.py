"""How long a provider asks us to wait, read from its response headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time

_DURATION = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)(ms|d|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RESETS = ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens", "x-ratelimit-reset", "ratelimit-reset")


def wait_asked(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by ``retry-after-ms`` or ``Retry-After``; None if neither is readable."""
    millis = _number(headers.get("retry-after-ms", ""))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is None:
        seconds = duration(value)
    if seconds is None and (until := _unix_time(value)) is not None:
        now = _unix_time(headers.get("date", ""))
        seconds = max(0.0, until - (time() if now is None else now))
    return seconds


def reset_in(headers: Mapping[str, str]) -> float | None:
    """Seconds until an exhausted limit resets by ``x-ratelimit-reset-*``; the longest of several."""
    resets = {name: _reset(headers[name]) for name in _RESETS if name in headers}
    known = {name: seconds for name, seconds in resets.items() if seconds is not None}
    exhausted = [s for name, s in known.items() if headers.get(name.replace("reset", "remaining")) == "0"]
    return max(exhausted or known.values(), default=None)


def duration(text: str) -> float | None:
    """Seconds in a duration such as ``6m0s``, ``1s`` or ``250ms``; None for other text."""
    text = text.strip().lower()
    if not text or _DURATION.sub("", text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))


def _reset(text: str) -> float | None:
    """Seconds until a reset, given as a duration, as seconds, or as Unix time in seconds or milliseconds."""
    number = _number(text)
    if number is None:
        return duration(text)
    if number <= 1e9:
        return number
    return max(0.0, (number / 1000 if number > 1e11 else number) - time())


def _number(text: str) -> float | None:
    """A finite number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _unix_time(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
