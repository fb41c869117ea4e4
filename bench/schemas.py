"""Makes the JSON Schemas of the project's files; `bench schemas` writes them to schemas/."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel


def json_schema(
    kind: type[BaseModel], title: str, mode: Literal["validation", "serialization"] = "validation"
) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of ``kind``, titled ``Dramaturg <title>``."""
    schema = kind.model_json_schema(mode=mode)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Dramaturg {title}",
        **{key: value for key, value in schema.items() if key != "title"},
    }
