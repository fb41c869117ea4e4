"""Numbers and sums of money as text for pages."""

from __future__ import annotations

from decimal import Decimal

from markupsafe import Markup

from bench import tables

NOTHING = Markup('<span class="rc-none">–</span>')


def number(value: float | None, digits: int = 2) -> str | Markup:
    """A number with ``digits`` decimals; a dash if it is unknown."""
    return NOTHING if value is None else f"{value:z.{digits}f}".replace("-", "\u2212")


def percent(value: float | None, digits: int = 1) -> str | Markup:
    """A share as a percentage; a dash if it is unknown."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}%"


def dollars(value: Decimal | None) -> str:
    """A sum of money without zeros at its end, or that it is unknown."""
    if value is None:
        return "unknown"
    text = tables.dollars(value, digits=6)
    return text.rstrip("0") if 0 < value < 1 else text


def whole(value: float | None) -> str | Markup:
    """A count with thin spaces between thousands; a dash if it is unknown."""
    return NOTHING if value is None else f"{value:,.0f}".replace(",", "\u202f")


def value(number: float | str | None) -> str:
    """A number for the ``data-v`` attribute, which the script sorts by; empty if it is unknown."""
    return "" if number is None else str(number)


def money(text: str | None) -> str | Markup:
    """A sum of money from its decimal string; a dash if it is unknown."""
    return NOTHING if text is None else dollars(Decimal(text))


def signed(number: float | None, digits: int = 2) -> str | Markup:
    """A difference with its sign, if it is not zero; a dash if it is unknown."""
    if number is None:
        return NOTHING
    text = f"{number:+.{digits}f}".replace("-", "\u2212")
    return text if text.strip("+\u22120.") else text[1:]
