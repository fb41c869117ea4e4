"""Further judges, judgements that are read again, and the board as text and files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bench.records import Failure, sealed
from bench.scores.board import board_of
from tests.cli.conftest import ALL, TALKS, Bench, models_asked
from tests.scripted_server import ScriptedServer
from tests.tiny import Tiny, bytes_below, play_all


def test_a_further_judge_talks_to_no_player(bench: Bench, done: Tiny, server: ScriptedServer) -> None:
    before = bytes_below(done.tree.root)
    server.seen.clear()
    ended = bench("judge", "tiny", "--judge", "lenient", *done.options())
    assert f"0 conversations (0 failed), {TALKS} judgements (0 failed)" in ended.out
    assert models_asked(server) == {"lenient-1": TALKS}
    after = bytes_below(done.tree.root)
    assert {name: after[name] for name in before} == before
    assert len([name for name in after if "/judgements/lenient/" in name]) == TALKS


def test_judging_covers_the_languages_that_have_results(bench: Bench, tiny: Tiny) -> None:
    for kind in ("characters", "situations"):
        shutil.copytree(tiny.prompts / kind / "en", tiny.prompts / kind / "ru")
    play_all(tiny, "en", "ru")
    assert bench("run", "tiny", "-l", "ru", *tiny.options()).status == 0
    ended = bench("judge", "tiny", "-j", "lenient", *tiny.options())
    assert (ended.status, f"{TALKS} judgements (0 failed)" in ended.out) == (0, True)


def test_judging_a_language_without_results_says_so(bench: Bench, done: Tiny) -> None:
    shutil.copytree(done.prompts / "characters" / "en", done.prompts / "characters" / "ru")
    shutil.copytree(done.prompts / "situations" / "en", done.prompts / "situations" / "ru")
    play_all(done, "en", "ru")
    assert "language ru" in bench("judge", "tiny", "-l", "ru", "-j", "lenient", *done.options()).fault


def spoil(tiny: Tiny, raw: str) -> Path:
    """A judgement as an older parser left it: failed, with a raw reply that today's parser reads."""
    record = tiny.tree.judgement(tiny.cell(), "strict")
    assert record is not None
    failure = Failure(role="judge", turn=1, outcome="parse_error", reason="fences")
    changes = {"status": "failed", "turns": (), "failure": failure, "raw": (raw,)}
    tiny.tree.write_judgement(sealed(record.model_copy(update=changes)), replace=True)
    return tiny.tree.judgement_path(tiny.cell(), "strict")


def test_reading_again_heals_a_judgement_without_a_call(
    bench: Bench, ran: Tiny, server: ScriptedServer
) -> None:
    record = ran.tree.judgement(ran.cell(), "strict")
    assert record is not None
    path = spoil(ran, f"```json\n{record.raw[0]}\n```")
    ended = bench("judge", "tiny", "--reparse", *ran.options())
    assert "tiny en: 4 judgements re-parsed, 1 changed" in ended.out
    healed = json.loads(path.read_bytes())
    assert healed["status"] == "ok"
    assert healed["repairs"] == ["fence_removed"]
    assert server.count == ALL


def test_reading_again_where_nothing_changes_leaves_every_byte(bench: Bench, done: Tiny) -> None:
    before = bytes_below(done.tree.root)
    assert "4 judgements re-parsed, 0 changed" in bench("judge", "tiny", "--reparse", *done.options()).out
    assert bytes_below(done.tree.root) == before


def test_reading_again_is_for_the_judges_that_are_named(bench: Bench, done: Tiny) -> None:
    ended = bench("judge", "tiny", "--reparse", "-j", "lenient", *done.options())
    assert ended.status == 0
    zero, nothing = ended.out.splitlines()
    assert zero == "tiny en: 0 judgements re-parsed, 0 changed"
    assert "no judgement by lenient" in nothing


def test_judging_says_what_naming_a_player_means_there(bench: Bench) -> None:
    told = " ".join(bench("judge", "--help").out.split())
    assert "Default: every player with results." in told
    assert "Default: the suite's players." not in told
    assert "Default: the suite's players." in " ".join(bench("run", "--help").out.split())


def test_a_board_as_json_counts_what_it_rests_on(bench: Bench, done: Tiny) -> None:
    ended = bench("board", "tiny", "--language", "en", "--format", "json", *done.options())
    assert "stale" not in json.loads(ended.out)
    (row,) = json.loads(ended.out)["rows"]
    assert (row["player"], row["rank"], row["conversations"], row["judgements_failed"]) == ("bard", 1, 4, 0)


def test_a_board_as_csv_has_a_row_a_player(bench: Bench, done: Tiny) -> None:
    assert bench("run", "tiny", "-p", "actor", *done.options()).status == 0
    lines = bench("board", "tiny", "-l", "en", "--format", "csv", *done.options()).out.splitlines()
    assert len(lines) == 3
    assert {"actor", "bard"} <= set(",".join(lines[1:]).split(","))


def test_a_board_as_a_table_says_what_it_is_of(bench: Bench, done: Tiny) -> None:
    out = bench("board", "tiny", *done.options()).out
    assert "Tiny, en, version 1, judged by strict" in out
    assert "Bard" in out or "bard" in out


def test_a_board_is_the_same_every_time(bench: Bench, done: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.boards.loading.board_of", board_of)  # not what other tests have made of it
    words = ["board", "tiny", "-l", "en", "--format", "json", *done.options()]
    assert bench(*words).out == bench(*words).out


def test_a_board_is_written_where_it_is_wanted(bench: Bench, done: Tiny) -> None:
    assert bench("board", "tiny", "--write", *done.options()).status == 0
    printed = bench("board", "tiny", "--format", "json", *done.options()).out
    assert json.loads((done.tree.root / "tiny" / "en" / "board.json").read_bytes()) == json.loads(printed)


def test_a_judge_that_was_added_does_not_change_the_board(bench: Bench, done: Tiny) -> None:
    words = ["board", "tiny", "-l", "en", "--write", *done.options()]
    bench(*words)
    before = (done.tree.board_folder("tiny", "en") / "board.json").read_bytes()
    assert bench("judge", "tiny", "-j", "lenient", *done.options()).status == 0
    bench(*words)
    assert (done.tree.board_folder("tiny", "en") / "board.json").read_bytes() == before
