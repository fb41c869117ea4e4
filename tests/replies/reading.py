"""Answers to probes, read as a run reads them."""

from __future__ import annotations

from bench.protocols.card_probes import Probe
from bench.replies.probes import Judged, judged


def read(probe: Probe, answer: str, language: str) -> Judged:
    return judged(
        answer, probe.messages[-1], probe.accept, probe.reject, kind=probe.read_as, language=language
    )
