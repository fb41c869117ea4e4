"""All analyses of a board in one report, each with a sentence on how to read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from pydantic import JsonValue

from bench.errors import UserError
from bench.records import SCHEMA_VERSION, Record
from bench.results.facts import CallFacts, standing_out
from bench.scores.analyses.alone import boards_alone, judges_apart
from bench.scores.analyses.difficulty import difficulty, side_means
from bench.scores.analyses.disputes import disputes
from bench.scores.analyses.items import scene_items
from bench.scores.analyses.judges import agreement, leniency, pairwise
from bench.scores.analyses.long_talks import breaks, flaws, recall, repetition_by_turn, slopes
from bench.scores.analyses.measures import frequent_phrases, lengths, measures
from bench.scores.analyses.orders import order_effects
from bench.scores.analyses.pairs import MOST_PAIRS
from bench.scores.analyses.preference import JudgeModel, preference
from bench.scores.analyses.questions import question_variety
from bench.scores.analyses.repeats import repeats_between, repeats_within, run_noise
from bench.scores.analyses.repetition import repetition
from bench.scores.analyses.sure import missing_to_none
from bench.scores.analyses.swaps import board_scores, judge_boards, swapped
from bench.scores.analyses.turns import by_turn
from bench.scores.analyses.variance import variance_study, variance_table
from bench.scores.analyses.verbosity import verbosity
from bench.scores.frame import Frames
from bench.scores.ledger import Scene, judgement_counts, ledger, scenes_of
from bench.scores.long_talks import ROOM
from bench.scores.paper import published
from bench.scores.player_measures import PlayerMeasures
from bench.toml_entries import nearest_or_all


class Analysis(Record):
    """One table of the report."""

    name: str
    title: str
    about: str
    """How to read it."""
    columns: tuple[str, ...]
    rows: tuple[dict[str, JsonValue], ...]
    """A missing figure is null; the row's ``reason`` says why."""
    reason: str | None
    """Why the table is empty; null if it has rows."""
    notes: tuple[str, ...] = ()
    """What the figures mean, in sentences."""


class Report(Record):
    """All analyses of one board."""

    schema_version: int = SCHEMA_VERSION
    suite: str
    version: str
    language: str
    judges: tuple[str, ...]
    analyses: tuple[Analysis, ...]

    def rows_of(self, name: str) -> tuple[dict[str, JsonValue], ...]:
        """The rows of the table ``name``; empty if the report does not have it."""
        return next((table.rows for table in self.analyses if table.name == name), ())


@dataclass(frozen=True)
class Material:
    """The data that the analyses use."""

    frames: Frames
    turns: pd.DataFrame
    """From :func:`bench.scores.analyses.texts.turns_of`."""
    judges: Mapping[str, JudgeModel] = field(default_factory=dict)
    measures: Sequence[PlayerMeasures] = ()
    scenes: list[Scene] | None = None
    """The scenes that the suite asks for. None: those that any player has played."""
    others: Mapping[str, Frames] = field(default_factory=dict)
    """Boards of the same players with another interrogator or other judges, by name."""
    again: Frames | None = None
    """A second run of the same board."""


def report(material: Material, only: Sequence[str] = ()) -> Report:
    """All analyses of a board, or those named in ``only``. Raises UserError for an unknown name."""
    names = [table[0] for table in _TABLES]
    for name in only:
        if name not in names:
            hint = nearest_or_all(name, names, "Choose from")
            raise UserError(f"unknown analysis {name!r}", hint=hint)
    frames = material.frames
    return Report(
        suite=frames.suite,
        version=frames.version,
        language=frames.language,
        judges=frames.judges,
        analyses=tuple(
            _analysis(name, title, about, empty, make(material))
            for name, title, about, empty, make in _TABLES
            if not only or name in only
        ),
    )


def _analysis(name: str, title: str, about: str, empty: str, table: pd.DataFrame) -> Analysis:
    rows = tuple(
        {str(key): _plain(value) for key, value in row.items()}
        for row in missing_to_none(table).to_dict("records")
    )
    return Analysis(
        name=name,
        title=title,
        about=about,
        columns=tuple(map(str, table.columns)),
        rows=rows,
        reason=None if rows else table.attrs.get("empty") or empty,
        notes=tuple(table.attrs.get("notes", ())),
    )


