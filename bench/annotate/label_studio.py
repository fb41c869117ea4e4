"""A study as a Label Studio project: the labelling interface, the guideline, and one task per conversation.

Model output becomes escaped text inside our own HTML, so that Label Studio shows it and runs none of it. A
task names neither the player nor any judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from bench.annotate.guideline import LIKERT, Guideline
from bench.errors import UserError
from bench.records import Cell, Conversation, messages_sha256
from bench.results import ResultsTree
from bench.results.studies import StudyFile, StudyItem

REFUSAL = "refusal"
COMMENT = "comment"
YES, NO = "yes", "no"
"""Names of the refusal choices in an export, in every language."""

HOTKEYS = ("12345", "qwert", "asdfg", "zxcvb")
"""Keys of the ratings: one row of the keyboard per criterion, in order, then one for the refusal."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")

_STYLE = """
.rc { display: flex; gap: 24px; align-items: flex-start; }
.rc-text { flex: 3 1 0; min-width: 0; max-height: calc(100vh - 150px); overflow-y: auto;
  padding-right: 12px; }
.rc-asked { flex: 2 1 0; min-width: 280px; max-width: 460px; }
@media (max-width: 1000px) { .rc { display: block; } .rc-text { max-height: 55vh; } }
"""
_BLOCK = "white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.5;margin:2px 0 0"
_TURN = "margin:0 0 12px;padding:6px 12px;border-left:4px solid {};border-radius:4px;background:{}"
_USER = _TURN.format("rgba(128,128,128,.45)", "transparent")
_BOT = _TURN.format("rgba(80,110,200,.8)", "rgba(80,110,200,.08)")


@dataclass(frozen=True)
class Project:
    """Everything in a Label Studio project of a study."""

    title: str
    interface: str
    instruction: str
    """The guideline, as HTML."""
    tasks: tuple[dict[str, Any], ...]


def project_title(study: str) -> str:
    """The title by which a study's project is found again."""
    return f"Dramaturg: {study}"


def project_of(tree: ResultsTree, study: StudyFile, guideline: Guideline) -> Project:
    """The project of a study.

    Raises UserError if conversations are gone or their messages have changed since they were drawn.
    """
    return Project(
        title=project_title(study.study),
        interface=interface(guideline),
        instruction=guideline.as_html(),
        tasks=tuple(_task(tree, study, item, guideline) for item in study.items),
    )


def interface(guideline: Guideline) -> str:
    """The labelling configuration: card and chat on the left, the questions on the right."""
    words = guideline.entry.words
    asked = Markup("\n").join(_asked(guideline))
    comment = Markup(
        '<TextArea name="{}" toName="dialogue" placeholder="{}" rows="2" maxSubmissions="1" editable="true"/>'
    ).format(COMMENT, words.comment)
    return Markup(
        "<View>\n<Style>{}</Style>\n"
        '<View className="rc">\n'
        '<View className="rc-text">\n'
        '<Collapse open="true"><Panel value="{}"><HyperText name="card" value="$card" inline="true"/></Panel>'
        '</Collapse>\n<Header value="{}" size="4"/>\n'
        '<HyperText name="dialogue" value="$dialogue" inline="true"/>\n</View>\n'
        '<View className="rc-asked">\n{}\n{}\n</View>\n</View>\n</View>\n'
    ).format(_STYLE, words.card, words.chat, asked, comment)


def _asked(guideline: Guideline) -> Iterator[Markup]:
    """The questions: each criterion on its scale, then the refusal."""
    entry = guideline.entry
    rows = iter(HOTKEYS)
    for name, question in entry.criteria.items():
        labels = [(f"{n}: {word}", str(n)) for n, word in enumerate(entry.scale, LIKERT[0])]
        head = f"{question.label}. {question.statement}"
        yield _choices(name, head, labels, next(rows, ""), entry.words.missing)
    labels = [(entry.refusal.no, NO), (entry.refusal.yes, YES)]
    yield _choices(REFUSAL, entry.refusal.question, labels, next(rows, ""), entry.words.missing)


def _choices(name: str, head: str, labels: list[tuple[str, str]], keys: str, missing: str) -> Markup:
    choices = Markup("\n").join(
        Markup('<Choice value="{}" alias="{}"{}/>').format(
            label, alias, Markup(' hotkey="{}"').format(keys[n]) if n < len(keys) else ""
        )
        for n, (label, alias) in enumerate(labels)
    )
    return Markup(
        '<Header value="{}" size="5"/>\n<Choices name="{}" toName="dialogue" choice="single-radio"'
        ' required="true" requiredMessage="{}">\n{}\n</Choices>'
    ).format(head, name, missing, choices)


def _task(tree: ResultsTree, study: StudyFile, item: StudyItem, guideline: Guideline) -> dict[str, Any]:
    talk = _conversation(tree, study, item)
    return {"data": {"item": item.item, "card": _card(talk), "dialogue": _dialogue(talk, guideline)}}


def _conversation(tree: ResultsTree, study: StudyFile, item: StudyItem) -> Conversation:
    """The conversation of an item. Raises UserError if it is not the one that was drawn."""
    where = f"{study.suite} {study.language} {item.player}: {item.character}.{item.situation}"
    hint = "Restore the conversation from version control, or draw a new study."
    if item.character is None or item.situation is None:
        raise UserError("its conversations are not in the results", where=f"study {study.study}")
    known = dict(study) | dict(item) | {"protocol": ""}  # which is not needed to find the file
    talk = tree.conversation(Cell(**{name: known[name] for name in Cell.model_fields}))
    if talk is None:
        raise UserError(f"the conversation of study {study.study} is gone", where=where, hint=hint)
    if messages_sha256(talk.messages) != item.conversation_sha256:
        raise UserError(f"its messages have changed since {study.study} was drawn", where=where, hint=hint)
    return talk


def _card(talk: Conversation) -> str:
    card = Markup('<div dir="auto" style="{}"><b>{}</b>\n\n{}</div>').format(
        _BLOCK, shown(talk.scene.character_name), shown(talk.scene.card.strip())
    )
    return str(card)


def _dialogue(talk: Conversation, guideline: Guideline) -> str:
    words = guideline.entry.words
    turns = [
        Markup('<div style="{}"><b>{}</b><div dir="auto" style="{}">{}</div></div>').format(
            _USER if message.role == "user" else _BOT,
            words.user if message.role == "user" else words.bot,
            _BLOCK,
            shown(message.content),
        )
        for message in talk.messages
        if message.role != "system"
    ]
    return str(Markup("\n").join(turns))


def shown(text: str) -> str:
    """Text with a box in place of each control character that databases and XML reject."""
    return _CONTROL.sub("\ufffd", text)
