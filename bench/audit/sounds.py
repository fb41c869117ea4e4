"""A player's sound files against its conversations: there, unchanged, measured as recorded, and wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from bench.audio.measure import SoundFault, measured
from bench.audit.findings import Findings
from bench.records import Audio, Conversation
from bench.results import ResultsTree

TOLERANCES = {"seconds": 0.05, "silence": 0.01, "clipping": 0.01}
"""How far measures may lie apart: decoders of MP3 differ a little from version to version."""
EXACT = ("format", "bytes", "sample_rate", "channels")


def audit_sounds(
    tree: ResultsTree, conversations: Iterable[Conversation], files: Iterable[Path], findings: Findings
) -> None:
    """Check every sound of ``conversations``, and list those of ``files`` that none of them has."""
    wanted: set[Path] = set()
    for talk in conversations:
        for n, message in enumerate(talk.messages):
            if message.audio is not None:
                path = tree.audio_path(talk, message.audio)
                wanted.add(path)
                _check(path, message.audio, tree.conversation_path(talk), f"messages.{n}.audio", findings)
    for path in sorted(set(files) - wanted):
        findings.add("audio-orphan", path, "no conversation of the player has it")


def _check(path: Path, audio: Audio, record: Path, where: str, findings: Findings) -> None:
    try:
        data = path.read_bytes()
    except OSError as error:
        findings.add("audio-missing", record, f"{path.name} cannot be read: {error.strerror}", where)
        return
    if hashlib.sha256(data).hexdigest() != audio.sha256:
        findings.add("audio-changed", path, "its bytes are not those that its name says")
        return
    try:
        found = measured(data)
    except SoundFault as fault:
        findings.add("audio-measures", record, f"{path.name} {fault}", where)
        return
    for name in (*EXACT, *TOLERANCES):
        stated, due = getattr(audio, name), getattr(found, name)
        if stated != due and (name in EXACT or abs(stated - due) > TOLERANCES[name]):
            findings.add("audio-measures", record, f"says {stated}, measured is {due}", f"{where}.{name}")
