"""Re-scoring in the browser gives Python's numbers, keeps its state in the address, and shows the command."""

from __future__ import annotations

import math
import random
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.boards.rescoring import rescore_board
from bench.results import ResultsTree
from bench.scores.frame import Frames, load
from bench.scores.rescore import Choices, Refusals, chosen_scenes, rescored_board, standings
from bench.scores.robust import RobustBoard
from bench.scores.shipped import shipped
from bench.site.numbers import number
from bench.slugs import slug
from tests.site.browsing import BROWSER, Watched
from tests.site.hostile import JUDGES
from tests.synthetic import make_tree
from tests.tiny import ROOT

pytestmark = BROWSER
KINDS = {"situation-1": "common", "situation-2": "attack", "situation-3": "common"}
SCRIPT = ROOT / "site/assets/rescore.js"


def with_repeats(frames: Frames) -> Frames:
    """Each scene played twice; the second time, scores differ by chance, and some are missing."""
    rng = np.random.default_rng(5)
    scores = frames.scores.assign(repeat=2)
    scores["score"] = np.clip(scores["score"] + rng.integers(-1, 2, len(scores)), 1, 5)
    talks = frames.conversations.assign(repeat=2)
    talks = talks[rng.random(len(talks)) > 0.15]
    return replace(
        frames,
        samples=(1, 2),
        scores=pd.concat([frames.scores, scores], ignore_index=True),
        judgements=pd.concat([frames.judgements, frames.judgements.assign(repeat=2)], ignore_index=True),
        conversations=pd.concat([frames.conversations, talks], ignore_index=True),
    )


def with_lost_judgements(frames: Frames, share: float) -> Frames:
    kept = np.random.default_rng(9).random(len(frames.judgements)) > share
    return replace(frames, judgements=frames.judgements[kept].reset_index(drop=True))


def taking_turns(frames: Frames) -> Frames:
    """Two of the judges score each scene, in turn."""
    scenes = sorted(
        set(zip(frames.conversations["character"], frames.conversations["situation"], strict=True))
    )
    count = len(frames.judges)
    asked = {
        s: tuple(frames.judges[k] for k in sorted({n % count, (n + 1) % count})) for n, s in enumerate(scenes)
    }
    return frames.rotated(asked)


def by_item(frames: Frames) -> Frames:
    """Each situation belongs to one character, as items of a data set do; scores are decimals."""

    def joined(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(situation=table["character"] + "." + table["situation"])

    noise = np.random.default_rng(3).random(len(frames.scores)).round(2)
    scores = joined(frames.scores)
    scores["score"] = 1 + (scores["score"] - 1) * noise
    return replace(
        frames,
        scores=scores,
        judgements=joined(frames.judgements),
        conversations=joined(frames.conversations),
    )


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Frames]:
    root = tmp_path_factory.mktemp("rescored")
    tree = make_tree(
        root, players=4, characters=3, situations=3, judges=5, failure_rate=0.1, refusal_rate=0.25, seed=2
    )
    five = load(tree.tree, tree.suite, "en")
    two, three = five.only_judges(five.judges[:2]), five.only_judges(five.judges[2:])
    return {
        "two judges, repeats, missing judgements": with_lost_judgements(with_repeats(two), 0.1),
        "one judge": two.only_judges(two.judges[:1]),
        "judges take turns": with_lost_judgements(taking_turns(three), 0.1),
        "five judges": with_lost_judgements(five, 0.2),
        "items": by_item(two),
        "version 1": replace(two, protocol="pingpong_v1"),
    }


def expected(frames: Frames, choices: Choices, judges: list[str]) -> RobustBoard:
    return rescored_board(frames.only_judges(judges), choices, KINDS)


def differences(ours: RobustBoard, theirs: Mapping[str, Any], players: list[str]) -> float:
    """The largest difference of any number; an exception for one that only one of the two knows."""
    largest = 0.0
    fixed = standings(ours, "fixed")
    sample = None if ours.spread is None else standings(ours, "sample")
    shown = {players[row["player"]]: row for row in theirs["players"]}
    assert shown.keys() == set(fixed.index)
    for player, row in shown.items():
        pairs = [(float(fixed.loc[player, "score"]), row["score"])]
        assert (sample is None) == (row["sample"] is None)
        for table, place in ((fixed, row["fixed"]), (sample, row["sample"])):
            if table is None:
                continue
            own = table.loc[player]
            ranks = [place[name] for name in ("rank", "rankLow", "rankHigh")]
            assert ranks == [int(own[name]) for name in ("rank", "rank_low", "rank_high")], player
            pairs += [(float(own[name]), place[name]) for name in ("low", "high")]
        for one, other in pairs:
            assert math.isnan(one) == math.isnan(other), (player, one, other)
            largest = max(largest, 0.0 if math.isnan(one) else abs(one - other))
    return largest


ALL = """([data, asked]) => {
  const cells = dramaturgRescore.decode(data);
  return asked.map((choices) => dramaturgRescore.rescore(data, cells, choices));
}"""


