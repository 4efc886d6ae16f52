"""Hostile battles meet every model: a typed error that names the row, or a documented result; never a silent tie."""

import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked import contextual, tied

from for_each import for_each
from salon_ranking import (
    BattleError,
    Battles,
    GrowingLeague,
    RankingError,
    UnratableError,
    cycle_report,
    fit,
    goodness_of_fit,
    online_elo,
    settle_both_bad,
)

MODELS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "davidson": lambda frame: tied(Battles.from_frame(frame), "davidson"),
    "rao-kupper": lambda frame: tied(Battles.from_frame(frame), "rao-kupper"),
    "contextual": lambda frame: contextual(Battles.from_frame(frame), ["side_a_shown"]),
    "online": online_elo,
    "arena": lambda frame: GrowingLeague().update(frame).fitted(),
    "both_bad": lambda frame: settle_both_bad(Battles.from_frame(frame), "own"),
    "cycles": lambda frame: cycle_report(Battles.from_frame(frame)),
    "fitness": lambda frame: goodness_of_fit(Battles.from_frame(frame), fit(Battles.from_frame(frame))),
}
GOOD = {
    "model_a": ["x", "y", "x"],
    "model_b": ["y", "x", "y"],
    "winner": ["model_a", "model_a", "tie"],
    "side_a_shown": ["left", "left", "right"],
}


@for_each("model", MODELS)
@for_each(
    ("change", "said"),
    [
        ({"winner": ["model_a", "nobody", "tie"]}, "row 2, column 'winner': unknown winner 'nobody'"),
        ({"winner": ["model_a", None, "tie"]}, "row 2, column 'winner': no winner"),
        ({"model_a": ["x", None, "x"]}, "row 2, column 'model_a': no model name"),
        ({"model_a": ["x", " ", "x"]}, "row 2, column 'model_a': empty model name"),
        ({"model_a": ["x", "x", "x"]}, "row 2, column 'model_b': a model against itself"),
    ],
)
def test_a_wrong_row_is_named_by_every_model(model: str, change: dict[str, list[str | None]], said: str):
    with pytest.raises(BattleError) as caught:
        MODELS[model](pl.DataFrame({**GOOD, **change}))
    assert said in str(caught.value)


@pytest.mark.parametrize("model", MODELS)
def test_zero_battles_are_refused_by_every_model(model: str):
    with pytest.raises(BattleError, match="there are no battles"):
        MODELS[model](pl.DataFrame(GOOD).clear())


@pytest.mark.parametrize("model", sorted(MODELS.keys() - {"online", "both_bad", "cycles"}))
def test_a_single_battle_has_no_finite_rating(model: str):
    with pytest.raises(UnratableError, match="'x'"):
        MODELS[model](pl.DataFrame(GOOD).head(1))


@pytest.mark.parametrize("model", ["online", "both_bad", "cycles"])
def test_a_single_battle_is_enough_for_what_needs_no_likelihood(model: str):
    MODELS[model](pl.DataFrame(GOOD).head(1))


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_impossible_weights_are_named(weight: float):
    frame = pl.DataFrame(GOOD).with_columns(w=pl.Series([1.0, weight, 1.0]))
    with pytest.raises(BattleError, match="row 2, column 'w'"):
        GrowingLeague(weight="w").update(frame)
    with pytest.raises(BattleError, match="row 2, column 'w'"):
        tied(Battles.from_frame(frame, weight="w"))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["x", "y", "z", "", "\x1b[31m", "x\x00", None]),
            st.sampled_from(["x", "y", "z", "ÿ" * 50, None]),
            st.sampled_from(["model_a", "model_b", "tie", "both_bad", "both_good", "", "MODEL_A", None]),
            st.sampled_from(["left", "right", "", "1e400", "nan", None]),
        ),
        max_size=12,
    ),
    st.sampled_from(sorted(MODELS)),
)
@settings(max_examples=60, deadline=None)
def test_whatever_stands_in_the_cells_raises_typed_errors_only(rows: list[tuple[str | None, ...]], model: str):
    schema = dict.fromkeys(["model_a", "model_b", "winner", "side_a_shown"], pl.String)
    try:
        MODELS[model](pl.DataFrame(rows, schema=schema, orient="row"))
    except RankingError as error:
        assert str(error)
