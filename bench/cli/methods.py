"""What `board` prints on request: ranks that depend on the method, and the comparison of two players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from bench.boards.judge_prices import judgement_price
from bench.boards.loading import LoadedBoard
from bench.boards.rescoring import rescore_board
from bench.cli.options import Own
from bench.errors import UserError
from bench.records import canonical
from bench.results import ResultsTree
from bench.scores.analyses.sure import missing_to_none
from bench.scores.analyses.variance import variance_study
from bench.scores.compare import rank_moves
from bench.scores.designs import DesignRow, design_study, goal_of
from bench.scores.frame import Frames
from bench.scores.rescore import Choices, RescoredRow, Span
from bench.scores.robust import JudgesAs
from bench.scores.separate import Separation, separation
from bench.suites import Suite
from bench.tables import WRITERS, Cell, counted, csv_table, dollars, printable, shown, text_table

COLUMNS = ("method", "player", "score", "rank", "paper_rank", "moved")


@dataclass(frozen=True)
class Asked:
    """Options of ``board`` that say what to print instead of the board, or how."""

    compare: bool
    separate: tuple[str, str] | None
    judges_as: JudgesAs | None
    design: bool
    reach: str | None
    own: Own

    def check(self, *, write: bool, weights: str | None, judges: Sequence[str], form: str) -> None:
        """Raise UserError for options of ``board`` that do not go together."""
        if self.reach is not None:
            goal_of(self.reach)
            if not self.design:
                raise UserError("--reach needs --design", hint="Add --design, or leave out --reach.")
        if self.own != Own() and not self.own.rescore:
            raise UserError(
                "--refusals, --character, --kind and --no-length-rule need --rescore",
                hint="Add --rescore.",
            )
        asked = {
            "--separate": self.separate,
            "--compare-methods": self.compare,
            "--design": self.design,
            "--rescore": self.own.rescore,
        }
        if write and (weights is not None or judges or any(asked.values())):
            raise UserError(
                "--write stores only the suite's own board",
                hint=f"Leave out {', '.join(asked)}, --weights and --judge, or --write.",
            )
        given = [name for name, on in asked.items() if on]
        if len(given) > 1:
            raise UserError(f"{' and '.join(given)} cannot be combined", hint="Choose one of them.")
        if given and (form in WRITERS or (form == "csv" and (self.separate or self.design))):
            raise UserError(f"{given[0]} has no {form} form", hint="Choose --format table or json.")
        if (self.design or self.own.rescore) and self.judges_as:
            raise UserError(f"{given[0]} already shows both", hint="Leave out --judges-as.")
        if self.judges_as and (self.compare or write or form == "csv"):
            raise UserError(
                "--judges-as works only for the table and --separate",
                hint="Leave it out: JSON and --write always hold both.",
            )
        if self.compare and weights is not None:
            raise UserError("--compare-methods tries the weightings itself", hint="Leave out --weights.")

    def text(self, tree: ResultsTree, loaded: LoadedBoard, form: str) -> str | None:
        """What is printed instead of the board; None: the board."""
        if self.compare:
            head = f"{loaded.frames.suite}, {loaded.frames.language}\n" if form == "table" else ""
            return head + moves(loaded.frames, form)
        if self.design:
            return designs(tree, loaded, self.reach, form)
        return separated(loaded, self.separate, form, self.judges_as) if self.separate else None


def separated(
    loaded: LoadedBoard, names: tuple[str, str], form: str, judges_as: JudgesAs | None = None
) -> str:
    """Whether two players differ significantly, and how many scenes that takes, in sentences or as JSON."""
    made = separation(loaded.frames, *names, weights=loaded.weights, judges_as=judges_as)
    if form == "json":
        return canonical(made.model_dump(mode="json"))
    head = f"{made.player} and {made.other} on {made.suite}, {made.language}, by the robust scoring:\n"
    if made.difference is None:
        return f"{head}They cannot be compared: {made.reason}.\n"
    head += _judges_taken(made)
    lines = [f"Difference on the {made.scenes} scenes that both have: {made.difference:+.3f}"]
    if made.p is None or made.p_adjusted is None:
        lines = [f"{lines[0]}.", f"Whether it is significant is unknown: {made.reason}."]
        return head + "".join(f"{line}\n" for line in lines)
    lines[0] += f" (95% interval {made.low:+.3f} to {made.high:+.3f}, p = {made.p:.3g})."
    verdict = "is significant" if made.separated else "is not significant"
    lines.append(
        f"Corrected for all {made.pairs} pairs of the board, the difference {verdict}"
        f" (p = {made.p_adjusted:.3g})."
    )
    if made.scenes_needed is None:
        lines.append(f"The number of scenes needed is unknown: {made.reason}.")
    else:
        most = f"{made.scenes_needed_high:,}" if made.scenes_needed_high else "a million or more"
        crossed = loaded.frames.conversations["character"].nunique() > 1
        how = ", with as many characters as situations," if crossed else ""
        lines.append(
            f"One comparison over about {made.scenes_needed:,} scenes ({made.scenes_needed_low:,} to {most})"
            f"{how} would detect a true difference of"
            f" {abs(made.difference):.3f} {made.power:.0%} of the time."
        )
    return head + "".join(f"{line}\n" for line in lines)


def _judges_taken(made: Separation) -> str:
    """What the interval and the test say about other judges."""
    if made.judges_as == "sample":
        return f"Judges count as a sample: this holds for judges like these {len(made.judges)}.\n"
    if made.sample is None:
        what = "Whether it holds for judges like these is unknown"
        return f"This holds for these judges. {what}: {made.sample_unknown}.\n"
    return f"This holds for these {len(made.judges)} judges, not for others like them.\n"


def designs(tree: ResultsTree, loaded: LoadedBoard, reach: str | None, form: str) -> str:
    """What other numbers of scenes and judges would separate, as a table or JSON."""
    goal = goal_of(reach) if reach is not None else None
    frames = loaded.frames
    study = variance_study(frames, loaded.weights)
    made = design_study(frames, study, judgement_price(tree, loaded), goal)
    if form == "json":
        return canonical(made.model_dump(mode="json"))
    if not made.designs:
        return f"{made.suite}, {made.language}: no designs can be compared: {made.reason}.\n"
    heads = [
        "scenes", "judges", "per scene", "E rho2", "phi", "SE of a difference", "detectable difference",
        "pairs separated", "judgements", "cost",
    ]  # fmt: skip
    text = f"{made.suite}, {made.language}: {made.players} players; judges count as a sample\n"
    text += text_table(heads, [_design_cells(row) for row in made.designs], left=())
    text += DESIGN_NOTE
    if made.cost_of_judgement is None:
        text += "The cost is unknown, because a judge's price or its use of tokens is not known.\n"
    if made.goal is not None and made.cheapest is not None:
        row = made.cheapest
        each = "every judge judges every scene" if not row.rotated else f"{row.per_scene} of them per scene"
        cost = "unknown" if row.cost is None else dollars(Decimal(row.cost))
        text += (
            f"Cheapest for {reach}: {counted(row.scenes, 'scene')} and {counted(row.judges, 'judge')},"
            f" {each}: {counted(row.judge_calls, 'judgement')}, cost {cost}.\n"
        )
    elif made.goal is not None:
        text += f"Cheapest for {reach}: unknown, {made.reason}.\n"
    return text


DESIGN_NOTE = """\
E rho2: share of the variance of differences between players that is real. phi: the same for the scores.
If fewer judges score a scene than there are judges, they take turns, the same for all players. Scenes count
as independent: if they share characters, more of them help less. Playing more scenes costs extra.
"""


def _design_cells(row: DesignRow) -> list[str]:
    numbers = (row.erho2, row.phi, row.se_difference, row.detectable_difference)
    return [
        str(row.scenes),
        str(row.judges),
        "all" if not row.rotated else str(row.per_scene),
        *(shown(number, 3) for number in numbers),
        f"{row.separability:.0%}",
        f"{row.judge_calls:,}",
        "unknown" if row.cost is None else dollars(Decimal(row.cost)),
    ]


def rescored_text(
    tree: ResultsTree,
    suite: str,
    language: str,
    own: Own,
    suites: Mapping[str, Suite],
    judges: Sequence[str],
    weights: str | None,
    form: str,
) -> str:
    """A board under a reader's ``own`` choices beside the published one, as table, csv or json."""
    choices = Choices(None, own.refusals, own.characters, own.kinds, not own.no_length_rule)
    made = rescore_board(tree, suite, language, choices, prompts=suites, judges=judges, weights=weights)
    if form == "json":
        return canonical(made.model_dump(mode="json"))
    if form == "csv":
        return csv_table(RESCORED, [_rescored_row(row) for row in made.rows])
    heads = ["#", "Player", "Score", "95%: these judges", "Ranks", "95%: judges like these", "Ranks"]
    cells = [
        [
            *(shown(cell) for cell in (row.rank, row.player, row.score)),
            *_span_cells(row.fixed),
            *_span_cells(row.sample),
            *(shown(cell) for cell in (row.published_rank, row.published_score)),
        ]
        for row in made.rows
    ]
    judged = printable(", ".join(made.judges))
    head = (
        f"{made.suite}, {made.language}: re-scored on {counted(made.scenes, 'scene')}, judged by {judged}\n"
    )
    note = "" if made.sample_unknown is None else f"Judges like these: unknown, {made.sample_unknown}.\n"
    return head + text_table([*heads, "Published #", "Published score"], cells, left={1}) + note


