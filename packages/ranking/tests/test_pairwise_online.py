"""Online Elo: hand-worked battles, the loop in Python as oracle, the order of battles, random orders."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import reference_parameters

from salon_ranking import BattleError, Battles, OptionError, OrderError, online_elo

SCORE = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5, "both_good": 0.5, "both_bad": 0.5}


def votes(seed: int, battles: int = 400, models: int = 6) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    a = random.integers(0, models, battles)
    b = (a + random.integers(1, models, battles)) % models
    names = np.array([f"m{number}" for number in range(models)])
    winner = random.choice(list(SCORE), battles)
    return pl.DataFrame({"model_a": names[a], "model_b": names[b], "winner": winner, "at": np.arange(battles)})


def ratings(table: pl.DataFrame) -> dict[str, float]:
    return dict(table.select("model", "rating").iter_rows())


def test_two_battles_by_hand():
    frame = pl.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "model_b"]})
    # 1000 and 1000: x takes 16 of 32. Then x expects 1/(1 + 10^(-32/400)) = 0.5459, wins again, takes 32 · 0.4541.
    expected = 1 / (1 + 10 ** (-32 / 400))
    found = ratings(online_elo(frame, k=32).table)
    assert found["x"] == pytest.approx(1016 + 32 * (1 - expected))
    assert found["x"] + found["y"] == pytest.approx(2000)


@given(st.integers(0, 1000), st.sampled_from([4.0, 40.0]), st.sampled_from([(10.0, 400.0), (2.718281828, 100.0)]))
@settings(max_examples=30, deadline=None)
def test_the_core_and_a_plain_loop_agree(seed: int, k: float, curve: tuple[float, float]):
    frame = votes(seed)
    base, scale = curve
    table = online_elo(frame, k=k, base=base, scale=scale, initial=1500.0).table.sort("model")
    numbers = [frame[side].str.slice(1).cast(pl.Int64).to_numpy() for side in ("model_a", "model_b")]
    score = frame["winner"].replace_strict(SCORE, return_dtype=pl.Float64).to_numpy()
    oracle = reference_parameters.online_elo(6, numbers[0], numbers[1], score, k, base, scale, 1500.0)
    assert table["rating"].to_list() == pytest.approx(oracle.tolist(), abs=1e-8)
    matches, wins, ties, losses = Battles.from_frame(frame).cells.records()
    for name, column in (("matches", matches), ("wins", wins), ("ties", ties), ("losses", losses)):
        assert table[name].to_list() == column.tolist()


def test_a_file_a_frame_and_battles_give_the_same(tmp_path: Path):
    frame = votes(1)
    path = tmp_path / "votes.parquet"
    frame.write_parquet(path)
    from_file = online_elo(path)
    assert from_file.table.equals(online_elo(frame).table)
    assert from_file.table.equals(online_elo(Battles.from_frame(frame)).table)
    assert "in the order of row" in from_file.header


def test_battles_follow_their_time():
    frame = votes(2)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    assert online_elo(frame, order_by="at").table.equals(online_elo(frame).table)
    assert online_elo(shuffled, order_by="at", out_of_order="sort").table.equals(online_elo(frame).table)
    with pytest.raises(OrderError, match=r"row \d+, column 'at': a time before that of the row above it"):
        online_elo(shuffled, order_by="at")


def test_times_may_be_dates_or_text():
    frame = votes(3, battles=30)
    times = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 30), "1d", eager=True)
    for column in (times, times.dt.strftime("%Y-%m-%dT%H:%M:%S"), times.dt.epoch("s").cast(pl.String)):
        backward = frame.with_columns(at=column).reverse()
        sorted_again = online_elo(backward, order_by="at", out_of_order="sort")
        assert ratings(sorted_again.table) == pytest.approx(ratings(online_elo(frame).table))


@pytest.mark.parametrize("value", [None, "soon"])
def test_a_battle_without_a_time_is_named(value: str | None):
    frame = votes(4, battles=3).with_columns(at=pl.Series(["1", value, "3"]))
    with pytest.raises(OrderError, match="row 2, column 'at': no time to order by"):
        online_elo(frame, order_by="at")


@pytest.mark.parametrize("times", [[1.0, 2.0, float("nan")], ["1", "2", "nan"]])
def test_a_time_that_is_no_number_is_none(times: list[float] | list[str]):
    frame = votes(4, battles=3).with_columns(at=pl.Series(times))
    for out_of_order in ("refuse", "sort"):
        with pytest.raises(OrderError, match="row 3, column 'at': no time to order by"):
            online_elo(frame, order_by="at", out_of_order=out_of_order)


def test_random_orders_are_seeded_and_do_not_depend_on_threads_or_the_order_of_rows():
    frame = votes(5)
    one, two, other = (online_elo(frame, orders=20, seed=s, threads=t, k=16) for s, t in ((1, 1), (1, 3), (2, 2)))
    assert one.table.equals(two.table)
    assert not one.table.equals(other.table)
    assert one.table["spread"].min() > 0  # type: ignore[operator]
    assert "mean over 20 random orders, seed 1" in one.header
    assert online_elo(frame, orders=1).table["spread"].null_count() == 6


def test_the_mean_over_orders_lies_nearer_the_truth_than_one_order():
    random = np.random.default_rng(6)
    theta = np.array([0.6, 0.2, -0.2, -0.6])
    a = random.integers(0, 4, 8_000)
    b = (a + random.integers(1, 4, 8_000)) % 4
    won = random.random(8_000) < 1 / (1 + np.exp(theta[b] - theta[a]))
    names = np.array(list("abcd"))
    frame = pl.DataFrame({"model_a": names[a], "model_b": names[b], "winner": np.where(won, "model_a", "model_b")})
    truth = 1000 + 400 / np.log(10) * theta
    misses = [
        np.abs(online_elo(frame, k=16, orders=orders).table.sort("model")["rating"].to_numpy() - truth).mean()
        for orders in (0, 50)
    ]
    assert misses[1] < misses[0]
    assert misses[1] < 10


def test_bad_input_and_options_are_refused():
    frame = votes(7)
    for option in (
        {"k": 0.0},
        {"base": 1.0},
        {"scale": -1.0},
        {"initial": float("nan")},
        {"orders": -1},
        {"seed": -1},
        {"threads": 0},
    ):
        with pytest.raises(OptionError, match=next(iter(option))):
            online_elo(frame, **option)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="allowed: refuse, sort"):
        online_elo(frame, out_of_order="drop")  # type: ignore[arg-type]
    with pytest.raises(BattleError, match="cannot weigh battles"):
        online_elo(Battles.from_frame(frame.with_columns(w=pl.lit(2.0)), weight="w"))
    with pytest.raises(BattleError, match="there are no battles"):
        online_elo(frame.clear())
    with pytest.raises(BattleError, match="missing column to order by 'when'"):
        online_elo(frame, order_by="when")
    with pytest.raises(BattleError, match="unknown winner"):
        online_elo(frame.with_columns(winner=pl.lit("nobody")))
