"""Redaction: credentials are found in every escaped form, nothing else changes, and every one is counted."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import random
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.catalog import Catalog, Model, Provider
from bench.chat import RetryPolicy
from bench.chat.answers import Answer, answer_from
from bench.chat.client import Chat
from bench.chat.listing import models_of_server
from bench.chat.requests import ChatRequest
from bench.chat.secrets import (
    REDACTED,
    Environment,
    key_of,
    redacted,
    searched,
    secrets_of,
    weak_keys,
    without,
)
from bench.errors import ProviderError
from bench.records import Message

KEY = 'sk/live+0123456789="ä&'
FORMS = {
    "plain": KEY,
    "JSON": json.dumps(KEY)[1:-1],
    "slashes": KEY.replace("/", "\\/"),
    "code points": "".join(f"\\u{ord(char):04X}" for char in KEY),
    "code points in braces": "".join(f"\\u{{{ord(char):x}}}" for char in KEY),
    "long code points": "".join(f"\\U{ord(char):08x}" for char in KEY),
    "hexadecimal bytes": "".join(f"\\x{ord(char):02x}" for char in KEY),
    "octal bytes": "".join(f"\\{ord(char):03o}" for char in KEY),
    "JSON in JSON": json.dumps(json.dumps(KEY))[3:-3],
    "HTML": html.escape(KEY),
    "HTML twice": html.escape(html.escape(KEY)),
    "decimal entities": "".join(f"&#{ord(char)};" for char in KEY),
    "hexadecimal entities": "".join(f"&#x{ord(char):x};" for char in KEY),
    "named entities": KEY.replace("/", "&sol;").replace("+", "&plus;").replace("=", "&equals;"),
    "percent": quote(KEY, safe=""),
    "every byte": "".join(f"%{octet:02x}" for octet in KEY.encode()),
    "Markdown": "".join(char if char.isalnum() else f"\\{char}" for char in KEY),
    "lines": KEY[:8] + "\\\n" + KEY[8:],
    "brackets": "".join(f"[{char}]" for char in KEY)[1:-1],
    "slashes between": "/".join(KEY),
    "percent twice": quote(quote(KEY, safe=""), safe=""),
}


def provider(**changes: object) -> Provider:
    return Provider.model_validate({"base_url": "https://x.example/v1", **changes})


def answered(text: str, secrets: tuple[str, ...]) -> Answer:
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "model": "m"}
    answer = answer_from(json.dumps(body).encode(), (), secrets)
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_found_in_every_form_and_counted(form: str) -> None:
    answer = answered(f"{FORMS[form]}: it is {FORMS[form]}.", (KEY,))
    assert answer.text == f"{REDACTED}: it is {REDACTED}."
    assert answer.redactions == 2


def test_a_key_split_among_the_parts_of_a_message_is_found() -> None:
    parts = [{"type": "text", "text": KEY[:9]}, {"type": "text", "text": KEY[9:]}]
    body = {"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}
    answer = answer_from(json.dumps(body).encode(), (), (KEY,))
    assert isinstance(answer, Answer)
    assert (answer.text, answer.redactions) == (REDACTED, 1)


@given(st.text())
def test_a_text_without_the_key_stays_as_it_is(text: str) -> None:
    assert without(text, ("0123456789abcdef",)) == (text, 0)
    answer = answered(text, ("0123456789abcdef",))
    assert answer.redactions is None


def test_raw_bytes_are_not_searched() -> None:
    """A key that looks like JSON syntax or a field's name must not break the reply."""
    for key in ('"finish_reason"', '{"choices": [{"message"', '": "stop"}'):
        assert answered("Hello.", (key,)).text == "Hello."


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "local",
        "not-needed-at-all",
        "Embedded_Model",
        "a1b2c3",
        "12345678901",
        "internationalization",
        "misunderstandings-of-CHARACTERIZATION",
    ],
)
def test_a_key_that_is_a_word_or_short_is_not_searched_for_and_warned_about(key: str) -> None:
    text = f"The {key} of the house, {key}."
    answer = answered(text, secrets_of(provider(), key))
    assert (answer.text, answer.redactions) == (text, None)
    catalog = _catalog()
    [warning] = weak_keys(catalog, ["m", "other"], Environment({"THE_KEY": key}))
    assert "THE_KEY" in warning
    assert key not in warning
    assert weak_keys(catalog, ["other"], Environment({"THE_KEY": key})) == []
    assert weak_keys(catalog, ["m"], Environment({"THE_KEY": "0123456789abcdef"})) == []


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("Authorization", True),
        ("X-API-Key", True),
        ("api-key", True),
        ("Cookie", True),
        ("X-Session-Token", True),
        ("X-Title", False),
        ("HTTP-Referer", False),
        ("anthropic-version", False),
        ("OpenAI-Organization", False),
        ("X-Character", False),
        ("X-Author", False),
        ("X-Keywords", False),
        ("X-Tokenizer", False),
        ("Ocp-Apim-Subscription-Key", True),
        ("AccessKey", True),
    ],
)
def test_only_headers_named_like_credentials_are_secret(name: str, secret: bool) -> None:
    value = "Queen of Hearts 1865"
    assert (value in secrets_of(provider(headers={name: value}), None)) == secret


