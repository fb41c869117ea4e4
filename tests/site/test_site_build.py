"""The built site as a whole: links, numbers, what a second build does."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from bench.errors import SiteError
from bench.results import ResultsTree
from bench.site.build import build_site
from bench.site.labels import SuiteLabel
from bench.site.project import Sources
from bench.site.serve import site_server
from bench.site.shell import build_shells
from tests.site.site_html import Element, article, dead_links, links, read, repeated_ids

BOARD = "boards/synthetic/en"
LABEL = {"synthetic": SuiteLabel("Made by a script", "Stock sentences.", demonstration=True)}


def _pages(site: Path) -> dict[str, Element]:
    return {path.relative_to(site).as_posix(): read(path) for path in sorted(site.rglob("*.html"))}


def _bytes(site: Path) -> dict[str, bytes]:
    return {p.relative_to(site).as_posix(): p.read_bytes() for p in sorted(site.rglob("*")) if p.is_file()}


def test_a_page_that_is_a_link_is_not_published(tmp_path: Path) -> None:
    pages = tmp_path / "site" / "pages"
    pages.mkdir(parents=True)
    (pages / "index.md").write_text("# Start", encoding="utf-8")
    (pages / "about.md").symlink_to("/etc/hostname")
    config = tmp_path / "mkdocs.yml"
    config.write_text("site_name: x", encoding="utf-8")
    with pytest.raises(SiteError, match="is a link") as caught:
        build_shells(pages.parent, config, [], "")
    assert caught.value.where == str(pages / "about.md")


def test_every_link_and_anchor_leads_somewhere(small_site: Path) -> None:
    assert dead_links(small_site) == []


def test_no_id_is_given_twice(small_site: Path) -> None:
    assert {n: found for n, page in _pages(small_site).items() if (found := repeated_ids(page))} == {}


def test_nothing_is_loaded_from_elsewhere(small_site: Path) -> None:
    for name, page in _pages(small_site).items():
        for tag, address in links(page):
            outside = re.match(r"([a-z][a-z0-9+.-]*:|//)", address, re.IGNORECASE)
            hand_written = "/" not in name
            assert not outside or (tag == "a" and hand_written), (name, tag, address)
    for style in small_site.rglob("*.css"):
        loaded = re.findall(r"url\(\s*['\"]?([^'\")]{0,20})|(@import)", style.read_text())
        assert not [found for found in loaded if not found[0].startswith(("data:", "#"))], style.name


def test_every_page_has_a_policy_that_names_its_inline_scripts(small_site: Path) -> None:
    for name, page in _pages(small_site).items():
        (policy,) = [e.attributes["content"] for e in page.tagged("meta") if "http-equiv" in e.attributes]
        allowed = ["'wasm-unsafe-eval'"] if name == "search.html" else []
        assert [word for word in policy.split() if "unsafe" in word] == allowed, name
        for script in page.tagged("script"):
            if "src" not in script.attributes and script.attributes.get("type") != "application/json":
                digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
                assert f"'sha256-{digest}'" in policy, name
        assert not [e for e in page.walk() if "style" in e.attributes], name


def test_a_second_build_writes_nothing(small_tree: ResultsTree, small_site: Path) -> None:
    before = _bytes(small_site)
    report = build_site(small_tree, output=small_site, labels=LABEL)
    assert (report.written, report.removed) == (0, 0)
    assert _bytes(small_site) == before


def test_a_build_elsewhere_gives_the_same_bytes(
    small_tree: ResultsTree, small_site: Path, tmp_path: Path
) -> None:
    build_site(small_tree, output=tmp_path / "b", labels=LABEL)
    assert _bytes(tmp_path / "b") == _bytes(small_site)


def test_pages_of_a_player_that_is_gone_are_removed(mini_tree: ResultsTree, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(mini_tree.root, results)
    build_site(ResultsTree(results), output=tmp_path / "site")
    shutil.rmtree(results / "synthetic/en/player-02")
    report = build_site(ResultsTree(results), output=tmp_path / "site")
    assert report.removed > 0
    assert not (tmp_path / "site" / BOARD / "players/player-02").exists()
    assert dead_links(tmp_path / "site") == []


def test_board_page_shows_the_numbers_of_board_json(small_site: Path) -> None:
    data = json.loads((small_site / BOARD / "board.json").read_text())
    (table,) = read(small_site / BOARD / "index.html").having("rc-board")
    rows = [[cell for cell in row.children if isinstance(cell, Element)] for row in table.tagged("tr")[1:]]
    assert len(rows) == len(data["rows"])
    for lacking in ("conversations_failed", "conversations_missing", "judgements_failed"):
        assert any(row[lacking] for row in data["rows"]), lacking
    for cells, row in zip(rows, data["rows"], strict=True):
        robust, low, high = (row["robust"][name] for name in ("rank", "rank_low", "rank_high"))
        assert low <= robust <= high
        assert cells[0].text == f"{row['rank']} {robust} ({low}" + (f"–{high})" if high != low else ")")
        assert cells[1].text == f"no {row['name']} {row['weights']}"
        assert cells[3].text == f"{row['length_norm_score']:.2f} ±{row['length_norm_ci']:.2f}"
        assert cells[4].text == f"{row['score']:.2f} ±{row['score_ci']:.2f}"
        criteria = [f"{row[name]:.2f}" for name in ("in_character", "entertaining", "fluency")]
        assert cells[5].text == f"{100 * row['robust']['sample']['first']:.1f}%"
        assert [cell.text for cell in cells[6:9]] == criteria
        assert cells[9].text == f"{100 * row['refusal_ratio']:.1f}%"
        assert cells[10].text == str(row["avg_length"])
        have, expected = row["conversations"], row["conversations_expected"]
        assert cells[11].text == (str(have) if have == expected else f"{have} of {expected}")
        assert cells[12].text == str(row["conversations_failed"] + row["judgements_failed"])
        assert cells[14].text == f"${Decimal(row['cost']):.6f}".rstrip("0")


def test_matrix_links_each_conversation_and_shows_what_is_missing(
    small_tree: ResultsTree, small_site: Path
) -> None:
    page = read(small_site / BOARD / "players/player-01/index.html")
    (matrix,) = page.having("rc-matrix")
    hrefs = {a.attributes["href"] for td in matrix.tagged("td") for a in td.tagged("a")}
    talks = list(small_tree.conversations("synthetic", "en", "player-01"))
    assert hrefs == {f"{c.character}.{c.situation}.html" for c in talks}
    assert len(talks) == 8
    assert len(matrix.having("rc-missing")) == 1


def test_conversation_page_shows_every_score_and_reason(small_tree: ResultsTree, small_site: Path) -> None:
    for judgement in small_tree.judgements("synthetic", "ru", "player-02"):
        name = f"{judgement.character}.{judgement.situation}.html"
        page = read(small_site / "boards/synthetic/ru/players/player-02" / name)
        for verdict in judgement.turns:
            (block,) = [
                e for e in page.walk() if e.attributes.get("id") == f"t{verdict.turn}-{judgement.judge}"
            ]
            shown = [re.sub(r"\(.*", "", e.text).split() for e in block.having("rc-score")]
            scores = {" ".join(words[:-1]).lower(): int(words[-1]) for words in shown}
            assert scores == {name.replace("_", " "): score for name, score in verdict.scores.items()}
            assert set(verdict.reasons.values()) <= {e.text for e in block.having("rc-reason")}
        if judgement.failure is not None:
            assert any(judgement.failure.reason in e.text for e in page.having("rc-fail"))


def test_turns_have_anchors(small_tree: ResultsTree, small_site: Path) -> None:
    talk = next(small_tree.conversations("synthetic", "en", "player-03"))
    page = read(small_site / BOARD / "players/player-03" / f"{talk.character}.{talk.situation}.html")
    turns = [e.attributes["id"] for e in page.having("rc-turn")]
    assert turns == [f"t{n + 1}" for n in range(len(talk.messages) // 2)]


def test_conversations_are_linked_in_order_and_across_players(small_site: Path) -> None:
    path = f"{BOARD}/players/player-02/character-1.situation-2.html"
    page = read(small_site / path)
    steps = [a.attributes["href"] for nav in page.having("rc-steps") for a in nav.tagged("a")]
    assert steps == ["character-1.situation-1.html", "character-1.situation-3.html"] * 2
    others = [a.attributes["href"] for ul in page.having("rc-others") for a in ul.tagged("a")]
    assert others == [f"../player-0{n}/character-1.situation-2.html" for n in (1, 3)]
    assert "../../scenes/character-1.situation-2.html" in {address for _, address in links(page)}


def test_failed_conversation_says_so(small_tree: ResultsTree, small_site: Path) -> None:
    failed = [
        c
        for player in small_tree.players("synthetic", "en")
        for c in small_tree.conversations("synthetic", "en", player.player)
        if c.status == "failed"
    ]
    assert failed
    for talk in failed:
        name = f"{talk.character}.{talk.situation}.html"
        page = read(small_site / BOARD / "players" / talk.player / name)
        assert talk.failure is not None
        assert any(talk.failure.reason in e.text for e in page.having("rc-fail"))


def test_demonstration_is_named_on_every_page_of_its_suite(small_site: Path) -> None:
    for name, page in _pages(small_site).items():
        if name.startswith("boards/synthetic"):
            warning = page.having("rc-warning")[0]
            assert "scores are meaningless" in warning.text, name


def test_a_suite_without_a_label_is_called_by_its_folder(mini_tree: ResultsTree, tmp_path: Path) -> None:
    build_site(mini_tree, output=tmp_path / "site")
    page = read(tmp_path / "site" / BOARD / "index.html")
    assert article(page).tagged("h1")[0].text.startswith("synthetic, English")
    assert not any("Demonstration" in warning.text for warning in page.having("rc-warning"))


def test_a_site_without_results_says_so(tmp_path: Path) -> None:
    report = build_site(ResultsTree(tmp_path / "none"), output=tmp_path / "site")
    assert report.conversations == 0
    assert "There are no results yet." in article(read(report.index)).text
    assert dead_links(tmp_path / "site") == []


def test_a_folder_with_other_files_is_refused(mini_tree: ResultsTree, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(SiteError, match="not a site built by bench"):
        build_site(mini_tree, output=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_mistake_in_a_hand_written_page_is_one_line(mini_tree: ResultsTree, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    shutil.copytree(root / "site", tmp_path / "sources")
    (tmp_path / "sources/pages/data.md").write_text("# Data\n\n[gone](nowhere.md)\n")
    with pytest.raises(SiteError, match=r"nowhere\.md") as caught:
        build_site(mini_tree, output=tmp_path / "site", sources=Sources(site=tmp_path / "sources"))
    assert "\n" not in caught.value.line()


def test_site_url_gives_a_sitemap_without_conversations(full_root: Path) -> None:
    text = (full_root / "site/sitemap.xml").read_text()
    assert f"<loc>https://example.invalid/roles/{BOARD}/players/player-02/index.html</loc>" in text
    assert "character-1.situation-1" not in text


def test_every_page_has_a_preview_of_its_own(full_root: Path) -> None:
    described: dict[str, str] = {}
    for name, page in _pages(full_root / "site").items():
        if name.endswith("embed.html"):
            continue
        given = [
            (e.attributes.get("property", ""), e.attributes.get("content", "")) for e in page.tagged("meta")
        ]
        about = dict(one for one in given if one[0].startswith("og:"))
        assert about.keys() >= {"og:title", "og:description", "og:image", "og:url"}, name
        assert about["og:url"] == f"https://example.invalid/roles/{name}"
        picture = about["og:image"].removeprefix("https://example.invalid/roles/")
        assert (full_root / "site" / picture).read_bytes().startswith(b"\x89PNG"), name
        assert len(about["og:description"]) > 20, name
        described.setdefault(about["og:description"], name)
        assert described[about["og:description"]] == name, "two pages with one description"


@pytest.mark.parametrize("name", ["index.html", f"{BOARD}/index.html", f"{BOARD}/judges.html"])
def test_header_and_footer_link_the_source_if_it_is_known(
    full_root: Path, small_site: Path, name: str
) -> None:
    for site, known in ((full_root / "site", {"https://example.invalid/results/"}), (small_site, set())):
        page = read(site / name)
        (footer,) = page.having("rc-footer")
        assert {a.attributes["href"] for a in page.having("md-source")} == known
        assert {a.attributes["href"] for a in footer.tagged("a") if a.text == "Source"} == known


def test_source_url_links_every_record(full_root: Path) -> None:
    tree = ResultsTree(full_root / "results")
    talk = next(tree.conversations("synthetic", "en", "player-02"))
    page = read(full_root / "site" / BOARD / "players/player-02" / f"{talk.character}.{talk.situation}.html")
    inside = tree.conversation_path(talk).relative_to(tree.root).as_posix()
    assert ("a", f"https://example.invalid/results/{inside}") in set(links(page))


def test_serving_needs_a_built_site(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match="no built site"):
        site_server(tmp_path, 0)


def test_a_port_in_use_is_said(small_site: Path) -> None:
    with site_server(small_site, 0) as server, pytest.raises(SiteError, match="cannot use port"):
        site_server(small_site, server.server_address[1])


def test_pages_stay_small(small_site: Path) -> None:
    for path in (small_site / BOARD / "players").rglob("*.html"):
        page = read(path)
        said = sum(len(e.text.encode()) for e in page.having("rc-text"))
        assert path.stat().st_size - said < 40_000, path.name
