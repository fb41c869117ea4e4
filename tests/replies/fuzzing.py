"""Makes replies of judges, interrogators and players, damages them, and checks what is read from them.

Each reply has a known truth. What is read must be that truth, or the model is asked again: no value may be
cut, completed, taken from elsewhere in the reply, or chosen where the reply leaves a doubt. Where the damage
may have touched the values themselves, every value must stand in the text as it was read.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.protocols.calls import read_whole
from bench.records import Criterion, Outcome
from bench.replies import ReplyFault, utterance, verdict
from bench.replies.reasoning import separated
from tests.replies.reasoning_marks import HEADED, MARKS, NESTED, PROSE, UNOPENED

CRITERIA = tuple(
    Criterion(name=n, label=n, low=1, high=5) for n in ("in_character", "entertaining", "fluency")
)
QUOTES = "\"'`“‘"
CANARY = "QZX7"
"""Stands in every piece of reasoning and in no answer."""
PIECES = (
    *("He keeps the lamp.", 'He said "no", then left.', '"Never again", she said.', "{x}", "[1]"),
    *("it's 5\" tall", '"}', '"]}', '", "', '"score": 5', "a\nb", "\\", "</b>", "score: 4", "“so”", "é🕯"),
    *("true", "(3/5)", "*sighs*", '{"next_utterance": "no"}', "```json", "’tis", "'x': 1", "// no"),
    *("# no", "yes, no", "a: b", ", ", "3,"),
)
GUESSES = ("true or false", "yes", "maybe", "tru", "1 or 0", "null", "false/true", "[true]", '"either"')
SCORE_GUESSES = (
    *("4/5", "3,5", "4 - Agree", "4 or 5", "~4", "4 (agree)", "", "four", "4 5", "3 .5", "[4]", "4%", "99"),
)


@dataclass(frozen=True)
class Wrong:
    """A reply that was read as something that it does not say."""

    reply: str
    outcome: Outcome
    read: object
    truth: object


def text_of(random: Random, most: int = 4) -> str:
    """A text with whatever may confuse a reader of JSON."""
    return " ".join(random.choices(PIECES, k=random.randint(1, most))).strip() or "No."


# --- damage ----------------------------------------------------------------------------------------------

Damage = Callable[[Random, str], str]


def _unescaped(random: Random, text: str) -> str:
    return re.sub(r"\\(.)", lambda mark: '"' if mark[1] == '"' else mark[0], text)


def _some_unescaped(random: Random, text: str) -> str:
    return re.sub(r"\\(.)", lambda mark: '"' if mark[1] == '"' and random.random() < 0.5 else mark[0], text)


def _in_prose(random: Random, text: str) -> str:
    return f"Here you are: {text}\nI hope it helps."


def _after_reasoning(random: Random, text: str) -> str:
    before, after = random.choice([*MARKS, *UNOPENED, *NESTED, HEADED[-1]])
    return f"{before}{CANARY} hm {random.choice(['', text[: len(text) // 3], text])}{after}\n{text}"


def _after_a_draft(random: Random, text: str) -> str:
    return f"{_changed(text)}\nOn reflection:\n{text}"


def _changed(text: str) -> str:
    """``text`` with other scores and another message."""
    return re.sub(r'(_score": )\d', r"\g<1>1", text).replace(
        '"next_utterance": "', '"next_utterance": "Draft. '
    )


def _cut(random: Random, text: str) -> str:
    return text[: random.randint(0, len(text))]


def _and_more(random: Random, text: str) -> str:
    more = ("\nWait, turn 1", " <think>but", "\n{", "\n```\nHm", '\n{"scores": [{"turn": 1', '\n{"next_utt')
    return text + random.choice(more)


KEEPING: dict[str, Damage] = {
    "nothing": lambda random, text: text,
    "unescaped quotes": _unescaped,
    "some unescaped quotes": _some_unescaped,
    "a fence": lambda random, text: f"```json\n{text}\n```",
    "prose": _in_prose,
    "reasoning": _after_reasoning,
    "a draft": _after_a_draft,
    "a trailing comma": lambda random, text: re.sub(r"\}(\s*)\Z", r",}\1", text),
    "a missing comma": lambda random, text: re.sub(r'(\d|true|false), (?="\w+":)', r"\1 ", text),
    "Python's words": lambda random, text: re.sub(r": (true|false)\b", lambda m: ": " + m[1].title(), text),
    "raw line breaks": lambda random, text: text.replace("\\n", "\n"),
    "a stray bracket": lambda random, text: text + random.choice("}]"),
    "no last brackets": lambda random, text: text.rstrip("]}"),
    "a break": _cut,
}
"""Leaves the values as they are: they are read, or the model is asked again."""


def _one_damaged(random: Random, text: str) -> str:
    at = random.randint(0, len(text))
    put: str = random.choice([*"\"{}[],:\\'", ""])
    return text[:at] + put + text[at + random.randint(0, 2) :]


# --- one reply of each role ------------------------------------------------------------------------------


def judge(random: Random) -> Wrong | str:
    """A judge's reply: what is wrong, or what became of it."""
    turns = random.randint(1, 3)
    truth = [_entry(random, turn) for turn in range(1, turns + 1)]
    text = json.dumps({"scores": truth}, ensure_ascii=random.random() < 0.3, indent=random.choice([None, 1]))
    read = lambda reply: verdict(reply, turns=turns, criteria=CRITERIA)  # noqa: E731
    if random.random() < 0.15:
        key, guesses = random.choice([("is_refusal", GUESSES), ("fluency_score", SCORE_GUESSES)])
        text = re.sub(rf'"{key}": [^,}}\n]+', f'"{key}": {random.choice(guesses)}', text)
        return _outcome(text, "ok", read, lambda found: False, truth)
    text, outcome, damaged = _damaged(random, text)

    def says(found: Any) -> bool:
        for entry, turn in zip(truth, found.turns, strict=True):
            plain = {"turn": turn.turn, "is_refusal": turn.is_refusal}
            plain |= {f"{name}_score": score for name, score in turn.scores.items()}
            texts = {f"{name}_explanation": why for name, why in turn.reasons.items()}
            texts["is_refusal_explanation"] = turn.refusal_reason
            if damaged:
                if "turns_from_order" in found.repairs:
                    del plain["turn"]
                good = all(_stands(text, key, value) for key, value in plain.items())
                good &= all(_as_long(entry[key], why) or why == "" for key, why in texts.items())
            else:
                good = {**plain, **texts} == entry
            if not good:
                return False
        return True

    return _outcome(text, outcome, read, says, truth)


