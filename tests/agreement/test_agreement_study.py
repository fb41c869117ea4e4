"""From a study and a results tree to tables: which judgement is of which item, and what is left out."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

from bench.agreement.disputes import disputes
from bench.agreement.panel import Panel, consensus
from bench.agreement.report import Agreement, agreement_of
from bench.agreement.study import match, study_panel
from bench.errors import UserError
from bench.results import ResultsTree
from bench.results.studies import StudyItem, load_study, read_study, write_study
from bench.scores import paper
from bench.scores.frame import load
from tests.agreement.made_study import JUDGES, STUDY, study_tree
from tests.synthetic import SUITE, make_tree

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> ResultsTree:
    root = tmp_path_factory.mktemp("agreement") / "results"
    return study_tree(root, failure_rate=0.1, refusal_rate=0.3).tree


def panel(tree: ResultsTree, refusals: str = "left-out") -> Panel:
    return study_panel(load_study(tree.root, STUDY), tree, [load(tree, SUITE, "en")], refusals=refusals)


@pytest.fixture(scope="module")
def of(tree: ResultsTree) -> Panel:
    return panel(tree)


@pytest.fixture(scope="module")
def made(of: Panel) -> Agreement:
    return agreement_of(of, resamples=100)


def test_judges_scores_are_those_of_the_boards(tree: ResultsTree, of: Panel) -> None:
    study, frames = load_study(tree.root, STUDY), load(tree, SUITE, "en")
    finals = paper.judge_scores(frames, {"e": dict.fromkeys(frames.criteria, 1.0)})["final:e"].to_dict()
    table = of.by_judge(of.judged[0])
    seen = 0
    for item in study.file.items:
        for judge in JUDGES:
            key = (item.player, item.character, item.situation, item.repeat, judge)
            score = table["final"][judge].to_dict()[item.item]
            if key in finals:
                assert score == pytest.approx(finals[key], abs=1e-9)
                seen += 1
            else:
                assert math.isnan(score)
    assert seen > 100


def test_figures_are_those_of_scipy_on_the_board_s_scores(of: Panel, made: Agreement) -> None:
    people = consensus(of.by_annotator(), of.criteria)
    tables = of.by_judge(of.judged[0])
    for figure in made.judged[0].figures:
        if not figure.members:
            both = pd.DataFrame(
                {"j": tables[figure.criterion][figure.name], "p": people[figure.criterion]}
            ).dropna()
            assert figure.n == len(both)
            assert figure.value == pytest.approx(stats.spearmanr(both["j"], both["p"]).statistic, abs=1e-12)


def test_every_item_without_a_score_is_counted_with_its_reason(of: Panel, made: Agreement) -> None:
    scores = of.judged[0].scores
    for judge in JUDGES:
        have = scores.loc[(scores["judge"] == judge) & scores["score"].notna(), "item"].nunique()
        counts = made.judged[0].left_out[judge]
        assert have + sum(counts.values()) == made.sample.items
        assert {"judgement failed", "saw a refusal"} <= set(counts)


def test_refusals_policies(tree: ResultsTree) -> None:
    frames = load(tree, SUITE, "en")
    refused = frames.judgements[frames.judgements["refusal"] & ~frames.judgements["stale"]]
    panels = {name: panel(tree, name) for name in ("left-out", "lowest", "as-scored")}
    tables = {name: of.by_judge(of.judged[0]) for name, of in panels.items()}
    scenes = {scene: item for item, scene in panels["left-out"].judged[0].scenes.items()}
    for row in refused.itertuples():
        item = scenes[str(row.player), str(row.character), str(row.situation), int(str(row.repeat))]
        cells = {name: table["fluency"][str(row.judge)].to_dict()[item] for name, table in tables.items()}
        assert math.isnan(cells["left-out"])
        assert cells["lowest"] == 1.0
        assert cells["as-scored"] > 1.0
    assert len(refused) > 5
    with pytest.raises(UserError, match="averaged"):
        panel(tree, "averaged")


def test_an_item_is_its_words_not_its_name() -> None:
    items = [
        StudyItem(item="a", player="p", character="c", situation="s", conversation_sha256="1"),
        StudyItem(item="b", player="p", character="c", situation="t", conversation_sha256="2"),
        StudyItem(item="c", player="q", character="c", situation="s", conversation_sha256="3"),
        StudyItem(item="d", player="imported", conversation_sha256="4"),
        StudyItem(item="e", player="p", character="d", situation="s", conversation_sha256="5"),
        StudyItem(item="f", player="imported", conversation_sha256="5"),
    ]
    found, changed, unmatched = match(
        items,
        {
            ("p", "c", "s", 1): "1",
            ("p", "c", "t", 1): "other words now",
            ("r", "c", "s", 1): "4",
            ("p", "d", "s", 1): "5",
            ("q", "d", "s", 1): "5",
        },
    )
    assert found == {"a": ("p", "c", "s", 1), "d": ("r", "c", "s", 1), "e": ("p", "d", "s", 1)}
    assert changed == ["b"]
    assert unmatched == ["c", "f"]  # f: two conversations have these words, and it does not say which


def test_judgements_of_other_words_do_not_count(tmp_path: Path) -> None:
    made = study_tree(tmp_path / "results", scenes=2)
    info = made.tree.players(SUITE, "en")[0]
    talk = next(iter(made.tree.conversations(SUITE, "en", info.player)))
    path = made.tree.conversation_path(talk)
    data = json.loads(path.read_text(encoding="utf-8"))
    data["messages"][1]["content"] = "Something else was said."
    path.write_text(json.dumps(data), encoding="utf-8")
    report = agreement_of(panel(made.tree), resamples=50)
    assert report.judged[0].changed == 1
    assert any("changed since" in note for note in report.notes)
    assert all(figure.n <= report.sample.items - 1 for figure in report.judged[0].figures)
    assert report.sample.items == 36


def test_two_suites_that_judged_the_same_words_stand_side_by_side(tmp_path: Path) -> None:
    made = study_tree(tmp_path / "results", scenes=2)
    source, target = made.tree.root / SUITE, made.tree.root / "again"
    for path in sorted(source.rglob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        if "suite" in data:
            data |= {"suite": "again", "version": "2"}
        if "turns" in data and data["judge"] != "outsider":
            continue
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(json.dumps(data), encoding="utf-8")
    boards = [load(made.tree, name, "en") for name in (SUITE, "again")]
    report = agreement_of(study_panel(load_study(made.tree.root, STUDY), made.tree, boards), resamples=50)
    assert [one.label for one in report.judged] == ["synthetic 1", "again 2"]
    values = [
        next(f for f in one.figures if (f.name, f.criterion) == ("outsider", "final"))
        for one in report.judged
    ]
    assert values[0] == values[1]
    assert report.judged[1].reason == "one judge: there is nothing to combine"


def test_a_board_of_another_language_or_of_other_criteria_is_refused(tmp_path: Path) -> None:
    made = study_tree(tmp_path / "results")
    make_tree(made.tree.root, suite="russian", languages=("ru",), characters=1, situations=1)
    study = load_study(made.tree.root, STUDY)
    with pytest.raises(UserError, match="in language 'en'"):
        study_panel(study, made.tree, [load(made.tree, "russian", "ru")])
    file = read_study(made.tree.root, STUDY)
    odd = file.criteria[0].model_copy(update={"name": "politeness"})
    for path in (made.tree.root / "human" / STUDY / "annotations").iterdir():
        path.unlink()
    write_study(made.tree.root, file.model_copy(update={"criteria": (odd,)}))
    with pytest.raises(UserError, match="do not score politeness"):
        study_panel(load_study(made.tree.root, STUDY), made.tree, [load(made.tree, SUITE, "en")])


def test_judges_that_play_are_found_for_the_graph(tree: ResultsTree, made: Agreement) -> None:
    judged = panel(tree).judged[0]
    assert judged.own == {"aspen": ("aspen",), "birch": ("birch",)}
    assert judged.votes.shape == (3, 6)
    ranked = next(way for way in made.judged[0].ensembles if way.method == "pagerank")
    assert ranked.value is not None
    assert sum(weight.mean for weight in ranked.weights) == pytest.approx(1, abs=1e-5)


def test_sample_counts_players_and_annotators(made: Agreement, tree: ResultsTree) -> None:
    study = load_study(tree.root, STUDY)
    players = Counter(item.player for item in study.file.items)
    assert {row.player: row.items for row in made.sample.players} == players
    assert sum(made.sample.rated_by.values()) == made.sample.items == len(study.file.items)
    flagged = {
        annotation.item
        for record in study.annotators.values()
        for annotation in record.annotations
        if annotation.is_refusal
    }
    assert made.sample.refused == len(flagged) > 0


def test_disputes_lead_to_the_turn_that_goes_furthest(tree: ResultsTree, made: Agreement) -> None:
    of = panel(tree)
    found = disputes(of, of.judged[0], consensus(of.by_annotator(), of.criteria), of.by_annotator())
    assert tuple(found) == made.disputes
    assert [abs(one.gap) for one in found] == sorted((abs(one.gap) for one in found), reverse=True)
    for one in found:
        turns = {
            turn.turn: turn.scores[one.criterion]
            for judgement in tree.judgements(SUITE, "en", str(one.player))
            if (judgement.character, judgement.situation, judgement.judge)
            == (one.character, one.situation, one.judge)
            for turn in judgement.turns
        }
        assert one.turn is not None
        assert turns[one.turn] == (max(turns.values()) if one.gap > 0 else min(turns.values()))
        assert one.judge_score == pytest.approx(sum(turns.values()) / len(turns), abs=1e-6)
        assert one.gap == pytest.approx(one.judge_place - one.people_place, abs=2e-6)


def test_an_empty_study_is_refused_and_one_without_ratings_says_so(tmp_path: Path) -> None:
    made = study_tree(tmp_path / "results")
    for path in (made.tree.root / "human" / STUDY / "annotations").iterdir():
        path.unlink()
    report = agreement_of(panel(made.tree), resamples=50)
    assert report.people.reason == "nobody annotated it"
    assert report.sample.rated_by == {"0": 72}
    assert {figure.reason for figure in report.judged[0].figures} == {"no pairs"}
    file = read_study(made.tree.root, STUDY)
    write_study(made.tree.root, file.model_copy(update={"items": ()}))
    with pytest.raises(UserError, match="empty"):
        agreement_of(panel(made.tree))
