"""What servers and the environment can do to a call: it ends in a reply or an error all the same."""

from __future__ import annotations

import asyncio
import gzip
import random
import ssl
from dataclasses import replace
from pathlib import Path
from time import monotonic

import httpx2
import pytest

from bench.catalog import LocalFile
from bench.chat import Chat, Reply, RetryPolicy
from bench.chat.faults import fault_of
from bench.chat.listing import models_of_server
from bench.chat.wire import connect_seconds, connection_fault, headers_of
from bench.errors import ProviderError
from bench.local import LocalServers
from tests.chat.conftest import KEY, Play, asked, catalog
from tests.lengths import of_long
from tests.scripted_faults import scripted
from tests.scripted_server import Answer, ScriptedServer, Seen, plausible

SECRET = "planted-password"


@pytest.mark.parametrize(
    "charset",
    ["hex", "zlib", "rot13", "idna", "punycode", "undefined", "utf-16", "latin-1", "none-such", "*=''%00"],
)
def test_an_error_in_any_encoding_is_read(play: Play, charset: str) -> None:
    page = Answer(b"<h1>Closed\xff</h1>", 503, {"content-type": f"text/html; charset={charset}"})
    played = play(scripted(None, *[page] * 9), asked(), asked("More?"))
    assert played.replies[1].detail.startswith("HTTP 503")


@pytest.mark.parametrize("cookie", ["a=b; path=/", "\xe9=1", "=;=", "a=b; domain=.com; expires=never"])
def test_no_cookie_is_kept(play: Play, cookie: str) -> None:
    played = play(
        lambda seen: replace(plausible(seen), headers={"set-cookie": cookie}), asked(), asked("More?")
    )
    assert [r.attempts for r in played.replies] == [1, 1]
    assert not any("cookie" in seen.headers for seen in played.server.seen)


def test_a_redirect_is_told_in_short(play: Play) -> None:
    with pytest.raises(ProviderError, match="redirected to /x") as caught:
        play(scripted(Answer("", 302, {"location": "/" + "x" * 50_000})))
    assert len(str(caught.value)) < 600
    with pytest.raises(ProviderError, match="redirected to nowhere"):
        play(scripted(Answer("", 302)))


def test_an_error_as_long_as_a_book_is_searched_at_both_ends() -> None:
    start = monotonic()
    filler = "word " * 1_000_000
    assert fault_of(400, {"error": {"message": f"{filler}: maximum context length"}}, ()).kind == "too_long"
    assert fault_of(400, f"Invalid API key. {filler}", ()).kind == "user"
    assert monotonic() - start < 5


HEADERS = (
    b"content-encoding: gzip",
    b"transfer-encoding: chunked",
    b"content-length: 7",
    b"location: http://[",
)
PIECES = (
    *(
        b"content-type: text/html; charset=hex",
        b"set-cookie: \xe9=1",
        b"retry-after: -",
        b"connection: upgrade",
    ),
    *(
        b"\0",
        b"\n",
        b"\xff",
        b"9" * 30,
        b"\r\n\r\n",
        b"HTTP/1.1 101 X\r\n\r\n",
        b"0\r\n\r\n",
        b"HTTP/1.1 500 X",
    ),
)


def damaged(dice: random.Random, seen: Seen) -> bytes:
    """A response of which some bytes are changed, lost, or put in."""
    body = plausible(seen).payload()
    if dice.random() < 0.3:
        body = gzip.compress(body)
    head = b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n" % (dice.choice((200, 302, 400, 429, 503)), len(body))
    lines = b"".join(line + b"\r\n" for line in dice.sample(HEADERS, dice.choice((0, 1, 1, 2))))
    data = bytearray(head + lines + b"\r\n" + body)
    for _ in range(dice.randrange(4)):
        place = dice.randrange(len(data))
        data[place : place + dice.choice((0, 0, 1, 1, 20))] = dice.choice((b"", dice.randbytes(1), *PIECES))
    return bytes(data)


