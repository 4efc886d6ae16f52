"""Wrong rows are refused with table, column, row and value, before anything is written."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from for_each import for_each
from salon_store import SCHEMAS, ResultStore, RowError, checked
from salon_taxonomy.records import Battle, Mode, Run, Winner

Battles = Callable[..., pl.DataFrame]
NAIVE = datetime(2026, 1, 1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATE_EARLY_NEVER = pl.Series([NOON, NOON - timedelta(seconds=1), None])


@pytest.mark.parametrize(
    ("change", "column", "row", "value"),
    [
        (lambda f: f.drop("winner"), "winner", None, None),
        (lambda f: f.with_columns(wnner=pl.lit("tie")), "wnner", None, None),
        (lambda f: f.with_columns(model_a=pl.lit(3)), "model_a", 1, 3),
        (lambda f: f.with_columns(weight=pl.Series(["a", "b", "c"])), "weight", 1, "a"),
        (lambda f: f.with_columns(is_anchor=pl.Series([None, 1, 0])), "is_anchor", 2, 1),
        (lambda f: f.with_columns(labels=pl.Series([[1], [], []])), "labels", 1, [1]),
        (lambda f: f.with_columns(battle_id=pl.Series(["a", None, "c"])), "battle_id", 2, None),
        (lambda f: f.with_columns(battle_id=pl.Series(["a", "b", ""])), "battle_id", 3, ""),
        (lambda f: f.with_columns(winner=pl.Series(["tie", "tie", "A"])), "winner", 3, "A"),
        (lambda f: f.with_columns(weight=pl.Series([1.0, float("nan"), 1.0])), "weight", 2, None),
        (lambda f: f.with_columns(weight=pl.Series([1.0, 1.0, float("inf")])), "weight", 3, float("inf")),
        (lambda f: f.with_columns(weight=pl.Series([1.0, -0.5, 1.0])), "weight", 2, -0.5),
        (lambda f: f.with_columns(weight=pl.Series([1.0, None, 1.0])), "weight", 2, None),
        (lambda f: f.with_columns(model_b=pl.Series(["x", "flux", "y"])), "model_b", 2, "flux"),
        (lambda f: f.with_columns(labels=pl.Series([["a"], ["a", ""], []])), "labels", 2, ["a", ""]),
        (lambda f: f.with_columns(labels=pl.Series([["a"], ["a", None], []])), "labels", 2, ["a", None]),
        (lambda f: f.with_columns(started_at=pl.Series([None, NAIVE, None])), "started_at", 2, NAIVE),
        (lambda f: f.with_columns(started_at=pl.lit("2026-01-01")), "started_at", 1, "2026-01-01"),
        (lambda f: f.with_columns(started_at=pl.lit(NOON), answered_at=LATE_EARLY_NEVER), "answered_at", 2, None),
    ],
)  # fmt: skip
def test_a_wrong_frame_is_refused_by_name_and_nothing_is_written(
    store: ResultStore, battles: Battles, change: Callable[[pl.DataFrame], pl.DataFrame], column: str, row: int, value: object
) -> None:
    with pytest.raises(RowError) as caught:
        store.append("battles", change(battles(3)), run_id="r")
    assert (caught.value.table, caught.value.column, caught.value.row) == ("battles", column, row)
    if value is not None:
        shown = caught.value.value
        assert (shown.to_list() if isinstance(shown, pl.Series) else shown) == value
    assert store.read("battles").collect().is_empty()
    assert not list((store.path / "battles").glob("*.parquet"))


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("count", [9 * 10**18, -9 * 10**18])
def test_a_time_that_no_reader_has_a_value_for_is_refused(battles: Battles, unit: Any, count: int) -> None:
    times = pl.Series([None, count, None], dtype=pl.Int64).cast(pl.Datetime(unit, "UTC"))
    frame = battles(3).with_columns(started_at=times)
    if unit == "ns":  # 1684 and 2255
        assert checked(frame, SCHEMAS["battles"])["started_at"].null_count() == 2
        return
    with pytest.raises(RowError) as caught:
        checked(frame, SCHEMAS["battles"])
    assert (caught.value.column, caught.value.row, caught.value.value) == ("started_at", 2, f"{count} {unit}")


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)])
def test_the_first_and_the_last_time_of_python_are_taken(battles: Battles, moment: datetime) -> None:
    frame = battles(1).with_columns(answered_at=pl.Series([moment]))
    assert checked(frame, SCHEMAS["battles"])["answered_at"].item() == moment


def test_a_list_in_an_error_is_shown_on_one_line(battles: Battles) -> None:
    with pytest.raises(RowError) as caught:
        checked(battles(1).with_columns(labels=pl.Series([["a", ""]])), SCHEMAS["battles"])
    assert "at least 1 character, got ['a', '']" in str(caught.value)


def test_an_unknown_value_is_answered_with_the_vocabulary(battles: Battles) -> None:
    with pytest.raises(RowError) as caught:
        checked(battles(1).with_columns(winner=pl.lit("A")), SCHEMAS["battles"])
    assert caught.value.allowed == ("model_a", "model_b", "both_good", "both_bad", "tie")


def test_a_score_needs_a_value_or_a_reason_but_not_both() -> None:
    row = {"run_id": ["r"], "suite": ["s"], "task": ["t"], "subject_model": ["m"], "dimension": ["d"], "judge": ["j"]}
    for value, reason in ((None, None), (1.0, "timeout")):
        frame = pl.DataFrame(row | {"value": [value], "unscored_reason": [reason]}, schema_overrides={"value": pl.Float64})
        with pytest.raises(RowError, match="exactly one of value and unscored_reason"):
            checked(frame, SCHEMAS["scores"])


def test_a_rating_off_its_scale_is_refused() -> None:
    row = {"rating_id": "r", "prompt_id": "p", "generation_id": "g", "model": "m", "dimension": "d", "rater_id": "a"}
    frame = pl.DataFrame([row | {"value": 6, "scale_min": 1, "scale_max": 5}])
    with pytest.raises(RowError, match="between scale_min and scale_max"):
        checked(frame, SCHEMAS["ratings"])


def test_columns_that_may_be_left_out_are_filled_with_their_default(battles: Battles) -> None:
    filled = checked(battles(2), SCHEMAS["battles"])
    assert filled.schema == SCHEMAS["battles"].polars
    assert filled["weight"].to_list() == [1.0, 1.0]
    assert filled["labels"].to_list() == [[], []]
    assert filled["suite"].to_list() == [None, None]


def test_types_are_widened_where_nothing_is_lost(battles: Battles) -> None:
    moment = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    frame = battles(2).with_columns(
        pl.col("winner").cast(pl.Enum(["model_a", "tie"])),
        pl.col("mode").cast(pl.Categorical),
        weight=pl.lit(2, dtype=pl.UInt8),
        started_at=pl.Series([moment, None]).dt.cast_time_unit("ms"),
        suite=pl.lit(None),
    )
    widened = checked(frame, SCHEMAS["battles"])
    assert widened.schema == SCHEMAS["battles"].polars
    assert widened["started_at"].to_list() == [datetime(2026, 1, 1, 10, tzinfo=UTC), None]


@for_each(("seed", "fits"), [(2**64 - 1, False), (2**63, False), (2**63 - 1, True), (0, True)])
def test_a_whole_number_beyond_64_bits_is_refused_not_wrapped(seed: int, fits: bool) -> None:
    seeds = pl.Series([1, seed, 2], dtype=pl.UInt64)
    runs = pl.DataFrame({"run_id": ["a", "b", "c"], "suite": ["s"] * 3, "salon_version": ["1"] * 3, "seed": seeds})
    if fits:
        assert checked(runs, SCHEMAS["runs"])["seed"].to_list() == [1, seed, 2]
    else:
        with pytest.raises(RowError, match="does not fit") as caught:
            checked(runs, SCHEMAS["runs"])
        assert (caught.value.row, caught.value.column, caught.value.value) == (2, "seed", seed)


@for_each(("seed", "fits"), [(2**70, False), (2**63, False), (2**63 - 1, True), (-(2**63), True), (-(2**63) - 1, False)])
def test_a_record_whose_seed_is_beyond_64_bits_is_refused(tmp_path: Path, seed: int, fits: bool) -> None:
    store = ResultStore.open(tmp_path / "results")
    runs = [Run(run_id=name, suite="s", salon_version="1", seed=seed if name == "b" else None) for name in "abc"]
    if fits:
        store.append("runs", runs, run_id="r")
        assert store.read("runs").collect()["seed"].to_list() == [None, seed, None]
    else:
        with pytest.raises(RowError, match="64 bits") as caught:
            store.append("runs", runs, run_id="r")
        assert (caught.value.row, caught.value.column) == (2, "seed")


def test_a_record_of_another_table_is_refused(store: ResultStore) -> None:
    battle = Battle(battle_id="b0", model_a="flux", model_b="sdxl", winner=Winner.MODEL_A, rater_id="ann", mode=Mode.PUBLIC)
    with pytest.raises(RowError, match="no record of the table") as caught:
        store.append("battles", [battle, Run(run_id="r", suite="s", salon_version="1")], run_id="r")
    assert caught.value.row == 2


def test_records_and_frames_make_the_same_rows(store: ResultStore, battles: Battles) -> None:
    record = Battle(battle_id="b0", model_a="flux", model_b="sdxl", winner=Winner.MODEL_A, rater_id="ann", mode=Mode.PUBLIC)
    store.append("battles", [record], run_id="records")
    assert store.read("battles").collect().equals(checked(battles(1), SCHEMAS["battles"]))


def test_lists_become_lists_of_texts_alone(battles: Battles) -> None:
    for kind in (pl.List(pl.Categorical), pl.List(pl.Enum(["a", "b"])), pl.Array(pl.String, 1), pl.List(pl.Null)):
        given = [[], []] if kind == pl.List(pl.Null) else [["a"], ["b"]]
        frame = battles(2).with_columns(labels=pl.Series(given, dtype=kind))
        assert checked(frame, SCHEMAS["battles"])["labels"].to_list() == given
    wrong = (("labels", ["a", "b"]), ("labels", [[1], [2]]), ("weight", [["1"], ["2"]]), ("suite", [["a"], ["b"]]))
    for column, given in wrong:
        with pytest.raises(RowError, match=r"expected .*, got") as caught:
            checked(battles(2).with_columns(pl.Series(column, given)), SCHEMAS["battles"])
        assert (caught.value.column, caught.value.row) == (column, 1)
