"""Repeats: a new sample of every scene, with keys and records of its own; copies are not counted as one."""

from __future__ import annotations

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from bench.chat.cache import ResponseCache
from bench.protocols.calls import JsonSchema
from bench.records import Cell
from bench.results import ResultsTree
from tests.cli.conftest import Bench
from tests.scripted_server import ScriptedServer
from tests.tiny import CALLS, Tiny, bytes_below, edit

SCENES = 4
ALL = sum(CALLS.values())


def table(bench: Bench, tiny: Tiny, name: str, *words: str) -> list[dict[str, Any]]:
    ended = bench("analyse", "tiny", "-l", "en", "--format", "json", *words, *tiny.options())
    assert ended.status == 0, ended.err
    rows: list[dict[str, Any]] = next(
        analysis["rows"] for analysis in json.loads(ended.out)["analyses"] if analysis["name"] == name
    )
    return rows


def copied_entry(tiny: Tiny, name: str, of: str) -> None:
    """Add a model entry that is the same as another but for its name."""
    text = tiny.models.read_text(encoding="utf-8")
    start = text.index(f"[models.{of}]")
    end = text.find("[models.", start + 1)
    tiny.models.write_text(f"{text}\n{text[start:end].replace(of, name, 1)}", encoding="utf-8")


def test_the_first_sample_keeps_its_keys_and_no_two_samples_share_one() -> None:
    keys = {
        (sample, repeat): ResponseCache.key("http://x/v1", '{"a":1}', sample, repeat)
        for sample, repeat in product(range(12), range(1, 13))
    }
    assert all(keys[sample, 1] == ResponseCache.key("http://x/v1", '{"a":1}', sample) for sample in range(12))
    assert len(set(keys.values())) == len(keys)


def test_the_first_sample_keeps_its_fingerprints_and_its_bytes(tiny: Tiny) -> None:
    protocol, first = tiny.protocol(), tiny.cell()
    second = first.model_copy(update={"repeat": 2})
    assert "repeat" not in first.plain()
    assert Cell.model_validate(second.plain()) == second
    assert protocol.conversation_fingerprint(first) != protocol.conversation_fingerprint(second)
    assert protocol.judgement_fingerprint(first, "strict", "x") != protocol.judgement_fingerprint(
        second, "strict", "x"
    )


@pytest.mark.parametrize("role", ["player", "interrogator", "judge"])
def test_every_role_is_asked_anew_in_a_repeat(tiny: Tiny, role: Any) -> None:
    protocol, first = tiny.protocol(), tiny.cell()
    schema: JsonSchema = {}
    one, two = (
        protocol.request(role, "bard", first.model_copy(update={"repeat": number}), (), schema=schema)
        for number in (1, 2)
    )
    assert (one.repeat, two.repeat, one.sample) == (1, 2, two.sample)
    assert one.seed != two.seed


def test_a_repeat_asks_everything_anew_and_leaves_the_first_sample(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    words = ("run", "tiny", *tiny.options())
    assert bench(*words).status == 0
    first = bytes_below(tiny.tree.root)
    assert bench("board", "tiny", "-l", "en", *tiny.options()).status == 0
    board = bench("board", "tiny", "-l", "en", "--format", "json", *tiny.options()).out
    assert bench(*words, "--repeat", "2").status == 0
    assert server.count == 2 * ALL
    after = bytes_below(tiny.tree.root)
    assert first.items() <= after.items()
    assert len([name for name in after if name.endswith(".2.json")]) == 2 * SCENES
    for talk in ResultsTree(tiny.tree.root, repeat=2).conversations("tiny", "en", "bard"):
        assert talk.repeat == 2
    assert bench(*words, "--repeat", "2").status == 0
    assert server.count == 2 * ALL, "a repeat that is done is not made again"
    assert bench("board", "tiny", "-l", "en", "--format", "json", *tiny.options()).out == board
    audit = bench("audit", "tiny", *tiny.options())
    assert audit.status == 0, audit.out
    assert "stale" not in audit.out + audit.err
    made = table(bench, tiny, "second_run", "--repeat", "2")
    assert [(row["scenes"], row["copies"]) for row in made] == [(SCENES, 0)]


def test_a_tree_of_cached_replies_is_no_repeat(
    bench: Bench, tiny: Tiny, server: ScriptedServer, tmp_path: Path
) -> None:
    words = ["run", "tiny", *tiny.options()]
    assert bench(*words).status == 0
    words[words.index("--results") + 1] = str(tmp_path / "two")
    assert bench(*words).status == 0
    assert server.count == ALL
    made = table(bench, tiny, "second_run", "--again", str(tmp_path / "two"))
    assert [(row["scenes"], row["copies"], row["difference"], row["spearman"]) for row in made] == [
        (0, SCENES, None, None)
    ]
    assert "--repeat 2" in made[0]["reason"]


def test_a_copied_entry_is_no_repeat_unless_its_requests_differ(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    """``actor`` takes no seed, so its copy sends equal requests; ``bard`` takes one, so its copy does not."""
    copied_entry(tiny, "actor-again", "actor")
    copied_entry(tiny, "bard-again", "bard")
    names = ("actor", "actor-again", "bard", "bard-again")
    # The interrogator must not tell the entries apart by its seed either.
    edit(tiny.models, '[models.asker]\nprovider = "scripted"', '[models.asker]\nprovider = "plain"')
    assert bench("run", "tiny", *(w for name in names for w in ("-p", name)), *tiny.options()).status == 0
    made = {row["player"]: row for row in table(bench, tiny, "repeats")}
    assert (made["actor"]["copies"], made["actor"]["difference"]) == (SCENES, None)
    assert made["bard"]["copies"] == 0
    assert made["bard"]["difference"] is not None


def test_scenes_played_anew_count_and_copied_ones_do_not(
    bench: Bench, tiny: Tiny, server: ScriptedServer, tmp_path: Path
) -> None:
    words = ["run", "tiny", *tiny.options()]
    assert bench(*words).status == 0
    shutil.copytree(tiny.tree.root, tmp_path / "two")
    again = ResultsTree(tmp_path / "two")
    for path in again.player_folder("tiny", "en", "bard").rglob("anna.*.json"):
        path.unlink()
    # Another wording of the situation stands for a provider that answers differently the second time.
    edit(tiny.card_file, "slow of speech", "quick of speech")
    words[words.index("--results") + 1] = str(again.root)
    assert bench(*words).status == 0
    made = table(bench, tiny, "second_run", "--again", str(again.root))
    assert [(row["scenes"], row["copies"]) for row in made] == [(2, 2)]
