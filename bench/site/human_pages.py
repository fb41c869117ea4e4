"""The page of a human study: judges against people, people against people, and their disagreements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from bench.agreement.chart import caption, draw_agreement, prefix_of, rows_of, title_of
from bench.agreement.disputes import Dispute
from bench.agreement.ensembles import METHODS
from bench.agreement.forms import agreement_csv, agreement_json
from bench.agreement.judges import JudgeAgreement, JudgedReport
from bench.agreement.people import Alpha, AnnotatorAgreement, AnnotatorPair, People
from bench.agreement.report import REFUSALS, Agreement, agreement_of
from bench.agreement.study import has_judges, study_panel
from bench.catalog import Catalog
from bench.figures import FORMS, Form, rendered
from bench.results import ResultsTree
from bench.results.studies import load_study
from bench.site import paths
from bench.site.context import BoardContext
from bench.site.labels import label
from bench.site.numbers import number
from bench.site.places import Link
from bench.site.render import Pages
from bench.site.shell import Page
from bench.site.studies import StudyPlace
from bench.site.svg import inline_figure
from bench.site.text import plain
from bench.slugs import slug

PEOPLE = "people.html"
"""The hand-written page on how agreement is measured."""

Boards = Mapping[tuple[str, str], BoardContext]
"""(suite, language) to board."""


@dataclass(frozen=True)
class JudgedView:
    """The judges of one suite and version: a row for each, and the figure."""

    key: str
    report: JudgedReport
    rows: list[tuple[str, list[JudgeAgreement]]]
    """Judge or ensemble, and its figures in the order of the criteria."""
    figure: Markup
    files: list[str]
    """Forms of the figure; empty without a figure."""
    told: str
    """The most important figures in sentences; empty if unknown."""


@dataclass(frozen=True)
class PeopleView:
    """The annotators on one criterion: a matrix, with rows for the means."""

    criterion: str
    alpha: Alpha
    rows: list[tuple[str, list[AnnotatorPair | None]]]
    each: list[AnnotatorAgreement]


@dataclass(frozen=True)
class DisputeView:
    """A dispute, with the name of its conversation and the link to its turn. ``href`` may be empty."""

    row: Dispute
    href: str
    scene: str
    player: str


def study_report(tree: ResultsTree, place: StudyPlace, boards: Boards, catalog: Catalog | None) -> Agreement:
    """Agreement with the judges of every board that has a conversation of the study and the same criteria."""
    study = load_study(tree.root, place.study)
    frames = []
    for suite, language in sorted(boards, key=lambda board: (board[0] != slug(place.suite), board)):
        board = boards[suite, language].frames
        if board is not None and language == slug(place.language) and has_judges(study.file, tree, board):
            frames.append(board)
    return agreement_of(study_panel(study, tree, frames, catalog=catalog))


def study_page(report: Agreement, place: StudyPlace, boards: Boards, pages: Pages) -> Page:
    """The page of a study."""
    page = place.page
    home = boards.get((slug(place.suite), slug(place.language)))
    title = f"People: {place.study}"
    crumbs = [Link(paths.relative(paths.BOARDS, page), "Boards")]
    if home is not None:
        crumbs.append(Link(home.links(page).board(), home.title))
    content = pages.render(
        "human",
        {
            "crumbs": crumbs,
            "here": title,
            "parts": home.parts(page) if home else [],
            "part": place.key,
            "suite": home.place.label if home else None,
            "about": paths.relative(paths.DEMONSTRATION, page),
            "method": paths.relative(PEOPLE, page),
            "report": report,
            "language": place.language,
            "refusals": REFUSALS[report.refusals],
            "methods": {name: method[0] for name, method in METHODS.items()},
            "judged": [_judged(report, judged) for judged in report.judged],
            "people": [_people(report.people, criterion) for criterion in report.measured],
            "to": home.links(page) if home else None,
            "names": home.names if home else {},
            "disputes": [
                _dispute(dispute, boards.get((slug(dispute.suite), slug(place.language))), page)
                for dispute in report.disputes
            ],
        },
    )
    about = f"How far judges agree with people who rated the same conversations: {place.study}."
    heading = f"Judges and people: {place.study}"
    return Page(page, "part", title, heading, content, about, home.picture if home else "")


def study_files(report: Agreement, place: StudyPlace) -> Iterator[tuple[str, bytes]]:
    """(path, content) of all numbers as JSON and CSV, and of each figure."""
    yield f"{place.folder}/agreement.json", agreement_json(report).encode("utf-8")
    yield f"{place.folder}/agreement.csv", agreement_csv(report).encode("utf-8")
    for judged in report.judged:
        if rows_of(report, judged):
            for form in FORMS:
                yield f"{place.folder}/{prefix_of(judged)}.{form}", _figure(report, judged, form)


def _judged(report: Agreement, judged: JudgedReport) -> JudgedView:
    drawn = bool(rows_of(report, judged))
    described = caption(report, judged)
    about = f"A dot for each judge, with a line for its interval. {described}. The table has the numbers."
    svg = inline_figure(_figure(report, judged, "svg"), prefix_of(judged), about) if drawn else Markup("")
    return JudgedView(
        key=slug(judged.label),
        report=judged,
        rows=judged.rows(report.measured),
        figure=svg,
        files=[f"{prefix_of(judged)}.{form}" for form in FORMS] if drawn else [],
        told=_told(report, judged.figures),
    )


def _told(report: Agreement, figures: Iterable[JudgeAgreement]) -> str:
    """How far judges agree with people on the last thing measured, in sentences; empty if unknown."""
    what = report.measured[-1]
    known = [(f.value, f.name) for f in figures if f.criterion == what and f.value is not None]
    if not known:
        return ""
    value, name = max(known)
    best = "best " if len(known) > 1 else ""
    told = f"On the {label(what).lower()} score, {plain(name, 80)} agrees {best}with people: {number(value)}."
    others = [one.with_mean_of_others.value for one in report.people.each if one.criterion == what]
    among = [value for value in others if value is not None]
    if among:
        low, high = number(min(among)), number(max(among))
        told += f" A single person agrees with the mean of the others at {low} to {high}."
    return told + " (Correlation: 1 is the same order of conversations, 0 no relation.)"


def _figure(report: Agreement, judged: JudgedReport, form: Form) -> bytes:
    title, prefix = title_of(report, judged), prefix_of(judged)
    return rendered(lambda: draw_agreement(report, judged), form, title, prefix)


def _people(people: People, criterion: str) -> PeopleView:
    pairs, names = people.pair_of(criterion), people.annotators
    return PeopleView(
        criterion=criterion,
        alpha=next(row for row in people.alpha if row.criterion == criterion),
        rows=[(name, [pairs.get((name, other)) for other in names]) for name in names],
        each=people.each_of(criterion),
    )


def _dispute(dispute: Dispute, board: BoardContext | None, page: str) -> DisputeView:
    cell = None
    if board is not None and dispute.player and dispute.character and dispute.situation:
        scene = paths.scene_name(dispute.character, dispute.situation)
        talks = cell.talks if (cell := board.cells.get(dispute.player, {}).get(scene)) else ()
        cell = next((talk for talk in talks if talk.repeat == dispute.repeat), None)
    if board is None or cell is None:
        where = " / ".join(filter(None, (dispute.player, dispute.character, dispute.situation)))
        return DisputeView(dispute, "", where or dispute.item, "")
    anchor = f"#t{dispute.turn}-{slug(dispute.judge)}" if dispute.turn else ""
    turn = f", turn {dispute.turn}" if dispute.turn else ""
    href = board.links(page).talk(cell.player, cell.talk) + anchor
    return DisputeView(dispute, href, cell.name + turn, board.names.get(cell.player, cell.player))
