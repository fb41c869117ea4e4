"""A server of the packaged model's file under another name: options, answers, and its end."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
from pathlib import Path

import pytest

from bench.catalog import Catalog, LocalFile, Model, Provider
from bench.chat import Chat, ChatRequest, open_chat
from bench.local import EmbeddedServer, embedded
from bench.records import Message
from tests.local.test_embedded import ask, children_of, content, gone_within, line_of, needs_model, python


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> LocalFile:
    path = tmp_path_factory.mktemp("models") / "real.gguf"
    path.symlink_to(embedded.find_model_file())
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return LocalFile(path=path, sha256=sha256, context=512, threads=1)


@pytest.mark.embedded
@needs_model
@pytest.mark.block_network(allowed_hosts=["127.0.0.1"])
class TestServing:
    def test_the_options_reach_the_server(self, real: LocalFile) -> None:
        template = "{% for m in messages %}{{ m.content }}{% endfor %} Yes, and"
        with EmbeddedServer(real.model_copy(update={"chat_template": template}), slots=1) as server:
            props = ask(server.base_url.removesuffix("/v1"), "/props")
            assert props["default_generation_settings"]["n_ctx"] == 512
            assert props["chat_template"].startswith("{% for m in messages %}")
            body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
            answer = ask(server.base_url, "/chat/completions", body)
            assert answer["model"] == "real"
            assert content(answer)

    def test_each_file_has_a_server_that_ends_when_it_is_not_needed(
        self, real: LocalFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        running: list[LocalFile | None] = []
        most = 0

        class Noted(EmbeddedServer):
            def __init__(self, file: LocalFile | None, *, slots: int) -> None:
                super().__init__(file, slots=slots)
                self.file = file

            def start(self) -> None:
                nonlocal most
                super().start()
                running.append(self.file)
                most = max(most, len(running))

            def stop(self) -> None:
                super().stop()
                if self.file in running:
                    running.remove(self.file)

        monkeypatch.setattr("bench.local.servers.EmbeddedServer", Noted)
        fields = {"provider": "p", "name": "S", "family": "s", "weights": "open", "licence": "x"}
        options = {"file": str(real.path), "sha256": real.sha256}
        models = {
            "small": Model.model_validate({**fields, **options, "model": "small", "context": 512}),
            "large": Model.model_validate({**fields, **options, "model": "large", "context": 1024}),
        }
        known = Catalog(
            tmp_path / "models.toml", {"p": Provider(base_url="embedded", max_concurrent=1)}, models
        )

        async def said(chat: Chat, model: str) -> bool:
            await chat.keep_local([model])
            message = Message(role="user", content="Hello")
            request = ChatRequest(model, "player", (message,), {"max_tokens": 2, "temperature": 0})
            return (await chat.ask(request)).cached

        async def main() -> list[bool]:
            async with open_chat(known, cache=tmp_path / "cache") as chat:
                return [await said(chat, name) for name in ("small", "large", "small")]

        assert asyncio.run(main()) == [False, False, True]
        assert running == []
        assert most == 1

    @pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads Linux's /proc")
    def test_serve_local_serves_a_file_until_a_signal(self, real: LocalFile) -> None:
        code = "from bench.cli.local import serve_local; serve_local()"
        with python(
            f"import sys; sys.argv = ['x', '--file', {str(real.path)!r}, '--slots', '1']; {code}"
        ) as parent:
            url = line_of(parent.stdout)
            assert '"model": "real"' in line_of(parent.stdout)
            (child,) = children_of(parent.pid)
            assert ask(url, "/models")["data"][0]["id"] == "real"
            os.killpg(parent.pid, signal.SIGTERM)
            parent.wait(timeout=30)
        assert gone_within(child, 3)
