"""Spoken role play from the command line to the site, with a server that hears and a folder of recordings."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Bench
from tests.scripted_batches import BatchServer
from tests.scripted_server import ScriptedServer, completion
from tests.scripted_speech import fault_in, heard, speech, spoken_answer, steps, tone
from tests.spoken_bench import Spoken, make_spoken
from tests.tiny import bytes_below, edit, make_tiny

pytestmark = pytest.mark.usefixtures("quick_sites")

PLAYERS = ("-p", "voice", "-p", "tape")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(speech).in_thread() as running:
        yield running


@pytest.fixture
def spoken(tmp_path: Path, server: ScriptedServer) -> Spoken:
    return make_spoken(tmp_path / "spoken", server.url)


@pytest.fixture
def played(bench: Bench, spoken: Spoken) -> Spoken:
    """``spoken`` after its run: five answers and a recording that is missing."""
    assert bench("run", "spoken", *PLAYERS, *spoken.options()).status == 0
    return spoken


def audited(bench: Bench, spoken: Spoken, *words: str) -> list[tuple[str, str]]:
    """(code, path) of the findings."""
    ended = bench("audit", "--format", "json", *words, *spoken.options())
    return [(found["code"], found["path"]) for found in json.loads(ended.out)["findings"]]


def test_a_run_sends_sound_that_decodes_and_goes_on_past_a_failure(
    bench: Bench, spoken: Spoken, server: ScriptedServer
) -> None:
    ended = bench("run", "spoken", *PLAYERS, *spoken.options())
    assert ended.status == 0
    assert "6 conversations (1 failed), 5 judgements (0 failed); 8 requests sent" in ended.out
    judged = [seen for seen in server.seen if seen.body["model"] == "ear-1"]
    asked = [seen for seen in server.seen if seen.body["model"] == "voice-1"]
    assert (len(judged), len(asked)) == (5, 3)
    for seen in judged:
        sounds = heard(seen)
        assert len(sounds) == 1
        assert fault_in(sounds) == ""
    assert sum(isinstance(seen.body["messages"][-1]["content"], list) for seen in asked) == 1
    again = bench("run", "spoken", *PLAYERS, *spoken.options())
    assert "nothing new to run" in again.out
    assert server.count == 8


def test_everything_is_paid_once_and_its_sound_is_priced(
    bench: Bench, played: Spoken, server: ScriptedServer
) -> None:
    shutil.rmtree(played.root / "results")
    ended = bench("run", "spoken", *PLAYERS, *played.options())
    assert "8 replies from cache" in ended.out
    assert server.count == 8
    # Heard: 800 tokens of text at 1, 100 of sound at 10. Answered: 300 of text at 2, or 100 and 200 at 20.
    costs = {
        (path.parent.name, call["cost"])
        for path in (played.root / "results").rglob("*.json")
        for call in json.loads(path.read_text(encoding="utf-8")).get("calls", [])
    }
    assert costs == {("ear", "0.0024"), ("conversations", "0.006")}
    table = json.loads(bench("board", "spoken", "-l", "en", "--format", "json", *played.options()).out)
    assert {row["player"]: row["cost"] for row in table["rows"]} == {"voice": "0.0252", "tape": "0.0048"}


def test_the_evidence_is_whole_and_a_board_comes_of_it(bench: Bench, played: Spoken) -> None:
    assert bench("board", "spoken", "-l", "en", "--write", *played.options()).status == 0
    assert audited(bench, played, "--strict") == [
        ("failed-conversation", "spoken/en/tape/conversations/ghost.cellar.json")
    ]
    board = json.loads(bench("board", "spoken", "-l", "en", "--format", "json", *played.options()).out)
    scores = {
        json.loads(path.read_text(encoding="utf-8"))["turns"][0]["scores"]["role_play"]
        for path in (played.root / "results/spoken/en/voice/judgements/ear").glob("*.json")
    }
    (voice,) = [row for row in board["rows"] if row["player"] == "voice"]
    assert min(scores) <= voice["score"] <= max(scores)
    assert list(voice["criteria"]) == ["role_play"]


def test_shards_merge_to_the_tree_of_one_run_with_their_sound(
    bench: Bench, played: Spoken, tmp_path: Path
) -> None:
    whole = bytes_below(played.root / "results")
    for k in (1, 2):
        words = played.options()
        words[words.index("--results") + 1] = str(tmp_path / f"part{k}")
        assert bench("run", "spoken", *PLAYERS, "--shard", f"{k}/2", *words).status == 0
        assert len(bytes_below(tmp_path / f"part{k}")) < len(whole)
        shutil.copytree(tmp_path / f"part{k}", tmp_path / "all", dirs_exist_ok=True)
    assert bytes_below(tmp_path / "all") == whole
    assert any(name.endswith(".wav") for name in whole)


def test_a_batch_carries_the_sound_to_the_judge(bench: Bench, tmp_path: Path) -> None:
    with BatchServer(speech).in_thread() as server:
        spoken = make_spoken(tmp_path / "batched", server.url)
        edit(spoken.models, "json_schema = true", "json_schema = true\nbatch = true")
        edit(spoken.models, 'audio_input = "10" }', 'audio_input = "10", batch_discount = "0.5" }')
        assert bench("run", "spoken", *spoken.options()).status == 0
        shutil.rmtree(spoken.root / "results/spoken/en/voice/judgements")
        shutil.rmtree(spoken.root / "cache")
        ended = bench("judge", "spoken", "--batch", "--poll", "0.01", *spoken.options())
        assert ended.status == 0
        assert "batches: 3 answers, 0 declined; $0.0036" in ended.out
        assert "0 requests sent" in ended.out


def test_an_audit_finds_every_harm_to_a_sound(bench: Bench, played: Spoken) -> None:
    folder = played.root / "results/spoken/en/voice/audio"
    gone, changed, *_ = sorted(folder.glob("*.wav"))
    gone.unlink()
    changed.write_bytes(tone(1))
    (folder / f"{'0' * 64}.wav").write_bytes(tone(1))
    (folder / "notes.txt").write_text("mine")
    record = next((played.root / "results/spoken/en/tape/conversations").glob("keeper*"))
    edit(record, '"sample_rate": 16000', '"sample_rate": 48000')
    found = audited(bench, played)
    assert ("audio-changed", f"spoken/en/voice/audio/{changed.name}") in found
    assert ("audio-orphan", f"spoken/en/voice/audio/{'0' * 64}.wav") in found
    assert ("unknown-file", "spoken/en/voice/audio/notes.txt") in found
    codes = [code for code, _ in found]
    assert {"audio-missing", "audio-measures", "digest"} <= set(codes)
    ended = bench("commit-results", "--dry-run", *played.options())
    assert "its sound file is missing" in ended.out + ended.err


def test_a_recorded_player_whose_folder_is_elsewhere_is_said_to_be_unchecked(
    bench: Bench, played: Spoken
) -> None:
    shutil.rmtree(played.root / "tapes")
    assert ("fingerprint-unknown", "spoken/en/tape/player.json") in audited(bench, played)
    assert not any(code == "stale-conversation" for code, _ in audited(bench, played))


def test_a_final_score_against_the_steps_is_counted_and_shown(
    bench: Bench, spoken: Spoken, server: ScriptedServer
) -> None:
    wrong = json.dumps(steps(2, final="Final score: [[5]]"))
    server.answer = lambda seen: completion(wrong, seen) if "audio" not in seen.body else speech(seen)
    assert bench("run", "spoken", *spoken.options()).status == 0
    codes = [code for code, _ in audited(bench, spoken)]
    assert codes.count("final-differs") == 3
    output = spoken.root / "site"
    assert bench("site", "build", "--output", str(output), *spoken.options()).status == 0
    page = (output / "boards/spoken/en/players/voice/keeper.storm.html").read_text(encoding="utf-8")
    assert "The judge states 5; its steps come to 3." in page


def test_the_site_plays_the_sound_from_its_own_folder(bench: Bench, played: Spoken) -> None:
    output = played.root / "site"
    assert bench("site", "build", "--output", str(output), *played.options()).status == 0
    page = output / "boards/spoken/en/players/voice/crier.plums.html"
    text = page.read_text(encoding="utf-8")
    sources = re.findall(r'<audio controls preload="none" src="([^"]+)"', text)
    assert len(sources) == 2
    for source in sources:
        kept = played.root / "results/spoken/en/voice" / source
        assert (page.parent / source).read_bytes() == kept.read_bytes()
    assert "media-src 'self'" in text
    assert "16\u202f000 Hz, mono" in text
    failed = (output / "boards/spoken/en/players/tape/ghost.cellar.html").read_text(encoding="utf-8")
    assert "there is no recording en/ghost.cellar" in failed


def test_what_a_judge_writes_in_its_steps_is_text(
    bench: Bench, spoken: Spoken, server: ScriptedServer
) -> None:
    evil = "</p><script>alert(1)</script>"
    style = [{"requirement": evil, "reason": evil, "score": 80}] * 2
    about = {"language": evil, "role": evil, "scenario": evil, "style_requirements": [evil, evil]}
    hostile = steps(
        4,
        description=evil,
        transcript=evil,
        instruction=about,
        style=style,
        language={"response_language": evil, "consistent": True},
        content={"reason": evil, "compliant": True},
        naturalness={"reason": evil, "highly_natural": True},
    )
    reply = json.dumps(hostile)
    answer = spoken_answer(tone(1), evil)
    server.answer = lambda seen: (
        completion(reply, seen) if "audio" not in seen.body else completion(None, seen, audio=answer)
    )
    assert bench("run", "spoken", *spoken.options()).status == 0
    output = spoken.root / "site"
    assert bench("site", "build", "--output", str(output), *spoken.options()).status == 0
    for page in output.rglob("*.html"):
        assert "<script>alert" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("run", "spoken", "-j", "deaf"), "judge 'deaf' takes no audio input"),
        (("plan", "spoken", "-j", "deaf"), "judge 'deaf' takes no audio input"),
        (("run", "spoken", "-p", "deaf"), "player 'deaf' gives no audio output"),
        (("run", "spoken", "--cluster", "tcp://127.0.0.1:1"), "Run it without --cluster"),
    ],
)
def test_what_cannot_work_is_said_before_anyone_is_paid(
    bench: Bench, spoken: Spoken, server: ScriptedServer, words: tuple[str, ...], fault: str
) -> None:
    assert fault in bench(*words, *spoken.options()).fault
    assert server.count == 0


def test_a_limit_of_money_needs_the_price_of_sound(
    bench: Bench, spoken: Spoken, server: ScriptedServer
) -> None:
    edit(
        spoken.models,
        'prices = { input = "1", output = "2", audio_input = "10" }',
        'prices = { input = "1", output = "2" }',
    )
    ended = bench("run", "spoken", "--max-cost", "1", *spoken.options())
    assert "the price of ear is unknown" in ended.fault
    assert server.count == 0
    assert bench("run", "spoken", *spoken.options()).status == 0
    assert "unknown" in bench("cost", *spoken.options()).out


def test_a_recorded_player_is_no_player_of_other_protocols(bench: Bench, spoken: Spoken) -> None:
    tiny = make_tiny(spoken.root / "other")
    tiny.models.write_text(
        tiny.models.read_text(encoding="utf-8")
        + '[providers.recordings]\nbase_url = "recordings"\n[models.tape]\nprovider = "recordings"\n'
        + 'model = "t"\nname = "T"\nfamily = "T"\nweights = "open"\nlicence = "MIT"\nrecordings = "tapes"\n',
        encoding="utf-8",
    )
    assert "'tape' is a folder of recordings" in bench("run", "tiny", "-p", "tape", *tiny.options()).fault
