"""How API traffic is recorded into cassettes: what is left out, how it is written, what must never be in one.

The module is also a serializer for vcrpy (``serialize``, ``deserialize``) that writes bodies as JSON, so that
the diff of two recordings is readable.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]

FOLDER_VARIABLE = "DRAMATURG_CASSETTES"
"""Environment variable: a folder to record into and replay from, in place of the committed one."""
KEPT_HEADERS = ("content-type",)
"""Headers that are kept. Others may identify somebody or change with every recording."""
DROPPED_FIELDS = ("id", "created", "timings", "__verbose")
"""Fields of a response body that are dropped: identifiers and clock readings."""
EMBEDDED = "http://embedded"
"""Written in place of the embedded server's address, whose port changes with every start."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
TESTS = Path(__file__).resolve().parent


def folders(root: Path | None = None) -> tuple[Path, Path]:
    """The folder of the cassettes, and the folder of what the recorded runs came to.

    They are in ``root``, by default the committed ones.
    """
    if root is None:
        return TESTS / "cassettes", TESTS / "recorded" / "expected"
    return root / "cassettes", root / "expected"


def folders_in_use() -> tuple[Path, Path]:
    """The folders that this test run records into or replays from."""
    root = os.environ.get(FOLDER_VARIABLE)
    return folders(Path(root) if root else None)


def vcr_config() -> Json:
    """Options of vcrpy. Requests match on the body, so concurrent calls cannot swap replies."""
    return {
        "serializer": "json",
        "match_on": ["method", "uri", "body"],
        "decode_compressed_response": True,
        "before_record_request": scrubbed_request,
        "before_record_response": scrubbed_response,
    }


def scrubbed_request(request: Any) -> Any:
    """The request without its port, its query (which may hold a key) and identifying headers."""
    url = urlsplit(request.uri)
    host = url.hostname or ""
    request.uri = (EMBEDDED if host in LOOPBACK else f"{url.scheme}://{host}") + url.path
    request.headers = _kept(request.headers)
    return request


def scrubbed_response(response: Json) -> Json:
    """The response reduced to its status, content type and answer."""
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
    """The headers in KEPT_HEADERS. Values are strings in a request and lists in a response."""
    return {name.lower(): value for name, value in headers.items() if name.lower() in KEPT_HEADERS}


# --- Cassette files --------------------------------------------------------------------------------------


def serialize(cassette: Json) -> str:
    """The text of a cassette: JSON, with JSON bodies as objects instead of strings."""
    interactions = [
        {
            "request": {**one["request"], "body": _unfolded(one["request"]["body"])},
            "response": {**one["response"], "body": _unfolded(one["response"]["body"]["string"])},
        }
        for one in cassette["interactions"]
    ]
    interactions.sort(key=lambda one: _compact(one["request"]))  # order of arrival varies
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


# --- Secrets ---------------------------------------------------------------------------------------------

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
"""Patterns of what may reveal a secret, a person or a machine, by kind."""


def leaks(text: str) -> list[str]:
    """What must not be published in a cassette's text, each as ``kind: match``."""
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


def scan(folder: Path) -> int:
    """Print a line for each leak in the cassettes of ``folder``; 1 if there is one, else 0."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    found = [f"{path}: {leak}" for path in files for leak in leaks(path.read_text(encoding="utf-8"))]
    print("\n".join(found) or f"No secret in {len(files)} cassettes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(scan(folders()[0]))
