"""The figure: the same bytes each time, text as text, nothing that a name could break."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from functools import cache
from itertools import product

import matplotlib as mpl
import pytest

from bench.boards.rank_map_chart import COLOURS, draw_rank_map, family_styles, prefix_of, title_of
from bench.errors import UserError
from bench.figures import FORMS, Form, rendered
from bench.scores.external import Alias, Published
from bench.scores.rankmap import Ours, RankMap, rank_map

NAMES = ["alpha", "beta", "gamma", "delta", "hostile"]
HOSTILE = "$x^{$ <script>alert(1)</script> & \x07\u202e名"


def made(count: int = 5) -> RankMap:
    names = NAMES[:count]
    players = [
        Ours(name, HOSTILE if name == "hostile" else name.title(), f"F{n % 2}", name, 4 - n / 10, 0.15)
        for n, name in enumerate(names)
    ]
    scores = {name.upper(): float(n * 7 % 5) for n, name in enumerate(names)}
    other = Published(name="other", benchmark="Other", version="1", source="s", date="2024", scores=scores)
    aliases = [Alias(model=name, ids=(name,), names={"other": name.upper()}) for name in names]
    return rank_map(players, other, aliases, "suite en")


def rank_map_file(made: RankMap, form: Form, links: Mapping[str, str] | None = None) -> bytes:
    return rendered(lambda: draw_rank_map(made, links), form, title_of(made), prefix_of(made))


@cache
def usual(form: Form) -> bytes:
    return rank_map_file(made(), form)


@pytest.mark.parametrize("form", FORMS)
def test_equal_maps_give_equal_bytes_whatever_the_user_has_set(form: Form) -> None:
    first = usual(form)
    with mpl.rc_context({"font.size": 20, "svg.hashsalt": None, "lines.linewidth": 9, "savefig.dpi": 30}):
        assert rank_map_file(made(), form) == first


@pytest.mark.parametrize("form", FORMS)
def test_files_hold_no_date_and_no_version(form: Form) -> None:
    data = usual(form)
    assert not re.search(rb"CreationDate|ModDate|<dc:date>|tIME|[Mm]atplotlib", data)


def test_svg_holds_names_as_text_and_nothing_else_of_them() -> None:
    svg = usual("svg").decode()
    texts = [node.text or "" for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert any("Alpha" in text for text in texts)
    assert any("$x^{$ <script>" in text for text in texts)
    assert "<script" not in svg
    assert "\u202e" not in svg
    assert 'target="' not in svg


def test_lines_have_stable_ids_and_links() -> None:
    svg = rank_map_file(made(), "svg", {"alpha": "players/alpha.html"}).decode()
    assert 'id="rank-map-other-line-alpha"' in svg
    assert svg.count('xlink:href="players/alpha.html"') == 3  # line, its markers, name
    ids = re.findall(r'\bid="([^"]+)"', svg)
    assert len(ids) == len(set(ids))
    assert all(name.startswith("rank-map-other-") for name in ids)
    assert {m[1] for m in re.finditer(r'(?:url\(|href=")#([^")]+)', svg)} <= set(ids)


def test_largest_movers_are_named_on_their_lines() -> None:
    assert made().movers
    svg = usual("svg").decode()
    assert svg.count("▲") + svg.count("▼") == len(made().movers)


def test_fewer_than_three_models_give_no_figure() -> None:
    with pytest.raises(UserError, match="need 3"):
        rank_map_file(made(2), "svg")


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("colour", "ground"), list(product(COLOURS, ["#ffffff", "#1e2129"])))
def test_colours_stand_out_from_light_and_dark_pages(colour: str, ground: str) -> None:
    light, dark = sorted([luminance(colour), luminance(ground)], reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 3


def test_families_are_told_apart_without_colour() -> None:
    styles = family_styles([f"family {n:02d}" for n in range(18)])
    assert len({(s.marker, s.dashes) for s in styles.values()}) == 18
