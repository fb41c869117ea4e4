"""A suite as log files of inspect-ai, which ``inspect view`` opens: a sample for each conversation.

inspect-ai itself is optional: it is not installed with Dramaturg.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.errors import UserError
from bench.records import Conversation, Judgement, PlayerInfo, messages_sha256
from bench.results import ResultsTree
from bench.slugs import slug

CREATED = "2000-01-01T00:00:00+00:00"
"""Records keep no times, and a log must have one."""


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        hint = "Install it into the environment of `bench`: `pip install inspect-ai`."
        raise UserError("inspect-ai is not installed", hint=hint) from None


def inspect_files(tree: ResultsTree, suite: str, languages: Sequence[str] = ()) -> dict[str, bytes]:
    """A log for each player and language, by its file name.

    Raises UserError without inspect-ai, and for published scores.
    """
    if tree.is_table(suite):
        raise UserError(
            "published scores have no conversations", where=suite, hint="Export a table: -o x.csv."
        )
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
    )
    return logs.EvalLog(status="success", eval=spec, results=results, samples=samples)


def _sample(logs: Any, talk: Conversation, verdicts: Iterable[Judgement]) -> Any:
    models = _module("inspect_ai.model")
    kinds = {
        "system": models.ChatMessageSystem,
        "user": models.ChatMessageUser,
        "assistant": models.ChatMessageAssistant,
    }
    card = models.ChatMessageSystem(content=talk.scene.card)
    said = [kinds[message.role](content=message.content) for message in talk.messages]
    failure = talk.failure.reason if talk.failure else None
    return logs.EvalSample(
        id=f"{talk.character}.{talk.situation}",
        epoch=talk.repeat,
        input=[card, *said[:1]],
        target="",
        messages=[card, *said],
        scores=_scores(talk, verdicts),
        metadata={
            "character": talk.character,
            "situation": talk.situation,
            "situation_text": talk.scene.situation,
            "status": talk.status,
            "failure": failure,
            "digest": talk.digest,
        },
    )


def _scores(talk: Conversation, verdicts: Iterable[Judgement]) -> dict[str, Any]:
    """The mean of each judge's scores by criterion, with every turn's score and reason."""
    scorers = _module("inspect_ai.scorer")
    scores: dict[str, Any] = {}
    sha256 = messages_sha256(talk.messages)
    for verdict in verdicts:
        here = (verdict.character, verdict.situation, verdict.repeat)
        if here != (talk.character, talk.situation, talk.repeat) or verdict.status != "ok":
            continue
        if verdict.conversation_sha256 != sha256:
            continue
        for criterion in verdict.turns[0].scores if verdict.turns else ():
            values = [turn.scores[criterion] for turn in verdict.turns]
            reasons = [
                f"Turn {t.turn}: {t.scores[criterion]}. {t.reasons.get(criterion, '')}" for t in verdict.turns
            ]
            scores[f"{verdict.judge}/{criterion}"] = scorers.Score(
                value=sum(values) / len(values),
                explanation="\n".join(reasons),
                metadata={"refusal": any(turn.is_refusal for turn in verdict.turns)},
            )
    return scores


def _mean(logs: Any, name: str, samples: Sequence[Any]) -> Any:
    values = [sample.scores[name].value for sample in samples if name in (sample.scores or {})]
    metric = logs.EvalMetric(name="mean", value=sum(values) / len(values))
    return logs.EvalScore(name=name, scorer=name, metrics={"mean": metric})