SPAN = ("low", "high", "rank_low", "rank_high")
RESCORED = (
    *("rank", "player", "score"),
    *SPAN,
    *(f"sample_{name}" for name in SPAN),
    *("published_rank", "published_score"),
)


def _rescored_row(row: RescoredRow) -> list[object]:
    spans = (row.fixed, row.sample)
    ends = [None if span is None else getattr(span, name) for span in spans for name in SPAN]
    return [row.rank, row.player, row.score, *ends, row.published_rank, row.published_score]


def _span_cells(span: Span | None) -> list[str]:
    if span is None:
        return ["–", "–"]
    ends = "–" if span.low is None else f"{span.low:.2f} to {span.high:.2f}"
    ranks = f"{span.rank_low}" if span.rank_low == span.rank_high else f"{span.rank_low}–{span.rank_high}"
    return [ends, ranks]


def moves(frames: Frames, form: str) -> str:
    """Every rank that another method of scoring moves, as table, csv or json."""
    moved = missing_to_none(rank_moves(frames)).to_dict("records")
    rows = [{name: _plain(row[name]) for name in COLUMNS} for row in moved]
    if form == "json":
        return canonical({"suite": frames.suite, "language": frames.language, "moves": rows})
    if form == "csv":
        return csv_table(COLUMNS, [row.values() for row in rows])
    if not rows:
        return "No rank moves, whatever the method.\n"
    for row in rows:
        row["moved"] = None if row["moved"] is None else f"{row['moved']:+d}"
    cells = [list(map(shown, row.values())) for row in rows]
    return text_table([name.replace("_", " ") for name in COLUMNS], cells, left={0, 1})


def _plain(value: object) -> Cell:
    """A cell as plain data: numpy's integers become Python's."""
    return value if value is None or isinstance(value, (str, float)) else int(str(value))
