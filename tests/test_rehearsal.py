"""A rehearsal renders every template that a run of the suite would render, without a model."""

from __future__ import annotations

import pytest

from bench.catalog import load_catalog
from bench.prompts import PromptSet
from bench.protocol_facts import known_protocols
from bench.protocols import protocol_for
from bench.run.rehearsal import rehearse
from bench.suites import read_suite
from bench.suites.layers import suite_files
from tests.tiny import ROOT

PROMPTS = (ROOT / "prompts",)


@pytest.mark.parametrize("name", known_protocols())
def test_every_role_of_a_protocol_is_rendered(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(path for path in suite_files(PROMPTS).values() if path.parent.name == name)
    suite = read_suite(path, PROMPTS)
    protocol = protocol_for(suite, next(iter(suite.scenes)), load_catalog(ROOT / "models.toml"))
    rendered: set[str] = set()
    render = PromptSet.render

    def recording(self: PromptSet, role: str, **variables: object) -> str:
        rendered.add(role)
        return render(self, role, **variables)

    monkeypatch.setattr(PromptSet, "render", recording)
    assert rehearse(protocol) == []
    assert rendered >= set(protocol.facts.roles)
