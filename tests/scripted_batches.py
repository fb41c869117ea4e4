"""The scripted server with ``/files`` and ``/batches``; a batch moves one step on each time it is asked for.

``answer`` decides every line as it does every call. ``ends`` says how the next batches end, in order, as
``(status, lines answered)``; without it they complete. ``troubles`` are answers, or ways to break off, for
the next requests to these paths, by ``METHOD /path``; with way ``reset_after`` the request has its effect.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.scripted_server import Answer, Answerer, Json, ScriptedServer, Seen, error, plausible

STEPS = ("validating", "in_progress", "finalizing")


class BatchServer(ScriptedServer):
    """A server of chat completions, files and batches; all it was sent stays in its attributes."""

    def __init__(self, answer: Answerer = plausible, **options: Any) -> None:
        super().__init__(answer, **options)
        self.files: dict[str, bytes] = {}
        self.names: dict[str, str] = {}
        self.batches: dict[str, Json] = {}
        self.ends: list[tuple[str, int]] = []
        self.troubles: dict[str, list[Answer]] = {}
        self.asked: list[str] = []
        self.rewrite: Callable[[list[str]], list[str]] = lambda lines: lines
        """Changes the lines of every result file."""
        self.batch_lines: list[Json] = []
        """Every line of every batch that was created: what is charged."""

    def elsewhere(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        place = path.split("?")[0].removeprefix("/v1")
        kind = f"{method} {re.sub(r'/(file|batch)-[0-9]+', '/ID', place)}"
        self.asked.append(kind)
        waiting = self.troubles.get(kind)
        trouble = waiting.pop(0) if waiting else None
        if trouble is None:
            return self._served(kind, place.split("/"), headers, raw)
        if trouble.way == "reset_after":
            self._served(kind, place.split("/"), headers, raw)
            return Answer(way="close_before")
        return trouble

    def _served(self, kind: str, parts: list[str], headers: Mapping[str, str], raw: bytes) -> Answer:
        if kind == "POST /files":
            return self._upload(headers, raw)
        if kind == "GET /files/ID/content" and parts[2] in self.files:
            return Answer(self.files[parts[2]], headers={"content-type": "application/octet-stream"})
        if kind == "POST /batches":
            return self._create(json.loads(raw))
        if kind == "GET /batches":
            newest = list(reversed(list(self.batches.values())))
            return Answer({"object": "list", "data": newest, "has_more": False})
        if kind == "GET /batches/ID" and parts[2] in self.batches:
            self._advance(self.batches[parts[2]])
            return Answer(self.batches[parts[2]])
        return error(404, f"no such thing: {kind}")

    def _upload(self, headers: Mapping[str, str], raw: bytes) -> Answer:
        mark = re.search(r"boundary=([^;]+)", headers["content-type"])
        assert mark is not None
        parts = raw.split(b"--" + mark[1].strip('"').encode())
        fields = {}
        for part in parts[1:-1]:
            head, _, data = part.partition(b"\r\n\r\n")
            name = re.search(rb'name="([^"]+)"', head)
            assert name is not None
            fields[name[1].decode()] = data[:-2]
            if named := re.search(rb'filename="([^"]+)"', head):
                filename = named[1].decode()
        assert fields["purpose"] == b"batch"
        made = self._keep(fields["file"])
        self.names[made] = filename
        return Answer(
            {
                "id": made,
                "object": "file",
                "bytes": len(fields["file"]),
                "created_at": 1_700_000_000,
                "filename": filename,
                "purpose": "batch",
                "status": "processed",
            }
        )

    def _keep(self, data: bytes) -> str:
        made = f"file-{len(self.files) + 1}"
        self.files[made] = data
        return made

    def _create(self, body: Json) -> Answer:
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        self.batch_lines += lines
        made: Json = {
            "id": f"batch-{len(self.batches) + 1}",
            "object": "batch",
            "endpoint": body["endpoint"],
            "input_file_id": body["input_file_id"],
            "completion_window": body["completion_window"],
            "status": STEPS[0],
            "created_at": 4_000_000_000,
            "metadata": body.get("metadata"),
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }
        self.batches[made["id"]] = made
        return Answer(made)

    def _advance(self, batch: Json) -> None:
        if batch["status"] not in STEPS:
            return
        step = STEPS.index(batch["status"]) + 1
        if step < len(STEPS):
            batch["status"] = STEPS[step]
            return
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        status, count = self.ends.pop(0) if self.ends else ("completed", len(lines))
        batch["status"] = status
        if status == "failed":
            batch["errors"] = {
                "object": "list",
                "data": [{"code": "token_limit", "message": "too many tokens"}],
            }
            return
        good: list[Json] = []
        bad: list[Json] = []
        for number, line in enumerate(lines):
            if number >= count:
                code = {"expired": "batch_expired", "cancelled": "batch_cancelled"}.get(status, "lost")
                bad.append(_result(line, None, {"code": code, "message": "not run in time"}))
                continue
            answer = self._line(line)
            response = {"status_code": answer.status, "request_id": "r", "body": json.loads(answer.payload())}
            (good if answer.status == 200 else bad).append(_result(line, response, None))
        batch["request_counts"] = {"total": len(lines), "completed": len(good), "failed": len(bad)}
        for name, found in (("output_file_id", good), ("error_file_id", bad)):
            if found:
                lines_out = self.rewrite([json.dumps(entry) for entry in reversed(found)])
                batch[name] = self._keep("".join(f"{line}\n" for line in lines_out).encode())

    def _line(self, line: Json) -> Answer:
        """A line's answer: that of the call with these bytes as its body."""
        raw = json.dumps(line["body"], ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
        key = hashlib.sha256(raw).digest()
        seen = Seen(0, "batch", {}, raw, self._repeats[key])
        self._repeats[key] += 1
        return self.answer(seen)


def _result(line: Json, response: Json | None, fault: Json | None) -> Json:
    return {"id": "x", "custom_id": line["custom_id"], "response": response, "error": fault}
