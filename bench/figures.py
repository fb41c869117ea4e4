"""Save matplotlib figures so that equal figures give equal bytes. Does not use pyplot, so no global state."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

Form = Literal["svg", "png", "pdf"]
FORMS: tuple[Form, ...] = ("svg", "png", "pdf")

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
    """Use matplotlib's defaults instead of the user's matplotlibrc, plus settings for reproducible files."""
    with mpl.rc_context(), warnings.catch_warnings():
        # a glyph missing from the font is a box in PNG and PDF; in SVG it is text, so it still shows
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        warnings.filterwarnings("ignore", category=mpl.MatplotlibDeprecationWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def rendered(draw: Callable[[], Figure], form: Form, title: str, prefix: str) -> bytes:
    """Return the figure that ``draw`` creates as the bytes of a file.

    ``title`` goes into the file's metadata. ``prefix`` is put before every id of an SVG, so that several
    figures on one page do not share ids.
    """
    return renderings(draw, (form,), title, prefix)[form]


def renderings(
    draw: Callable[[], Figure], forms: Iterable[Form], title: str, prefix: str
) -> dict[Form, bytes]:
    """Return one figure in several forms; see :func:`rendered`."""
    with settings():
        figure = draw()
        dpi = figure.dpi
        saved: dict[Form, bytes] = {}
        for form in forms:
            figure.set_dpi(dpi)  # writing an SVG changes it
            saved[form] = _saved(figure, form, title, prefix)
    return saved


def _saved(figure: Figure, form: Form, title: str, prefix: str) -> bytes:
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
        # matplotlib makes every link open a new window
        svg = out.getvalue().decode("utf-8").replace(' target="_blank"', "")
        return _own_ids(svg, prefix).encode("utf-8")
    return out.getvalue()


_ID = re.compile(r'(\bid="|url\(#|href="#)')


def _own_ids(svg: str, prefix: str) -> str:
    return _ID.sub(lambda match: f"{match[1]}{prefix}-", svg)
