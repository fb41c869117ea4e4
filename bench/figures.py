"""Figures as bytes that are equal from run to run, made without the global state of pyplot."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

Form = Literal["svg", "png", "pdf"]
FORMS: tuple[Form, ...] = ("svg", "png", "pdf")

INK, PAPER, FAINT = "#1f2328", "#ffffff", "#6a7077"
"""Text, ground, and what stands back; :func:`themed` turns them into the page's own."""

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dramaturg",
    "pdf.fonttype": 42,
    "font.family": ["DejaVu Sans", "sans-serif"],
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "path.sketch": None,
}


@contextmanager
def settings() -> Iterator[None]:
    """Matplotlib as it comes, whatever matplotlibrc says, with what makes files reproducible."""
    with mpl.rc_context(), warnings.catch_warnings():
        # a name in a script that the font does not have shows as boxes in PNG and PDF; in SVG it is text
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        warnings.filterwarnings("ignore", category=mpl.MatplotlibDeprecationWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def rendered(draw: Callable[[], Figure], form: Form, title: str, prefix: str) -> bytes:
    """The figure that ``draw`` makes, as a file. ``prefix`` keeps ids of several SVGs of a page apart."""
    with settings():
        figure = draw()
        out = io.BytesIO()
        if form == "png":
            canvas: Any = FigureCanvasAgg(figure)
            canvas.print_png(out, metadata={"Software": None, "Title": title})
        elif form == "pdf":
            about = {"Creator": None, "Producer": None, "CreationDate": None, "Title": title}
            canvas = FigureCanvasPdf(figure)
            canvas.print_pdf(out, metadata=about)
        else:
            about = {"Creator": None, "Date": None, "Format": None, "Type": None, "Title": title}
            canvas = FigureCanvasSVG(figure)
            canvas.print_svg(out, metadata=about)
            # matplotlib lets every link open a window of its own
            svg = out.getvalue().decode("utf-8").replace(' target="_blank"', "")
            return _own_ids(svg, prefix).encode("utf-8")
    return out.getvalue()


_ID = re.compile(r'(\bid="|url\(#|href="#)')


def _own_ids(svg: str, prefix: str) -> str:
    return _ID.sub(lambda found: f"{found[1]}{prefix}-", svg)


def themed(svg: str, variables: Mapping[str, str]) -> str:
    """An SVG for inlining into a page: without its XML head, and with CSS variables for colours.

    ``variables``: colour as drawn (``#rrggbb``) to the name of the variable (``--rc-ink``); the colour
    stays as the fallback.
    """
    body = svg[svg.index("<svg") :]
    for colour, name in variables.items():
        body = body.replace(f": {colour}", f": var({name}, {colour})")
    return body


def plain_text(text: str) -> str:
    """Text that any of the forms can hold: control, format and other invisible characters become spaces."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
