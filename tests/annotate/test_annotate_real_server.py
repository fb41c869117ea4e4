"""A study goes to a real Label Studio, people annotate it there, and nothing is lost on the way back.

`make label-studio` installs Label Studio into an environment of its own and runs this; else it is skipped.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench.annotate.label_studio import project_title
from bench.annotate.server import LabelStudioServer
from bench.cli import cli
from bench.errors import UserError
from bench.results.studies import AnnotatorFile, StudyFile, load_study, read_annotators
from tests.annotate.label_studio_server import OWNER, PASSWORD, PROGRAM, TOKEN, Person, RunningServer, running
from tests.annotate.studies import CRITERIA, HOSTILE, PROMPTS, choice, make_study
from tests.site.browsing import CHROMIUM, FLAGS

pytestmark = [
    pytest.mark.skipif(not PROGRAM, reason="needs Label Studio: `make label-studio` installs and runs it"),
    pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1"]),
]

EMAILS = ("anna.k@example.org", "boris.l@example.org", "clara.m@example.org")


def answers(scores: dict[str, int], refusal: str | None = "no", comment: str = "") -> list[dict[str, Any]]:
    """An annotation's result as the labelling page sends it."""
    result = [choice(name, str(score)) for name, score in scores.items()]
    result += [choice("refusal", refusal)] if refusal else []
    if comment:
        result.append({**choice("comment", ""), "type": "textarea", "value": {"text": [comment]}})
    return result


def three(a: int, b: int, c: int) -> dict[str, int]:
    return dict(zip(CRITERIA, (a, b, c), strict=True))


class Place:
    """A results tree with a study, and the commands against a server."""

    def __init__(self, root: Path, server: RunningServer) -> None:
        self.root = root
        self.results = root / "results"
        self.server = server
        self.study: StudyFile = make_study(self.results, hostile=True)

    def bench(self, *arguments: str) -> str:
        """Output of a `bench annotate` command that must succeed."""
        places = ["--results", str(self.results), "--prompts", str(PROMPTS)]
        if arguments[0] in ("push", "pull"):
            places += ["--url", self.server.url, "--token-env", "THE_TOKEN"]
        ended = CliRunner().invoke(
            cli, ["annotate", *arguments, "--study", "first", *places], env={"THE_TOKEN": TOKEN}
        )
        assert ended.exception is None, (ended.output, ended.exception)
        return ended.output

    def said(self) -> dict[str, AnnotatorFile]:
        return read_annotators(self.results, self.study)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("label-studio")) as started:
        yield started


@pytest.fixture(scope="module")
def place(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("study"), server)


@pytest.fixture(scope="module")
def people(server: RunningServer) -> tuple[Person, ...]:
    return tuple(server.join(email) for email in EMAILS)


@pytest.fixture(scope="module")
def annotated(place: Place, people: tuple[Person, ...]) -> int:
    """The project's number, after three people have been at it."""
    assert "6 tasks sent, 0 already there" in place.bench("push", "--annotators", "3")
    assert "0 tasks sent, 6 already there" in place.bench("push", "--annotators", "3")
    anna, boris, clara = (place.server.as_person(person) for person in people)
    (project,) = [found for found in anna.projects.list() if found.title == project_title("first")]
    tasks = {task.data["item"]: task.id for task in anna.tasks.list(project=project.id, fields="all")}
    items = [item.item for item in place.study.items]
    assert set(tasks) == set(items)
    assert project.maximum_annotations == 3
    assert project.show_instruction
    for n, item in enumerate(reversed(items)):  # in an order that is not the study's
        anna.annotations.create(
            id=tasks[item], result=answers(three(1 + n % 5, 5, 4), comment="да & <b>"), lead_time=7.25
        )
    for item in items[1:]:
        boris.annotations.create(id=tasks[item], result=answers(three(2, 3, 4), "yes"), lead_time=3.0)
    boris.annotations.create(
        id=tasks[items[0]], result=answers({"in_character": 2, "fluency": 5}, refusal=None)
    )
    boris.annotations.create(id=tasks[items[1]], result=answers(three(5, 5, 5)))  # once more
    first = clara.annotations.create(id=tasks[items[0]], result=answers(three(1, 1, 1)))
    clara.annotations.update(id=first.id, result=answers(three(4, 4, 4)))  # thought better of it
    clara.annotations.create(id=tasks[items[1]], result=answers({"fluency": 2}, None), was_cancelled=True)
    clara.annotations.create(id=tasks[items[2]], result=[], was_cancelled=True)
    return int(project.id)


