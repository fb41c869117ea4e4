"""The rota of judges: balanced everywhere, from the suite alone; mistakes are named with file and line."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import CatalogError
from bench.suites import load_suite
from bench.suites.rotation import Scene, rota_of
from tests.tiny import Tiny, edit, make_tiny

Turns = dict[Scene, int]


def grid(characters: int, situations: int) -> Turns:
    """Every character in every situation; the last situation is longer."""
    return {
        (f"c{c}", f"s{s}"): 8 if s == situations - 1 else 4
        for c in range(characters)
        for s in range(situations)
    }


def check_balance(turns: Turns, judges: int, per_scene: int) -> Counter[frozenset[str]]:
    """Check every count of scenes by judge; return how many scenes each pair of judges shares."""
    names = tuple(f"j{n}" for n in range(judges))
    rota = rota_of(tuple(turns.items()), names, per_scene)
    assert rota.keys() == turns.keys()
    counts: dict[object, Counter[str]] = {}
    for scene, asked in rota.items():
        assert len(set(asked)) == len(asked) == per_scene
        groups = ("all", ("character", scene[0]), ("situation", scene[1]), ("turns", turns[scene]))
        for one in groups:
            counts.setdefault(one, Counter(dict.fromkeys(names, 0))).update(asked)
    for group, by_judge in counts.items():
        assert max(by_judge.values()) - min(by_judge.values()) <= 1, group
    return Counter(frozenset(pair) for asked in rota.values() for pair in combinations(asked, 2))


@given(data=st.data())
def test_counts_of_judges_differ_by_at_most_one_on_any_set_of_scenes(data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=7))
    scenes = [(f"c{c}", f"s{s}") for c in range(data.draw(st.integers(1, 7))) for s in range(len(lengths))]
    chosen = data.draw(st.lists(st.sampled_from(scenes), min_size=1, unique=True))
    judges = data.draw(st.integers(2, 6))
    turns = {scene: lengths[int(scene[1][1:])] for scene in chosen}
    check_balance(turns, judges, data.draw(st.integers(1, judges)))


@pytest.mark.parametrize(
    ("turns", "judges", "per_scene"),
    [(grid(8, 8), 4, 1), (grid(8, 8), 4, 2), (grid(8, 8), 5, 2), (grid(6, 5), 4, 3), (grid(64, 1), 4, 2)],
)
def test_any_two_judges_share_scenes(turns: Turns, judges: int, per_scene: int) -> None:
    shared = check_balance(turns, judges, per_scene)
    if per_scene > 1:
        assert len(shared) == judges * (judges - 1) // 2
        assert max(shared.values()) <= 2 * min(shared.values())


def test_rota_follows_from_the_suite_alone() -> None:
    names = ("a", "b", "c")
    first = dict(rota_of(tuple(grid(5, 4).items()), names, 2))
    rota_of.cache_clear()
    assert dict(rota_of(tuple(grid(5, 4).items()), names, 2)) == first


@pytest.fixture
def rotating(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    tiny = make_tiny(tmp_path_factory.mktemp("rotating"))
    edit(tiny.suite_file, 'version = "1"', 'version = "1"\njudges = "rotate"')
    edit(tiny.suite_file, 'models = ["strict"]', 'models = ["strict", "lenient"]')
    return tiny


def test_suite_asks_one_judge_a_scene_unless_it_says_how_many(rotating: Tiny) -> None:
    suite = load_suite(rotating.prompts, "tiny")
    rota = suite.rota("en")
    assert rota is not None
    assert Counter(judge for asked in rota.values() for judge in asked) == {"strict": 2, "lenient": 2}
    assert suite.asked(("lenient", "another"), ("anna", "hello"), rota)[-1:] == ("another",)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('["strict", "lenient"]', '["strict", "lenient"]\nper_scene = 3', "per_scene = 3"),
        ('["strict", "lenient"]', '["strict"]', 'judges = "rotate"'),
        ('["strict", "lenient"]', '["strict", "lenient"]\nper_scene = 0', "per_scene = 0"),
        ('judges = "rotate"', "", "per_scene = 1"),
        ('judges = "rotate"', 'judges = "some"', 'judges = "some"'),
        ('version = "1"', 'version = "1"\nrepeats = 0', "repeats = 0"),
        ('version = "1"', 'version = "1"\nrepeats = "two"', 'repeats = "two"'),
    ],
)
def test_mistakes_name_file_and_line(rotating: Tiny, old: str, new: str, key: str) -> None:
    if key == "per_scene = 1":
        edit(rotating.suite_file, '["strict", "lenient"]', '["strict", "lenient"]\nper_scene = 1')
    edit(rotating.suite_file, old, new)
    lines = rotating.suite_file.read_text(encoding="utf-8").splitlines()
    with pytest.raises(CatalogError) as caught:
        load_suite(rotating.prompts, "tiny")
    assert caught.value.where == f"{rotating.suite_file}:{lines.index(key) + 1}"
    assert caught.value.hint or "repeats" in key or "per_scene = 0" in key or "some" in key
