"""What a conversation page shows, worked out of the records: turns, verdicts, disagreement, provenance."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from pydantic import JsonValue

from bench.protocol_facts import facts_of
from bench.records import Call, Conversation, Failure, Judgement, TurnVerdict, re_asks
from bench.replies.speech import SpeechSteps, stored_steps
from bench.site.cells import criterion_means, final_score, is_stale, saw_refusal
from bench.site.spoken import SoundView, sound_view
from bench.slugs import slug

DISAGREEMENT = 0.5
"""Judges disagree on a criterion of a turn where their scores lie this share of the scale apart, or more."""

LABELS = {"in_character": "In character", "entertaining": "Entertaining", "fluency": "Fluency"}


def label(criterion: str) -> str:
    """A criterion's name for readers."""
    return LABELS.get(criterion) or criterion.replace("_", " ").capitalize()


def criteria_order(names: Sequence[str]) -> list[str]:
    """Known criteria in their usual order, then the others by name."""
    known = [name for name in LABELS if name in names]
    return known + sorted(set(names) - set(known))


@dataclass(frozen=True)
class ScoreView:
    criterion: str
    score: int
    reason: str
    disputed: bool


@dataclass(frozen=True)
class VerdictView:
    """One judge on one turn."""

    judge: str
    anchor: str
    scores: tuple[ScoreView, ...]
    is_refusal: bool
    refusal_reason: str
    label: str = ""
    """Which of several verdicts on one answer it is, such as ``order 2``."""
    detail: tuple[tuple[str, str], ...] = ()
    """What else the judge said on its way, in words."""
    steps: SpeechSteps | None = None
    """How the judge came to a spoken answer's score."""


@dataclass
class TurnView:
    """One user message and the player's answer, with what the judges said of it."""

    number: int
    user: list[str] = field(default_factory=list)
    answer: str | None = None
    user_sounds: list[SoundView] = field(default_factory=list)
    answer_sound: SoundView | None = None
    verdicts: tuple[VerdictView, ...] = ()
    disputes: tuple[str, ...] = ()


@dataclass(frozen=True)
class JudgeView:
    """One judge on the whole conversation."""

    judge: str
    score: float | None
    means: tuple[float | None, ...]
    refusal: bool
    stale: bool
    repairs: tuple[str, ...]
    asks: int
    failure: Failure | None


@dataclass(frozen=True)
class ModelUse:
    """All calls of one conversation to one model in one role with equal parameters."""

    role: str
    by: str
    model: str
    provider: str
    parameters: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    cost: Decimal | None
    served: tuple[str, ...]
    fingerprints: tuple[str, ...]
    odd: tuple[str, ...]
    """Outcomes other than ok, and finish reasons other than stop, as ``turn N: what``."""


@dataclass(frozen=True)
class Talk:
    """Everything a conversation page shows beside its links."""

    criteria: tuple[str, ...]
    opening: tuple[str, ...]
    turns: tuple[TurnView, ...]
    stray: tuple[VerdictView, ...]
    judges: tuple[JudgeView, ...]
    uses: tuple[ModelUse, ...]
    total_cost: Decimal | None
    turn_label: str = "Turn"
    """What the turns of a verdict are."""
    interrogated: bool = True
    """The user's messages are an interrogator's."""
    judged_in_talk: bool = False
    """The interrogator is the judge."""
    spoken: bool = False
    """Nobody interrogates: an instruction is answered with the voice."""


def talk_of(
    conversation: Conversation, judgements: Sequence[Judgement], sounds: Collection[str] = ()
) -> Talk:
    """Work out what there is to show; ``sounds``: the sound files that are there, from the page's folder."""
    ok = [j for j in judgements if j.status == "ok"]
    criteria = criteria_order([name for j in ok for turn in j.turns for name in turn.scores])
    opening, turns = _turns(conversation, sounds)
    verdicts: dict[int, list[tuple[Judgement, TurnVerdict]]] = {}
    for judgement in ok:
        for verdict in judgement.turns:
            verdicts.setdefault(verdict.turn, []).append((judgement, verdict))
    facts = facts_of(conversation.protocol)
    low, high = facts.scale or (1.0, 5.0)
    alone = facts.turn_label if facts.plays_items and len(turns) == 1 else ""
    for turn in turns:
        numbers = sorted(verdicts) if alone else [turn.number]
        groups = [verdicts.pop(number, []) for number in numbers]
        found = [_disputes(criteria, given, DISAGREEMENT * (high - low)) for given in groups]
        turn.disputes = tuple(dict.fromkeys(name for names in found for name in names))
        turn.verdicts = tuple(
            _verdict(
                criteria, names, *pair, label=f"{alone.lower()} {pair[1].turn}" if len(groups) > 1 else ""
            )
            for given, names in zip(groups, found, strict=True)
            for pair in given
        )
    stray = tuple(_verdict(criteria, (), *pair) for given in verdicts.values() for pair in given)
    uses = _uses([("", call) for call in conversation.calls], judgements)
    costs = [use.cost for use in uses]
    return Talk(
        criteria=tuple(criteria),
        opening=tuple(opening),
        turns=tuple(turns),
        stray=stray,
        judges=tuple(_judge(criteria, j, conversation) for j in judgements),
        uses=tuple(uses),
        total_cost=None if None in costs else sum((c for c in costs if c is not None), Decimal(0)),
        turn_label=facts.turn_label,
        interrogated=not facts.roles or facts.interrogated,
        judged_in_talk=facts.judged_in_talk,
        spoken=facts.spoken,
    )


