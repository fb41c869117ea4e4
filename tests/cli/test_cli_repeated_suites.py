"""A suite whose scenes are played twice by rotating judges: from the plan to the board and the audit."""

from __future__ import annotations

import json

from tests.cli.conftest import Bench
from tests.scripted_server import ScriptedServer
from tests.tiny import Tiny, edit

TURNS = 10


def test_repeats_and_rotated_judges_from_plan_to_audit(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    edit(tiny.suite_file, 'version = "1"', 'version = "1"\nrepeats = 2\njudges = "rotate"')
    edit(tiny.suite_file, 'models = ["strict"]', 'models = ["strict", "lenient"]')
    assert bench("run", "tiny", *tiny.options()).status == 0
    assert server.count == 2 * (TURNS + TURNS + 4), "one judgement for each of 4 conversations, twice"
    assert bench("run", "tiny", *tiny.options()).status == 0
    assert server.count == 2 * (TURNS + TURNS + 4), "nothing is left to do"
    board = json.loads(bench("board", "tiny", "-l", "en", "--format", "json", *tiny.options()).out)
    assert (board["repeats"], board["judges_per_scene"]) == (2, 1)
    (row,) = board["rows"]
    assert (row["conversations"], row["conversations_expected"]) == (8, 8)
    assert (row["judgements_expected"], row["judgements_missing"]) == (8, 0)
    said = bench("board", "tiny", "-l", "en", *tiny.options()).out
    assert "played 2 times" in said
    assert "Judges take turns: one of the 2 for each scene" in said
    audit = bench("audit", "tiny", *tiny.options())
    assert audit.status == 0
    assert not {"missing-judgement", "unexpected-judge", "extra-repeat"} & set(
        audit.out.replace("[", " ").replace("]", " ").split()
    )
    analysed = bench(
        "analyse", "tiny", "-l", "en", "--format", "json", "--only", "run_noise", *tiny.options()
    )
    (table,) = json.loads(analysed.out)["analyses"]
    assert table["rows"][0]["scenes"] == 4
    for path in tiny.tree.player_folder("tiny", "en", "bard").rglob("anna.hello.2.json"):
        path.unlink()
    again = bench("audit", "tiny", *tiny.options()).out
    assert "anna.hello.2 has not been played" in again
