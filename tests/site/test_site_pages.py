"""Pages beside boards and conversations: audit, judges, scenes, comparison, rank maps, the project's own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.boards.loading import load_board, stored_json
from bench.records import Usage, canonical, sealed
from bench.results import ResultsTree
from bench.scores.player_measures import PlayerMeasures, player_measures
from bench.site.build import build_site
from bench.site.cells import summarise
from bench.site.figures import Mark, Series, line_figure
from bench.site.paths import Links
from bench.site.project import Sources, changelog, citation, feed, version_entries
from bench.site.render import json_in_page
from tests.site.hostile import BOOM
from tests.site.site_html import Element, article, dead_links, links, parse, read, repeated_ids
from tests.synthetic import SENTENCES, make_tree
from tests.tiny import edit

FOLDER = "boards/synthetic/en"
ROOT = Path(__file__).parents[2]


def _rows(table: Element) -> list[list[str]]:
    return [
        [cell.text.strip() for cell in row.children if isinstance(cell, Element)]
        for row in table.tagged("tr")
    ]


def test_the_audit_lists_every_judgement_with_its_turns(small_tree: ResultsTree, small_site: Path) -> None:
    page = article(read(small_site / FOLDER / "players/player-02/audit.html"))
    judgements = list(small_tree.judgements("synthetic", "en", "player-02"))
    shown = _rows(page.having("rc-steps-table")[0])[1:]
    assert len([row for row in shown if row[1].startswith("judge-")]) == len(judgements)
    turns = {" ".join(str(t.scores["fluency"]) for t in j.turns) for j in judgements if j.turns}
    assert turns <= {row[4].rpartition(" ")[0] for row in shown}


def test_largest_disagreements_lead_to_their_turns(small_site: Path) -> None:
    page = article(read(small_site / FOLDER / "judges.html"))
    table = page.tagged("table")[-1]
    apart = [int(row[2]) for row in _rows(table)[1:]]
    assert apart == sorted(apart, reverse=True)
    assert apart[0] > 0
    assert all(re.search(r"\.html#t\d+(-judge-0\d)?$", address) for _, address in links(table))


def test_shards_hold_every_score_of_a_player(small_tree: ResultsTree, small_site: Path) -> None:
    for info in small_tree.players("synthetic", "en"):
        text = (small_site / FOLDER / "players" / info.player / "scores.js").read_text()
        match = re.fullmatch(r'dramaturgShard\("([a-z0-9-]+)",(\{.*\})\);\n', text)
        assert match is not None
        assert match[1] == info.player
        judgements = list(small_tree.judgements("synthetic", "en", info.player))
        expected = {}
        for talk in small_tree.conversations("synthetic", "en", info.player):
            mine = [j for j in judgements if (j.character, j.situation) == (talk.character, talk.situation)]
            cell = summarise(talk, mine)
            expected[cell.scene] = [cell.score, cell.state]
        found = json.loads(match[2])
        assert found["scenes"] == expected
        assert len(found["pairs"]) == 2


def test_a_player_page_has_both_languages(small_tree: ResultsTree, small_site: Path) -> None:
    page = article(read(small_site / FOLDER / "players/player-02/index.html"))
    rows = _rows(page.tagged("table")[0])[1:]
    assert [row[0] for row in rows] == ["English", "Russian"]
    for language, row in zip(("en", "ru"), rows, strict=True):
        made = next(
            r
            for r in load_board(small_tree, "synthetic", language, prompts={}).board.rows
            if r.player == "player-02"
        )
        assert row[2] == f"{made.length_norm_score:.2f} ±{made.length_norm_ci:.2f}"


def test_score_by_turn_is_drawn_with_words_and_links_to_its_table(small_site: Path) -> None:
    page = article(read(small_site / FOLDER / "players/player-01/index.html"))
    (figure,) = page.having("rc-figure")
    assert next(e.text for e in figure.tagged("title")) == "Score by turn"
    assert "The numbers are in the table below." in figure.tagged("desc")[0].text
    ids = {e.attributes["id"] for e in page.walk() if "id" in e.attributes}
    marks = figure.tagged("a")
    assert marks
    assert {a.attributes["href"][1:] for a in marks} <= ids


def test_hardest_and_easiest_come_from_the_same_list(small_site: Path) -> None:
    page = article(read(small_site / FOLDER / "scenes.html"))
    hardest, easiest = page.tagged("ol")[-2:]
    scores = [
        next(float(text) for text in re.findall(r": (\d\.\d\d)", li.text))
        for li in hardest.tagged("li") + easiest.tagged("li")[::-1]
    ]
    assert scores == sorted(scores)


def test_a_pool_of_workers_makes_the_same_bytes(mini_tree: ResultsTree, tmp_path: Path) -> None:
    for jobs in (1, 2):
        build_site(mini_tree, output=tmp_path / str(jobs), jobs=jobs)
    one, two = (
        {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        for root in (tmp_path / "1", tmp_path / "2")
    )
    assert one == two


def test_only_what_changed_is_stamped_again(mini_tree: ResultsTree, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(mini_tree.root, results)
    tree = ResultsTree(results)
    build_site(tree, output=tmp_path / "site")
    page = tmp_path / "site" / FOLDER / "players/player-01/character-1.situation-1.html"
    for made in (page, page.with_name("measures.json")):
        sound = made.read_bytes()
        made.write_bytes(b"edited by hand")
        assert build_site(tree, output=tmp_path / "site").written == 1
        assert made.read_bytes() == sound
    sound = page.read_bytes()
    judgement = results / "synthetic/en/player-01/judgements/judge-01/character-1.situation-1.json"
    judgement.unlink()
    report = build_site(tree, output=tmp_path / "site")
    assert 1 < report.written < 40
    assert page.read_bytes() != sound


def test_measures_of_a_player_follow_its_conversations(mini_tree: ResultsTree, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(mini_tree.root, results)
    tree = ResultsTree(results)
    for length in ("", " and more" * 50):
        path = results / "synthetic/en/player-01/conversations/character-1.situation-1.json"
        talk = json.loads(path.read_text())
        talk["messages"][-1]["content"] += length
        path.write_text(json.dumps(talk))
        build_site(tree, output=tmp_path / "site")
        for player in ("player-01", "player-02"):
            shown = (tmp_path / "site" / FOLDER / "players" / player / "measures.json").read_bytes()
            expected = player_measures(player, tree.conversations("synthetic", "en", player))
            assert PlayerMeasures.model_validate_json(shown) == expected


def test_a_judge_that_the_suite_no_longer_names_is_shown_as_one_that_does_not_count(
    full_root: Path, tmp_path: Path
) -> None:
    for folder in ("results/synthetic", "prompts"):
        shutil.copytree(full_root / folder, tmp_path / folder)
    edit(tmp_path / "prompts/pingpong_v2/synthetic.toml", '"judge-01", "judge-02"', '"judge-01"')
    site = tmp_path / "site"
    build_site(tmp_path / "results", output=site, prompts=tmp_path / "prompts")
    page = read(site / FOLDER / "players/player-02/character-1.situation-1.html")
    remarks = {row[0]: row[-1] for row in _rows(article(page).tagged("table")[0])}
    assert "does not count" not in remarks["judge-01"]
    assert remarks["judge-02"] == "not a judge of this board, so its scores do not count"


@pytest.fixture
def mapped(full_root: Path) -> Path:
    """A site whose players stand in another benchmark's list too, one of them by a hostile name."""
    return full_root / "site"


