"""A synthetic results tree with known player strengths, for tests, benchmarks and trying out the site.

As a module: :func:`make_tree`. As a program: ``python tests/synthetic.py --players 63 --output DIR``.
All text is put together from stock sentences; nothing in it was written by a model.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.records import (
    Call,
    Cell,
    Conversation,
    Failure,
    Judgement,
    Message,
    PlayerInfo,
    Record,
    Role,
    Scene,
    TurnVerdict,
    Usage,
    canonical,
    messages_sha256,
    sealed,
    sha256_of,
)
from bench.results import ResultsTree

SUITE = "synthetic"
VERSION = "1"
PROTOCOL = "pingpong_v2"
CRITERIA = ("in_character", "entertaining", "fluency")
BASE_SCORE = {"in_character": 0.05, "entertaining": -0.35, "fluency": 0.3}
"""How much easier than the average each criterion is."""
FAMILIES = ("Aspen", "Birch", "Cedar", "Elm", "Fir")
SCALE = ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree")

SENTENCES = {
    "en": (
        "*looks up from the map* The harbour was never on any chart of ours.",
        "You ask as if the tide would answer to you.",
        "I have kept this lamp burning for thirty years, and I shall keep it burning tonight.",
        "Sit down, the kettle is on.",
        "Do not touch that lever, or we shall both regret it.",
        "*laughs* A fine question for a wet evening.",
        "My grandmother used to say that a promise weighs more than the purse it fills.",
        "No.",
        "There are three doors, and the cat has an opinion on each of them.",
        "Perhaps we should begin again, from the part about the stolen violin.",
        "I would rather walk than be carried by that horse.",
        'She said "never" & meant <always>, as people of the valley do.',
    ),
    "ru": (
        "*поднимает взгляд от карты* Этой гавани не было ни на одной нашей карте.",
        "Ты спрашиваешь так, словно прилив тебе ответит.",
        "Тридцать лет я слежу за этим фонарём и сегодня погасить его не дам.",
        "Садись, чайник уже закипает.",
        "Не трогай рычаг, а то оба пожалеем.",
        "*смеётся* Хороший вопрос для дождливого вечера.",
        "Бабушка говорила: обещание тяжелее кошелька, который оно наполняет.",
        "Нет.",
        "Дверей три, и о каждой у кота своё мнение.",
        "Давай начнём сначала, с того места, где украли скрипку.",
        "Лучше уж пешком, чем на этой лошади.",
        "Она сказала «никогда» & имела в виду <всегда>, как водится в долине.",
    ),
}
CHARACTERS = {
    "en": ("Lighthouse keeper", "Clockmaker", "Ship's cat", "Ballad singer", "Court astronomer", "Detective"),
    "ru": ("Смотритель маяка", "Часовщик", "Корабельный кот", "Певица", "Придворный астроном", "Сыщик"),
}


@dataclass(frozen=True)
class SyntheticTree:
    """What was made: the tree, its board coordinates, and the truth behind the scores."""

    tree: ResultsTree
    suite: str
    languages: tuple[str, ...]
    players: tuple[str, ...]
    judges: tuple[str, ...]
    strengths: dict[str, float]
    """The true mean score of each player, before clipping to the scale and rounding."""
    lengths: dict[str, int]
    """The mean answer length in characters that each player aims at."""


@dataclass(frozen=True)
class _Plan:
    """What all conversations of a tree share."""

    suite: str
    language: str
    characters: tuple[str, ...]
    situations: tuple[str, ...]
    judges: tuple[str, ...]
    seed: int
    failure_rate: float
    refusal_rate: float


def make_tree(
    root: Path,
    *,
    players: int | Sequence[str] = 3,
    languages: Sequence[str] = ("en",),
    characters: int = 8,
    situations: int = 8,
    judges: int | Sequence[str] = 2,
    seed: int = 0,
    failure_rate: float = 0.0,
    refusal_rate: float = 0.0,
    suite: str = SUITE,
) -> SyntheticTree:
    """Write a results tree below ``root``; equal arguments make equal bytes.

    The last situation has 8 turns, all others 4. ``failure_rate`` is the share of judgements, and half of it
    the share of conversations, that are recorded failures; ``refusal_rate`` the share of conversations in
    which the player refuses once, which each judge notices four times in five.
    """
    names = _names("player", players)
    judge_names = _names("judge", judges)
    tree = ResultsTree(root)
    strengths: dict[str, float] = {}
    lengths: dict[str, int] = {}
    for name in names:
        rng = random.Random(f"{seed}/{name}")
        strengths[name] = round(min(4.8, max(2.0, rng.gauss(4.1, 0.45))), 3)
        lengths[name] = int(rng.lognormvariate(5.9, 0.4))
    for language in languages:
        plan = _Plan(
            suite=suite,
            language=language,
            characters=tuple(f"character-{n + 1}" for n in range(characters)),
            situations=tuple(f"situation-{n + 1}" for n in range(situations)),
            judges=judge_names,
            seed=seed,
            failure_rate=failure_rate,
            refusal_rate=refusal_rate,
        )
        for number, name in enumerate(names):
            _write_player(tree, plan, name, number, strengths[name], lengths[name])
    return SyntheticTree(tree, suite, tuple(languages), names, judge_names, strengths, lengths)


def _names(stem: str, given: int | Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, int):
        return tuple(f"{stem}-{n + 1:02d}" for n in range(given))
    return tuple(given)


def player_info(name: str, number: int) -> PlayerInfo:
    """player.json of the ``number``-th synthetic player."""
    weights: Literal["open", "closed"] = "closed" if number % 3 == 0 else "open"
    return PlayerInfo(
        player=name,
        provider="nowhere",
        model=f"nowhere/{name}",
        name=name.replace("-", " ").title(),
        family=FAMILIES[number % len(FAMILIES)],
        weights=weights,
        licence="proprietary" if weights == "closed" else "Apache-2.0",
        parameters_billion=None if weights == "closed" else float(1 + number),
        sampling={"temperature": 0.6, "top_p": 0.9},
    )


def _write_player(
    tree: ResultsTree, plan: _Plan, player: str, number: int, strength: float, length: int
) -> None:
    folder = tree.player_folder(plan.suite, plan.language, player)
    for name in ("conversations", *(f"judgements/{j}" for j in plan.judges)):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for path, text in _files(plan, player, number, strength, length).items():
        (tree.root / path).write_text(text, encoding="utf-8")


@lru_cache(maxsize=40)
def _files(plan: _Plan, player: str, number: int, strength: float, length: int) -> dict[Path, str]:
    """All files of a player, by their path in the tree. Many tests make the same small tree."""
    tree = ResultsTree(Path())
    folder = tree.player_folder(plan.suite, plan.language, player)
    files: dict[Path, Record] = {folder / "player.json": player_info(player, number)}
    rng = random.Random(f"{plan.seed}/{plan.language}/{player}")
    for c, character in enumerate(plan.characters):
        for s, situation in enumerate(plan.situations):
            cell = Cell(
                suite=plan.suite,
                version=VERSION,
                protocol=PROTOCOL,
                language=plan.language,
                player=player,
                character=character,
                situation=situation,
            )
            turns = 8 if s == len(plan.situations) - 1 else 4
            refused_turn = rng.randint(1, turns) if rng.random() < plan.refusal_rate else None
            conversation = _conversation(rng, plan, cell, c, s, turns, length)
            files[tree.conversation_path(cell)] = conversation
            if conversation.status == "failed":
                continue
            level = strength + _effect(plan.seed, character) + _effect(plan.seed, situation)
            level += rng.gauss(0, 0.25)
            for judge in plan.judges:
                judgement = _judgement(rng, plan, conversation, judge, level, refused_turn)
                files[tree.judgement_path(cell, judge)] = judgement
    return {path: canonical(record.plain()) for path, record in files.items()}


def _effect(seed: int, name: str) -> float:
    """How much easier than the average a character, situation or judge is: the same for all players."""
    return random.Random(f"{seed}/effect/{name}").gauss(0, 0.12)


def _text(rng: random.Random, language: str, length: int) -> str:
    """Stock sentences of about ``length`` characters."""
    pool = SENTENCES.get(language, SENTENCES["en"])
    parts: list[str] = []
    size = 0
    while size < length:
        parts.append(pool[int(rng.random() * len(pool))])
        size += len(parts[-1]) + 1
    return " ".join(parts)


def _call(rng: random.Random, role: Role, turn: int, model: str, characters: int) -> Call:
    parameters: dict[Role, dict[str, float | int]] = {
        "player": {"temperature": 0.6, "top_p": 0.9, "max_tokens": 1536},
        "interrogator": {"temperature": 0.8, "top_p": 0.95, "max_tokens": 1024},
        "judge": {"temperature": 0.1, "top_p": 0.95, "max_tokens": 4096},
    }
    return Call(
        role=role,
        turn=turn,
        provider="nowhere",
        model=model,
        parameters=dict(parameters[role]),
        outcome="ok",
        finish_reason="stop",
        usage=Usage(prompt_tokens=300 + 90 * turn, completion_tokens=characters // 4 + 1),
        cost=f"0.{int(rng.random() * 900) + 100:07d}",
        seed=turn,
    )


def _conversation(
    rng: random.Random, plan: _Plan, cell: Cell, c: int, s: int, turns: int, length: int
) -> Conversation:
    failed_turn = rng.randint(1, turns) if rng.random() < plan.failure_rate / 2 else None
    messages: list[Message] = []
    calls: list[Call] = []
    for turn in range(1, turns + 1):
        question = _text(rng, plan.language, 60)
        messages.append(Message(role="user", content=question))
        calls.append(_call(rng, "interrogator", turn, "nowhere/interrogator", len(question)))
        if turn == failed_turn:
            break
        answer = _text(rng, plan.language, int(length * rng.uniform(0.5, 1.5)) - 30)
        messages.append(Message(role="assistant", content=answer))
        calls.append(_call(rng, "player", turn, f"nowhere/{cell.player}", len(answer)))
    names = CHARACTERS.get(plan.language, CHARACTERS["en"])
    name = names[c % len(names)]
    failure = None
    if failed_turn is not None:
        failure = Failure(role="player", turn=failed_turn, outcome="empty", reason="no text in 3 attempts")
    return sealed(
        Conversation(
            **cell.plain(),
            scene=Scene(
                character_name=name,
                summary=f"{name}.",
                card=f"{name}. {SENTENCES.get(plan.language, SENTENCES['en'])[2]}",
                situation_title=f"Situation {s + 1}",
                situation=SENTENCES.get(plan.language, SENTENCES["en"])[s % 12],
            ),
            fingerprint=sha256_of([cell.suite, cell.language, cell.character, cell.situation, cell.player]),
            status="complete" if failure is None else "failed",
            messages=tuple(messages),
            calls=tuple(calls),
            failure=failure,
        )
    )


def _judgement(
    rng: random.Random,
    plan: _Plan,
    conversation: Conversation,
    judge: str,
    level: float,
    refused_turn: int | None,
) -> Judgement:
    answers = [m.content for m in conversation.messages if m.role == "assistant"]
    verdicts = []
    noticed = refused_turn if rng.random() < 0.8 else None
    level += _effect(plan.seed, judge)
    failure = None
    if rng.random() < plan.failure_rate:
        failure = Failure(
            role="judge", turn=2, outcome="parse_error", reason="turn 2: fluency is missing", raw="{"
        )
    else:
        verdicts = [
            _verdict(rng, turn, answer, level, turn == noticed)
            for turn, answer in enumerate(answers, start=1)
        ]
    raw = json.dumps({"scores": [_raw_turn(v) for v in verdicts]}, ensure_ascii=False) if verdicts else "{"
    calls = [_call(rng, "judge", ask, f"nowhere/{judge}", len(raw)) for ask in ((1, 2) if failure else (1,))]
    cell = {name: getattr(conversation, name) for name in Cell.model_fields}
    return sealed(
        Judgement(
            **cell,
            judge=judge,
            fingerprint=sha256_of([conversation.fingerprint, judge]),
            conversation_sha256=messages_sha256(conversation.messages),
            status="failed" if failure else "ok",
            turns=tuple(verdicts),
            raw=tuple(raw for _ in calls),
            calls=tuple(calls),
            failure=failure,
        )
    )


def _verdict(rng: random.Random, turn: int, answer: str, level: float, refusal: bool) -> TurnVerdict:
    quote = answer[:40].replace("'", "")
    scores = {
        name: 1 if refusal else min(5, max(1, round(level + BASE_SCORE[name] + rng.gauss(0, 0.5))))
        for name in CRITERIA
    }
    return TurnVerdict(
        turn=turn,
        is_refusal=refusal,
        refusal_reason="The player says that it cannot go on." if refusal else "",
        scores=scores,
        reasons={
            name: f"'{quote}': I {SCALE[score - 1]} that it is {name}." for name, score in scores.items()
        },
    )


def _raw_turn(verdict: TurnVerdict) -> dict[str, object]:
    """A turn as the judge's own JSON writes it."""
    data: dict[str, object] = {
        "turn": verdict.turn,
        "is_refusal_explanation": verdict.refusal_reason,
        "is_refusal": verdict.is_refusal,
    }
    for name, score in verdict.scores.items():
        data[f"{name}_explanation"] = verdict.reasons[name]
        data[f"{name}_score"] = score
    return data


def main() -> None:
    """Write a tree from the command line and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="results folder to write")
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--languages", nargs="+", default=["en"])
    parser.add_argument("--characters", type=int, default=8)
    parser.add_argument("--situations", type=int, default=8)
    parser.add_argument("--judges", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--failure-rate", type=float, default=0.01)
    parser.add_argument("--refusal-rate", type=float, default=0.05)
    parser.add_argument("--suite", default=SUITE)
    options = vars(parser.parse_args())
    root = options.pop("output")
    started = time.perf_counter()
    made = make_tree(root, **options)
    files = sum(1 for _ in root.rglob("*.json"))
    print(f"{len(made.players)} players, {files} files in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
