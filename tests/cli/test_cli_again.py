"""What had failed is tried again, and what is out of date is refreshed, only on request."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.conftest import ALL, TALKS, Bench, models_asked
from tests.scripted_server import Answer, ScriptedServer, Seen, completion, plausible
from tests.tiny import LANGUAGE, Tiny, bytes_below, edit


def test_a_recorded_failure_is_a_result_and_stays(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    def answer(seen: Seen) -> Answer:
        return completion("no JSON here", seen) if seen.body["model"] == "strict-1" else plausible(seen)

    server.answer = answer
    ended = bench("run", "tiny", *tiny.options())
    assert ended.status == 0
    assert f"{TALKS} judgements ({TALKS} failed)" in ended.out
    count = server.count
    assert "judgements: 4 failed" in bench("run", "tiny", *tiny.options()).err
    assert server.count == count


def test_recorded_failures_are_tried_again_on_request(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    server.answer = lambda seen: (
        completion("no JSON here", seen) if seen.body["model"] == "strict-1" else plausible(seen)
    )
    assert bench("run", "tiny", *tiny.options()).status == 0
    server.answer = plausible
    ended = bench("run", "tiny", "--retry-failed", "--no-cache", *tiny.options())
    assert f"0 conversations (0 failed), {TALKS} judgements (0 failed)" in ended.out


UNUSABLE: dict[str, tuple[str, str]] = {
    "blank": ("", "stop"),
    "filtered": ("I must", "content_filter"),
    "not_json": ("no JSON here", "stop"),
}
"""What a model says, and its finish reason, so that the record fails."""


def unusable(model: str, way: str) -> Callable[[Seen], Answer]:
    """Answers as usual, except that ``model`` says something that cannot be used."""
    text, finish = UNUSABLE[way]
    return lambda seen: (
        completion(text, seen, finish_reason=finish) if seen.body["model"] == model else plausible(seen)
    )


FAILING = [
    (model, way)
    for model in ("asker-1", "bard-1", "strict-1")
    for way in UNUSABLE
    if (model, way) != ("bard-1", "not_json")
]


@pytest.mark.parametrize(("model", "way"), FAILING)
def test_retrying_failures_asks_again_and_replays_only_what_was_good(
    bench: Bench, tiny: Tiny, server: ScriptedServer, model: str, way: str
) -> None:
    server.answer = unusable(model, way)
    assert bench("run", "tiny", *tiny.options()).status == 0
    usable = sum(count for name, count in models_asked(server).items() if name != model)
    server.answer, server.seen = plausible, []
    ended = bench("run", "tiny", "--retry-failed", *tiny.options())
    assert f"{TALKS} judgements (0 failed)" in ended.out
    assert sum(models_asked(server).values()) == ALL - usable, "what had been answered well is not paid twice"


def test_a_retry_that_fails_again_ends(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    server.answer = unusable("strict-1", "blank")
    assert bench("run", "tiny", *tiny.options()).status == 0
    count = server.count
    assert (
        f"{TALKS} judgements ({TALKS} failed)"
        in bench("judge", "tiny", "--retry-failed", *tiny.options()).out
    )
    assert server.count == count + 3 * TALKS


def test_refreshing_stale_results_does_not_replay_what_had_failed(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    template = tiny.prompts / "pingpong_v2" / "judge.jinja"
    server.answer = unusable("strict-1", "blank")
    assert bench("run", "tiny", *tiny.options()).status == 0
    server.answer = plausible
    for old, new in (("strictly", "mildly"), ("mildly", "strictly")):
        edit(template, old, new)
        ended = bench("run", "tiny", "--refresh-stale", *tiny.options())
        assert f"{TALKS} judgements (0 failed)" in ended.out


def test_stale_results_are_kept_until_they_are_to_be_refreshed(
    bench: Bench, done: Tiny, server: ScriptedServer
) -> None:
    before = bytes_below(done.tree.root)
    edit(done.card_file, "slow of speech", "quick of speech")
    ended = bench("run", "tiny", *done.options())
    assert "2 stale" in ended.err
    assert "2 conversations and 2 judgements are out of date" in ended.out
    assert "--refresh-stale" in ended.out
    assert bytes_below(done.tree.root) == before
    (planned,) = json.loads(bench("plan", "tiny", "--format", "json", *done.options()).out)
    assert planned["calls"] == []
    (redone,) = json.loads(bench("plan", "tiny", "--refresh-stale", "--format", "json", *done.options()).out)
    assert planned["stale_calls"] == redone["calls"] != []
    assert redone["stale_calls"] == []
    refreshed = bench("run", "tiny", "--refresh-stale", *done.options()).out
    assert "2 conversations" in refreshed
    assert "out of date" not in refreshed
    assert "stale" not in bench("run", "tiny", *done.options()).err


CHANGES: dict[str, tuple[str, str, str, int, int]] = {
    "card": ("prompts/characters/en/anna.toml", "slow of speech", "quick of speech", 2, 2),
    "situation": ("prompts/situations/en/hello.toml", "ask about", "ask after", 2, 0),
    "judge's template": ("prompts/pingpong_v2/judge.jinja", "strictly", "mildly", 0, 4),
    "player's parameters": ("prompts/pingpong_v2/tiny.toml", "temperature = 0.6", "temperature = 0.7", 4, 0),
    "player's model": ("models.toml", 'model = "bard-1"', 'model = "bard-2"', 4, 0),
    "judge's model": ("models.toml", 'model = "strict-1"', 'model = "strict-2"', 0, 4),
    "suite's version": ("prompts/pingpong_v2/tiny.toml", 'version = "1"', 'version = "2"', 4, 4),
}
"""What is edited, and how many conversations and judgements become stale."""


@pytest.mark.parametrize("name", CHANGES)
def test_the_board_says_what_is_out_of_date_and_a_run_says_it_first(
    bench: Bench, done: Tiny, name: str
) -> None:
    file, old, new, conversations, judgements = CHANGES[name]
    edit(done.root / file, old, new)
    stale = json.loads(bench("board", "tiny", "--format", "json", *done.options()).out)["stale"]
    assert (stale["conversations"], stale["judgements"]) == (conversations, judgements)
    assert stale["players"] == ({"bard": conversations} if conversations else {})
    assert float(stale["cost"]) > 0
    assert f"about ${stale['cost']}" in bench("board", "tiny", *done.options()).out
    ended = bench("run", "tiny", "--player", "bard", "--player", "actor", *done.options())
    assert "out of date" in ended.out.splitlines()[0]
    assert f"about ${stale['cost']}" in ended.out.splitlines()[0]


def test_results_of_an_older_version_are_replaced_on_request(bench: Bench, done: Tiny) -> None:
    bench("judge", "tiny", "--judge", "lenient", *done.options())
    edit(done.suite_file, 'version = "1"', 'version = "2"')
    bench("run", "tiny", "--player", "actor", *done.options())
    assert "--refresh-stale" in bench("board", "tiny", *done.options()).fault
    bench("run", "tiny", "--refresh-stale", *done.options())  # lenient's judgements stay as they were
    shown = bench("board", "tiny", *done.options()).out
    assert "version 2" in shown
    assert "Bard" in shown
    assert "out of date" not in shown


def test_the_written_board_does_not_depend_on_the_current_prompts(bench: Bench, done: Tiny) -> None:
    bench("board", "tiny", "--write", *done.options())
    before = bytes_below(done.tree.root)
    edit(done.card_file, "slow of speech", "quick of speech")
    bench("board", "tiny", "--write", *done.options())
    assert bytes_below(done.tree.root) == before


def test_a_judge_added_later_is_mentioned_with_the_way_to_show_it(bench: Bench, done: Tiny) -> None:
    assert bench("judge", "tiny", "--judge", "lenient", *done.options()).status == 0
    board = json.loads(bench("board", "tiny", "--write", "--format", "json", *done.options()).out)
    assert (board["judges"], board["other_judges"]) == (["strict"], ["lenient"])
    shown = bench("board", "tiny", *done.options()).out
    options = "--judge strict --judge lenient"
    assert options in shown
    words = ["board", "tiny", "--format", "json", *options.split(), *done.options()]
    every = json.loads(bench(*words).out)
    assert sorted(every["judges"]) == ["lenient", "strict"]
    assert "other_judges" not in every
    alone = json.loads(bench("board", "tiny", "--format", "json", "-j", "lenient", *done.options()).out)
    assert "other_judges" not in alone  # the suite names strict
    assert "absent_judges" not in alone
    assert "--judge lenient" in bench("plan", "tiny", *done.options()).out
    (planned,) = json.loads(bench("plan", "tiny", "--format", "json", *done.options()).out)
    assert (planned["other_judges"], planned["left_stale"]) == (["lenient"], {})
    assert "Not planned" not in bench("plan", "tiny", "-j", "strict", "-j", "lenient", *done.options()).out


def test_judgements_that_a_run_leaves_behind_are_named(bench: Bench, done: Tiny) -> None:
    """The suite does not name their judge, or the run asks another one."""
    judging = ("judge", "tiny", "--judge", "lenient", *done.options())
    assert bench(*judging).status == 0
    assert "not asked here" not in bench("run", "tiny", *done.options()).out
    edit(done.card_file, "slow of speech", "quick of speech")
    for words in (["plan", "tiny", "--refresh-stale"], ["run", "tiny", "--refresh-stale"]):
        said = " ".join(bench(*words, *done.options()).out.split())
        assert f"not asked here will be out of date: {TALKS // 2} by lenient." in said
        assert "Redo: `bench judge tiny -j lenient --refresh-stale`" in said
    again = ("run", "tiny", "--refresh-stale", *done.options())
    assert f"are out of date: {TALKS // 2} by lenient" in bench(*again).out
    assert bench(*judging, "--refresh-stale").status == 0
    assert "out of date" not in bench(*again).out
    template = next(done.suite_file.parent.glob("judge*.jinja"))
    template.write_text(template.read_text(encoding="utf-8") + "\nBe fair.\n", encoding="utf-8")
    assert f"not asked here are out of date: {TALKS} by lenient" in bench(*again).out
    edit(done.models, "[models.lenient]", "[models.gone]")
    edit(done.card_file, "quick of speech", "slow of speech")
    said = bench(*again).out
    assert "2 by lenient" in said
    assert "Redo: `bench judge" not in said


def test_a_judge_added_to_the_suite_is_missed_until_it_has_judged(bench: Bench, done: Tiny) -> None:
    edit(done.suite_file, 'models = ["strict"]', 'models = ["strict", "lenient"]')
    board = json.loads(bench("board", "tiny", "--format", "json", *done.options()).out)
    assert board["absent_judges"] == ["lenient"]
    assert "No judgements yet by lenient" in bench("board", "tiny", *done.options()).out
    assert f"{TALKS} missing" in bench("plan", "tiny", *done.options()).out
    assert bench("judge", "tiny", *done.options()).status == 0
    assert "absent_judges" not in json.loads(bench("board", "tiny", "--format", "json", *done.options()).out)


SUITE = "prompts/pingpong_v2/tiny.toml"
MADE_UNKNOWN: dict[str, tuple[list[tuple[str, str, str]], str]] = {
    "no such interrogator": ([(SUITE, '["asker"]', '["nobody"]')], "unknown model 'nobody'"),
    "no such player any more": (
        [(SUITE, '["bard"]', '["actor"]'), ("models.toml", "[models.bard]", "[models.minstrel]")],
        "models.toml no longer has bard",
    ),
}
"""What is edited, and what the board then says it does not know."""


@pytest.mark.parametrize("name", MADE_UNKNOWN)
def test_the_board_says_where_it_cannot_know_what_is_out_of_date(bench: Bench, done: Tiny, name: str) -> None:
    edits, reason = MADE_UNKNOWN[name]
    for file, old, new in edits:
        edit(done.root / file, old, new)
    stale = json.loads(bench("board", "tiny", "--format", "json", *done.options()).out)["stale"]
    assert (stale["conversations"], stale["judgements"]) == (0, 0)
    assert reason in stale["unknown"]
    said = bench("board", "tiny", *done.options()).out
    assert "is unknown" in said
    assert "are out of date" not in said


@pytest.mark.parametrize("words", [["board"], ["plan"], ["analyse"], ["run", "-p", "actor"]])
def test_a_half_written_file_of_one_language_stops_no_other(
    bench: Bench, done: Tiny, words: list[str]
) -> None:
    with done.suite_file.open("a", encoding="utf-8") as file:
        file.write(LANGUAGE.format(language="de", characters='["anna"]', situations='["hello"]'))
    broken = done.card_file.parents[1] / "de" / "anna.toml"
    broken.parent.mkdir()
    broken.write_text('char_name = "A', encoding="utf-8")
    command, *more = words
    assert bench(command, "tiny", "-l", "en", *more, *done.options()).status == 0
    assert str(broken) in bench("plan", "tiny", "-l", "de", *done.options()).fault
