"""Hostile text is shown, not run: checked on the bytes of the pages."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from bench.errors import RecordError
from bench.results import ResultsTree
from bench.site.build import build_site
from bench.slugs import slug
from tests.site.hostile import BOOM, JUDGES, PLAYERS, TEXTS, hostile_tree, shown
from tests.site.site_html import Element, article, dead_links, links, read, repeated_ids

TAGS = frozenset(
    re.findall(
        r"\S+",
        """
article nav ol ul li a bdi h1 h2 h3 h4 p strong small b sup span div section details summary table
caption thead tbody tr th td dl dt dd code svg path circle text title desc figure figcaption em br
pre fieldset legend form label select option input button script noscript g rect img defs use clippath wbr
""",
    )
)
ATTRIBUTES = frozenset(
    re.findall(
        r"\S+",
        """
class id href aria-label aria-labelledby aria-current aria-hidden role rel title tabindex dir lang
scope data-cp data-v data-sort data-rc-sortable download viewbox width height focusable d cx cy r x
y aria-sort data-key data-rc-board data-rc-controls data-rc-data data-rc-compare data-rc-add data-rc-said
data-rc-result data-rc-judges data-rc-own data-rc-yours data-rc-command data-rc-matrix data-d checked
min max step inputmode hidden name value type maxlength autocomplete placeholder src defer
alt target open data-rc-scoring xmlns transform fill fill-opacity stroke stroke-width stroke-opacity
stroke-linecap stroke-linejoin stroke-dasharray stroke-dashoffset opacity font-size font-weight text-anchor
clip-path
""",
    )
)


@pytest.fixture(scope="module")
def site(hostile_root: Path) -> Path:
    return hostile_root / "deep" / "er" / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Element]:
    return {path.relative_to(site).as_posix(): read(path) for path in sorted(site.rglob("*.html"))}


def test_nothing_is_written_outside_the_output_folder(hostile_root: Path) -> None:
    found = {path.relative_to(hostile_root).as_posix() for path in hostile_root.rglob("*")}
    outside = {name for name in found if not name.startswith(("results", "deep/er/site/"))}
    assert outside == {"deep", "deep/er", "deep/er/site"}


def test_every_file_name_is_a_slug(site: Path) -> None:
    for path in site.rglob("*"):
        assert re.fullmatch(r"[A-Za-z0-9._~-]{1,160}", path.name)
        assert len(path.name.encode()) < 200


@pytest.mark.parametrize("player", PLAYERS)
def test_text_content_of_each_message_is_the_source(site: Path, hostile_root: Path, player: str) -> None:
    tree = ResultsTree(hostile_root / "results")
    for conversation in tree.conversations("hostile", "en", player):
        scene = f"{slug(conversation.character)}.{slug(conversation.situation)}"
        page = read(site / "boards/hostile/en/players" / slug(player) / f"{scene}.html")
        texts = [element.text for element in page.having("rc-message")]
        assert texts == [shown(message.content) for message in conversation.messages]


def test_text_content_of_each_reason_is_the_source(site: Path) -> None:
    name = f"{slug('<b>c</b>')}.{slug('../s')}.html"
    page = read(site / "boards/hostile/en/players" / slug("CON") / name)
    for judge in JUDGES:
        for turn, text in enumerate(TEXTS, start=1):
            (verdict,) = [e for e in page.walk() if e.attributes.get("id") == f"t{turn}-{slug(judge)}"]
            reasons = [e.text for e in verdict.having("rc-reason")]
            assert set(reasons) == {shown(text)}
            assert len(reasons) == 3 + (text != "" or turn == 3)


def test_pages_have_no_element_or_attribute_beyond_ours(pages: dict[str, Element]) -> None:
    for name, page in pages.items():
        if name.startswith("boards/hostile"):
            for element in article(page).walk():
                assert element.tag in TAGS, (name, element.tag)
                assert set(element.attributes) <= ATTRIBUTES, (name, element)


def test_no_id_is_given_twice(pages: dict[str, Element]) -> None:
    assert {name: found for name, page in pages.items() if (found := repeated_ids(page))} == {}


def test_titles_are_text(pages: dict[str, Element]) -> None:
    for name, page in pages.items():
        title = page.tagged("title")[0]  # charts have titles too
        assert title.text.endswith("Dramaturg"), name
        assert not re.search("[\x00-\x1f\u202a-\u202e\u200b]", title.text), name


def test_scripts_of_a_page_are_the_themes_and_ours_only(pages: dict[str, Element]) -> None:
    for name, page in pages.items():
        for script in page.tagged("script"):
            data = script.attributes.get("type") == "application/json"
            assert "<" not in script.text if data else BOOM not in script.text, name
            if data and "data-rc-data" in script.attributes:
                assert json.loads(script.text), name
        own = 2 * (name.startswith("boards/hostile") and name.endswith(("en/index.html", "compare.html")))
        own += 3 * (name == "boards/hostile/en/rescore.html")
        own += name == "search.html"
        scripts = 0 if name.endswith("embed.html") else 8 + own
        assert len(page.tagged("script")) == scripts, name


def test_links_stay_inside_the_site_and_lead_somewhere(site: Path, pages: dict[str, Element]) -> None:
    for name, page in pages.items():
        if name.startswith("boards/"):
            for _, address in links(page):
                assert re.match(r"[a-z0-9./#]", address, re.IGNORECASE), (name, address)
                assert ":" not in address, (name, address)
                assert not re.search(r"[<>\"'\s]", address), (name, address)
    assert dead_links(site) == []


def test_search_index_holds_words_only(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text())
    ours = [doc for doc in index["docs"] if doc["location"].startswith("boards/hostile")]
    assert len(ours) == len(PLAYERS) + 1 + 3 + 3
    for doc in ours:
        assert not re.search(r"[<>&\"'`=\u202e]", doc["title"])
        assert doc["text"] == ""
    assert "zero-width" not in json.dumps(ours)


def test_ids_that_look_alike_have_pages_of_their_own(site: Path) -> None:
    folders = {path.name for path in (site / "boards/hostile/en/players").iterdir()}
    assert folders == {slug(player) for player in PLAYERS}
    assert len(folders) == len(PLAYERS)


def test_csv_has_no_cell_that_a_spreadsheet_runs(site: Path) -> None:
    with (site / "boards/hostile/en/board.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    begins = set()
    for row in rows:
        for name, cell in row.items():
            assert not cell.lstrip().startswith(("=", "+", "-", "@")), (name, cell)
            if cell.startswith("'"):
                begins.add(cell[1:].lstrip()[:1])
    assert begins >= set("=+-@")
    assert {row["player"].removeprefix("'") for row in rows} == set(PLAYERS)


def test_half_a_surrogate_pair_in_a_record_is_one_line_that_names_the_file(tmp_path: Path) -> None:
    tree = hostile_tree(tmp_path / "results", ("HALF", "end"), ("p",))
    path = next((tmp_path / "results").rglob("conversations/*.json"))
    path.write_text(path.read_text().replace("HALF", r"\ud800"))
    with pytest.raises(RecordError, match="not a valid record") as caught:
        build_site(tree, output=tmp_path / "site")
    assert path.name in caught.value.line()
    assert "\n" not in caught.value.line()


def test_our_own_placeholders_in_a_message_stay_text(pages: dict[str, Element]) -> None:
    for name, page in pages.items():
        if name.startswith("boards/hostile"):
            assert not [e for e in page.walk() if "data-dramaturg" in e.attributes], name
