"""What records are measured against: the suite of now, its fingerprints, and the parser of raw replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.audit.findings import Findings
from bench.catalog import Catalog
from bench.errors import CatalogError
from bench.protocol_facts import facts_of
from bench.protocols import Protocol, protocol_for, reread
from bench.records import Conversation, Judgement
from bench.suites import Suite

Scene = tuple[str, str]
"""(character, situation)"""


@dataclass(frozen=True)
class Measure:
    """The suite and language of a board as prompts/ and models.toml say now, as far as they know it."""

    suite: Suite | None
    protocol: Protocol | None
    """None where the suite, or one of its models, is not known: then no fingerprint can be recomputed."""

    @property
    def scenes(self) -> list[Scene] | None:
        """The scenes that every player ought to have; None where no suite says."""
        return None if self.protocol is None else self.protocol.scenes.pairs

    def conversation_fingerprint(self, record: Conversation) -> str | None:
        """What the fingerprint ought to be; None where its player or scene is not known."""
        if self.protocol is None or not self._knows(record.player, record):
            return None
        return self.protocol.conversation_fingerprint(record.cell())

    def judgement_fingerprint(self, record: Judgement) -> str | None:
        """What the fingerprint ought to be; None where its judge or scene is not known."""
        if self.protocol is None or not self._knows(record.judge, record):
            return None
        return self.protocol.judgement_fingerprint(record.cell(), record.judge, record.conversation_sha256)

    def knows_model(self, name: str) -> bool:
        """Whether the catalog has a model called ``name``, and its recordings, if it has any, are here."""
        if self.protocol is None or name not in self.protocol.catalog.models:
            return False
        folder = self.protocol.catalog.recordings(name)
        return folder is None or folder.is_dir()

    def _knows(self, model: str, record: Conversation | Judgement) -> bool:
        scenes = self.scenes or []
        return self.knows_model(model) and (record.character, record.situation) in scenes

    def verdicts_due(self, conversation: Conversation) -> int | None:
        """How many turns an ok judgement has; None where only its suite could say."""
        if self.protocol is not None and self.protocol.name == conversation.protocol:
            return self.protocol.verdicts_due(conversation)
        return None if facts_of(conversation.protocol).compared_answers else len(conversation.answers())

    def judged_in_talk(self, record: Judgement) -> bool:
        """Whether the raw replies of a judgement are those of its conversation."""
        return facts_of(record.protocol).judged_in_talk

    def reread(self, record: Judgement, conversation: Conversation) -> Judgement | None:
        """The judgement as its raw replies are read today; None where no parser knows the protocol."""
        return reread(record, conversation)


def measure_of(
    suite_name: str,
    language: str,
    suites: Mapping[str, Suite],
    catalog: Catalog | None,
    findings: Findings,
    folder: Path,
) -> Measure:
    """What a board is measured against; what is not known of it is said once, here."""
    suite = suites.get(suite_name)
    if suite is None:
        findings.add("fingerprint-unknown", folder, "prompts/ has no such suite: fingerprints unchecked")
        return Measure(None, None)
    if language not in suite.scenes:
        findings.add("fingerprint-unknown", folder, f"the suite has no language {language!r} any more")
        return Measure(suite, None)
    if catalog is None:
        findings.add("fingerprint-unknown", folder, "there is no models.toml: fingerprints unchecked")
        return Measure(suite, None)
    try:
        return Measure(suite, protocol_for(suite, language, catalog))
    except CatalogError as error:
        findings.add("fingerprint-unknown", folder, error.line())
        return Measure(suite, None)