def _turns(conversation: Conversation, sounds: Collection[str]) -> tuple[list[str], list[TurnView]]:
    """The opening (what the player said before the user did) and the turns."""
    opening: list[str] = []
    turns: list[TurnView] = []
    for message in conversation.messages:
        sound = sound_view(message.audio, sounds)
        if message.role == "user":
            if not turns or turns[-1].answer is not None:
                turns.append(TurnView(len(turns) + 1))
            turns[-1].user.append(message.content)
            turns[-1].user_sounds += [sound] if sound else []
        elif message.role == "assistant" and not turns:
            opening.append(message.content)
        elif message.role == "assistant":
            if turns[-1].answer is not None:
                turns.append(TurnView(len(turns) + 1))
            turns[-1].answer = message.content
            turns[-1].answer_sound = sound
    return opening, turns


def _disputes(
    criteria: Sequence[str], given: Sequence[tuple[Judgement, TurnVerdict]], apart: float
) -> tuple[str, ...]:
    """Criteria on which judges lie ``apart`` or further; ``refusal`` where only some saw one."""
    found = []
    for name in criteria:
        scores = [verdict.scores[name] for _, verdict in given if name in verdict.scores]
        if scores and max(scores) - min(scores) >= apart:
            found.append(name)
    if len({verdict.is_refusal for _, verdict in given}) > 1:
        found.append("refusal")
    return tuple(found)


def _verdict(
    criteria: Sequence[str],
    disputes: Sequence[str],
    judgement: Judgement,
    verdict: TurnVerdict,
    label: str = "",
) -> VerdictView:
    steps = stored_steps(verdict.detail) if verdict.scores else None
    return VerdictView(
        label=label,
        detail=() if steps is not None else _in_words(verdict.detail),
        judge=judgement.judge,
        anchor=f"t{verdict.turn}-{slug(judgement.judge)}",
        scores=tuple(
            ScoreView(name, verdict.scores[name], verdict.reasons.get(name, ""), name in disputes)
            for name in criteria
            if name in verdict.scores
        ),
        is_refusal=verdict.is_refusal,
        refusal_reason=verdict.refusal_reason,
        steps=steps,
    )


def _in_words(detail: Mapping[str, JsonValue] | None) -> tuple[tuple[str, str], ...]:
    """What a verdict says besides, each part with its name; text of a model stays text."""
    said = {name: value for name, value in (detail or {}).items() if value is not None}
    return tuple(
        (
            name.replace("_", " ").capitalize(),
            ", ".join(map(str, value)) if isinstance(value, list) else str(value),
        )
        for name, value in sorted(said.items())
    )


def _judge(criteria: Sequence[str], judgement: Judgement, conversation: Conversation) -> JudgeView:
    means = criterion_means(judgement) if judgement.status == "ok" else {}
    return JudgeView(
        judge=judgement.judge,
        score=final_score(judgement) if means else None,
        means=tuple(means.get(name) for name in criteria),
        refusal=saw_refusal(judgement),
        stale=is_stale(judgement, conversation),
        repairs=judgement.repairs,
        asks=1 + re_asks(judgement),
        failure=judgement.failure,
    )


def _uses(calls: list[tuple[str, Call]], judgements: Sequence[Judgement]) -> list[ModelUse]:
    calls = calls + [(j.judge, call) for j in judgements for call in j.calls]
    groups: dict[tuple[str, str, str, str, str], list[Call]] = {}
    for by, call in calls:
        parameters = json.dumps(call.parameters, sort_keys=True, ensure_ascii=False)
        groups.setdefault((call.role, by, call.model, call.provider, parameters), []).append(call)
    return [_use(*key, group) for key, group in groups.items()]


def _use(role: str, by: str, model: str, provider: str, parameters: str, calls: list[Call]) -> ModelUse:
    usages = [call.usage for call in calls if call.usage is not None]
    known = [cost for call in calls if (cost := _cost(call)) is not None]
    odd = [
        f"{'ask' if role == 'judge' else 'turn'} {call.turn}: {call.outcome}"
        + (f" ({call.finish_reason})" if call.finish_reason not in (None, "stop") else "")
        for call in calls
        if call.outcome != "ok" or call.finish_reason not in (None, "stop")
    ]
    return ModelUse(
        role=role,
        by=by,
        model=model,
        provider=provider,
        parameters=parameters,
        calls=len(calls),
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        estimated=any(usage.estimated for usage in usages) or len(usages) < len(calls),
        cost=sum(known, Decimal(0)) if len(known) == len(calls) else None,
        served=tuple(dict.fromkeys(c.served_model for c in calls if c.served_model)),
        fingerprints=tuple(dict.fromkeys(c.system_fingerprint for c in calls if c.system_fingerprint)),
        odd=tuple(odd),
    )


def _cost(call: Call) -> Decimal | None:
    try:
        cost = Decimal(call.cost or "")
    except InvalidOperation:
        return None
    return cost if cost.is_finite() else None
