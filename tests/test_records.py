"""Records: canonical bytes, digests, what is refused, and the schemas kept in the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from bench.cli.schemas import all_schemas
from bench.errors import RecordError
from bench.records import (
    RECORD_TYPES,
    Conversation,
    Failure,
    Judgement,
    JudgeMode,
    PlayerInfo,
    Record,
    canonical,
    digest_of,
    messages_sha256,
    sealed,
    sha256_of,
)
from bench.results import ResultsTree, read_record
from tests.synthetic import make_tree
from tests.tiny import ROOT, said

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> ResultsTree:
    root = tmp_path_factory.mktemp("records")
    made = make_tree(
        root,
        players=1,
        languages=("ru",),
        characters=4,
        situations=4,
        judges=1,
        failure_rate=0.3,
        refusal_rate=0.3,
    )
    return made.tree


@pytest.fixture(scope="module")
def conversation(tree: ResultsTree) -> Conversation:
    records = tree.conversations("synthetic", "ru", "player-01")
    return next(record for record in records if record.status == "complete")


@pytest.fixture(scope="module")
def judgement(tree: ResultsTree) -> Judgement:
    return next(record for record in tree.judgements("synthetic", "ru", "player-01") if record.turns)


def write(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_canonical_json_is_sorted_indented_and_unescaped() -> None:
    assert canonical({"b": 1, "a": "ж"}) == '{\n  "a": "ж",\n  "b": 1\n}\n'


@given(json_values)
def test_canonical_json_reads_back_and_is_stable(value: Any) -> None:
    text = canonical(value)
    assert canonical(json.loads(text)) == text


@given(json_values)
def test_canonical_json_is_what_the_standard_encoder_writes(value: Any) -> None:
    due = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False)
    assert canonical(value) == f"{due}\n"


def test_every_committed_json_file_is_canonical() -> None:
    """An older version of the writer, which was the standard encoder, wrote these files."""
    paths = sorted((ROOT / "results").rglob("*.json"))
    assert len(paths) > 2000
    assert [p for p in paths if canonical(json.loads(text := p.read_text("utf-8"))) != text] == []


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_canonical_json_holds_no_number_that_json_lacks(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical({"x": value})


@given(st.dictionaries(st.text(max_size=3), st.integers(), min_size=2, max_size=5))
def test_a_hash_does_not_hang_on_the_order_of_keys(data: dict[str, int]) -> None:
    assert sha256_of(data) == sha256_of(dict(reversed(data.items())))


def test_every_record_of_a_tree_reads_back_as_the_same_bytes(tree: ResultsTree) -> None:
    kinds: dict[str, type[Record]] = {"conversations": Conversation, "judgements": Judgement}
    paths = [path for path in tree.root.rglob("*.json") if path.name != "player.json"]
    assert len(paths) > 20
    for path in paths:
        kind = next(kind for part, kind in kinds.items() if part in path.parts)
        assert canonical(read_record(kind, path).plain()).encode() == path.read_bytes()


def test_a_sealed_record_carries_its_digest(conversation: Conversation, judgement: Judgement) -> None:
    assert conversation.digest == digest_of(conversation) == digest_of(sealed(conversation))
    assert judgement.digest == digest_of(judgement)


@pytest.mark.parametrize("field", sorted(set(Conversation.model_fields) - {"digest", "schema_version"}))
def test_the_digest_of_a_conversation_hangs_on_every_field(conversation: Conversation, field: str) -> None:
    changed = conversation.model_copy(update={field: _other(getattr(conversation, field), field)})
    assert digest_of(changed) != conversation.digest


@pytest.mark.parametrize("field", sorted(set(Judgement.model_fields) - {"digest", "schema_version"}))
def test_the_digest_of_a_judgement_hangs_on_every_field(judgement: Judgement, field: str) -> None:
    changed = judgement.model_copy(update={field: _other(getattr(judgement, field), field)})
    assert digest_of(changed) != judgement.digest


def _other(value: Any, field: str) -> Any:
    """Another value of a field's kind."""
    if field == "scene":
        return value.model_copy(update={"summary": value.summary + "."})
    if field == "failure":
        return Failure(role="judge", turn=1, outcome="empty", reason="none")
    if field == "mode":
        return JudgeMode(window=2)
    if isinstance(value, tuple):
        return (*value, value[-1] if value else "another")
    return value + 1 if isinstance(value, int) else f"{value}x"


