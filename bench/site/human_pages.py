"""A page for every human study: judges against people, people against people, and where they part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bench.agreement.chart import caption, draw_agreement, prefix_of, rows_of, title_of
from bench.agreement.disputes import Dispute
from bench.agreement.ensembles import METHODS
from bench.agreement.forms import agreement_csv, agreement_json
from bench.agreement.judges import JudgedReport
from bench.agreement.people import People
from bench.agreement.report import REFUSALS, Agreement, SampledPlayer, agreement_of
from bench.agreement.study import has_judges, study_panel
from bench.catalog import Catalog
from bench.figures import FORMS, Form, rendered
from bench.results import ResultsTree
from bench.results.studies import load_study, read_study, studies
from bench.scores.frame import load
from bench.site import paths
from bench.site.context import BoardContext, Page
from bench.site.labels import language_name
from bench.site.render import Pages
from bench.site.stamp import Link
from bench.site.svg import inline_figure
from bench.site.text import bdi, plain
from bench.slugs import slug

PEOPLE = "people.html"
"""The hand-written page on how agreement is measured."""


@dataclass(frozen=True)
class StudyPlace:
    """A study, what it is of, and where its page lies."""

    study: str
    suite: str
    language: str
    items: int

    @property
    def page(self) -> str:
        return f"{self.folder}/index.html"

    @property
    def folder(self) -> str:
        return f"people/{self.study}/{slug(self.language)}"


def study_places(results: Path) -> list[StudyPlace]:
    """Every study of a results tree, by name. Raises RecordError where a study.json is damaged."""
    files = [read_study(results, name) for name in studies(results)]
    return [StudyPlace(file.study, file.suite, file.language, len(file.items)) for file in files]


def study_report(
    tree: ResultsTree, place: StudyPlace, boards: Sequence[tuple[str, str]], catalog: Catalog | None
) -> Agreement:
    """The agreement over a study, with the judges of every board that holds a conversation of it.

    ``boards``: (suite, language) of all. Boards whose judges do not score what people scored stay out.
    """
    study = load_study(tree.root, place.study)
    frames = []
    for suite, language in sorted(boards, key=lambda board: (board[0] != slug(place.suite), board)):
        if language == slug(place.language):
            found = load(tree, suite, language)
            if has_judges(study.file, tree, found):
                frames.append(found)
    return agreement_of(study_panel(study, tree, frames, catalog=catalog))


def study_page(made: Agreement, place: StudyPlace, contexts: Sequence[BoardContext], pages: Pages) -> Page:
    """The page of a study; ``contexts``: all boards, whose pages it leads to."""
    page = place.page
    boards = {(context.place.suite, context.place.language): context for context in contexts}
    home = boards.get((slug(place.suite), slug(place.language)))
    title = f"People: {place.study}"
    crumbs = [Link(paths.relative(paths.BOARDS, page), "Boards")]
    if home is not None:
        board = paths.board_page(home.place.suite, home.place.language)
        crumbs.append(Link(paths.relative(board, page), home.title))
    content = pages.render(
        "human",
        {
            "crumbs": crumbs,
            "here": title,
            "parts": home.parts(page) if home else [],
            "part": part_key(place),
            "suite": home.place.label if home else None,
            "about": paths.relative(paths.DEMONSTRATION, page),
            "method": paths.relative(PEOPLE, page),
            "made": made,
            "language": language_name(place.language),
            "refusals": REFUSALS[made.refusals],
            "judged": [_judged(made, one, place) for one in made.judged],
            "people": _people(made.people, made.measured),
            "players": [_player(row, home, page) for row in made.sample.players],
            "disputes": [
                _dispute(one, boards.get((slug(one.suite), slug(place.language))), page)
                for one in made.disputes
            ],
            "files": [("JSON", "agreement.json"), ("CSV", "agreement.csv")],
        },
    )
    heading = bdi(f"Judges and people: {place.study}", 200)
    return Page(page, "part", plain(title), heading, content)


def study_files(made: Agreement, place: StudyPlace) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of all numbers as JSON and CSV, and of each figure."""
    yield f"{place.folder}/agreement.json", agreement_json(made).encode("utf-8")
    yield f"{place.folder}/agreement.csv", agreement_csv(made).encode("utf-8")
    for one in made.judged:
        if rows_of(made, one):
            for form in FORMS:
                yield f"{place.folder}/{prefix_of(one)}.{form}", _figure_file(made, one, form)


