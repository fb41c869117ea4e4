"""A name that is nearly right brings the right one, in every command that takes names."""

from __future__ import annotations

from tests.cli.conftest import Bench
from tests.tiny import Tiny

NEARLY: dict[str, str] = {
    "bord tiny": "board",
    "annotate smple": "sample",
    "site biuld": "build",
    "import crd": "card",
    "new sute": "suite",
    "board tiny --langauge en": "--language",
    "board tny": "tiny",
    "board tiny -j strct": "strict",
    "board tiny -l en --weights fluncy=1": "fluency",
    "board tiny -l en --separate brd actor": "bard",
    "board tiny -l en --rescore --character ana": "anna",
    "analyse tiny -l en --only by_trn": "by_turn",
    "annotate status --study fist": "first",
    "cost tny": "tiny",
    "diff tny --since HEAD": "tiny",
    "export tny": "tiny",
    "judge tiny -j strct": "strict",
    "plan tny": "tiny",
    "plan tiny -p brd": "bard",
    "rank-map tiny -l en --against-suite tny": "tiny",
    "rating tny": "tiny",
    "remove tiny brd --reason r": "bard",
    "run tiny --interrogator askr": "asker",
    "versus tiny brd actor": "bard",
}


def test_a_name_that_is_nearly_right_brings_the_right_one(bench: Bench, done: Tiny) -> None:
    (done.tree.root / "human" / "first").mkdir(parents=True)
    (done.tree.root / "human" / "first" / "study.json").touch()
    missing = {}
    for words, meant in NEARLY.items():
        place = [] if words.split()[0] in ("bord", "annotate smple") else done.options()
        ended = bench(*words.split(), *place)
        assert ended.status != 0, words
        if not any(f"{quote}{meant}{quote}?" in ended.err for quote in ("'", "")):
            missing[words] = ended.err
    assert missing == {}
