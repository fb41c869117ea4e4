"""Pages of card probes: pass rates by kind on the board; dialogue, pattern and verdict of each probe."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from bench.catalog import load_catalog
from bench.chat.requests import ChatRequest, Reply
from bench.protocols.card_probes import CardProbes, Probe
from bench.records import Cell
from bench.results import ResultsTree
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from bench.scores.probes import wilson
from bench.site.build import build_site
from bench.site.probes import probe_view
from bench.suites import load_suite
from tests.site.site_html import Element, article, dead_links, links, read, repeated_ids
from tests.tiny import ROOT, FakeChat, ok

PLAYERS = {"qwen2.5-coder-1.5b": 3, "smollm2-135m": 2}
"""Player, and how many of four probes it answers right; the next it answers wrongly, or evades."""
EVASIVE = "Well, <b>well</b>."
FOLDER = "boards/card-probes-quick/en"


def protocol() -> CardProbes:
    suite = load_suite(ROOT / "prompts", "card-probes-quick")
    return CardProbes(suite, "en", load_catalog(ROOT / "models.toml"))


def expected(number: int, right: int) -> str:
    """The verdict on the probe with this number of a player with so many right answers in four."""
    return "passed" if number % 4 < right else "failed" if number % 4 == right else "unclear"


def answer_to(probe: Probe, verdict: str) -> str:
    return {"passed": probe.right[0], "failed": probe.wrong[0], "unclear": EVASIVE}[verdict]


@pytest.fixture(scope="module")
def cells() -> dict[str, list[tuple[Cell, str]]]:
    """The cells of each player in order, with the verdicts that their scripted answers deserve."""
    made = protocol()
    return {
        player: [
            (cell, expected(n, right) if made.item(cell).kind == "fact" else "passed")
            for n, cell in enumerate(made.cells(player))
        ]
        for player, right in PLAYERS.items()
    }


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, cells: dict[str, list[tuple[Cell, str]]]) -> ResultsTree:
    made = protocol()
    tree = ResultsTree(tmp_path_factory.mktemp("probes") / "results")
    for player in PLAYERS:
        replies = {}
        for cell, verdict in cells[player]:
            *before, last = made.item(cell).messages
            replies[cell.character, last] = answer_to(made.item(cell), verdict)
            replies |= {(cell.character, message): "Yes." for message in before}

        async def said(request: ChatRequest, replies: dict[tuple[str, str], str] = replies) -> Reply:
            card = request.messages[0].content
            name = "sherlock-holmes" if "Holmes" in card else "mags-the-raccoon"
            return ok(replies[name, request.messages[-1].content])

        plan = make_plan(made, tree, [player], made.suite.judges)
        asyncio.run(run_plan(made, plan, tree, FakeChat(said).ask))
    return tree


@pytest.fixture(scope="module")
def site(tree: ResultsTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("probes-site") / "site"
    build_site(tree.root, root, jobs=1)
    return root


def rows_of(page: Element) -> dict[str, dict[str, str]]:
    """The first table of pass rates of a page: model, then heading, then cell."""
    head, *body = page.having("rc-probes")[0].tagged("tr")
    heads = [cell.text.strip() for cell in head.children if isinstance(cell, Element)]
    rows = [[cell.text.strip() for cell in row.children if isinstance(cell, Element)] for row in body]
    return {row[0]: dict(zip(heads, row, strict=True)) for row in rows}


NAMES = {"qwen2.5-coder-1.5b": "Qwen2.5 Coder 1.5B", "smollm2-135m": "SmolLM2 135M"}


def test_the_board_shows_the_scripted_rates_by_kind_with_intervals(
    site: Path, cells: dict[str, list[tuple[Cell, str]]]
) -> None:
    made, shown = protocol(), rows_of(article(read(site / FOLDER / "index.html")))
    for player, verdicts in cells.items():
        row = shown[NAMES[player]]
        counts = {name: sum(v == name for _, v in verdicts) for name in ("passed", "failed", "unclear")}
        assert {name: row[name.capitalize()] for name in counts} == {k: str(v) for k, v in counts.items()}
        decided = counts["passed"] + counts["failed"]
        interval = wilson(counts["passed"], decided)
        assert interval is not None
        assert row["Pass rate"] == f"{counts['passed'] / decided:.2f} {interval[0]:.2f} to {interval[1]:.2f}"
        facts = [verdict for cell, verdict in verdicts if made.item(cell).kind == "fact"]
        passed, failed = facts.count("passed"), facts.count("failed")
        assert row["Fact"].startswith(f"{passed / (passed + failed):.2f} ")
        assert row["Passed of all"] == f"{counts['passed'] / len(verdicts):.2f}"


def test_a_rule_that_failed_an_answer_is_named() -> None:
    results = ResultsTree(ROOT / "results")
    talks = results.conversations("card-probes", "en", "qwen2.5-coder-1.5b")
    talk = next(one for one in talks if one.name == "baba-yaga.are-you-real")
    judgement = results.judgement(talk, "patterns")
    assert judgement is not None
    view = probe_view(talk, [judgement])
    assert view is not None
    assert (view.verdict, view.by) == ("failed", "rule")
    assert view.reason == "the answer says that the speaker is a program or made up"


def test_a_conversation_shows_dialogue_answer_verdict_and_the_pattern_that_decided(
    site: Path, tree: ResultsTree, cells: dict[str, list[tuple[Cell, str]]]
) -> None:
    for cell, verdict in cells["smollm2-135m"]:
        name = f"{cell.character}.{cell.situation}.html"
        page = article(read(site / FOLDER / "players/smollm2-135m" / name))
        conversation = tree.conversation(cell)
        assert conversation is not None
        judgement = tree.judgement(conversation, "patterns")
        assert judgement is not None
        for message in conversation.messages:
            assert message.content in page.text
        after = page.text[page.text.index(conversation.messages[-1].content) :]
        assert f"The last answer: {verdict}" in after
        if verdict == "unclear":
            assert "No pattern decided" in after
        else:
            assert str((judgement.turns[0].detail or {})["pattern"]) in after
        assert "real answers" not in page.text


def test_a_player_lists_its_probes_by_verdict(site: Path, cells: dict[str, list[tuple[Cell, str]]]) -> None:
    page = article(read(site / FOLDER / "players/smollm2-135m/index.html"))
    table = page.tagged("table")[1]
    head, *rows = table.tagged("tr")
    verdicts = [cell.text.strip().lower() for cell in head.tagged("th")[1:]]
    shown = [
        verdict
        for row in rows
        for verdict, cell in zip(verdicts, row.tagged("td"), strict=True)
        for _ in links(cell)
    ]
    assert sorted(shown) == sorted(verdict for _, verdict in cells["smollm2-135m"])
    assert len(rows) == len({cell.character for cell, _ in cells["smollm2-135m"]})


def test_the_method_page_shows_the_boards_smallest_model_first(site: Path) -> None:
    page = article(read(site / "card-probes.html"))
    assert list(rows_of(page)) == ["SmolLM2 135M", "Qwen2.5 Coder 1.5B"]
    board = rows_of(article(read(site / FOLDER / "index.html")))
    for name, row in rows_of(page).items():
        assert row == {head: board[name][head] for head in row}


def test_no_page_of_a_probe_board_speaks_of_scores_judges_or_scenes(site: Path) -> None:
    words = re.compile(r"\b(?:scores?|judges?|scenes?|refusals?|robust)\b", re.IGNORECASE)
    pages = [
        *(site / FOLDER).glob("*.html"),
        *(site / FOLDER).glob("*/*.html"),
        *(site / FOLDER).rglob("index.html"),
    ]
    pages.append(next((site / FOLDER / "players/smollm2-135m").glob("*.*.html")))
    for page in pages:
        if page.name != "changes-of-board.html":
            text = article(read(page)).text.replace("Measures without a judge", "")
            assert words.findall(text) == [], page
    assert {page.name for page in (site / FOLDER).glob("*.html")} == {
        "index.html",
        "scenes.html",
        "changes-of-board.html",
        "embed.html",
    }


def test_the_list_of_probes_shows_every_verdict(site: Path, cells: dict[str, list[tuple[Cell, str]]]) -> None:
    first, *tables = article(read(site / FOLDER / "scenes.html")).tagged("table")
    names = [cell.text.strip() for cell in first.tagged("tr")[0].tagged("th")][2:]
    rows = [row for table in tables for row in table.tagged("tr")[1:]]
    shown = [[cell.text.strip() for cell in row.tagged("td")][1:] for row in rows]
    for player, verdicts in cells.items():
        column = [row[names.index(NAMES[player])] for row in shown]
        assert sorted(column) == sorted(verdict for _, verdict in verdicts)


def test_the_list_of_probes_has_a_section_for_each_character(
    site: Path, cells: dict[str, list[tuple[Cell, str]]]
) -> None:
    page = article(read(site / FOLDER / "scenes.html"))
    first, *tables = page.tagged("table")
    head, *rows = first.tagged("tr")
    names = [cell.text.strip() for cell in head.tagged("th")][2:]
    ids = [heading.attributes["id"] for heading in page.tagged("h2")]
    assert [row.tagged("a")[0].attributes["href"] for row in rows] == [f"#{name}" for name in ids]
    assert len(rows) == len(tables) > 1
    for row, table, name in zip(rows, tables, ids, strict=True):
        numbers = [cell.text.strip() for cell in row.tagged("td")]
        assert int(numbers[0]) == len(table.tagged("tr")) - 1
        for player, verdicts in cells.items():
            own = [said for cell, said in verdicts if f"character-{cell.character}" == name]
            clear = [said == "passed" for said in own if said != "unclear"]
            expected = f"{sum(clear) / len(clear):.2f}" if clear else "–"
            assert numbers[1:][names.index(NAMES[player])] == expected


def test_links_and_ids_are_sound(site: Path) -> None:
    assert dead_links(site) == []
    for path in (site / FOLDER).rglob("*.html"):
        assert repeated_ids(read(path)) == []
