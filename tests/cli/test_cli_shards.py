"""--shard: parts that never overlap, and trees that merge by copying."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from bench.run.shards import Shard
from tests.cli.conftest import Bench
from tests.scripted_server import ScriptedServer
from tests.tiny import Tiny, bytes_below

PLAYERS = ("-p", "bard", "-p", "actor")


def at(tiny: Tiny, results: Path) -> list[str]:
    """The options of ``tiny`` with results elsewhere, and without a cache."""
    return [*at_results(tiny, results), "--no-cache"]


def at_results(tiny: Tiny, results: Path) -> list[str]:
    """The options of ``tiny`` with results elsewhere."""
    words = tiny.options()
    words[words.index("--results") + 1] = str(results)
    return words


def merged(parts: list[Path], into: Path) -> dict[str, bytes]:
    for part in parts:
        shutil.copytree(part, into, dirs_exist_ok=True)
    return bytes_below(into)


def test_three_shards_merge_in_any_order_to_the_tree_of_one_run(
    bench: Bench, tiny: Tiny, server: ScriptedServer, tmp_path: Path
) -> None:
    assert bench("run", "tiny", *PLAYERS, *at(tiny, tmp_path / "whole")).status == 0
    whole, calls = bytes_below(tmp_path / "whole"), server.count
    parts = [tmp_path / f"part{k}" for k in (1, 2, 3)]
    for k, part in enumerate(parts, 1):
        assert bench("run", "tiny", *PLAYERS, "--shard", f"{k}/3", *at(tiny, part)).status == 0
    assert server.count == 2 * calls
    assert all(0 < len(bytes_below(part)) < len(whole) for part in parts)
    assert merged(parts, tmp_path / "forth") == whole
    assert merged(parts[::-1], tmp_path / "back") == whole


def test_an_audit_proves_that_merged_shards_are_the_whole(bench: Bench, tiny: Tiny, tmp_path: Path) -> None:
    parts = [tmp_path / f"part{k}" for k in (1, 2, 3)]
    for k, part in enumerate(parts, 1):
        assert bench("run", "tiny", "--shard", f"{k}/3", *at(tiny, part)).status == 0
    assert merged(parts[:2], tmp_path / "two")
    assert bench("board", "tiny", "--write", *at_results(tiny, tmp_path / "two")).status == 0
    ended = bench("audit", "tiny", "--strict", *at_results(tiny, tmp_path / "two"))
    assert ended.status == 1
    assert "missing" in ended.out
    assert merged(parts, tmp_path / "all")
    assert bench("board", "tiny", "--write", *at_results(tiny, tmp_path / "all")).status == 0
    ended = bench("audit", "tiny", "--strict", *at_results(tiny, tmp_path / "all"))
    assert ended.status == 0, ended.out


def test_shards_of_judging_merge_too(bench: Bench, tiny: Tiny, tmp_path: Path) -> None:
    assert bench("run", "tiny", *tiny.options()).status == 0
    parts = [tmp_path / f"part{k}" for k in (1, 2)]
    for k, part in enumerate(parts, 1):
        shutil.copytree(tiny.tree.root, part)
        words = ("judge", "tiny", "-j", "lenient", "--shard", f"{k}/2")
        assert bench(*words, *at(tiny, part)).status == 0
    assert bench("judge", "tiny", "-j", "lenient", *tiny.options()).status == 0
    assert merged(parts, tmp_path / "both") == bytes_below(tiny.tree.root)


def test_a_plan_counts_its_shard_alone(bench: Bench, tiny: Tiny) -> None:
    calls = 0
    for k in (1, 2, 3):
        out = bench("plan", "tiny", "--shard", f"{k}/3", *tiny.options()).out
        calls += int(out.split("Total: ")[1].split()[0])
    assert calls == int(bench("plan", "tiny", *tiny.options()).out.split("Total: ")[1].split()[0])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_every_cell_is_in_exactly_one_shard(tiny: Tiny, count: int) -> None:
    protocol = tiny.protocol()
    found = [cell for k in range(count) for cell in Shard(k + 1, count).cells(protocol, "bard")]
    assert Counter(found) == Counter(protocol.cells("bard"))


def test_shards_have_about_as_many_turns_each(tiny: Tiny) -> None:
    protocol = tiny.protocol()
    turns = [sum(map(protocol.turns, Shard(k, 2).cells(protocol, "bard"))) for k in (1, 2)]
    assert turns == [5, 5]


def test_the_odd_cells_of_many_players_do_not_meet_in_one_shard(tiny: Tiny) -> None:
    protocol = tiny.protocol()
    sizes = [sum(len(Shard(k, 3).cells(protocol, f"p{n}")) for n in range(60)) for k in (1, 2, 3)]
    assert sum(sizes) == 240
    assert max(sizes) - min(sizes) < 40


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/3/5", "1.5/3"])
def test_what_is_no_part_is_refused(bench: Bench, tiny: Tiny, text: str) -> None:
    ended = bench("plan", "tiny", "--shard", text, *tiny.options())
    assert ended.status == 2
    assert "such as 2/8" in ended.err
