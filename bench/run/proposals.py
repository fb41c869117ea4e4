"""A model that an issue proposes: read as data, planned without keys, added to the catalogue."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

from pydantic import Field

from bench.catalog import Catalog, Model, Price, Prices
from bench.errors import CatalogError
from bench.run.jobs import Part, plan_suite
from bench.run.plan import estimate
from bench.suites.layers import Prompts
from bench.suites.new_models import NewModel, usable_id
from bench.tables import dollars, markdown_table
from bench.toml_entries import Entry, entry_from, unknown_name

MOST_TEXT = 20_000
LINE = r"^[^\p{C}\p{Zl}\p{Zp}]{1,120}$"
"""Without control characters, and without those that turn the direction of writing."""
_SECTION = re.compile(r"(?m)^### +(?P<head>[A-Za-z ]{1,40})\s*\n(?P<text>(?:(?!^### ).*\n?)*)")


class Proposal(Entry):
    """What the issue form asks for. Nothing else of the issue is used."""

    suite: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")
    provider: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,79}$")
    model: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,119}$")
    name: str = Field(pattern=LINE)
    input_price: Price
    output_price: Price

    @property
    def id(self) -> str:
        """Its name in the catalogue."""
        return usable_id(self.model)


def read_proposal(text: str, catalog: Catalog, *, added: bool = False) -> Proposal:
    """The proposal in the text of an issue. Raises CatalogError that names what is missing or not allowed.

    ``added``: whether the catalogue has it already, as it must then say the same.

    Only providers that the catalogue has are allowed, so that no key goes to another address. The embedded
    server and recordings are not: they would run what is on the machine, under any name.
    """
    if len(text) > MOST_TEXT:
        raise CatalogError("the text is too long", where="issue", hint="Use the form.")
    named: dict[str, str] = {}
    for match in _SECTION.finditer(text.replace("\r\n", "\n")):
        key = match["head"].strip().lower().replace(" ", "_")
        if key in named:
            raise CatalogError(f"duplicate {key!r}", where="issue", hint="Use the form.")
        if key in Proposal.model_fields:
            named[key] = match["text"].strip()
    proposal = entry_from(Proposal, named, "issue")
    called = [name for name, p in catalog.providers.items() if not (p.embedded or p.recorded)]
    if proposal.provider not in called:
        raise unknown_name(proposal.provider, called, "provider", str(catalog.path))
    entry = catalog.models.get(proposal.id)
    if added and (entry is None or (entry.provider, entry.model) != (proposal.provider, proposal.model)):
        raise CatalogError(f"model {proposal.id!r} has not been added", where=str(catalog.path))
    if entry is not None and not added:
        raise CatalogError(f"model {proposal.id!r} already exists", where=str(catalog.path))
    return proposal


def entry_for(proposal: Proposal) -> NewModel:
    """The entry to add to the catalogue."""
    prices = {"input": str(proposal.input_price), "output": str(proposal.output_price)}
    values = {"provider": proposal.provider, "model": proposal.model, "name": proposal.name, "prices": prices}
    return NewModel(proposal.id, values)


def plan_text(proposal: Proposal, catalog: Catalog, results: Path, prompts: Prompts) -> str:
    """Calls and cost of running the proposed model, as Markdown. Makes no call and needs no key."""
    prices = Prices(input=proposal.input_price, output=proposal.output_price)
    model = Model(provider=proposal.provider, model=proposal.model, name=proposal.name, prices=prices)
    with_model = Catalog(catalog.path, catalog.providers, catalog.models | {proposal.id: model})
    rows: list[list[str]] = []
    total: Decimal | None = Decimal(0)
    silent: set[str] = set()
    for job in plan_suite(proposal.suite, Part(players=(proposal.id,)), results, with_model, prompts):
        for cost in estimate(job.plan, job.protocol):
            known = "unknown" if cost.cost is None else dollars(cost.cost)
            rows.append([job.name, cost.role, cost.model, f"{cost.calls:,}", known])
            total = None if total is None or cost.cost is None else total + cost.cost
            silent |= {cost.model} if cost.reasoning_tokens is None else set()
    table = markdown_table(["board", "role", "model", "calls", "cost"], rows, {0, 1, 2})
    end = "unknown, because a price is not known" if total is None else f"about {dollars(total)}"
    if silent:
        end += f", without the reasoning of {', '.join(sorted(silent))}, whose length is unknown"
    return (
        f"The entry `{proposal.id}` is valid: model `{proposal.model}` of provider `{proposal.provider}`."
        f" A run would make these calls:\n\n{table}\nTotal: {end}.\n\n"
        f"The cost limit counts by the proposed prices, ${prices.input} and ${prices.output} per million"
        " tokens. Compare them with the provider's first.\n"
    )
