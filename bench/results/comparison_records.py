"""The record of a comparison: one judge's verdicts on two players' conversations of one scene."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bench.records import SCHEMA_VERSION, Call, Failure, Record, Repeat, numbered


class OrderVerdict(Record):
    """One judge's verdict on two conversations shown in one order, or the reason why it failed."""

    status: Literal["ok", "failed"]
    margins: dict[str, int] = Field(default_factory=dict)
    """By criterion, from -3 to 3: positive where the conversation shown first is better, 0 for a tie."""
    reasons: dict[str, str] = Field(default_factory=dict)
    refusals: tuple[bool, bool] = (False, False)
    """Whether the player refuses, in the conversation shown first and in the second."""
    refusal_reason: str = ""
    repairs: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()
    """Every reply of the judge as it came, so that a better parser can re-read it."""
    calls: tuple[Call, ...] = ()
    failure: Failure | None = None


class Comparison(Record):
    """One judge's verdicts on two players' conversations of one scene, in both orders."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    suite: str
    version: str
    protocol: str
    language: str
    character: str
    situation: str
    repeat: Repeat = 1
    judge: str
    players: tuple[str, str]
    """In the order of their file names."""
    fingerprint: str
    """SHA-256 of the judge's template, the card, the parameters and both conversations' messages."""
    conversations_sha256: tuple[str, str]
    """SHA-256 of each player's messages that were compared."""
    orders: tuple[OrderVerdict, OrderVerdict]
    """With the first of ``players`` shown first, then with the second shown first."""
    digest: str = ""

    @property
    def name(self) -> str:
        """The scene and the pair in messages."""
        scene = numbered(f"{self.character}.{self.situation}", self.repeat)
        return f"{scene} {self.players[0]} ~ {self.players[1]}"

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of both orders."""
        return self.orders[0].calls + self.orders[1].calls