def test_userinfo_is_found_as_the_header_that_it_becomes() -> None:
    url = "https://someone-01:p%40ssword-123@x.example/v1?api-version=2024-10-21-preview&sig=0123456789abc"
    secrets = searched(secrets_of(provider(base_url=url), None))
    assert base64.b64encode(b"someone-01:p@ssword-123").decode() in secrets
    assert {"p@ssword-123", "p%40ssword-123", "0123456789abc"} <= set(secrets)
    assert "2024-10-21-preview" not in secrets


@pytest.mark.parametrize(
    ("header", "secret"),
    [
        ("Bearer abcdef-0123456789", "abcdef-0123456789"),
        ("Token abcdef-0123456789", "abcdef-0123456789"),
        ("Basic " + base64.b64encode(b"someone-01:hidden-word-123").decode(), "hidden-word-123"),
        ("theme=dark; session=abcdef-0123456789; path=/", "abcdef-0123456789"),
        ("AWS4-HMAC-SHA256 Credential=x, Signature=abcdef0123456789", "abcdef0123456789"),
    ],
)
def test_the_secret_part_of_a_header_is_found_alone(header: str, secret: str) -> None:
    secrets = searched(secrets_of(provider(headers={"Authorization": header}), None))
    assert secret in secrets
    assert without(f"It is {secret}.", (secret,)) == (f"It is {REDACTED}.", 1)


@pytest.mark.parametrize("key", ["secretkey-ü-0123", "secretkey\x7f0123", "secretkey\n0123"])
def test_a_key_that_no_header_can_hold_is_never_printed(key: str) -> None:
    keyed, environment = provider(api_key_env="THE_KEY"), Environment({"THE_KEY": key})
    for ask in (lambda: key_of("x", keyed, environment), lambda: models_of_server("x", key)):
        with pytest.raises(ProviderError, match="not allowed in an HTTP header") as caught:
            ask()
        assert "secretkey" not in str(caught.value)


CODES = {
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 after a letter": base64.b64encode(f"x{KEY}!".encode()).decode(),
    "base64 after two letters": base64.b64encode(f"is{KEY}, or so".encode()).decode(),
    "hex": KEY.encode().hex(),
    "capital hex": KEY.encode().hex().upper(),
    "hex in pairs": KEY.encode().hex(" "),
    "hex with colons": KEY.encode().hex(":").upper(),
    "base32": base64.b32encode(KEY.encode()).decode(),
    "backwards": KEY[::-1],
    "capitals": KEY.upper(),
    "capital letters spelt out": "-".join(KEY.upper()),
    "hyphens": "-".join(KEY),
    "points": ".".join(KEY),
    "underscores": "_".join(KEY),
    "a letter a line": "\n".join(KEY),
    "two lines": f"{KEY[:7]}\r\n   {KEY[7:]}",
    "lines of a quotation": f"{KEY[:7]}\n> {KEY[7:]}",
    "spaces": " ".join(KEY),
    "zero-width spaces": "\u200b".join(KEY),
    "thin spaces": "\u2009".join(KEY),
    "marks of direction": "\u200e".join(KEY),
    "selectors of variants": "\ufe0f".join(KEY),
    "a part in bold": f"**{KEY[:7]}**{KEY[7:]}",
    "pieces of code": f'"{KEY[:5]}" + "{KEY[5:9]}" + "{KEY[9:]}"',
    "an escaped line break": f"{KEY[:7]}\\n{KEY[7:]}",
}


