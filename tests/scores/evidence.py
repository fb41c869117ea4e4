"""Small results trees written by hand: every answer and score of a test is in the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.records import (
    Call,
    Conversation,
    Failure,
    Judgement,
    Message,
    PlayerInfo,
    Scene,
    TurnVerdict,
    messages_sha256,
    sealed,
)
from bench.results import ResultsTree

SUITE = "tiny"
LANGUAGE = "en"
CRITERIA = ("in_character", "entertaining", "fluency")
Turn = tuple[int, ...]
"""Scores of one turn, in the order of the criteria; a refusal is written as :func:`refused`."""


def refused(*scores: int) -> Turn:
    """A turn in which the judge saw a refusal: marked by a trailing 0, which no scale holds."""
    return (*scores, 0)


class Evidence:
    """Writes a tree cell by cell."""

    def __init__(
        self,
        root: Path,
        criteria: Sequence[str] = CRITERIA,
        protocol: str = "pingpong_v2",
        suite: str = SUITE,
    ) -> None:
        self.suite = suite
        self.tree = ResultsTree(root)
        self.criteria = tuple(criteria)
        self.protocol = protocol

    def player(self, name: str, **changes: object) -> None:
        info = PlayerInfo(
            player=name,
            provider="nowhere",
            model=name,
            name=name.title(),
            family="Test",
            weights="open",
            licence="MIT",
            sampling={},
        )
        self.tree.write_player(self.suite, LANGUAGE, info.model_copy(update=changes))

    def conversation(
        self,
        player: str,
        scene: str,
        answers: Sequence[str] = ("x" * 100,),
        *,
        failed: bool = False,
        costs: Sequence[str | None] = (),
        version: str = "1",
        repeat: int = 1,
    ) -> Conversation:
        character, situation = scene.split("/")
        messages: list[Message] = []
        for answer in answers:
            messages += [Message(role="user", content="?"), Message(role="assistant", content=answer)]
        record = sealed(
            Conversation(
                suite=self.suite,
                version=version,
                protocol=self.protocol,
                language=LANGUAGE,
                player=player,
                character=character,
                situation=situation,
                repeat=repeat,
                scene=Scene(character_name="N", summary="S", card="C", situation_title="T", situation="S"),
                fingerprint="f",
                status="failed" if failed else "complete",
                messages=tuple(messages),
                calls=tuple(_call("player", cost) for cost in costs),
                failure=Failure(role="player", turn=1, outcome="empty", reason="empty") if failed else None,
            )
        )
        self.tree.write_conversation(record)
        return record

    def judgement(
        self,
        conversation: Conversation,
        judge: str,
        turns: Sequence[Turn] | None,
        *,
        sha256: str | None = None,
        repairs: tuple[str, ...] = (),
        costs: Sequence[str | None] = (),
    ) -> None:
        """A judge's verdict; ``turns`` None is a recorded failure."""
        width = len(self.criteria)
        verdicts = [
            TurnVerdict(
                turn=n,
                is_refusal=len(turn) > width,
                scores=dict(zip(self.criteria, turn[:width], strict=True)),
            )
            for n, turn in enumerate(turns or (), start=1)
        ]
        cell = {
            name: getattr(conversation, name)
            for name in (
                "suite",
                "version",
                "protocol",
                "language",
                "player",
                "character",
                "situation",
                "repeat",
            )
        }
        record = Judgement(
            **cell,
            judge=judge,
            fingerprint="f",
            conversation_sha256=sha256 or messages_sha256(conversation.messages),
            status="failed" if turns is None else "ok",
            turns=tuple(verdicts),
            repairs=repairs,
            raw=("{}",),
            calls=tuple(_call("judge", cost) for cost in costs),
            failure=Failure(role="judge", turn=1, outcome="parse_error", reason="no JSON")
            if turns is None
            else None,
        )
        self.tree.write_judgement(sealed(record))

    def played(
        self,
        player: str,
        cells: Mapping[str, Mapping[str, Sequence[Turn] | None]],
        answers: Sequence[str] = ("x" * 100,),
    ) -> None:
        """A player with conversations and verdicts: scene to judge to turns."""
        self.player(player)
        for scene, verdicts in cells.items():
            conversation = self.conversation(player, scene, answers)
            for judge, turns in verdicts.items():
                self.judgement(conversation, judge, turns)


def _call(role: str, cost: str | None) -> Call:
    return Call.model_validate(
        {
            "role": role,
            "turn": 1,
            "provider": "p",
            "model": "m",
            "parameters": {},
            "outcome": "ok",
            "cost": cost,
        }
    )