def part_key(place: StudyPlace) -> str:
    """What the pages of a board call the study's page among their links."""
    return f"people-{place.study}"


def part_links(places: Sequence[StudyPlace], suite: str, language: str) -> list[tuple[str, str, str]]:
    """Key, words and page of the studies of a board."""
    mine = [place for place in places if (slug(place.suite), slug(place.language)) == (suite, language)]
    one = len(mine) == 1
    return [
        (part_key(place), "People" if one else f"People: {plain(place.study, 30)}", place.page)
        for place in mine
    ]


def listed(places: Sequence[StudyPlace], page: str) -> dict[str, Any]:
    """What a hand-written page needs to list the studies."""
    return {
        "studies": [
            {
                "href": paths.relative(place.page, page),
                "name": place.study,
                "suite": place.suite,
                "language": place.language,
                "conversations": place.items,
            }
            for place in places
        ]
    }


def _judged(made: Agreement, one: JudgedReport, place: StudyPlace) -> dict[str, Any]:
    """One version: a row a judge, the figure, differences that are real, ways to combine."""
    cells = {(figure.name, figure.criterion): figure for figure in one.figures}
    names = list(dict.fromkeys(figure.name for figure in one.figures))
    drawn = rows_of(made, one)
    files = [(form.upper(), f"{prefix_of(one)}.{form}") for form in FORMS] if drawn else []
    return {
        "key": slug(one.label),
        "report": one,
        "rows": [(name, [cells[name, criterion] for criterion in made.measured]) for name in names],
        "figure": _figure(made, one) if drawn else "",
        "files": files,
        "real": [pair for pair in one.differences if pair.real],
        "pairs": len(one.differences),
        "left_out": [(judge, counts) for judge, counts in one.left_out.items() if counts],
        "ways": [(METHODS[way.method][0], way) for way in one.ensembles],
        "best": [(METHODS[row.method][0] if row.method else "", row) for row in one.best],
    }


def _figure_file(made: Agreement, one: JudgedReport, form: Form) -> bytes:
    return rendered(lambda: draw_agreement(made, one), form, title_of(made, one), prefix_of(one))


def _figure(made: Agreement, one: JudgedReport) -> Markup:
    about = f"A dot for each judge, with a line for its interval. {caption(made)}. A table stands above."
    return inline_figure(_figure_file(made, one, "svg"), prefix_of(one), about)


def _people(people: People, measured: Sequence[str]) -> list[dict[str, Any]]:
    """One matrix a criterion, with the rows of the two means."""
    found = []
    for criterion in measured:
        pairs: dict[tuple[str, str], Any] = {}
        for pair in people.pairs:
            if pair.criterion == criterion:
                pairs[pair.annotator, pair.other] = pairs[pair.other, pair.annotator] = pair
        each = [row for row in people.each if row.criterion == criterion]
        found.append(
            {
                "criterion": criterion,
                "alpha": next(row for row in people.alpha if row.criterion == criterion),
                "rows": [
                    (one, [pairs.get((one, other)) for other in people.annotators])
                    for one in people.annotators
                ],
                "with_all": [row.with_mean_of_all for row in each],
                "with_others": [row.with_mean_of_others for row in each],
            }
        )
    return found


def _player(row: SampledPlayer, home: BoardContext | None, page: str) -> dict[str, Any]:
    """A player of the sample; it leads to the player's page where there is one."""
    if row.player is None:
        return {"name": "not known", "href": "", "row": row}
    if home is None or all(info.player != row.player for info in home.infos):
        return {"name": row.player, "href": "", "row": row}
    return {"name": home.name_of(row.player), "href": home.player_href(row.player, page), "row": row}


def _dispute(one: Dispute, context: BoardContext | None, page: str) -> dict[str, Any]:
    """A dispute with the names of its conversation, and the link to its turn."""
    cell = None
    if context is not None and one.player and one.character and one.situation:
        scene = paths.scene_name(one.character, one.situation)
        cell = context.cells.get(one.player, {}).get(scene)
    if context is None or cell is None:
        where = " / ".join(filter(None, (one.player, one.character, one.situation)))
        return {"row": one, "href": "", "scene": where or one.item, "player": ""}
    anchor = f"#t{one.turn}-{slug(one.judge)}" if one.turn else ""
    return {
        "row": one,
        "href": context.conversation_href(cell, page) + anchor,
        "scene": f"{cell.character_name}, {cell.situation_title}"
        + (f", turn {one.turn}" if one.turn else ""),
        "player": context.name_of(cell.player),
    }
