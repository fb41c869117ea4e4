"""``bench topics``: what users talk about, and what share of it a suite's situations cover."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli.asking import spending
from bench.cli.common import whole_number
from bench.cli.options import Number, Places, complete_models, places, suite_option
from bench.cli.output import listing
from bench.foreign import problem_lines
from bench.records import canonical
from bench.tables import counted
from bench.topics import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from bench.errors import UserError
    from bench.run.prices import Spending
    from bench.topics.analysis import Against
    from bench.topics.report import Report, Topic
    from bench.topics.writing import Writer

MOST_PROBLEMS = 10
"""Unreadable rows that are printed one by one."""
PLAIN_INTERVAL = 5.0
"""Seconds between two lines of progress without a terminal."""


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--column", metavar="NAME", help="Column of the messages (default: text, message, content, ...)."
)
@click.option(
    "--language", "-l", default="en", show_default=True, metavar="L", help="Language of the messages."
)
@suite_option("--suite", "Compare the topics with this suite's situations.", "suite_name")
@click.option(
    "--coverage",
    "table",
    metavar="TABLE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A reviewed coverage.toml, used instead of similarity.",
)
@click.option(
    "--threshold",
    type=Number(-1, 1),
    default=THRESHOLD,
    show_default=True,
    metavar="X",
    help="Similarity from which a situation is proposed to cover a topic.",
)
@whole_number("--most", "Merge the most similar topics until N are left.")
@whole_number(
    "--topic-size", "Minimum number of distinct messages in a topic (default: 1% of them, at least 8).", 2
)
@whole_number("--sample", "Analyse N random messages of the file.")
@whole_number("--seed", "Random seed.", 0, default=1)
@whole_number(
    "--examples",
    "Show and save the N most typical messages of each topic. With --writer, also send them to that model.",
    0,
    50,
    default=0,
)
@click.option(
    "--writer",
    "writer_name",
    metavar="MODEL",
    shell_complete=complete_models,
    help="Have this model of models.toml draft situations.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("build/topics"),
    show_default=True,
    metavar="DIR",
    help="Output directory.",
)
@listing("text")
@spending
@places
def topics(
    file: Path,
    column: str | None,
    language: str,
    suite_name: str | None,
    table: Path | None,
    threshold: float,
    most: int | None,
    topic_size: int | None,
    sample: int | None,
    seed: int,
    examples: int,
    writer_name: str | None,
    output: Path,
    form: str,
    where: Places,
    limits: Spending,
) -> None:
    """Find the topics of user messages in FILE.

    Also measures what share of the messages the situations of a suite cover.

    FILE is CSV, TSV, JSON Lines or Parquet, with a column of messages or of conversations in the format of
    chat APIs. An installed model embeds the messages (nothing is downloaded), and BERTopic groups them.
    topics.json, topics.csv and a figure show the share and typical words of every topic, and the share of
    messages in no topic.

    --suite proposes in coverage.toml which situations cover each topic. Review the file and pass it back with
    --coverage. --writer has a model draft a situation for each topic, as TOML files to edit and move into
    prompts/situations. Neither is ever overwritten.

    Messages stay in FILE unless you ask for --examples: only words that several distinct messages share are
    written or sent to the writer.
    """
    from rich.console import Console

    from bench.topics.analysis import Choices, analysed
    from bench.topics.embedding import check_installed
    from bench.topics.files import write_report
    from bench.topics.messages import read_messages

    check_installed()
    console = Console(stderr=True)
    against = _against(where, suite_name, table, threshold, language)
    writer = _writer(where, writer_name, language, limits)
    with _progress(console, "reading", ""):
        messages = read_messages(file, column, sample=sample, seed=seed)
    for line in problem_lines(messages.problems, MOST_PROBLEMS):
        click.echo(line, err=True)
    with _progress(console, "embedding", "messages") as step:
        report = analysed(messages, Choices(language, topic_size, most, seed, examples), against, step)
    report, ended = _drafted(report, writer, where, limits, console)
    written = write_report(report, output, figures_of(report))
    as_json = canonical(report.model_dump(mode="json", exclude_none=True)) if form == "json" else ""
    click.echo(as_json or _text(report), nl=False)
    click.echo(f"written: {counted(len(written.files), 'file')} in {output}", err=form == "json")
    for path in written.kept:
        click.echo(f"kept unchanged, since you may have edited it: {path}", err=True)
    if ended is not None:
        raise ended


def _drafted(
    report: Report, writer: Writer | None, where: Places, limits: Spending, console: Console
) -> tuple[Report, UserError | None]:
    """The report with drafts, and the error that ended the drafting early, to raise when all is written."""
    from bench.cli.stopping import stoppable, stopped_by_budget
    from bench.errors import UserError
    from bench.topics.writing import draft_situations

    if writer is None or not report.topics:
        return report, None
    cache = where.cache if limits.cached else None
    try:
        with (
            stoppable("the topics are written, without drafts"),
            _progress(console, "writing", "situations") as step,
        ):
            report, stats = draft_situations(
                report, writer, cache=cache, max_cost=limits.max_cost, warn=_warn, on_progress=step
            )
    except UserError as error:
        return report, error
    return report, stopped_by_budget(stats) if stats else None


def _warn(text: str) -> None:
    click.echo(f"bench: {text}", err=True)


def figures_of(report: Report) -> dict[str, bytes]:
    """The figure of a report in every format, by file name. Empty if there are no topics."""
    from bench.figures import FORMS, renderings
    from bench.topics.chart import TITLE, draw_topics

    if not report.topics:
        return {}
    drawn = renderings(lambda: draw_topics(report), FORMS, TITLE, "topics")
    return {f"topics.{form}": data for form, data in drawn.items()}


def _against(
    where: Places, suite_name: str | None, table: Path | None, threshold: float, language: str
) -> Against | None:
    """The suite to compare with, checked before the analysis starts."""
    from bench.topics.analysis import Against
    from bench.topics.coverage import read_table

    if table is not None and suite_name is None:
        suite_name = read_table(table).suite
    if suite_name is None:
        return None
    suite = where.suite(suite_name)
    suite.language(language)
    return Against(suite, threshold, table)


def _writer(where: Places, name: str | None, language: str, limits: Spending) -> Writer | None:
    from bench.run.prices import check_prices_of
    from bench.topics.writing import Writer

    if name is None:
        return None
    catalog = where.catalog()
    writer = Writer(catalog, name, where.prompts, language)
    check_prices_of(catalog, [name], limits, _warn)
    return writer


@contextlib.contextmanager
def _progress(console: Console, what: str, things: str) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of a step: a live line on a terminal, an occasional plain line elsewhere."""
    with contextlib.ExitStack() as stack:
        status = stack.enter_context(console.status(what)) if console.is_terminal else None
        started = printed = time.monotonic()

        def step(done: int, total: int) -> None:
            nonlocal printed
            line = f"{what} {done}/{total} {things}" if done < total or what == "writing" else "grouping"
            if status is not None:
                status.update(line)
            elif time.monotonic() - (started if done == total else printed) >= PLAIN_INTERVAL:
                printed = time.monotonic()
                click.echo(line, err=True)

        yield step


