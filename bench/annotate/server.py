"""A running Label Studio, through label-studio-sdk: a study goes there, and its annotations come back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bench.annotate.label_studio import Project
from bench.errors import UserError

TOKEN = "LABEL_STUDIO_API_KEY"
"""Environment variable that holds the access token, unless another is named."""

BATCH = 50
"""Tasks sent in one request."""

SECONDS = 120.0
"""Time limit of a request."""


@dataclass(frozen=True)
class Pushed:
    """What a push did."""

    project: int
    new: int
    """Tasks sent."""
    there: int
    """Tasks that the project had already."""


class LabelStudioServer:
    """One server and the right to use it."""

    def __init__(self, url: str, token: str) -> None:
        """Raises UserError where the SDK is not installed or ``url`` is no address. Nothing is sent yet."""
        try:
            from label_studio_sdk import LabelStudio
        except ImportError as error:
            raise UserError(
                f"label-studio-sdk cannot be used: {error}",
                hint="Install it by `make annotate`; or go without: `bench annotate export` and `import`.",
            ) from None
        self.url = _checked(url)
        self._client: Any = LabelStudio(base_url=self.url, api_key=token, timeout=SECONDS)

    def push(self, project: Project, *, annotators: int) -> Pushed:
        """Make the project, or complete the one that has its title; no task is sent twice. Raises UserError.

        ``annotators``: how many people are to rate each task.
        """
        with self._told():
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
        """All tasks of a project, found by its title or number, as its JSON export. Raises UserError."""
        with self._told():
            if number is None:
                known = self._projects(title)
                if len(known) != 1:
                    raise self._ambiguous(title, known)
                number = known[0]
            return self._client.projects.exports.as_json(number, timeout=600)

    def _create(self, project: Project, annotators: int) -> int:
        made = self._client.projects.create(
            title=project.title,
            label_config=project.interface,
            expert_instruction=project.instruction,
            show_instruction=True,
            show_skip_button=True,
            enable_empty_annotation=False,
            maximum_annotations=annotators,
        )
        return int(made.id)

    def _projects(self, title: str) -> list[int]:
        return [int(found.id) for found in self._client.projects.list() if found.title == title]

    def _items(self, number: int) -> set[str]:
        """Items that the tasks of a project name already."""
        found = (task.data for task in self._client.tasks.list(project=number, fields="all"))
        return {data["item"] for data in found if isinstance(data, dict) and "item" in data}

    def _ambiguous(self, title: str, known: list[int]) -> UserError:
        numbers = ", ".join(map(str, known))
        return UserError(
            f"has {f'projects {numbers}' if known else 'no project'} titled {title!r}",
            where=self.url,
            hint="Name one by --project." if known else "Send the study there by `bench annotate push`.",
        )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what goes wrong between here and the server into a message without the token."""
        import httpx
        from label_studio_sdk.core.api_error import ApiError

        try:
            yield
        except ApiError as error:
            raise refused(error.status_code, error.body, self.url) from None
        except httpx.HTTPError as error:
            raise UserError(
                f"does not answer: {type(error).__name__}",
                where=self.url,
                hint="Is Label Studio running there, and reachable from this machine?",
            ) from None
        except ValueError:
            raise UserError("answers what Label Studio would not", where=self.url) from None


def _checked(url: str) -> str:
    """The address without a slash at its end. Raises UserError where it is none."""
    try:
        parts = urlsplit(url)
        sound = (
            parts.scheme in ("http", "https") and parts.hostname and not (parts.username or parts.password)
        )
    except ValueError:
        sound = False
    if not sound:
        raise UserError(
            "is no address of a server",
            where=url.rpartition("@")[2],
            hint="As http://localhost:8080, without a name or password in it.",
        )
    return url.rstrip("/")


def refused(status: int | None, body: object, url: str) -> UserError:
    """What to tell of an answer that is no success."""
    if status in (401, 403):
        return UserError(
            f"refuses the token (status {status})",
            where=url,
            hint="Take a new access token from the account's settings. A legacy token works only where the"
            " organisation allows it.",
        )
    if status == 404:
        return UserError(
            "has no such project or is no Label Studio", where=url, hint="Check --project, --url."
        )
    detail = body.get("detail") if isinstance(body, dict) else None
    text = "".join(c for c in str(detail)[:200] if c.isprintable()) if detail else ""
    return UserError(f"answers with status {status}{': ' if text else ''}{text}", where=url)
