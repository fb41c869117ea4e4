"""Import published scores of another benchmark from a long table: one row per score."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import RecordError, UserError
from bench.files import MOST_BYTES, write_folder
from bench.foreign import parquet_modules
from bench.results import ResultsTree
from bench.results.score_lines import (
    GRID_FIELDS,
    MOST_ROWS,
    SCENE_FIELDS,
    ScoreLine,
    checked_lines,
    csv_rows,
    read_table,
    text_of,
)
from bench.results.score_tables import ScoreTable, source_of, table_files
from bench.slugs import NOT_SUITES, slug
from bench.toml_entries import unknown_name

ONE_CRITERION = "score"
"""Name of the only criterion of a table without such a column."""
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_JSON = (".jsonl", ".ndjson")
_PARQUET = ".parquet"

Rows = Iterable[tuple[int, Sequence[object]]]


@dataclass(frozen=True)
class TableColumns:
    """Names of the columns of a long table.

    ``scene``: one or more columns that name a scene together. ``grid``: columns of character and situation in
    place of that. ``one_judge``: the only judge, of a table without a column of judges. ``criterion``: None
    for a table with one criterion.
    """

    player: str = "player"
    scene: tuple[str, ...] = ("scene",)
    grid: tuple[str, str] | None = None
    judge: str = "judge"
    one_judge: str | None = None
    criterion: str | None = "criterion"
    score: str = "score"

    @property
    def used(self) -> list[tuple[str, str]]:
        """(option, column) of every column that is read, in the order of the fields."""
        scene = [("scene", name) for name in self.scene]
        if self.grid is not None:
            scene = list(zip(("character", "situation"), self.grid, strict=True))
        judge = [] if self.one_judge is not None else [("judge", self.judge)]
        criterion = [] if self.criterion is None else [("criterion", self.criterion)]
        return [("player", self.player), *scene, *judge, *criterion, ("score", self.score)]


def import_scores(
    tree: ResultsTree,
    path: Path,
    name: str,
    columns: TableColumns,
    about: Mapping[str, object],
    licence: Path,
    *,
    suites: Collection[str] = (),
    replace: bool = False,
) -> ScoreTable:
    """Import the table in ``path`` as results/published/``name``. Nothing is written if anything is wrong.

    Args:
        tree: The results tree.
        path: CSV, TSV, JSON lines or Parquet; the first three may be compressed by gzip.
        name: Name of the table, and of its board.
        columns: Which columns hold what.
        about: Fields of :class:`bench.results.score_tables.ScoreSource`. ``description``, ``changes`` and
            ``conversations`` may be left out.
        licence: File with the text of the licence.
        suites: Names of suites, which a table must not have.
        replace: Replace a table of this name.

    Raises:
        UserError: The name cannot be used, or the table exists.
        RecordError: A line is unusable; it names file and line.
        CatalogError: A field of ``about`` is missing or invalid.
        StorageError: The files cannot be written.
    """
    folder = tree.table_folder(name)
    check_name(tree, name, suites, folder if tree.is_table(name) and not replace else None)
    text = text_of(read_table(licence), str(licence))
    if not text.strip():
        raise UserError("is empty", where=str(licence), hint="Put the text of the licence there.")
    scale = about["scale"]
    assert isinstance(scale, tuple)
    heads, rows = table_rows_of(path)
    lines = checked_lines(
        _chosen(heads, rows, columns, str(path)),
        SCENE_FIELDS if columns.grid is None else GRID_FIELDS,
        scale,
        str(path),
    )
    table = _table(name, lines, about, path)
    if table.incomplete == sum(map(len, table.verdicts.values())):
        hint = (
            "Make a criterion that each scene has alone part of the scene: a second --scene, --no-criterion."
        )
        raise RecordError("no judge gave any scene all criteria", where=str(path), hint=hint)
    write_folder(folder, table_files(table, text), replace=replace)
    return table


def _table(name: str, lines: tuple[ScoreLine, ...], about: Mapping[str, object], path: Path) -> ScoreTable:
    """The table, with what ``about`` leaves out."""
    counts = {
        "players": len({line.player for line in lines}),
        "scenes": len({(line.character, line.situation) for line in lines}),
        "judges": len({line.judge for line in lines}),
        "criteria": len({line.criterion for line in lines}),
    }
    words = ", ".join(f"{count} {noun}" for noun, count in counts.items())
    filled = {
        "description": f"Scores of another benchmark: {words}.",
        "changes": f"The scores of {path.name}, copied as they are.",
        "conversations": about.get("url"),
        **{key: value for key, value in about.items() if value is not None},
    }
    return ScoreTable(name, source_of(lines, filled, "the options"), lines)


def check_name(tree: ResultsTree, name: str, suites: Collection[str], taken: Path | None) -> None:
    """Raise UserError for a name that no imported table may have. ``taken``: folder of a table to keep."""
    if slug(name) != name:
        hint = "Use lower-case letters, digits and '-', such as other-bench."
        raise UserError(f"{name!r} cannot name a table", hint=hint)
    if name in NOT_SUITES:
        raise UserError(f"{name!r} is a reserved name", hint="Choose another with --name.")
    if name in suites or (tree.root / name).is_dir():
        raise UserError(f"{name!r} is the name of a suite", hint="Choose another with --name.")
    if taken is not None:
        hint = "Choose another name with --name, or replace it with --replace."
        raise UserError("exists already", where=str(taken), hint=hint)


def table_rows_of(path: Path) -> tuple[list[str], Rows]:
    """The column names of a table, and its rows with their numbers."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings[-1:] == [".gz"]:
        endings.pop()
    ending = endings[-1] if endings else ""
    if ending in _DELIMITERS:
        return csv_rows(read_table(path), str(path), _DELIMITERS[ending])
    if ending in _JSON:
        return _json_rows(read_table(path), str(path))
    if ending == _PARQUET:
        return _parquet_rows(path)
    known = ", ".join([*_DELIMITERS, *_JSON, _PARQUET])
    raise UserError(f"unsupported file type {ending!r}", where=str(path), hint=f"Use one of: {known}.")