def test_all_that_three_people_said_comes_back_by_pull(place: Place, annotated: int) -> None:
    output = place.bench("pull")
    assert "16 annotations of 6 tasks" in output
    assert "15 new, 0 replaced" in output
    assert "1 duplicate, 0 problems" in output
    assert "annotator-2 annotated item" in output
    items = [item.item for item in place.study.items]
    anna, boris, clara = place.said().values()
    assert [said.item for said in anna.annotations] == items
    for n, said in enumerate(reversed(anna.annotations)):
        assert said.scores == three(1 + n % 5, 5, 4)
        assert (said.is_refusal, said.comment, said.seconds) == (False, "да & <b>", 7.2)
    assert boris.annotations[0].scores == {"in_character": 2, "entertaining": None, "fluency": 5}
    assert boris.annotations[0].is_refusal is None
    assert boris.annotations[1].scores == three(5, 5, 5)
    assert [said.scores for said in boris.annotations[2:]] == [three(2, 3, 4)] * 4
    assert all(said.is_refusal for said in boris.annotations[2:])
    assert [said.cancelled for said in clara.annotations] == [False, True, True]
    assert clara.annotations[0].scores == three(4, 4, 4)
    assert clara.annotations[1].scores == {"in_character": None, "entertaining": None, "fluency": 2}
    table = [line.split() for line in output.splitlines()[-3:]]
    assert table == [
        ["annotator-1", "6", "0", "0", "0"],
        ["annotator-2", "5", "1", "0", "0"],
        ["annotator-3", "1", "0", "2", "3"],
    ]
    ratings = load_study(place.results, "first").ratings
    assert len(ratings) == 3 * (6 + 6 + 1)
    assert ratings["score"].isna().sum() == 1


def test_a_second_pull_changes_nothing(place: Place, annotated: int) -> None:
    place.bench("pull")
    before = {path: path.read_bytes() for path in place.results.rglob("*.json")}
    assert "0 new, 0 replaced, 15 unchanged" in place.bench("pull", "--project", str(annotated))
    assert {path: path.read_bytes() for path in place.results.rglob("*.json")} == before


def test_annotations_have_marks_by_which_another_server_is_recognised(place: Place, annotated: int) -> None:
    place.bench("pull")
    private = place.results / "human" / "first" / ".annotators.json"
    (marks,) = json.loads(private.read_bytes())["marks"].values()
    assert len(marks) == 16
    assert all(uuid.UUID(unique_id) and created for unique_id, created in marks.values())


@pytest.mark.parametrize("form", ["JSON", "JSON_MIN"])
def test_a_downloaded_export_says_the_same_as_the_pull(
    place: Place, people: tuple[Person, ...], annotated: int, form: str
) -> None:
    """JSON-MIN leaves skipped tasks out; all else it has."""
    place.bench("pull")
    pulled = {(name, said.item): said for name, file in place.said().items() for said in file.annotations}
    exported = place.server.as_person(people[0]).projects.exports.as_binary(annotated, export_type=form)
    path = place.root / f"{form}.json"
    path.write_bytes(exported)
    other = Place(place.root / form, place.server)
    other.bench("import", str(path))
    found = {(name, said.item): said for name, file in other.said().items() for said in file.annotations}
    if form == "JSON_MIN":
        pulled = {key: said for key, said in pulled.items() if not said.cancelled}
    assert found == pulled


