"""Renders the templates of a protocol folder, giving each role only what it may see.

Templates get the variables of the paper's templates (its Appendix D): ``character`` (player);
``char_summary``, ``situation``, ``messages`` (interrogator); ``char_description``, ``messages`` (judge).
Ours also get ``language`` (a tag), ``language_name`` (in the language of the template), ``char_name``,
``turns`` and ``symmetric``; the interrogator's gets ``number``, which counts its messages; the judge's gets
``char_example``, ``char_greeting`` and ``declared``. In pingpong_long the interrogator's also gets
``directions``, and the judge's ``first``, ``more``, ``summary`` and ``summary_limit``.
Templates are untrusted: see :mod:`bench.prompts.sandbox` for what they may do.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from jinja2 import Template, TemplateError, TemplateSyntaxError

from bench.errors import CatalogError
from bench.prompts.sandbox import Sandbox
from bench.records import Message, after_greeting
from bench.suites import Card, Situation
from bench.suites.languages import language_name, template_file
from bench.suites.lorebook import entered, lore_of
from bench.toml_entries import read_text

MISSING = "Put the protocol's template there."
MOST_TEMPLATE = 64_000
"""Size limit of a template in bytes: compiling one takes seconds and a thousand times its size."""


def quoted(text: str) -> str:
    """``text`` with ``| `` before each line, so that no line of it can pass for a line of the template."""
    return "\n".join(f"| {line}" for line in text.strip().splitlines())


def with_lore(card: Card, messages: Sequence[Message]) -> Card:
    """``card`` as the player reads it before it answers the last of ``messages``."""
    texts = [entry.content.strip() for entry in entered(card.lorebook, messages)]
    if not texts:
        return card
    return card.model_copy(update={"system_prompt": "\n\n".join([card.system_prompt.strip(), *texts])})


def shown_card(card: Card, *talks: Sequence[Message]) -> dict[str, str]:
    """The parts of a card that a judge of one or two talks reads, which are all that the players read."""
    texts = [card.system_prompt.strip()]
    for number, messages in enumerate(talks, 1):
        which = f" of conversation {number}" if len(talks) > 1 else ""
        for lore in lore_of(card.lorebook, messages):
            turns = "turns " if len(lore.turns) > 1 else "turn "
            turns += ", ".join(map(str, lore.turns)) + which
            texts += [f"(The talk brought in the following; the bot had it at {turns}.)", lore.content]
    return {
        "char_name": card.char_name,
        "char_description": "\n\n".join(texts),
        "char_example": card.example_prompt.strip(),
        "char_greeting": card.initial_message.strip(),
    }


def declared_by(card: Card) -> list[tuple[str, list[str]]]:
    """What a card declares for those who check it: titles and lines, for a judge's template."""
    secrets = [f"{entry.secret} ({entry.unlocked_by})" for entry in card.secrets]
    parts = {
        "Facts": list(card.facts),
        "Secrets, and when they may be told": secrets,
        "What the character must not know": list(card.unknown),
        "Limits of what the character says and does": list(card.boundaries),
    }
    return [(title, lines) for title, lines in parts.items() if lines]


class PromptSet:
    """The templates of a protocol in one language; :func:`template_file` says which files they are.

    Raises CatalogError for a template that is missing or malformed.
    """

    def __init__(self, folder: Path, language: str, roles: Sequence[str]) -> None:
        self.language = language
        files = {role: template_file(folder, role, language) for role in roles}
        self._paths = {role: path for role, (path, _) in files.items()}
        self._written = {role: written for role, (_, written) in files.items()}
        self._texts = {
            role: read_text(path, MISSING, root=folder.parent, most=MOST_TEMPLATE)
            for role, path in self._paths.items()
        }
        self._templates = {role: _compiled(text, self._paths[role]) for role, text in self._texts.items()}

    def sha256(self, role: str) -> str:
        """SHA-256 of a role's template text, for fingerprints."""
        return hashlib.sha256(self._texts[role].encode()).hexdigest()

    def reads(self, role: str, variable: str) -> bool:
        """Whether the template of ``role`` mentions ``variable``."""
        return variable in self._texts[role]

    def player(
        self, card: Card, situation: Situation, messages: Sequence[Message] = (), *, symmetric: bool
    ) -> str:
        """The player's system prompt before it answers the last of ``messages``: the card with what they
        mention of its lorebook, and in a symmetric suite the situation."""
        return self.render(
            "player",
            character=with_lore(card, messages).model_dump(),
            situation=situation.text.strip() if symmetric else "",
            symmetric=symmetric,
        )

    def interrogator(
        self,
        card: Card,
        situation: Situation,
        messages: Sequence[Message],
        *,
        symmetric: bool,
        turns: int | None = None,
        **more: object,
    ) -> str:
        """The interrogator's prompt: summary, situation, talk so far, and in a symmetric suite the card, with
        what the talk mentions of its lorebook: both sides know the same there.

        ``turns``: how many messages it writes in all, by default as many as the situation says.
        """
        return self.render(
            "interrogator",
            char_name=card.char_name,
            char_summary=card.summary,
            char_description=with_lore(card, messages).system_prompt.strip() if symmetric else "",
            situation=situation.text.strip(),
            messages=[m.model_dump() for m in messages],
            number=len(messages) // 2 + 1,
            turns=situation.num_turns if turns is None else turns,
            symmetric=symmetric,
            **more,
        )

    def judge(
        self, card: Card, messages: Sequence[Message], *, before: Sequence[Message] = (), **more: object
    ) -> str:
        """The judge's prompt about a conversation, or about the part that follows ``before``. A greeting is
        with the card."""
        return self.render(
            "judge",
            **shown_card(card, (*before, *messages)),
            declared=declared_by(card),
            messages=[m.model_dump() for m in after_greeting(messages)],
            turns=len(messages) // 2,
            **more,
        )

    def render(self, role: str, **variables: object) -> str:
        """The template of ``role`` with ``variables`` and the language. Raises CatalogError."""
        try:
            name = language_name(self.language, self._written[role])
            named = {"language": self.language, "language_name": name}
            return _sandbox().rendered(self._templates[role], named | variables)
        except (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise CatalogError(
                f"cannot be rendered: {error}",
                where=f"{self._paths[role]}{_line_of(error)}",
                hint="Fix the template; bench/prompts/__init__.py lists the variables it gets.",
            ) from None


def _line_of(error: BaseException) -> str:
    """The line of a template that an error arose in, after a colon; empty if it is not known."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == "<template>"]
    return f":{lines[-1]}" if lines else ""


@lru_cache(maxsize=1)
def _sandbox() -> Sandbox:
    """The environment of all prompt templates."""
    return Sandbox({"quoted": quoted})


@lru_cache(maxsize=64)
def _template(text: str) -> Template:
    """The compiled template, kept for the next suite or language that has the same: compiling takes long."""
    return _sandbox().template(text)


def _compiled(text: str, path: Path) -> Template:
    try:
        return _template(text)
    except TemplateSyntaxError as error:
        fault, where = f"malformed template: {error.message}", f"{path}:{error.lineno}"
        raise CatalogError(fault, where=where, hint="Fix that line.") from None
    except TemplateError as error:
        raise CatalogError(f"unusable template: {error}", where=str(path), hint="Simplify it.") from None