def _plain(value: object) -> JsonValue:
    """A cell as plain JSON data; numbers of numpy become Python's."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    number = float(str(value))
    return int(number) if number.is_integer() and "int" in type(value).__name__ else published(number)


def _ledger(material: Material) -> pd.DataFrame:
    scenes = scenes_of(material.frames) if material.scenes is None else material.scenes
    counts = judgement_counts(ledger(material.frames, scenes))
    counts["expected"] = counts.sum(axis=1)
    return counts.rename_axis(columns=None).reset_index().astype({"player": "object"})


def _calls(material: Material) -> pd.DataFrame:
    """The counts of calls, one row for each player, role and model that deserves a remark."""
    rows = [
        {"player": player, **facts.model_dump(), "served_models": ", ".join(facts.served_models)}
        for (player, *_), facts in standing_out(material.frames.calls).items()
    ]
    return pd.DataFrame(rows, columns=["player", *CallFacts.model_fields])


def _other_boards(material: Material) -> pd.DataFrame:
    if not material.others:
        return pd.DataFrame(columns=["board", "other", "players", "kendall", "reason"])
    every = {material.frames.suite: material.frames, **material.others}
    return swapped({name: board_scores(frames) for name, frames in every.items()})


def _again(material: Material) -> pd.DataFrame:
    if material.again is None:
        return pd.DataFrame(columns=["player", "difference", "reason"])
    return repeats_between(material.frames, material.again)


_NOTHING = "nothing is scored"
_NO_SCRIPTS = "the protocol's situations do not plant facts or attack in given turns"
_TABLES: tuple[tuple[str, str, str, str, Callable[[Material], pd.DataFrame]], ...] = (
    (
        "by_turn",
        "Score by turn",
        "Do players stay in character? `change` is measured from the first turn of the same conversations.",
        "nothing is scored, or the verdicts are not of single turns",
        lambda m: by_turn(m.frames),
    ),
    (
        "difficulty",
        "Difficulty of characters and situations",
        "`effect`: above (easier) or below what the same players score on average.",
        _NOTHING,
        lambda m: difficulty(m.frames),
    ),
    (
        "scenes",
        "Scenes: mean score, spread, agreement with the other scenes",
        "`spread`: standard deviation over players. `item_rest`: correlation of the players' scores here "
        "with their means in all other scenes. `flag`: hardly any spread, or unrelated to the other scenes; "
        "read such a scene before you trust it.",
        _NOTHING,
        lambda m: scene_items(m.frames),
    ),
    (
        "sides",
        "Mean score of each player by character and by situation",
        "Mean over its conversations there, before length normalisation.",
        _NOTHING,
        lambda m: side_means(m.frames),
    ),
    (
        "verbosity",
        "Score against length",
        "`between` and `player` are Spearman correlations; `within` is points per doubling of the length.",
        _NOTHING,
        lambda m: verbosity(m.frames),
    ),
    (
        "leniency",
        "Leniency of judges",
        "`offset`: a judge's scores minus the mean of all judges on the same conversations.",
        "there is no judge",
        lambda m: leniency(m.frames),
    ),
    (
        "agreement",
        "Agreement of judges",
        "Krippendorff's alpha, ordinal, over turns: 1 = identical scores, 0 = chance.",
        "there is no judge",
        lambda m: agreement(m.frames),
    ),
    (
        "judge_pairs",
        "Pairs of judges",
        "Spearman over conversations and over players' means, Kendall over players' means.",
        "the board has only one judge",
        lambda m: pairwise(m.frames),
    ),
    (
        "components",
        "What scores depend on",
        "Variance of a single score by its sources, in squared points and as a share of the total. `part_of`:"
        " the row that it belongs to. `player` is what a board measures; `player x ...` moves ranks.",
        "the board has only one judge",
        lambda m: variance_table(variance_study(m.frames)),
    ),
    (
        "preference",
        "Self-preference and family preference of judges",
        "Whether a judge favours its own model or family: its scores for them minus the other judges', "
        "compared with the same difference for all other players.",
        "there is no judge",
        lambda m: preference(m.frames, m.judges),
    ),
    (
        "judges_apart",
        "Players on whom the judges differ",
        "`apart`: the judges' own means of a player, largest minus smallest, where all of them judged.",
        "the board has only one judge",
        lambda m: judges_apart(m.frames),
    ),
    (
        "disputes",
        "Turns on which the judges differ most",
        "`gap`: largest minus smallest score, added up over the criteria; once per conversation.",
        "no two judges differ",
        lambda m: disputes(m.frames),
    ),
    (
        "boards_alone",
        "The board by each judge alone",
        "The paper's numbers as if this judge alone had judged, for each weighting of the criteria.",
        "one judge: its board is the board itself",
        lambda m: boards_alone(m.frames),
    ),
    (
        "orders",
        "Order of the real answers",
        "How far a score moves when the judge sees the real answers in another order: `spread` in points, "
        "`other_band` as a share, `answer_N_first` against the mean of all orders.",
        "no response was judged with real answers in several orders",
        lambda m: order_effects(m.frames),
    ),
    (
        "measures",
        "Measures without a judge",
        "Means over conversations: shares, except for words, characters, and stock phrases per 1,000 words. "
        "`across` is the overlap of two conversations. The site's page on measures defines each.",
        "no conversation is complete",
        lambda m: measures(m.measures),
    ),
    (
        "lengths",
        "Answer length by turn",
        "Mean characters of an answer. `change` is measured from the first turn of the same conversations.",
        "no answer is a text",
        lambda m: lengths(m.measures),
    ),
    (
        "stock_phrases",
        "Most frequent stock phrases",
        "`|` separates alternatives of a word, `*` stands for any ending.",
        "no stock phrase occurs, or the language has no list",
        lambda m: frequent_phrases(m.measures),
    ),
    (
        "repetition",
        "Repetition",
        "Shares of repeated four-word runs: inside a conversation, and between conversations of a player.",
        "no conversation is complete",
        lambda m: repetition(m.turns, m.frames.language),
    ),
    (
        "repetition_by_turn",
        "Repetition by turn",
        "`share` of the four-word runs of a turn's answer that earlier answers of the conversation have.",
        "no answer has four words and follows another",
        lambda m: repetition_by_turn(m.turns, m.frames.language),
    ),
    (
        "recall",
        "Recall of planted facts",
        "Facts that the user mentioned and asked for later, by the number of turns between (`distance`; the "
        "row without one is for all), decided by patterns. `share`: mean over conversations.",
        _NO_SCRIPTS,
        lambda m: recall(m.frames),
    ),
    (
        "slopes",
        "Slope of each criterion over the turns of a conversation",
        "Points per ten turns: least squares for each judgement, mean over judges, then conversations.",
        _NO_SCRIPTS,
        lambda m: slopes(m.frames),
    ),
    (
        "breaks",
        "First break, and recovery after attacks",
        "A turn is broken if its mean score for staying in character is below the middle of the scale. "
        f"`recovered`: of the attacks that broke it, within {ROOM} turns.",
        _NO_SCRIPTS,
        lambda m: breaks(m.frames),
    ),
    (
        "flaws",
        "Flaws that judges listed",
        "Flaws in a turn, each with a quotation: mean over turns, judges and conversations.",
        "the judges were not asked for flaws",
        lambda m: flaws(m.frames),
    ),
    (
        "questions",
        "Variety of questions",
        "Word overlap of questions of two runs of one scene; `baseline` is that of unrelated scenes. "
        f"At most {MOST_PAIRS} pairs of runs of a scene are compared, drawn with a fixed seed.",
        "no conversation is complete",
        lambda m: question_variety(m.turns, m.frames.language),
    ),
    (
        "run_noise",
        "Noise from run to run",
        "`noise`: by how many points (standard deviation) a score of one scene differs from repeat to "
        "repeat, though nothing has changed. It comes from the player, the interrogator and the judges. "
        "`of_mean`: what it adds to the standard error of the player's mean; more repeats reduce only that.",
        "each scene was played once; set `repeats = 2` in the suite to measure it",
        lambda m: run_noise(m.frames),
    ),
    (
        "repeats",
        "The same player twice on this board",
        "Players of the same model and settings: any difference is chance. `copies` are scenes with the same "
        "first exchange, repeat number and seed: they may come from the response cache and do not count.",
        "no two players are the same model in the same settings",
        lambda m: repeats_within(m.frames),
    ),
    (
        "second_run",
        "The same board twice",
        "Each player's second run against its first. `copies`: as above.",
        "no second run was given, or it holds no player in the same settings",
        _again,
    ),
    (
        "judge_swap",
        "Judges swapped",
        "Kendall's tau between the boards of single judges; the last row is the mean.",
        _NOTHING,
        lambda m: swapped(judge_boards(m.frames)),
    ),
    (
        "board_swap",
        "Interrogator or judges swapped",
        "Kendall's tau between the boards of several suites with the same players; the last row is the mean.",
        "no other suite was given to compare with",
        _other_boards,
    ),
    (
        "calls",
        "Calls that stand out",
        "Replies cut off at the token limit, of unknown ending, empty or asked for again, and the models "
        "that answered where one entry had several.",
        "no call stands out",
        _calls,
    ),
    (
        "ledger",
        "Ledger",
        "How many of the expected judgements exist, and why the others do not.",
        "there is no judge",
        _ledger,
    ),
)
