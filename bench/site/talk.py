"""What a conversation page shows of its records: turns, verdicts, disagreements and model calls."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from statistics import fmean

from pydantic import JsonValue

from bench.protocol_facts import ProtocolFacts, facts_of
from bench.records import Call, Conversation, Judgement, TurnVerdict
from bench.replies.speech import SpeechSteps, stored_steps
from bench.scores.scripts import outcome_text
from bench.site.cells import JudgeScores, judge_scores
from bench.site.charts import UNKNOWN_SCALE, heat
from bench.site.probes import ProbeView, probe_view
from bench.site.spoken import SoundView, sound_view
from bench.slugs import slug

DISAGREEMENT = 0.5
"""Judges disagree on a criterion if their scores of a turn differ by at least this share of the scale."""

Given = tuple[Judgement, TurnVerdict]
"""A turn's verdict with the judgement that it is part of."""


@dataclass(frozen=True)
class ScoreView:
    """One score of one turn."""

    criterion: str
    score: int
    tint: str
    """CSS class of the score's tint."""
    reason: str
    disputed: bool


@dataclass(frozen=True)
class VerdictView:
    """One judge's verdict on one turn."""

    judge: str
    anchor: str
    verdict: TurnVerdict
    scores: tuple[ScoreView, ...]
    label: str
    """Which of several verdicts on one answer it is, such as ``order 2``; empty if there is only one."""
    detail: tuple[tuple[str, str], ...]
    """Everything else that the judge said: (name, text)."""
    steps: SpeechSteps | None
    """How the judge arrived at the score of a spoken answer."""


@dataclass
class TurnView:
    """The user's messages and the player's answer, with the judges' verdicts."""

    number: int
    user: list[str] = field(default_factory=list)
    answer: str | None = None
    user_sounds: list[SoundView] = field(default_factory=list)
    answer_sound: SoundView | None = None
    verdicts: tuple[VerdictView, ...] = ()
    disputed: bool = False
    marks: tuple[str, ...] = ()
    """What the script of the situation had the user do in this turn, and what came of it."""


@dataclass(frozen=True)
class ModelUse:
    """The calls of one conversation to one model, in one role, with equal parameters."""

    role: str
    by: str
    """The judge; empty for other roles."""
    model: str
    provider: str
    parameters: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    """Whether the provider did not count some of the tokens."""
    cost: Decimal | None
    served: tuple[str, ...]
    fingerprints: tuple[str, ...]
    odd: tuple[str, ...]
    """Outcomes other than ok, finish reasons other than stop, and reasoning, as ``turns N, M: outcome``."""


@dataclass(frozen=True)
class Talk:
    """The content of a conversation page."""

    facts: ProtocolFacts
    criteria: tuple[str, ...]
    opening: tuple[str, ...]
    turns: tuple[TurnView, ...]
    stray: tuple[VerdictView, ...]
    """Verdicts on turns that the conversation does not have."""
    judges: tuple[tuple[Judgement, JudgeScores], ...]
    uses: tuple[ModelUse, ...]
    total_cost: Decimal | None
    probe: ProbeView | None = None
    """The verdict on a probe, if it is one."""
    outcomes: tuple[str, ...] = ()
    """Of each planted fact, what came of it in words."""

    def heat(self, score: float | None) -> str:
        """CSS class of the tint for a score."""
        return heat(score, *(self.facts.scale or UNKNOWN_SCALE))

    @property
    def window(self) -> int | None:
        """Turns that judges scored at a time; None if they scored all at once."""
        return next((made.mode.window for made, _ in self.judges if made.mode and made.mode.window), None)

    @cached_property
    def lowest(self) -> int | None:
        """The turn with the lowest mean score; None with fewer than two scored turns, or if all are equal."""
        means = {
            turn.number: fmean(scores)
            for turn in self.turns
            if (scores := [score.score for verdict in turn.verdicts for score in verdict.scores])
        }
        if len(means) < 2 or len(set(means.values())) < 2:
            return None
        return min(means, key=lambda number: means[number])

    @cached_property
    def disputed(self) -> list[int]:
        """The turns on which judges disagree."""
        return [turn.number for turn in self.turns if turn.disputed]

    @cached_property
    def interrogated(self) -> bool:
        """Whether an interrogator wrote the user's messages; assumed of an unknown protocol."""
        return self.facts.interrogated or not self.facts.roles


