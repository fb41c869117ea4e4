"""The command as its user meets it: forms, examples, and what is wrong with what was typed."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path

import click
import jsonschema
import pytest
from click.testing import CliRunner, Result

from bench.agreement.forms import COLUMNS, TABLES
from bench.agreement.report import agreement_of
from bench.cli import cli
from bench.errors import UserError
from tests.agreement.made_study import STUDY, study_tree
from tests.sharing import computed_once, shared_folder

pytestmark = pytest.mark.filterwarnings("error")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Few resamples, and each study measured once: no test here looks at an interval."""
    once = computed_once(shared_folder(tmp_path_factory), partial(agreement_of, resamples=200))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.agreement.report.agreement_of", once)
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("agreement-cli") / "results"
    study_tree(root, failure_rate=0.1, refusal_rate=0.2, scenes=2)
    return root


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["agreement", *words])


@lru_cache
def of_study(results: Path, *words: str) -> str:
    made = run("synthetic", "-l", "en", "--study", STUDY, "--results", str(results), *words)
    assert made.exception is None, made.exception
    return made.output


def refused(*words: str) -> str:
    made = run(*words)
    assert isinstance(made.exception, UserError), made.output
    return made.exception.line()


def test_a_study_says_its_suite_and_language_itself(results: Path) -> None:
    made = run("--study", STUDY, "--results", str(results))
    assert made.exception is None, made.exception
    assert made.output == of_study(results)


def test_text_has_the_papers_tables(results: Path) -> None:
    text = of_study(results, "--ensemble", "aspen,outsider")
    for words in (
        "Judges against people: synthetic 1 (pingpong_v2)",
        "Avg(aspen, outsider)",
        "Differences between judges, final",
        "Weighted by PageRank",
        "Annotators, final",
        "mean of all (the paper's row)",
        "mean of the others",
        "Krippendorff's alpha",
        "Players in the sample",
        "Largest disagreements between judges and people",
        "a judgement that saw a refusal in any turn is left out",
    ):
        assert words in text
    assert "nan" not in text.lower()


def test_a_small_p_is_bold_on_a_terminal_only(results: Path, tmp_path: Path) -> None:
    """The columns stay aligned: style codes take no width."""
    words = ["agreement", "--study", STUDY, "--results", str(results)]
    styled = CliRunner().invoke(cli, words, color=True).output
    plain = of_study(results)
    assert re.search("\x1b\\[1m[^\x1b]* p<0.0001 [^\x1b]*\x1b\\[0m", styled)
    assert not re.search("\x1b\\[1m[^\x1b]* p=", styled)
    assert re.search("p=0\\.[0-9]{4} ", plain)
    assert click.unstyle(styled) == plain
    path = tmp_path / "agreement.txt"
    of_study(results, "-o", str(path))
    assert path.read_text(encoding="utf-8") == plain


