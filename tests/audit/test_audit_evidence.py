"""What was edited, moved, added, deleted or has grown stale is found, with its path and field."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bench.records import Conversation, Judgement, messages_sha256
from bench.results import read_record
from tests.audit.conftest import Audited
from tests.tiny import edit

CONVERSATION = "bard/conversations/anna.hello.json"
JUDGEMENT = "bard/judgements/strict/anna.hello.json"


def _with_score(judgement: Judgement, change: int) -> Judgement:
    """The judgement with its first score changed, within the scale."""
    turn = judgement.turns[0]
    name, score = next(iter(turn.scores.items()))
    score += change if score + change in range(1, 6) else -change
    forged = turn.model_copy(update={"scores": {**turn.scores, name: score}})
    return judgement.model_copy(update={"turns": (forged, *judgement.turns[1:])})


def test_a_clean_tree_has_no_finding(audited: Audited) -> None:
    report = audited.report(strict=True)
    assert report.findings == ()
    assert report.ok
    assert report.files == 2 * (1 + 4 + 4) + 1


def test_a_score_changed_by_one_does_not_fit_the_digest(audited: Audited) -> None:
    data = json.loads(audited.judgement_file.read_bytes())
    data["turns"][0]["scores"]["fluency"] += 1 if data["turns"][0]["scores"]["fluency"] < 5 else -1
    audited.judgement_file.write_text(json.dumps(data), encoding="utf-8")
    assert audited.found("digest") == [(JUDGEMENT, "digest")]
    assert audited.found("reread") == [(JUDGEMENT, "turns.0.scores.fluency")]


def test_a_score_changed_with_its_digest_does_not_fit_the_raw_reply(audited: Audited) -> None:
    changed = _with_score(audited.judgement, 1)
    audited.rewrite(changed)
    audited.write_board()
    name = next(iter(changed.turns[0].scores))
    assert audited.found("digest") == []
    assert audited.found("reread") == [(JUDGEMENT, f"turns.0.scores.{name}")]
    assert not audited.report().ok


@pytest.mark.parametrize("finish", ["network_error", "SPII", "MAX_TOKENS", "banana"])
def test_an_answer_that_an_earlier_version_took_for_whole_is_named(audited: Audited, finish: str) -> None:
    first, *rest = audited.conversation.calls
    calls = (first.model_copy(update={"finish_reason": finish}), *rest)
    audited.rewrite(audited.conversation.model_copy(update={"calls": calls}))
    assert audited.found("not-whole") == [(CONVERSATION, "calls.0.finish_reason")]


def test_raw_replies_taken_out_of_a_judgement_are_missed(audited: Audited) -> None:
    audited.rewrite(audited.judgement.model_copy(update={"raw": (), "calls": ()}))
    assert audited.found("raw-missing") == [(JUDGEMENT, "raw")]


def test_a_forged_record_cannot_pass_for_an_imported_one(audited: Audited) -> None:
    forged = _with_score(audited.judgement, 1).model_copy(update={"raw": (), "calls": (), "origin": "afar"})
    audited.rewrite(forged)
    audited.write_board()
    assert audited.found("foreign") == [("bard", "")]


def test_the_raw_replies_of_a_suite_that_is_gone_are_read_all_the_same(audited: Audited) -> None:
    audited.rewrite(_with_score(audited.judgement, 1))
    audited.tiny.suite_file.unlink()
    assert [path for path, _ in audited.found("reread")] == [JUDGEMENT]


def test_a_fault_of_the_parser_is_not_taken_for_a_finding(
    audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise AttributeError("a fault of the parser")

    monkeypatch.setattr("bench.audit.evidence.reread", broken)
    with pytest.raises(AttributeError):
        audited.report()


def test_an_edited_message_does_not_fit_the_digest_nor_what_the_judge_read(audited: Audited) -> None:
    edit(audited.conversation_file, audited.conversation.messages[1].content, "Something else.")
    assert audited.found("digest") == [(CONVERSATION, "digest")]
    assert audited.found("conversation-changed") == [(JUDGEMENT, "conversation_sha256")]


def test_a_message_edited_with_its_digest_is_not_what_the_judge_read(audited: Audited) -> None:
    talk = audited.conversation
    said = talk.messages[1].model_copy(update={"content": "Something else."})
    audited.rewrite(talk.model_copy(update={"messages": (talk.messages[0], said, *talk.messages[2:])}))
    assert audited.found("digest") == []
    assert audited.found("conversation-changed") == [(JUDGEMENT, "conversation_sha256")]


def test_a_judgement_whose_hash_was_edited_too_does_not_fit_its_fingerprint(audited: Audited) -> None:
    talk = audited.conversation
    said = talk.messages[1].model_copy(update={"content": "Something else."})
    messages = (talk.messages[0], said, *talk.messages[2:])
    audited.rewrite(talk.model_copy(update={"messages": messages}))
    sha256 = messages_sha256(messages)
    audited.rewrite(audited.judgement.model_copy(update={"conversation_sha256": sha256}))
    assert audited.found("stale-judgement", strict=True) == [(JUDGEMENT, "fingerprint")]


def test_a_judgement_moved_to_another_player_is_misplaced(audited: Audited) -> None:
    target = audited.folder / "actor/judgements/strict/anna.hello.json"
    audited.judgement_file.replace(target)
    assert audited.found("misplaced") == [("actor/judgements/strict/anna.hello.json", "player")]
    assert not audited.report().ok


def test_a_moved_judgement_that_names_its_new_player_is_not_of_that_conversation(audited: Audited) -> None:
    audited.rewrite(audited.judgement.model_copy(update={"player": "actor"}))
    found = audited.found("conversation-changed")
    assert found == [("actor/judgements/strict/anna.hello.json", "conversation_sha256")]


def test_a_copied_file_is_misplaced_and_double(audited: Audited) -> None:
    copy = audited.conversation_file.with_name("bruno.hello.json")
    copy.write_bytes(audited.conversation_file.read_bytes())
    assert audited.found("misplaced") == [("bard/conversations/bruno.hello.json", "character")]
    assert audited.found("duplicate-cell") == [("bard/conversations/bruno.hello.json", "character")]


def test_a_conversation_taken_over_word_for_word_is_said(audited: Audited) -> None:
    audited.rewrite(audited.conversation.model_copy(update={"player": "actor"}))
    assert audited.found("duplicate-messages") == [("bard/conversations/anna.hello.json", "messages")]


def test_a_verdict_that_nobody_can_give_again_is_to_be_deleted(audited: Audited) -> None:
    messages = tuple(m.model_copy(update={"content": f"{m.content}!"}) for m in audited.conversation.messages)
    audited.rewrite(audited.conversation.model_copy(update={"messages": messages}))
    audited.rewrite(audited.judgement.model_copy(update={"judge": "gone"}))
    texts = {
        f.path.split("/")[-2]: f.text for f in audited.report().findings if f.code == "conversation-changed"
    }
    assert "`bench judge tiny -l en -p bard -j strict --refresh-stale`" in texts["strict"]
    assert "'gone' is not in models.toml" in texts["gone"]


def test_a_verdict_taken_over_word_for_word_is_said(audited: Audited) -> None:
    audited.rewrite(audited.judgement.model_copy(update={"judge": "lenient"}))
    assert audited.found("duplicate-replies") == [(JUDGEMENT, "raw")]


def test_a_deleted_judgement_is_missing_and_the_board_differs(audited: Audited) -> None:
    audited.judgement_file.unlink()
    assert audited.found("missing-judgement") == [("bard/judgements/strict", "")]
    fields = [field for _, field in audited.found("board-differs")]
    assert "rows.bard.judgements_missing" in fields
    assert not audited.report().ok


def test_a_deleted_conversation_leaves_an_orphan(audited: Audited) -> None:
    audited.conversation_file.unlink()
    assert audited.found("missing-conversation") == [("bard/conversations", "")]
    assert audited.found("orphan") == [(JUDGEMENT, "")]
    assert not audited.report().ok


def test_a_deleted_player_file_is_missed(audited: Audited) -> None:
    (audited.folder / "bard/player.json").unlink()
    assert audited.found("player-missing") == [("bard", "")]


def test_a_deleted_player_makes_the_board_differ(audited: Audited) -> None:
    shutil.rmtree(audited.folder / "bard")
    assert ("board.json", "rows.bard") in audited.found("board-differs")


def test_an_added_judgement_makes_the_board_differ(audited: Audited) -> None:
    added = audited.judgement_file.read_bytes()
    audited.judgement_file.unlink()
    audited.write_board()
    audited.judgement_file.write_bytes(added)
    assert ("board.json", "rows.bard.judgements_ok") in audited.found("board-differs")


@pytest.mark.parametrize(
    "name",
    [
        "tiny/notes.txt",
        "tiny/en/scores.json",
        "tiny/en/bard/extra.json",
        "tiny/en/bard/conversations/anna.hello.txt",
        "tiny/en/bard/judgements/anna.hello.json",
        "tiny/en/bard/judgements/strict/more/anna.hello.json",
        "tiny/en/bard/reviews/strict/anna.hello.json",
    ],
)
def test_an_added_file_belongs_nowhere(audited: Audited, name: str) -> None:
    path = audited.tree.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}", encoding="utf-8")
    report = audited.report()
    assert [(f.code, f.path) for f in report.findings] == [("unknown-file", name)]
    assert not report.ok


def test_a_link_is_named_and_not_followed(audited: Audited, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    audited.conversation_file.replace(elsewhere)
    audited.conversation_file.symlink_to(elsewhere)
    assert audited.found("symlink") == [(CONVERSATION, "")]
    assert audited.found("missing-conversation") == [("bard/conversations", "")]


def test_a_leftover_of_a_killed_run_is_a_warning(audited: Audited) -> None:
    (audited.conversation_file.parent / ".tmp-host-1-2").write_bytes(b"{")
    assert audited.found("leftover") == [("bard/conversations/.tmp-host-1-2", "")]
    assert audited.report().ok


@pytest.mark.parametrize("role", ["player", "interrogator"])
def test_a_template_changed_after_the_run_makes_conversations_stale(audited: Audited, role: str) -> None:
    path = audited.tiny.suite_file.with_name(f"{role}.jinja")
    path.write_text(path.read_text(encoding="utf-8") + "\nOne more thing.\n", encoding="utf-8")
    assert len(audited.found("stale-conversation")) == 8
    assert audited.found("stale-judgement") == []


def test_a_changed_situation_makes_its_conversations_stale(audited: Audited) -> None:
    edit(audited.tiny.situation_file, "ask about the lamp", "ask about the sea")
    assert audited.found("stale-conversation") == [
        (f"{player}/conversations/{character}.hello.json", "fingerprint")
        for player in ("actor", "bard")
        for character in ("anna", "bruno")
    ]


def test_stale_evidence_is_an_error_only_if_strict(audited: Audited) -> None:
    edit(audited.tiny.suite_file, "temperature = 0.1", "temperature = 0.2")
    assert len(audited.found("stale-judgement")) == 8
    assert audited.report().ok
    assert not audited.report(strict=True).ok


def test_another_version_of_the_suite_is_said_once_a_file(audited: Audited) -> None:
    edit(audited.tiny.suite_file, 'version = "1"', 'version = "2"')
    assert len(audited.found("other-version")) == 16
    assert audited.found("stale-conversation") == []


def test_a_player_that_left_the_catalog_is_a_note(audited: Audited) -> None:
    edit(audited.tiny.models, "[models.actor]", "[models.somebody]")
    assert audited.found("fingerprint-unknown") == [("actor/player.json", "player")]
    assert audited.report(strict=True).ok


def test_a_judge_that_left_the_catalog_is_a_note(audited: Audited) -> None:
    edit(audited.tiny.models, "[models.strict]", "[models.somebody]")
    assert audited.found("fingerprint-unknown") == [("tiny/en", "")]
    assert audited.report(strict=True).ok


def test_a_recorded_failure_is_a_note(audited: Audited) -> None:
    failed = {"status": "failed", "turns": (), "raw": ("x",), "calls": audited.judgement.calls[:1]}
    again = audited.tiny.protocol().reread(
        audited.judgement.model_copy(update=failed), read_record(Conversation, audited.conversation_file)
    )
    audited.rewrite(again)
    audited.write_board()
    assert audited.found("failed-judgement") == [(JUDGEMENT, "failure")]
    assert audited.report(strict=True).ok


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"turn": 1', '"turn": "1"', "calls.0.turn"),
        ('"schema_version": 1', '"schema_version": 9', "schema_version"),
        ('"status": "ok"', '"state": "ok"', "status"),
    ],
)
def test_a_file_off_its_schema_is_named_with_the_field(
    audited: Audited, old: str, new: str, field: str
) -> None:
    edit(audited.judgement_file, old, new)
    assert (JUDGEMENT, field) in audited.found("schema")


def test_a_damaged_file_is_named(audited: Audited) -> None:
    audited.conversation_file.write_bytes(audited.conversation_file.read_bytes()[:-20])
    assert audited.found("schema") == [(CONVERSATION, "")]
    assert [path for path, _ in audited.found("board-impossible")] == ["tiny/en"]


def test_a_score_off_the_scale_is_named(audited: Audited) -> None:
    turn = audited.judgement.turns[1]
    forged = turn.model_copy(update={"scores": {**turn.scores, "fluency": 6}})
    audited.rewrite(audited.judgement.model_copy(update={"turns": (audited.judgement.turns[0], forged)}))
    assert (JUDGEMENT, "turns.1.scores.fluency") in audited.found("inconsistent")


def test_other_bytes_of_the_same_record_are_a_warning(audited: Audited) -> None:
    path = audited.conversation_file
    path.write_text(json.dumps(json.loads(path.read_bytes())), encoding="utf-8")
    assert audited.found("not-canonical") == [(CONVERSATION, "")]
    assert audited.report().ok