def test_the_browser_gives_pythons_numbers_under_every_choice(
    watch: Watched, boards: dict[str, Frames]
) -> None:
    watch.page.add_script_tag(path=SCRIPT)
    rng = random.Random(1)
    others: tuple[Refusals, ...] = ("lowest", "left_out", "shared")
    compared = unknown = 0
    for turn, (name, frames) in enumerate(boards.items()):
        data = shipped(frames)
        assert data is not None
        asked: list[dict[str, Any]] = []
        wanted: list[RobustBoard] = []
        policies: tuple[Refusals, ...] = ("robust", others[turn % len(others)])
        for policy in policies:
            weights = {c: rng.choice([0.0, 0.5, 1.0, 3.0]) for c in frames.criteria} | {
                frames.criteria[0]: 1.0
            }
            judges = sorted(rng.sample(frames.judges, rng.randint(1, len(frames.judges))))
            judges = list(frames.judges) if policy == "robust" else judges
            characters = tuple(sorted(rng.sample(["character-1", "character-2", "character-3"], 2)))
            choices = Choices(
                weights=weights,
                refusals=policy,
                characters=characters if policy == "lowest" else (),
                kinds=("common",) if policy == "left_out" and name != "items" else (),
                length_rule=rng.random() < 0.7,
            )
            scenes = chosen_scenes(frames, choices.characters, choices.kinds, KINDS)
            asked.append(
                {
                    "weights": [weights[c] for c in data["criteria"]],
                    "judges": [data["judges"].index(j) for j in judges],
                    "scenes": [n for n, scene in enumerate(data["scenes"]) if tuple(scene) in scenes],
                    "refusals": policy,
                    "length": choices.length_rule,
                }
            )
            wanted.append(expected(frames, choices, judges))
        found = watch.page.evaluate(ALL, [data, asked])
        for ours, theirs, choice in zip(wanted, found, asked, strict=True):
            assert differences(ours, theirs, data["players"]) < 1e-9, (name, choice)
            compared += 1
            unknown += ours.spread is None
    assert compared == 12
    assert 0 < unknown < compared  # both kinds of interval were compared
    assert watch.faults == []


PAGE = "boards/synthetic/en/rescore.html"


def _table(watch: Watched) -> list[list[str]]:
    rows: list[list[str]] = watch.page.eval_on_selector_all(
        "[data-rc-yours] tbody tr",
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.trim()))",
    )
    return rows


def _line(row: Any, published: tuple[int, float], name: str, cost: str) -> list[str]:
    """A row of the table from a row of `bench board --rescore`, with what stays as it was published."""
    moved = published[0] - row.rank
    ends = []
    for span in (row.fixed, row.sample):
        ends.append("–" if span is None or span.low is None else f"{number(span.low)} to {number(span.high)}")
        if span is None:
            ends.append("–")
        else:
            ends.append("–".join(map(str, sorted({span.rank_low, span.rank_high}))))
    own = f"{row.rank}" + (f" {'▲' if moved > 0 else '▼'}{abs(moved)}" if moved else "")
    return [own, str(published[0]), name, str(number(row.score)), str(number(published[1])), *ends, cost]


def test_a_choice_is_in_the_address_and_the_command_gives_what_the_page_shows(
    watch: Watched, small_url: str, small_tree: ResultsTree
) -> None:
    watch.base = small_url
    page = watch.open(PAGE)
    before = _table(watch)
    page.locator("input[name=w]").nth(1).fill("2.5")
    page.locator("input[name=judge]").first.uncheck()
    page.locator("input[name=c]").nth(2).uncheck()
    page.select_option("select[name=refusals]", "left_out")
    page.locator("input[name=length]").uncheck()
    query = str(page.evaluate("location.search"))
    assert query == ("?w=1%2C2.5%2C1&judge=judge-02&c=character-1&c=character-2&refusals=left_out&length=off")
    command = page.locator("[data-rc-command]").inner_text()
    assert command == (
        "bench board synthetic -l en --rescore --weights=1,2.5,1 --judge=judge-02 --refusals=left_out"
        " --character=character-1 --character=character-2 --no-length-rule"
    )
    made = rescore_board(
        small_tree,
        "synthetic",
        "en",
        Choices(refusals="left_out", characters=("character-1", "character-2"), length_rule=False),
        prompts={},
        judges=["judge-02"],
        weights="1,2.5,1",
    )
    published = {row[2]: ((int(row[0]), float(row[3])), row[2], row[-1]) for row in before}
    shown = [_line(row, *published[row.player.replace("-", " ").title()]) for row in made.rows]
    page.reload()
    page.locator("[data-rc-said]", has_text="players on").wait_for()
    assert _table(watch) == shown
    page.go_back()
    page.locator("[data-rc-own] button[type=reset]").click()
    page.wait_for_url(lambda url: "?" not in url)
    assert _table(watch) == before
    assert watch.faults == []


def test_hostile_ids_are_words_of_the_command(watch: Watched, hostile_url: str) -> None:
    watch.base = hostile_url
    page = watch.open("boards/hostile/en/rescore.html?w=x&judge=nobody&refusals=<b>&c=__proto__")
    assert page.locator("[data-rc-command]").inner_text() == "bench board hostile -l en --rescore"
    page.locator(f'input[name=judge][value="{slug(JUDGES[0])}"]').uncheck()
    command = page.locator("[data-rc-command]").inner_text()
    assert shlex.split(command)[-1] == f"--judge={JUDGES[1]}"
    page.locator("[data-rc-said]", has_text="players on").wait_for()
    assert page.evaluate("window.__pwned") is None
    assert watch.faults == []
