"""Battles on their way in: labels, weights, clusters, and every mistake named where it stands."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_ranking import BattleError, Battles

GOOD = {"model_a": ["x", "y", "x"], "model_b": ["y", "z", "z"], "winner": ["model_a", "tie", "both_bad"]}


def frame(**changes: object) -> pl.DataFrame:
    return pl.DataFrame({**GOOD, **changes})


def test_models_are_in_the_order_of_their_names_whatever_the_order_of_rows():
    forward = Battles.from_frame(frame())
    backward = Battles.from_frame(frame().reverse())
    assert forward.models == backward.models == ("x", "y", "z")
    for left, right in zip(forward.cells.columns(), backward.cells.columns(), strict=True):
        assert left.tolist() == right.tolist()


def test_every_kind_of_tie_counts_as_a_tie():
    matches, wins, ties, losses = Battles.from_frame(frame()).cells.records()
    assert matches.tolist() == [2, 2, 2]
    assert wins.tolist() == [1, 0, 0]
    assert ties.tolist() == [1, 1, 2]
    assert losses.tolist() == [0, 1, 0]


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["z", "y", "x", "unused"])])
def test_categories_are_read_like_text(dtype: pl.DataType):
    typed = frame().with_columns(pl.col("model_a", "model_b").cast(dtype))
    assert Battles.from_frame(typed).models == ("x", "y", "z")


def test_lazy_frames_and_frames_in_many_chunks_are_read():
    many = pl.concat([frame()] * 50, rechunk=False)
    assert Battles.from_frame(many.lazy()).count == 150
    assert Battles.from_frame(many).count == 150


def test_more_models_than_the_counting_table_holds_are_counted_alike():
    names = [f"m{number:05}" for number in range(3000)]
    ring = pl.DataFrame({"model_a": names, "model_b": names[1:] + names[:1], "winner": ["model_a"] * 3000})
    battles = Battles.from_frame(ring)
    assert battles.cells.records()[1].tolist() == [1.0] * 3000


def test_weights_are_summed_and_battles_of_weight_zero_left_out():
    battles = Battles.from_frame(frame(weight=[2.0, 0.5, 0.0]), weight="weight")
    assert battles.count == 2
    assert battles.cells.records()[0].tolist() == [2.0, 2.5, 0.5]


def test_a_model_with_only_weightless_battles_is_no_model():
    assert Battles.from_frame(frame(weight=[1, 0, 0]), weight="weight").models == ("x", "y")


@pytest.mark.parametrize("values", [["p", "q", "p"], [1, 2, 1], [True, False, True]])
def test_clusters_may_be_of_any_plain_type(values: list[object]):
    assert Battles.from_frame(frame(key=values), cluster_by="key").cells.clusters == 2


@pytest.mark.parametrize(
    ("changes", "row", "column", "value"),
    [
        ({"winner": ["model_a", "A", "tie"]}, 2, "winner", "A"),
        ({"winner": ["model_a", "tie", None]}, 3, "winner", None),
        ({"winner": ["", "tie", "tie"]}, 1, "winner", ""),
        ({"winner": ["Model_A", "tie", "tie"]}, 1, "winner", "Model_A"),
        ({"model_a": [None, "y", "x"]}, 1, "model_a", None),
        ({"model_b": ["y", "", "z"]}, 2, "model_b", ""),
        ({"model_b": ["y", " \t", "z"]}, 2, "model_b", " \t"),
        ({"model_b": ["y", "z", "x"]}, 3, "model_b", "x"),
    ],
)
def test_the_first_wrong_row_is_named(changes: dict[str, object], row: int, column: str, value: object):
    with pytest.raises(BattleError) as caught:
        Battles.from_frame(frame(**changes), source="votes.csv")
    assert (caught.value.source, caught.value.row, caught.value.column) == ("votes.csv", row, column)
    assert caught.value.value == value


@pytest.mark.parametrize(
    "weights",
    [
        [1.0, float("nan"), 1.0],
        [1, -1, 1],
        [1.0, float("inf"), 1.0],
        ["1", "heavy", "1"],
        [1, None, 1],
        [1.0, 1e308, 1.0],
        [1.0, 1e-300, 1.0],
    ],
)
def test_weights_that_are_no_weights_are_refused(weights: list[object]):
    with pytest.raises(BattleError) as caught:
        Battles.from_frame(frame(w=weights), weight="w")
    assert (caught.value.row, caught.value.column) == (2, "w")


def test_a_null_cluster_is_refused():
    with pytest.raises(BattleError, match="row 2, column 'prompt'"):
        Battles.from_frame(frame(prompt=["p", None, "q"]), cluster_by="prompt")


@pytest.mark.parametrize("column", ["model_a", "model_b", "winner"])
def test_a_missing_column_is_named_with_those_there_are(column: str):
    with pytest.raises(BattleError, match=f"missing column '{column}'"):
        Battles.from_frame(frame().drop(column))


@pytest.mark.parametrize("column", ["model_a", "winner"])
def test_a_column_of_the_wrong_type_is_refused(column: str):
    with pytest.raises(BattleError, match="must hold text, not 'Int64'"):
        Battles.from_frame(frame(**{column: [1, 2, 3]}))


def test_no_battles_at_all_are_read_as_none():
    assert Battles.from_frame(frame().clear()).models == ()


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5), st.text(max_size=8)), max_size=20))
def test_whatever_the_text_only_battle_errors_are_raised(rows: list[tuple[str, str, str]]):
    columns = pl.DataFrame(rows, schema={"model_a": pl.String, "model_b": pl.String, "winner": pl.String}, orient="row")
    try:
        battles = Battles.from_frame(columns)
    except BattleError as error:
        assert 1 <= (error.row or 0) <= len(rows)
    else:
        assert battles.count == len(rows)
        assert list(battles.models) == sorted({name for row in rows for name in row[:2]})
