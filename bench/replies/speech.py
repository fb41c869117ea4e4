"""A judge's reply about a spoken answer: the steps it took, in their order, and its final score."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import JsonValue

from bench.replies.faults import ReplyFault, in_order, shown
from bench.replies.objects import Found, find, wanted_object
from bench.replies.values import boolean, in_range, integer, literals

THRESHOLD: Final = 70
"""Of 100: a style requirement with at least so much is met."""
LOWEST, HIGHEST = 1, 5
_MARKED: Final = re.compile(r"\[\[\s*+(-?[0-9]{1,9})\s*+\]\]")
_LAST_WORDS: Final = re.compile(r"final\s++score\W{1,10}\[\[\s*+(-?[0-9]{1,9})\s*+\]\]\W*\Z", re.IGNORECASE)


@dataclass(frozen=True)
class SpeechVerdict:
    """The judge's final score, why, its steps as data, and what had to be repaired (slugs of ``REPAIRS``).

    ``steps`` also holds ``threshold`` (of style requirements), ``stopped_at`` (the step that decided),
    ``derived_score`` (what the steps come to by the protocol's rules) and ``consistent`` (whether the final
    score is that). The final score is never changed.
    """

    score: int
    reason: str
    steps: dict[str, JsonValue]
    repairs: tuple[str, ...]


def speech_verdict(text: str) -> SpeechVerdict:
    """The steps and the final score in ``text``. Raises ReplyFault."""
    found = find(text, wanted_object(["description", "transcript", "instruction", "language"]))
    repairs = set(found.repairs)
    steps = _Steps(found.data, repairs)
    derived, stopped_at, reason = steps.walk()
    if found.mended:
        _check_against_source(found, steps)
    final = _final(found, text, repairs)
    taken: dict[str, JsonValue] = {
        **steps.taken,
        "threshold": THRESHOLD,
        "stopped_at": stopped_at,
        "derived_score": derived,
        "consistent": final == derived,
    }
    return SpeechVerdict(final, reason, taken, in_order(repairs))


class _Steps:
    """Reads step after step, as far as the rules go."""

    def __init__(self, data: Mapping[str, Any], repairs: set[str]) -> None:
        self._data = data
        self._repairs = repairs
        self.taken: dict[str, JsonValue] = {}
        self.style_scores: list[int] = []

    def walk(self) -> tuple[int, str, str]:
        """Take all steps; returns the score that they come to, the step that decided, and its reason."""
        self.taken["description"] = self._text("description")
        self.taken["transcript"] = self._text("transcript", blank=True)
        self.taken["breaks_off"] = self._flag(self._data, "breaks_off", "")
        requirements = self._instruction()
        decided = self._language() or self._content() or self._style(requirements) or self._naturalness()
        after = {"content", "style", "naturalness"} - self.taken.keys()
        if any(self._data.get(step) not in (None, {}, []) for step in after):
            self._repairs.add("steps_after_stop")
        if self._data.keys() - {*self.taken, *after, "final"}:
            self._repairs.add("extra_keys")
        return decided

    def _instruction(self) -> int:
        """Step 3; returns how many style requirements were found."""
        step = self._object("instruction")
        listed = step.get("style_requirements")
        where = '"style_requirements" of "instruction"'
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise ReplyFault("bad_type", f"The value of {where} must be a list of strings.")
        if not listed:
            fault = f"{where} is empty; a role or a scenario asks for some manner of speaking."
            raise ReplyFault("missing_key", fault)
        about = {key: self._optional(step, key) for key in ("language", "role", "scenario")}
        self.taken["instruction"] = {**about, "style_requirements": list(listed)}
        return len(listed)

    def _language(self) -> tuple[int, str, str] | None:
        step = self._object("language")
        consistent = self._flag(step, "consistent", "language")
        spoken = self._optional(step, "response_language")
        self.taken["language"] = {"response_language": spoken, "consistent": consistent}
        return None if consistent else (1, "language", f"The answer is in another language: {spoken or '?'}.")

    def _content(self) -> tuple[int, str, str] | None:
        step = self._object("content")
        compliant = self._flag(step, "compliant", "content")
        reason = self._reason(step)
        self.taken["content"] = {"reason": reason, "compliant": compliant}
        return None if compliant else (1, "content", reason)

    def _style(self, requirements: int) -> tuple[int, str, str] | None:
        rated = self._data.get("style")
        if not isinstance(rated, list) or not all(isinstance(item, dict) for item in rated):
            raise ReplyFault("missing_key", '"style" must be a list with one object for each requirement.')
        if len(rated) != requirements:
            fault = f'Step 3 lists {requirements} style requirements, and "style" rates {len(rated)}.'
            raise ReplyFault("missing_key", f"{fault} Each must be rated once.")
        entries: list[JsonValue] = []
        told = []
        for number, item in enumerate(rated, 1):
            where = f'"score" of style requirement {number}'
            if "score" not in item:
                raise ReplyFault("missing_key", f"There is no {where}.")
            score = in_range(integer(item["score"], where, self._repairs), 0, 100, where)
            requirement, reason = self._optional(item, "requirement"), self._reason(item)
            entries.append({"requirement": requirement, "reason": reason, "score": score})
            told.append(f"{requirement or number}: {score}")
            self.style_scores.append(score)
        self.taken["style"] = entries
        met = sum(score >= THRESHOLD for score in self.style_scores)
        if met == len(entries):
            return None
        return (3 if met else 2), "style", "; ".join(told)

    def _naturalness(self) -> tuple[int, str, str]:
        step = self._object("naturalness")
        natural = self._flag(step, "highly_natural", "naturalness")
        reason = self._reason(step)
        self.taken["naturalness"] = {"reason": reason, "highly_natural": natural}
        return (5 if natural else 4), "naturalness", reason

    # Values

    def _object(self, key: str) -> dict[str, Any]:
        value = self._data.get(key)
        if value is None:
            raise ReplyFault("missing_key", f'The step "{key}" is missing.')
        if not isinstance(value, dict):
            raise ReplyFault("bad_type", f'The value of "{key}" is {shown(value)}; it must be an object.')
        return value

    def _flag(self, step: Mapping[str, Any], key: str, of: str) -> bool:
        where = f'"{key}" of "{of}"' if of else f'"{key}"'
        if key not in step:
            raise ReplyFault("missing_key", f"There is no {where}.")
        return boolean(step[key], where, self._repairs)

    def _text(self, key: str, *, blank: bool = False) -> str:
        value = self._data.get(key)
        if not isinstance(value, str):
            raise ReplyFault("bad_type", f'The value of "{key}" is {shown(value)}; it must be a string.')
        if not (blank or value.strip()):
            raise ReplyFault("empty", f'The step "{key}" is blank.')
        return value

    def _optional(self, step: Mapping[str, Any], key: str) -> str:
        """A text that may be missing: an instruction need not name a role."""
        value = step.get(key)
        return value if isinstance(value, str) else ""

    def _reason(self, step: Mapping[str, Any]) -> str:
        reason = self._optional(step, "reason")
        if not reason:
            self._repairs.add("reason_missing")
        return reason


def _final(found: Found, text: str, repairs: set[str]) -> int:
    """The final score: the last key of the JSON, or the last words after it."""
    stated = found.data.get("final")
    after = _LAST_WORDS.search(text, found.start + len(found.source))
    if stated is None and after is None:
        raise ReplyFault("missing_key", 'The final score is missing: "final" must be "Final score: [[n]]".')
    scores = []
    if stated is not None:
        marked = _MARKED.findall(stated) if isinstance(stated, str) else []
        if marked:
            scores += [int(number) for number in marked]
        else:
            scores.append(integer(stated, '"final"', repairs))
            repairs.discard("number_from_string")
            repairs.add("final_unmarked")
    else:
        repairs.add("final_from_prose")
    if after is not None:
        scores.append(int(after[1]))
    if len(set(scores)) > 1:
        raise ReplyFault("contradiction", f"The reply gives the final scores {scores[0]} and {scores[-1]}.")
    return in_range(scores[0], LOWEST, HIGHEST, "the final score")


def _check_against_source(found: Found, steps: _Steps) -> None:
    """Hold the numbers of mended JSON against its text, since json-repair guesses."""
    if literals(found.source, "score")[: len(steps.style_scores)] != steps.style_scores:
        raise ReplyFault("bad_json", 'The JSON in the reply is malformed around "score".')


def _object(properties: dict[str, JsonValue], *, nullable: bool = False) -> dict[str, JsonValue]:
    return {
        "type": ["object", "null"] if nullable else "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT: dict[str, JsonValue] = {"type": "string"}
_FLAG: dict[str, JsonValue] = {"type": "boolean"}
_RATED = _object({"requirement": _TEXT, "reason": _TEXT, "score": {"type": "integer"}})

STEPS_SCHEMA = _object(
    {
        "description": _TEXT,
        "transcript": _TEXT,
        "breaks_off": _FLAG,
        "instruction": _object(
            {
                "language": _TEXT,
                "role": _TEXT,
                "scenario": _TEXT,
                "style_requirements": {"type": "array", "items": _TEXT},
            }
        ),
        "language": _object({"response_language": _TEXT, "consistent": _FLAG}),
        "content": _object({"reason": _TEXT, "compliant": _FLAG}, nullable=True),
        "style": {"type": ["array", "null"], "items": _RATED},
        "naturalness": _object({"reason": _TEXT, "highly_natural": _FLAG}, nullable=True),
        "final": _TEXT,
    }
)
"""JSON Schema of a judge's reply; what comes after a stop is null."""
