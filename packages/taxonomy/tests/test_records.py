"""Records take what their tables hold, and refuse everything else."""

import json
import math
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from pydantic import TypeAdapter, ValidationError

from salon_taxonomy.records import (
    TABLES,
    Battle,
    Count,
    Finite,
    Generation,
    JudgeCall,
    Key,
    LeaderboardRow,
    Name,
    Rating,
    Record,
    Reward,
    Run,
    Score,
)
from salon_taxonomy.testing import battles, ratings, records, scores
from salon_taxonomy.verdict import Reason

BATTLE = {
    "battle_id": "b1", "model_a": "alpha", "model_b": "beta", "winner": "model_a", "rater_id": "r1", "mode": "expert",
}  # fmt: skip
SCORE = {
    "run_id": "r", "suite": "s", "task": "t", "subject_model": "m", "dimension": "d", "value": 0.5, "judge": "j",
}  # fmt: skip
RATING = {
    "rating_id": "1", "prompt_id": "p", "generation_id": "g", "model": "m", "dimension": "aesthetics", "value": 4,
    "scale_min": 1, "scale_max": 5, "rater_id": "r",
}  # fmt: skip
BOARD = {
    "leaderboard_id": "l", "board": "b", "model": "m", "rank": 1, "rating": 1000.0, "matches": 2.0, "win_rate": 0.5,
    "solver": "newton",
}  # fmt: skip
REWARD = {"run_id": "r", "step": 0, "completion_id": "c", "reward": "format", "value": 1.0}
GENERATION = {"generation_id": "g", "prompt_id": "p", "model": "m", "uri": "a.png", "sha256": "0" * 64}
CALL = {
    "call_id": "c", "run_id": "r", "judge": "j", "judge_version": "1", "request_sha256": "a" * 64, "attempt": 1, "status": "ok",
}  # fmt: skip
RUN = {"run_id": "r", "suite": "s", "salon_version": "0.1.0"}

tables = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def refused(table: type[Record], row: dict, field: str | None = None) -> None:
    with pytest.raises(ValidationError) as caught:
        table(**row)
    if field is not None:
        assert field in {str(error["loc"][0]) for error in caught.value.errors()}


@tables
def test_every_table_can_be_generated_and_comes_back_from_json(table):
    @settings(max_examples=20)
    @given(row=records(table))
    def comes_back(row):
        assert table.model_validate_json(row.model_dump_json()) == row
        assert json.loads(row.model_dump_json()).keys() == table.model_fields.keys()

    comes_back()


@tables
def test_an_unknown_column_is_refused(table):
    @settings(max_examples=20)
    @given(row=records(table))
    def refuses(row):
        refused(table, {**row.model_dump(), "colour": "red"}, "colour")

    refuses()


@tables
def test_a_row_cannot_be_changed(table):
    @settings(max_examples=20)
    @given(row=records(table))
    def stays(row):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(row, next(iter(table.model_fields)), "x")

    stays()


@tables
def test_the_key_of_a_table_is_its_first_column_and_never_empty(table):
    key = next(iter(table.model_fields))
    assert key.endswith("_id")
    assert table.model_fields[key].is_required()


@pytest.mark.parametrize(
    ("table", "row", "column"),
    [
        (Score, SCORE, "value"),
        (Rating, RATING, "value"),
        (Rating, RATING, "scale_min"),
        (Battle, BATTLE, "weight"),
        (LeaderboardRow, BOARD, "rating"),
        (LeaderboardRow, BOARD, "ci_low"),
        (LeaderboardRow, BOARD, "win_rate"),
        (Reward, REWARD, "weight"),
        (JudgeCall, CALL, "latency_ms"),
        (JudgeCall, CALL, "cost_usd"),
    ],
)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), "NaN"])
def test_nan_and_infinities_are_refused(table, row, column, value):
    table(**row)
    refused(table, {**row, column: value}, column)


@pytest.mark.parametrize(
    ("table", "row", "column", "value"),
    [
        (Battle, BATTLE, "winner", "model_c"),
        (Battle, BATTLE, "winner", "MODEL_A"),
        (Battle, BATTLE, "winner", None),
        (Battle, BATTLE, "mode", "robot"),
        (Battle, BATTLE, "side_a_shown", "top"),
        (Battle, BATTLE, "weight", -1),
        (Battle, BATTLE, "model_a", ""),
        (Battle, BATTLE, "battle_id", "x" * 201),
        (Battle, BATTLE, "labels", ("",)),
        (Battle, BATTLE, "rater_id", "\ud800"),
        (Generation, GENERATION, "sha256", "0" * 63),
        (Generation, GENERATION, "sha256", "0" * 63 + "\n"),
        (Generation, GENERATION, "sha256", "A" * 64),
        (Generation, GENERATION, "width", 0),
        (Generation, GENERATION, "sample", -1),
        (JudgeCall, CALL, "attempt", 0),
        (JudgeCall, CALL, "http_status", 99),
        (JudgeCall, CALL, "http_status", 600),
        (JudgeCall, CALL, "prompt_tokens", -1),
        (LeaderboardRow, BOARD, "rank", 0),
        (LeaderboardRow, BOARD, "win_rate", 1.01),
        (LeaderboardRow, BOARD, "confidence", 1.0),
        (Run, RUN, "started_at", datetime(2026, 1, 1)),
        (Run, RUN, "started_at", "2026-01-01T00:00:00"),
        (Score, SCORE, "value", 10**400),
    ],
)
def test_values_out_of_range_name_their_column(table, row, column, value):
    table(**row)
    refused(table, {**row, column: value}, column)


def test_times_with_a_zone_are_kept():
    assert Run(**RUN, started_at="2026-01-01T01:00:00+01:00").started_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_a_model_never_meets_itself():
    refused(Battle, {**BATTLE, "model_b": "alpha"})


@pytest.mark.parametrize(("table", "row"), [(Score, SCORE), (Reward, REWARD)])
def test_a_score_has_a_value_or_a_reason_and_never_both(table, row):
    assert table(**{**row, "value": None, "unscored_reason": "timeout"}).value is None
    assert table(**{**row, "value": 0.0}).value == 0.0
    refused(table, {**row, "value": None})
    refused(table, {**row, "unscored_reason": "timeout"})


@pytest.mark.parametrize("value", [0.99, 5.01])
def test_a_rating_lies_on_its_scale(value):
    refused(Rating, {**RATING, "value": value})


def test_every_reason_of_a_verdict_fits_the_column_of_reasons():
    for reason in Reason:
        assert Score(**{**SCORE, "value": None, "unscored_reason": reason}).unscored_reason == reason


@given(battle=battles(), score=scores(), rating=ratings())
def test_the_named_strategies_give_rows_of_their_tables(battle, score, rating):
    assert battle.model_a != battle.model_b
    assert (score.value is None) != (score.unscored_reason is None)
    assert rating.scale_min <= rating.value <= rating.scale_max


def test_a_name_a_key_and_a_number_take_what_lies_within_their_limits_and_no_more():
    for kind, allowed, refused_values in (
        (Finite, [0.0, -1.7e308], [math.inf, -math.inf, math.nan]),
        (Key, ["k", "k" * 200], ["", "k" * 201]),
        (Name, ["n", "n" * 400], ["", "n" * 401]),
        (Count, [0, 2**62], [-1]),
    ):
        adapter = TypeAdapter(kind)
        for value in allowed:
            assert adapter.validate_python(value) == value
        for value in refused_values:
            with pytest.raises(ValidationError):
                adapter.validate_python(value)
