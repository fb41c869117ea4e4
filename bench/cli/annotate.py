"""annotate: conversations out to people who rate them, and their ratings in again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bench.cli.annotate_text import merge_and_tell, print_counts
from bench.cli.options import Places, places

if TYPE_CHECKING:
    from bench.annotate.label_studio import Project
    from bench.results.studies import StudyFile

F = TypeVar("F", bound=Callable[..., Any])

study_option = click.option(
    "--study", required=True, metavar="NAME", help="Name of a study in results/human/."
)
project_option = click.option(
    "--project",
    type=int,
    metavar="N",
    help="Number of the project (default: the project with the study's title).",
)
new_option = click.option(
    "--new-annotators", is_flag=True, help="State that nobody in these files has rated in this study before."
)


def server_options(command: F) -> F:
    """Where Label Studio runs, and what opens it."""
    command = click.option("--url", required=True, metavar="URL", help="Address of Label Studio.")(command)
    return click.option(
        "--token-env",
        default="LABEL_STUDIO_API_KEY",
        show_default=True,
        metavar="NAME",
        help="Variable, in the environment or .env, that holds the access token.",
    )(command)


@click.group()
def annotate() -> None:
    """Have people rate conversations.

    `sample` draws conversations; `push`, or `export`, brings them to Label Studio; `pull`, or `import`,
    brings the ratings back into results/human/, annotators under pseudonyms.
    """


@annotate.command()
@click.argument("suite_name", metavar="SUITE")
@click.option("--language", "-l", required=True, metavar="L", help="Language of the conversations.")
@click.option("--study", required=True, metavar="NAME", help="Name of the new study.")
@click.option(
    "--size",
    type=click.IntRange(1),
    metavar="N",
    help="Number of conversations (default: 250, in Russian 265).",
)
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Random seed; the same seed draws the same sample.",
)
@click.option("--player", "-p", "players", multiple=True, metavar="ID", help="Only this player (repeatable).")
@click.option("--suite-version", metavar="V", help="Version of the suite, if the results hold several.")
@click.option(
    "--guideline", metavar="L", help="Language of the guideline (default: that of the conversations)."
)
@places
def sample(
    suite_name: str,
    language: str,
    study: str,
    size: int | None,
    seed: int,
    players: tuple[str, ...],
    suite_version: str | None,
    guideline: str | None,
    where: Places,
) -> None:
    """Draw conversations of SUITE to be rated.

    Players, characters and situations are each drawn as evenly as can be. Where there are fewer conversations
    than asked for, all are taken, and that is said.
    """
    from bench.annotate.guideline import load_guideline
    from bench.annotate.sample import SIZE, SIZES, candidates, draw, study_of
    from bench.results.studies import study_folder, write_study

    folder = study_folder(where.results, study)
    tree = where.evidence(suite_name, [language])
    read = load_guideline(where.prompts, guideline or language)
    asked = size or SIZES.get(language, SIZE)
    version, pool = candidates(
        tree,
        suite_name,
        language,
        version=suite_version,
        players=players,
        criteria=[criterion.name for criterion in read.criteria()],
    )
    chosen = draw(pool, asked, seed, f"{suite_name} {version} {language}")
    made = study_of(study, suite_name, version, language, chosen, seed=seed, asked=asked, guideline=read)
    _check_free(folder / "study.json", made)
    new = write_study(where.results, made)
    if len(chosen) < asked:
        click.echo(
            f"only {len(chosen)} complete conversations where {asked} were asked for: all taken", err=True
        )
    for margin, levels in (made.strata or {}).items():
        low, high = min(levels.values()), max(levels.values())
        each = f"{low}" if low == high else f"{low} to {high}"
        click.echo(f"{margin + 's':<12}{len(levels):>4}, with {each} conversations each")
    click.echo(f"{len(chosen)} of {len(pool)} conversations {'in' if new else 'were already in'} {folder}")


def _check_free(path: Path, made: StudyFile) -> None:
    """Refuse to draw a study anew under a name that is taken: annotations may hang on it."""
    from bench.errors import UserError
    from bench.results import read_record
    from bench.results.studies import StudyFile

    if path.exists() and read_record(StudyFile, path) != made:
        raise UserError(
            f"there is another study {made.study!r}",
            where=str(path),
            hint="Name the new one otherwise, or delete the old one's folder.",
        )


@annotate.command()
@click.option(
    "--format", "form", type=click.Choice(["label-studio"]), default="label-studio", show_default=True
)
@study_option
@click.option(
    "--output", "-o", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR"
)
@places
def export(form: str, study: str, output: Path, where: Places) -> None:
    """Write a study to files for Label Studio.

    These are its tasks, its labelling interface and its guideline.
    The tasks name neither the player nor any judge.
    """
    from bench.files import write_atomically
    from bench.records import canonical

    made = _project(study, where)
    write_atomically(output / "tasks.json", canonical(list(made.tasks)).encode())
    write_atomically(output / "interface.xml", made.interface.encode())
    write_atomically(output / "guideline.html", made.instruction.encode())
    click.echo(f"{len(made.tasks)} tasks in {output}/tasks.json")
    click.echo("In a new project of Label Studio, put interface.xml into Settings, Labeling Interface, Code;")
    click.echo("guideline.html into Settings, General, instructions; then import tasks.json.")


def _project(study: str, where: Places) -> Project:
    """What Label Studio needs to ask people about a study. Raises UserError where others asked them."""
    from bench.annotate.guideline import guideline_of
    from bench.annotate.label_studio import project_of
    from bench.errors import UserError
    from bench.results.studies import read_study

    file = read_study(where.results, study)
    if file.origin is not None:
        raise UserError(
            f"its ratings were imported from {file.origin}, so nobody is asked here",
            where=f"study {study}",
            hint="To ask people of your own, draw another: `bench annotate sample`.",
        )
    return project_of(where.tree(), file, guideline_of(where.prompts, file.guideline))


@annotate.command()
@study_option
@server_options
@click.option(
    "--annotators",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    metavar="N",
    help="How many people rate each conversation.",
)
@places
def push(study: str, url: str, token_env: str, annotators: int, where: Places) -> None:
    """Create a Label Studio project from a study.

    Done again it sends only the tasks that are not there yet.
    """
    from bench.annotate.server import LabelStudioServer

    made = _project(study, where)
    done = LabelStudioServer(url, _token(token_env)).push(made, annotators=annotators)
    click.echo(f"project {done.project}: {done.new} tasks sent, {done.there} were there")


@annotate.command()
@study_option
@server_options
@project_option
@new_option
@places
def pull(
    study: str, url: str, token_env: str, project: int | None, new_annotators: bool, where: Places
) -> None:
    """Fetch the annotations from Label Studio."""
    from bench.annotate.label_studio import project_title
    from bench.annotate.reading import Reading, Unreadable, read_export
    from bench.annotate.server import LabelStudioServer
    from bench.errors import UserError
    from bench.results.studies import read_study

    file = read_study(where.results, study)
    data = LabelStudioServer(url, _token(token_env)).pull(project_title(study), project)
    reading = Reading()
    try:
        read_export(data, "export", file, reading)
    except Unreadable as fault:
        raise UserError(str(fault), where=url) from None
    merge_and_tell(where, file, reading, "label-studio", new_annotators)


@annotate.command("import")
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@study_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["label-studio", "ping-pong-bench"]),
    default="label-studio",
    show_default=True,
)
@click.option("--language", "-l", metavar="L", help="ping-pong-bench: language of the conversations.")
@click.option(
    "--suite",
    "suite_name",
    metavar="SUITE",
    help="ping-pong-bench: suite in which to look up the conversations (default: the imported one of"
    " either version).",
)
@new_option
@places
def import_(
    files: tuple[Path, ...],
    study: str,
    form: str,
    language: str | None,
    suite_name: str | None,
    new_annotators: bool,
    where: Places,
) -> None:
    """Import annotations from files into a study.

    label-studio: exports as JSON, or as JSON-MIN, which omits skipped tasks. If an annotator rated a
    conversation more than once, the latest rating counts; a missing choice stays missing.

    ping-pong-bench: the public annotation records, JSON Lines; the study is created if it does not exist.
    """
    from bench.annotate.reading import read_files
    from bench.results.studies import read_study

    if form == "ping-pong-bench":
        _import_records(list(files), study, suite_name, language, new_annotators, where)
        return
    file = read_study(where.results, study)
    merge_and_tell(where, file, read_files(list(files), file), "label-studio", new_annotators)


def _import_records(
    files: list[Path],
    study: str,
    suite: str | None,
    language: str | None,
    new_annotators: bool,
    where: Places,
) -> None:
    from bench.annotate.pingpong import ORIGIN, read_records
    from bench.interop.pingpong_import import DEFAULT_SUITE
    from bench.results.studies import read_study, study_folder, write_study
    from bench.suites import LANGUAGES
    from bench.toml_entries import unknown_name

    known = None
    if (study_folder(where.results, study) / "study.json").exists():
        known = read_study(where.results, study)
    elif language is None:
        raise click.UsageError("Missing option '--language': the records do not say theirs.")
    elif language not in {*LANGUAGES, *(code for _, code in where.tree().boards())}:
        raise unknown_name(language, list(LANGUAGES), "language", str(where.results))
    if known is None and suite is not None:
        where.evidence(suite, [language or ""])
    chosen = known.suite if known else suite
    made = read_records(
        where.tree(),
        files,
        study=study,
        suites=[chosen] if chosen else [DEFAULT_SUITE, f"{DEFAULT_SUITE}-v1"],
        language=known.language if known else language or "",
        known=known,
    )
    for line in made.assumed:
        click.echo(line)
    if made.file.items:
        write_study(where.results, made.file)
        click.echo(f"{made.matched} of {len(made.file.items)} conversations are in {made.file.suite}")
    merge_and_tell(where, made.file, made.reading, ORIGIN, new_annotators)


@annotate.command()
@study_option
@places
def status(study: str, where: Places) -> None:
    """Show how far each annotator has got."""
    from bench.annotate.merging import counts_of
    from bench.results.studies import read_annotators, read_study

    file = read_study(where.results, study)
    drawn = f"drawn with seed {file.seed}" if file.origin is None else f"imported from {file.origin}"
    click.echo(f"{file.study}: {len(file.items)} conversations of {file.suite} {file.language}, {drawn}")
    print_counts(counts_of(file, read_annotators(where.results, file).values()))


def _token(name: str) -> str:
    """The access token. Raises UserError where it is not set."""
    from bench.chat.secrets import Environment
    from bench.errors import UserError

    token = Environment(os.environ, Path(".env")).get(name)
    if token is None:
        raise UserError(
            f"the access token of Label Studio is missing: {name} is not set",
            hint="Put it into the environment or .env; it is in the account's settings in Label Studio.",
        )
    return token
