"""Definitions worked out by hand, beside the code that has them in a shorter form: borders, signs and effective numbers."""

from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

from salon_ranking import Battles, OptionError, fit, rank
from salon_ranking.agreement import cohen_kappa
from salon_ranking.agreement import label_intervals as intervals
from salon_ranking.models.options import FitOptions
from salon_ranking.models.ratings import fitted
from salon_ranking.opinion.weights import dimension_weights
from salon_ranking.raters import RaterPolicy, RaterReason, check_raters
from salon_ranking.scheduling.planning import Voting
from salon_ranking.scheduling.simulation import SimulatedLeague
from salon_ranking.uncertainty.quantiles import least_units
from salon_ranking.uncertainty.sandwich import free_parameters, inverse_curvature, prior_of
from salon_ranking.uncertainty.simultaneous import _joint_quantile, _largest, certain
from salon_ranking.uncertainty.uncertainty import AnalyticUncertainty


def votes(battles: int = 120, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, battles)
    b = (a + rng.integers(1, 4, battles)) % 4
    won = rng.random(battles) < 1 / (1 + np.exp(0.4 * (a - b)))
    return pl.DataFrame(
        {"model_a": [f"m{x}" for x in a], "model_b": [f"m{x}" for x in b], "winner": np.where(won, "model_a", "model_b")}
    )


