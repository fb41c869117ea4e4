"""The tables of a human study: its ratings, and what the results tree says of the same conversations.

An item is a conversation by its messages (SHA-256), not by its name: so judgements of another suite or
version count where they are of the very words that people read, and none counts where the words have changed
since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from bench.agreement.panel import Judged, Panel
from bench.agreement.report import REFUSALS
from bench.catalog import Catalog
from bench.errors import UserError
from bench.records import messages_sha256
from bench.results import ResultsTree
from bench.results.studies import Study, StudyFile, StudyItem
from bench.scores.analyses.preference import judge_models
from bench.scores.analyses.scenes import judge_finals
from bench.scores.frame import SCENE, Frames
from bench.scores.policy import scale_of

Scene = tuple[str, str, str]
"""Player, character, situation."""


def study_panel(
    study: Study,
    tree: ResultsTree,
    boards: Sequence[Frames],
    *,
    refusals: str = "left-out",
    catalog: Catalog | None = None,
) -> Panel:
    """What agreement is measured on: a study, and every judge of ``boards``. ``refusals``: see REFUSALS.

    ``catalog`` tells which judges are also players. Raises UserError for a board in another language.
    """
    for frames in boards:
        if frames.language != study.file.language:
            raise UserError(
                f"study {study.file.study} is in language {study.file.language!r}",
                where=f"{frames.suite} {frames.language}",
                hint=f"Say --language {study.file.language}, or name another study.",
            )
    if refusals not in REFUSALS:
        raise UserError(
            f"no policy for refusals is called {refusals!r}", hint=f"One of {', '.join(REFUSALS)}."
        )
    return Panel(
        name=study.file.study,
        suite=study.file.suite,
        language=study.file.language,
        criteria=study.file.criterion_names,
        items=pd.DataFrame(
            [
                (item.item, item.player, item.character, item.situation)
                for item in sorted(study.file.items, key=lambda item: item.item)
            ],
            columns=["item", "player", "character", "situation"],
            dtype="object",
        ),
        ratings=study.ratings,
        judged=tuple(_judged(study.file, tree, frames, refusals, catalog) for frames in boards),
        refused=len(study.refused),
    )


def _judged(
    file: StudyFile, tree: ResultsTree, frames: Frames, refusals: str, catalog: Catalog | None
) -> Judged:
    missing = [
        name for name in (criterion.name for criterion in file.criteria) if name not in frames.criteria
    ]
    if missing and frames.criteria:
        raise UserError(
            f"its judges do not score {', '.join(missing)}, which people scored",
            where=f"{frames.suite} {frames.language}",
            hint=f"They score {', '.join(frames.criteria)}: a study is compared with judges of its criteria.",
        )
    scenes, changed, unmatched = match(file.items, hashes(tree, frames))
    item_of = {scene: item for item, scene in scenes.items()}
    means, left_out = _means(frames, refusals, item_of)
    finals = judge_finals(frames)
    votes = (
        finals.groupby(level=["judge", "player"]).mean().unstack("player") if len(finals) else pd.DataFrame()
    )
    return Judged(
        label=f"{frames.suite} {frames.version}".strip(),
        protocol=frames.protocol,
        judges=frames.judges,
        scores=means,
        left_out=left_out,
        votes=votes,
        own=_own(frames, catalog),
        turns=_turns(frames, item_of),
        scenes=scenes,
        suite=frames.suite,
        changed=tuple(changed),
        unmatched=tuple(unmatched),
    )


def hashes(tree: ResultsTree, frames: Frames) -> dict[Scene, str]:
    """The SHA-256 of every complete conversation of a board, by its scene."""
    return {
        (talk.player, talk.character, talk.situation): messages_sha256(talk.messages)
        for info in frames.players
        for talk in tree.conversations(frames.suite, frames.language, info.player)
        if talk.status == "complete" and (not frames.version or talk.version == frames.version)
    }


def match(
    items: Sequence[StudyItem], conversations: Mapping[Scene, str]
) -> tuple[dict[str, Scene], list[str], list[str]]:
    """Each item's conversation by its messages; items whose scene now has other messages; the others.

    Where several conversations have the same messages, the item's own scene is meant; without that, none.
    """
    by_hash: dict[str, list[Scene]] = {}
    for scene, sha256 in conversations.items():
        by_hash.setdefault(sha256, []).append(scene)
    found: dict[str, Scene] = {}
    changed: list[str] = []
    unmatched: list[str] = []
    for item in items:
        named = (item.player, item.character or "", item.situation or "")
        alike = by_hash.get(item.conversation_sha256, [])
        if named in alike:
            found[item.item] = named
        elif len(alike) == 1:
            found[item.item] = alike[0]
        elif named in conversations:
            changed.append(item.item)
        else:
            unmatched.append(item.item)
    return found, changed, unmatched


def _means(
    frames: Frames, refusals: str, item_of: Mapping[Scene, str]
) -> tuple[pd.DataFrame, dict[str, dict[str, int]]]:
    """Each judge's mean over turns by item and criterion, and why items have none."""
    judged = frames.usable
    means = frames.turn_means(judged) if refusals != "left-out" else frames.counting_means
    rows = means.reset_index().melt([*SCENE, "judge"], var_name="criterion", value_name="score")
    rows["item"] = _items(rows, item_of)
    rows = rows[rows["item"].notna()].astype({"judge": "object", "criterion": "object", "item": "object"})
    refused = judged[judged["refusal"]]
    if refusals == "lowest" and len(refused):
        keys = set(zip(_items(refused, item_of), refused["judge"].astype(str), strict=True))
        lowest = [key in keys for key in zip(rows["item"], rows["judge"], strict=True)]
        rows.loc[lowest, "score"] = scale_of(frames)[0]
    return rows[["item", "judge", "criterion", "score"]].reset_index(drop=True), _left_out(
        frames, refusals, item_of
    )


