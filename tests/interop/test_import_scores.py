"""`bench import scores`: long tables of other benchmarks, and every way in which one can be wrong."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.cli import cli
from bench.errors import UserError
from bench.results import ResultsTree
from bench.results.score_lines import SCENE_FIELDS

HEAD = ",".join(SCENE_FIELDS)
LINES = [
    f"{player},{scene},{judge},{criterion},{1 + (len(player) + int(scene) + len(criterion)) % 5}"
    for player in ("a", "bb", "ccc")
    for scene in ("1", "2", "3")
    for judge in ("x", "y")
    for criterion in ("wit", "style")
]
TABLE = "\n".join([HEAD, *LINES]) + "\n"

Import = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Import:
    """Runs `bench import scores` on a file with the given content."""
    monkeypatch.chdir(tmp_path)
    Path("LICENSE").write_text("Do what you like.\n", encoding="utf-8")

    def imported(content: str | bytes, *words: str, file: str = "scores.csv", name: str = "other") -> Result:
        Path(file).write_bytes(content.encode() if isinstance(content, str) else content)
        options = {
            "--name": name,
            "--title": "Other bench",
            "--language": "ja",
            "--url": "https://example.org",
            "--commit": "1234567",
            "--licence": "MIT",
            "--licence-file": "LICENSE",
        }
        given = [word for pair in options.items() if pair[0] not in words for word in pair]
        scale = [] if "--scale" in words else ["--scale", "1", "5"]
        return CliRunner().invoke(cli, ["import", "scores", file, *given, *scale, *words])

    return imported


def lines_of(name: str = "other") -> list[tuple[object, ...]]:
    table = ResultsTree(Path("results")).score_table(name, "ja")
    assert table is not None
    return [tuple(line) for line in table.lines]


def fault_of(result: Result) -> str:
    """The message of a refused import, which must have written nothing."""
    assert isinstance(result.exception, UserError), result.output
    assert not Path("results").exists() or not list(Path("results").rglob("*"))
    return result.exception.line()


def as_json(text: str) -> str:
    heads, *rows = (line.split(",") for line in text.split())
    return "".join(
        json.dumps({**dict(zip(heads, row, strict=True)), "score": int(row[-1])}) + "\n" for row in rows
    )


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("scores.csv", TABLE.encode()),
        ("scores.CSV", b"\xef\xbb\xbf" + TABLE.encode()),
        ("scores.csv.gz", gzip.compress(TABLE.encode())),
        ("scores.csv", TABLE.replace("\n", "\r\n").encode()),
        ("scores.csv", TABLE.replace("\n", "\n\n").encode()),
        ("scores.tsv", TABLE.replace(",", "\t").encode()),
        ("scores.jsonl", as_json(TABLE).encode()),
        ("scores.ndjson.gz", gzip.compress(as_json(TABLE).encode())),
        ("scores.csv", "\n".join([f"extra,{HEAD}", *(f"é,{line}" for line in LINES)]).encode()),
        ("scores.csv", "\n".join([HEAD, *LINES[::-1]]).encode()),
    ],
)
def test_the_same_scores_in_any_form_become_the_same_files(run: Import, file: str, content: bytes) -> None:
    assert run(TABLE, name="plain").exit_code == 0
    result = run(content, "--changes", "The scores of scores.csv, copied as they are.", file=file)
    assert result.exit_code == 0, result.exception
    plain, other = (Path("results/published", name) for name in ("plain", "other"))
    for path in plain.iterdir():
        assert path.read_bytes() == (other / path.name).read_bytes()


def test_a_parquet_file_is_read(run: Import, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(line) for line in as_json(TABLE).splitlines()]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "scores.parquet")
    assert run((tmp_path / "scores.parquet").read_bytes(), file="scores.parquet").exit_code == 0
    assert len(lines_of()) == len(LINES)
    bad = run(b"PAR1 no", "--name", "bad", file="bad.parquet")
    assert isinstance(bad.exception, UserError)
    assert "Parquet" in bad.exception.line()


def test_columns_of_other_names(run: Import) -> None:
    text = TABLE.replace(HEAD, "model,item,rater,aspect,points")
    names = {"player": "model", "scene": "item", "judge": "rater", "criterion": "aspect", "score": "points"}
    words = [word for field, column in names.items() for word in (f"--{field}", column)]
    assert run(text, *words).exit_code == 0
    assert len(lines_of()) == len(LINES)


def test_a_table_of_one_judge_and_one_criterion(run: Import) -> None:
    text = "player,scene,score\na,1,2\na,2,3\nb,1,4\nb,2,5\n"
    assert run(text, "--one-judge", "x", "--no-criterion").exit_code == 0
    assert lines_of()[0] == ("a", "", "1", "x", "score", 2)


def test_characters_in_situations(run: Import) -> None:
    text = "who,where,player,judge,criterion,score\nc,s,a,x,wit,2\nc,t,a,x,wit,3\n"
    assert run(text, "--character", "who", "--situation", "where").exit_code == 0
    assert lines_of() == [("a", "c", "s", "x", "wit", 2), ("a", "c", "t", "x", "wit", 3)]


def test_scenes_of_two_columns(run: Import) -> None:
    text = "part,id,player,judge,score\np,1,a,x,2\nq,1,a,x,3\n"
    assert run(text, "--scene", "part", "--scene", "id", "--no-criterion").exit_code == 0
    assert [line[2] for line in lines_of()] == ["p / 1", "q / 1"]


def broken(number: int, line: str) -> str:
    """TABLE with another line in place of the one at ``number``."""
    lines = TABLE.split("\n")
    lines[number - 1] = line
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (broken(1, "model,scene,judge,criterion,score"), ("scores.csv:1", "'player'", "--player", "model")),
        (broken(1, "player,scene,rater,criterion,score"), ("'judge'", "--one-judge")),
        ("player,score\na,3\n", ("'scene'", "--scene", "results/external")),
        (broken(1, "player,player,judge,criterion,score"), (":1", "2 columns 'player'")),
        (broken(1, HEAD.replace(",", ";")), (":1", "one column", "commas")),
        (broken(4, LINES[0]), ("scores.csv:4", "line 2")),
        (broken(4, f" {LINES[0]}"), ("scores.csv:4", "line 2")),
        (broken(5, "a,9,x,wit,good"), ("scores.csv:5", "'good'", "not a number")),
        (broken(5, "a,9,x,wit,"), ("scores.csv:5", "score is missing")),
        (broken(5, "a,9,x,wit,nan"), (":5", "not a number")),
        (broken(5, "a,9,x,wit,inf"), (":5", "not a number")),
        (broken(5, "a,9,x,wit,1e999"), (":5", "not a number")),
        (broken(5, "a,9,x,wit,1_0"), (":5", "not a number")),
        (broken(5, "a,9,x,wit,٣"), (":5", "not a number")),
        (broken(5, "a,9,x,wit,6"), ("scores.csv:5", "score 6", "1 to 5")),
        (broken(5, "a,9,x,wit,0.99"), (":5", "score 0.99")),
        (broken(5, "a,,x,wit,2"), (":5", "scene is empty")),
        (broken(5, "a,9,x,wit"), (":5", "4 fields")),
        (broken(5, "a,9,x,wit,2,3"), (":5", "6 fields")),
        (broken(5, 'a,9,"x,wit,2'), (":5", "invalid CSV")),
        (broken(5, "a,9,x\u202e,wit,2"), (":5", "printable")),
        (broken(5, f"{'a' * 201},9,x,wit,2"), (":5", "200")),
        (broken(5, "a,9,x\0,wit,2"), (":5",)),
        ("", ("missing column",)),
        (HEAD, ("no scores",)),
        (TABLE.encode("utf-16"), ("UTF-16",)),
        (broken(5, "a,9,é,wit,2").encode("latin-1"), (":5", "UTF-8")),
        (gzip.compress(TABLE.encode())[:-20], ("gzip",)),
        (b"\x1f\x8b not gzip", ("gzip",)),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", ("Git LFS",)),
    ],
)
def test_a_fault_names_its_line_and_writes_nothing(
    run: Import, content: str | bytes, said: tuple[str, ...]
) -> None:
    fault = fault_of(run(content))
    assert all(word in fault for word in said), fault


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"player": "a"', ("malformed JSON",)),
        ("[1, 2]", ("not a JSON object",)),
        ('{"player": "a", "scene": 1, "judge": "x", "criterion": "wit", "score": 2}', ("a number", "text")),
        (
            '{"player": "a", "scene": "9", "judge": "x", "criterion": "wit", "score": "2"}',
            ("text", "a number"),
        ),
        ('{"player": "a", "scene": "9", "judge": "x", "criterion": "wit", "score": true}', ("not a number",)),
        ('{"player": "a", "scene": "9", "judge": "x", "criterion": "wit"}', ("score is missing",)),
        ('{"player": ["a"], "scene": "9", "judge": "x", "criterion": "wit", "score": 1}', ("player",)),
        (
            '{"player": "a", "scene": "9", "judge": "x", "criterion": "wit", "score": 1e400}',
            ("not a number",),
        ),
        ('{"player": "\\ud800", "scene": "9", "judge": "x", "criterion": "wit", "score": 1}', ("printable",)),
        ("[" * 100_000, ("malformed JSON",)),
    ],
)
def test_a_fault_of_a_json_line_names_it(run: Import, line: str, said: tuple[str, ...]) -> None:
    lines = as_json(TABLE).splitlines()
    lines[4] = line
    fault = fault_of(run("\n".join(lines), file="scores.jsonl"))
    assert "scores.jsonl:5" in fault
    assert all(word in fault for word in said), fault


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scale", "5", "1"), "scale"),
        (("--language", "Japanese"), "language"),
        (("--language", "../x"), "language"),
        (("--url", "javascript:alert(1)"), "https"),
        (("--conversations", "example.org"), "https"),
        (("--title", "a\nb"), "title"),
        (("--title", " "), "title"),
        (("--name", "published"), "reserved"),
        (("--name", "human"), "reserved"),
        (("--name", "Other Bench"), "cannot name"),
        (("--name", "../x"), "cannot name"),
        (("--scene", "judge", "--scene", "judge", "--no-criterion"), "line 2"),
    ],
)
def test_a_fault_of_an_option_is_named_and_nothing_is_written(
    run: Import, words: tuple[str, ...], said: str
) -> None:
    assert said in fault_of(run(TABLE, *words))


def test_an_unknown_file_type_is_named(run: Import) -> None:
    assert "'.xlsx'" in fault_of(run(TABLE, file="scores.xlsx"))


def test_a_table_larger_than_the_limit_is_refused(run: Import, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.results.score_lines.MOST_BYTES", 200)
    assert "larger" in fault_of(run(gzip.compress(TABLE.encode()), file="scores.csv.gz"))
    monkeypatch.setattr("bench.results.score_lines.MOST_ROWS", 3)
    monkeypatch.setattr("bench.results.score_lines.MOST_BYTES", 10**6)
    assert "more than 3" in fault_of(run(TABLE))


@pytest.mark.parametrize("words", [("run",), ("plan",), ("judge", "--judge", "x")])
def test_published_scores_are_neither_run_nor_judged(run: Import, words: tuple[str, ...]) -> None:
    assert run(TABLE).exit_code == 0
    root = Path(__file__).parents[2]
    places = ("--models", str(root / "models.toml"), "--prompts", str(root / "prompts"))
    ended = CliRunner().invoke(cli, [words[0], "other", *words[1:], *places])
    assert isinstance(ended.exception, UserError)
    assert "published" in str(ended.exception)
    assert "bench board other" in ended.exception.hint


def test_a_table_is_replaced_only_on_request(run: Import) -> None:
    assert run(TABLE).exit_code == 0
    before = lines_of()
    again = run(TABLE.replace(",x,", ",z,"))
    assert isinstance(again.exception, UserError)
    assert "--replace" in again.exception.line()
    assert lines_of() == before
    assert run(TABLE.replace(",x,", ",z,"), "--replace").exit_code == 0
    assert {line[3] for line in lines_of()} == {"y", "z"}
    assert sorted(path.name for path in Path("results/published").iterdir()) == ["other"]


def test_missing_and_incomplete_verdicts_are_counted(run: Import) -> None:
    text = "\n".join([HEAD, *LINES[:-3]])
    output = run(text).output
    assert "Missing judgements: 1 " in output
    assert "is missing: 1" in output


def test_a_table_whose_scenes_have_criteria_of_their_own_is_explained(run: Import) -> None:
    text = "player,scene,judge,criterion,score\na,1,x,wit,2\na,2,x,style,3\n"
    assert "second --scene" in fault_of(run(text))
