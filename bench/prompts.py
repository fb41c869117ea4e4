"""Templates to prompts: the texts of one protocol folder, rendered with what each role may see.

Every template gets the variables of the paper's (its Appendix D): ``character`` (player),
``char_summary``, ``situation``, ``messages`` (interrogator), ``char_description``, ``messages`` (judge);
and besides, for ours, ``char_name``, ``language_name``, ``turns`` and ``symmetric``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bench.errors import CatalogError
from bench.records import Message
from bench.suites import LANGUAGES, Card, Situation


def quoted(text: str) -> str:
    """``text`` with ``| `` before each line, so that nothing in it can pass for a line of the template."""
    return "\n".join(f"| {line}" for line in text.strip().splitlines())


class PromptSet:
    """The templates of one protocol and language: ``<role>.<language>.jinja`` where there is one, else
    ``<role>.jinja``. Raises CatalogError for a template that is missing or malformed."""

    def __init__(self, folder: Path, language: str, roles: Sequence[str]) -> None:
        self.language = language
        self.language_name = LANGUAGES.get(language, language)
        # Templates are written by hand, but --prompts may name anybody's folder: they get no way out.
        environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
        environment.filters["quoted"] = quoted
        self._paths = {role: _template_path(folder, role, language) for role in roles}
        self._texts = {role: _text(path) for role, path in self._paths.items()}
        self._templates = {
            role: _compiled(environment, text, self._paths[role]) for role, text in self._texts.items()
        }

    def sha256(self, role: str) -> str:
        """SHA-256 of a role's template text, for fingerprints."""
        return hashlib.sha256(self._texts[role].encode()).hexdigest()

    def player(self, card: Card, situation: Situation, *, symmetric: bool) -> str:
        """The player's system prompt: the card, and the situation only in a symmetric suite."""
        return self.render(
            "player",
            character=card.model_dump(),
            situation=situation.text.strip() if symmetric else "",
            symmetric=symmetric,
        )

    def interrogator(
        self, card: Card, situation: Situation, messages: Sequence[Message], *, symmetric: bool
    ) -> str:
        """What the interrogator is asked: the summary and the situation, and the card only if symmetric."""
        return self.render(
            "interrogator",
            char_name=card.char_name,
            char_summary=card.summary,
            char_description=card.system_prompt.strip() if symmetric else "",
            situation=situation.text.strip(),
            messages=[m.model_dump() for m in messages],
            symmetric=symmetric,
        )

    def judge(self, card: Card, messages: Sequence[Message]) -> str:
        """What a judge is asked about a whole conversation."""
        return self.render(
            "judge",
            char_name=card.char_name,
            char_description=card.system_prompt.strip(),
            messages=[m.model_dump() for m in messages],
            turns=len(messages) // 2,
        )

    def render(self, role: str, **variables: object) -> str:
        """The template of ``role`` with ``variables`` and the language. Raises CatalogError."""
        try:
            return self._templates[role].render(
                language=self.language, language_name=self.language_name, **variables
            )
        except (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise CatalogError(
                f"cannot be rendered: {error}",
                where=str(self._paths[role]),
                hint="Mend the template; bench/prompts.py says which variables it gets.",
            ) from None


def _template_path(folder: Path, role: str, language: str) -> Path:
    own = folder / f"{role}.{language}.jinja"
    return own if own.exists() else folder / f"{role}.jinja"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise CatalogError(
            f"the template cannot be read: {reason}",
            where=str(path),
            hint="Put the protocol's template there.",
        ) from None


def _compiled(environment: ImmutableSandboxedEnvironment, text: str, path: Path) -> Template:
    try:
        return environment.from_string(text)
    except TemplateSyntaxError as error:
        raise CatalogError(
            f"malformed template: {error.message}", where=f"{path}:{error.lineno}", hint="Mend that line."
        ) from None
