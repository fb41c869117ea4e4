"""Messages out of a user's file: which column, what is left out and where, and how much is taken."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from bench.errors import UserError
from bench.topics import messages as module
from bench.topics.messages import read_messages


def put(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def fault(path: Path, column: str | None = None, sample: int | None = None) -> str:
    with pytest.raises(UserError) as caught:
        read_messages(path, column, sample=sample)
    return caught.value.line()


# Formats and columns


def test_csv_with_quotes_line_breaks_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", '\ufeffid,text\n1,"hi, you"\n2,"two\nlines"\n3,привет\n')
    made = read_messages(path)
    assert made.column == "text"
    assert made.texts == ("hi, you", "two\nlines", "привет")
    assert (made.found, made.blank, made.problems) == (3, 0, ())


def test_tsv_is_split_at_tabs(tmp_path: Path) -> None:
    assert read_messages(put(tmp_path, "a.tsv", "id\tmessage\n1\tone, two\n")).texts == ("one, two",)


@pytest.mark.parametrize(
    ("name", "data", "divided"),
    [
        ("a.csv", '\ufeffid;text\n1;"hi"\n2;"oh, you"\n', "semicolons, not by commas"),
        ("a.csv", "id\ttext\n1\thi\n", "tabs, not by commas"),
        ("a.csv", "id|text\n1|hi\n", "bars, not by commas"),
        ("a.tsv", "id;text\n1;hi\n", "semicolons, not by tabs"),
    ],
)
def test_a_table_that_is_divided_otherwise_is_refused(
    tmp_path: Path, name: str, data: str, divided: str
) -> None:
    found = fault(put(tmp_path, name, data))
    assert f"{name}:1: columns are separated by {divided}" in found


def test_json_lines_of_objects_or_of_strings(tmp_path: Path) -> None:
    lines = '{"text": "one", "n": 1}\n\n{"text": "two"}\n'
    assert read_messages(put(tmp_path, "a.jsonl", lines)).texts == ("one", "two")
    assert read_messages(put(tmp_path, "b.ndjson", '"one"\n"two"')).texts == ("one", "two")


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pyarrow.table({"id": [1, 2, 3], "content": ["one", None, "three"]})
    pyarrow.parquet.write_table(table, path)
    made = read_messages(path)
    assert (made.column, made.texts, made.blank) == ("content", ("one", "three"), 1)


def test_of_a_conversation_the_users_messages_count(tmp_path: Path) -> None:
    talk = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "no"},
        {"role": "user", "content": "second"},
    ]
    path = put(tmp_path, "a.jsonl", json.dumps({"messages": talk}))
    assert read_messages(path).texts == ("first", "second")


def test_the_only_column_needs_no_name(tmp_path: Path) -> None:
    assert read_messages(put(tmp_path, "a.csv", "said\nhello\n")).texts == ("hello",)


def test_a_named_column_goes_before_the_usual_ones(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", "text,answer\nno,yes\n")
    assert read_messages(path, "answer").texts == ("yes",)


@pytest.mark.parametrize("column", [None, "txet"])
def test_where_the_column_is_not_there_those_that_are_are_listed(tmp_path: Path, column: str | None) -> None:
    said = fault(put(tmp_path, "a.csv", "who,words\nann,hello\n"), column)
    assert "--column" in said
    assert "'who', 'words'" in said


# What is left out


def test_rows_that_cannot_be_read_are_named_by_their_lines(tmp_path: Path) -> None:
    lines = [
        b'{"text": "good"}',
        b"{broken",
        b'{"text": "\xff"}',
        b"[1]",
        b'{"other": "x"}',
        b'{"text": 5}',
        b'{"text": ""}',
        b'{"text": "also good"}',
        b'{"text": [{"role": "assistant", "content": "x"}]}',
    ]
    made = read_messages(put(tmp_path, "a.jsonl", b"\n".join(lines)))
    assert made.texts == ("good", "also good")
    assert made.blank == 1
    assert [problem.place for problem in made.problems] == [f"line {n}" for n in (2, 3, 4, 5, 6, 9)]
    said = [problem.text for problem in made.problems]
    assert said[0].startswith("malformed JSON")
    assert said[1:4] == ["not UTF-8", "not a JSON object", "has no 'text'"]
    assert "neither text nor a conversation" in said[4]


def test_csv_rows_of_another_width_or_encoding_are_named_by_their_lines(tmp_path: Path) -> None:
    data = b'id,text\n1,good\n2\n3,"two\nlines"\n4,a,b\n5,\xff\n6,fine\n'
    made = read_messages(put(tmp_path, "a.csv", data))
    assert made.texts == ("good", "two\nlines", "fine")
    assert [(p.place, p.text) for p in made.problems] == [
        ("line 3", "1 fields for 2 columns"),
        ("line 6", "3 fields for 2 columns"),
        ("line 7", "not UTF-8"),
    ]


def test_a_stray_quote_in_csv_costs_its_row_alone(tmp_path: Path) -> None:
    made = read_messages(put(tmp_path, "a.csv", 'id,text\n1,"a"b\n2,fine\n'))
    assert made.texts == ("fine",)
    assert made.problems[0].place == "line 2"
    assert "malformed CSV" in made.problems[0].text


def test_an_endless_line_is_left_out_and_not_held_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 50)
    lines = json.dumps({"text": "x" * 500}) + "\n" + json.dumps({"text": "short"}) + "\n"
    made = read_messages(put(tmp_path, "a.jsonl", lines))
    assert made.texts == ("short",)
    assert [problem.place for problem in made.problems] == ["line 1"]


def test_a_lone_surrogate_in_json_does_not_get_through(tmp_path: Path) -> None:
    made = read_messages(put(tmp_path, "a.jsonl", '{"text": "a \\ud800 b"}\n{"text": "fine"}\n'))
    assert "".join(made.texts).encode()  # can be written as UTF-8


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.txt", "hello", "'.txt'"),
        ("a.jsonl", "", "no messages found"),
        ("a.jsonl", "{", "line 1: malformed JSON"),
        ("a.csv", "text\n\n", "no messages found"),
        ("a.parquet", "PAR1 not", "invalid Parquet file"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, name: str, data: str, said: str) -> None:
    line = fault(put(tmp_path, name, data))
    assert said in line
    assert str(tmp_path / name) in line


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    assert "No such file" in fault(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "cannot be read" in fault(tmp_path / "folder.csv")


def test_a_pipe_without_a_writer_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a regular file" in fault(tmp_path / "pipe.csv")


# How much


def test_more_than_can_be_taken_in_is_refused_and_a_sample_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_MESSAGES", 3)
    path = put(tmp_path, "a.csv", "text\na\nb\nc\nd\n")
    assert "--sample" in fault(path)
    made = read_messages(path, sample=2)
    assert (len(made.texts), made.found) == (2, 4)


def test_a_sample_is_seeded_and_gives_each_message_the_same_chance(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", "text\n" + "\n".join(f"m{n}" for n in range(10)) + "\n")
    assert read_messages(path, sample=4, seed=7) == read_messages(path, sample=4, seed=7)
    drawn = Counter(text for seed in range(500) for text in read_messages(path, sample=4, seed=seed).texts)
    # binomial(500, 0.4): mean 200, standard deviation 11
    assert len(drawn) == 10
    assert all(150 < count < 250 for count in drawn.values())


def test_a_sample_of_more_than_there_is_takes_all_in_order(tmp_path: Path) -> None:
    assert read_messages(put(tmp_path, "a.csv", "text\na\nb\n"), sample=9).texts == ("a", "b")
