"""Loads a board with the evidence behind it: the one place that says which judges and scenes count."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from bench.boards.people import calibrated_scores
from bench.catalog import Catalog, load_catalog
from bench.errors import UserError
from bench.files import write_atomically
from bench.results import ResultsTree
from bench.results.score_tables import ScoreSource
from bench.scores.board import RESAMPLES, SEED, Board, StaleEvidence, board_of
from bench.scores.forms import to_json
from bench.scores.frame import Frames, load, with_measures
from bench.scores.ledger import Scene
from bench.scores.weights import Weights, parse_weights
from bench.suites import Suite, load_suite, suite_files
from bench.suites.layers import Prompts, layers_of
from bench.suites.lazy import Lazy
from bench.toml_entries import nearest_or_all


@dataclass(frozen=True)
class LoadedBoard:
    """A board and its evidence. ``frames`` holds data frames, ``board`` the numbers computed from them."""

    frames: Frames
    """The judgements that count, and all conversations, as three pandas data frames."""
    scenes: list[Scene] | None
    """(character, situation) of every scene that the suite expects; None for an unknown suite: then every
    scene that any player was given is expected of all players."""
    suite: Suite | None
    """The suite as defined in prompts/; None if it is not there (imported results, for example)."""
    weights: Weights | None = None
    """Weight of each criterion; None for equal weights."""
    resamples: int = RESAMPLES
    seed: int = SEED
    other_judges: tuple[str, ...] = ()
    """Judges whose judgements are in the results and do not count."""
    catalog: Catalog | None = None
    """The current models; None: evidence is not compared with them."""
    source: ScoreSource | None = None
    """Where published scores come from; None if the evidence is our own."""
    tree: ResultsTree | None = None
    """Where the studies of people are; None: the board gets no human-calibrated scores."""

    @cached_property
    def board(self) -> Board:
        """The leaderboard. It is computed on first access."""
        board = board_of(
            self.frames,
            scenes=self.scenes,
            weights=self.weights,
            resamples=self.resamples,
            seed=self.seed,
        )
        named = self.suite.judges if self.suite is not None else ()
        return board.model_copy(
            update={
                "stale": self._stale(),
                "people": () if self.tree is None else calibrated_scores(self.tree, self.frames),
                "other_judges": tuple(j for j in self.other_judges if j not in named),
                "absent_judges": tuple(j for j in named if j not in (*board.judges, *self.other_judges)),
            }
        )

    @property
    def rules(self) -> Suite | None:
        """The suite, if it says what counts in this language."""
        return _rules(self.suite, self.frames.language)

    @property
    def kinds(self) -> dict[str, str]:
        """Situation to its kind, such as ``attack``; empty for an unknown suite."""
        if self.rules is None:
            return {}
        situations = self.rules.language(self.frames.language).situations
        return {name: situation.kind for name, situation in situations.items()}

    def _stale(self) -> StaleEvidence | None:
        if self.catalog is None or self.source is not None:
            return None
        from bench.boards.stale import stale_evidence, unknown_evidence  # loads the protocols

        if self.rules is None:
            return unknown_evidence(f"no suite defines {self.frames.suite} {self.frames.language}")
        return stale_evidence(self.frames, self.rules, self.catalog)


def load_board(
    results: ResultsTree | Path | str,
    suite: str,
    language: str,
    *,
    prompts: Mapping[str, Suite] | Prompts = "prompts",
    judges: Sequence[str] = (),
    weights: Weights | str | None = None,
    version: str | None = None,
    frames: Frames | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    models: Catalog | Path | str | None = None,
    measures: bool = False,
) -> LoadedBoard:
    """Load the evidence of one board and return it with the board.

    If ``prompts`` defines the suite, only what the suite asks for counts, because a judge who scored only
    some of the players would tilt the comparison. Otherwise everything in the results counts.

    Args:
        results: The results folder.
        suite: The suite's id.
        language: A language code such as ``en``.
        prompts: The folder with the suites, or suites that are already loaded, by id.
        judges: Count only these judges, whether or not the suite names them.
        weights: Weights of the criteria, as a mapping or in the form of `bench board --weights`.
        version: Use records of this version only. Needed if the results hold several versions.
        frames: All evidence of the board, if it is loaded already.
        resamples, seed: Number of bootstrap resamples for the confidence intervals, and their seed.
        models: The catalog, or its file, which may be missing. With it, the board says what is out of date.
        measures: Add the measures of texts (bench.scores.measures.MEASURES) to ``frames.conversations``.

    Raises:
        UserError: There are no results, or a judge or weight is unknown.
        RecordError: A file is malformed or misplaced.
        CatalogError: The suite's definition is invalid.
    """
    tree = results if isinstance(results, ResultsTree) else ResultsTree(Path(results))
    frames = frames or load(tree, suite, language, version=version)
    _check_played(frames, tree)
    defined = None if tree.is_table(suite) else _defined(prompts, suite)
    rules = _rules(defined, language)
    present = frames.judges
    frames = with_measures(frames, tree) if measures else frames
    chosen = chosen_judges(judges, present, f"{suite} {language}")
    frames = frames.only_judges(chosen or counting_judges(rules, present))
    frames = frames if rules is None else _asked_for(frames, rules, tree.repeat)
    return LoadedBoard(
        tree=None if weights else tree,
        frames=frames,
        scenes=rules.language(language).pairs if rules else None,
        suite=defined,
        weights=parse_weights(weights, frames.criteria)[1] if isinstance(weights, str) else weights,
        resamples=resamples,
        seed=seed,
        other_judges=tuple(judge for judge in present if judge not in frames.judges),
        catalog=catalog_of(models),
        source=tree.score_source(suite),
    )


def _rules(suite: Suite | None, language: str) -> Suite | None:
    return suite if suite is not None and language in suite.scenes else None


def _asked_for(frames: Frames, suite: Suite, repeat: int | None) -> Frames:
    """The repeats and, where judges rotate, the judgements that ``suite`` asks for; or one repeat."""
    if repeat is None:
        frames = frames.only_samples(suite.repeats)
    asked = suite.asked_by_scene(frames.judges, frames.language)
    return frames if asked is None else frames.rotated(asked)


def _check_played(frames: Frames, tree: ResultsTree) -> None:
    if not frames.players:
        raise UserError(
            f"no results of suite {frames.suite!r} in language {frames.language!r}",
            where=str(tree.root),
            hint=f"Run it first: `bench run {frames.suite}`.",
        )


def catalog_of(models: Catalog | Path | str | None) -> Catalog | None:
    """The catalog in a file; None without such a file."""
    if models is None or isinstance(models, Catalog):
        return models
    return load_catalog(Path(models)) if Path(models).is_file() else None


def counting_judges(suite: Suite | None, present: Collection[str]) -> tuple[str, ...]:
    """Of the judges ``present`` in the results, those that count on the published board.

    These are the suite's judges. If the suite is unknown, or none of its judges is present, all count.
    """
    own = tuple(judge for judge in suite.judges if judge in present) if suite else ()
    return own or tuple(present)


def stored_json(board: Board) -> str:
    """The content of board.json in the results: what follows from the evidence that counts, and no more."""
    beside = {"stale": None, "other_judges": (), "absent_judges": (), "people": ()}
    return to_json(board.model_copy(update=beside))


def write_board(results: ResultsTree, board: Board) -> bool:
    """Write board.json into the results and return whether it changed.

    Raises UserError for published scores, which keep no board.
    """
    if results.is_table(board.suite):
        raise UserError("published scores keep no board.json", where=board.suite, hint="Leave out --write.")
    path = results.board_folder(board.suite, board.language) / "board.json"
    return write_atomically(path, stored_json(board).encode())


def all_suites(prompts: Prompts) -> Mapping[str, Suite]:
    """Every suite below ``prompts``, by id, read when it is first used. Empty if there is no such folder."""
    found = layers_of(prompts)[0].is_dir()
    return Lazy(suite_files(prompts) if found else (), partial(load_suite, prompts, check=False))


def _defined(prompts: Mapping[str, Suite] | Prompts, suite: str) -> Suite | None:
    return (prompts if isinstance(prompts, Mapping) else all_suites(prompts)).get(suite)


def chosen_judges(
    judges: Sequence[str], present: Collection[str], where: str, what: str = "judgements"
) -> tuple[str, ...]:
    """``judges``, checked. Raises UserError for one who is not ``present``, that is, has no ``what``."""
    unknown = sorted(set(judges) - set(present))
    if unknown:
        raise UserError(
            f"no {what} by {', '.join(unknown)}",
            where=where,
            hint=nearest_or_all(unknown[0], present, "Judges of this board"),
        )
    return tuple(judges)
