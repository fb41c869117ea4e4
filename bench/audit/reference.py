"""The current suite and catalog, as far as they are known: what the records of a board should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from bench.audit.findings import Findings
from bench.audit.places import BoardFiles
from bench.catalog import Catalog
from bench.errors import CatalogError
from bench.protocol_facts import facts_of
from bench.protocols import Protocol, protocol_for
from bench.records import Conversation, Judgement
from bench.results.comparison_records import Comparison
from bench.suites import Suite
from bench.suites.rotation import Rota


@dataclass(frozen=True)
class Reference:
    """The suite and protocol of a board. Both are None if prompts/ does not have its suite."""

    suite: Suite | None = None
    protocol: Protocol | None = None
    """None if no fingerprint can be recomputed, because the suite or one of its models is unknown."""

    @property
    def scenes(self) -> list[tuple[str, str]] | None:
        """(character, situation) of every scene that a player should have; None if unknown."""
        return None if self.protocol is None else self.protocol.scenes.pairs

    @cached_property
    def rota(self) -> Rota | None:
        """The judges of each scene; None if all judge, or the suite is unknown."""
        if self.suite is None or self.protocol is None:
            return None
        return self.suite.rota(self.protocol.language)

    def knows_model(self, name: str) -> bool:
        """Whether the catalog has the model ``name`` and, for recordings, whether their folder exists."""
        if self.protocol is None or name not in self.protocol.catalog.models:
            return False
        folder = self.protocol.catalog.recordings(name)
        return folder is None or folder.is_dir()

    def misfit(self, record: Conversation | Judgement | Comparison) -> tuple[str, str, str] | None:
        """Code, text and field of what keeps a record from being one of the suite; None if nothing does."""
        if self.suite is not None and record.version != self.suite.entry.version:
            text = f"version {record.version}, the suite is at version {self.suite.entry.version}"
            return "other-version", text, "version"
        if self.scenes is not None and (record.character, record.situation) not in self.scenes:
            text = f"the suite has no scene {record.character}.{record.situation}"
            return "unexpected-cell", text, "character"
        return None

    def fingerprint(self, record: Conversation | Judgement) -> str | None:
        """What the record's fingerprint should be; None if its model or scene is unknown."""
        model = record.judge if isinstance(record, Judgement) else record.player
        scene = record.character, record.situation
        if self.protocol is None or not self.knows_model(model) or scene not in self.protocol.scenes.pairs:
            return None
        if isinstance(record, Judgement):
            return self.protocol.judgement_fingerprint(
                record.cell(), record.judge, record.conversation_sha256
            )
        return self.protocol.conversation_fingerprint(record.cell())

    def verdicts_due(self, conversation: Conversation) -> int | None:
        """How many turns an ok judgement should have; None if only an unknown suite could tell."""
        if self.protocol is not None and self.protocol.name == conversation.protocol:
            return self.protocol.verdicts_due(conversation)
        return None if facts_of(conversation.protocol).compared_answers else len(conversation.answers())


def reference_of(
    board: BoardFiles, suites: Mapping[str, Suite], catalog: Catalog | None, findings: Findings
) -> Reference:
    """The reference of a board. Adds a note to ``findings`` if it is incomplete."""
    try:
        suite = suites.get(board.suite)
    except CatalogError as error:
        findings.add("fingerprint-unknown", board.folder, error.line())
        return Reference()
    if suite is None:
        unknown = "prompts/ has no such suite: fingerprints unchecked"
    elif board.language not in suite.scenes:
        unknown = f"the suite no longer has language {board.language!r}"
    elif catalog is None:
        unknown = "no models.toml: fingerprints unchecked"
    else:
        try:
            return Reference(suite, protocol_for(suite, board.language, catalog))
        except CatalogError as error:
            unknown = error.line()
    findings.add("fingerprint-unknown", board.folder, unknown)
    return Reference(suite)