def talk_of(
    conversation: Conversation, judgements: Sequence[Judgement], sounds: Collection[str] = ()
) -> Talk:
    """The content of a conversation's page.

    ``sounds``: the sound files that exist, as paths relative to the page's folder.
    """
    facts = facts_of(conversation.protocol)
    verdicts: dict[int, list[Given]] = {}
    for judgement in judgements:
        for verdict in judgement.turns if judgement.status == "ok" else ():
            verdicts.setdefault(verdict.turn, []).append((judgement, verdict))
    criteria = _criteria(facts, verdicts)
    opening, turns = _turns(conversation, sounds)
    several_verdicts = facts.plays_items and len(turns) == 1
    probe = probe_view(conversation, judgements)
    if probe is not None:  # it has its own place on the page, below the answer that was checked
        verdicts.clear()
    for turn in turns:
        numbers = sorted(verdicts) if several_verdicts else [turn.number]
        label = facts.turn_label if len(numbers) > 1 else ""
        shown = [_verdicts(facts, criteria, verdicts.pop(n, []), label) for n in numbers]
        turn.verdicts = tuple(view for views, _ in shown for view in views)
        turn.marks = tuple(_marks(conversation, turn.number))
        turn.disputed = any(disputed for _, disputed in shown)
    scale = facts.scale or UNKNOWN_SCALE
    stray = [_view(criteria, scale, (), *given, "") for group in verdicts.values() for given in group]
    uses = _uses(conversation, judgements)
    costs = [use.cost for use in uses if use.cost is not None]
    return Talk(
        facts=facts,
        criteria=criteria,
        opening=tuple(opening),
        turns=tuple(turns),
        stray=tuple(stray),
        judges=tuple((judgement, judge_scores(judgement, conversation)) for judgement in judgements),
        uses=tuple(uses),
        total_cost=sum(costs, Decimal(0)) if len(costs) == len(uses) else None,
        probe=probe,
        outcomes=tuple(outcome_text(conversation, plant) for plant in conversation.scene.plants),
    )


def _criteria(facts: ProtocolFacts, verdicts: Mapping[int, Sequence[Given]]) -> tuple[str, ...]:
    """The criteria that were scored: the protocol's in its order, then any others by name."""
    scored = {name for group in verdicts.values() for _, verdict in group for name in verdict.scores}
    known = [name for name in facts.criterion_names if name in scored]
    return (*known, *sorted(scored.difference(known)))


def _turns(conversation: Conversation, sounds: Collection[str]) -> tuple[list[str], list[TurnView]]:
    """The opening (the player's messages before the first user message) and the turns."""
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


def _verdicts(
    facts: ProtocolFacts, criteria: Sequence[str], group: Sequence[Given], label: str = ""
) -> tuple[list[VerdictView], bool]:
    """All judges' verdicts on one turn, and whether the judges disagree on it. ``label``: what to call a
    verdict if there are several on one answer."""
    scale = low, high = facts.scale or UNKNOWN_SCALE
    disputed = set()
    for name in criteria:
        scores = [verdict.scores[name] for _, verdict in group if name in verdict.scores]
        if scores and max(scores) - min(scores) >= DISAGREEMENT * (high - low):
            disputed.add(name)
    views = [
        _view(criteria, scale, disputed, *given, label and f"{label.lower()} {given[1].turn}")
        for given in group
    ]
    return views, bool(disputed) or len({verdict.is_refusal for _, verdict in group}) > 1