@pytest.mark.long
def test_every_damaged_response_ends_in_a_reply_or_an_error(play: Play) -> None:
    dice = random.Random(7)

    async def ended(chat: Chat, text: str) -> Reply | ProviderError:
        try:
            return await chat.ask(asked(text))
        except ProviderError as error:
            return error

    async def main() -> list[Reply | ProviderError]:
        async with ScriptedServer(lambda seen: Answer(damaged(dice, seen), way="raw")) as server:
            known = catalog(server.url, {"timeout_seconds": 0.5, "max_concurrent": 32})
            retry = RetryPolicy(attempts=2, first_wait=0.001, longest_backoff=0.002)
            async with Chat(known, retry=retry, environ={}) as chat:
                return await asyncio.gather(*(ended(chat, str(i)) for i in range(of_long(150, 3000))))

    assert {getattr(end, "outcome", "error") for end in asyncio.run(main())} >= {"ok", "transport", "error"}


# --- the environment ---


@pytest.mark.parametrize(
    ("proxy", "words"),
    [
        ("socks5://127.0.0.1:1", "socksio"),
        (f"socks4://u:{SECRET}@127.0.0.1:1", "proxy"),
        (f"http://u:{SECRET}@[bad", "proxy"),
        ("http://127.0.0.1:1", "proxy"),
        ("http://", "proxy"),
        ("127.0.0.1:99999", "proxy"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named(
    play: Play, monkeypatch: pytest.MonkeyPatch, proxy: str, words: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(ProviderError, match=words) as chatted:
        play()
    with pytest.raises(ProviderError) as listed:
        models_of_server("http://127.0.0.1:1/v1", seconds=1)
    assert SECRET not in f"{chatted.value} {listed.value}"


def test_a_server_of_our_own_is_reached_without_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")

    async def main() -> Reply:
        async with ScriptedServer() as server:

            class Servers(LocalServers):
                def identity(self, file: LocalFile | None) -> str:
                    return "smol"

                def start(self, file: LocalFile | None) -> str:
                    return server.url

            async with Chat(catalog("embedded"), local=Servers(1)) as chat:
                return await chat.ask(asked())

    assert asyncio.run(main()).outcome == "ok"


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSLKEYLOGFILE"])
def test_certificates_that_cannot_be_loaded_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv(name, str(tmp_path / "none" / "such"))

    async def main() -> Reply:
        async with Chat(catalog("https://127.0.0.1:1/v1"), environ={}) as chat:
            return await chat.ask(asked())

    with pytest.raises(ProviderError, match=name):
        asyncio.run(main())
    with pytest.raises(ProviderError, match=name):
        models_of_server("https://127.0.0.1:1/v1")


def test_a_certificate_that_is_not_accepted_says_why() -> None:
    cause = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed (_ssl.c:1006)")
    cause.verify_message = "self-signed certificate"
    error = httpx2.ConnectError("x")
    error.__cause__ = cause
    fault = connection_fault(error, 180)
    assert fault.detail == "no connection (certificate not accepted: self-signed certificate)"
    assert "SSL_CERT_FILE" in fault.hint


@pytest.mark.parametrize("seconds", [0.4, 9, 12, 180])
def test_a_server_that_does_not_connect_is_told_before_the_call_times_out(seconds: float) -> None:
    assert connect_seconds(seconds) < seconds
    fault = connection_fault(httpx2.ConnectTimeout("x"), seconds)
    assert (fault.kind, fault.detail) == (
        "unreachable",
        f"no connection within {connect_seconds(seconds):g} s",
    )


def test_only_openai_is_told_whom_to_bill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "é")
    assert "openai-organization" not in headers_of({}, KEY, "https://openai.example/v1")
    sent = headers_of({}, KEY, "https://api.openai.com/v1")
    assert (sent["openai-organization"], "openai-project" in sent) == ("org-1", False)
    given = {"OpenAI-Organization": "org-2"}
    assert headers_of(given, KEY, "https://api.openai.com/v1")["openai-organization"] == "org-2"
