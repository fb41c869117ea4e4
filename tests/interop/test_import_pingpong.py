"""Result files of ping_pong_bench become records that are marked as imported."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from click.testing import CliRunner
from scipy.stats import kendalltau

from bench.audit import audit_tree
from bench.boards.loading import load_board, write_board
from bench.catalog import Catalog
from bench.cli import cli
from bench.errors import UserError
from bench.interop.pingpong_files import Choice
from bench.interop.pingpong_import import ImportReport, import_pingpong
from bench.records import Conversation, Judgement, canonical, digest_of
from bench.results import ResultsTree
from tests.interop.public_files import make_public, version_1, version_2
from tests.tiny import make_tiny

SUITE = "ping-pong-bench"


@pytest.fixture
def tree(tmp_path: Path) -> ResultsTree:
    return ResultsTree(tmp_path / "results")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "public"
    made.mkdir()
    return made


def _put(folder: Path, data: object, name: str = "judge_gpt_4o_player_p.json") -> None:
    (folder / name).write_text(json.dumps(data), encoding="utf-8")


def _import(tree: ResultsTree, path: Path, **options: Any) -> ImportReport:
    return import_pingpong(tree, path, language="en", **options)


def _conversations(tree: ResultsTree, player: str, suite: str = SUITE) -> list[Conversation]:
    return list(tree.conversations(suite, "en", player))


def _judgements(tree: ResultsTree, player: str, suite: str = SUITE) -> list[Judgement]:
    return list(tree.judgements(suite, "en", player))


# --- what is sound ----------------------------------------------------------------------------------------


def test_two_judges_files_become_one_conversation_with_two_judgements(
    tree: ResultsTree, folder: Path
) -> None:
    make_public(folder, players=2, characters=2, situations=2)
    report = _import(tree, folder)
    assert (report.players, report.conversations, report.judgements) == (2, 8, 16)
    assert report.problems == ()
    assert len(_conversations(tree, "player_0")) == 4
    assert {j.judge for j in _judgements(tree, "player_0")} == {"claude_3_5_sonnet", "gpt_4o"}


def test_texts_scores_and_refusals_are_those_of_the_file(tree: ResultsTree, folder: Path) -> None:
    data = version_2(0, "gpt_4o", 1, 1)
    output = data["outputs"][0]
    output["scores"]["is_refusal"] = [0, 1, 0, 0]
    _put(folder, data)
    _import(tree, folder)
    [talk], [verdict] = _conversations(tree, "p"), _judgements(tree, "p")
    assert [m.plain() for m in talk.messages] == output["messages"]
    assert talk.scene.character_name == talk.character == "Character 1"
    assert talk.scene.card == output["character"]["system_prompt"]
    assert talk.scene.situation == output["situation"]["text"]
    assert [turn.is_refusal for turn in verdict.turns] == [False, True, False, False]
    for name in ("in_character", "entertaining", "fluency"):
        assert [turn.scores[name] for turn in verdict.turns] == output["scores"][name]


def test_imported_evidence_says_where_it_is_from(tree: ResultsTree, folder: Path) -> None:
    _put(folder, version_2(0, "gpt_4o", 1, 1))
    _import(tree, folder)
    [talk], [verdict] = _conversations(tree, "p"), _judgements(tree, "p")
    source = "ping_pong_bench version 2, judge_gpt_4o_player_p.json"
    assert talk.origin == f"{source}; interrogator gpt-4o-mini"
    assert verdict.origin == f"{source}; judge gpt-4o"
    assert (verdict.raw, verdict.calls, talk.calls) == ((), (), ())


def test_the_audit_finds_nothing_wrong_with_an_import_and_says_that_it_is_one(
    tree: ResultsTree, folder: Path
) -> None:
    make_public(folder, refusal_rate=0.3)
    _import(tree, folder)
    write_board(tree, load_board(tree, SUITE, "en", prompts={}).board)
    report = audit_tree(tree, {}, None)
    assert {f.code for f in report.findings} == {"imported", "fingerprint-unknown"}
    assert report.ok


def test_imported_records_are_written_as_all_others_are(tree: ResultsTree, folder: Path) -> None:
    data = version_2(0, "gpt_4o", 1, 1)
    text = "".join(map(chr, range(0x250))) + "\u2028\U0001f600\ufeff\\/"
    data["outputs"][0]["messages"][1]["content"] = text
    _put(folder, data)
    _import(tree, folder)
    [talk], [verdict] = _conversations(tree, "p"), _judgements(tree, "p")
    assert talk.messages[1].content == text
    for record, path in (
        (talk, tree.conversation_path(talk)),
        (verdict, tree.judgement_path(verdict, "gpt_4o")),
    ):
        assert path.read_bytes() == canonical(record.plain()).encode()
        assert record.digest == digest_of(record)


def test_importing_again_changes_nothing(tree: ResultsTree, folder: Path) -> None:
    make_public(folder)
    assert _import(tree, folder).written > 0
    assert _import(tree, folder).written == 0


def test_a_corrected_file_replaces_what_was_imported(tree: ResultsTree, folder: Path) -> None:
    data = version_2(0, "gpt_4o", 1, 1)
    _put(folder, data)
    _import(tree, folder)
    data["outputs"][0]["scores"]["fluency"][0] = 1
    _put(folder, data)
    assert _import(tree, folder).written == 1
    assert _judgements(tree, "p")[0].turns[0].scores["fluency"] == 1


def test_a_conversation_scores_as_in_the_paper(tree: ResultsTree, folder: Path) -> None:
    make_public(folder, players=1, characters=3, situations=1)
    _import(tree, folder)
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
    _import(tree, folder)
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
    _put(folder, known, "judge_j_player_known.json")
    _put(folder, unknown, "judge_j_player_unknown.json")
    _import(tree, folder, catalog=catalog)
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
    _put(folder, data)
    _import(tree, folder)
    for path in tree.root.rglob("*.json"):
        assert "planted" not in path.read_text(encoding="utf-8"), path
    [info] = tree.players(SUITE, "en")
    assert (info.sampling["max_tokens"], info.sampling["stop"]) == (512, "###")


# --- version 1 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("old_names", [False, True])
def test_version_1_goes_into_a_suite_of_its_own_scale(
    tree: ResultsTree, folder: Path, old_names: bool
) -> None:
    _put(folder, version_1(old_names=old_names), "mistral_nemo.json")
    report = _import(tree, folder)
    assert (report.suites, report.problems) == (("ping-pong-bench-v1",), ())
    [first, _] = _judgements(tree, "vendor/old", "ping-pong-bench-v1")
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
    _put(folder, data, "old.json")
    report = _import(tree, folder)
    assert (report.suites, report.judgements) == (("ping-pong-bench-v1",), 2)


def test_a_version_1_talk_that_ended_at_a_refusal_keeps_the_refused_turn(
    tree: ResultsTree, folder: Path
) -> None:
    _put(folder, version_1(refusal=True), "old.json")
    assert _import(tree, folder).problems == ()
    refused = [j for j in _judgements(tree, "vendor/old", "ping-pong-bench-v1") if j.turns[-1].is_refusal]
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
    _put(folder, data, "old.json")
    assert _import(tree, folder).problems == ()


def test_both_versions_in_one_folder_do_not_mix(tree: ResultsTree, folder: Path) -> None:
    _put(folder, version_1(), "old.json")
    _put(folder, version_2(0, "gpt_4o", 1, 1))
    assert _import(tree, folder, suite="public").suites == ("public", "public-v1")


# --- what is not sound ------------------------------------------------------------------------------------


def _drop_message(output: dict[str, Any]) -> None:
    output["messages"].pop()


SPOILT: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no messages": (lambda o: o.pop("messages"), "messages"),
    "an unanswered question": (_drop_message, "messages"),
    "a message without text": (lambda o: o["messages"][1].update(content=None), "messages.1.content"),
    "a strange role": (lambda o: o["messages"][0].update(role="tool"), "messages.0.role"),
    "two answers in a row": (lambda o: o["messages"].pop(2), "messages"),
    "half a surrogate": (lambda o: o["messages"][1].update(content="\ud800"), "messages.1.content"),
    "no character": (lambda o: o.pop("character"), "character"),
    "no situation text": (lambda o: o["situation"].update(text=" "), "situation.text"),
}
UNSCORED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no scores": (lambda o: o.pop("scores"), "scores"),
    "no criterion": (lambda o: o["scores"].pop("fluency"), "scores.fluency"),
    "a turn unscored": (lambda o: o["scores"]["fluency"].pop(), "scores.fluency"),
    "a score off the scale": (lambda o: o["scores"]["fluency"].__setitem__(1, 6), "scores.fluency.1"),
    "a half score": (lambda o: o["scores"]["fluency"].__setitem__(1, 3.5), "scores.fluency.1"),
    "a true score": (lambda o: o["scores"]["fluency"].__setitem__(1, True), "scores.fluency.1"),
    "an endless score": (lambda o: o["scores"]["fluency"].__setitem__(1, 10**400), "scores.fluency.1"),
    "a text for a score": (lambda o: o["scores"]["fluency"].__setitem__(1, "4"), "scores.fluency.1"),
    "a strange refusal": (lambda o: o["scores"]["is_refusal"].__setitem__(0, 2), "scores.is_refusal.0"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_an_unsound_conversation_is_reported_and_the_others_imported(
    tree: ResultsTree, folder: Path, case: str
) -> None:
    spoil, place = SPOILT[case]
    data = version_2(0, "gpt_4o", 2, 2)
    spoil(data["outputs"][1])
    _put(folder, data)
    report = _import(tree, folder)
    assert (report.conversations, report.judgements) == (3, 3)
    [problem] = report.problems
    assert problem.path == "judge_gpt_4o_player_p.json"
    assert problem.place.startswith("outputs.1.")
    assert problem.place.endswith(place)


@pytest.mark.parametrize("case", UNSCORED)
def test_a_conversation_with_unsound_scores_is_kept_without_them(
    tree: ResultsTree, folder: Path, case: str
) -> None:
    spoil, place = UNSCORED[case]
    data = version_2(0, "gpt_4o", 2, 2)
    spoil(data["outputs"][1])
    _put(folder, data)
    report = _import(tree, folder)
    assert (report.conversations, report.judgements) == (4, 3)
    assert [problem.place for problem in report.problems] == [f"outputs.1.{place}"]


def test_a_file_that_breaks_off_gives_its_whole_outputs(tree: ResultsTree, folder: Path) -> None:
    make_public(folder, players=1, characters=2, situations=2, judges=("gpt_4o",))
    path = folder / "judge_gpt_4o_player_player_0.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.rindex('"messages"') + 200], encoding="utf-8")
    report = _import(tree, folder)
    assert report.conversations == 3
    assert report.problems[0].text.startswith("is incomplete")


def test_judges_of_other_messages_are_not_merged(tree: ResultsTree, folder: Path) -> None:
    make_public(folder, players=1, characters=1, situations=1)
    path = folder / "judge_gpt_4o_player_player_0.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["outputs"][0]["messages"][1]["content"] = "Something else."
    path.write_text(json.dumps(data), encoding="utf-8")
    report = _import(tree, folder)
    assert (report.conversations, report.judgements) == (1, 1)
    [problem] = report.problems
    assert (problem.path, problem.place) == ("judge_gpt_4o_player_player_0.json", "outputs.0.messages")
    assert "judge_claude_3_5_sonnet_player_player_0.json" in problem.text


def test_a_cell_that_stands_twice_in_a_file_is_taken_once(tree: ResultsTree, folder: Path) -> None:
    data = version_2(0, "gpt_4o", 1, 1)
    data["outputs"].append(data["outputs"][0])
    _put(folder, data)
    report = _import(tree, folder)
    assert report.judgements == 1
    assert [problem.place for problem in report.problems] == ["outputs.1"]


def test_one_name_for_two_models_is_reported(tree: ResultsTree, folder: Path) -> None:
    make_public(folder, players=1, characters=1, situations=1)
    path = folder / "judge_gpt_4o_player_player_0.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["player"]["params"]["temperature"] = 1.0
    path.write_text(json.dumps(data), encoding="utf-8")
    report = _import(tree, folder)
    assert (report.judgements, [problem.place for problem in report.problems]) == (1, ["player"])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is incomplete"),
        (b"[]", "should be an object"),
        (b'{"outputs": []}', "outputs: "),
        (b'{"outputs": 3}', "outputs: "),
        (b"\xff\xfe", "is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"outputs": [' + b"[" * 100 + b"]" * 100 + b"]}", "outputs.0: "),
        (b'{"outputs": [1], "version": 3}', "version: Input should be 1 or 2"),
        (b'{"outputs": [NaN]}', "NaN is not JSON"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    ],
)
def test_an_unreadable_file_is_reported(tree: ResultsTree, folder: Path, content: bytes, text: str) -> None:
    (folder / "judge_a_player_b.json").write_bytes(content)
    report = _import(tree, folder)
    assert report.conversations == 0
    assert text in " ".join(problem.line() for problem in report.problems)


def test_a_file_beyond_the_size_limit_is_not_read(
    tree: ResultsTree, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.interop.pingpong_files.MAX_BYTES", 1024)
    _put(folder, version_2(0, "gpt_4o", 1, 1))
    [problem] = _import(tree, folder).problems
    assert "larger than" in problem.text


def test_links_and_special_files_are_not_read(tree: ResultsTree, folder: Path, tmp_path: Path) -> None:
    _put(tmp_path, version_2(0, "gpt_4o", 1, 1), "outside.json")
    (folder / "judge_a_player_b.json").symlink_to(tmp_path / "outside.json")
    os.mkfifo(folder / "judge_a_player_c.json")
    report = _import(tree, folder)
    assert [problem.path for problem in report.problems] == ["judge_a_player_b.json", "judge_a_player_c.json"]
    assert not tree.root.exists()


def test_hostile_names_stay_inside_the_results_tree(tree: ResultsTree, folder: Path) -> None:
    data = version_2(0, "x", 1, 1)
    data["player"]["model_name"] = "../../evil"
    data["judge"]["model_name"] = "/etc/passwd"
    data["outputs"][0]["character"]["char_name"] = "..\\..\x00\x1b[2J"
    _put(folder, data, "plain.json")
    assert _import(tree, folder).judgements == 1
    assert len(_judgements(tree, "../../evil")) == 1
    below = [path.relative_to(tree.root.parent) for path in tree.root.parent.rglob("*.json")]
    assert {path.parts[0] for path in below} == {"public", "results"}


# --- where it goes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Ping Pong", "../x", "external", "own", ""])
def test_a_suite_that_cannot_hold_imports_is_refused(tree: ResultsTree, folder: Path, name: str) -> None:
    make_public(folder)
    with pytest.raises(UserError):
        _import(tree, folder, suite=name, own_suites=frozenset({"own"}))
    assert not tree.root.exists()


def test_evidence_of_our_own_is_never_replaced(tree: ResultsTree, folder: Path) -> None:
    _put(folder, version_2(0, "gpt_4o", 1, 1))
    _import(tree, folder)
    [talk] = _conversations(tree, "p")
    tree.write_conversation(talk.model_copy(update={"origin": None}), replace=True)
    with pytest.raises(UserError, match="not imported"):
        _import(tree, folder)


def test_the_command_reports_counts_and_problems(tmp_path: Path) -> None:
    tiny = make_tiny(tmp_path / "tiny")
    folder = tmp_path / "public"
    make_public(folder, players=1, characters=1, situations=2)
    (folder / "broken.json").write_text("{", encoding="utf-8")
    words = ["import", "ping-pong-bench", str(folder), "--language", "en", *tiny.options()]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0
    assert "1 players, 2 conversations, 4 judgements from 2 files" in done.stdout
    assert "broken.json: is incomplete" in done.stderr


def test_the_command_fails_where_nothing_could_be_imported(tmp_path: Path) -> None:
    tiny = make_tiny(tmp_path / "tiny")
    (tmp_path / "empty").mkdir()
    words = ["import", "ping-pong-bench", str(tmp_path / "empty"), "--language", "en", *tiny.options()]
    with pytest.raises(UserError, match="no result file"):
        CliRunner().invoke(cli, words, catch_exceptions=False)
    (tmp_path / "empty" / "broken.json").write_text("[", encoding="utf-8")
    assert CliRunner().invoke(cli, words).exit_code == 1


# --- experiments with several interrogators or judges ------------------------------------------------------


def _experiment(folder: Path) -> None:
    """Two players, each asked by two interrogators, whose questions differ."""
    for p in range(2):
        for n, asker in enumerate(("gpt_4o_mini", "Claude 3.5")):
            name = f"judge_gpt_4o_player_p{p}_interrogator_{asker}.json"
            _put(folder, version_2(p, "gpt_4o", 2, 2, seed=n), name)


def test_each_interrogator_of_an_experiment_has_a_suite_of_its_own(tree: ResultsTree, folder: Path) -> None:
    _experiment(folder)
    report = _import(tree, folder)
    assert report.problems == ()
    assert report.suites == (f"{SUITE}-claude-3-5", f"{SUITE}-gpt-4o-mini")
    assert (report.conversations, report.judgements) == (16, 16)
    first, second = (_conversations(tree, "p0", suite) for suite in report.suites)
    assert len(first) == len(second) == 4
    assert first[0].messages != second[0].messages


def test_suites_of_two_interrogators_are_compared_by_kendall(tmp_path: Path) -> None:
    folder = tmp_path / "public"
    folder.mkdir()
    for p in range(4):
        for n, asker in enumerate(("a", "b")):
            data = version_2(p, "gpt_4o", 2, 2, seed=n)
            _put(folder, data, f"judge_gpt_4o_player_p{p}_interrogator_{asker}.json")
    options = ["--results", str(tmp_path / "results")]
    run = CliRunner().invoke
    assert run(cli, ["import", "ping-pong-bench", str(folder), "-l", "en", *options]).exit_code == 0
    words = ["analyse", f"{SUITE}-a", "-l", "en", "--swap-with", f"{SUITE}-b", "--only", "board_swap"]
    result = run(cli, [*words, "--format", "json", *options])
    [pair, mean_of_pairs] = json.loads(result.output)["analyses"][0]["rows"]
    scores = [
        [
            mean(
                sum(map(mean, (o["scores"][n] for n in ("in_character", "entertaining", "fluency"))))
                for o in version_2(p, "gpt_4o", 2, 2, seed=seed)["outputs"]
            )
            for p in range(4)
        ]
        for seed in (0, 1)
    ]
    assert pair["players"] == 4
    # answers are shorter than what normalisation bites on by less than the players' differences
    assert pair["kendall"] == pytest.approx(kendalltau(*scores).statistic, abs=1e-6)
    assert mean_of_pairs["kendall"] == pair["kendall"]


def test_only_the_judges_and_interrogators_asked_for_are_read(tree: ResultsTree, folder: Path) -> None:
    _experiment(folder)
    _put(
        folder,
        version_2(0, "claude_3_5_sonnet", 2, 2),
        "judge_claude_player_p0_interrogator_gpt_4o_mini.json",
    )
    report = _import(tree, folder, choice=Choice(frozenset({"gpt_4o"}), frozenset({"gpt_4o_mini"})))
    assert (report.files, report.suites) == (2, (f"{SUITE}-gpt-4o-mini",))
    assert {j.judge for j in _judgements(tree, "p0", f"{SUITE}-gpt-4o-mini")} == {"gpt_4o"}


def test_interrogators_whose_names_look_alike_are_not_mixed(tree: ResultsTree, folder: Path) -> None:
    for n, asker in enumerate(("gpt_4o", "gpt-4o", "...")):
        name = f"judge_gpt_4o_player_p_interrogator_{asker}.json"
        _put(folder, version_2(0, "gpt_4o", 1, 1, seed=n), name)
    report = _import(tree, folder)
    assert (report.suites, report.conversations) == ((f"{SUITE}-gpt-4o",), 1)
    assert len(report.problems) == 2
    for problem, asker in zip(report.problems, ("'...'", "'gpt_4o'"), strict=True):
        assert asker in problem.text


def test_the_command_says_so_where_no_file_is_of_the_judge_asked_for(tmp_path: Path) -> None:
    make_public(tmp_path / "public", players=1)
    words = ["import", "ping-pong-bench", str(tmp_path / "public"), "-l", "en", "--judge", "nobody"]
    result = CliRunner().invoke(cli, [*words, "--results", str(tmp_path / "results")])
    assert isinstance(result.exception, UserError)
