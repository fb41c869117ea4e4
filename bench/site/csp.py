"""The Content-Security-Policy of a page: only its own origin, and inline scripts only by their hash."""

from __future__ import annotations

import base64
import hashlib
import re

_INLINE_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<code>.*?)</script>", re.DOTALL)
_CHARSET = '<meta charset="utf-8">'


def with_policy(page: str, *, wasm: bool = False) -> str:
    """A page of the theme, with a policy that allows its inline scripts. Call this before adding content.

    ``wasm``: its scripts may also compile WebAssembly, as full-text search does.
    """
    hashes = []
    for match in _INLINE_SCRIPT.finditer(page):
        attributes = match["attributes"]
        if "src=" not in attributes and "application/json" not in attributes:
            digest = hashlib.sha256(match["code"].encode("utf-8")).digest()
            hashes.append(f"'sha256-{base64.b64encode(digest).decode('ascii')}'")
    policy = "; ".join(
        [
            "default-src 'none'",
            " ".join(
                ["script-src 'self'", *(["'wasm-unsafe-eval'"] if wasm else []), *dict.fromkeys(hashes)]
            ),
            "style-src 'self'",
            "img-src 'self' data:",
            "media-src 'self'",
            "font-src 'self'",
            "connect-src 'self'",
            "worker-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
        ]
    )
    if _CHARSET not in page:
        raise ValueError("the theme's page has no <meta charset>")
    meta = f'{_CHARSET}<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return page.replace(_CHARSET, meta, 1)
