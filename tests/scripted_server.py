"""An OpenAI-compatible server that plays by script: for tests, and as a process of its own for benchmarks.

    async with ScriptedServer() as server:          # in the test's own loop
    with ScriptedServer().in_thread() as server:    # beside a command
    python tests/scripted_server.py --delay 0.2 --port 0 --faults 0.3 --seed 1

Unless told otherwise it answers plausibly and deterministically, from a hash of the request (``plausible``).
What a request gets is an ``Answer``; ``FAULTS`` names the ways in which one can go wrong.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from time import time
from typing import Any, Literal

CRITERIA = ("in_character", "entertaining", "fluency")
Json = dict[str, Any]
Way = Literal[
    "whole", "reset_before", "reset_during", "reset_after", "stall", "slow", "close_before", "unannounced"
]


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


# --- faults ----------------------------------------------------------------------------------------------


def _truncated(seen: Seen) -> Answer:
    whole = plausible(seen).payload()
    return Answer(whole[: len(whole) // 2])


def _streamed(seen: Seen) -> Answer:
    lines = []
    for piece in re.findall(r"(?s).{1,20}", plausible_text(seen)):
        lines.append({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]})
    lines.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    text = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
    return Answer(text, headers={"content-type": "text/event-stream"})


def _edited(edit: Callable[[str], str]) -> Answerer:
    return lambda seen: completion(edit(plausible_text(seen)), seen)


def _scores(edit: Callable[[list[Json]], list[Json]]) -> Answerer:
    """A verdict with edited scores; requests that ask for none are answered as they should be."""

    def answer(seen: Seen) -> Answer:
        text = plausible_text(seen)
        with suppress(ValueError):
            data = json.loads(text)
            if "scores" in data:
                text = json.dumps({**data, "scores": edit(data["scores"])})
        return completion(text, seen)

    return answer


def _with(**values: object) -> Callable[[list[Json]], list[Json]]:
    return lambda scores: [{**turn, **values} for turn in scores]


def _duplicate_keys(text: str) -> str:
    return re.sub(r'"fluency_score": (\d)', r'"fluency_score": 1, "fluency_score": \1', text)


FAULTS: dict[str, Answerer] = {
    "rate_limit": lambda seen: error(429, "slow down", "rate_limit_exceeded"),
    "rate_limit_seconds": lambda seen: error(429, "slow down", retry_after="1"),
    "rate_limit_date": lambda seen: error(429, "slow down", retry_after=formatdate(time() + 1, usegmt=True)),
    "rate_limit_absurd": lambda seen: error(429, "slow down", retry_after="86400"),
    "status_500": lambda seen: error(500, "internal"),
    "status_502": lambda seen: Answer("<html><h1>502 Bad Gateway</h1></html>", 502),
    "status_503": lambda seen: error(503, "overloaded"),
    "status_529": lambda seen: error(529, "overloaded"),
    "reset_before": lambda seen: replace(plausible(seen), way="reset_before"),
    "reset_during": lambda seen: replace(plausible(seen), way="reset_during"),
    "reset_after": lambda seen: replace(plausible(seen), way="reset_after"),
    "close_before": lambda seen: replace(plausible(seen), way="close_before"),
    "stall": lambda seen: Answer(way="stall"),
    "slow": lambda seen: replace(plausible(seen), way="slow"),
    "truncated_body": _truncated,
    "invalid_body": lambda seen: Answer("{'choices': [,]}"),
    "html_body": lambda seen: Answer(
        "<!doctype html><p>Please log in", headers={"content-type": "text/html"}
    ),
    "empty_choices": lambda seen: completion("", seen, choices=[]),
    "null_choices": lambda seen: completion("", seen, choices=None),
    "null_content": lambda seen: completion(None, seen),
    "blank_content": lambda seen: completion(" \n", seen),
    "only_reasoning": lambda seen: completion(None, seen, reasoning_content="Let me think about this."),
    "reasoning_cut": lambda seen: completion("<think>Who am I, and", seen, finish_reason="length"),
    "more_after_json": lambda seen: completion(
        f"{plausible_text(seen)}\nWait, in turn 1", seen, finish_reason="length"
    ),
    "length": lambda seen: completion(plausible_text(seen)[:12], seen, finish_reason="length"),
    "content_filter": lambda seen: completion("", seen, finish_reason="content_filter"),
    "broken_ending": lambda seen: completion(plausible_text(seen), seen, finish_reason="network_error"),
    "error_beside_text": lambda seen: completion(
        plausible_text(seen), seen, error={"code": 502, "message": "x"}
    ),
    "unknown_ending": lambda seen: completion(plausible_text(seen), seen, finish_reason="banana"),
    "filtered_ending": lambda seen: completion(plausible_text(seen), seen, finish_reason="RECITATION"),
    "filtered_input": lambda seen: error(400, "Content Exists Risk", "invalid_request_error"),
    "filter_without_message": lambda seen: completion(
        "", seen, choices=[{"index": 0, "finish_reason": "content_filter: SPII"}]
    ),
    "too_long": lambda seen: error(400, "prompt is too long: 9 tokens > 8 maximum"),
    "refusal_field": lambda seen: completion(None, seen, refusal="I cannot help with that."),
    "refusal_prose": lambda seen: completion("I'm sorry, but I can't take part in this.", seen),
    "error_with_200": lambda seen: replace(error(500, "upstream failed", 502), status=200),
    "streamed": _streamed,
    "huge": lambda seen: completion("x" * 2_000_000, seen),
    "no_usage": lambda seen: completion(plausible_text(seen), seen, usage=None),
    "reasoning_block": _edited(lambda text: f"<think>Who am I?</think>\n{text}"),
    "fences": _edited(lambda text: f"```json\n{text}\n```"),
    "prose_around": _edited(lambda text: f"Here is the result:\n{text}\nI hope this helps."),
    "single_quotes": _edited(lambda text: text.replace('"', "'")),
    "trailing_comma": _edited(lambda text: re.sub(r"([}\]])", r",\1", text, count=1)),
    "truncated_text": _edited(lambda text: text[: max(1, len(text) * 2 // 3)]),
    "duplicate_keys": _edited(_duplicate_keys),
    "other_language": _edited(lambda text: "对不起，我不明白。"),
    "turn_missing": _scores(lambda scores: scores[:-1]),
    "turn_too_many": _scores(
        lambda scores: [*scores, {**scores[-1], "turn": len(scores) + 1}] if scores else []
    ),
    "scores_as_strings": _scores(
        lambda scores: [{**t, "fluency_score": str(t["fluency_score"])} for t in scores]
    ),
    "scores_as_floats": _scores(
        lambda scores: [{**t, "fluency_score": t["fluency_score"] + 0.5} for t in scores]
    ),
    "scores_out_of_range": _scores(_with(fluency_score=7)),
    "score_missing": _scores(
        lambda scores: [{k: v for k, v in t.items() if k != "fluency_score"} for t in scores]
    ),
}


def faulty(
    rate: float, seed: int, names: Iterable[str] = tuple(FAULTS), answer: Answerer = plausible
) -> Answerer:
    """``answer``, but at ``rate`` one of the named faults; which, hangs on seed, body and repeat alone."""
    kinds = tuple(names)

    def pick(seen: Seen) -> Answer:
        die = hashlib.sha256(b"%d %d " % (seed, seen.repeat) + seen.raw).digest()
        if int.from_bytes(die[:4], "big") >= rate * 2**32:
            return answer(seen)
        return FAULTS[kinds[int.from_bytes(die[4:8], "big") % len(kinds)]](seen)

    return pick


def scripted(*steps: Answer | str | None, then: Answerer = plausible) -> Answerer:
    """One step a request, in order: an Answer, the name of a fault, or None for ``then``; then ``then``."""
    queue = list(steps)

    def answer(seen: Seen) -> Answer:
        step = queue.pop(0) if queue else None
        if isinstance(step, Answer):
            return step
        return FAULTS[step](seen) if step is not None else then(seen)

    return answer


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
        whole = head.encode("latin-1") + payload
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
    names = options.kinds.split(",") if options.kinds else tuple(FAULTS)
    answer = faulty(options.faults, options.seed, names) if options.faults else plausible
    async with ScriptedServer(answer, delay=options.delay, record=False, port=options.port) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve until killed; the first line printed is the base URL."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds until an answer is sent")
    parser.add_argument("--faults", type=float, default=0.0, help="share of requests that meet a fault")
    parser.add_argument("--kinds", default="", help="comma-separated names of faults; all by default")
    parser.add_argument("--seed", type=int, default=0)
    run = asyncio.run
    with suppress(ImportError):
        import uvloop

        run = uvloop.run
    with suppress(KeyboardInterrupt):
        run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