def _text(report: Report) -> str:
    """The report for a terminal."""
    from bench.tables import printable, text_table
    from bench.topics.chart import caption

    source, rest = report.source, report.outliers
    part = f" (sample of {source.used:,})" if source.used < source.found else ""
    lines = [
        f"{printable(source.name)}: {source.found:,} messages{part}, {source.distinct:,} different;"
        f" skipped {source.blank:,} blank and {source.malformed:,} unreadable",
        "",
    ]
    heads = ["topic", "share", "messages", "typical words"]
    rows = [[str(t.id), f"{t.share:.1%}", f"{t.messages:,}", ", ".join(t.words[:7])] for t in report.topics]
    rows.append(["–", f"{rest.share:.1%}", f"{rest.messages:,}", "(in no topic)"])
    if report.coverage is not None:
        heads.append("covered by")
        rows = [
            [*row, covered]
            for row, covered in zip(rows, [*map(_covered_by, report.topics), "–"], strict=True)
        ]
    lines.append(text_table(heads, rows, left={3, 4}))
    for topic in report.topics:
        draft = topic.draft
        if draft is not None and draft.status == "ok":
            lines.append(f"{topic.id}. {printable(draft.title)}: {printable(draft.text)}")
        elif draft is not None:
            lines.append(f"{topic.id}. no draft: {printable(draft.failure)}")
        lines += [f"   {topic.id} | {printable(example)}" for example in topic.examples]
    if lines[-1] and not lines[-1].endswith("\n"):
        lines.append("")
    lines.append(f"{caption(report)}.")
    if report.coverage is not None:
        if report.coverage.by == "similarity":
            lines.append("This is a proposal: review coverage.toml and pass it back with --coverage.")
        if report.coverage.idle:
            lines.append(f"Situations that cover no topic: {', '.join(report.coverage.idle)}.")
    if not report.topics:
        lines.append("No topics found. Try a smaller --topic-size, or more messages.")
    return "\n".join(lines) + "\n"


def _covered_by(topic: Topic) -> str:
    """What covers a topic, with its similarity if known; otherwise the nearest situation."""
    if topic.covered_by:
        near = {match.situation: f" {match.similarity:.2f}" for match in topic.nearest}
        return ", ".join(f"{name}{near.get(name, '')}" for name in topic.covered_by)
    if not topic.nearest:
        return "not covered"
    nearest = topic.nearest[0]
    return f"not covered (nearest {nearest.situation} {nearest.similarity:.2f})"
