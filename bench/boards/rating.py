"""Loads a suite's comparisons, and the board by rating that follows from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from bench.boards.loading import LoadedBoard, chosen_judges, counting_judges, load_board
from bench.catalog import Catalog
from bench.errors import UserError
from bench.protocol_facts import facts_of
from bench.results import ResultsTree
from bench.results.compared import read_compared
from bench.results.comparisons import comparisons
from bench.scores.analyses.preference import models_of
from bench.scores.board import paper_numbers, ranked_numbers
from bench.scores.frame import Frames
from bench.scores.pairwise_board import BoardScores, rating_of
from bench.scores.pairwise_data import MEAN, Evidence, Slot, Talk, talk_of
from bench.scores.pairwise_records import Rating
from bench.scores.pairwise_table import table_rating
from bench.scores.robust import JudgesAs
from bench.scores.weights import EQUAL, standard_weightings
from bench.suites import Suite
from bench.toml_entries import check_known


def compared(
    tree: ResultsTree,
    suite: str,
    language: str,
    catalog: Catalog | None,
    *,
    rules: Suite | None,
    repeats: Collection[int] = (),
    version: str | None = None,
    judges: Sequence[str] = (),
) -> Evidence:
    """All comparisons of a board, with what they were made of.

    ``rules``: the suite, which says whose comparisons count; None: those of all judges. ``repeats``: only
    these samples; default: all. ``version``: only comparisons of this version. ``judges``: only
    theirs, whether or not the suite names them.
    """
    infos = tuple(tree.players(suite, language))
    talks: dict[tuple[str, Slot], Talk] = {}
    protocol = ""
    for info in infos:
        for talk in tree.conversations(suite, language, info.player):
            protocol = talk.protocol
            if not repeats or talk.repeat in repeats:
                talks[info.player, (talk.character, talk.situation, talk.repeat)] = talk_of(talk)
    known = {info.player for info in infos}
    records = tuple(
        record
        for record in comparisons(tree, suite, language)
        if known.issuperset(record.players)
        and (not repeats or record.repeat in repeats)
        and (version is None or record.version == version)
    )
    present = sorted({record.judge for record in records})
    chosen = chosen_judges(judges, present, f"{suite} {language}", "comparisons") if records else ()
    if chosen:
        records = tuple(record for record in records if record.judge in chosen)
    counting = chosen or counting_judges(rules, present)
    others = tuple(judge for judge in present if judge not in counting)
    models = models_of(present, infos, catalog)
    return Evidence(infos, facts_of(protocol).criterion_names, talks, records, models, others)


def ranked_scores(frames: Frames) -> pd.DataFrame:
    """``length_norm_score`` and ``rank`` of each player (index) on the board by score, best first; players
    without a score come last."""
    weights = standard_weightings(frames.criteria)[EQUAL]
    table, _ = paper_numbers(frames, {EQUAL: weights}, resamples=1, seed=0)
    return ranked_numbers(frames, table, EQUAL)


def load_rating(
    tree: ResultsTree,
    suite: str,
    language: str,
    *,
    prompts: Mapping[str, Suite] | Path,
    catalog: Catalog | None,
    criterion: str = MEAN,
    judges_as: JudgesAs | None = None,
    judges: Sequence[str] = (),
) -> Rating:
    """The board by rating of a suite in one language. ``judges``: as in :func:`compared`.

    Raises UserError if nothing has been compared, or ``criterion`` or a judge is unknown.
    """
    loaded = load_board(tree, suite, language, prompts=prompts)
    found = rating_beside(tree, loaded, catalog, criterion, judges_as, judges)
    if found is None:
        raise UserError(
            f"no comparisons of suite {suite!r} in language {language!r}",
            where=str(tree.root),
            hint=f"Have judges compare its players: `bench compare {suite} --language {language}`.",
        )
    return found


def rating_beside(
    tree: ResultsTree,
    loaded: LoadedBoard,
    catalog: Catalog | None,
    criterion: str = MEAN,
    judges_as: JudgesAs | None = None,
    judges: Sequence[str] = (),
) -> Rating | None:
    """As :func:`load_rating`, beside the board ``loaded``; None if none of its players have been compared."""
    suite, language, version = loaded.frames.suite, loaded.frames.language, loaded.frames.version
    evidence = compared(
        tree,
        suite,
        language,
        catalog,
        rules=loaded.rules,
        repeats=loaded.suite.repeats if loaded.suite else (),
        version=version,
        judges=judges,
    )
    if not evidence.records:
        return None
    check_known([criterion], (MEAN, *evidence.criteria), "criterion", f"suite {suite}")
    scored = ranked_scores(loaded.frames).dropna(subset="rank")
    names = [str(name) for name in scored.index]
    board = BoardScores(
        dict(zip(names, scored["length_norm_score"].tolist(), strict=True)),
        dict(zip(names, map(int, scored["rank"]), strict=True)),
    )
    return rating_of(evidence, (suite, version, language), board, criterion, judges_as)


def load_table_rating(
    tree: ResultsTree,
    name: str,
    judges_as: JudgesAs | None = None,
    judges: Sequence[str] = (),
    *,
    languages: Sequence[str] = (),
    criterion: str = MEAN,
) -> Rating:
    """The board by rating of a table another project published. ``judges``: only these; default: all.

    Such a table has one language and no criteria: raises UserError for others, and for unknown judges.
    """
    table = read_compared(tree, name)
    check_known(languages, [table.source.language], "language", f"suite {name}")
    check_known([criterion], [MEAN], "criterion", f"suite {name}")
    chosen = chosen_judges(judges, sorted({line.judge for line in table.lines}), name, "comparisons")
    if chosen:
        table = replace(table, lines=tuple(line for line in table.lines if line.judge in chosen))
    return table_rating(table, judges_as)