@pytest.mark.parametrize("prior_ties", [0.0, 0.5, 4.0, 40.0])
def test_the_number_of_free_parameters_is_the_trace_of_the_hat_matrix(prior_ties: float):
    (league,) = fitted(Battles.from_frame(votes()), FitOptions(prior_ties=prior_ties)).leagues
    values = league.estimate.values
    rows, prior = league.likelihood.at(values).by_row(), prior_of(league.likelihood, values)
    bread = inverse_curvature(rows, prior, 4)
    first, second, along, _ = rows.roots()
    matrix = along[:, None] * (np.eye(4)[first] - np.eye(4)[second])
    assert free_parameters(bread, prior, 4) == pytest.approx(np.trace(matrix @ bread @ matrix.T))
    assert free_parameters(bread, prior, 4) < 3.0 + 1e-9


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_every_replicate_of_kappa_is_the_kappa_of_the_drawn_things(weights: str, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    first = rng.integers(0, 4, 25)
    second = np.clip(first + rng.integers(-1, 3, 25), 0, 3)
    seen: list[np.ndarray] = []

    def kept(replicates: np.ndarray, estimate: np.ndarray, units: int, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        seen.extend([replicates[:, 0], estimate])
        return estimate, estimate

    monkeypatch.setattr(intervals, "expanded_interval", kept)
    intervals.kappa_interval(first, second, 4, weights=weights, replicates=30, confidence=0.95, seed=3)
    drawn, estimate = seen
    assert estimate[0] == pytest.approx(cohen_kappa(first, second, weights=weights))
    cells, counts = np.unique(first * 4 + second, return_counts=True)
    for value, times in zip(drawn, np.random.default_rng(3).multinomial(25, counts / 25, size=30), strict=True):
        things = np.repeat(cells, times)
        categories = [0, 1, 2, 3]
        assert value == pytest.approx(cohen_kappa(things // 4, things % 4, weights=weights, categories=categories))


@pytest.mark.parametrize("confidence", [0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("clustered", [False, True])
def test_the_least_number_of_units_is_the_first_whose_outermost_resample_is_rare_enough(confidence: float, clustered: bool):
    stats = pytest.importorskip("scipy.stats")
    for units in range(2, 40):
        reach = stats.t.isf((1 - confidence) / 2, units - 1) if clustered else stats.norm.isf((1 - confidence) / 2)
        if float(units) ** -units <= stats.norm.sf(reach):
            break
    assert least_units(confidence, clustered=clustered) == units


@pytest.mark.parametrize("units", [1, 3, 4, 100])
def test_too_few_units_make_no_pair_certain_however_far_apart(units: int):
    apart = AnalyticUncertainty(np.arange(2), 1, np.array([50.0, 0.0]), covariance=np.eye(2) * 1e-4, units=units)
    assert certain([apart], 0.95, 200, 0)[0].tolist() == [[False, units >= 4], [False, False]]
    other = AnalyticUncertainty(np.arange(2), 1, np.array([5.0, 0.0]), covariance=np.eye(2) * 1e-4)
    assert certain([apart, other], 0.95, 200, 0)[1][0, 1], "a league that says nothing takes nothing from another"


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_with_few_units_pairs_are_certain_by_sidaks_correction(confidence: float):
    pairs = 1.0 - np.eye(4)
    found = _joint_quantile([_largest(np.zeros((999, 4)), pairs, True)], confidence)
    assert found == pytest.approx(NormalDist().inv_cdf(0.5 + 0.5 * confidence ** (1 / 6)), abs=1e-9)


def test_the_chart_says_how_its_intervals_were_made():
    battles = Battles.from_frame(votes())
    for options, method in (({"interval": "sandwich"}, "sandwich"), ({"replicates": 60}, "percentile bootstrap over battles")):
        assert rank(battles, **options).view().chart.description == method
    assert rank(battles, replicates=0).view().chart.description == ""


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 1.5])
def test_a_confidence_of_none_or_all_is_refused(confidence: float):
    with pytest.raises(OptionError, match="between 0 and 1"):
        dimension_weights(votes(), None, confidence=confidence)  # type: ignore[arg-type]


def rater_votes(answers: dict[str, list[str]]) -> pl.DataFrame:
    """Answers of each rater to the same pairs of pictures, one per prompt; None: not asked."""
    rows = [
        {"battle_id": f"{rater}{n}", "rater_id": rater, "prompt_id": f"p{n}", "model_a": "x", "model_b": "y", "winner": winner,
         "generation_a": f"x{n}", "generation_b": f"y{n}"}
        for rater, own in answers.items()
        for n, winner in enumerate(own)
    ]  # fmt: skip
    return pl.DataFrame(rows)


@pytest.mark.parametrize("minimum", [4, 5, 6])
def test_a_rater_of_just_the_least_number_of_answers_sets_the_usual_agreement(minimum: int):
    """Four raters agree in full over 30 pairs; five others answer ten, of which five have a majority without them."""
    right = ["model_a", "model_b"] * 15
    wrong = [*right[:5], *["model_b" if winner == "model_a" else "model_a" for winner in right[5:10]]]
    frame = rater_votes({**dict.fromkeys("abcd", right), "e": wrong, "f": wrong, "g": wrong, "h": wrong, "i": wrong})
    policy = RaterPolicy(consensus_minimum=minimum, consensus_others=1, checks=(RaterReason.AGAINST_CONSENSUS,))
    table = check_raters(frame, policy).table
    values = dict(table.select("rater_id", "against_consensus_threshold").iter_rows())
    # κ of each rater who counts: shares agreed, and by chance, over its own answers.
    per = {}
    for rater in "abcdefghi":
        shared, agreed = (table.filter(rater_id=rater)[name][0] for name in ("shared", "against_consensus_value"))
        per[rater] = (shared, agreed)
    counted = [rater for rater, (shared, _) in per.items() if shared >= minimum]
    assert ("e" in counted) == (minimum <= per["e"][0])
    skills = {rater: _kappa(frame, rater) for rater in counted}
    usual = float(np.median(list(skills.values())))
    for rater in "ae":
        chance = _chance(frame, rater)
        assert values[rater] == pytest.approx(chance + policy.consensus_skill * usual * (1 - chance), abs=1e-6)


def _decided(frame: pl.DataFrame, rater: str) -> tuple[np.ndarray, np.ndarray]:
    """A rater's answers, and the majority's of all others, where there is one."""
    own, most = [], []
    for rows in frame.partition_by("prompt_id"):
        mine = rows.filter(rater_id=rater)["winner"].to_list()
        others = rows.filter(pl.col("rater_id") != rater)["winner"].to_list()
        for_a = others.count("model_a")
        if mine and 2 * for_a != len(others):
            own.append(mine[0] == "model_a")
            most.append(2 * for_a > len(others))
    return np.array(own), np.array(most)


def _chance(frame: pl.DataFrame, rater: str) -> float:
    own, most = _decided(frame, rater)
    return float(own.mean() * most.mean() + (1 - own.mean()) * (1 - most.mean()))


def _kappa(frame: pl.DataFrame, rater: str) -> float:
    own, most = _decided(frame, rater)
    chance = _chance(frame, rater)
    return float(((own == most).mean() - chance) / (1 - chance))


@pytest.mark.parametrize("each", [1, 2, 7])
def test_all_but_the_newcomer_meet_each_other_as_often_as_asked_in_halves(each: int):
    league = SimulatedLeague(np.array([0.5, 0.0, -0.5, 0.2]), Voting(), 1.0, seed=1)
    league.settle(3, each)
    streams = league._streams.sum(axis=2)
    old = [place for place, pair in enumerate(zip(league._first, league._second, strict=True)) if 3 not in pair]
    assert streams[:, old].tolist() == [[-(-each // 2)] * 3, [each // 2] * 3]
    assert streams.sum() == 3 * each


@pytest.mark.parametrize("start", [np.zeros(4), np.array([6.0, -6.0, 3.0, -3.0]), np.array([-12.0, 12.0, 0.0, 0.0])])
def test_the_simulated_fit_is_the_maximum_wherever_it_starts(start: np.ndarray):
    league = SimulatedLeague(np.array([1.0, 0.3, -0.4, -0.9]), Voting(), 0.0, seed=1)
    counts = np.random.default_rng(0).integers(3, 30, (6, 3)).astype(float)
    found = league._fitted(counts, start)
    rows = []
    for pair, (first, second) in enumerate(zip(league._first, league._second, strict=True)):
        for outcome, winner in enumerate(("model_a", "model_b", "tie")):
            rows += [(f"m{first}", f"m{second}", winner)] * int(counts[pair, outcome])
    expected = fit(Battles.from_frame(pl.DataFrame(rows, ["model_a", "model_b", "winner"], orient="row"))).log_strengths
    assert found - found.mean() == pytest.approx(expected, abs=1e-6)
