"""Ratings as input: every mistake is named with its place, and nothing hostile gets through."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_ranking.errors import RankingError
from salon_ranking.opinion import MosRatings, RatingError, mean_opinion_scores
from salon_taxonomy.records import Rating

GOOD = pl.DataFrame(
    {
        "rating_id": ["r1", "r2", "r3", "r4"],
        "prompt_id": ["p1", "p1", "p2", "p2"],
        "generation_id": ["g1", "g1", "g2", "g3"],
        "model": ["x", "x", "x", "y"],
        "dimension": ["beauty", "structure", "beauty", "beauty"],
        "value": ["4", "2", "5", "1"],
        "scale_min": ["1", "0", "1", "1"],
        "scale_max": ["5", "10", "5", "5"],
        "rater_id": ["ann", "ann", "bob", "bob"],
    }
)


def changed(column: str, row: int, value: object) -> pl.DataFrame:
    values = GOOD[column].to_list()
    values[row] = value
    return GOOD.with_columns(pl.Series(column, values, strict=False))


def test_scales_and_dimensions_are_those_of_the_rows():
    ratings = MosRatings.from_frame(GOOD)
    assert ratings.scales == {"beauty": (1.0, 5.0), "structure": (0.0, 10.0)}
    assert ratings.frame["value"].to_list() == [4.0, 2.0, 5.0, 1.0]
    assert set(Rating.model_fields) - {"answered_at"} == set(GOOD.columns)


@for_each(
    ("frame", "said"),
    [
        (GOOD.drop("model"), "ratings: missing column 'model'"),
        (changed("rating_id", 2, "r1"), "row 3, column 'rating_id': occurred before: 'r1'"),
        (changed("model", 1, None), "row 2, column 'model': is not given"),
        (changed("rater_id", 1, "  "), "row 2, column 'rater_id': is blank"),
        (changed("value", 3, "NaN"), "row 4, column 'value': is not finite: 'NaN'"),
        (changed("value", 3, "inf"), "row 4, column 'value': is not finite: 'inf'"),
        (changed("value", 0, "good"), "row 1, column 'value': is no number: 'good'"),
        (changed("value", 0, ""), "row 1, column 'value': is not given"),
        (changed("value", 0, None), "row 1, column 'value': is not given"),
        (changed("value", 0, "6"), "row 1, column 'value': is off its scale: 6.0"),
        (changed("value", 0, "0.5"), "row 1, column 'value': is off its scale: 0.5"),
        (changed("scale_max", 3, "7"), "row 4, column 'scale_max': differs within its dimension: 7.0"),
        (changed("scale_min", 1, "10"), "row 2, column 'scale_min': is not below scale_max: 10.0"),
        (changed("prompt_id", 1, "p2"), "row 2, column 'prompt_id': is not that of the same generation before: 'p2'"),
        (changed("model", 1, "y"), "row 2, column 'model': is not that of the same generation before: 'y'"),
        (GOOD.with_columns(value=pl.lit(None)), "row 1, column 'value': is not given"),
        (GOOD.with_columns(value=pl.lit([1.0])), "must hold numbers, not"),
        (GOOD.with_columns(model=pl.lit(1.5)), "must hold names, not"),
        (
            GOOD.with_columns(scenario=pl.Series(["a", "b", "a", "a"])),
            "row 2, column 'scenario': is not that of the same prompt",
        ),
        (GOOD.with_columns(scenario=pl.lit(["a"])), "column 'scenario': must hold text, not 'List(String)'"),
        (GOOD.with_columns(unscored_reason=pl.lit(["a"])), "column 'unscored_reason': must hold text"),
        (GOOD.clear(), "holds no ratings"),
        (GOOD.with_columns(value=pl.lit(None), unscored_reason=pl.lit(" ")), "is missing without an unscored_reason"),
        (GOOD.with_columns(unscored_reason=pl.lit("timeout")), "is given although there is a value: 'timeout'"),
    ],
)
def test_a_wrong_row_is_named_with_row_column_and_value(frame: pl.DataFrame, said: str):
    with pytest.raises(RatingError) as caught:
        MosRatings.from_frame(frame)
    assert said in str(caught.value)


def test_a_mark_that_could_not_be_had_is_counted_and_never_a_score():
    frame = changed("value", 0, None).with_columns(unscored_reason=pl.Series(["refused", None, None, None]))
    ratings = MosRatings.from_frame(frame)
    assert ratings.unscored == {"refused": 1}
    row = mean_opinion_scores(ratings).filter(dimension="beauty", model="x").row(0, named=True)
    assert (row["mean"], row["ratings"], row["unscored"], row["missing_prompts"]) == (5.0, 1, 1, 1)


def test_scenarios_come_from_the_prompts(tmp_path: Path):
    GOOD.write_csv(tmp_path / "ratings.csv")
    pl.DataFrame({"prompt_id": ["p1", "p2", "p3"], "scenario": ["Art", None, "Film"]}).write_csv(tmp_path / "prompts.csv")
    ratings = MosRatings.read(tmp_path / "ratings.csv", prompts=tmp_path / "prompts.csv")
    assert ratings.frame["scenario"].to_list() == ["Art", "Art", "(not given)", "(not given)"]
    assert not MosRatings.read(tmp_path / "ratings.csv").has_scenarios


def test_a_prompt_of_two_scenarios_is_refused():
    prompts = pl.DataFrame({"prompt_id": ["p1", "p1"], "scenario": ["Art", "Film"]})
    with pytest.raises(RatingError, match="prompts of ratings, row 2, column 'scenario'"):
        MosRatings.from_frame(GOOD, prompts=prompts)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_every_kind_of_file_is_read_alike(ending: str, tmp_path: Path):
    path = tmp_path / f"ratings.{ending}"
    numbers = GOOD.with_columns(pl.col("value", "scale_min", "scale_max").cast(pl.Int64))
    {"csv": GOOD.write_csv, "jsonl": numbers.write_ndjson, "parquet": numbers.write_parquet}[ending](path)
    assert MosRatings.read(path).frame.equals(MosRatings.from_frame(GOOD).frame)


def test_ratings_and_scenarios_are_read_from_a_store(tmp_path: Path):
    store = pytest.importorskip("salon_store").ResultStore.open(tmp_path / "store")
    numbers = GOOD.with_columns(pl.col("value", "scale_min", "scale_max").cast(pl.Float64))
    store.append("ratings", numbers, run_id="run")
    store.append(
        "prompts", pl.DataFrame({"prompt_id": ["p1"], "suite": ["s"], "text": ["t"], "scenario": ["Art"]}), run_id="run"
    )
    ratings = MosRatings.read(tmp_path / "store")
    assert sorted(ratings.frame["scenario"].unique()) == ["(not given)", "Art"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.csv", None, "there is no such file"),
        ("ratings.txt", b"x", "unknown kind of file '.txt'"),
        ("empty.csv", b"", "cannot be read"),
        ("spoiled.parquet", b"PAR1 nothing", "cannot be read"),
        ("spoiled.jsonl", b"{", "cannot be read"),
        ("folder", None, "no result store"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name: str, content: bytes | None, said: str, tmp_path: Path):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    elif name == "folder":
        path.mkdir()
    with pytest.raises(RatingError) as caught:
        MosRatings.read(path)
    assert said in str(caught.value) and name in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(GOOD.columns),
    st.integers(0, 3),
    st.one_of(st.none(), st.text(max_size=6), st.sampled_from(["-0", "1e999", "0x1", "１", "nan", "5.0000001", "\x00"])),
)
def test_hostile_cells_raise_only_typed_errors(column: str, row: int, value: str | None):
    try:
        ratings = MosRatings.from_frame(changed(column, row, value))
    except RankingError as error:
        assert "ratings" in str(error)
        return
    marks = ratings.frame["value"]
    assert marks.is_finite().all() and mean_opinion_scores(ratings)["mean"].drop_nulls().is_between(0, 10).all()
