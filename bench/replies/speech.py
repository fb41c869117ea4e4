"""The steps a judge takes about a spoken answer: their JSON schema, their parsing and what pages show.

The steps are, in this order: describe the voice, transcribe, read the instruction, check the language, check
the content, rate each style requirement, rate the naturalness. A failed check ends the list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError, ValidationInfo
from pydantic import field_validator as validates
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from bench.replies.faults import ReplyFault, in_order, shown
from bench.replies.later import Later
from bench.replies.objects import JsonReply, json_object, settled
from bench.replies.values import boolean, in_range, integer

THRESHOLD: Final = 70
"""A style requirement is met from this score on, out of 100."""
LOWEST, HIGHEST = 1, 5
CHECKS: Final = ("content", "style", "naturalness")
"""Steps that are null after an earlier step has decided the score."""

_MARKED: Final = Later(r"\[\[\s*+(-?[0-9]{1,9})\s*+\]\]")
_LAST_WORDS: Final = Later(r"final\s++score\W{1,10}\[\[\s*+(-?[0-9]{1,9})\s*+\]\]\W*\Z", re.IGNORECASE)


def _repaired(value: Any, info: ValidationInfo, read: Any, kind: str) -> Any:
    """Read a number or a flag, and note what had to be repaired in the set given as validation context."""
    try:
        return read(value, "", info.context if info.context is not None else set())
    except ReplyFault as fault:
        raise PydanticCustomError(kind, "wrong type") from fault


def _reason(value: Any, info: ValidationInfo) -> str:
    reason = value if isinstance(value, str) else ""
    if not reason and info.context is not None:
        info.context.add("reason_missing")
    return reason


_Integer = Annotated[int, BeforeValidator(lambda value, info: _repaired(value, info, integer, "integer"))]
_Flag = Annotated[bool, BeforeValidator(lambda value, info: _repaired(value, info, boolean, "boolean"))]
_Optional = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]
"""A text that may be missing, such as the role that an instruction need not name."""
_Reason = Annotated[str, BeforeValidator(_reason), Field(validate_default=True)]


class _Step(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True)


class Instruction(_Step):
    language: _Optional = ""
    role: _Optional = ""
    scenario: _Optional = ""
    style_requirements: tuple[str, ...] = Field(min_length=1)


class Language(_Step):
    response_language: _Optional = ""
    consistent: _Flag


class Content(_Step):
    reason: _Reason = ""
    compliant: _Flag


class StyleRating(_Step):
    requirement: _Optional = ""
    reason: _Reason = ""
    score: _Integer = Field(ge=0, le=100)


class Naturalness(_Step):
    reason: _Reason = ""
    highly_natural: _Flag


class SpeechSteps(_Step):
    """A judge's steps as it writes them and as a record's ``detail`` keeps them.

    The fields that the JSON schema omits are added after parsing and kept in records.
    """

    description: str = Field(pattern=r"\S")
    transcript: str
    breaks_off: _Flag
    instruction: Instruction
    language: Language
    content: Content | None = None
    style: tuple[StyleRating, ...] | None = None
    naturalness: Naturalness | None = None
    final: str = Field(default="", exclude=True)
    """``Final score: [[n]]``; read on its own, because it may also stand after the JSON."""

    threshold: SkipJsonSchema[int] = THRESHOLD
    """A style requirement is met from this score on."""
    stopped_at: SkipJsonSchema[str] = ""
    """The step that decided the score."""
    derived_score: SkipJsonSchema[int | None] = None
    """The score that follows from the steps."""
    consistent: SkipJsonSchema[bool | None] = None
    """Whether the stated score is the derived one."""

    @validates("style", mode="before")
    @classmethod
    def _one_rating_each(cls, rated: Any, info: ValidationInfo) -> Any:
        if rated is None:
            return None
        if not isinstance(rated, list) or not all(isinstance(item, dict) for item in rated):
            raise PydanticCustomError("style_list", "a list of objects")
        instruction = info.data.get("instruction")
        if instruction is not None and len(rated) != len(instruction.style_requirements):
            raise PydanticCustomError("style_count", "one rating for each requirement")
        return rated

    @property
    def decision(self) -> tuple[int, str, str] | None:
        """The score that follows, the step that decides it and why; None if a later step has to decide."""
        if not self.language.consistent:
            spoken = self.language.response_language or "?"
            return 1, "language", f"The answer is in another language: {spoken}."
        if self.content is None:
            return None
        if not self.content.compliant:
            return 1, "content", self.content.reason
        if self.style is None:
            return None
        met = sum(rating.score >= self.threshold for rating in self.style)
        if met < len(self.style):
            ratings = (f"{rating.requirement or n}: {rating.score}" for n, rating in enumerate(self.style, 1))
            return (3 if met else 2), "style", "; ".join(ratings)
        if self.naturalness is None:
            return None
        return (5 if self.naturalness.highly_natural else 4), "naturalness", self.naturalness.reason


@dataclass(frozen=True)
class SpeechVerdict:
    """A judge's final score as stated, its reason, its steps, and the repairs made (slugs of ``REPAIRS``)."""

    score: int
    reason: str
    steps: SpeechSteps
    repairs: tuple[str, ...]


