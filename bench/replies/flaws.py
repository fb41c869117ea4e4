"""Reads the flaws that a judge lists of one answer. A flaw without words of the answer cannot be used."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, get_args

from bench.records import Flaw, FlawName
from bench.replies.faults import ReplyFault, listed, shown

FLAWS: dict[str, FlawName] = {name: name for name in get_args(FlawName)}
QUOTES = dict.fromkeys(map(ord, "\"'`´‘’‚‛“”„‟«»‹›′″＂＇"))
"""Signs that judges write for each other, since a quotation stands in JSON: they are not compared."""


def flaw_label(name: str) -> str:
    """A flaw's name for people."""
    return name.replace("_", " ").replace("cliche", "cliché").capitalize()


def plain(text: str) -> str:
    """``text`` without quotation marks, in NFC, with single spaces: what of a quotation must agree."""
    return " ".join(unicodedata.normalize("NFC", text).translate(QUOTES).split())


def quotes(answer: str, quotation: str) -> bool:
    """Whether ``quotation`` has words, and they stand in ``answer`` as they are.

    Spaces and quotation marks may differ; words must be whole.
    """
    words = plain(quotation)
    if not any(map(str.isalnum, words)):
        return False
    start = r"(?<!\w)" if words[0].isalnum() else ""
    end = r"(?!\w)" if words[-1].isalnum() else ""
    return re.search(start + re.escape(words) + end, plain(answer)) is not None


def flaws_in(entry: Mapping[str, Any], turn: int, answer: str, repairs: set[str]) -> tuple[Flaw, ...] | None:
    """The flaws under ``flaws`` of a turn's entry in a judge's reply; None if the list is missing.

    Raises ReplyFault.
    """
    items = entry.get("flaws")
    if items is None:
        repairs.add("flaws_missing")
        return None
    if not isinstance(items, list):
        raise ReplyFault("bad_type", f'"flaws" of turn {turn} is {shown(items)}; it must be a list.')
    return tuple(_flaw(item, turn, answer) for item in items)


def _flaw(item: Any, turn: int, answer: str) -> Flaw:
    if not isinstance(item, dict) or not all(isinstance(item.get(key), str) for key in ("flaw", "quote")):
        fault = f'"flaws" of turn {turn} holds {shown(item)}; each needs the strings "flaw" and "quote".'
        raise ReplyFault("bad_type", fault)
    name = "".join(c for c in unicodedata.normalize("NFKD", item["flaw"]) if not unicodedata.combining(c))
    name = re.sub(r"[\s-]+", "_", name.strip().lower())
    if name not in FLAWS:
        fault = f"Turn {turn} names the flaw {shown(item['flaw'])}; choose from {listed(FLAWS)}."
        raise ReplyFault("out_of_range", fault)
    if not quotes(answer, item["quote"]):
        fault = (
            f"Turn {turn} quotes {shown(item['quote'])}, which the bot's answer in that turn does not say."
        )
        raise ReplyFault("not_quoted", fault)
    return Flaw(flaw=FLAWS[name], quote=item["quote"])
