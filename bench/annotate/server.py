"""Talk to a running Label Studio through label-studio-sdk: send a study there, and fetch its annotations."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.annotate.label_studio import Project
from bench.chat.secrets import Environment
from bench.errors import UserError
from bench.tables import printable

BATCH = 50
"""Tasks per request."""
SECONDS = 120.0
"""Time limit of a request."""
EXPORT_SECONDS = 600
"""Time limit of an export."""
UNEXPECTED = "unexpected response; is this Label Studio?"


@dataclass(frozen=True)
class Pushed:
    """What a push did."""

    project: int
    sent: int
    """Tasks sent."""
    known: int
    """Tasks that the project had already."""


class LabelStudioServer:
    """A Label Studio server and a token for it."""

    def __init__(self, url: str, token: str) -> None:
        """Sends nothing yet. Raises UserError if the SDK is not installed or ``url`` is not an address."""
        try:
            from label_studio_sdk import LabelStudio
        except ImportError as error:
            raise UserError(
                f"label-studio-sdk cannot be used: {error}",
                hint="Install it with `make annotate`, or use files: `bench annotate export` and `import`.",
            ) from None
        self.url = _checked(url)
        self._client: Any = LabelStudio(base_url=self.url, api_key=token, timeout=SECONDS)

    def push(self, project: Project, *, annotators: int) -> Pushed:
        """Create the project, or add missing tasks to the one with its title. Raises UserError.

        ``annotators``: how many people rate each task.
        """
        with self._user_errors():
            known = self._projects(project.title)
            if len(known) > 1:
                raise self._ambiguous(project.title, known)
            number = known[0] if known else self._create(project, annotators)
            have = self._items(number) if known else set()
            tasks = [task for task in project.tasks if task["data"]["item"] not in have]
            for start in range(0, len(tasks), BATCH):
                self._client.projects.import_tasks(id=number, request=tasks[start : start + BATCH])
        return Pushed(number, len(tasks), len(project.tasks) - len(tasks))

    def pull(self, title: str, number: int | None = None) -> Any:
        """The JSON export of a project, given by its number or else its title. Raises UserError."""
        with self._user_errors():
            if number is None:
                known = self._projects(title)
                if len(known) != 1:
                    raise self._ambiguous(title, known)
                number = known[0]
            return self._client.projects.exports.as_json(number, timeout=EXPORT_SECONDS)

    def _create(self, project: Project, annotators: int) -> int:
        created = self._client.projects.create(
            title=project.title,
            label_config=project.interface,
            expert_instruction=project.instruction,
            show_instruction=True,
            show_skip_button=True,
            enable_empty_annotation=False,
            maximum_annotations=annotators,
        )
        return int(created.id)

    def _projects(self, title: str) -> list[int]:
        projects = _each(self._client.projects.list())
        return [int(project.id) for project in projects if project.title == title]

    def _items(self, number: int) -> set[str]:
        """Items of the tasks that a project has already."""
        tasks = (task.data for task in _each(self._client.tasks.list(project=number, fields="all")))
        return {data["item"] for data in tasks if isinstance(data, dict) and "item" in data}

    def _ambiguous(self, title: str, known: list[int]) -> UserError:
        numbers = ", ".join(map(str, known))
        return UserError(
            f"has {f'projects {numbers}' if known else 'no project'} titled {title!r}",
            where=self.url,
            hint="Choose one with --project." if known else "Create it with `bench annotate push`.",
        )

    @contextmanager
    def _user_errors(self) -> Iterator[None]:
        """Turn errors of the SDK and the network into a UserError without the token."""
        import httpx
        from label_studio_sdk.core.api_error import ApiError

        try:
            yield
        except ApiError as error:
            if error.status_code == 200:  # its body is no JSON
                raise UserError(UNEXPECTED, where=self.url) from None
            raise refused(error.status_code, error.body, self.url) from None
        except httpx.HTTPError as error:
            raise UserError(
                f"no response: {type(error).__name__}",
                where=self.url,
                hint="Is Label Studio running there, and reachable from this machine?",
            ) from None
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):  # the SDK checks nothing
            raise UserError(UNEXPECTED, where=self.url) from None


def _each(listed: Iterable[Any]) -> Iterator[Any]:
    """The items of all pages. A server that sends the same page for ever ends it."""
    seen: set[int] = set()
    for item in listed:
        if item.id in seen:
            return
        seen.add(item.id)
        yield item


def _checked(url: str) -> str:
    """The address without a slash at its end. Raises UserError, without a password in ``url``."""
    try:
        parts = urlsplit(url)
        valid = (
            parts.scheme in ("http", "https") and parts.hostname and not (parts.username or parts.password)
        )
    except ValueError:
        valid = False
    if not valid:
        raise UserError(
            "not a server address",
            where=url.rpartition("@")[2],
            hint="Use an address such as http://localhost:8080, without a user name or password.",
        )
    return url.rstrip("/")


def refused(status: int | None, body: object, url: str) -> UserError:
    """The error for a response that is not a success."""
    if status in (401, 403):
        return UserError(
            f"rejects the token (status {status})",
            where=url,
            hint="Create a new access token in the account's settings. A legacy token works only if the"
            " organisation allows it.",
        )
    if status == 404:
        return UserError("no such project, or not Label Studio", where=url, hint="Check --project and --url.")
    detail = body.get("detail") if isinstance(body, dict) else None
    text = f": {printable(str(detail)[:200])}" if detail else ""
    return UserError(f"answers with status {status}{text}", where=url)


def access_token(name: str) -> str:
    """The access token in the variable ``name``, of the environment or .env. Raises UserError without one."""
    token = Environment(os.environ, Path(".env")).get(name)
    if token is None:
        raise UserError(
            f"the access token of Label Studio is missing: {name} is not set",
            hint="Set it in the environment or .env. Label Studio shows it in the account settings.",
        )
    return token
