"""How API traffic is recorded into cassettes: what is left out, how it is written, what must never be in one.

The module is a serializer of vcrpy (``serialize``, ``deserialize``) besides: bodies lie in a cassette as
JSON, so that a diff of two recordings can be read.
"""

from __future__ import annotations

import json
import re
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]

KEPT_HEADERS = ("content-type",)
"""Of requests and responses alike. All others may name somebody, or change from one recording to the next."""
DROPPED_FIELDS = ("id", "created", "timings", "__verbose")
"""Of an answer's body: identifiers and clock readings."""
EMBEDDED = "http://embedded"
"""Stands for the embedded server, whose port is another each time."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def vcr_config() -> Json:
    """Options of vcrpy for chat traffic. A reply belongs to a body, so calls at the same time cannot swap."""
    return {
        "serializer": "json",
        "match_on": ["method", "uri", "body"],
        "decode_compressed_response": True,
        "before_record_request": scrubbed_request,
        "before_record_response": scrubbed_response,
    }


def scrubbed_request(request: Any) -> Any:
    """A request without a port that changes each time, a query that may hold a key, and telling headers."""
    url = urlsplit(request.uri)
    host = url.hostname or ""
    request.uri = (EMBEDDED if host in LOOPBACK else f"{url.scheme}://{host}") + url.path
    request.headers = _kept(request.headers)
    return request


def scrubbed_response(response: Json) -> Json:
    """A response of which status, content type and what was answered are left."""
    body: bytes = response["body"]["string"]
    try:
        answered = json.loads(body)
    except ValueError:
        answered = None
    if isinstance(answered, dict):
        answered = {name: value for name, value in answered.items() if name not in DROPPED_FIELDS}
        body = _compact(answered).encode()
    return {**response, "headers": _kept(response["headers"]), "body": {"string": body}}


def _kept(headers: Any) -> Json:
    """The headers on the list, with their values as they came: texts of a request, lists of a response."""
    return {name.lower(): value for name, value in headers.items() if name.lower() in KEPT_HEADERS}


# --- in files --------------------------------------------------------------------------------------------


def serialize(cassette: Json) -> str:
    """The text of a cassette: JSON in letters, with JSON bodies unfolded."""
    interactions = [
        {
            "request": {**one["request"], "body": _unfolded(one["request"]["body"])},
            "response": {**one["response"], "body": _unfolded(one["response"]["body"]["string"])},
        }
        for one in cassette["interactions"]
    ]
    interactions.sort(key=lambda one: _compact(one["request"]))  # the order of arrival is an accident
    return json.dumps({**cassette, "interactions": interactions}, ensure_ascii=False, indent=1) + "\n"


def deserialize(text: str) -> Json:
    """The inverse of ``serialize``, as vcrpy wants it."""
    cassette: Json = json.loads(text)
    for one in cassette["interactions"]:
        one["request"]["body"] = _folded(one["request"]["body"])
        one["response"]["body"] = {"string": _folded(one["response"]["body"])}
    return cassette


def _unfolded(body: str) -> Json | str:
    try:
        data = json.loads(body)
    except ValueError:
        return body
    return data if isinstance(data, dict) else body


def _folded(body: Json | str) -> str:
    return body if isinstance(body, str) else _compact(body)


def _compact(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


# --- what must never be in one ---------------------------------------------------------------------------

FORBIDDEN = {
    "key": r"\b(?:sk|pk|gsk|xai|rk|hf|pplx|glpat|gh[pousr]|xox[abprs])[-_][A-Za-z0-9_-]{12,}"
    r"|\bAIza[A-Za-z0-9_-]{20,}|\bAKIA[A-Z0-9]{12,}|\beyJ[A-Za-z0-9_-]{10,}\.",
    "long random word": r"[A-Za-z0-9_+/=-]{40,}",
    "credential": r"(?i)\b(?:authorization|bearer|x-api-key|api[-_]key|cookie)\b",
    "organisation": r"(?i)\b(?:openai-(?:organization|project)|org-[a-z0-9]{8,}|proj_[a-z0-9]{8,})",
    "request id": r"(?i)\b(?:x-request-id|request-id|cf-ray|chatcmpl-[a-z0-9]{8,})",
    "host path": r"(?:/home/|/root/|/tmp/|/Users/|/usr/|[A-Z]:\\\\|site-packages)",
    "local address": r"\b(?:127\.0\.0\.1|localhost|\[::1\])",
}
"""What betrays a secret, a person or a machine, by kind."""


def leaks(text: str) -> list[str]:
    """What in a cassette's text must not be published, as ``kind: what``; empty where it is clean."""
    machine = {"this machine": re.escape(socket.gethostname()), "this user": re.escape(str(Path.home()))}
    found = [
        f"{kind}: {match.group()}"
        for kind, pattern in {**FORBIDDEN, **machine}.items()
        for match in re.finditer(pattern, text)
    ]
    for one in json.loads(text)["interactions"]:
        for side in ("request", "response"):
            headers = set(one[side]["headers"]).difference(KEPT_HEADERS)
            found += [f"header of a {side}: {name}" for name in sorted(headers)]
    return found


def main() -> int:
    """Check all cassettes, as `make lint` does before a commit: a line for each leak, and status 1."""
    files = sorted(path for path in Path(__file__).with_name("cassettes").rglob("*") if path.is_file())
    found = [f"{path}: {leak}" for path in files for leak in leaks(path.read_text(encoding="utf-8"))]
    print("\n".join(found) or f"{len(files)} cassettes hold no secret")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
