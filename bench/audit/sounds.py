"""Check a player's sound files against its conversations: present, unchanged, measured as recorded, used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from bench.audio.measure import SoundFault, measured
from bench.audit.findings import Findings
from bench.files import read_bytes
from bench.records import Audio, Conversation
from bench.results import ResultsTree

TOLERANCES = {"seconds": 0.05, "silence": 0.01, "clipping": 0.01}
"""How far measurements may differ: MP3 decoders differ slightly between versions."""
EXACT = ("format", "bytes", "sample_rate", "channels")


def audit_sounds(
    tree: ResultsTree, conversations: Iterable[Conversation], files: Iterable[Path], findings: Findings
) -> None:
    """Check every sound of ``conversations``, and list those of ``files`` that no conversation uses."""
    used: set[Path] = set()
    for conversation in conversations:
        for n, message in enumerate(conversation.messages):
            if message.audio is not None:
                path = tree.audio_path(conversation, message.audio)
                used.add(path)
                record = tree.conversation_path(conversation)
                _check(path, message.audio, record, f"messages.{n}.audio", findings)
    for path in sorted(set(files) - used):
        findings.add("audio-orphan", path, "no conversation of the player uses it")


def _check(path: Path, audio: Audio, record: Path, where: str, findings: Findings) -> None:
    try:
        data = read_bytes(path, findings.root)
    except OSError as error:
        findings.add("audio-missing", record, f"{path.name} cannot be read: {error.strerror}", where)
        return
    if hashlib.sha256(data).hexdigest() != audio.sha256:
        findings.add("audio-changed", path, "its SHA-256 is not the one in its name")
        return
    try:
        actual = measured(data)
    except SoundFault as fault:
        findings.add("audio-measures", record, f"{path.name} {fault}", where)
        return
    for name in (*EXACT, *TOLERANCES):
        stated, due = getattr(audio, name), getattr(actual, name)
        if stated != due and (name in EXACT or abs(stated - due) > TOLERANCES[name]):
            findings.add("audio-measures", record, f"says {stated}, measured {due}", f"{where}.{name}")
