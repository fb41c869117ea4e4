"""A human study as a panel: its ratings, and the results tree's judgements of the same conversations.

An item is identified by the messages of its conversation (SHA-256), not by name. So judgements of another
suite or version count if they are about the very messages that people read, and none counts if the messages
have changed since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from bench.agreement.panel import ITEM_COLUMNS, Judged, Panel
from bench.agreement.report import REFUSALS
from bench.catalog import Catalog
from bench.errors import UserError
from bench.results import ResultsTree
from bench.results.studies import Study, StudyFile, StudyItem, TalkKey, message_hashes
from bench.scores.analyses.preference import judge_models
from bench.scores.analyses.scenes import judge_finals
from bench.scores.frame import SCENE, VERDICT, Frames
from bench.scores.policy import scale_of


def study_panel(
    study: Study,
    tree: ResultsTree,
    boards: Sequence[Frames],
    *,
    refusals: str = "left-out",
    catalog: Catalog | None = None,
) -> Panel:
    """The panel of a study and the judges of every board in ``boards``. ``refusals``: see REFUSALS.

    ``catalog`` says which judges are the same model as a player. Raises UserError for a board in another
    language or with other criteria.
    """
    file = study.file
    for frames in boards:
        if frames.language != file.language:
            raise UserError(
                f"study {file.study} is in language {file.language!r}",
                where=f"{frames.suite} {frames.language}",
                hint=f"Pass --language {file.language}, or name another study.",
            )
    if refusals not in REFUSALS:
        raise UserError(f"unknown policy for refusals {refusals!r}", hint=f"One of {', '.join(REFUSALS)}.")
    items = [
        (item.item, item.player, item.character, item.situation, item.repeat)
        for item in sorted(file.items, key=lambda item: item.item)
    ]
    return Panel(
        name=file.study,
        suite=file.suite,
        language=file.language,
        criteria=file.criterion_names,
        items=pd.DataFrame(items, columns=ITEM_COLUMNS, dtype="object"),
        ratings=study.ratings,
        judged=tuple(_judged(file, tree, frames, refusals, catalog) for frames in boards),
        refused=len(study.refused),
    )


def has_judges(file: StudyFile, tree: ResultsTree, frames: Frames) -> bool:
    """Whether a board's judges scored the study's criteria, in at least one of its conversations."""
    return set(file.criterion_names) <= set(frames.criteria) and bool(_match(file, tree, frames)[0])


def _match(
    file: StudyFile, tree: ResultsTree, frames: Frames
) -> tuple[dict[str, TalkKey], list[str], list[str]]:
    return match(file.items, message_hashes(tree, frames.suite, frames.language, frames.version))


def match(
    items: Sequence[StudyItem], conversations: Mapping[TalkKey, str]
) -> tuple[dict[str, TalkKey], list[str], list[str]]:
    """(the scene of each item with the same messages, items whose scene now has other messages, the rest).

    If several conversations have the item's messages, the item's own scene must be one of them.
    """
    by_hash: dict[str, list[TalkKey]] = {}
    for scene, sha256 in conversations.items():
        by_hash.setdefault(sha256, []).append(scene)
    scenes: dict[str, TalkKey] = {}
    changed: list[str] = []
    unmatched: list[str] = []
    for item in items:
        own = (item.player, item.character or "", item.situation or "", item.repeat)
        equal = by_hash.get(item.conversation_sha256, [])
        if own in equal or len(equal) == 1:
            scenes[item.item] = own if own in equal else equal[0]
        elif own in conversations:
            changed.append(item.item)
        else:
            unmatched.append(item.item)
    return scenes, changed, unmatched


def _judged(
    file: StudyFile, tree: ResultsTree, frames: Frames, refusals: str, catalog: Catalog | None
) -> Judged:
    missing = [name for name in file.criterion_names if name not in frames.criteria]
    if missing and frames.criteria:
        raise UserError(
            f"its judges do not score {', '.join(missing)}, which people scored",
            where=f"{frames.suite} {frames.language}",
            hint=f"They score {', '.join(frames.criteria)}. Choose a suite whose judges score the study's"
            " criteria.",
        )
    scenes, changed, unmatched = _match(file, tree, frames)
    item_of = {scene: item for item, scene in scenes.items()}
    finals = judge_finals(frames).groupby(level=["judge", "player"]).mean()
    return Judged(
        label=f"{frames.suite} {frames.version}".strip(),
        protocol=frames.protocol,
        judges=frames.judges,
        scores=_scores(frames, refusals, item_of),
        left_out=_left_out(frames, refusals, item_of),
        votes=finals.unstack("player") if len(finals) else pd.DataFrame(),
        own=_own(frames, catalog),
        turns=_of_items(frames.scores[~frames.scores["stale"]], item_of)[
            ["item", "judge", "criterion", "turn", "score"]
        ],
        scenes=scenes,
        suite=frames.suite,
        changed=tuple(changed),
        unmatched=tuple(unmatched),
    )


def _scores(frames: Frames, refusals: str, item_of: Mapping[TalkKey, str]) -> pd.DataFrame:
    """Each judge's mean over turns: item, judge, criterion, score."""
    judged = frames.usable
    means = (frames.counting_means if refusals == "left-out" else frames.usable_means).reset_index()
    rows = _of_items(means.melt(VERDICT, var_name="criterion", value_name="score"), item_of)
    if refusals == "lowest":
        refused = _of_items(judged[judged["refusal"]], item_of)
        keys = set(zip(refused["item"], refused["judge"], strict=True))
        lowest = [key in keys for key in zip(rows["item"], rows["judge"], strict=True)]
        rows.loc[lowest, "score"] = scale_of(frames)[0]
    return rows[["item", "judge", "criterion", "score"]].reset_index(drop=True)


def _left_out(frames: Frames, refusals: str, item_of: Mapping[TalkKey, str]) -> dict[str, dict[str, int]]:
    """Judge to reason to the number of matched items for which it has no score that counts."""
    table = _of_items(frames.judgements, item_of)
    reasons: dict[str, dict[str, int]] = {}
    for judge in frames.judges:
        rows = table[table["judge"] == judge]
        failed = rows["status"] != "ok"
        stale = ~failed & rows["stale"]
        refused = ~failed & ~stale & rows["refusal"] & (refusals == "left-out")
        due = sum(judge in frames.judges_of(key[1:3]) for key in item_of)
        counts = {
            "not its turn": len(item_of) - due,
            "not judged": due - len(rows),
            "judgement failed": int(failed.sum()),
            "judged other words": int(stale.sum()),
            "saw a refusal": int(refused.sum()),
        }
        reasons[judge] = {why: number for why, number in counts.items() if number}
    return reasons


def _of_items(table: pd.DataFrame, item_of: Mapping[TalkKey, str]) -> pd.DataFrame:
    """The rows whose scene is an item, with a column ``item``; keys as plain text."""
    keys = zip(*(table[name].astype(str) for name in SCENE), table["repeat"].tolist(), strict=True)
    items = pd.Series([item_of.get(key) for key in keys], index=table.index, dtype="object")
    names = [name for name in ("judge", "criterion") if name in table]
    return table.assign(item=items)[items.notna()].astype(dict.fromkeys(names, "object"))


def _own(frames: Frames, catalog: Catalog | None) -> dict[str, tuple[str, ...]]:
    """Judge to the players that are the same model."""
    models = judge_models(frames, catalog)
    own = {
        judge: tuple(
            info.player
            for info in frames.players
            if info.player == judge or (judge in models and info.model == models[judge].model)
        )
        for judge in frames.judges
    }
    return {judge: players for judge, players in own.items() if players}
