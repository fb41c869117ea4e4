"""CPU a call and replays a second of ``Chat.ask``, against the scripted server in a process of its own.

    python tests/benchmarks/chat_cpu.py [--calls 3000] [--at-once 64] [--delay 0.2]

Prints CPU milliseconds a call with the cache on and off, the ratio of wall time to the ideal, what a set and
a get of the cache take, and replays a second.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import uvloop

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.catalog import Catalog, Model, Prices, Provider  # noqa: E402
from bench.chat import Chat, ChatRequest, ResponseCache  # noqa: E402
from bench.chat.answers import Answer  # noqa: E402
from bench.records import Message, Usage  # noqa: E402


@contextmanager
def server(delay: float) -> Iterator[str]:
    """The scripted server's base URL."""
    command = [sys.executable, str(ROOT / "tests/scripted_server.py"), "--delay", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def catalog(base_url: str, at_once: int) -> Catalog:
    prices = Prices(input="0.15", output="0.60")  # type: ignore[arg-type]
    model = Model(
        provider="p", model="scripted", name="S", family="s", weights="open", licence="x", prices=prices
    )
    return Catalog(
        Path("models.toml"), {"p": Provider(base_url=base_url, max_concurrent=at_once)}, {"m": model}
    )


def requests(count: int) -> list[ChatRequest]:
    """Requests about as long as a player's in the middle of a conversation: 3 kB of text."""
    card = "You are the keeper of a lighthouse, old and talkative. " * 30
    talk = [Message(role="user" if i % 2 == 0 else "assistant", content=f"Line {i}. " * 20) for i in range(7)]
    system = Message(role="system", content=card)
    return [
        ChatRequest("m", "player", (system, *talk), {"temperature": 0.6, "max_tokens": 512}, sample=i)
        for i in range(count)
    ]


async def rounds(
    url: str, at_once: int, delay: float, todo: list[ChatRequest], cache: ResponseCache | None
) -> float:
    """CPU seconds of asking all of ``todo``, ``at_once`` at a time; connections are warm."""
    async with Chat(catalog(url, at_once), cache=cache) as chat:
        warm = [
            ChatRequest("m", "player", r.messages, {}, sample=-1 - i) for i, r in enumerate(todo[:at_once])
        ]
        await asyncio.gather(*map(chat.ask, warm))
        queue = iter(todo)

        async def worker() -> None:
            for request in queue:
                reply = await chat.ask(request)
                assert reply.outcome == "ok", reply

        cpu, wall = process_time(), perf_counter()
        await asyncio.gather(*(worker() for _ in range(at_once)))
        cpu, wall = process_time() - cpu, perf_counter() - wall
        sent = max(0, chat.stats.sent - len(warm))
        ideal = sent * delay / at_once
        print(
            f"cache {'on' if cache else 'off'}: {len(todo)} asked, {sent} sent, "
            f"{1000 * cpu / len(todo):.2f} ms CPU a call, {len(todo) / wall:.0f} calls/s"
            + (f", wall/ideal {wall / ideal:.2f}" if ideal else "")
        )
        return cpu


def cache_times(folder: Path, count: int = 2000) -> None:
    usage = Usage(prompt_tokens=800, completion_tokens=120)
    answer = Answer(outcome="ok", text="word " * 200, finish_reason="stop", usage=usage)
    with ResponseCache(folder) as cache:
        keys = [ResponseCache.key("u", f"{i}", 0) for i in range(count)]
        for name, step in (("set", lambda k: cache.put(k, answer)), ("get", cache.get)):
            start = perf_counter()
            for key in keys:
                step(key)
            print(f"cache {name}: {1000 * (perf_counter() - start) / count:.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.2)
    options = parser.parse_args()
    run: Callable[[Coroutine[Any, Any, float]], float] = uvloop.run
    todo = requests(options.calls)
    with tempfile.TemporaryDirectory() as folder, server(options.delay) as url:
        cache_times(Path(folder) / "times")
        run(rounds(url, options.at_once, options.delay, todo, None))
        for _ in ("filled", "replayed"):
            with ResponseCache(Path(folder) / "cache", print) as cache:
                run(rounds(url, options.at_once, options.delay, todo, cache))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
