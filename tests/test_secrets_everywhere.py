"""Keys wherever one may stand, a provider that repeats all that it was sent, and every artefact of a run."""

from __future__ import annotations

import base64
import json
import logging
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench import cli
from bench.chat import RetryPolicy, client
from bench.site.build import build_site
from tests.scripted_server import Answer, ScriptedServer, Seen, completion, error, plausible_text
from tests.tiny import Tiny, edit, make_tiny

pytestmark = pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1"])

WORD = "plntd"
"""Part of every secret here, and of nothing else."""
KEY = f"{WORD}/key+0123456789="
HEADER = f"{WORD}-header-456"
USER, PASSWORD = f"{WORD}-user-0123", f"{WORD}-p%40ss-0123"
QUERY = f"{WORD}%2Fquery-789"
QUICK = RetryPolicy(attempts=6, first_wait=0.01, longest_backoff=0.02)
PAIR = base64.b64encode(f"{USER}:{WORD}-p@ss-0123".encode()).decode()
BETRAYING = (WORD, PAIR, base64.b64encode(KEY.encode()).decode())


def everything(seen: Seen) -> str:
    """All that the server was sent, as a chatty provider may repeat it."""
    sent = seen.headers.get("authorization", "")
    decoded = base64.b64decode(sent[6:]).decode() if sent.startswith("Basic ") else sent
    return f"{json.dumps(dict(seen.headers))} {seen.path} {decoded} {KEY} {USER} {PASSWORD} {QUERY}"


def escaped(answer: Answer) -> Answer:
    """The same JSON with every letter of the secrets' word as an escape."""
    hidden = "".join(f"\\u{ord(letter):04x}" for letter in WORD)
    return Answer(answer.payload().replace(WORD.encode(), hidden.encode()))


def echoed(seen: Seen) -> Answer:
    """A good answer with the secrets in its texts, names and header."""
    said, text = everything(seen), plausible_text(seen)
    if text.startswith('{"next'):
        text = json.dumps({"next_utterance": f"Hello. {said}"})
    elif text.startswith('{"scores'):
        data = json.loads(text)
        data["scores"][0]["fluency_explanation"] = said
        text = json.dumps(data)
    else:
        text += said
    whole = completion(text, seen, system_fingerprint=f"fp {said}", model=f"m {said}", finish_reason=KEY)
    return replace(whole, headers={"x-echo": KEY})


def telling(seen: Seen) -> Answer:
    """Faults and answers in turn; each repeats all."""
    said = everything(seen)
    answers = [
        lambda: error(500, said),
        lambda: echoed(seen),
        lambda: error(429, said, "rate_limit", x_echo=KEY),
        lambda: escaped(echoed(seen)),
        lambda: Answer(f"<html>{'x' * 380}{said}", headers={"content-type": "text/html"}),
        lambda: replace(error(500, said, said), status=200),
        lambda: echoed(seen),
        lambda: Answer(said.encode()[:300]),
        lambda: escaped(echoed(seen)),
        lambda: completion("", seen, choices=[], error=None, note=said),
        lambda: completion(None, seen, refusal=said) if seen.number == 31 else echoed(seen),
    ]
    return answers[seen.number % len(answers)]()


def ends(seen: Seen) -> Answer:
    return error(401, everything(seen), everything(seen))


def redirects(seen: Seen) -> Answer:
    return Answer("", 302, {"location": f"https://elsewhere/{KEY}/{everything(seen).split()[-1]}?k={KEY}"})


def missing(seen: Seen) -> Answer:
    return Answer(f"<h1>{everything(seen)}</h1>" * 100, 404)


@pytest.fixture
def telltale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tiny:
    """A bench whose provider has a secret in each place; the key itself stands in ``.env``."""
    tiny = make_tiny(tmp_path / "tiny", "URL")
    extra = f'api_key_env = "TELLTALE"\nheaders = {{ "X-Auth" = "Bearer {HEADER}" }}\n'
    edit(tiny.models, "[providers.scripted]\n", f"[providers.scripted]\n{extra}")
    here = tmp_path / "here"
    here.mkdir()
    (here / ".env").write_text(f'TELLTALE="{KEY}"\n', encoding="utf-8")
    monkeypatch.chdir(here)
    monkeypatch.setattr(client, "RetryPolicy", lambda: replace(QUICK))
    return tiny


def run(tiny: Tiny, server: ScriptedServer) -> int:
    """`bench run`, with the server's address of now."""
    text = tiny.models.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("base_url")]
    url = server.url.replace("http://", f"http://{USER}:{PASSWORD}@") + f"?token={QUERY}"
    told = "\n".join([*lines]).replace("[providers.scripted]", f'[providers.scripted]\nbase_url = "{url}"')
    told = told.replace("[providers.plain]", f'[providers.plain]\nbase_url = "{url}"')
    tiny.models.write_text(told + "\n", encoding="utf-8")
    sys.argv = ["bench", "run", "tiny", *tiny.options()]
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def assert_nowhere(text: str | bytes, where: str) -> None:
    data = text.encode() if isinstance(text, str) else text
    for secret in BETRAYING:
        place = data.find(secret.encode())
        assert place < 0, f"{where}: {data[max(0, place - 80) : place + 60]!r}"


@pytest.mark.usefixtures("quick_sites")
def test_keys_appear_in_no_artefact(
    telltale: Tiny,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setenv("OPENAI_LOG", "debug")
    caplog.set_level(logging.DEBUG)
    with ScriptedServer(telling, record=False).in_thread() as server:
        assert run(telltale, server) == 0
        assert server.count > 24
        sizes = [path.stat().st_size for path in (telltale.root / "cache").iterdir()]
        assert sum(sizes) > 10_000
        for number, last in enumerate((ends, redirects, missing)):
            server.answer = last
            edit(telltale.card_file, "slow of speech", f"slow of speech, {number}, slow of speech")
            for path in (telltale.root / "results").rglob("anna.hello.json"):
                path.unlink()
            assert run(telltale, server) == 1
    said = capfd.readouterr()
    assert "redacted" in said.err
    assert_nowhere(said.out + said.err, "output")
    assert_nowhere(caplog.text, "logs")
    for folder in ("results", "cache"):
        for path in (telltale.root / folder).rglob("*"):
            if path.is_file():
                assert_nowhere(path.read_bytes(), str(path.relative_to(telltale.root)))
    results = b"".join(path.read_bytes() for path in telltale.tree.root.rglob("*.json"))
    assert b"[redacted]" in results
    build_site(telltale.tree, output=tmp_path / "site")
    for path in (tmp_path / "site").rglob("*"):
        if path.is_file():
            assert_nowhere(path.read_bytes(), str(path.relative_to(tmp_path)))
