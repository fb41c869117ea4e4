"""What a protocol is, as plain data: its roles, criteria, scale, length rule and labels.

The facts of protocol NAME are in ``bench/protocols/NAME.toml``, next to the code that plays it. Scoring,
pages and audit read them from here, so none of these needs the code of a protocol.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import model_validator

from bench.records import Criterion, Judgement, Role
from bench.toml_entries import Entry, entry_from, read_toml

LengthRule = Literal["paper_v2", "paper_v1", "none"]
"""How long answers count against a player: see :func:`bench.scores.paper.length_terms`."""

_PUBLISHED = re.compile(r"published_(-?[0-9]{1,9})_(-?[0-9]{1,9})")

FOLDERS: list[Path] = [Path(__file__).parent / "protocols"]
"""Where facts files are looked for."""


class ProtocolFacts(Entry):
    """The facts of one protocol. Scoring treats a protocol without a facts file as :data:`UNKNOWN`."""

    roles: tuple[Role, ...]
    """Roles that have a prompt template."""
    criteria: tuple[Criterion, ...]
    """What a judge scores, in display order; all on one scale."""
    plays_items: bool = False
    """Plays the items of a data set rather than cards in situations."""
    judged_in_talk: bool = False
    """The interrogator scores while it talks: judging makes no further calls, and the raw replies of a
    judgement are those of its conversation."""
    spoken: bool = False
    """Answers are sound files."""
    multi_turn: bool = True
    """A conversation has several turns, and a verdict has one entry for each."""
    compared_answers: int = 0
    """Number of reference answers that a judge sees in several orders. If not 0, a verdict has one entry for
    each order rather than for each turn."""
    bands: tuple[tuple[int, int], ...] = ()
    """Lowest and highest score of each band of the scale, where a judge picks a band first."""
    rule_judge: str = ""
    """Id under which rules judge without a model; empty if models judge."""
    turn_label: str = "Turn"
    """What pages call one entry of a verdict."""
    length_rule: LengthRule = "none"
    published_scale: tuple[int, int] | None = None
    """Lowest and highest score of a published table: only scores are known, and the table names the criteria.
    There are no conversations, answer lengths, refusals or calls."""
    scripted: bool = False
    """Situations may plant facts that the user asks for later, and attack the character in given turns."""
    pools_turns: bool = False
    """A player's mean is taken over all its turns; otherwise over its conversations."""

    @model_validator(mode="after")
    def _one_scale(self) -> ProtocolFacts:
        if len({(criterion.low, criterion.high) for criterion in self.criteria}) > 1:
            raise ValueError("criteria: all must have the same scale")
        return self

    @property
    def criterion_names(self) -> tuple[str, ...]:
        """Names of the criteria, in display order."""
        return tuple(criterion.name for criterion in self.criteria)

    @property
    def scale(self) -> tuple[float, float] | None:
        """Lowest and highest score of every criterion; None if the protocol is unknown."""
        if self.published_scale is not None:
            return float(self.published_scale[0]), float(self.published_scale[1])
        if not self.criteria:
            return None
        return float(self.criteria[0].low), float(self.criteria[0].high)

    @property
    def interrogated(self) -> bool:
        """Whether an interrogator writes the user's messages."""
        return "interrogator" in self.roles


UNKNOWN = ProtocolFacts(roles=(), criteria=(), length_rule="paper_v2")
"""Facts of a protocol that has no facts file (imported evidence): scored like version 2, without a scale."""


def known_protocols() -> list[str]:
    """Names of all protocols that have a facts file, sorted."""
    return sorted({path.stem for folder in FOLDERS for path in folder.glob("*.toml")})


def facts_of(protocol: str) -> ProtocolFacts:
    """The facts of the protocol called ``protocol``, or UNKNOWN. Raises CatalogError for a malformed file."""
    return _facts(protocol, tuple(FOLDERS))


def published_protocol(low: int, high: int) -> str:
    """Name of the protocol of published scores on a scale: all that is known of how they were made."""
    return f"published_{low}_{high}"


@lru_cache
def _facts(protocol: str, folders: tuple[Path, ...]) -> ProtocolFacts:
    for folder in folders:
        path = folder / f"{protocol}.toml"
        if protocol in {found.stem for found in folder.glob("*.toml")}:
            return entry_from(ProtocolFacts, read_toml(path), str(path))
    if (match := _PUBLISHED.fullmatch(protocol)) is not None:
        scale = (int(match[1]), int(match[2]))
        return ProtocolFacts(
            roles=(), criteria=(), multi_turn=False, turn_label="Score", published_scale=scale
        )
    return UNKNOWN


def left_unclear(judgement: Judgement) -> bool:
    """Whether rules could not decide and no model was asked: the answer is unclear, but nothing failed."""
    by_rules = bool(facts_of(judgement.protocol).rule_judge)
    return by_rules and judgement.status == "failed" and not judgement.calls


def answer_orders(character: str, situation: str, answers: int) -> tuple[tuple[int, ...], ...]:
    """All orders in which a judge sees the ``answers`` reference answers (numbered from 1) of an item.

    The first ``answers`` orders show each answer once in each place (a Latin square), and so do the next. A
    hash of the item decides where the square begins, so the orders are the same on every machine. Covers all
    orders of 3 answers.
    """
    forward = tuple(range(1, answers + 1))
    start = hashlib.sha256(f"{character}\n{situation}".encode()).digest()[0] % (2 * answers)
    first = forward if start < answers else forward[::-1]
    return tuple(
        base[shift:] + base[:shift]
        for base in (first, first[::-1])
        for shift in ((start + n) % answers for n in range(answers))
    )
