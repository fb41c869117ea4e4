"""Players are removed and renamed with a reason, which audit, feed and the page of changes show."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.audit import audit_tree
from bench.boards.life import remove_player, rename_player
from bench.catalog import load_catalog
from bench.errors import UserError
from bench.results import ResultsTree
from bench.scores.frame import load
from bench.site.build import build_site
from tests.synthetic import make_tree
from tests.tiny import ROOT

REASON = "The provider served another <b>model</b>."


@pytest.fixture
def tree(tmp_path: Path) -> ResultsTree:
    return make_tree(tmp_path / "results", players=3, characters=2, situations=2).tree


@pytest.mark.usefixtures("no_charts")
def test_a_removed_player_leaves_its_reason(tree: ResultsTree, tmp_path: Path) -> None:
    first, *rest = [info.player for info in tree.players("synthetic", "en")]
    (done,) = remove_player(tree, "synthetic", first, f" {REASON}\n", day="2026-11-27")
    assert done.records > 4
    assert [info.player for info in tree.players("synthetic", "en")] == rest
    report = audit_tree(tree, {}, None)
    (finding,) = [f for f in report.findings if f.code == "player-removed"]
    assert REASON in finding.text
    assert report.ok
    build_site(tree, tmp_path / "site", prompts={}, models=tmp_path / "none.toml", site_url="https://x.org")
    page = (tmp_path / "site" / "boards" / "synthetic" / "en" / "changes-of-board.html").read_text()
    assert "2026-11-27" in page
    assert "The provider served another &lt;b&gt;model&lt;/b&gt;." in page
    feed = (tmp_path / "site" / "changelog.xml").read_text()
    assert "2026-11-27T00:00:00Z" in feed


def test_a_renamed_player_keeps_its_answers_and_scores(tree: ResultsTree) -> None:
    first, other, _ = [info.player for info in tree.players("synthetic", "en")]
    before = load(tree, "synthetic", "en")
    with pytest.raises(UserError, match="already"):
        rename_player(tree, "synthetic", first, other, "x")
    with pytest.raises(UserError, match="is another model"):
        rename_player(
            tree, "synthetic", first, "smollm2-135m", "x", catalog=load_catalog(ROOT / "models.toml")
        )
    rename_player(tree, "synthetic", first, "new-name", REASON, day="2026-11-27")
    after = load(tree, "synthetic", "en")
    assert "new-name" in after.names
    assert first not in after.names
    old, new = (f.scores[f.scores["player"] == p] for f, p in ((before, first), (after, "new-name")))
    assert sorted(old["score"]) == sorted(new["score"])
    report = audit_tree(tree, {}, None)
    assert report.ok
    assert {f.code for f in report.findings if "renamed" in f.code} == {"player-renamed"}
    assert tree.events("synthetic", "en")[0].to == "new-name"


@pytest.mark.parametrize(
    ("player", "reason", "day", "fault"),
    [
        ("nobody", "x", "", "unknown player"),
        ("", " \n", "", "reason"),
        ("", "x", "27.11.2026", "invalid date"),
    ],
)
def test_mistakes_change_nothing(tree: ResultsTree, player: str, reason: str, day: str, fault: str) -> None:
    player = player or tree.players("synthetic", "en")[0].player
    with pytest.raises(UserError, match=fault):
        remove_player(tree, "synthetic", player, reason, day=day)
    assert len(tree.players("synthetic", "en")) == 3
    assert not tree.events("synthetic", "en")


def test_a_damaged_record_of_changes_is_found(tree: ResultsTree) -> None:
    path = tree.board_folder("synthetic", "en") / "changes.json"
    path.write_text('{"schema_version": 1, "events": [{"action": "removed", "day": "2026-99-99"}]}\n')
    assert not audit_tree(tree, {}, None).ok