def test_json_is_as_its_schema(results: Path) -> None:
    data = json.loads(of_study(results, "--format", "json"))
    schema = json.loads((ROOT / "schemas" / "agreement.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data | {"something_odd": 1}, schema)
    assert data["refusals"] == "left-out"


def test_csv_holds_every_figure_of_the_json(results: Path) -> None:
    data = json.loads(of_study(results, "--format", "json"))
    rows = list(csv.DictReader(io.StringIO(of_study(results, "--format", "csv"))))
    assert tuple(rows[0]) == COLUMNS
    assert {row["table"] for row in rows} == set(TABLES)
    judged, people = data["judged"][0], data["people"]
    count = len(judged["figures"]) + len(judged["differences"]) + len(judged["ensembles"])
    count += sum(way["over_mean"] is not None for way in judged["ensembles"])
    count += len(people["pairs"]) + 2 * len(people["each"]) + len(people["alpha"])
    assert len(rows) == count + len(data["sample"]["players"])
    for row in rows:
        assert row["value"] or row["reason"] or row["table"] == "player"
        assert "nan" not in row["value"].lower()
    judge = next(row for row in rows if row["table"] == "judge")
    assert float(judge["value"]) == judged["figures"][0]["value"]


def test_output_is_written_once(results: Path, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "agreement.json"
    assert "written" in of_study(results, "--format", "json", "-o", str(path))
    of_study.cache_clear()
    assert "unchanged" in of_study(results, "--format", "json", "-o", str(path))
    assert json.loads(path.read_text(encoding="utf-8"))["name"] == STUDY


def test_players_can_be_drawn(results: Path) -> None:
    data = json.loads(of_study(results, "--format", "json", "--resample", "players"))
    assert data["unit"] == "players"
    assert any("resample players" in note for note in data["notes"])


def table(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    """Rho of 1..4 with 1, 3, 2, 4 is 1 - 6 * 2 / (4 * 15) = 0.8; the empty cell leaves no pair."""
    path = table(tmp_path / "s.csv", "h,j,k", "1,1,4", "2,3,3", "3,2,2", "4,4,1", ",5,2", "NA,2,2")
    made = run("--table", path, "--human", "h", "--judges", "j,k", "--format", "json")
    figures = {f["name"]: f for f in json.loads(made.output)["judged"][0]["figures"]}
    assert (figures["j"]["n"], figures["j"]["value"]) == (4, 0.8)
    assert figures["k"]["value"] == -1.0


def test_spaces_around_headings_are_no_part_of_names(tmp_path: Path) -> None:
    path = table(tmp_path / "s.csv", " h, j", "1, 1", "2, 3", "3, 2", "4, 4")
    made = run("--table", path, "--human", "h", "--judges", "j", "--format", "json")
    assert json.loads(made.output)["judged"][0]["figures"][0]["value"] == 0.8


def test_where_the_plain_mean_has_no_correlation_another_way_is_best_all_the_same(tmp_path: Path) -> None:
    """Two judges of opposite orders: their mean is the same for all items, a weighting of them is not."""
    lines = [f"{n},{n},{-n},p{n % 4}" for n in range(20)]
    path = table(tmp_path / "s.csv", "h,j,k,g", *lines)
    text = run("--table", path, "--human", "h", "--judges", "j,k", "--group", "g").output
    assert "weighted by correlation, cross-validated is best (1.000); the plain mean has no corr" in text
    assert "no ensemble has a correlation" not in text
    assert "0 of 3 are real (Holm's correction for all pairs); 3 cannot be tested" in text


def test_where_nobody_scored_there_is_one_line_and_no_table_of_dashes(tmp_path: Path) -> None:
    path = table(tmp_path / "s.csv", "h,j,k", *[f",{n},{n % 3}" for n in range(8)])
    text = run("--table", path, "--human", "h", "--judges", "j,k").output
    assert "Nobody has scored any item" in text
    assert "Judges against people" not in text


def test_a_table_with_items_and_criteria_has_finals(tmp_path: Path) -> None:
    lines = ["item,what,group,h,j"]
    for item in range(6):
        lines += [f"i{item},x,p{item % 3},{item},{item}", f"i{item},y,p{item % 3},{item % 2},{item % 3}"]
    path = table(tmp_path / "s.csv", *lines)
    words = ["--human", "h", "--judges", "j", "--criterion", "what", "--item", "item", "--group", "group"]
    data = json.loads(run("--table", path, *words, "--format", "json").output)
    assert data["measured"] == ["x", "y", "final"]
    assert {row["player"]: row["items"] for row in data["sample"]["players"]} == {"p0": 2, "p1": 2, "p2": 2}


def test_names_of_a_table_cannot_act_in_a_terminal_or_spreadsheet(tmp_path: Path) -> None:
    path = table(tmp_path / "s.csv", "h,=cmd\x1b[2J", "1,1", "2,3", "3,2", "4,4")
    words = ("--table", path, "--human", "h", "--judges", "=cmd\x1b[2J")
    assert "\x1b" not in run(*words).output
    assert "'=cmd" in run(*words, "--format", "csv").output


@pytest.mark.parametrize(
    ("lines", "words", "said"),
    [
        (["h,j", "1,x"], [], "'x' in column 'j' is not a number"),
        (["h,j", "1,inf"], [], "'inf' in column 'j' is not a number"),
        (["h,j", "1,1e308"], [], "'1e308' in column 'j' is not a number from -1e+09 to 1e+09"),
        (["h,k", "1,2"], [], "has no column 'j'. Its columns: h, k."),
        (["h,j,j", "1,2,3"], [], "has more than one column 'j'"),
        (["h,j"], [], "no lines"),
        (["h,j", "1"], [], "more or fewer cells"),
        (["h,j", "1,2,3"], [], "more or fewer cells"),
        (["h,j,i", "1,2,a", "2,2,a"], ["--item", "i"], "duplicate line for 'a'"),
        (
            ["h,j,i,c,g", "1,2,a,x,p", "2,2,a,y,q"],
            ["--item", "i", "--criterion", "c", "--group", "g"],
            "belongs to",
        ),
        (["h,j", "1,2"], ["--ensemble", "j,m"], "has no judge m"),
        (["h,j", "1,2"], ["--ensemble", "j"], "needs two judges"),
        (["h,j", "1,2"], ["--resample", "players"], "players of some items are not known"),
        (["h,j", "1,2"], ["--study", "s"], "--study cannot be used with --table"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(
    tmp_path: Path, lines: list[str], words: list[str], said: str
) -> None:
    path = table(tmp_path / "s.csv", *lines)
    assert said in refused("--table", path, "--human", "h", "--judges", "j", *words)


def test_what_is_wrong_with_a_study_is_said(results: Path, tmp_path: Path) -> None:
    where = ["--results", str(results)]
    assert "--study is needed" in refused("synthetic", *where)
    assert STUDY in refused("synthetic", *where)
    assert "no study 'other'" in refused("synthetic", "-l", "en", "--study", "other", *where)
    assert "unknown suite 'none'" in refused("none", "-l", "en", "--study", STUDY, *where)
    assert "unknown language" in refused("synthetic", "-l", "ru", "--study", STUDY, *where)
    assert "no results of suite 'demo'" in refused("demo", "-l", "en", "--study", STUDY, *where)
    assert "no such folder" in refused(
        "demo", "-l", "en", "--study", STUDY, "--results", str(tmp_path / "no")
    )
    assert "--human needs --table" in refused("synthetic", "--human", "a", *where)
    assert "needs --human and --judges" in refused("--table", "x.csv", "--human", "a")
    assert "cannot be read" in refused("--table", str(tmp_path), "--human", "a", "--judges", "b")


def test_help_teaches() -> None:
    text = run("--help").output
    assert "1: same order" in text
    assert "Examples" in text
