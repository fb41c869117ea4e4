"""A real Label Studio on loopback, and people who annotate there."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = os.environ.get("DRAMATURG_LABEL_STUDIO", "")
"""The label-studio program to start: `make label-studio` sets it."""

START_SECONDS = 900.0
TOKEN = "0123456789abcdef0123456789abcdef01234567"
OWNER = "owner@example.org"
PASSWORD = "correct-horse-7"


@dataclass(frozen=True)
class Person:
    """Someone with an account."""

    email: str
    number: int
    token: str


@dataclass(frozen=True)
class RunningServer:
    """Where it runs; its owner has OWNER, PASSWORD and TOKEN."""

    url: str

    def join(self, email: str) -> Person:
        """Sign up by the organisation's invitation, as an annotator does in a browser."""
        import httpx

        with httpx.Client(base_url=self.url, timeout=60, follow_redirects=True) as owner:
            owner.headers["Authorization"] = f"Token {TOKEN}"
            invitation = owner.get("/api/invite").raise_for_status().json()["invite_url"]
        with httpx.Client(base_url=self.url, timeout=60, follow_redirects=True) as client:
            page = client.get(invitation).raise_for_status().text
            hidden = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
            assert hidden is not None
            form = {"csrfmiddlewaretoken": hidden[1], "email": email, "password": PASSWORD}
            answer = client.post(invitation, data={**form, "allow_newsletters": "false"})
            answer.raise_for_status()
            who = client.get("/api/current-user/whoami").raise_for_status().json()
            token = client.get("/api/current-user/token").raise_for_status().json()["token"]
        return Person(email, who["id"], token)

    def as_person(self, person: Person) -> Any:
        """The SDK's client with that person's token."""
        from label_studio_sdk import LabelStudio

        return LabelStudio(base_url=self.url, api_key=person.token)


@contextmanager
def running(folder: Path) -> Iterator[RunningServer]:
    """Start Label Studio with its data in ``folder``; stop it, by its process id, at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data"),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }
    command = [PROGRAM, "start", "--internal-host", "127.0.0.1", "--port", str(port), "--no-browser"]
    command += ["--username", OWNER, "--password", PASSWORD, "--user-token", TOKEN]
    url = f"http://127.0.0.1:{port}"
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            command, env=environ, cwd=folder, stdout=log, stderr=log, start_new_session=True
        )
        try:
            _wait(url, process, folder / "log.txt")
            yield RunningServer(url)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(timeout=30)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until the server answers as healthy."""
    import httpx

    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]
        try:
            if httpx.get(f"{url}/health", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"not up after {START_SECONDS} s: {log.read_text(errors='replace')[-3000:]}")
