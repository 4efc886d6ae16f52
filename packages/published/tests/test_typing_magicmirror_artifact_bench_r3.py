"""The typed tables of MagicMirror, Artifact-Bench and R³-Bench stay as when every cell had been compared with the paper."""

import hashlib
from decimal import Decimal

import pytest

from salon_published import table, tables
from salon_published.manifest import TEXT_UNIT
from salon_published.tables import DATA

# table: data rows, columns that are not keys, sum of all numbers with the digits as printed, head of the file's SHA-256
PINNED = {
    "magicmirror:1": (8, 9, "25.2696", "7aca4287fe35c90d"),
    "magicmirror:2": (8, 12, "26.6385", "e0d8dc4a7c9150b9"),
    "magicmirror:3": (14, 5, "4149.02", "a4541649dd42f3cf"),
    "magicmirror:4": (5, 9, "25.9576", "0bd65f69c0d14d67"),
    "magicmirror:5": (26, 5, "2235711.74", "454cc917e1e610e7"),
    "magicmirror:6": (5, 12, "29.8181", "d53da5ee663f8953"),
    "magicmirror:7": (14, 8, "6363.02", "d7cc306789b8fe70"),
    "artifact-bench:1": (6, 10, "45922", "3b33f4c502631fa6"),
    "artifact-bench:2": (20, 13, "9575.4", "eeee169f52186917"),
    "artifact-bench:3": (13, 1, "3300", "aeb05aa95533fde0"),
    "r3:1": (18, 19, "179.34", "391199cb8d78fc50"),
    "r3:2": (13, 8, "56.113", "56bd9af74a1da9c4"),
    "r3:3": (10, 6, "29.914", "cf9cc3b2bf456537"),
    "r3:4": (5, 4, "6.42", "dd48bd5d468737ba"),
    "r3:5": (8, 8, "43.914", "939e48d5706f0953"),
    "r3:6": (4, 2, "5.821", "092f7d3b696c96f3"),
    "r3:7": (5, 4, "8.617", "e8c2310092812964"),
    "r3:8": (9, 4, "97.57", "3d39f16e88acd74d"),
    "r3:9a": (3, 3, "5.561", "60713b130ad3e75e"),
    "r3:9b": (5, 3, "9.32", "012b4778efa2e705"),
    "r3:10a": (4, 4, "3.299", "ca24b8b285c9243e"),
    "r3:10b": (3, 3, "292.84", "d8a0424ce6838859"),
    "r3:11": (25, 1, "0", "d91276ec0575d735"),
}
# table, row, column, cell: where a typist would tidy what the paper prints
AS_PRINTED = [
    ("magicmirror:3", "Hidream-l1", "overall", "58.08"),
    ("magicmirror:5", "L3: Trunk Structure Deformity", "share", "0.1"),
    ("magicmirror:5", "Total", "cot", "1835"),
    ("r3:1", "SLD", "non_spatial.s_rect", "-0.24"),
    ("r3:4", "HRM", "s_rect_gain", "+0.09"),
    ("r3:10a", "GPT-5.2", "difference.high", "+0.050"),
    ("r3:11", "Learning Rate", "value", "1×10^-6"),
]


def test_exactly_these_tables_of_the_three_papers_are_published() -> None:
    assert [each.id for each in tables() if not each.id.startswith(("prism:", "mef:"))] == list(PINNED)


@pytest.mark.parametrize("table_id", PINNED)
def test_a_typed_table_has_not_changed_since_it_was_compared_with_the_paper(table_id: str) -> None:
    found = table(table_id)
    numbers = [cell for name in found.columns if found.describe(name).unit != TEXT_UNIT for cell in found.printed[name]]
    content = (DATA / found.spec.file).read_bytes()
    whole = sum(Decimal(cell) for cell in numbers if cell is not None)
    head = hashlib.sha256(content).hexdigest()[:16]
    assert (len(found.names), len(found.columns), str(whole), head) == PINNED[table_id]
    assert b"\r" not in content


@pytest.mark.parametrize(("table_id", "row", "column", "cell"), AS_PRINTED)
def test_digits_stand_as_printed_even_where_they_look_odd(table_id: str, row: str, column: str, cell: str) -> None:
    found = table(table_id)
    assert found.printed[column][found.place(row)] == cell


def test_refined_systems_are_named_after_what_they_refine() -> None:
    assert table("r3:2").names[3:5] == ("Bagel", "Bagel + R³-Refiner")
    assert table("r3:5").names[:2] == ("Qwen-Image 0", "+ Best-of-N 3")
