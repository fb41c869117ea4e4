"""Result files in the format of the public ping_pong_bench repository, made of stock sentences.

As a module: :func:`make_public` and :func:`output`. As a program:
``python tests/interop/public_files.py --output DIR`` writes 63 players x 64 conversations x 2 judges, 48 MB.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.synthetic import SENTENCES

JUDGES = ("claude_3_5_sonnet", "gpt_4o")
MODELS = {"claude_3_5_sonnet": "claude-3-5-sonnet-20240620", "gpt_4o": "gpt-4o"}
OLD_KEYS = {
    "in_character": "stay_in_character",
    "entertaining": "entertainment",
    "fluency": "language_fluency",
}


def _text(rng: random.Random, length: int) -> str:
    parts: list[str] = []
    while sum(map(len, parts)) < length:
        parts.append(rng.choice(SENTENCES["en"]))
    return " ".join(parts)


def character(n: int) -> dict[str, Any]:
    return {
        "char_name": f"Character {n}",
        "system_prompt": f"You are Character {n}. " + _text(random.Random(n), 1200),
        "tags": ["test"],
        "example_prompt": _text(random.Random(-n), 400),
        "initial_message": "Hello.",
        "summary": f"Character {n}, who keeps a lighthouse.",
    }


def situation(n: int) -> dict[str, Any]:
    return {
        "text": f"Situation {n}: ask about the lamp.",
        "tags": ["common"],
        "num_turns": 8 if n == 8 else 4,
    }


def messages(rng: random.Random, turns: int, length: int) -> list[dict[str, str]]:
    said = []
    for _ in range(turns):
        said.append({"role": "user", "content": _text(rng, 60)})
        said.append({"role": "assistant", "content": _text(rng, length)})
    return said


def scores(
    rng: random.Random, turns: int, level: float, *, refusal: bool, version: int = 2
) -> dict[str, Any]:
    high = 5 if version == 2 else 10
    names = OLD_KEYS if version == 2 else OLD_KEYS.values()
    given: dict[str, Any] = {
        name: [min(high, max(1, round(level * high / 5 + rng.gauss(0, 0.6)))) for _ in range(turns)]
        for name in names
    }
    if version == 2:
        given["is_refusal"] = [0] * (turns - 1) + [int(refusal)]
    return given


def provider(model: str) -> dict[str, Any]:
    return {"model_name": model, "system_prompt": "", "params": {"temperature": 0.6, "top_p": 0.9}}


def make_public(
    folder: Path,
    *,
    players: int = 2,
    characters: int = 2,
    situations: int = 2,
    judges: tuple[str, ...] = JUDGES,
    refusal_rate: float = 0.0,
    seed: int = 0,
) -> None:
    """Write version 2 files, one per judge and player; both judges' hold the same messages."""
    folder.mkdir(parents=True, exist_ok=True)
    for p in range(players):
        for judge in judges:
            path = folder / f"judge_{judge}_player_player_{p}.json"
            data = version_2(p, judge, characters, situations, refusal_rate, seed)
            path.write_text(json.dumps(data, ensure_ascii=False, indent=4), encoding="utf-8")


def version_2(
    p: int, judge: str, characters: int, situations: int, refusal_rate: float = 0.0, seed: int = 0
) -> dict[str, Any]:
    """One file's data."""
    talk, verdict = random.Random(f"{seed}/{p}"), random.Random(f"{seed}/{p}/{judge}")
    strength = random.Random(p).uniform(3.0, 4.8)
    outputs = []
    for c in range(1, characters + 1):
        for s in range(1, situations + 1):
            turns = 8 if s == 8 else 4
            said = messages(talk, turns, 180 + 8 * p)
            level = strength + talk.gauss(0, 0.3)
            refusal = verdict.random() < refusal_rate
            outputs.append(
                {
                    "messages": said,
                    "character": character(c),
                    "situation": situation(s),
                    "scores": scores(verdict, turns, level, refusal=refusal),
                }
            )
    return {
        "outputs": outputs,
        "version": 2,
        "refusal_ratio": refusal_rate,
        "judge": provider(MODELS.get(judge, judge)),
        "interrogator": provider("gpt-4o-mini"),
        "player": provider(f"vendor/player-{p}"),
        "in_character": 4.0,
        "final_score": 4.0,
    }


def version_1(*, refusal: bool = False, old_names: bool = False, turns: int = 3) -> dict[str, Any]:
    """A version 1 file with two conversations; with ``refusal`` the second ended at a refused turn."""
    rng = random.Random(1)
    outputs = []
    for s, refused in ((1, False), (2, refusal)):
        scored = turns - 1 if refused else turns
        outputs.append(
            {
                "next_user_utterance": "Unsent.",
                "is_refusal": refused,
                "stay_in_character_score": 2,
                "language_fluency_score": 9,
                "entertainment_score": 3,
                "messages": messages(rng, turns, 200),
                "character": {"char_name": "Anna", "system_prompt": "You are Anna.", "summary": None},
                "situation": situation(s),
                "has_refusal": refused,
                "scores": scores(rng, scored, 4.0, refusal=False, version=1),
            }
        )
    player, asker = ("testee", "tester") if old_names else ("player", "interrogator")
    return {
        "outputs": outputs,
        "version": 1,
        "refusal_ratio": 0.0,
        asker: provider("claude-3-5-sonnet-20240620"),
        player: provider("vendor/old"),
        "stay_in_character_score": 8.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--players", type=int, default=63)
    parser.add_argument("--characters", type=int, default=8)
    parser.add_argument("--situations", type=int, default=8)
    parser.add_argument("--refusal-rate", type=float, default=0.03)
    options = parser.parse_args()
    make_public(
        options.output,
        players=options.players,
        characters=options.characters,
        situations=options.situations,
        refusal_rate=options.refusal_rate,
    )
    size = sum(path.stat().st_size for path in options.output.glob("*.json"))
    print(f"{options.players} players, {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
