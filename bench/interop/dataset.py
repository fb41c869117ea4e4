"""A suite as a dataset folder: Parquet of conversations and scores, a dataset card, and Croissant metadata.

pandas reads the files, and Hugging Face's ``datasets`` loads the folder.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from bench import __version__
from bench.errors import UserError
from bench.foreign import parquet_modules
from bench.records import Conversation, Judgement, messages_sha256
from bench.results import ResultsTree
from bench.tables import markdown_table, markdown_text

MEANINGS: dict[str, dict[str, str]] = {
    "conversations": {
        "suite": "suite id",
        "version": "version of the suite",
        "protocol": "how it was played and judged",
        "language": "language code",
        "player": "id of the model that played the character",
        "character": "character id",
        "situation": "situation id",
        "repeat": "number of the sample; 2 is the first repeat",
        "status": "complete or failed",
        "failure": "why it failed; null where it did not",
        "character_name": "name of the character",
        "card": "the player's system prompt",
        "situation_text": "what the user's side was told",
        "roles": "role of each message: user or assistant",
        "contents": "text of each message",
        "fingerprint": "SHA-256 of everything it was made from",
        "digest": "SHA-256 of the record",
    },
    "scores": {
        "suite": "suite id",
        "version": "version of the suite",
        "language": "language code",
        "player": "id of the model that played the character",
        "character": "character id",
        "situation": "situation id",
        "repeat": "number of the sample",
        "judge": "judge id",
        "turn": "turn of the conversation, from 1",
        "criterion": "criterion's name in the protocol",
        "score": "integer on the criterion's scale",
        "reason": "the judge's reason; empty where it gave none",
        "is_refusal": "whether the judge saw a refusal in this turn",
        "counts": "whether the board counts its judge, and it is of the conversation as it is here",
        "digest": "SHA-256 of the judgement's record",
    },
}
"""Meaning of each column, by table."""
_NUMBERS = frozenset({"repeat", "turn", "score"})
_FLAGS = frozenset({"is_refusal", "counts"})
_LISTS = frozenset({"roles", "contents"})
_CROISSANT_TYPES = {**dict.fromkeys(_NUMBERS, "sc:Integer"), **dict.fromkeys(_FLAGS, "sc:Boolean")}

Row = dict[str, Any]
JudgesOf = Callable[[str, Collection[str]], Collection[str]]
"""Given a suite and the judges with results: those that count on its board."""


def rows_of(tree: ResultsTree, suite: str, language: str, judges: JudgesOf) -> Iterator[tuple[str, Row]]:
    """(table of MEANINGS, row) for all conversations and scores of a board.

    Raises RecordError for a damaged record.
    """
    players = tree.players(suite, language)
    present = {judge for info in players for judge in tree.judges(suite, language, info.player)}
    counting = judges(suite, sorted(present))
    for info in players:
        hashes = {}
        for talk in tree.conversations(suite, language, info.player):
            hashes[talk.character, talk.situation, talk.repeat] = messages_sha256(talk.messages)
            yield "conversations", _conversation_row(talk)
        for judgement in tree.judgements(suite, language, info.player):
            key = (judgement.character, judgement.situation, judgement.repeat)
            fresh = hashes.get(key) == judgement.conversation_sha256
            counts = fresh and judgement.status == "ok" and judgement.judge in counting
            for row in _score_rows(judgement, counts):
                yield "scores", row


def _conversation_row(talk: Conversation) -> Row:
    return _cell(talk, "protocol") | {
        "status": talk.status,
        "failure": talk.failure.reason if talk.failure else None,
        "character_name": talk.scene.character_name,
        "card": talk.scene.card,
        "situation_text": talk.scene.situation,
        "roles": [message.role for message in talk.messages],
        "contents": [message.content for message in talk.messages],
        "fingerprint": talk.fingerprint,
        "digest": talk.digest,
    }


def _score_rows(judgement: Judgement, counts: bool) -> Iterator[Row]:
    cell = _cell(judgement) | {"judge": judgement.judge, "counts": counts, "digest": judgement.digest}
    for turn in judgement.turns:
        for criterion, score in turn.scores.items():
            yield cell | {
                "turn": turn.turn,
                "criterion": criterion,
                "score": score,
                "reason": turn.reasons.get(criterion, ""),
                "is_refusal": turn.is_refusal,
            }


def _cell(record: Conversation | Judgement, *more: str) -> Row:
    names = ("suite", "version", *more, "language", "player", "character", "situation", "repeat")
    return {name: getattr(record, name) for name in names}


def all_judges(suite: str, present: Collection[str]) -> Collection[str]:
    """Every judge counts, as in a suite that no prompts define."""
    return present


def check_conversations(tree: ResultsTree, suite: str) -> None:
    """Raise UserError for published scores."""
    if tree.is_table(suite):
        hint = "Export a table: -o x.csv."
        raise UserError("published scores have no conversations", where=suite, hint=hint)


def dataset_files(
    tree: ResultsTree,
    suite: str,
    languages: Sequence[str],
    *,
    title: str,
    licence: str,
    judges: JudgesOf = all_judges,
) -> dict[str, bytes]:
    """The files of the dataset by their path in its folder. Equal results give equal files.

    Raises UserError for published scores, for a hidden suite, and without pyarrow.
    """
    check_conversations(tree, suite)
    chosen = list(languages) or [language for _, language in tree.boards(suite)]
    tables: dict[str, list[Row]] = {name: [] for name in MEANINGS}
    for language in chosen:
        for name, row in rows_of(tree, suite, language, judges):
            tables[name].append(row)
    files = {f"data/{name}.parquet": _parquet(name, rows) for name, rows in tables.items()}
    counts = {name: len(rows) for name, rows in tables.items()}
    croissant = _croissant(suite, title, licence, files, chosen)
    files["croissant.json"] = json.dumps(croissant, indent=2, ensure_ascii=False).encode() + b"\n"
    files["README.md"] = _card(suite, title, licence, chosen, counts).encode()
    return files


def _parquet(name: str, rows: Sequence[Row]) -> bytes:
    pyarrow, parquet = parquet_modules("export csv or jsonl")
    sink = io.BytesIO()
    parquet.write_table(
        pyarrow.Table.from_pylist(list(rows), schema=schema_of(name)), sink, compression="zstd"
    )
    return sink.getvalue()


def schema_of(name: str) -> Any:
    """The Parquet schema of a table of MEANINGS, with what its columns mean."""
    pyarrow, _ = parquet_modules("export csv or jsonl")

    def kind(column: str) -> Any:
        if column in _NUMBERS:
            return pyarrow.int64()
        if column in _FLAGS:
            return pyarrow.bool_()
        return pyarrow.list_(pyarrow.string()) if column in _LISTS else pyarrow.string()

    return pyarrow.schema(
        [
            pyarrow.field(column, kind(column), metadata={"description": meaning})
            for column, meaning in MEANINGS[name].items()
        ]
    )


def _card(suite: str, title: str, licence: str, languages: Sequence[str], counts: dict[str, int]) -> str:
    """README.md: what Hugging Face reads of it, and what people read."""
    front = {
        "pretty_name": title,
        "language": list(languages),
        "license": licence.lower() or "unknown",
        "tags": ["role-play", "evaluation", "dramaturg", "croissant"],
        "configs": [
            {"config_name": name, "data_files": f"data/{name}.parquet", "default": name == "conversations"}
            for name in MEANINGS
        ],
    }
    lines = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in front.items())
    tables = "".join(
        f"## {name}\n\n{counts[name]:,} rows.\n\n"
        + markdown_table(["column", "meaning"], list(meanings.items()), {0, 1})
        + "\n"
        for name, meanings in MEANINGS.items()
    )
    return (
        f"---\n{lines}---\n\n# {markdown_text(title)}\n\n"
        f"Conversations of the suite `{suite}`, in which models play characters, and what judge models"
        f" scored. Made with Dramaturg {__version__}. A score counts only where `counts` is true and no turn"
        " of the judgement is a refusal.\n\n"
        f"{tables}"
    )


def _croissant(
    suite: str, title: str, licence: str, files: dict[str, bytes], languages: Sequence[str]
) -> dict[str, Any]:
    """Croissant 1.0 metadata (JSON-LD) of the Parquet files."""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": suite,
        "description": f"{title}: conversations in which models play characters, with judges' scores.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": licence or "unknown",
        "citeAs": f"{title}. Conversations and scores made with Dramaturg {__version__}.",
        "version": "1.0.0",
        "inLanguage": list(languages),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "encodingFormat": "application/x-parquet",
                "sha256": hashlib.sha256(data).hexdigest(),
            }
            for name, data in files.items()
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": table,
                "name": table,
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"{table}/{column}",
                        "name": column,
                        "description": meaning,
                        "dataType": _CROISSANT_TYPES.get(column, "sc:Text"),
                        **({"repeated": True} if column in _LISTS else {}),
                        "source": {
                            "fileObject": {"@id": f"data/{table}.parquet"},
                            "extract": {"column": column},
                        },
                    }
                    for column, meaning in meanings.items()
                ],
            }
            for table, meanings in MEANINGS.items()
        ],
    }


# fmt: off
_TERMS = (
    "citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileProperty", "fileSet",
    "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
    "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField",
    "transform",
)
# fmt: on
_OTHER_TERMS = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
_CONTEXT = dict(sorted((_OTHER_TERMS | {term: f"cr:{term}" for term in _TERMS}).items()))
"""What the terms of the metadata mean, by Croissant 1.0; the names of _TERMS are its own."""
