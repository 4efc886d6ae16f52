"""The typed tables of PRISM-Bench and MEF stay as they were when every cell had been compared with the paper."""

import csv
import hashlib
from decimal import Decimal
from pathlib import Path

import pytest

from salon_published import check, registry, tables
from salon_published.rounding import MatchWithPrinted

DATA = Path(registry.__file__).parent / "data"

# table: data rows, columns that are not keys, sum of all cells with the digits as printed, head of the file's SHA-256
PINNED = {
    "prism:1": (19, 24, "31343.0", "782cb6123fbb1c89"),
    "prism:2": (7, 24, "11727.4", "7f8eaf0102004336"),
    "prism:3": (4, 14, "33.492", "b6be2211ce4a666b"),
    "prism:4": (19, 24, "30279.8", "24d39eba7be948b1"),
    "prism:5": (7, 24, "10724.90", "7e14f7c3744d7a65"),
    "prism:6": (3, 24, "4958.7", "f9cb916cd482ab3e"),
    "prism:7": (3, 7, "17.55", "e5a78702dfb1c1e6"),
    "mef:2": (18, 1, "266", "a2a3067c6d141005"),
    "mef:3": (3, 4, "2.133", "056a3cde3dbaa3ad"),
    "mef:4": (12, 12, "74765", "3badd93754a6fe00"),
    "mef:5": (12, 12, "73659", "62abe48cf6bc30cf"),
    "mef:6": (11, 3, "35059", "d9cd2629fc78b8f4"),
    "mef:7": (6, 18, "390.99", "4a01a14282126a69"),
    "mef:8": (6, 21, "88.44", "793b19f4dbd92d27"),
    "mef:9": (3, 3, "141.2", "64df1158efc21508"),
    "mef:10": (5, 4, "5051.0", "0f37cf4a0d9b27ef"),
}
PRISM = [
    "SD1.5",
    "SD2.1",
    "SDXL",
    "JanusPro-7B",
    "Playground",
    "FLUX.1-schnell",
    "Bagel",
    "Bagel-CoT",
    "SD3-Medium",
    "SD3.5-Medium",
    "HiDream-II-Dev",
    "SD3.5-Large",
    "FLUX.1-dev",
    "FLUX.1-Krea-dev",
    "HiDream-II-Full",
    "SEEDream 3.0",
    "Qwen-Image",
    "Gemini2.5-Flash-Image",
    "GPT-Image-1 [High]",
]
PRISM_ZH = ["HiDream-II-Dev", "HiDream-II-Full", "Bagel-CoT", "Bagel", "Qwen-Image", "SEEDream 3.0", "GPT-Image-1 [High]"]
BOARD = [
    "GPT-4o",
    "Seedream 3.0",
    "Imagen 3",
    "Ideogram 3.0",
    "Luma",
    "Flux.1 Kontext [pro]",
    "Reve Image 1.0",
    "Ideogram 2.0",
    "Seedream 2.1",
    "Recraft V3 Raw",
    "Flux 1.1 [pro]",
    "Midjourney V6.1",
]
SIX = ["Seedream 3.0", "GPT-4o", "Imagen 3", "Ideogram 3.0", "Flux 1.1 [pro]", "Midjourney V6.1"]
# table, row, column, cell: where a typist would tidy what the paper prints
AS_PRINTED = [
    ("prism:5", "SEEDream 3.0", "composition.alignment", "90.30"),
    ("prism:4", "Bagel", "overall.aesthetic", "56.6"),
    ("prism:4", "Bagel-CoT", "overall.aesthetic", "56.5"),
    ("prism:7", "+ FLUX-Reason-6M", "single_object", "1.00"),
    ("mef:3", "Structural Accuracy & Aesthetic Quality", "expert_c", "0.27"),
    ("mef:4", "GPT-4o", "film.elo", "1159"),
    ("mef:8", "GPT-4o", "text_expression_form.pronoun_reference", "1.00"),
]


def test_exactly_these_tables_of_the_two_papers_are_published() -> None:
    assert [each.id for each in tables() if each.id.startswith(("prism:", "mef:"))] == list(PINNED)


