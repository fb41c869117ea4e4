"""bench diff: what changed on a board since a commit, and why each score and rank moved."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.boards.diff import board_diff
from bench.boards.life import rename_player
from bench.boards.loading import load_board
from bench.boards.record_changes import why_conversation, why_judgement
from bench.boards.versions import version_link
from bench.cli import cli
from bench.cli.diff import diff_text
from bench.errors import UserError
from bench.records import Call, Conversation, Judgement, sealed
from bench.results import ResultsTree
from tests.boards.conftest import commit, git, play, replay, since
from tests.scores.evidence import LANGUAGE, SUITE, Evidence


def test_nothing_changed(evidence: Evidence) -> None:
    diff = since(evidence)
    assert (diff.players, diff.moves, diff.unmoved, diff.reason) == ((), (), 2, None)


def test_player_that_came_takes_a_rank_and_moves_the_others(evidence: Evidence) -> None:
    play(evidence, "clara", [5, 5], text="x" * 50)
    diff = since(evidence)
    assert [(change.player, change.change, change.conversations) for change in diff.players] == [
        ("clara", "added", 2)
    ]
    assert diff.added["clara"].rank == 1
    assert {move.player: (move.before.rank, move.after.rank) for move in diff.moves} == {
        "anna": (1, 2),
        "boris": (2, 3),
    }
    assert {cause for move in diff.moves for cause in move.causes} == {"players"}


def test_player_that_left(evidence: Evidence) -> None:
    shutil.rmtree(evidence.tree.player_folder(SUITE, LANGUAGE, "anna"))
    diff = since(evidence)
    assert [(change.player, change.change) for change in diff.players] == [("anna", "removed")]
    (move,) = diff.moves
    assert (move.player, move.before.rank, move.after.rank) == ("boris", 2, 1)
    assert move.causes["players"].rank == -1


def test_rerun_moves_the_player_by_its_own_records_and_others_by_theirs(evidence: Evidence) -> None:
    replay(evidence, "boris", [5, 5], text="y" * 200)
    diff = since(evidence)
    (change,) = diff.players
    assert (change.change, change.conversations, change.judgements) == ("rerun", 2, 2)
    assert change.reasons == {"again": 2, "conversation": 2}
    moves = {move.player: move for move in diff.moves}
    assert set(moves["boris"].causes) == {"reruns"}
    assert set(moves["anna"].causes) == {"others"}
    for move in diff.moves:
        assert move.before.score is not None
        assert move.after.score is not None
        parts = [part.score for part in move.causes.values()]
        assert sum(part for part in parts if part is not None) == pytest.approx(
            move.after.score - move.before.score, abs=1e-5
        )


def test_judge_that_came_and_one_that_left(evidence: Evidence) -> None:
    for player in ("anna", "boris"):
        for talk in list(evidence.tree.conversations(SUITE, LANGUAGE, player)):
            evidence.judgement(talk, "mild", [(5, 5, 5)])
    diff = since(evidence)
    assert (diff.judges_added, diff.judges_removed) == (("mild",), ())
    assert {tuple(move.causes) for move in diff.moves} == {("judges",)}
    assert {change.reasons["judge"] for change in diff.players} == {2}
    for player in ("anna", "boris"):
        shutil.rmtree(evidence.tree.player_folder(SUITE, LANGUAGE, player) / "judgements" / "strict")
    diff = since(evidence)
    assert (diff.judges_added, diff.judges_removed) == (("mild",), ("strict",))
    for move in diff.moves:
        assert move.causes["judges"].score is None
        assert move.after.score == 5


def test_number_that_another_program_published(evidence: Evidence) -> None:
    path = evidence.tree.board_folder(SUITE, LANGUAGE) / "board.json"
    board = json.loads(path.read_text())
    board["rows"][0] |= {"length_norm_score": 3.5, "rank": 1, "a_field_of_later": 1}
    path.write_text(json.dumps(board))
    git(evidence.tree.root, "commit", "--quiet", "--all", "-m", "Other scoring")
    (move,) = since(evidence).moves
    assert (move.player, move.causes["scoring"].score) == ("anna", 0.5)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"version": 1, "judges": [], "rows": []}', None])
def test_board_json_that_is_missing_or_damaged_leaves_the_records(
    evidence: Evidence, content: str | None
) -> None:
    path = evidence.tree.board_folder(SUITE, LANGUAGE) / "board.json"
    path.unlink() if content is None else path.write_text(content)
    git(evidence.tree.root, "commit", "--quiet", "--all", "-m", "Damaged")
    replay(evidence, "boris", [5, 5], text="y" * 200)
    assert {move.player: set(move.causes) for move in since(evidence).moves} == {
        "anna": {"others"},
        "boris": {"reruns"},
    }


def test_player_that_was_renamed_is_the_same_player(evidence: Evidence) -> None:
    for player, to in (("anna", "bea"), ("bea", "anna-2")):
        rename_player(evidence.tree, SUITE, player, to, "A version came.")
    replay(evidence, "boris", [5, 5], text="y" * 200)
    diff = since(evidence)
    assert [(one.was, one.player) for one in diff.renamed] == [("anna", "anna-2")]
    assert [(change.player, change.change) for change in diff.players] == [("boris", "rerun")]
    assert {move.player: set(move.causes) for move in diff.moves} == {
        "anna-2": {"others"},
        "boris": {"reruns"},
    }
    assert diff.added == {}
    assert "Renamed: anna is now anna-2\n" in diff_text(diff)
    play(evidence, "anna", [1, 1])
    assert [change.change for change in since(evidence).players] == ["added", "rerun"]


def test_player_that_was_renamed_by_hand_may_be_the_added_one(evidence: Evidence) -> None:
    shutil.rmtree(evidence.tree.player_folder(SUITE, LANGUAGE, "anna"))
    play(evidence, "clara", [4, 4], text="another text")
    assert since(evidence).alike == ()
    play(evidence, "anna-2", [4, 4])
    diff = since(evidence)
    assert [(one.was, one.player) for one in diff.alike] == [("anna", "anna-2")]
    assert "anna may now be anna-2: they have the same conversations\n" in diff_text(diff)


def test_player_that_has_its_old_id_again_is_not_renamed(evidence: Evidence) -> None:
    for player, to in (("anna", "bea"), ("bea", "anna")):
        rename_player(evidence.tree, SUITE, player, to, "A mistake.")
    diff = since(evidence)
    assert (diff.renamed, diff.players, diff.added) == ((), (), {})


def test_other_version_of_the_suite_is_not_compared(evidence: Evidence) -> None:
    for info in evidence.tree.players(SUITE, LANGUAGE):
        shutil.rmtree(evidence.tree.player_folder(SUITE, LANGUAGE, info.player))
    evidence.player("anna")
    evidence.judgement(evidence.conversation("anna", "c/s0", version="2"), "strict", [(4, 4, 4)])
    diff = since(evidence)
    assert diff.versions == ("1", "2")
    assert diff.moves == ()
    assert diff.reason is not None


def test_every_reason_of_a_record() -> None:
    talk, verdict = _records()
    call = talk.calls[0]

    def changed(**changes: object) -> tuple[str, ...]:
        return why_conversation(talk, talk.model_copy(update=changes))

    assert changed(fingerprint="other") == ("prompt",)
    assert changed(scene=talk.scene.model_copy(update={"card": "other"})) == ("prompt",)
    assert changed(calls=(call.model_copy(update={"model": "n"}),), fingerprint="other") == ("model",)
    assert changed(calls=(call.model_copy(update={"parameters": {"top_p": 1}}),)) == ("parameters",)
    assert changed(version="2") == ("version",)
    assert changed(messages=()) == ("again",)
    assert changed(repairs=("turn 1: x",)) == ("details",)
    assert changed(status="failed") == ("failure",)
    assert why_conversation(talk.model_copy(update={"status": "failed"}), talk) == ("retry",)
    again = verdict.model_copy(update={"turns": ()})
    assert why_judgement(verdict, again) == ("reread",)
    assert why_judgement(verdict, again.model_copy(update={"raw": ("[]",)})) == ("again",)
    assert why_judgement(verdict, verdict.model_copy(update={"conversation_sha256": "0"})) == (
        "conversation",
    )
    assert why_judgement(verdict, verdict.model_copy(update={"fingerprint": "o"})) == ("prompt",)


def _records() -> tuple[Conversation, Judgement]:
    cell = {
        "suite": "s",
        "version": "1",
        "protocol": "p",
        "language": "en",
        "player": "p",
        "character": "c",
        "situation": "s",
    }
    call = Call.model_validate(
        {"role": "player", "turn": 1, "provider": "p", "model": "m", "parameters": {}, "outcome": "ok"}
    )
    scene = {"character_name": "", "summary": "", "card": "", "situation_title": "", "situation": ""}
    talk = Conversation.model_validate(
        {
            **cell,
            "scene": scene,
            "fingerprint": "f",
            "status": "complete",
            "messages": [{"role": "user", "content": "?"}],
            "calls": [call],
        }
    )
    verdict = Judgement.model_validate(
        {
            **cell,
            "judge": "j",
            "fingerprint": "f",
            "conversation_sha256": "1",
            "status": "ok",
            "turns": [{"turn": 1, "scores": {"fluency": 1}}],
            "raw": ["{}"],
            "calls": [],
        }
    )
    return sealed(talk), sealed(verdict)


# Mistakes


def test_results_outside_a_repository(tmp_path: Path) -> None:
    made = Evidence(tmp_path / "results")
    play(made, "anna", [4])
    with pytest.raises(UserError, match="no git history"):
        since(made)


@pytest.mark.parametrize("name", ["nope", "", " ", "--all", "-p", "HEAD:results", "HEAD..HEAD", "a\nb"])
def test_unknown_commit(evidence: Evidence, name: str) -> None:
    with pytest.raises(UserError, match="unknown commit"):
        since(evidence, name)


def test_commit_before_the_suite(evidence: Evidence) -> None:
    other = Evidence(evidence.tree.root, suite="other")
    play(other, "anna", [4])
    with pytest.raises(UserError, match="no results of suite 'other'"):
        board_diff(evidence.tree, "other", LANGUAGE, "HEAD")


def test_shallow_clone(evidence: Evidence, tmp_path: Path) -> None:
    first = git(evidence.tree.root, "rev-parse", "HEAD").strip()
    play(evidence, "clara", [5, 5])
    commit(evidence, "Second board")
    url = f"file://{evidence.tree.root.parent}"
    git(tmp_path, "clone", "--quiet", "--depth", "1", url, "clone")
    tree = ResultsTree(tmp_path / "clone" / "results")
    assert board_diff(tree, SUITE, LANGUAGE, "HEAD").unmoved == 3
    with pytest.raises(UserError, match="shallow"):
        board_diff(tree, SUITE, LANGUAGE, first)


def test_damaged_record_in_the_commit_names_it(evidence: Evidence) -> None:
    path = next(evidence.tree.root.glob("*/*/anna/conversations/*.json"))
    good = path.read_text()
    path.write_text("{")
    git(evidence.tree.root, "commit", "--quiet", "--all", "-m", "Damaged")
    path.write_text(good)
    with pytest.raises(UserError) as caught:
        since(evidence)
    assert path.name in caught.value.where
    assert "commit" in caught.value.where


def test_links_in_a_commit_are_not_followed(evidence: Evidence) -> None:
    path = next(evidence.tree.root.glob("*/*/anna/conversations/*.json"))
    path.unlink()
    path.symlink_to("/etc/hostname")
    git(evidence.tree.root, "commit", "--quiet", "--all", "-m", "A link")
    path.unlink()
    assert since(evidence).players == ()


# The command


def command(evidence: Evidence, *words: str) -> Result:
    options = ["--results", str(evidence.tree.root), "--prompts", str(evidence.tree.root)]
    return CliRunner().invoke(cli, ["diff", SUITE, *words, *options])


def test_command_as_text_and_json(evidence: Evidence) -> None:
    first = git(evidence.tree.root, "rev-parse", "HEAD").strip()
    replay(evidence, "boris", [5, 5], text="y" * 200)
    play(evidence, "clara", [5, 4])
    text = command(evidence, "--since", first).output
    assert first[:10] in text
    assert "Added: Clara: rank 2" in text
    assert "Rerun: Boris: 2 conversations, 2 judgements" in text
    made = json.loads(command(evidence, "--since", first, "--format", "json").output)
    assert made["since"] == first
    assert {move["player"] for move in made["moves"]} == {"anna", "boris"}


def test_names_of_models_cannot_write_to_the_terminal(evidence: Evidence) -> None:
    play(evidence, "clara", [5, 5])
    info = evidence.tree.players(SUITE, LANGUAGE)[-1]
    evidence.tree.write_player(SUITE, LANGUAGE, info.model_copy(update={"name": "\x1b[2JEvil\nRow"}))
    text = command(evidence, "--since", "HEAD").output
    assert "\x1b" not in text
    assert "\nRow" not in text


# Two versions


def versions(evidence: Evidence, suite: str = "newer", card: str = "C") -> Evidence:
    """Six players on sixteen scenes, in the suite of ``evidence`` and in a newer one, half a point higher."""
    newer = Evidence(evidence.tree.root, suite=suite)
    for n in range(6):
        for made, shift in ((evidence, 0), (newer, 1)):
            made.player(f"p{n}")
            for scene in range(16):
                score = (n + scene + scene * n) % 4 + 1
                talk = made.conversation(
                    f"p{n}", f"c{scene % 4}/s{scene // 4}", ["x" * (90 + shift)], costs=["0"]
                )
                if made is newer:
                    talk = talk.model_copy(update={"scene": talk.scene.model_copy(update={"card": card})})
                    made.tree.write_conversation(sealed(talk), replace=True)
                made.judgement(talk, "strict", [(score, score, min(5, score + shift))])
    return newer


def test_two_suites_are_linked_by_the_scenes_that_both_have(evidence: Evidence) -> None:
    for player in ("anna", "boris"):
        shutil.rmtree(evidence.tree.player_folder(SUITE, LANGUAGE, player))
    versions(evidence)
    options = ["--results", str(evidence.tree.root), "--prompts", str(evidence.tree.root)]
    words = ["diff", "newer", "--against", SUITE, "--format", "json", *options]
    made = json.loads(CliRunner().invoke(cli, words).output)
    assert (made["scenes"], made["players"], made["reason"]) == (
        16,
        6,
        "every score shifted by the same amount: no error is known",
    )
    talk = next(iter(evidence.tree.conversations("newer", LANGUAGE, "p0")))
    evidence.tree.judgement_path(talk, "strict").unlink()
    Evidence(evidence.tree.root, suite="newer").judgement(talk, "strict", [(5, 5, 5)])
    made = json.loads(CliRunner().invoke(cli, words).output)
    assert made["link"] == pytest.approx(1 / 3, abs=0.05)
    assert len(made["scores"]) == 6
    text = CliRunner().invoke(cli, ["diff", "newer", "--against", SUITE, *options]).output
    assert "16 anchor scenes and 6 players" in text


def test_conversations_that_were_copied_are_no_link(evidence: Evidence) -> None:
    newer = versions(evidence)
    shutil.rmtree(newer.tree.root / "newer")
    shutil.copytree(newer.tree.root / SUITE, newer.tree.root / "newer")
    for path in (newer.tree.root / "newer").rglob("*.json"):
        path.write_text(path.read_text().replace(f'"suite": "{SUITE}"', '"suite": "newer"'))
    boards = [load_board(evidence.tree, name, LANGUAGE).frames for name in (SUITE, "newer")]
    made = version_link((evidence.tree, boards[0]), (evidence.tree, boards[1]))
    assert made.link is None
    assert any("same in both" in note for note in made.notes)


@pytest.mark.parametrize(("card", "noted"), [("C", False), ("Other", True)])
def test_cards_that_all_differ_are_a_template_that_changed(
    evidence: Evidence, card: str, noted: bool
) -> None:
    versions(evidence, card=card)
    boards = [load_board(evidence.tree, name, LANGUAGE).frames for name in (SUITE, "newer")]
    made = version_link((evidence.tree, boards[0]), (evidence.tree, boards[1]))
    assert made.scenes == 16
    assert bool(made.notes) == noted


@pytest.mark.parametrize("words", [[], ["--since", "HEAD", "--against", "other"], ["--against", "nothing"]])
def test_command_without_one_thing_to_compare_with(evidence: Evidence, words: list[str]) -> None:
    assert isinstance(command(evidence, *words).exception, UserError)
