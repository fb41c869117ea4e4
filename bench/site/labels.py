"""What a suite is called on the site, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LANGUAGES = {"en": "English", "ru": "Russian"}


@dataclass(frozen=True)
class SuiteLabel:
    """A suite's words for readers. ``demonstration``: its scores mean nothing, and every page says so."""

    title: str
    description: str = ""
    demonstration: bool = False


def label_of(suites: Mapping[str, SuiteLabel], suite: str) -> SuiteLabel:
    """The label of a suite; one that nobody described is called by its folder name."""
    return suites.get(suite) or SuiteLabel(title=suite)


def language_name(language: str) -> str:
    """English name of a language code, or the code itself."""
    return LANGUAGES.get(language, language)