@pytest.mark.parametrize("table", PINNED)
def test_a_typed_table_has_not_changed_since_it_was_compared_with_the_paper(table: str) -> None:
    published = next(each for each in tables() if each.id == table)
    cells = [cell for column in published.columns for cell in published.printed[column]]
    content = (DATA / published.spec.file).read_bytes()
    found = (
        len(published.names),
        len(published.columns),
        str(sum(map(Decimal, cells))),
        hashlib.sha256(content).hexdigest()[:16],
    )
    assert found == PINNED[table]
    assert b"\r" not in content


@pytest.mark.parametrize(
    ("table", "names"),
    [("prism:1", PRISM), ("prism:2", PRISM_ZH), ("mef:4", BOARD), ("mef:5", BOARD), ("mef:7", SIX), ("mef:8", SIX)],
)
def test_rows_are_called_what_the_paper_calls_them_in_its_order(table: str, names: list[str]) -> None:
    assert next(list(each.names) for each in tables() if each.id == table) == names


def test_both_judges_of_prism_score_the_same_models() -> None:
    rows = {each.id: set(each.names) for each in tables()}
    assert rows["prism:4"] == rows["prism:1"]
    assert rows["prism:5"] == rows["prism:2"]


@pytest.mark.parametrize(("table", "row", "column", "cell"), AS_PRINTED)
def test_digits_stand_as_printed_even_where_they_look_odd(table: str, row: str, column: str, cell: str) -> None:
    published = next(each for each in tables() if each.id == table)
    assert published.printed[column][published.place(row)] == cell


def test_the_agreement_of_the_two_prism_judges_comes_out_exactly() -> None:
    assert [result.agreement for result in check("prism:3").results] == [MatchWithPrinted.EXACT] * 14


def test_every_average_of_prism_follows_from_its_parts() -> None:
    for table in ("prism:1", "prism:2", "prism:4", "prism:5", "prism:6", "prism:7"):
        assert check(table).findings == ()


def test_elo_agrees_with_artificial_analysis_as_closely_as_the_paper_says() -> None:
    plain = {
        result.column.split(" with ")[0]: result.recomputed.plain
        for result in check("mef:6").results
        if "Pearson" in result.column
    }
    assert {name: round(value or 0, 3) for name, value in plain.items()} == {
        "Pearson's r of public Elo": 0.796,
        "Pearson's r of expert Elo": 0.751,
    }


def test_what_the_mef_paper_contradicts_is_found_and_explained() -> None:
    findings = [finding for table in PINNED if table.startswith("mef:") for finding in check(table).findings]
    counted = {table: sum(finding.table == table for finding in findings) for table in ("mef:4", "mef:5", "mef:7")}
    assert counted == {"mef:4": 1, "mef:5": 21, "mef:7": 1}
    assert len(findings) == 23
    assert all(finding.reason for finding in findings)


def test_track_columns_hold_one_score_per_benchmark_track_and_judge() -> None:
    seen: dict[tuple[str | None, str | None, str | None], str] = {}
    for each in tables():
        for column in each.columns:
            about = each.describe(column)
            if about.role == "track" and each.id in PINNED:
                rater = (about.benchmark, about.track, about.judge)
                assert None not in rater
                assert seen.setdefault(rater, f"{each.id}!{column}") == f"{each.id}!{column}"
    counted = {each.id: sum(place.startswith(f"{each.id}!") for place in seen.values()) for each in tables()}
    assert {table: number for table, number in counted.items() if number} == {
        **dict.fromkeys(("prism:1", "prism:2", "prism:4", "prism:5"), 7),
        **dict.fromkeys(("mef:4", "mef:5"), 5),
        "mef:6": 1,
        "mef:7": 3,
        "mef:8": 21,
    }


def test_typed_files_hold_no_stray_spaces_or_signs() -> None:
    for table in PINNED:
        path = DATA / f"{table.replace(':', '-')}.csv"
        with path.open(encoding="utf-8", newline="") as opened:
            for line in csv.reader(opened):
                assert [cell for cell in line if cell != cell.strip() or "%" in cell or "*" in cell or "<" in cell] == []
