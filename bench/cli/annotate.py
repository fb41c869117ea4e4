"""``bench annotate``: send conversations to people who rate them, and import their ratings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli.annotate_text import print_import, print_sample, print_status
from bench.cli.common import Suggesting, one_of, together, whole_number
from bench.cli.options import Places, complete_suites, places, private_option, suite_option
from bench.cli.output import listing
from bench.errors import UserError
from bench.files import write_atomically
from bench.foreign import Unreadable
from bench.records import canonical
from bench.suites.languages import known_language
from bench.tables import counted
from bench.toml_entries import unknown_name

if TYPE_CHECKING:
    from bench.annotate.label_studio import Project
    from bench.annotate.reading import Reading
    from bench.results.studies import StudyFile

study_option = click.option(
    "--study", required=True, metavar="NAME", help="Name of a study in results/human/."
)
project_option = click.option(
    "--project",
    type=int,
    metavar="N",
    help="Number of the project (default: the project with the study's title).",
)
server_option = click.option(
    "--server",
    metavar="NAME",
    help="Label Studio that the ratings come from: its address, or a name that no other has. Each numbers"
    " people from 1, so ratings of two must stay apart. Default: --url, or the study's only server.",
)
new_option = click.option(
    "--new-annotators", is_flag=True, help="None of these annotators has rated in this study before."
)
server_options = together(
    click.option(
        "--token-env",
        default="LABEL_STUDIO_API_KEY",
        show_default=True,
        metavar="NAME",
        help="Variable, in the environment or .env, that holds the access token.",
    ),
    click.option("--url", required=True, metavar="URL", help="Address of Label Studio."),
)


@click.group(cls=Suggesting)
def annotate() -> None:
    """Have people rate conversations.

    `sample` draws conversations. `push` (or `export`) sends them to Label Studio, and `pull` (or `import`)
    fetches the ratings into results/human/, with pseudonyms for annotators.
    """


@annotate.command()
@click.argument("suite_name", metavar="SUITE", shell_complete=complete_suites)
@click.option("--language", "-l", required=True, metavar="L", help="Language of the conversations.")
@click.option("--study", required=True, metavar="NAME", help="Name of the new study.")
@whole_number("--size", "Number of conversations (default: 250, in Russian 265).")
@whole_number(
    "--within-player",
    "Draw N at random from each player's conversations; boards then show human-calibrated scores.",
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
@private_option
@places
def sample(
    suite_name: str,
    language: str,
    study: str,
    size: int | None,
    within_player: int | None,
    seed: int,
    players: tuple[str, ...],
    suite_version: str | None,
    guideline: str | None,
    private: bool,
    where: Places,
) -> None:
    """Draw conversations of SUITE to be rated.

    Players, characters and situations are each drawn as evenly as possible. If there are fewer conversations
    than requested, the sample contains all of them.

    With --within-player, conversations are drawn at random within each player instead. Boards then correct
    the judges' scores by what people said (human-calibrated scores). 16 of 64 conversations are a good start;
    at least 12 rated ones of a player are needed.
    """
    if size is not None and within_player is not None:
        raise UserError("--size and --within-player exclude each other", hint="Choose one of the two.")
    from bench.annotate.guideline import guideline_or_english, load_guideline
    from bench.annotate.sample import draw_study, save_new_study
    from bench.boards.loading import all_suites
    from bench.boards.privacy import is_private
    from bench.results.studies import study_folder

    suites = all_suites(where.layers)
    evidence = where.evidence(suite_name, [language], public=not private)
    if guideline:
        text, note = load_guideline(where.prompts, guideline), ""
    else:
        text, note = guideline_or_english(where.prompts, language)
    if note:
        click.echo(note, err=True)
    drawn = draw_study(
        evidence,
        text,
        study=study,
        suite=suite_name,
        language=language,
        size=size,
        within_player=within_player,
        seed=seed,
        version=suite_version,
        players=players,
        repeats=suites[suite_name].repeats if suite_name in suites else (),
    )
    new = save_new_study(where.results, drawn.file, private=is_private(evidence, suite_name, suites))
    print_sample(drawn, new, study_folder(where.results, study))


@annotate.command()
@one_of("--format", ["label-studio"], None, "form")
@study_option
@click.option(
    "--output", "-o", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR"
)
@private_option
@places
def export(form: str, study: str, output: Path, private: bool, where: Places) -> None:
    """Write a study to files for Label Studio.

    Writes its tasks, its labelling interface and its guideline. The tasks name neither the player nor any
    judge.
    """
    project = _project(study, private, where)
    write_atomically(output / "tasks.json", canonical(list(project.tasks)).encode())
    write_atomically(output / "interface.xml", project.interface.encode())
    write_atomically(output / "guideline.html", project.instruction.encode())
    click.echo(f"{counted(len(project.tasks), 'task')} in {output}/tasks.json")
    click.echo("In a new Label Studio project, paste interface.xml under Settings, Labeling Interface, Code,")
    click.echo("and guideline.html under Settings, General, instructions. Then import tasks.json.")


def _project(study: str, private: bool, where: Places) -> Project:
    """The Label Studio project of a study.

    Raises UserError if the study's ratings were imported, or its suite is private and not to be taken.
    """
    from bench.annotate.guideline import guideline_of
    from bench.annotate.label_studio import project_of
    from bench.results.studies import read_study

    file = read_study(where.results, study)
    if file.origin is not None:
        raise UserError(
            f"its ratings were imported from {file.origin}, so there is nothing to ask",
            where=f"study {study}",
            hint="To ask your own annotators, draw another study: `bench annotate sample`.",
        )
    return project_of(
        where.tree() if private else where.public(file.suite),
        file,
        guideline_of(where.prompts, file.guideline),
    )


@annotate.command()
@study_option
@server_options
@whole_number("--annotators", "How many people rate each conversation.", default=5)
@private_option
@places
def push(study: str, url: str, token_env: str, annotators: int, private: bool, where: Places) -> None:
    """Create a Label Studio project from a study.

    If the project exists, sends only the missing tasks.
    """
    from bench.annotate.server import LabelStudioServer, access_token

    project = _project(study, private, where)
    pushed = LabelStudioServer(url, access_token(token_env)).push(project, annotators=annotators)
    click.echo(f"project {pushed.project}: {counted(pushed.sent, 'task')} sent, {pushed.known} already there")


@annotate.command()
@study_option
@server_options
@project_option
@server_option
@new_option
@places
def pull(
    study: str,
    url: str,
    token_env: str,
    project: int | None,
    server: str | None,
    new_annotators: bool,
    where: Places,
) -> None:
    """Fetch the annotations from Label Studio.

    A study can have ratings from several servers. If one has moved, give its old address with --server.
    """
    from bench.annotate.label_studio import project_title
    from bench.annotate.reading import Reading, read_export
    from bench.annotate.server import LabelStudioServer, access_token
    from bench.results.studies import read_study

    file = read_study(where.results, study)
    data = LabelStudioServer(url, access_token(token_env)).pull(project_title(study), project)
    reading = Reading()
    try:
        read_export(data, "export", file, reading)
    except Unreadable as fault:
        raise UserError(str(fault), where=url) from None
    _merge(where, file, reading, url if server is None else server, new_annotators)


@annotate.command("import")
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@study_option
@one_of("--format", ("label-studio", "ping-pong-bench"), None, "form")
@click.option("--language", "-l", metavar="L", help="ping-pong-bench: language of the conversations.")
@suite_option(
    "--suite",
    "ping-pong-bench: suite in which to look up the conversations (default: the imported one of either"
    " version).",
    "suite_name",
)
@server_option
@new_option
@places
def import_(
    files: tuple[Path, ...],
    study: str,
    form: str,
    language: str | None,
    suite_name: str | None,
    server: str | None,
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
    _merge(where, file, read_files(list(files), file), server, new_annotators)


def _merge(
    where: Places, file: StudyFile, reading: Reading, server: str | None, new_annotators: bool
) -> None:
    from bench.annotate.merging import merge

    report = None
    if reading.entries:
        report = merge(
            where.results,
            file,
            reading.entries,
            origin="label-studio",
            server=server,
            new_annotators=new_annotators,
        )
    print_import(file.study, reading, report)


def _import_records(
    files: list[Path],
    study: str,
    suite: str | None,
    language: str | None,
    new_annotators: bool,
    where: Places,
) -> None:
    from bench.annotate.pingpong import import_records
    from bench.results.studies import find_study

    if find_study(where.results, study) is None:
        if language is None:
            raise click.UsageError("Missing option '--language': the records do not name their language.")
        known = {code for _, code in where.tree().boards()}
        if language not in known and not known_language(language):
            raise unknown_name(language, known, "language", str(where.results))
        if suite is not None:
            where.evidence(suite, [language])
    public, report = import_records(
        where.tree(),
        files,
        study=study,
        suite=suite,
        language=language or "",
        new_annotators=new_annotators,
    )
    for line in public.assumed:
        click.echo(line)
    if public.file.items:
        click.echo(f"{public.matched} of {len(public.file.items)} conversations are in {public.file.suite}")
    print_import(study, public.reading, report)


@annotate.command()
@study_option
@listing("table")
@places
def status(study: str, form: str, where: Places) -> None:
    """Show how far each annotator has got."""
    from bench.annotate.merging import counts_of
    from bench.results.studies import read_annotators, read_study

    file = read_study(where.results, study)
    print_status(file, counts_of(file, read_annotators(where.results, file).values()), form)
