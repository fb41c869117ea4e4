"""Result files of ping_pong_bench become records that are marked as imported."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import pytest
from click.testing import CliRunner

from bench.audit import audit_tree
from bench.boards.loading import load_board, write_board
from bench.catalog import Catalog
from bench.cli import cli
from bench.errors import UserError
from bench.records import canonical, digest_of
from bench.results import ResultsTree
from tests.interop.conftest import SUITE, conversations_of, import_public, judgements_of, put
from tests.interop.public_files import make_public, version_1, version_2
from tests.tiny import make_tiny


def test_two_judges_files_become_one_conversation_with_two_judgements(
    tree: ResultsTree, folder: Path
) -> None:
    make_public(folder, players=2, characters=2, situations=2)
    report = import_public(tree, folder)
    assert (report.players, report.conversations, report.judgements) == (2, 8, 16)
    assert report.problems == ()
    assert len(conversations_of(tree, "player_0")) == 4
    assert {j.judge for j in judgements_of(tree, "player_0")} == {"claude_3_5_sonnet", "gpt_4o"}


def test_texts_scores_and_refusals_are_those_of_the_file(tree: ResultsTree, folder: Path) -> None:
    data = version_2(0, "gpt_4o", 1, 1)
    output = data["outputs"][0]
    output["scores"]["is_refusal"] = [0, 1, 0, 0]
    put(folder, data)
    import_public(tree, folder)
    [talk], [verdict] = conversations_of(tree, "p"), judgements_of(tree, "p")
    assert [m.plain() for m in talk.messages] == output["messages"]
    assert talk.scene.character_name == talk.character == "Character 1"
    assert talk.scene.card == output["character"]["system_prompt"]
    assert talk.scene.situation == output["situation"]["text"]
    assert [turn.is_refusal for turn in verdict.turns] == [False, True, False, False]
    for name in ("in_character", "entertaining", "fluency"):
        assert [turn.scores[name] for turn in verdict.turns] == output["scores"][name]


def test_imported_evidence_says_where_it_is_from(tree: ResultsTree, folder: Path) -> None:
    put(folder, version_2(0, "gpt_4o", 1, 1))
    import_public(tree, folder)
    [talk], [verdict] = conversations_of(tree, "p"), judgements_of(tree, "p")
    source = "ping_pong_bench version 2, judge_gpt_4o_player_p.json"
    assert talk.origin == f"{source}; interrogator gpt-4o-mini"
    assert verdict.origin == f"{source}; judge gpt-4o"
    assert (verdict.raw, verdict.calls, talk.calls) == ((), (), ())


def test_the_audit_finds_nothing_wrong_with_an_import_and_says_that_it_is_one(
    tree: ResultsTree, folder: Path
) -> None:
    make_public(folder, refusal_rate=0.3)
    import_public(tree, folder)
    write_board(tree, load_board(tree, SUITE, "en", prompts={}).board)
    report = audit_tree(tree, {}, None)
    assert {f.code for f in report.findings} == {"imported", "fingerprint-unknown"}
    assert report.ok


def test_imported_records_are_written_as_all_others_are(tree: ResultsTree, folder: Path) -> None:
    data = version_2(0, "gpt_4o", 1, 1)
    text = "".join(map(chr, range(0x250))) + "\u2028\U0001f600\ufeff\\/"
    data["outputs"][0]["messages"][1]["content"] = text
    put(folder, data)
    import_public(tree, folder)
    [talk], [verdict] = conversations_of(tree, "p"), judgements_of(tree, "p")
    assert talk.messages[1].content == text
    for record, path in (
        (talk, tree.conversation_path(talk)),
        (verdict, tree.judgement_path(verdict, "gpt_4o")),
    ):
        assert path.read_bytes() == canonical(record.plain()).encode()
        assert record.digest == digest_of(record)


def test_importing_again_changes_nothing(tree: ResultsTree, folder: Path) -> None:
    make_public(folder)
    assert import_public(tree, folder).written > 0
    assert import_public(tree, folder).written == 0


def test_a_corrected_file_replaces_what_was_imported(tree: ResultsTree, folder: Path) -> None:
    data = version_2(0, "gpt_4o", 1, 1)
    put(folder, data)
    import_public(tree, folder)
    data["outputs"][0]["scores"]["fluency"][0] = 1
    put(folder, data)
    assert import_public(tree, folder).written == 1
    assert judgements_of(tree, "p")[0].turns[0].scores["fluency"] == 1


def test_a_conversation_scores_as_in_the_paper(tree: ResultsTree, folder: Path) -> None:
    make_public(folder, players=1, characters=3, situations=1)
    import_public(tree, folder)
    row = load_board(tree, SUITE, "en", prompts={}).board.rows[0]
    finals = []
    for files in zip(*(json.loads(p.read_text())["outputs"] for p in sorted(folder.iterdir())), strict=True):
        judged = [
            mean(mean(o["scores"][name]) for name in ("in_character", "entertaining", "fluency"))
            for o in files
        ]
        finals.append(mean(judged))
    assert row.score == pytest.approx(mean(finals), abs=1e-6)


def test_the_judge_that_saw_a_refusal_is_left_out_and_the_other_kept(tree: ResultsTree, folder: Path) -> None:
    make_public(folder, players=1, characters=1, situations=1)
    path = folder / "judge_gpt_4o_player_player_0.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["outputs"][0]["scores"]["is_refusal"][2] = 1
    path.write_text(json.dumps(data), encoding="utf-8")
    import_public(tree, folder)
    row = load_board(tree, SUITE, "en", prompts={}).board.rows[0]
    kept = json.loads((folder / "judge_claude_3_5_sonnet_player_player_0.json").read_text(encoding="utf-8"))
    assert row.criteria["fluency"] == pytest.approx(mean(kept["outputs"][0]["scores"]["fluency"]))
    assert (row.refusal_ratio, row.judgements_refused) == (1.0, 1)


def test_a_model_of_the_catalog_brings_its_facts_and_an_unknown_one_says_so(
    tree: ResultsTree, folder: Path, tmp_path: Path
) -> None:
    catalog: Catalog = make_tiny(tmp_path / "tiny").catalog()
    known, unknown = version_2(0, "j", 1, 1), version_2(1, "j", 1, 1)
    known["player"]["model_name"] = "bard-1"
    put(folder, known, "judge_j_player_known.json")
    put(folder, unknown, "judge_j_player_unknown.json")
    import_public(tree, folder, catalog=catalog)
    facts = [(info.player, info.family, info.weights, info.licence) for info in tree.players(SUITE, "en")]
    assert facts == [("known", "Test", "open", "MIT"), ("unknown", "unknown", "unknown", "unknown")]


def test_keys_among_a_models_parameters_are_not_taken_over(tree: ResultsTree, folder: Path) -> None:
    planted = "sk-planted0123456789abcdef"
    data = version_2(0, "gpt_4o", 1, 1)
    data["player"]["params"] = {
        "api_key": "planted-word-0815",
        "Authorization": f"Bearer {planted}",
        "base_url": "https://user:planted-word-0815@example.org/v1?api_key=planted-word-0815",
        "note": planted,
        "max_tokens": 512,
        "stop": "###",
    }
    put(folder, data)
    import_public(tree, folder)
    for path in tree.root.rglob("*.json"):
        assert "planted" not in path.read_text(encoding="utf-8"), path
    [info] = tree.players(SUITE, "en")
    assert (info.sampling["max_tokens"], info.sampling["stop"]) == (512, "###")


# --- version 1 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("old_names", [False, True])
def test_version_1_goes_into_a_suite_of_its_own_scale(
    tree: ResultsTree, folder: Path, old_names: bool
) -> None:
    put(folder, version_1(old_names=old_names), "mistral_nemo.json")
    report = import_public(tree, folder)
    assert (report.suites, report.problems) == (("ping-pong-bench-v1",), ())
    [first, _] = judgements_of(tree, "vendor/old", "ping-pong-bench-v1")
    assert first.protocol == "pingpong_v1"
    assert first.judge == "claude-3-5-sonnet-20240620"
    assert max(max(turn.scores.values()) for turn in first.turns) > 5
    assert load_board(tree, "ping-pong-bench-v1", "en", prompts={}).board.criteria == (
        "in_character",
        "entertaining",
        "fluency",
    )


@pytest.mark.parametrize("telling", ["tester", "has_refusal", "scores"])
def test_a_file_without_a_version_is_of_the_one_whose_names_it_has(
    tree: ResultsTree, folder: Path, telling: str
) -> None:
    data = version_1(old_names=telling == "tester")
    data.pop("version", None)
    for output in data["outputs"]:
        if telling != "has_refusal":
            output.pop("has_refusal")
        if telling != "scores":
            names = {"stay_in_character": "in_character", "entertainment": "entertaining"}
            names |= {"language_fluency": "fluency"}
            output["scores"] = {names.get(key, key): value for key, value in output["scores"].items()}
    data["outputs"].insert(0, None)
    put(folder, data, "old.json")
    report = import_public(tree, folder)
    assert (report.suites, report.judgements) == (("ping-pong-bench-v1",), 2)


def test_a_version_1_talk_that_ended_at_a_refusal_keeps_the_refused_turn(
    tree: ResultsTree, folder: Path
) -> None:
    put(folder, version_1(refusal=True), "old.json")
    assert import_public(tree, folder).problems == ()
    refused = [j for j in judgements_of(tree, "vendor/old", "ping-pong-bench-v1") if j.turns[-1].is_refusal]
    assert len(refused) == 1
    assert len(refused[0].turns) == 3
    assert refused[0].turns[-1].scores == {"in_character": 2, "entertaining": 3, "fluency": 9}


def test_version_1_may_bear_version_2_keys(tree: ResultsTree, folder: Path) -> None:
    data = version_1()
    for output in data["outputs"]:
        old = output["scores"]
        output["scores"] = {
            "in_character": old["stay_in_character"],
            "entertaining": old["entertainment"],
            "fluency": old["language_fluency"],
        }
    put(folder, data, "old.json")
    assert import_public(tree, folder).problems == ()


def test_both_versions_in_one_folder_do_not_mix(tree: ResultsTree, folder: Path) -> None:
    put(folder, version_1(), "old.json")
    put(folder, version_2(0, "gpt_4o", 1, 1))
    assert import_public(tree, folder, suite="public").suites == ("public", "public-v1")


@pytest.mark.parametrize("name", ["Ping Pong", "../x", "external", "own", ""])
def test_a_suite_that_cannot_hold_imports_is_refused(tree: ResultsTree, folder: Path, name: str) -> None:
    make_public(folder)
    with pytest.raises(UserError):
        import_public(tree, folder, suite=name, own_suites=frozenset({"own"}))
    assert not tree.root.exists()


def test_evidence_of_our_own_is_never_replaced(tree: ResultsTree, folder: Path) -> None:
    put(folder, version_2(0, "gpt_4o", 1, 1))
    import_public(tree, folder)
    [talk] = conversations_of(tree, "p")
    tree.write_conversation(talk.model_copy(update={"origin": None}), replace=True)
    with pytest.raises(UserError, match="not imported"):
        import_public(tree, folder)


def test_the_command_reports_counts_and_problems(tmp_path: Path) -> None:
    tiny = make_tiny(tmp_path / "tiny")
    folder = tmp_path / "public"
    make_public(folder, players=1, characters=1, situations=2)
    (folder / "broken.json").write_text("{", encoding="utf-8")
    words = ["import", "ping-pong-bench", str(folder), "--language", "en", *tiny.options()]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0
    assert "1 player, 2 conversations, 4 judgements from 2 files" in done.stdout
    assert "broken.json: is incomplete" in done.stderr


def test_the_command_fails_where_nothing_could_be_imported(tmp_path: Path) -> None:
    tiny = make_tiny(tmp_path / "tiny")
    (tmp_path / "empty").mkdir()
    words = ["import", "ping-pong-bench", str(tmp_path / "empty"), "--language", "en", *tiny.options()]
    with pytest.raises(UserError, match="no result file"):
        CliRunner().invoke(cli, words, catch_exceptions=False)
    (tmp_path / "empty" / "broken.json").write_text("[", encoding="utf-8")
    assert CliRunner().invoke(cli, words).exit_code == 1
