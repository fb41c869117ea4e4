"""The paper's printed leaderboards (Tables 3 and 4) follow from the formulas."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from bench.scores.paper import hundredths, length_factor, ranks

TABLES = {"ru": "table3_ru_leaderboard_top10.csv", "en": "table4_en_leaderboard_top10.csv"}
MEDIAN = {"ru": 320, "en": 529}
SHARED = Path(__file__).parents[2].parent / "shared" / "paper"

# model, length-normalised score, aggregated score, mean answer length in characters, rank by the rule
PRINTED: dict[str, list[tuple[str, float, float, int, int]]] = {
    "ru": [
        ("Claude 3.5 Sonnet", 4.62, 4.68, 388, 1),
        ("Gemini Pro 1.5 002", 4.51, 4.52, 223, 2),
        ("Gemini Pro 1.5", 4.49, 4.49, 213, 2),
        ("GPT-4o Mini", 4.48, 4.49, 329, 2),
        ("GPT-4o", 4.47, 4.47, 301, 2),
        ("Qwen 2.5 72B", 4.45, 4.46, 326, 2),
        ("Gemma 2 Ataraxy 9B", 4.45, 4.45, 302, 2),
        ("Nous Hermes 3 405B", 4.44, 4.44, 286, 8),
        ("Mistral Nemo Vikhr 12B", 4.44, 4.45, 315, 8),
        ("Claude 3 Opus", 4.44, 4.62, 753, 8),
    ],
    "en": [
        ("Claude 3.5 Sonnet", 4.65, 4.65, 418, 1),
        ("Llama 3.1 405B", 4.63, 4.65, 548, 1),
        ("Llama 3.1 70B", 4.63, 4.66, 562, 1),
        ("GPT-4o Mini", 4.56, 4.56, 457, 4),
        ("Claude 3 Opus", 4.56, 4.71, 1032, 4),
        ("Gemini Pro 1.5 002", 4.54, 4.53, 307, 4),
        ("Gemma 2 Ataraxy 9B", 4.52, 4.52, 358, 4),
        ("Qwen 2.5 72B", 4.51, 4.52, 526, 4),
        ("Gemma 2 27B", 4.51, 4.51, 291, 4),
        ("GPT-4o", 4.50, 4.50, 484, 4),
    ],
}
CASES = [(language, *row) for language, rows in PRINTED.items() for row in rows]


@pytest.mark.parametrize(("language", "model", "printed", "aggregated", "length", "rank"), CASES)
def test_formula_gives_the_printed_length_normalised_score(
    language: str, model: str, printed: float, aggregated: float, length: int, rank: int
) -> None:
    assert aggregated * length_factor(length, MEDIAN[language]) == pytest.approx(printed, abs=0.011)


@pytest.mark.parametrize("language", ["ru", "en"])
def test_rank_rule_on_the_printed_scores(language: str) -> None:
    rows = PRINTED[language]
    assert ranks([hundredths(row[1]) for row in rows]) == [row[4] for row in rows]


@pytest.mark.parametrize("language", ["ru", "en"])
def test_our_copy_is_what_the_paper_prints(language: str) -> None:
    path = SHARED / TABLES[language]
    if not path.exists():
        pytest.skip(f"the paper's tables are not beside the repository ({path})")
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    theirs = {
        (
            row["model"],
            float(row["length_norm_score"]),
            float(row["aggregated"]),
            int(row["avg_length_chars"]),
        )
        for row in rows
    }
    assert theirs == {row[:4] for row in PRINTED[language]}


@pytest.mark.parametrize("language", ["ru", "en"])
def test_printed_aggregate_is_the_plain_average_of_the_printed_criteria(language: str) -> None:
    path = SHARED / TABLES[language]
    if not path.exists():
        pytest.skip(f"the paper's tables are not beside the repository ({path})")
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            criteria = [float(row[name]) for name in ("in_character", "entertaining", "fluency")]
            assert sum(criteria) / 3 == pytest.approx(float(row["aggregated"]), abs=0.011), row["model"]
