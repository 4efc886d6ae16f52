"""Firth's bias reduction: the core, its readable twin, and the penalised likelihood itself; and what else it promises."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from twins import numpy_core

from salon_ranking import Battles, OptionError, UnratableError, differences, explain, fit, rank, rank_by
from salon_ranking.cli.rank import rank as rank_command

SCORE = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5}
Rows = list[tuple[int, int, str, float]]


def battles(rows: Rows, **options: str) -> Battles:
    frame = pl.DataFrame(
        [(f"m{a}", f"m{b}", winner, weight) for a, b, winner, weight in rows],
        schema={"model_a": pl.String, "model_b": pl.String, "winner": pl.String, "weight": pl.Float64},
        orient="row",
    )
    return Battles.from_frame(frame, weight="weight", **options)


def penalised(theta: np.ndarray, rows: Rows) -> float:
    """ln L + ½ ln det of the information about the differences to model 0, row by row; model 0 has strength 0."""
    strength = np.concatenate([[0.0], theta])
    information, value = np.zeros((len(theta), len(theta))), 0.0
    for a, b, winner, weight in rows:
        gap = strength[a] - strength[b]
        value -= weight * (SCORE[winner] * np.logaddexp(0.0, -gap) + (1.0 - SCORE[winner]) * np.logaddexp(0.0, gap))
        edge = np.zeros(len(strength))
        edge[a], edge[b] = 1.0, -1.0
        information += weight / (2.0 + 2.0 * np.cosh(gap)) * np.outer(edge, edge)[1:, 1:]
    return value + 0.5 * float(np.linalg.slogdet(information)[1])


@st.composite
def leagues(draw: st.DrawFn) -> tuple[int, Rows]:
    """Battles that connect all models, whoever won them; some pairs with weights."""
    models = draw(st.integers(2, 6))
    weight = st.sampled_from([1.0, 1.0, 0.3, 2.5]) if draw(st.booleans()) else st.just(1.0)
    winner = st.sampled_from(["model_a", "model_a", "model_b", "tie"])
    chain = [(model, draw(st.integers(0, model - 1))) for model in range(1, models)]
    some = draw(st.lists(st.tuples(st.integers(0, models - 1), st.integers(1, models - 1)), max_size=25))
    pairs = chain + [(a, (a + step) % models) for a, step in some]
    return models, [(a, b, draw(winner), draw(weight)) for a, b in pairs]


@settings(max_examples=25, deadline=None)
@given(leagues())
def test_the_estimate_maximises_the_likelihood_with_jeffreys_penalty(league: tuple[int, Rows]):
    models, rows = league
    found = fit(battles(rows), estimator="firth", baseline="m0")
    assert found.converged
    theta = found.log_strengths[1:] - found.log_strengths[0]
    best = minimize(lambda at: -penalised(at, rows), np.zeros(models - 1), method="BFGS", options={"gtol": 1e-7})
    assert penalised(theta, rows) >= -best.fun - 1e-7
    assert np.abs(theta - best.x).max() <= 1e-3  # as far as BFGS with numerical gradients gets
    with numpy_core():
        twin = fit(battles(rows), estimator="firth", baseline="m0", max_iterations=2000)
    assert np.abs(found.log_strengths - twin.log_strengths).max() <= 1e-6


@settings(max_examples=40, deadline=None)
@given(leagues(), st.permutations(range(6)))
def test_rows_of_weight_0_order_names_and_doubled_rows_change_nothing(league: tuple[int, Rows], names: list[int]):
    models, rows = league
    plain = fit(battles(rows), estimator="firth").log_strengths
    beside = [*rows, (0, 1, "model_a", 0.0), (1, 0, "model_a", 0.0)]
    assert fit(battles(beside), estimator="firth").log_strengths == pytest.approx(plain, abs=1e-8)
    renamed = [(names[a], names[b], winner, weight) for a, b, winner, weight in reversed(rows)]
    other = fit(battles(renamed), estimator="firth")
    place = [other.models.index(f"m{names[model]}") for model in range(models)]
    assert other.log_strengths[place] == pytest.approx(plain, abs=1e-7)
    doubled = [(a, b, winner, 2.0 * weight) for a, b, winner, weight in rows]
    twice = fit(battles(doubled), estimator="firth").log_strengths
    assert twice == pytest.approx(fit(battles(rows + rows), estimator="firth").log_strengths, abs=1e-8)


@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (7, 0), (3, 1), (0, 4)])
def test_of_two_models_each_gets_half_a_win(wins: int, losses: int):
    rows: Rows = [(0, 1, "model_a", 1.0)] * wins + [(0, 1, "model_b", 1.0)] * losses
    found = fit(battles(rows), estimator="firth")
    assert found.log_strengths[0] - found.log_strengths[1] == pytest.approx(np.log((wins + 0.5) / (losses + 0.5)))


def league_of(models: int, count: int, seed: int) -> Rows:
    random = np.random.default_rng(seed)
    strength = np.linspace(0.7, -0.7, models)
    a = random.integers(0, models, count)
    b = (a + random.integers(1, models, count)) % models
    won = random.random(count) < 1 / (1 + np.exp(strength[b] - strength[a]))
    return [(int(x), int(y), "model_a" if w else "model_b", 1.0) for x, y, w in zip(a, b, won, strict=True)]


def test_ratings_of_few_battles_lie_as_far_apart_as_the_truth_and_not_farther():
    slopes: dict[str, list[float]] = {"maximum-likelihood": [], "firth": []}
    for seed in range(200):
        rows = league_of(6, 90, seed)
        for estimator, found in slopes.items():
            try:
                theta = fit(battles(rows), estimator=estimator).log_strengths  # type: ignore[arg-type]
            except UnratableError:
                continue
            truth = np.linspace(0.7, -0.7, 6)
            found.append(float(theta @ truth / (truth @ truth)))
    assert np.mean(slopes["maximum-likelihood"]) > 1.03
    assert np.mean(slopes["firth"]) == pytest.approx(1.0, abs=0.03)


WON_ALL: Rows = [*league_of(4, 60, 1), *[(5, 0, "model_a", 1.0)] * 4]


def test_a_model_that_won_all_is_rated_and_its_interval_is_not_known():
    with pytest.raises(UnratableError, match="won all"):
        fit(battles(WON_ALL))
    for interval in ("percentile", "sandwich"):
        board = rank(battles(WON_ALL), estimator="firth", interval=interval, baseline="m0", replicates=100)  # type: ignore[arg-type]
        rows = {row["model"]: row for row in board.table.iter_rows(named=True)}
        assert rows["m5"]["rating"] == pytest.approx(1000 + 400 * np.log10(9), abs=1e-6)  # a leaf's leverage is 1: 4½ to ½
        assert rows["m5"]["ci_low"] is None and rows["m5"]["ci_high"] is None
        assert rows["m1"]["ci_low"] < rows["m1"]["rating"] < rows["m1"]["ci_high"]
        assert "1 model has no interval" in board.header
        found = differences(battles(WON_ALL), interval=interval, estimator="firth", replicates=100).table  # type: ignore[arg-type]
        with_it = found.filter((pl.col("model_a") == "m5") | (pl.col("model_b") == "m5"))
        assert with_it["p_value"].null_count() == with_it.height == 4
        assert found["p_value"].null_count() == 4


def test_models_that_never_met_are_refused_or_rated_each_league_as_if_alone():
    one, two = league_of(4, 80, 2), [(a + 4, b + 4, winner, weight) for a, b, winner, weight in league_of(3, 60, 3)]
    with pytest.raises(UnratableError, match="never met"):
        fit(battles(one + two), estimator="firth")
    options = {"estimator": "firth", "components": "separate", "interval": "sandwich"}
    whole = rank(battles(one + two), **options).table  # type: ignore[arg-type]
    columns = ["model", "rating", "ci_low", "ci_high"]
    for rows, number in ((one, 0), (two, 1)):
        alone = rank(battles(rows), **options).table.select(columns)  # type: ignore[arg-type]
        for row, expected in zip(whole.filter(component=number).select(columns).rows(), alone.rows(), strict=True):
            assert row[0] == expected[0]
            assert row[1:] == pytest.approx(expected[1:], abs=1e-6)


def test_intervals_do_not_depend_on_threads_and_those_of_the_twin_are_as_wide():
    made = battles(league_of(5, 200, 4))
    drawn = {"estimator": "firth", "replicates": 400, "interval": "percentile"}
    one = rank(made, **drawn, threads=1)
    assert one.table.equals(rank(made, **drawn, threads=2).table)
    assert one.degenerate == 0
    with numpy_core():
        twin = rank(made, **drawn, seed=1)
    sandwich = rank(made, estimator="firth", interval="sandwich")
    for other in (twin, sandwich):
        for row, mine in zip(other.table.iter_rows(named=True), one.table.iter_rows(named=True), strict=True):
            assert row["model"] == mine["model"]
            assert row["ci_high"] - row["ci_low"] == pytest.approx(mine["ci_high"] - mine["ci_low"], rel=0.2)


def test_clusters_widen_intervals_by_either_kind():
    # Every battle five times: clustered by what was repeated, intervals are those of the single battles, nearly.
    rows = league_of(4, 120, 5)
    frame = pl.DataFrame(
        [(f"m{a}", f"m{b}", winner, prompt) for prompt, (a, b, winner, _) in enumerate(rows) for _ in range(5)],
        schema=["model_a", "model_b", "winner", "prompt_id"],
        orient="row",
    )
    made = Battles.from_frame(frame, cluster_by="prompt_id")
    for interval in ("percentile", "sandwich"):
        width = {}
        for cluster in (False, True):
            table = rank(made, estimator="firth", interval=interval, cluster=cluster, replicates=300).table  # type: ignore[arg-type]
            width[cluster] = table.select((pl.col("ci_high") - pl.col("ci_low")).max()).item()
        assert width[True] / width[False] == pytest.approx(5**0.5, rel=0.25)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prior_ties": 1.0}, "prior_ties must be 0"),
        ({"interval": "bca"}, "no intervals of the kind"),
        ({"estimator": "jeffreys"}, "estimator is unknown: 'jeffreys'"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options: dict[str, object], said: str):
    with pytest.raises(OptionError, match=said):
        rank(battles(WON_ALL), **{"estimator": "firth", **options})  # type: ignore[arg-type]


def test_boards_of_groups_explanations_and_records_keep_the_estimator():
    frame = pl.DataFrame(
        [(f"m{a}", f"m{b}", winner, "art") for a, b, winner, _ in WON_ALL],
        schema=["model_a", "model_b", "winner", "scenario"],
        orient="row",
    )
    made = Battles.from_frame(frame)
    (board,) = rank_by(made, "scenario", estimator="firth", interval="sandwich")
    assert board.records()["estimator"].unique().to_list() == ["firth"]
    assert board.table["rating"].null_count() == 0
    assert any("points" in sentence for sentence in explain(board, made, "m1"))


def test_the_command_takes_it_as_a_method(tmp_path: Path):
    votes = tmp_path / "votes.csv"
    pl.DataFrame(
        [(f"m{a}", f"m{b}", winner) for a, b, winner, _ in WON_ALL], schema=["model_a", "model_b", "winner"], orient="row"
    ).write_csv(votes)

    def salon(*arguments: str) -> Result:
        return CliRunner().invoke(rank_command, [str(votes), "--estimator", "firth", *arguments])

    shown = salon("--interval", "sandwich", "--format", "json")
    assert shown.exit_code == 0, shown.exception
    assert json.loads(shown.stdout)[0]["estimator"] == "firth"
    page = tmp_path / "board.html"
    assert salon("--bootstrap", "50", "--output", str(page)).exit_code == 0
    assert "Firth" in page.read_text(encoding="utf-8")
    for refused in (
        ["--ties", "davidson"],
        ["--prior-ties", "1"],
        ["--diagnose"],
    ):
        assert isinstance(salon(*refused).exception, OptionError), refused