def _json_rows(data: bytes, where: str) -> tuple[list[str], Rows]:
    lines = [(n, line) for n, line in enumerate(text_of(data, where).split("\n"), 1) if line.strip()]
    if not lines:
        raise RecordError("holds no scores", where=where)
    heads = list(_json_object(*lines[0], where))

    def rows() -> Iterator[tuple[int, Sequence[object]]]:
        for number, line in lines:
            record = _json_object(number, line, where)
            yield number, [record.get(head) for head in heads]

    return heads, rows()


def _json_object(number: int, line: str, where: str) -> dict[str, object]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"malformed JSON: {error}", where=f"{where}:{number}") from None
    if not isinstance(data, dict):
        hint = "Write one object per line."
        raise RecordError("the line is not a JSON object", where=f"{where}:{number}", hint=hint)
    return data


def _parquet_rows(path: Path) -> tuple[list[str], Rows]:
    pyarrow, parquet = parquet_modules("import csv or jsonl")
    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(read_table(path)))
        groups = [file.metadata.row_group(n).total_byte_size for n in range(file.num_row_groups)]
        if file.metadata.num_rows > MOST_ROWS or sum(groups) > MOST_BYTES:
            raise RecordError(f"more than {MOST_ROWS:,} scores or {MOST_BYTES:,} bytes", where=str(path))
        table = file.read()
        heads = [str(name) for name in table.column_names]
        values = [column.to_pylist() for column in table.columns]
    except (pyarrow.ArrowException, OSError) as error:
        raise RecordError(f"is not a valid Parquet file: {error}", where=str(path)) from None
    return heads, ((n, row) for n, row in enumerate(zip(*values, strict=True), 1))


def _chosen(heads: list[str], rows: Rows, columns: TableColumns, where: str) -> Rows:
    """The values of the fields in each row. Raises RecordError for a missing or repeated column."""
    for option, name in columns.used:
        if heads.count(name) > 1:
            fault = f"has {heads.count(name)} columns {name!r}"
            raise RecordError(fault, where=f"{where}:1", hint="Give each column its own name.")
        if name not in heads:
            raise _missing(option, name, heads, where)
    scenes = 1 if columns.grid is not None else len(columns.scene)
    at = [heads.index(name) for _, name in columns.used]
    for number, row in rows:
        player, *rest, score = (row[n] for n in at)
        if scenes > 1:
            rest = [_joined(rest[:scenes], f"{where}:{number}"), *rest[scenes:]]
        if columns.one_judge is not None:
            rest.insert(1 if columns.grid is None else 2, columns.one_judge)
        if columns.criterion is None:
            rest.append(ONE_CRITERION)
        yield number, [player, *rest, score]


def _joined(parts: Sequence[object], place: str) -> str:
    """The name of a scene from several columns."""
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, (str, int)) or not str(part).strip():
            raise RecordError("a part of the scene is empty or not a name", where=place, hint="Fill it in.")
    return " / ".join(str(part).strip() for part in parts)


def _missing(option: str, name: str, heads: list[str], where: str) -> UserError:
    if len(heads) == 1 and any(mark in heads[0] for mark in ";\t|"):
        hint = "Is it separated by commas? Save it with commas, or as .tsv with tabs."
        return RecordError("has one column", where=f"{where}:1", hint=hint)
    choose = f"Name the column with --{option}."
    if option == "judge":
        choose += " If there is one judge, name it with --one-judge."
    if option == "criterion":
        choose += " If there is one criterion, use --no-criterion."
    if option == "scene":
        choose += " A list with one score per model has no scenes: it belongs in results/external/."
    near = unknown_name(name, heads, "column", f"{where}:1")
    return RecordError(f"missing column {name!r}", where=near.where, hint=f"{choose} {near.hint}")
