"""The typed tables of papers 003 and 004 stay as they were when every cell had been compared with the paper."""

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
    "003:1": (19, 24, "31343.0", "782cb6123fbb1c89"),
    "003:2": (7, 24, "11727.4", "7f8eaf0102004336"),
    "003:3": (4, 14, "33.492", "b6be2211ce4a666b"),
    "003:4": (19, 24, "30279.8", "24d39eba7be948b1"),
    "003:5": (7, 24, "10724.90", "7e14f7c3744d7a65"),
    "003:6": (3, 24, "4958.7", "f9cb916cd482ab3e"),
    "003:7": (3, 7, "17.55", "e5a78702dfb1c1e6"),
    "004:2": (18, 1, "266", "a2a3067c6d141005"),
    "004:3": (3, 4, "2.133", "056a3cde3dbaa3ad"),
    "004:4": (12, 12, "74765", "3badd93754a6fe00"),
    "004:5": (12, 12, "73659", "62abe48cf6bc30cf"),
    "004:6": (11, 3, "35059", "d9cd2629fc78b8f4"),
    "004:7": (6, 18, "390.99", "4a01a14282126a69"),
    "004:8": (6, 21, "88.44", "793b19f4dbd92d27"),
    "004:9": (3, 3, "141.2", "64df1158efc21508"),
    "004:10": (5, 4, "5051.0", "0f37cf4a0d9b27ef"),
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
    ("003:5", "SEEDream 3.0", "composition.alignment", "90.30"),
    ("003:4", "Bagel", "overall.aesthetic", "56.6"),
    ("003:4", "Bagel-CoT", "overall.aesthetic", "56.5"),
    ("003:7", "+ FLUX-Reason-6M", "single_object", "1.00"),
    ("004:3", "Structural Accuracy & Aesthetic Quality", "expert_c", "0.27"),
    ("004:4", "GPT-4o", "film.elo", "1159"),
    ("004:8", "GPT-4o", "text_expression_form.pronoun_reference", "1.00"),
]


def test_exactly_these_tables_of_the_two_papers_are_published() -> None:
    assert [each.id for each in tables() if each.id.startswith(("003:", "004:"))] == list(PINNED)


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
    [("003:1", PRISM), ("003:2", PRISM_ZH), ("004:4", BOARD), ("004:5", BOARD), ("004:7", SIX), ("004:8", SIX)],
)
def test_rows_are_called_what_the_paper_calls_them_in_its_order(table: str, names: list[str]) -> None:
    assert next(list(each.names) for each in tables() if each.id == table) == names


def test_both_judges_of_prism_score_the_same_models() -> None:
    rows = {each.id: set(each.names) for each in tables()}
    assert rows["003:4"] == rows["003:1"]
    assert rows["003:5"] == rows["003:2"]


@pytest.mark.parametrize(("table", "row", "column", "cell"), AS_PRINTED)
def test_digits_stand_as_printed_even_where_they_look_odd(table: str, row: str, column: str, cell: str) -> None:
    published = next(each for each in tables() if each.id == table)
    assert published.printed[column][published.place(row)] == cell


def test_the_agreement_of_the_two_prism_judges_comes_out_exactly() -> None:
    assert [result.agreement for result in check("003:3").results] == [MatchWithPrinted.EXACT] * 14


def test_every_average_of_prism_follows_from_its_parts() -> None:
    for table in ("003:1", "003:2", "003:4", "003:5", "003:6", "003:7"):
        assert check(table).findings == ()


def test_elo_agrees_with_artificial_analysis_as_closely_as_the_paper_says() -> None:
    plain = {
        result.column.split(" with ")[0]: result.recomputed.plain
        for result in check("004:6").results
        if "Pearson" in result.column
    }
    assert {name: round(value or 0, 3) for name, value in plain.items()} == {
        "Pearson's r of public Elo": 0.796,
        "Pearson's r of expert Elo": 0.751,
    }


def test_what_the_mef_paper_contradicts_is_found_and_explained() -> None:
    findings = [finding for table in PINNED if table.startswith("004:") for finding in check(table).findings]
    counted = {table: sum(finding.table == table for finding in findings) for table in ("004:4", "004:5", "004:7")}
    assert counted == {"004:4": 1, "004:5": 21, "004:7": 1}
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
        **dict.fromkeys(("003:1", "003:2", "003:4", "003:5"), 7),
        **dict.fromkeys(("004:4", "004:5"), 5),
        "004:6": 1,
        "004:7": 3,
        "004:8": 21,
    }


def test_typed_files_hold_no_stray_spaces_or_signs() -> None:
    for table in PINNED:
        path = DATA / f"{table.replace(':', '-')}.csv"
        with path.open(encoding="utf-8", newline="") as opened:
            for line in csv.reader(opened):
                assert [cell for cell in line if cell != cell.strip() or "%" in cell or "*" in cell or "<" in cell] == []
