"""bench topics, from a file to what is written and said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Bench
from tests.scripted_server import Answer, ScriptedServer, Seen, completion
from tests.tiny import ROOT, Tiny, edit
from tests.topics.conftest import SAMPLES, grouped_once, needs_topics  # noqa: F401  # a fixture

pytestmark = [needs_topics, pytest.mark.usefixtures("grouped_once", "quick_figures")]

SAMPLE = str(SAMPLES / "sample.en.jsonl")
TEXTS = [json.loads(line)["text"] for line in Path(SAMPLE).read_text(encoding="utf-8").splitlines()]
OURS = ("--prompts", str(ROOT / "prompts"))


def options(tiny: Tiny) -> list[str]:
    """The models of ``tiny`` with our own prompts."""
    return ["--models", str(tiny.models), "--cache", str(tiny.root / "cache"), *OURS]


def situation(seen: Seen) -> Answer:
    """A draft, other for every topic."""
    data = {"title": f"Scene {seen.digest % 9973}", "text": "You say what is on your mind, turn by turn."}
    return completion(json.dumps(data), seen)


def raw_in(folder: Path) -> list[str]:
    """Messages of the sample, long enough to be no coincidence, that stand in a file of ``folder``."""
    data = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return [text for text in TEXTS if len(text) > 15 and text.encode() in data]


def test_topics_shares_and_coverage_of_the_sample(bench: Bench) -> None:
    ended = bench("topics", SAMPLE, "--suite", "pingpong", *OURS)
    assert ended.status == 0
    assert "sword" in ended.out
    assert "supper-for-two 0.4" in ended.out
    assert "(in no topic)" in ended.out
    assert "review coverage.toml" in ended.out
    report = json.loads(Path("build/topics/topics.json").read_bytes())
    assert report["source"]["name"] == "sample.en.jsonl"
    assert report["coverage"]["by"] == "similarity"
    assert f"pingpong covers {report['coverage']['covered']:.1%} of 240 messages" in ended.out


def test_no_message_is_written_or_shown_unless_asked_for(bench: Bench) -> None:
    ended = bench("topics", SAMPLE, "--suite", "pingpong", "-o", "quiet", *OURS)
    assert raw_in(Path("quiet")) == []
    assert not [text for text in TEXTS if len(text) > 15 and text in ended.out + ended.err]
    ended = bench("topics", SAMPLE, "--examples", "2", "-o", "loud", *OURS)
    shown = [text for text in TEXTS if f"| {text}\n" in ended.out]
    topics = json.loads(Path("loud/topics.json").read_bytes())["topics"]
    assert len(shown) == 2 * len(topics)
    assert set(raw_in(Path("loud"))) <= set(shown)


def test_a_second_run_writes_the_same_bytes(bench: Bench) -> None:
    for folder in ("a", "b"):
        assert bench("topics", SAMPLE, "--suite", "pingpong", "-o", folder, *OURS).status == 0
    for path in Path("a").iterdir():
        assert path.read_bytes() == (Path("b") / path.name).read_bytes(), path.name


def test_an_edited_coverage_table_is_what_counts(bench: Bench) -> None:
    bench("topics", SAMPLE, "--suite", "pingpong", *OURS)
    table = Path("build/topics/coverage.toml")
    edit(table, "covered_by = []", 'covered_by = ["first-hello"]')
    ended = bench("topics", SAMPLE, "--coverage", str(table), "--format", "json", *OURS)
    assert ended.status == 0
    report = json.loads(ended.out)
    assert report["coverage"]["by"] == "table"
    assert all(topic["covered_by"] for topic in report["topics"])
    assert report["coverage"]["uncovered"] == 0
    said = table.read_bytes()
    assert "kept unchanged" in bench("topics", SAMPLE, "--suite", "pingpong", *OURS).err
    assert table.read_bytes() == said


def test_a_model_drafts_a_situation_for_each_topic(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    server.answer = situation
    ended = bench("topics", SAMPLE, "--writer", "bard", *options(tiny))
    assert ended.status == 0
    topics = json.loads(Path("build/topics/topics.json").read_bytes())["topics"]
    assert len(list(Path("build/topics/situations").glob("*.toml"))) == len(topics) == server.count
    asked = b"".join(seen.raw for seen in server.seen)
    assert b"sword" in asked
    assert not [text for text in TEXTS if len(text) > 15 and text.encode() in asked]
    assert bench("topics", SAMPLE, "--writer", "bard", *options(tiny)).status == 0
    assert server.count == len(topics), "the second time the cache answers"


def test_a_key_that_is_missing_costs_the_drafts_and_not_the_topics(bench: Bench, tiny: Tiny) -> None:
    edit(
        tiny.models,
        "json_schema = true\nschema_limits",
        'api_key_env = "NO_SUCH_KEY"\njson_schema = true\nschema_limits',
    )
    ended = bench("topics", SAMPLE, "--writer", "bard", *options(tiny))
    assert ended.status == 1
    assert "NO_SUCH_KEY" in ended.err
    assert "Traceback" not in ended.err
    assert Path("build/topics/topics.json").is_file()


def test_money_that_runs_out_ends_with_its_own_status(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    usage = {"prompt_tokens": 6_000, "completion_tokens": 2_000}  # one cent
    server.answer = lambda seen: completion(
        json.dumps({"title": "A scene", "text": "You begin."}), seen, usage=usage
    )
    edit(tiny.models, "max_concurrent = 4", "max_concurrent = 1")
    ended = bench("topics", SAMPLE, "--writer", "bard", "--max-cost", "0.03", *options(tiny))
    assert ended.status == 3
    assert "no draft: Not asked: --max-cost" in ended.out
    assert server.count == 3


def test_a_price_that_nobody_knows_is_refused_where_money_is_limited(bench: Bench, tiny: Tiny) -> None:
    fault = bench("topics", SAMPLE, "--writer", "actor", "--max-cost", "1", *options(tiny)).fault
    assert "the price of actor is unknown" in fault


def test_rows_that_cannot_be_read_are_named_and_counted(bench: Bench) -> None:
    lines = Path(SAMPLE).read_text(encoding="utf-8").splitlines()
    lines[4:4] = ["{broken", '{"other": 1}']
    Path("mine.jsonl").write_text("\n".join(lines), encoding="utf-8")
    ended = bench("topics", "mine.jsonl", *OURS)
    assert ended.status == 0
    assert "mine.jsonl: line 5: malformed JSON" in ended.err
    assert "mine.jsonl: line 6: has no 'text'" in ended.err
    assert "2 unreadable" in ended.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.csv"], "No such file"),
        ([SAMPLE, "--column", "txet"], "'about', 'text'"),
        ([SAMPLE, "--suite", "pingpng"], "Did you mean 'pingpong'?"),
        ([SAMPLE, "--suite", "pingpong", "-l", "xx"], "unknown language 'xx'"),
        ([SAMPLE, "--writer", "nobody-at-all"], "unknown model 'nobody-at-all'"),
        ([SAMPLE, "--coverage", "none.toml"], "none.toml: no such file"),
        ([SAMPLE, "--sample", "20"], "20 different messages are too few"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    bench: Bench, tiny: Tiny, words: list[str], said: str
) -> None:
    assert said in bench("topics", *words, *options(tiny)).fault
    assert not Path("build").exists()


def test_an_output_that_is_a_file_is_said(bench: Bench) -> None:
    Path("taken").write_text("x", encoding="utf-8")
    ended = bench("topics", SAMPLE, "-o", "taken", *OURS)
    assert ended.status != 0
    assert "taken" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("--threshold", "nan"), 2, "'nan' is not a number"),
        (("--writer", "espeak-ng", "--models", str(ROOT / "models.toml")), 1, "is a folder of recordings"),
    ],
)
def test_a_mistake_is_said_before_anything_is_grouped(
    bench: Bench, arguments: tuple[str, ...], status: int, says: str
) -> None:
    ended = bench("topics", SAMPLE, "--suite", "pingpong", *arguments, *OURS)
    assert ended.status == status
    assert says in ended.err
    assert "Traceback" not in ended.err