def speech_verdict(text: str) -> SpeechVerdict:
    """Read the steps and the final score from a judge's reply.

    Raises:
        ReplyFault: The steps or the score are missing, malformed or contradictory.
    """
    reply = settled(
        json_object(text, required=["description", "transcript", "instruction", "language"], known=_KEYS)
    )
    repairs = reply.repairs
    steps, (derived, stopped_at, reason) = _decided(reply.data, repairs)
    final = _final(reply, text)
    facts = {"stopped_at": stopped_at, "derived_score": derived, "consistent": final == derived}
    return SpeechVerdict(final, reason, steps.model_copy(update=facts), in_order(repairs))


def stored_steps(detail: Mapping[str, JsonValue] | None) -> SpeechSteps | None:
    """The steps in a verdict's ``detail``; None if it holds something else."""
    try:
        return SpeechSteps.model_validate(detail)
    except ValidationError:
        return None


def _decided(data: Mapping[str, Any], repairs: set[str]) -> tuple[SpeechSteps, tuple[int, str, str]]:
    """Read step after step, up to the one that decides; later steps are neither read nor checked."""
    given = {name: value for name, value in data.items() if name not in (*CHECKS, "final")}
    later = list(CHECKS)
    while True:
        try:
            steps = SpeechSteps.model_validate(given, context=repairs)
        except ValidationError as error:
            raise _fault(error.errors()[0], given) from None
        if decision := steps.decision:
            break
        step = later.pop(0)
        given[step] = data.get(step)
        if given[step] is None:
            raise ReplyFault("missing_key", _BAD_STYLE if step == "style" else _missing_step(step))
    if any(data.get(step) not in (None, {}, []) for step in later):
        repairs.add("steps_after_stop")
    if data.keys() - STEPS_SCHEMA["properties"].keys():
        repairs.add("extra_keys")
    return steps, decision


_BAD_STYLE = '"style" must be a list with one object for each requirement.'


def _missing_step(step: object) -> str:
    return f'The step "{step}" is missing.'


def _fault(error: ErrorDetails, data: Mapping[str, Any]) -> ReplyFault:
    """The validation error as a sentence that can be sent back to the judge."""
    kind, place, value = error["type"], error["loc"], error["input"]
    if place[:2] == ("instruction", "style_requirements"):
        where = '"style_requirements" of "instruction"'
        if kind == "too_short":
            fault = f"{where} is empty; a role or a scenario asks for some manner of speaking."
            return ReplyFault("missing_key", fault)
        return ReplyFault("bad_type", f"The value of {where} must be a list of strings.")
    if kind == "style_count":
        listed = len(data["instruction"]["style_requirements"])
        fault = f'Step 3 lists {listed} style requirements, and "style" rates {len(value)}.'
        return ReplyFault("missing_key", f"{fault} Each must be rated once.")
    if kind == "style_list":
        return ReplyFault("missing_key", _BAD_STYLE)
    where = f'"{place[-1]}"'
    if place[0] == "style":
        where += f" of style requirement {int(place[1]) + 1}"
    elif len(place) > 1:
        where += f' of "{place[0]}"'
    match kind:
        case "missing":
            return ReplyFault("missing_key", f"There is no {where}.")
        case "model_type" if value is None:
            return ReplyFault("missing_key", _missing_step(place[0]))
        case "string_pattern_mismatch":
            return ReplyFault("empty", f"The step {where} is blank.")
        case "greater_than_equal" | "less_than_equal":
            fault = f"The value of {where} is {value}; it must be an integer from 0 to 100."
            return ReplyFault("out_of_range", fault)
    due = {"string_type": "a string", "integer": "an integer", "boolean": "true or false"}
    return ReplyFault(
        "bad_type", f"The value of {where} is {shown(value)}; it must be {due.get(kind, 'an object')}."
    )


def _final(reply: JsonReply, text: str) -> int:
    """The final score: the last key of the JSON, or the last words after it."""
    stated, repairs = reply.data.get("final"), reply.repairs
    after = _LAST_WORDS.search(text, reply.start + len(reply.source))
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


def _strict(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A pydantic schema as strict structured output takes it: inlined, all keys required, no bounds."""
    if "$ref" in node:
        node = definitions[node["$ref"].rpartition("/")[2]]
    if "anyOf" in node:
        inner = _strict(node["anyOf"][0], definitions)
        return {**inner, "type": [inner["type"], "null"]}
    if node["type"] == "array":
        return {"type": "array", "items": _strict(node["items"], definitions)}
    if node["type"] != "object":
        return {"type": node["type"]}
    properties = {name: _strict(value, definitions) for name, value in node["properties"].items()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_MODEL_SCHEMA = SpeechSteps.model_json_schema()
STEPS_SCHEMA: Final = _strict(_MODEL_SCHEMA, _MODEL_SCHEMA["$defs"])
"""JSON Schema of a judge's reply; what comes after the deciding step is null."""


def _named(schema: Mapping[str, Any]) -> set[str]:
    """All keys that a schema names, at any depth."""
    properties = schema.get("properties", {})
    inner = [*properties.values(), *([schema["items"]] if "items" in schema else [])]
    return {*properties}.union(*map(_named, inner))


_KEYS: Final = frozenset({"final"}) | _named(STEPS_SCHEMA)