def _view(
    criteria: Sequence[str],
    scale: tuple[float, float],
    disputed: Collection[str],
    judgement: Judgement,
    verdict: TurnVerdict,
    label: str,
) -> VerdictView:
    steps = stored_steps(verdict.detail) if verdict.scores and verdict.detail else None
    return VerdictView(
        judge=judgement.judge,
        anchor=f"t{verdict.turn}-{slug(judgement.judge)}",
        verdict=verdict,
        scores=tuple(
            ScoreView(name, score, heat(score, *scale), verdict.reasons.get(name, ""), name in disputed)
            for name in criteria
            if (score := verdict.scores.get(name)) is not None
        ),
        label=label,
        detail=() if steps is not None else _in_words(verdict.detail),
        steps=steps,
    )


def _marks(conversation: Conversation, turn: int) -> Iterator[str]:
    for plant in conversation.scene.plants:
        if turn == plant.turn:
            yield "fact planted"
        if turn == plant.ask:
            yield f"fact asked for: {outcome_text(conversation, plant)}"
    yield from ("attack" for attack in conversation.scene.attacks if turn == attack.turn)


def _in_words(detail: Mapping[str, JsonValue] | None) -> tuple[tuple[str, str], ...]:
    """The details of a verdict as (name, text), sorted by name."""
    return tuple(
        (
            name.replace("_", " ").capitalize(),
            ", ".join(map(str, value)) if isinstance(value, list) else str(value),
        )
        for name, value in sorted((detail or {}).items())
        if value is not None
    )


def _uses(conversation: Conversation, judgements: Sequence[Judgement]) -> list[ModelUse]:
    """The calls behind a page, grouped by role, model and parameters, in order of the first call."""
    groups: dict[tuple[str, str, str, str, str], list[Call]] = {}
    for by, calls in [("", conversation.calls), *((j.judge, j.calls) for j in judgements)]:
        for call in calls:
            parameters = json.dumps(call.parameters, sort_keys=True, ensure_ascii=False)
            groups.setdefault((call.role, by, call.model, call.provider, parameters), []).append(call)
    return [_use(*group, calls) for group, calls in groups.items()]


def _use(role: str, by: str, model: str, provider: str, parameters: str, calls: list[Call]) -> ModelUse:
    usages = [call.usage for call in calls if call.usage is not None]
    costs = [cost for call in calls if (cost := _cost(call)) is not None]
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
        cost=sum(costs, Decimal(0)) if len(costs) == len(calls) else None,
        served=tuple(dict.fromkeys(c.served_model for c in calls if c.served_model)),
        fingerprints=tuple(dict.fromkeys(c.system_fingerprint for c in calls if c.system_fingerprint)),
        odd=tuple(_remarks(calls)),
    )


def _remarks(calls: Sequence[Call]) -> Iterator[str]:
    """What stands out about how calls ended, with the turns where it does."""
    turns: dict[tuple[str, str], dict[int, int]] = {}
    for call in calls:
        if remark := _remark(call):
            times = turns.setdefault(("ask" if call.role == "judge" else "turn", remark), {})
            times[call.turn] = times.get(call.turn, 0) + 1
    for (word, remark), times in turns.items():
        places = [f"{turn} ({count} times)" if count > 1 else f"{turn}" for turn, count in times.items()]
        yield f"{word}{'s' if len(times) > 1 else ''} {', '.join(places)}: {remark}"


def _remark(call: Call) -> str:
    """What stands out about how a call ended; empty if nothing does."""
    finish = "" if call.finish_reason in (None, "stop") else f" ({call.finish_reason})"
    ended = f"{call.outcome}{finish}" if finish or call.outcome != "ok" else ""
    if ended == "length (length)":
        ended = "cut off at the token limit"
    return " ".join(part for part in (ended, "with reasoning" if call.reasoning else "") if part)


def _cost(call: Call) -> Decimal | None:
    """The cost of a call; None if it is unknown or not a number."""
    try:
        cost = Decimal(call.cost or "")
    except InvalidOperation:
        return None
    return cost if cost.is_finite() else None
