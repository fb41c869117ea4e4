"""An OpenAI-compatible server that plays by script: for tests, and as a process of its own for benchmarks.

    async with ScriptedServer() as server:          # in the test's own loop
    with ScriptedServer().in_thread() as server:    # beside a command
    python tests/scripted_server.py --delay 0.2 --port 0

Unless told otherwise it answers plausibly and deterministically, from a hash of the request (``plausible``).
What a request gets is an ``Answer``; ``tests/scripted_faults.py`` names the ways in which one can go wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

CRITERIA = ("in_character", "entertaining", "fluency")
Json = dict[str, Any]
Way = Literal[
    "whole",
    "reset_before",
    "reset_during",
    "reset_after",
    "stall",
    "slow",
    "close_before",
    "unannounced",
    "raw",
]
"""``raw``: the body is the whole response."""


@dataclass(frozen=True)
class Seen:
    """A request as it came. ``repeat``: how often the same body had come before."""

    number: int
    path: str
    headers: Mapping[str, str]
    raw: bytes
    repeat: int

    @property
    def body(self) -> Json:
        body: Json = json.loads(self.raw)
        return body

    @property
    def digest(self) -> int:
        """A number that depends on the body alone."""
        return int.from_bytes(hashlib.sha256(self.raw).digest()[:8], "big")


@dataclass(frozen=True)
class Answer:
    """What a request gets: status, headers, body (an object is sent as JSON), when, and in which way."""

    body: Json | list[Any] | str | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float | None = None
    """Seconds until it is sent; None: as the server does by default."""
    way: Way = "whole"

    def payload(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, str):
            return self.body.encode("utf-8", errors="surrogatepass")
        return json.dumps(self.body).encode()


Answerer = Callable[[Seen], Answer]


# --- plausible answers -----------------------------------------------------------------------------------


THOUGHT = "I am asked something. Let me think about who I am."
MODELS = ("plain", "thinker", "thinker-in-tags")
"""What the server offers. The second gives its reasoning in a field of its own, the third in the text; other
names are answered too."""


def plausible(seen: Seen) -> Answer:
    """An answer in the role that the last message or the schema asks for, from a hash of the request."""
    text = plausible_text(seen)
    match seen.body.get("model"):
        case "thinker":
            return completion(text, seen, reasoning_content=THOUGHT)
        case "thinker-in-tags":
            return completion(f"<think>\n{THOUGHT}\n</think>\n\n{text}", seen)
    return completion(text, seen)


def plausible_text(seen: Seen) -> str:
    body = seen.body
    last = str(body["messages"][-1]["content"])
    asked = json.dumps(body.get("response_format", "")) + last
    if "_margin" in asked:
        return json.dumps(margins(asked, seen.digest))
    if '"band"' in asked:
        return json.dumps(banded(seen.digest), ensure_ascii=False)
    if "_score" in asked and '"scores"' not in asked:  # of one answer, by the one who asks on
        more = {"next_utterance": utterance(seen.digest)} if "next_utterance" in asked else {}
        return json.dumps(rating(seen.digest) | more, ensure_ascii=False)
    if "next_utterance" in asked:
        fact = re.search(r"spelled as here: (.*)", last)  # a long conversation's, which has to be mentioned
        said = fact[1] if fact else utterance(seen.digest)
        return json.dumps({"next_utterance": said}, ensure_ascii=False)
    if '"scores"' in asked or "_score" in asked:
        return json.dumps(verdict(last, seen.digest), ensure_ascii=False)
    return spoken(seen.digest)


def utterance(digest: int) -> str:
    openings = (
        "Hello there!",
        "Tell me more.",
        "Is that so?",
        "What happened next?",
        "I am not sure I believe you.",
    )
    return f"{openings[digest % len(openings)]} ({digest % 9973})"


def spoken(digest: int) -> str:
    sentences = (
        "Ah, you come at a curious hour.",
        "I have seen stranger things by the river.",
        "Sit, and I shall tell you of it.",
        "Nobody believes me, and yet it is so.",
        "The lamp was burning when I left.",
    )
    count = 1 + digest % len(sentences)
    return (
        " ".join(sentences[(digest // 7 + i) % len(sentences)] for i in range(count)) + f" ({digest % 9973})"
    )


def rating(digest: int) -> Json:
    """A valid rating of one answer, 1 to 10."""
    entry: Json = {"is_refusal_explanation": "The bot answers.", "is_refusal": False}
    for position, name in enumerate(CRITERIA):
        score = 1 + (digest >> (4 * position)) % 10
        entry |= {f"{name}_explanation": f"'...' so I give {score}.", f"{name}_score": score}
    return entry


def margins(asked: str, digest: int) -> Json:
    """A valid comparison of two conversations, of the criteria that ``asked`` names."""
    reply: Json = {"refusal_explanation": "Both answer.", "first_refuses": False, "second_refuses": False}
    for position, name in enumerate(dict.fromkeys(re.findall(r"([a-z_]+)_margin", asked))):
        reply[f"{name}_explanation"] = "'...' against '...'."
        reply[f"{name}_margin"] = (digest >> (3 * position)) % 7 - 3
    return reply


def banded(digest: int) -> Json:
    """A valid score of human likeness."""
    low, high = ((0, 20), (21, 40), (41, 60), (61, 80), (81, 100))[digest % 5]
    return {"analysis": "It talks.", "band": f"{low}-{high}", "score": low + (digest // 5) % (high - low + 1)}


def verdict(conversation: str, digest: int, turns: int | None = None) -> Json:
    """A valid verdict for as many turns as the conversation has lines ``Turn N:``."""
    numbers = [int(n) for n in re.findall(r"(?m)^\s*Turn (\d+):", conversation)]
    scores = []
    for turn in numbers if turns is None else range(1, turns + 1):
        entry: Json = {"turn": turn, "is_refusal_explanation": "The player answers.", "is_refusal": False}
        for position, name in enumerate(CRITERIA):
            score = 1 + (digest >> (3 * turn + position)) % 5
            entry[f"{name}_explanation"] = f"'...' so I give {score}."
            entry[f"{name}_score"] = score
        scores.append(entry)
    return {"scores": scores}


def completion(text: str | None, seen: Seen | None = None, **changes: Any) -> Answer:
    """A chat completion; ``changes`` go into its choice, its message or its top level, by their names."""
    message: Json = {"role": "assistant", "content": text}
    choice: Json = {"index": 0, "message": message, "finish_reason": "stop"}
    prompt = len(seen.raw) // 4 if seen else 10
    body: Json = {
        "id": f"chatcmpl-{seen.number if seen else 0}",
        "object": "chat.completion",
        "created": 1700000000,
        "model": seen.body.get("model", "scripted") if seen else "scripted",
        "system_fingerprint": "fp_scripted",
        "choices": [choice],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": max(1, len(text or "") // 4),
            "total_tokens": prompt + max(1, len(text or "") // 4),
        },
    }
    for key, value in changes.items():
        if key in ("refusal", "reasoning_content", "reasoning", "tool_calls", "content", "audio"):
            message[key] = value
        elif key in ("finish_reason",):
            choice[key] = value
        else:
            body[key] = value
    return Answer({k: v for k, v in body.items() if v is not None or k == "choices"})


def error(status: int, message: str = "scripted", code: str | int | None = None, **headers: str) -> Answer:
    """An error object with a status; header names are written with underscores."""
    body = {"error": {"message": message, "type": "scripted_error", "code": code}}
    return Answer(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


# --- the server ------------------------------------------------------------------------------------------


class ScriptedServer:
    """Serves on a loopback port; ``seen`` holds all requests, ``most_at_once`` the highest concurrency."""

    def __init__(
        self, answer: Answerer = plausible, *, delay: float = 0.0, record: bool = True, port: int = 0
    ) -> None:
        self.answer = answer
        self.delay = delay
        self.seen: list[Seen] = []
        self.count = 0
        self.connections = 0
        self.at_once = 0
        self.most_at_once = 0
        self.port = port
        self._record = record
        self._repeats: Counter[bytes] = Counter()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> ScriptedServer:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, backlog=2048)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @contextmanager
    def in_thread(self) -> Iterator[ScriptedServer]:
        """The server in a thread with a loop of its own."""
        ready = threading.Event()
        loop = asyncio.new_event_loop()
        stop = asyncio.Event()

        async def serve() -> None:
            async with self:
                ready.set()
                await stop.wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
        thread.start()
        ready.wait(10)
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join(10)
            loop.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection lives on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request_line, *lines = head.split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines) if v}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        path = request_line.split(" ")[1]
        if not path.split("?")[0].endswith("/chat/completions"):
            answer = self.elsewhere(request_line.split(" ")[0], path, headers, raw)
            await self._send(writer, answer)
            return answer.way == "whole"
        self.count += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            key = hashlib.sha256(raw).digest()
            seen = Seen(self.count, path, headers, raw, self._repeats[key])
            self._repeats[key] += 1
            if self._record:
                self.seen.append(seen)
            answer = self.answer(seen)
            delay = self.delay if answer.delay is None else answer.delay
            if delay:
                await asyncio.sleep(delay)
        finally:
            self.at_once -= 1
        await self._send(writer, answer)
        return answer.way == "whole"

    def elsewhere(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        """The answer to what is no chat completion; a subclass may serve more of the API."""
        if (method, path) == ("GET", "/v1/models"):
            return Answer({"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]})
        return error(404, f"no such path: {path}")

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        payload = answer.payload()
        fields = {"content-type": "application/json", **answer.headers}
        if answer.way != "unannounced":  # its end is the connection's end
            fields["content-length"] = str(len(payload))
        head = f"HTTP/1.1 {answer.status} Scripted\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
        whole = payload if answer.way == "raw" else head.encode("latin-1") + payload
        if answer.way == "stall":
            await asyncio.sleep(3600)
        elif answer.way == "reset_before":
            _reset(writer)
        elif answer.way == "reset_during":
            writer.write(whole[: len(head) + len(payload) // 2])
            await writer.drain()
            await asyncio.sleep(0.01)
            _reset(writer)
        elif answer.way == "slow":
            for byte in whole:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.05)
        elif answer.way != "close_before":
            writer.write(whole)
            await writer.drain()
            if answer.way == "reset_after":
                await asyncio.sleep(0.01)
                _reset(writer)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST instead of FIN."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _serve(options: argparse.Namespace) -> None:
    async with ScriptedServer(delay=options.delay, record=False, port=options.port) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve until killed; the first line printed is the base URL."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds until an answer is sent")
    run = asyncio.run
    with suppress(ImportError):
        import uvloop

        run = uvloop.run
    with suppress(KeyboardInterrupt):
        run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