def test_a_rank_map_is_drawn_with_links_words_and_a_table(mapped: Path) -> None:
    page = article(read(mapped / FOLDER / "rank-maps.html"))
    figure, small = page.having("rc-figure")
    assert not [
        e for e in figure.walk() if "style" in e.attributes or e.tag in ("style", "metadata", "script")
    ]
    assert "Spearman" in figure.tagged("desc")[0].text
    players = {f"players/player-0{n}/index.html" for n in range(1, 5)}
    for one in (figure, small):
        assert {a.attributes["href"] for a in one.tagged("a")} == players
    assert len(_rows(page.tagged("table")[0])) == 5
    assert repeated_ids(read(mapped / FOLDER / "rank-maps.html")) == []
    assert dead_links(mapped) == []


@pytest.mark.parametrize("form", ["svg", "png", "pdf", "json"])
def test_a_rank_map_can_be_downloaded(mapped: Path, form: str) -> None:
    (file,) = (mapped / FOLDER / "rank-maps").glob(f"*.{form}")
    assert file.stat().st_size > 1000


def test_the_changelog_becomes_a_page_and_a_feed(small_site: Path) -> None:
    versions = changelog((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    page = article(read(small_site / "changelog.html"))
    root = ElementTree.fromstring((small_site / "changelog.xml").read_text(encoding="utf-8"))
    atom = "{http://www.w3.org/2005/Atom}"
    entries = root.findall(f"{atom}entry")
    out = [version for version in versions if version.day]
    assert out
    for version, entry in zip(out, entries, strict=True):
        assert version.name in page.text
        assert entry.findtext(f"{atom}updated") == f"{version.day}T00:00:00Z"
        assert (entry.findtext(f"{atom}title") or "").startswith(version.name)
        for needed in ("id", "updated", "content"):
            assert entry.findtext(f"{atom}{needed}")
    assert versions[0].points[0][:40] in article(read(small_site / "index.html")).text


def test_changes_of_a_board_are_unknown_without_a_history(small_site: Path) -> None:
    page = article(read(small_site / FOLDER / "changes-of-board.html"))
    assert "unknown" in page.text


def test_changes_of_a_board_are_on_a_page_and_in_the_feed(
    mini_tree: ResultsTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "Test")
        monkeypatch.setenv(f"{name}_EMAIL", "test@example.org")
    shutil.copytree(mini_tree.root, tmp_path / "repo" / "results")
    tree = ResultsTree(tmp_path / "repo" / "results")
    ((suite, language), *_) = tree.boards()
    path = tree.board_folder(suite, language) / "board.json"
    board = load_board(tree, suite, language).board
    hostile = "<img src=x onerror=alert(1)>\x1b\ufffe"
    rows = [board.rows[0].model_copy(update={"name": hostile}), *board.rows[1:]]
    title = "First <script>alert(1)</script>"
    for kept, message in ((rows[1:], title), (rows, "Second")):
        path.write_text(stored_json(board.model_copy(update={"rows": tuple(kept)})))
        for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", message]):
            subprocess.run(["git", *words], cwd=tree.root.parent, check=True)
    build_site(tree, output=tmp_path / "site")
    path = tmp_path / "site" / "boards" / suite / language / "changes-of-board.html"
    html = path.read_text(encoding="utf-8")
    assert "<img src=x" not in html
    assert "<script>alert" not in html
    page = article(read(path))
    assert title in page.text
    assert "rank 1" in page.text
    root = ElementTree.fromstring((tmp_path / "site/changelog.xml").read_text(encoding="utf-8"))
    atom = "{http://www.w3.org/2005/Atom}"
    titles = [entry.findtext(f"{atom}title") or "" for entry in root.findall(f"{atom}entry")]
    assert "added, rank 1" in titles[0]
    assert "Board published" in titles[1]
    assert dead_links(tmp_path / "site") == []


def test_without_a_version_that_is_out_there_is_no_feed(mini_tree: ResultsTree, tmp_path: Path) -> None:
    assert feed(version_entries(changelog("# Changelog\n\n## 0.1.0 (unreleased)\n\n- A.\n")), "") is None
    shutil.copy(ROOT / "CITATION.cff", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (unreleased)\n\n- A.\n")
    build_site(mini_tree, output=tmp_path / "site", sources=Sources(project=tmp_path))
    assert not (tmp_path / "site/changelog.xml").exists()
    assert dead_links(tmp_path / "site") == []
    assert "changelog.xml" not in (tmp_path / "site/index.html").read_text()


def test_a_feed_has_the_days_of_its_versions() -> None:
    text = "# Changelog\n\n## 0.2.0 (unreleased)\n\n- A & b.\n\n## 0.1.0 (2026-12-01)\n\n- `First`\n  form.\n"
    made = feed(version_entries(changelog(text)), "https://example.invalid/roles/")
    assert made is not None
    assert made.count("<updated>2026-12-01T00:00:00Z</updated>") == 2
    assert "0.2.0" not in made
    assert "First form." in made
    assert 'href="https://example.invalid/roles/changelog.xml"' in made
    ElementTree.fromstring(made)


def test_how_to_cite_is_what_citation_cff_says(small_site: Path) -> None:
    made = citation(ROOT / "CITATION.cff")
    page = article(read(small_site / "cite.html"))
    assert made.text in page.text
    assert made.bibtex in page.text
    assert (small_site / "CITATION.cff").read_bytes() == (ROOT / "CITATION.cff").read_bytes()


def test_data_in_a_page_cannot_leave_its_element() -> None:
    text = json_in_page({"a": "</script><script>&\u2028\ud800"})
    assert not re.search("[<>&\u2028\ud800]", text)
    assert json.loads(text) == {"a": "</script><script>&\u2028\ud800"}


def test_a_figure_escapes_its_words() -> None:
    evil = f'"><script>{BOOM}</script>'
    mark = Mark(1, 3.0, 2.5, 3.5, "#a", evil)
    figure = parse(str(line_figure("f", evil, evil, [Series("main", [mark])], (1, 5))))
    assert {e.tag for e in figure.walk()} == {
        "#document",
        "svg",
        "title",
        "desc",
        "path",
        "text",
        "a",
        "circle",
    }


def test_a_conversation_in_hebrew_runs_from_right_to_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its board shows, beside the score, the tokens of reasoning that the player took."""
    monkeypatch.setitem(SENTENCES, "he", ("Mags: שלום לך, אורח.",) * 12)
    made = make_tree(tmp_path / "results", players=1, languages=("he",), characters=1, situations=1)
    (talk,) = made.tree.conversations("synthetic", "he", made.players[0])
    usage = Usage(prompt_tokens=9, completion_tokens=2000, reasoning_tokens=1234)
    calls = tuple(
        call.model_copy(update={"usage": usage if call.role == "player" else call.usage})
        for call in talk.calls
    )
    path = made.tree.conversation_path(talk)
    path.write_text(canonical(sealed(talk.model_copy(update={"calls": calls})).plain()), encoding="utf-8")
    site = tmp_path / "site"
    build_site(made.tree, output=site, jobs=1)
    page = Links("synthetic", "he").talk(made.players[0], "character-1.situation-1")
    text = (site / page).read_text(encoding="utf-8")
    for kind in ("rc-message", "rc-card"):
        blocks = re.findall(rf'<div class="rc-text {kind}[^>]*>', text)
        assert blocks
        assert all('lang="he" dir="rtl"' in block for block in blocks)
    board = (site / "boards" / "synthetic" / "he" / "index.html").read_text(encoding="utf-8")
    assert "Hebrew" in board
    assert ">1\u202f234 reasoning</small>" in board


def test_what_there_is_nothing_of_has_no_table(other_site: Path) -> None:
    """Recordings have no written answer and come from no call."""
    folder = other_site / "boards/spoken/en/players/tape"
    assert 'id="measures"' not in (folder / "index.html").read_text(encoding="utf-8")
    talk = (folder / "keeper.storm.html").read_text(encoding="utf-8")
    assert "No model calls are on record." in talk
    assert "rc-calls" not in talk
