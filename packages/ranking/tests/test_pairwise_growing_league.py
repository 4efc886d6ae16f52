"""A growing league: it equals a refit, models join, and no battle counts twice."""

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ranked import tied

from salon_ranking import BattleError, Battles, GrowingLeague, UnratableError, fit, settle_both_bad

WINNERS = ["model_a", "model_b", "both_good", "both_bad", "tie"]


@st.composite
def batches(draw: st.DrawFn) -> list[pl.DataFrame]:
    """Any battles among up to eight models, in one to four batches; later batches may bring new models."""
    count = draw(st.integers(2, 8))
    weight = st.sampled_from([0.0, 0.5, 1.0, 3.0])
    row = st.tuples(st.integers(0, count - 1), st.integers(1, count - 1), st.sampled_from(WINNERS), weight)
    rows = draw(st.lists(row, min_size=4, max_size=80))
    frame = pl.DataFrame(
        {
            "model_a": [f"m{a}" for a, *_ in rows],
            "model_b": [f"m{(a + step) % count}" for a, step, *_ in rows],
            "winner": [winner for *_, winner, _ in rows],
            "weight": [weight for *_, weight in rows],
        }
    )
    cuts = sorted({0, len(rows), *draw(st.lists(st.integers(1, len(rows) - 1), max_size=3))})
    return [frame[low:high] for low, high in itertools.pairwise(cuts)]


def chances(log_strengths: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(log_strengths[None, :] - log_strengths[:, None]))


@given(batches(), st.sampled_from([0.0, 1.0]))
@settings(max_examples=60, deadline=None)
def test_updates_equal_a_refit_to_1e_9(parts: list[pl.DataFrame], prior_ties: float):
    whole = Battles.from_frame(pl.concat(parts), weight="weight")
    assume(whole.count > 0)
    assume(prior_ties > 0 or not whole.cells.components().any())
    arena = GrowingLeague(weight="weight")
    for part in parts:
        arena = arena.update(part)
        if arena.count and (prior_ties or not arena.cells.components().any()):
            arena, _ = arena.fitted(prior_ties=prior_ties)
    _, ratings = arena.fitted(prior_ties=prior_ties)
    again = fit(whole, prior_ties=prior_ties)
    assert ratings.models == again.models
    assert ratings.converged
    assert np.abs(chances(ratings.log_strengths) - chances(again.log_strengths)).max() < 1e-9
    for mine, theirs in zip(arena.cells.columns(), whole.cells.columns(), strict=True):
        assert mine.tolist() == theirs.tolist()


def league(battles: int, seed: int = 0, models: int = 50) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    theta = random.normal(size=models)
    a = random.integers(0, models, battles)
    b = (a + random.integers(1, models, battles)) % models
    won = random.random(battles) < 1 / (1 + np.exp(theta[b] - theta[a]))
    names = np.array([f"m{number:02}" for number in range(models)])
    ids = [f"b{seed}-{number}" for number in range(battles)]
    return pl.DataFrame(
        {"battle_id": ids, "model_a": names[a], "model_b": names[b], "winner": np.where(won, "model_a", "model_b")}
    )


def test_a_fit_that_starts_at_the_last_one_takes_fewer_steps():
    arena, first = GrowingLeague().update(league(20_000)).fitted()
    _, warm = arena.update(league(10, seed=0).with_columns(battle_id=pl.lit("n") + pl.col("battle_id"))).fitted()
    assert warm.iterations < first.iterations
    assert arena.start.keys() == set(first.models)


def test_a_battle_counts_once():
    monday = league(100)
    arena = GrowingLeague().update(monday)
    with pytest.raises(BattleError, match="row 3, column 'battle_id': a battle that is already there: 'b0-7'"):
        arena.update(pl.concat([league(2, seed=1), monday[7:8]]))
    twice = pl.concat([league(2, seed=1)] * 2)
    with pytest.raises(BattleError, match="row 3, column 'battle_id': a battle that is already there: 'b1-0'"):
        arena.update(twice)
    with pytest.raises(BattleError, match="row 1, column 'battle_id': no id"):
        arena.update(monday[:1].with_columns(battle_id=pl.lit(None, dtype=pl.String)))
    assert arena.count == 100


def test_a_wrong_row_leaves_the_arena_as_it_was():
    arena = GrowingLeague().update(league(50))
    with pytest.raises(BattleError, match="unknown winner"):
        arena.update(league(5, seed=2).with_columns(winner=pl.lit("nobody")))
    assert arena.count == 50


def test_files_are_read_and_counts_serve_other_models(tmp_path: Path):
    path = tmp_path / "more.parquet"
    league(500, seed=3).write_parquet(path)
    arena = GrowingLeague().update(league(500)).update(path)
    frame = pl.concat([league(500), league(500, seed=3)])
    assert arena.count == 1000
    assert tied(arena.battles()).ratings == pytest.approx(tied(Battles.from_frame(frame)).ratings)


def test_counts_alone_do_not_tell_both_bad_from_other_ties():
    with pytest.raises(BattleError, match="only counts are left"):
        settle_both_bad(GrowingLeague().update(league(50)).battles(), "own")


def test_an_empty_arena_and_one_without_an_answer_are_refused():
    with pytest.raises(BattleError, match="there are no battles"):
        GrowingLeague().fitted()
    single = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["model_a"]})
    with pytest.raises(UnratableError, match="'x'"):
        GrowingLeague().update(single).fitted()
