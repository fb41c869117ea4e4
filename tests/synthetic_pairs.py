"""Comparisons for a synthetic results tree, with known strengths and texts that no page may interpret."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.records import Call, Conversation, Usage, messages_sha256, sealed, sha256_of
from bench.results import ResultsTree
from bench.results.comparison_records import Comparison, OrderVerdict
from bench.results.comparisons import pair_of, write_comparison
from tests.synthetic import CRITERIA, SyntheticTree, make_tree

HOSTILE = "<script>alert('reason')</script> \u202ethus"


def add_comparisons(
    made: SyntheticTree,
    language: str = "en",
    *,
    neighbours: int = 3,
    judge: str = "judge-01",
    most: int = 10**9,
) -> int:
    """Have ``judge`` compare neighbours in ``made`` in every scene that both have; returns how many."""
    rng = random.Random(f"{made.suite}/{judge}")
    order = sorted(made.players, key=lambda name: -made.strengths[name])
    talks = {name: {t.name: t for t in made.tree.conversations(made.suite, language, name)} for name in order}
    count = 0
    for n, one in enumerate(order):
        for other in order[n + 1 : n + 1 + neighbours]:
            pair = pair_of(one, other)
            lead = made.strengths[pair[0]] - made.strengths[pair[1]]
            for scene in sorted(talks[one].keys() & talks[other].keys()):
                both = talks[pair[0]][scene], talks[pair[1]][scene]
                if count < most and all(talk.status == "complete" for talk in both):
                    write_comparison(made.tree, comparison(both, judge, lead, rng))
                    count += 1
    return count


def comparison(
    pair: tuple[Conversation, Conversation], judge: str, lead: float, rng: random.Random
) -> Comparison:
    """A comparison of two conversations, the first of which leads by ``lead``."""
    noise = rng.gauss(0, 0.5)
    first, second = (_verdict(sign * (lead + noise) + rng.gauss(0, 0.3), rng) for sign in (1, -1))
    cell = pair[0].cell().plain()
    del cell["player"]
    return sealed(
        Comparison(
            **cell,
            judge=judge,
            players=(pair[0].player, pair[1].player),
            fingerprint=sha256_of([judge, pair[0].digest, pair[1].digest]),
            conversations_sha256=(messages_sha256(pair[0].messages), messages_sha256(pair[1].messages)),
            orders=(first, second),
        )
    )


def _verdict(lead: float, rng: random.Random) -> OrderVerdict:
    margins = {name: max(-3, min(3, round(2 * lead + rng.gauss(0, 0.5)))) for name in CRITERIA}
    reasons = dict.fromkeys(CRITERIA, f"'one' against 'other' {HOSTILE}")
    reply: dict[str, object] = {"refusal_explanation": "", "first_refuses": False, "second_refuses": False}
    for name in CRITERIA:
        reply |= {f"{name}_explanation": reasons[name], f"{name}_margin": margins[name]}
    call = Call(
        role="judge",
        turn=1,
        provider="nowhere",
        model="nowhere/judge",
        parameters={"temperature": 0.1},
        outcome="ok",
        finish_reason="stop",
        usage=Usage(prompt_tokens=3000, completion_tokens=300),
        cost="0.0031",
    )
    raw = json.dumps(reply, ensure_ascii=False)
    return OrderVerdict(status="ok", margins=margins, reasons=reasons, raw=(raw,), calls=(call,))


def main() -> None:
    """Make 63 players with some 2,900 comparisons and print what planning, rating and auditing them takes."""
    from bench.audit import audit_tree
    from bench.boards.loading import load_board
    from bench.boards.rating import compared, rating_beside

    root = Path(sys.argv[1])
    made = make_tree(root, players=63, characters=4, situations=4, judges=1)
    counts = [
        add_comparisons(made, judge=name) for name in ("judge-01", "judge-02", "judge-03")[: int(sys.argv[2])]
    ]
    tree = ResultsTree(root)
    start = time.process_time()
    loaded = load_board(tree, made.suite, "en")
    print(f"board: {time.process_time() - start:.1f} s")
    start = time.process_time()
    compared(tree, made.suite, "en", None, rules=None)
    print(f"reading {sum(counts)} comparisons: {time.process_time() - start:.1f} s")
    start = time.process_time()
    rating_beside(tree, loaded, None)
    print(f"rating, reading included: {time.process_time() - start:.1f} s")
    start = time.process_time()
    whole = audit_tree(tree, {}, None)
    print(f"auditing all: {time.process_time() - start:.1f} s, {whole.counts}")


if __name__ == "__main__":
    main()
