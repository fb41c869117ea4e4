"""PingPong with two or three characters on one card: is it clear who speaks, each in a voice of their own?"""

from __future__ import annotations

from bench.protocols.pingpong_v2 import PingPongV2


class PingPongGroup(PingPongV2):
    """One suite of this protocol in one language: other facts and templates, the same code."""
