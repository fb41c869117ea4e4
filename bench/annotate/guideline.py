"""The guideline: what annotators read and are asked. Its text is in prompts/annotation/<language>.toml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from pydantic import Field

from bench.errors import CatalogError, UserError
from bench.records import Criterion
from bench.toml_entries import Entry, entry_from, read_toml

LIKERT = (1, 5)
"""Lowest and highest rating: a Likert scale of agreement with a statement."""

_P = "<p>{}</p><br>"
"""Label Studio removes styles and bullets from instructions, and leaves no space between paragraphs."""


class Question(Entry):
    """One criterion, as an annotator is asked about it."""

    label: str = Field(min_length=1)
    statement: str = Field(min_length=1)
    hints: tuple[str, ...] = ()


class Refusal(Entry):
    """The question about refusals."""

    question: str
    hints: tuple[str, ...] = ()
    yes: str
    no: str


class Words(Entry):
    """Headings and labels of the labelling page."""

    card: str
    chat: str
    user: str
    bot: str
    comment: str
    guideline: str
    missing: str


class GuidelineEntry(Entry):
    """One guideline file."""

    version: str = Field(pattern=r"^[0-9]+$")
    title: str
    introduction: str
    closing: str
    scale: tuple[str, str, str, str, str]
    """Names of the ratings, lowest first."""
    finish: str
    criteria: dict[str, Question] = Field(min_length=1)
    refusal: Refusal
    words: Words


@dataclass(frozen=True)
class Guideline:
    """A guideline in one language."""

    language: str
    entry: GuidelineEntry

    @property
    def id(self) -> str:
        """Language and version, as a study records them."""
        return f"{self.language}-{self.entry.version}"

    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria with their scale."""
        low, high = LIKERT
        return tuple(
            Criterion(name=name, label=question.label, low=low, high=high)
            for name, question in self.entry.criteria.items()
        )

    def as_html(self) -> str:
        """The guideline as an HTML fragment; all text is escaped."""
        entry = self.entry
        scale = ", ".join(f"{n} = {word}" for n, word in enumerate(entry.scale, LIKERT[0]))
        parts = [_heading(entry.title), *_paragraphs(entry.introduction), Markup(_P).format(scale)]
        for question in entry.criteria.values():
            parts += [_heading(question.label), Markup("<p><b>{}</b></p>").format(question.statement)]
            parts.append(_bullets(question.hints))
        parts += [_heading(entry.refusal.question), _bullets(entry.refusal.hints)]
        parts += [*_paragraphs(entry.closing), Markup(_P).format(entry.finish)]
        return "\n".join(parts) + "\n"


def load_guideline(prompts: Path, language: str) -> Guideline:
    """The guideline in a language. Raises CatalogError if its file is missing or malformed."""
    folder = prompts / "annotation"
    path = folder / f"{language}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.toml"))) or "none"
        raise CatalogError(
            f"no guideline in language {language!r}",
            where=str(folder),
            hint=f"Write {language}.toml there, or choose another with --guideline: {known}.",
        )
    return Guideline(language, entry_from(GuidelineEntry, read_toml(path, root=prompts), str(path)))


def guideline_or_english(prompts: Path, language: str) -> tuple[Guideline, str]:
    """The guideline in a language, or else in English with a note for the user. Raises CatalogError."""
    if (prompts / "annotation" / f"{language}.toml").is_file():
        return load_guideline(prompts, language), ""
    note = f"There is no guideline in {language!r}: raters read the English one. --guideline names another."
    return load_guideline(prompts, "en"), note


def guideline_of(prompts: Path, identity: str) -> Guideline:
    """The guideline that a study was drawn for. Raises UserError if its file has another version now."""
    language = identity.rpartition("-")[0]
    guideline = load_guideline(prompts, language)
    if guideline.id != identity:
        raise UserError(
            f"the study uses guideline {identity}, and the file holds {guideline.id}",
            where=str(prompts / "annotation" / f"{language}.toml"),
            hint="Restore the older text from version control, or draw a new study. Ratings under two"
            " versions are not comparable.",
        )
    return guideline


def _heading(text: str) -> Markup:
    return Markup("<h3>{}</h3>").format(text)


def _paragraphs(text: str) -> list[Markup]:
    return [Markup(_P).format(" ".join(part.split())) for part in text.strip().split("\n\n")]


def _bullets(texts: tuple[str, ...]) -> Markup:
    return Markup(_P).format(Markup("<br>").join(f"• {text}" for text in texts))