@pytest.mark.parametrize("form", CODES)
def test_a_key_is_found_in_other_codes_and_spread_out(form: str) -> None:
    secrets = searched(secrets_of(provider(), KEY))
    found, count = without(f"{CODES[form]} is it", secrets)
    assert count == 1
    assert found.endswith(f"{REDACTED} is it") or len(found) < 40


LETTERS = KEY.encode("ascii", "ignore").decode()
ESCAPES = ("\\u{0:04x}", "\\x{0:02x}", "%{0:02X}", "%25{0:02x}", "&#{0};", "&amp;#x{0:x};", "\\{0:03o}")
BETWEEN = (" ", "\n", "\u200b", '" + "', "\\n", "-", "._")


@pytest.mark.parametrize("prose", ["", "It rained. ", "100 % & more \\ of this. "])
def test_a_key_is_found_whatever_part_of_it_is_escaped_or_spread_out(prose: str) -> None:
    draw = random.Random(7)
    for _ in range(300):
        rate = draw.choice((0.03, 0.1, 0.5))
        chars = [draw.choice(ESCAPES).format(ord(c)) if draw.random() < rate else c for c in LETTERS]
        chars = [c.swapcase() if len(c) == 1 and draw.random() < rate else c for c in chars]
        written = "".join(c + (draw.choice(BETWEEN) if draw.random() < rate else "") for c in chars[:-1])
        text = f"{prose}{written}{chars[-1]}! {prose}"
        assert without(text, (LETTERS,)) == (f"{prose}{REDACTED}! {prose}", 1), text


def test_numbers_and_words_that_only_look_like_a_key_stay() -> None:
    secrets = searched(secrets_of(provider(), "a1b2-c3d4-e5f6"))
    for text in ("a1 b2 c3 d4 e5 f6", "a1b2, c3d4, e5f7", "a 1 b 2"):
        assert without(text, secrets) == (text, 0)


def test_a_search_through_a_long_text_is_fast() -> None:
    started = time.process_time()
    without("50% & more \\ of this. " * 100_000, secrets_of(provider(), KEY))
    assert time.process_time() - started < 4


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_a_known_key_never_leaves_in_a_prompt(text: str, tmp_path: Path) -> None:
    request = ChatRequest("other", "judge", (Message(role="user", content=f"Here: {text}"),))

    async def asked() -> int:
        environ = {"THE_KEY": KEY}
        async with Chat(_catalog(), retry=RetryPolicy(), environ=environ, dotenv=tmp_path / "none") as chat:
            with pytest.raises(ProviderError, match="provider keyed") as caught:
                await chat.ask(request)
            assert KEY not in str(caught.value)
            return chat.stats.sent

    assert asyncio.run(asked()) == 0


def _catalog() -> Catalog:
    entry = {"model": "m", "name": "M", "family": "f", "weights": "open", "licence": "l"}
    providers = {
        "keyed": provider(api_key_env="THE_KEY"),
        "free": provider(base_url="http://127.0.0.1:9/v1"),
    }
    models = {
        "m": Model.model_validate({**entry, "provider": "keyed"}),
        "other": Model.model_validate({**entry, "provider": "free"}),
    }
    return Catalog(Path("models.toml"), providers, models)


@pytest.mark.parametrize("part", [LETTERS[:-4], LETTERS[4:], LETTERS[:12]])
def test_a_part_of_a_key_that_an_error_repeats_is_not_printed(part: str) -> None:
    found = redacted(f"wrong key {part}*", secrets_of(provider(), LETTERS))
    assert found == f"wrong key {REDACTED}*"
