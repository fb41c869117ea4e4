"""PingPong with a fourth criterion: does the player leave the user's words, acts and feelings to the user?"""

from __future__ import annotations

from bench.protocols.pingpong_v2 import PingPongV2


class PingPongHard(PingPongV2):
    """One suite of this protocol in one language: other facts and templates, the same code."""