def test_an_edit_of_one_letter_shows(conversation: Conversation) -> None:
    first, *rest = conversation.messages
    edited = conversation.model_copy(
        update={"messages": (first.model_copy(update={"content": first.content + " "}), *rest)}
    )
    assert digest_of(edited) != edited.digest
    assert messages_sha256(edited.messages) != messages_sha256(conversation.messages)


def test_messages_of_other_roles_are_other_messages() -> None:
    asked, told = said("a", "a")
    assert messages_sha256((asked,)) != messages_sha256((told,))


def test_the_coordinates_of_a_record_are_a_cell(judgement: Judgement) -> None:
    assert judgement.cell().plain() == {
        "suite": "synthetic",
        "version": "1",
        "protocol": "pingpong_v2",
        "language": "ru",
        "player": "player-01",
        "character": judgement.character,
        "situation": judgement.situation,
    }


def test_a_record_is_frozen(conversation: Conversation) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        conversation.status = "failed"


@pytest.mark.parametrize("name", sorted(RECORD_TYPES))
def test_a_newer_schema_is_refused_with_the_mend(tree: ResultsTree, tmp_path: Path, name: str) -> None:
    path, kind = _sample(tree, name)
    data = json.loads(path.read_bytes()) | {"schema_version": 2, "something_new": 1}
    with pytest.raises(RecordError, match=r"version 2.*knows version 1.*Update"):
        read_record(kind, write(tmp_path / "x.json", data))


@pytest.mark.parametrize("name", sorted(RECORD_TYPES))
def test_an_unknown_key_is_refused_by_name(tree: ResultsTree, tmp_path: Path, name: str) -> None:
    path, kind = _sample(tree, name)
    data = json.loads(path.read_bytes()) | {"something_odd": 1}
    with pytest.raises(RecordError, match="something_odd") as caught:
        read_record(kind, write(tmp_path / "x.json", data))
    assert caught.value.where == str(tmp_path / "x.json")


@pytest.mark.parametrize("version", [0, -1, "1.5", None])
def test_a_schema_version_that_never_was_is_refused(tree: ResultsTree, tmp_path: Path, version: Any) -> None:
    path, kind = _sample(tree, "player")
    data = json.loads(path.read_bytes()) | {"schema_version": version}
    with pytest.raises(RecordError, match="not a valid record"):
        read_record(kind, write(tmp_path / "x.json", data))


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"schema_version": true}', b"7", b"[" * 100_000]
)
def test_a_damaged_file_is_refused_with_place_and_mend(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(RecordError, match="not a valid record") as caught:
        read_record(PlayerInfo, path)
    assert caught.value.where == str(path)
    assert "version control" in caught.value.hint
    assert "\n" not in caught.value.line()


def _sample(tree: ResultsTree, name: str) -> tuple[Path, Any]:
    folder = tree.player_folder("synthetic", "ru", "player-01")
    places = {
        "player": folder / "player.json",
        "conversation": next((folder / "conversations").iterdir()),
        "judgement": next((folder / "judgements" / "judge-01").iterdir()),
    }
    return places[name], RECORD_TYPES[name]


SCHEMAS = sorted(path.name.removesuffix(".schema.json") for path in (ROOT / "schemas").iterdir())


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_in_the_repository_is_the_one_of_the_code(name: str) -> None:
    path = ROOT / "schemas" / f"{name}.schema.json"
    assert path.read_text(encoding="utf-8") == canonical(all_schemas()[name]), "run `bench schemas`"


def test_the_repository_has_each_schema_and_none_too_many() -> None:
    assert sorted(all_schemas()) == SCHEMAS


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name: str) -> None:
    Draft202012Validator.check_schema(all_schemas()[name])


@pytest.mark.parametrize("name", sorted(RECORD_TYPES))
def test_records_keep_to_their_schema(tree: ResultsTree, name: str) -> None:
    validator = Draft202012Validator(all_schemas()[name])
    path, _ = _sample(tree, name)
    data = json.loads(path.read_bytes())
    validator.validate(data)
    assert list(validator.iter_errors(data | {"something_odd": 1}))
    assert list(validator.iter_errors(data | {"schema_version": 2}))
