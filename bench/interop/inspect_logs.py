"""A suite as log files of inspect-ai, which ``inspect view`` opens: a sample for each conversation.

inspect-ai itself is optional: it is not installed with Dramaturg.
"""

from __future__ import annotations

import importlib
import math
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.errors import UserError
from bench.interop.dataset import check_conversations
from bench.records import Conversation, Judgement, PlayerInfo
from bench.results import ResultsTree
from bench.scores.rules import criterion_means, is_stale, standing_of
from bench.slugs import slug

CREATED = "2000-01-01T00:00:00+00:00"
"""Records keep no times, and a log must have one."""


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        hint = "Install it into the environment of `bench`: `pip install 'inspect-ai>=0.3.285'`."
        raise UserError("inspect-ai is not installed", hint=hint) from None


def inspect_files(tree: ResultsTree, suite: str, languages: Sequence[str] = ()) -> dict[str, bytes]:
    """A log for each player and language, by its file name.

    Raises UserError without inspect-ai, and for published scores.
    """
    check_conversations(tree, suite)
    logs = _module("inspect_ai.log")
    files: dict[str, bytes] = {}
    for language in languages or [code for _, code in tree.boards(suite)]:
        for info in tree.players(suite, language):
            talks = list(tree.conversations(suite, language, info.player))
            verdicts = list(tree.judgements(suite, language, info.player))
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "log.eval"
                logs.write_eval_log(_log(logs, info, talks, verdicts, suite, language), str(path))
                files[f"{slug(suite)}.{slug(language)}.{slug(info.player)}.eval"] = path.read_bytes()
    return files


def _log(
    logs: Any,
    info: PlayerInfo,
    talks: Sequence[Conversation],
    verdicts: Sequence[Judgement],
    suite: str,
    language: str,
) -> Any:
    samples = [_sample(logs, talk, verdicts) for talk in talks]
    names = sorted({name for sample in samples for name in sample.scores or {}})
    results = logs.EvalResults(
        total_samples=len(samples),
        completed_samples=sum(talk.status == "complete" for talk in talks),
        scores=[_mean(logs, name, samples) for name in names],
    )
    spec = logs.EvalSpec(
        created=CREATED,
        task=f"{suite}-{language}",
        dataset=logs.EvalDataset(name=suite, samples=len(samples)),
        model=f"{info.provider}/{info.model}",
        config=logs.EvalConfig(),
        metadata={"player": info.player, "name": info.name, "language": language},
        # Models wrote the texts, so the viewer must not follow their links or render their HTML.
        viewer=_module("inspect_ai.viewer").ViewerConfig(trust_content=False),
    )
    return logs.EvalLog(status="success", eval=spec, results=results, samples=samples)


def _sample(logs: Any, talk: Conversation, verdicts: Iterable[Judgement]) -> Any:
    system = _module("inspect_ai.model").ChatMessageSystem
    card = [system(content=talk.scene.card)] if talk.scene.card else []  # speech models get none
    said = _messages(talk)
    failure = talk.failure.reason if talk.failure else None
    return logs.EvalSample(
        id=f"{talk.character}.{talk.situation}",
        epoch=talk.repeat,
        input=[*card, *said[:1]],
        target="",
        messages=[*card, *said],
        scores=_scores(talk, verdicts),
        error=failure and logs.EvalError(message=failure, traceback="", traceback_ansi=failure),
        metadata={
            "character": talk.character,
            "situation": talk.situation,
            "situation_text": talk.scene.situation,
            "status": talk.status,
            "failure": failure,
            "digest": talk.digest,
        },
    )


def _messages(talk: Conversation) -> list[Any]:
    """What was said; an answer with the reasoning before it."""
    models = _module("inspect_ai.model")
    kinds = {
        "system": models.ChatMessageSystem,
        "user": models.ChatMessageUser,
        "assistant": models.ChatMessageAssistant,
    }
    reasoning = {call.turn: call.reasoning for call in talk.calls if call.role == "player"}
    said, turn = [], 0
    for message in talk.messages:
        turn += message.role == "user"
        content: Any = message.content
        if message.role == "assistant" and (thought := reasoning.get(turn)):
            content = [models.ContentReasoning(reasoning=thought), models.ContentText(text=content)]
        said.append(kinds[message.role](content=content))
    return said


def _scores(talk: Conversation, verdicts: Iterable[Judgement]) -> dict[str, Any]:
    """The mean of each judge's scores by criterion, with every turn's score and reason.

    What the board leaves out has no score, and says why: a judgement that failed or saw a refusal.
    """
    unscored = _module("inspect_ai.scorer").Score.unscored
    scores: dict[str, Any] = {}
    for verdict in verdicts:
        here = (verdict.character, verdict.situation, verdict.repeat)
        if here != (talk.character, talk.situation, talk.repeat) or is_stale(verdict, talk):
            continue
        if verdict.failure is not None:
            why = f"The judgement failed: {verdict.failure.reason}"
            scores[verdict.judge] = unscored(reason="grader_failed", explanation=why)
        counts = standing_of(verdict, talk) == "counts"
        for criterion, mean in criterion_means(verdict).items():
            scores[f"{verdict.judge}/{criterion}"] = _score(verdict, criterion, mean if counts else None)
    return scores


def _score(verdict: Judgement, criterion: str, mean: float | None) -> Any:
    """``mean``: None if a refusal keeps it from counting."""
    scorers = _module("inspect_ai.scorer")
    reasons = [f"Turn {t.turn}: {t.scores[criterion]}. {t.reasons.get(criterion, '')}" for t in verdict.turns]
    refusals = [f"Refusal in turn {t.turn}. {t.refusal_reason}" for t in verdict.turns if t.is_refusal]
    told = {"explanation": "\n".join([*refusals, *reasons]), "metadata": {"refusal": bool(refusals)}}
    if mean is None:
        return scorers.Score.unscored(reason="refusal", **told)
    return scorers.Score(value=mean, **told)


def _mean(logs: Any, name: str, samples: Sequence[Any]) -> Any:
    scores = [sample.scores[name].value for sample in samples if name in (sample.scores or {})]
    values = [score for score in scores if not math.isnan(score)]
    metrics = {"mean": logs.EvalMetric(name="mean", value=sum(values) / len(values))} if values else {}
    counts = {"scored_samples": len(values), "unscored_samples": len(scores) - len(values)}
    return logs.EvalScore(name=name, scorer=name, metrics=metrics, **counts)
