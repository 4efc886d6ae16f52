"""Other packages add rows to a store through an entry point, without importing it."""

from importlib.metadata import entry_points
from pathlib import Path

import polars as pl
import pytest

from salon_store import ResultStore
from salon_store.plugins import open_sink
from salon_taxonomy.errors import InputError

FLAG = pl.DataFrame({"report_id": "x", "rater_id": "ann", "reason": "too_fast", "battles": 3})


def test_the_same_rows_added_twice_stand_once(tmp_path: Path) -> None:
    store = ResultStore.open(tmp_path / "store")
    add = open_sink(store.path)
    assert add is not None
    assert [add("rater_flags", FLAG, "monday"), add("rater_flags", FLAG, "tuesday")] == [1, 0]
    assert store.sql("SELECT rater_id, reason FROM rater_flags").rows() == [("ann", "too_fast")]


def test_wrong_rows_and_unknown_tables_are_refused(tmp_path: Path) -> None:
    add = open_sink(ResultStore.open(tmp_path / "store").path)
    assert add is not None
    with pytest.raises(InputError, match="battles"):
        add("rater_flags", FLAG.drop("battles"), "r")
    with pytest.raises(InputError, match="there is no table"):
        add("flags", FLAG, "r")


def test_what_is_no_store_is_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").touch()
    assert open_sink(tmp_path) is None
    assert open_sink(tmp_path / "votes.csv") is None
    assert list(tmp_path.iterdir()) == [tmp_path / "votes.csv"]


def test_the_entry_point_is_this_function() -> None:
    found = [entry for entry in entry_points(group="salon.sinks") if entry.name == "store"]
    assert [entry.load() for entry in found] == [open_sink]
