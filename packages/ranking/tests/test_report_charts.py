"""Charts: the data drawn is the data given, and a missing interval draws no bar."""

import polars as pl
import pytest
import vl_convert

from salon_ranking.report.charts import bump_chart, heat_map, interval_plot

BOARD = pl.DataFrame(
    {
        "rank": [1, 2, 3],
        "model": ["x", "y <b>", "z"],
        "rating": [1100.0, 1000.0, 900.0],
        "ci_low": [1050.0, 1000.0, None],
        "ci_high": [1150.0, 1000.0, None],
    }
)


def rows(specification: dict) -> list[dict]:
    """Every row of every data set inside a specification."""
    return [row for data in specification["datasets"].values() for row in data]


def test_an_interval_plot_carries_every_model_and_its_interval() -> None:
    drawn = {row["model"]: row for row in rows(interval_plot(BOARD)) if "model" in row}
    assert set(drawn) == {"x", "y <b>", "z"}
    assert (drawn["x"]["ci_low"], drawn["x"]["ci_high"]) == (1050.0, 1150.0)
    assert drawn["z"]["ci_low"] is None


def test_models_stand_in_the_order_of_their_ratings() -> None:
    svg = vl_convert.vegalite_to_svg({**interval_plot(BOARD.reverse()), "width": 300})
    assert svg.index(">x<") < svg.index("&lt;b&gt;<") < svg.index(">z<")


@pytest.mark.parametrize("baseline", [None, 1000.0])
def test_every_chart_is_valid_vega_lite(baseline: float | None) -> None:
    cells = pl.DataFrame({"one": ["a", "b"], "other": ["b", "a"], "rho": [0.5, None], "n": [5, 5]})
    ranks = pl.DataFrame(
        {"board": "B", "track": ["t", "t", "u", "u"], "track_order": [0, 0, 1, 1], "model": list("xyxy"), "rank": [1, 1, 1, 2]}
    )
    square = heat_map(cells, rows="one", columns="other", value="rho", note="n", title="ρ", order=["a", "b"])
    for specification in (interval_plot(BOARD, baseline=baseline), square, bump_chart(ranks)):
        assert vl_convert.vegalite_to_svg({**specification, "width": 300}).startswith("<svg")


def test_models_with_equal_ranks_are_drawn_one_under_the_other() -> None:
    ranks = pl.DataFrame({"board": "B", "track": "t", "track_order": 0, "model": ["y", "x", "z"], "rank": [1, 1, 3]})
    places = {row["model"]: (row["place"], row["rank"]) for row in rows(bump_chart(ranks))}
    assert places == {"x": (1, 1), "y": (2, 1), "z": (3, 3)}