def test_what_goes_wrong_is_said(place: Place, people: tuple[Person, ...]) -> None:
    there = LabelStudioServer(place.server.url, TOKEN)
    for _ in range(2):
        place.server.as_person(people[0]).projects.create(title=project_title("twice"))
    with pytest.raises(UserError, match=r"has projects \d+, \d+ titled 'Dramaturg: twice'.*--project"):
        there.pull(project_title("twice"))
    with pytest.raises(UserError, match=r"has no project titled 'Dramaturg: none'.*annotate push"):
        there.pull(project_title("none"))
    with pytest.raises(UserError, match="no such project"):
        there.pull(project_title("none"), 99_999)
    with pytest.raises(UserError, match="rejects the token") as caught:
        LabelStudioServer(place.server.url, "not-a-token").pull(project_title("first"))
    assert "not-a-token" not in caught.value.line()
    with pytest.raises(UserError, match="no response: ConnectError"):
        LabelStudioServer("http://127.0.0.1:1", TOKEN).pull(project_title("first"))


def test_no_address_or_name_of_a_person_is_written(place: Place, annotated: int) -> None:
    place.bench("pull")
    for path in place.results.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            for secret in (*EMAILS, OWNER, "anna", "boris", "clara", TOKEN):
                assert secret not in text, path


def test_a_task_names_neither_player_nor_judge(
    place: Place, people: tuple[Person, ...], annotated: int
) -> None:
    for found in place.server.as_person(people[0]).tasks.list(project=annotated, fields="all"):
        text = json.dumps(found.data)
        assert "player-0" not in text
        assert "judge-" not in text


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no Chromium at {CHROMIUM}")
def test_the_labelling_page_is_read_and_answered_by_keyboard_and_runs_nothing(
    place: Place, annotated: int, tmp_path: Path
) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS.split())
        page = browser.new_page(viewport={"width": 1500, "height": 1000})
        page.set_default_timeout(60_000)
        page.route(
            lambda url: not url.startswith((place.server.url, "data:", "blob:")), lambda route: route.abort()
        )
        page.goto(f"{place.server.url}/user/login/")
        page.fill("input[name=email]", OWNER)
        page.fill("input[name=password]", PASSWORD)
        page.click("button[type=submit]")
        page.wait_for_load_state("networkidle")
        page.goto(f"{place.server.url}/projects/{annotated}/data?labeling=1")
        page.get_by_text("Rating role play").wait_for()  # the guideline comes first
        page.keyboard.press("Escape")
        page.get_by_text("Rating role play").wait_for(state="hidden")
        chat = page.locator(".lsf-htx-richtext").nth(1)
        chat.wait_for()
        shown = HOSTILE.replace("\x00", "\ufffd").replace("\x1b", "\ufffd")
        assert chat.inner_text().count(shown) == 2
        assert page.locator(".lsf-htx-richtext :is(script, img, svg, iframe, style, i, a)").count() == 0
        page.keyboard.press("2")
        page.keyboard.press("t")
        page.keyboard.press("d")
        page.keyboard.press("x")
        page.locator("textarea").click()
        page.keyboard.type("typed 1 q a z, not added by hand")
        page.screenshot(path=tmp_path / "labelling.png")
        with page.expect_response(lambda answer: "/annotations" in answer.url and answer.ok):
            page.get_by_text("Submit", exact=True).click()
        assert page.evaluate("() => window.TAKEN") is None
        browser.close()
    place.bench("pull")
    all_said = [said for file in place.said().values() for said in file.annotations]
    (said,) = [said for said in all_said if said.comment.startswith("typed")]
    assert said.comment == "typed 1 q a z, not added by hand"
    assert (said.scores, said.is_refusal) == (three(2, 5, 3), True)
