"""The shipped tables as frames: complete, typed as printed, and one long frame of all cells."""

import polars as pl
import pytest

from salon_published import cells, load, table, tables
from salon_published.tables import CELL_SCHEMA, DATA
from salon_taxonomy.errors import InputError

# every table that holds numbers; lettered parts as the papers letter them
EXPECTED = [
    *(f"magicmirror:{n}" for n in range(1, 8)),
    *(f"artifact-bench:{n}" for n in range(1, 4)),
    *(f"r3:{n}" for n in (*range(1, 9), "9a", "9b", "10a", "10b", 11)),
    *(f"prism:{n}" for n in range(1, 8)),
    *(f"mef:{n}" for n in range(2, 11)),
]


def test_every_numeric_table_of_the_five_papers_is_there_in_order() -> None:
    assert [each.id for each in tables()] == EXPECTED


def test_every_shipped_csv_file_belongs_to_a_table() -> None:
    assert {path.name for path in DATA.glob("*.csv")} == {each.spec.file for each in tables()}


def test_a_table_is_a_frame_with_keys_first() -> None:
    frame = load("r3:2")
    assert frame.columns[:3] == ["model", "refiner", "color"]
    assert frame.schema["model"] == pl.String and frame.schema["color"] == pl.Float64
    assert frame.shape == (13, 10)


def test_words_stay_words_and_gaps_are_null() -> None:
    assert load("r3:10a")["significant"].to_list() == ["No", "Yes", "Yes", "Yes"]
    assert load("r3:7")["n1"].null_count() == 1


@pytest.mark.parametrize("wrong", ["prism:11", ":1", "", "prism-1", "\x1b[2J"])
def test_an_unknown_table_is_refused_with_what_looks_like_it(wrong: str) -> None:
    with pytest.raises(InputError, match="no such published table") as caught:
        table(wrong)
    assert caught.value.allowed


def test_close_ids_are_offered_first() -> None:
    with pytest.raises(InputError) as caught:
        table("prsm:1")
    assert caught.value.allowed is not None and caught.value.allowed[0] == "prism:1"


def test_cells_hold_every_printed_cell_once() -> None:
    frame = cells()
    assert frame.schema == pl.Schema(CELL_SCHEMA)
    assert frame.height == sum(len(each.names) * len(each.columns) for each in tables())
    assert frame.select("table", "row", "column").is_duplicated().sum() == 0


def test_a_cell_says_what_it_is() -> None:
    cell = cells().filter(
        (pl.col("table") == "magicmirror:3") & (pl.col("key") == "FLUX.1-dev") & (pl.col("column") == "human")
    )
    assert cell.row(0, named=True) == {
        "table": "magicmirror:3",
        "row": 1,
        "key": "FLUX.1-dev",
        "model": "flux.1-dev",
        "column": "human",
        "printed": "46.00",
        "value": 46.0,
        "decimals": 2,
        "unit": "percent",
        "direction": "higher",
        "benchmark": "MagicBench",
        "track": "human",
        "dimension": "artifacts",
        "judge": "MagicAssessor-7B",
        "role": "track",
        "derived": True,
        "n": None,
    }


def test_numbers_and_digits_are_those_that_were_printed() -> None:
    numbers = cells().drop_nulls("value")
    reprinted = [
        f"{value:+.{digits}f}" if text.startswith("+") else f"{value:.{digits}f}"
        for value, digits, text in numbers.select("value", "decimals", "printed").iter_rows()
    ]
    assert reprinted == numbers["printed"].to_list()


def test_words_and_gaps_have_no_value() -> None:
    without = cells().filter(pl.col("value").is_null())
    assert set(without.drop_nulls("printed")["unit"]) == {"text"}
    assert without["decimals"].null_count() == without.height


def test_a_track_compares_generators_once_per_benchmark_track_and_judge() -> None:
    tracks = cells().filter(pl.col("role") == "track")
    columns = tracks.select("benchmark", "track", "judge", "table", "column").unique()
    assert columns.null_count().sum_horizontal().item() == 0
    assert columns.select("benchmark", "track", "judge").is_duplicated().sum() == 0
    assert {each.spec.rows for each in tables() if each.id in set(tracks["table"])} == {"generator"}
    assert set(tracks["direction"]) <= {"higher", "lower"}


def test_percentages_and_shares_lie_in_their_range() -> None:
    bounded = {"percent": (0, 100), "fraction": (0, 1), "share of 1": (0, 1), "points of 100": (0, 100)}
    for unit, (low, high) in bounded.items():
        values = cells().filter(pl.col("unit") == unit)["value"].drop_nulls()
        assert values.is_between(low, high).all(), unit