def _left_out(frames: Frames, refusals: str, item_of: Mapping[Scene, str]) -> dict[str, dict[str, int]]:
    """Judge, then why, to how many of the matched items it has no score that counts."""
    table = frames.judgements
    table = table.assign(item=_items(table, item_of))
    table = table[table["item"].notna()]
    reasons: dict[str, dict[str, int]] = {}
    for judge in frames.judges:
        mine = table[table["judge"] == judge]
        failed = mine["status"] != "ok"
        stale = ~failed & mine["stale"]
        refused = ~failed & ~stale & mine["refusal"] & (refusals == "left-out")
        counts = {
            "not judged": len(item_of) - len(mine),
            "judgement failed": int(failed.sum()),
            "judged other words": int(stale.sum()),
            "saw a refusal": int(refused.sum()),
        }
        reasons[judge] = {why: number for why, number in counts.items() if number}
    return reasons


def _items(table: pd.DataFrame, item_of: Mapping[Scene, str]) -> pd.Series:
    """The item of each row by its scene, None where it is of no item."""
    keys = zip(*(table[name].astype(str) for name in SCENE), strict=True)
    found = [item_of.get((player, character, situation)) for player, character, situation in keys]
    return pd.Series(found, index=table.index, dtype="object")


def _turns(frames: Frames, item_of: Mapping[Scene, str]) -> pd.DataFrame:
    table = frames.scores[~frames.scores["stale"]]
    table = table.assign(item=_items(table, item_of))
    table = table[table["item"].notna()]
    columns = ["item", "judge", "criterion", "turn", "score"]
    return table[columns].astype({"item": "object", "judge": "object", "criterion": "object"})


def _own(frames: Frames, catalog: Catalog | None) -> dict[str, tuple[str, ...]]:
    """Judge to the players that are the same model."""
    models = judge_models(frames, catalog)
    return {
        judge: players
        for judge in frames.judges
        if (
            players := tuple(
                info.player
                for info in frames.players
                if info.player == judge or (judge in models and info.model == models[judge].model)
            )
        )
    }
