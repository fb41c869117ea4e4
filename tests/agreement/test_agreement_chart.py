"""The figure of judges against people: equal bytes, what it draws, names that cannot act."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from bench.agreement.chart import caption, draw_agreement, people_range, prefix_of, rows_of, title_of
from bench.agreement.report import Agreement, agreement_of
from bench.figures import FORMS, Form, rendered
from tests.agreement.simulated import panel_of, sample


def report(judges: dict[str, float], annotators: dict[str, float] | None = None) -> Agreement:
    people, judged = sample(1, 80, judges=judges)
    return agreement_of(panel_of(people[list(annotators)] if annotators else people, judged), resamples=50)


def agreement_file(made: Agreement, form: Form) -> bytes:
    judged = made.judged[0]
    return rendered(lambda: draw_agreement(made, judged), form, title_of(made, judged), prefix_of(judged))


@pytest.fixture(scope="module")
def made() -> Agreement:
    return report({"sharp": 0.8, "<b>$x$ & co": 0.4})


@pytest.mark.parametrize("form", FORMS)
def test_equal_reports_give_equal_bytes(made: Agreement, form: Form) -> None:
    assert agreement_file(made, form) == agreement_file(made, form)


def test_judges_stand_by_their_correlation_with_its_number(made: Agreement) -> None:
    svg = agreement_file(made, "svg").decode("utf-8")
    words = "".join(ElementTree.fromstring(svg[svg.index("<svg") :]).itertext())
    rows = rows_of(made, made.judged[0])
    assert [row.value for row in rows] == sorted((row.value or 0 for row in rows), reverse=True)
    for row in rows:
        assert f"{row.name}  {row.value:.2f}" in words
    assert "<b>" not in svg


def test_band_is_the_range_of_annotators_against_the_others(made: Agreement) -> None:
    values = [row.with_mean_of_others.value or 0 for row in made.people.each]
    assert people_range(made) == (min(values), max(values))
    told = caption(made, made.judged[0])
    assert "Shaded" in told
    assert "Diamonds" in told


def test_one_annotator_has_no_band() -> None:
    made = report({"sharp": 0.8, "fair": 0.7}, {"ann": 0.75})
    assert people_range(made) is None
    assert "Shaded" not in caption(made, made.judged[0])
    assert agreement_file(made, "png").startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("name", ["M" * 40, "東" * 30], ids=["wide letters", "Japanese"])
def test_a_long_name_stays_in_the_figure(name: str) -> None:
    made = report({name: 0.8})
    [text] = draw_agreement(made, made.judged[0]).axes[0].texts
    assert text.get_window_extent().x0 > 0


def test_one_judge_has_no_mean_to_explain() -> None:
    made = report({"sharp": 0.8})
    assert "Diamonds" not in caption(made, made.judged[0])
