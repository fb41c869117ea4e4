"""The format of ping_pong_bench's result files, as pydantic models.

Version 2 files hold the scores of one judge for one player, version 1 files of one player. Unknown fields are
ignored. :func:`bench.foreign.checked` turns a validation error into :class:`~bench.foreign.Unreadable`.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from bench.chat.secrets import REDACTED, redacted
from bench.foreign import AnyText, Foreign, Id, Text, checked

CRITERIA = {
    "in_character": "stay_in_character",
    "entertaining": "entertainment",
    "fluency": "language_fluency",
}
"""Our criterion, which is version 2's name too, to its name in version 1."""

_SECRET_NAME = re.compile(r"(?i)key|token$|secret|passw|auth|credential|cookie")

S = TypeVar("S")


def _public_parameters(params: object) -> object:
    """The parameters that are plain values. Secrets are redacted: some clients pass keys as parameters."""
    if not isinstance(params, dict):
        return {}
    return {
        name: (REDACTED if _SECRET_NAME.search(name) else redacted(value, ()))
        if isinstance(value, str)
        else value
        for name, value in params.items()
        if isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
    }


class ModelFacts(Foreign):
    """What a file says about a model that took part."""

    model_name: Id
    system_prompt: AnyText | None = None
    params: Annotated[dict[AnyText, AnyText | int | float | bool], BeforeValidator(_public_parameters)] = (
        Field(default_factory=dict)
    )


class Names(Foreign):
    """Short names from a file name like ``judge_X_player_Y_interrogator_Z.json``; None if absent."""

    judge: Id | None = None
    player: Id | None = None
    interrogator: Id | None = None


class ResultFile(Foreign):
    """One file. Its outputs are validated one by one, so that a bad one does not spoil the others."""

    path: AnyText
    version: Annotated[Literal[1, 2], BeforeValidator(lambda v: int(v) if v in ("1", "2") else v)]
    names: Names
    judge_model: ModelFacts = Field(validation_alias="judge")
    player_model: ModelFacts = Field(validation_alias="player")
    interrogator: ModelFacts
    outputs: list[Any] = Field(min_length=1)

    @property
    def judge(self) -> str:
        """The judge's short name, or else its model."""
        return self.names.judge or self.judge_model.model_name

    @property
    def player(self) -> str:
        """The player's short name, or else its model."""
        return self.names.player or self.player_model.model_name

    @property
    def asker(self) -> str:
        """The interrogator in the file's name; empty without one.

        Files with one belong to an experiment that plays the same scenes with several interrogators.
        """
        return self.names.interrogator or ""


# One output


class Character(Foreign):
    """The character card."""

    char_name: Text
    system_prompt: AnyText | None = None
    summary: AnyText | None = None


class Situation(Foreign):
    """The situation."""

    text: Text


class TextMessage(TypedDict):
    """A message. The keys are in the order in which records are written."""

    content: AnyText
    role: Literal["user", "assistant"]


def _alternating(messages: list[TextMessage]) -> list[TextMessage]:
    """Messages that alternate, the player's last. A greeting may come before the first question."""
    for n, (message, previous) in enumerate(zip(messages[1:], messages, strict=False), start=1):
        if message["role"] == previous["role"]:
            raise PydanticCustomError(
                "turns", "message {n} is the second by {role} in a row", {"n": n, "role": message["role"]}
            )
    if messages[-1]["role"] != "assistant":
        raise PydanticCustomError(
            "turns", "the player has not answered message {n}", {"n": len(messages) - 1}
        )
    return messages


class Dialogue(Foreign):
    """The part of an output that becomes a conversation."""

    character: Character
    situation: Situation
    messages: Annotated[list[TextMessage], Field(min_length=2), AfterValidator(_alternating)]


def _whole(values: object) -> object:
    """``values`` with floats that are whole numbers as integers."""
    if not isinstance(values, list):
        return values
    return [int(v) if isinstance(v, float) and v.is_integer() else v for v in values]


def _one_per_turn(values: list[S], info: ValidationInfo) -> list[S]:
    turns = (info.context or {})["turns"]
    if len(values) != turns:
        raise PydanticCustomError(
            "turns", "{count} values for {turns} turns", {"count": len(values), "turns": turns}
        )
    return values


PerTurn = Annotated[list[S], BeforeValidator(_whole), AfterValidator(_one_per_turn)]


class Scores(Foreign, Generic[S]):
    """Scores by criterion, one per turn, and whether each turn was a refusal."""

    in_character: PerTurn[S]
    entertaining: PerTurn[S]
    fluency: PerTurn[S]
    is_refusal: PerTurn[Literal[0, 1]]


_SCORES: dict[int, type[Scores[Any]]] = {
    1: Scores[Annotated[int, Field(ge=1, le=10)]],
    2: Scores[Annotated[int, Field(ge=1, le=5)]],
}


def scores_of(output: dict[str, Any], version: int, turns: int, place: str) -> Scores[int]:
    """The scores of an output at ``place``, whose conversation has ``turns`` turns. Raises Unreadable."""
    given = output.get("scores")
    if isinstance(given, dict):
        given = _completed(output, given, version, turns)
    return checked(_SCORES[version], given, f"{place}.scores", turns=turns)


def _completed(output: dict[str, Any], given: dict[str, Any], version: int, turns: int) -> dict[str, Any]:
    """``given`` scores under version 2's names, with flags for refusals.

    Version 1 ends at a refusal. Its scores of that turn are beside the others, as ``<name>_score``.
    """
    keys = {name: old if version == 1 and name not in given else name for name, old in CRITERIA.items()}
    columns = {name: given[key] for name, key in keys.items() if key in given}
    if given.get("is_refusal") is not None:
        return {**columns, "is_refusal": given["is_refusal"]}
    refused = output.get("has_refusal") is True
    for name, values in columns.items():
        if refused and isinstance(values, list) and len(values) == turns - 1:
            columns[name] = [*values, output.get(f"{keys[name]}_score", 1)]
    return {**columns, "is_refusal": [0] * (turns - 1) + [int(refused)]}