def _entry(random: Random, turn: int) -> dict[str, Any]:
    entry = {"turn": turn, "is_refusal_explanation": text_of(random), "is_refusal": random.random() < 0.3}
    for criterion in CRITERIA:
        entry[f"{criterion.name}_explanation"] = text_of(random)
        entry[f"{criterion.name}_score"] = random.randint(2, 5)
    return entry


def interrogator(random: Random) -> Wrong | str:
    """An interrogator's reply: what is wrong, or what became of it."""
    truth = text_of(random, 6)
    data: dict[str, object] = {"next_utterance": truth}
    if random.random() < 0.4:
        extra: dict[str, object] = {
            random.choice(["mood", "a b", "note"]): random.choice(["curious", 'so "so", so', 3, ["x"]])
        }
        data = random.choice([{**data, **extra}, {**extra, **data}])
    text, outcome, damaged = _damaged(random, json.dumps(data, ensure_ascii=False))

    def says(found: Any) -> bool:
        return found.text == truth or (damaged and _as_long(truth, found.text)) or _is_json(text, found.text)

    return _outcome(text, outcome, utterance, says, truth)


def _is_json(text: str, message: str) -> bool:
    """Whether ``text`` is well-formed JSON that says ``message``."""
    try:
        says: object = json.loads(text)["next_utterance"]
    except (ValueError, LookupError, TypeError):
        return False
    return isinstance(says, str) and says.strip() == message


def player(random: Random) -> Wrong | str:
    """A player's reply: what is wrong, or what became of it."""
    truth = random.choice([*PROSE, text_of(random, 6), "Ahoy. <sighs> Who are you?"]).strip()
    before, after = random.choice([*MARKS, *UNOPENED, *NESTED, *HEADED])
    thought = f"{CANARY} {text_of(random)}"
    cut = False
    match random.randint(0, 3):
        case 0:
            text = truth
        case 1:
            text = f"{before}{thought}{after}{chr(10) * random.randint(truth[0] in QUOTES, 2)}{truth}"
        case 2:
            cut, truth = True, ""
            text = f"{random.choice(MARKS)[0]}{thought}"
        case _:
            truth = f"Ahoy. {text_of(random, 6)}"
            first, second = random.choices(MARKS[:19], k=2)
            text = f"{first[0]}{thought}{first[1]}{truth}{second[0]}{thought}{second[1]}"
    parts = separated(text, cut=cut)
    if parts.answer == truth and (text == truth or CANARY in parts.reasoning):
        return "read"
    return Wrong(text, "length" if cut else "ok", parts.answer, truth)


ROLES: dict[str, Callable[[Random], Wrong | str]] = {
    "judge": judge,
    "interrogator": interrogator,
    "player": player,
}


def _damaged(random: Random, text: str) -> tuple[str, Outcome, bool]:
    """A damaged reply, how its call ended, and whether the damage may have touched its values."""
    if random.random() < 0.25:
        return _one_damaged(random, text), "ok", True
    damages = random.choices(list(KEEPING), k=random.randint(1, 3))
    if "a break" in damages:  # which may leave the draft alone, and then it is what the reply says
        damages = [damage for damage in damages if damage != "a draft"]
    for damage in damages:
        text = KEEPING[damage](random, text)
    if random.random() < 0.15:
        return _and_more(random, _changed(text)), "length", False
    return text, "length" if "a break" in damages else random.choice(["ok", "length"]), False


def _outcome(
    text: str, outcome: Outcome, read: Callable[[str], Any], says: Callable[[Any], bool], truth: object
) -> Wrong | str:
    try:
        found = read_whole(read, text, outcome)
    except ReplyFault:
        return "asked again"
    return "read" if says(found) else Wrong(text, outcome, found, truth)


def _stands(text: str, key: str, value: object) -> bool:
    """Whether ``value`` stands plainly after ``key`` somewhere in ``text``."""
    literal = json.dumps(value)
    return bool(re.search(rf"{key}\W{{0,4}}:\W{{0,3}}{literal}(?![\w.]|\s*[-/%(])", text, re.IGNORECASE))


def _as_long(truth: str, read: str) -> bool:
    """Whether a text that one mark damaged was neither cut nor continued."""
    return abs(len(truth.strip()) - len(read)) <= 7


def fuzz(replies: int, seed: int) -> tuple[dict[str, Counter[str]], list[Wrong]]:
    """Read ``replies`` replies of each role in turn: what became of them, and those read wrongly."""
    random = Random(seed)
    became: dict[str, Counter[str]] = {role: Counter() for role in ROLES}
    wrong = []
    for number in range(replies):
        role, play = list(ROLES.items())[number % len(ROLES)]
        result = play(random)
        became[role][result if isinstance(result, str) else "wrong"] += 1
        if isinstance(result, Wrong):
            wrong.append(result)
    return became, wrong
