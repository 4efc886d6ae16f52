"""Mean opinion scores: Eq. 3 and 4 by hand, comparisons, self-comparison, and what raters keep apart."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from salon_ranking.errors import OptionError
from salon_ranking.opinion import (
    MosRatings,
    dimension_correlations,
    mean_opinion_scores,
    paired_comparisons,
    self_comparison,
    summarise,
)

# MEF paper (004), Table 7: overall means per dimension, in the order of its rows.
MODELS = ("Seedream 3.0", "GPT-4o", "Imagen 3", "Ideogram 3.0", "Flux 1.1 [pro]", "Midjourney V6.1")
TABLE_7 = {
    "Prompt Following": dict(zip(MODELS, (4.23, 4.52, 3.96, 3.91, 3.48, 3.36), strict=True)),
    "Structural Accuracy": dict(zip(MODELS, (3.87, 4.23, 3.79, 3.71, 3.41, 3.31), strict=True)),
    "Aesthetic Quality": dict(zip(MODELS, (3.39, 3.17, 3.12, 3.07, 3.15, 3.38), strict=True)),
}


def rated(marks: dict[tuple[str, str], list[list[float]]], dimension: str = "d", low: float = 1, high: float = 5) -> MosRatings:
    """MosRatings from (model, prompt) → one list of marks (one per rater) for each generation."""
    rows = [
        (model, prompt, f"{model}/{prompt}/{sample}", f"rater{rater}", mark)
        for (model, prompt), samples in marks.items()
        for sample, given_marks in enumerate(samples)
        for rater, mark in enumerate(given_marks)
    ]
    frame = pl.DataFrame(rows, schema=["model", "prompt_id", "generation_id", "rater_id", "value"], orient="row")
    return MosRatings.from_frame(
        frame.with_row_index("rating_id").with_columns(
            dimension=pl.lit(dimension), scale_min=pl.lit(low), scale_max=pl.lit(high)
        )
    )


def simulated(
    seed: int, means: dict[str, float], *, prompts: int, samples: int, within: float, between: float = 0.5
) -> MosRatings:
    """One dimension of continuous marks on a wide scale, so that nothing is cut off."""
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0.0, between, prompts)
    marks = {
        (model, f"p{prompt}"): [[float(mean + difficulty[prompt] + noise)] for noise in rng.normal(0.0, within, samples)]
        for model, mean in means.items()
        for prompt in range(prompts)
    }
    return rated(marks, low=-50, high=50)


def test_mean_and_variance_are_those_of_equations_3_and_4_by_hand():
    # var([1, 3]) = 2, var([4, 4]) = 0, var([2, 5]) = 4.5; n = 3, k = 2: 6.5 / 18.
    row = mean_opinion_scores(rated({("m", "p"): [[1], [3]], ("m", "q"): [[4], [4]], ("m", "r"): [[2], [5]]})).row(
        0, named=True
    )
    assert row["mean"] == pytest.approx((2 + 4 + 3.5) / 3)
    assert row["variance"] == pytest.approx(6.5 / (9 * 2))
    half = stats.t.ppf(0.975, 3) * math.sqrt(6.5 / 18)  # two evaluations each: 3 degrees of freedom
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(row["mean"] - half), 5.0)
    assert (row["prompts"], row["k_min"], row["k_max"], row["evaluations"], row["pooled_prompts"]) == (3, 2, 2, 6, 0)


def test_several_raters_of_one_picture_are_one_evaluation():
    by_picture = rated({("m", "p"): [[1, 3], [4, 4]]})
    row = mean_opinion_scores(by_picture).row(0, named=True)
    assert (row["mean"], row["variance"], row["evaluations"], row["ratings"], row["raters"]) == (3.0, 2.0 / 2, 2, 4, 2)
    single = mean_opinion_scores(by_picture, unit="rating").row(0, named=True)
    assert (single["evaluations"], single["variance"]) == (4, pytest.approx(np.var([1, 3, 4, 4], ddof=1) / 4))


def test_a_model_without_a_mark_stands_last_and_has_no_score():
    ratings = rated({("b", "p"): [[2], [3]], ("c", "p"): [[4], [4]], ("a", "p"): [[1]]})
    frame = ratings.frame.with_row_index("rating_id").with_columns(scale_min=pl.lit(1), scale_max=pl.lit(5))
    gone = pl.col("model") == "a"
    frame = frame.with_columns(
        value=pl.when(~gone).then("value"), unscored_reason=pl.when(gone).then(pl.lit("timeout")).otherwise(None)
    )
    scores = mean_opinion_scores(MosRatings.from_frame(frame))
    assert scores.select("model", "mean", "unscored").rows() == [("c", 4.0, 0), ("b", 2.5, 0), ("a", None, 1)]


def test_unequal_numbers_of_evaluations_weigh_prompts_equally():
    row = mean_opinion_scores(rated({("m", "p"): [[1], [3]], ("m", "q"): [[5], [5], [2]]})).row(0, named=True)
    assert row["mean"] == pytest.approx((2 + 4) / 2)
    assert row["variance"] == pytest.approx((2 / 2 + 3 / 3) / 4)


def test_a_prompt_with_one_evaluation_gets_the_pooled_variance():
    row = mean_opinion_scores(rated({("m", "p"): [[1], [3]], ("m", "q"): [[5], [5], [2]], ("m", "r"): [[4]]})).row(
        0, named=True
    )
    pooled = (1 * 2 + 2 * 3) / 3
    assert row["variance"] == pytest.approx((2 / 2 + 3 / 3 + pooled) / 9)
    assert (row["pooled_prompts"], row["k_min"], row["k_max"]) == (1, 1, 3)


def test_without_any_repetition_prompts_are_resampled_and_the_header_says_so():
    marks = {("m", f"p{number}"): [[mark]] for number, mark in enumerate([1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5])}
    summary = summarise(rated(marks), replicates=4000)
    row = summary.scores.row(0, named=True)
    values = np.array([mark for ((mark,),) in marks.values()], dtype=float)
    error = values.std(ddof=1) / math.sqrt(12)
    assert (row["mean"], row["pooled_prompts"], row["ci_method"]) == (values.mean(), 0, "over prompts")
    assert row["standard_error"] == pytest.approx(error, rel=0.05)
    assert row["variance"] == pytest.approx(row["standard_error"] ** 2)
    # As far as Student's t with one degree of freedom less than there are prompts.
    assert row["ci_high"] - row["ci_low"] == pytest.approx(2 * stats.t.ppf(0.975, 11) * error, rel=0.1)
    assert summary.stability.is_empty()
    assert "95% interval: Student's t, bootstrap over prompts, 4,000 replicates, seed 0" in summary.header


def test_a_bootstrap_over_prompts_does_not_depend_on_names_or_order():
    values = [1, 4, 2, 5, 3, 3]
    one = mean_opinion_scores(rated({("m", f"p{number}"): [[value]] for number, value in enumerate(values)}))
    other = mean_opinion_scores(rated({("x", f"q{9 - number}"): [[value]] for number, value in enumerate(values[::-1])}))
    assert one.drop("model").equals(other.drop("model"))
    assert one.row(0) != mean_opinion_scores(rated({("m", f"p{n}"): [[v]] for n, v in enumerate(values)}), seed=1).row(0)


@pytest.mark.parametrize("marks", [[[3]], [[3], [3], [3]]], ids=["one prompt", "the same mark on all"])
def test_prompts_that_say_nothing_about_their_spread_give_no_interval(marks: list[list[float]]):
    summary = summarise(rated({("m", f"p{number}"): [mark] for number, mark in enumerate(marks)}))
    row = summary.scores.row(0, named=True)
    assert (row["mean"], row["standard_error"], row["ci_low"], row["ci_method"]) == (3.0, None, None, None)
    assert "1 means without an interval" in summary.header


def test_decimal_marks_that_agree_up_to_rounding_are_marks_that_agree():
    orders = ([4.6, 1.9, 1.2, 3.4, 2.8], [2.8, 3.4, 1.9, 4.6, 1.2], [1.2, 2.8, 3.4, 4.6, 1.9], [3.4, 1.2, 4.6, 2.8, 1.9])
    means = {math.fsum(order) / 5 for order in orders}
    assert len(means) == 1 < len({sum(order) / 5 for order in orders})
    same = {("x", f"p{number}"): [list(order) for order in orders] for number in range(8)}
    assert mean_opinion_scores(rated(same)).select("ci_low", "ci_method").row(0) == (None, None)
    apart = {("x", f"p{number}"): [[mark + 0.1 * number for mark in order] for order in orders] for number in range(8)}
    (found,) = mean_opinion_scores(rated(apart, high=9)).to_dicts()
    assert (found["ci_method"], found["ci_high"] - found["ci_low"] > 0.1) == ("over prompts", True)


@pytest.mark.parametrize("test", ["t", "wilcoxon"])
def test_decimal_marks_are_compared_as_whole_ones_are(test: str):
    random = np.random.default_rng(0)
    tenths = random.integers(10, 50, (2, 40))
    tenths[1, ::2] = tenths[0, ::2] + random.integers(-1, 3, 20)

    def compared(scale: float) -> tuple[float, ...]:
        marks = {("xy"[row], f"p{p}"): [[float(mark) / scale]] for (row, p), mark in np.ndenumerate(tenths)}
        return paired_comparisons(rated(marks, low=-1, high=99), test=test).select("statistic", "p").row(0)

    assert compared(10.0) == pytest.approx(compared(1.0), rel=1e-9)


def test_where_some_models_have_repetitions_each_row_says_how_its_interval_was_made():
    marks = {("m", "p"): [[1], [3]], ("m", "q"): [[4], [4]], ("o", "p"): [[2]], ("o", "q"): [[4]], ("o", "r"): [[5]]}
    marks |= {("o", f"s{number}"): [[number]] for number in (1, 2, 3)}
    summary = summarise(rated(marks))
    assert dict(summary.scores.select("model", "ci_method").iter_rows()) == {"m": "within prompts", "o": "over prompts"}
    assert "MEF Eq. 4" in summary.header
    assert "where no prompt has two evaluations: Student's t, bootstrap over prompts" in summary.header


@pytest.mark.study
def test_intervals_over_prompts_hold_the_truth_in_95_percent_of_benchmarks():
    rng, shares = np.random.default_rng(4), {}
    for prompts in (8, 20, 60):
        held = 0
        for _ in range(400):
            drawn = np.clip(np.round(rng.normal(3.6, 1.1, prompts)), 1, 5)
            row = mean_opinion_scores(rated({("m", f"p{n}"): [[float(mark)]] for n, mark in enumerate(drawn)})).row(
                0, named=True
            )
            held += row["ci_low"] <= TRUE_MEAN <= row["ci_high"]
        shares[prompts] = held / 400
    assert all(0.92 <= share <= 0.98 for share in shares.values()), shares


_CUTS = stats.norm.cdf(np.array([1.5, 2.5, 3.5, 4.5]), 3.6, 1.1)
TRUE_MEAN = float(np.diff(np.concatenate([[0.0], _CUTS, [1.0]])) @ np.arange(1, 6))


def test_prompts_without_ratings_of_a_model_are_counted():
    scores = mean_opinion_scores(rated({("m", "p"): [[1], [2]], ("m", "q"): [[5], [4]], ("o", "p"): [[2], [2]]}))
    assert dict(scores.select("model", "missing_prompts").iter_rows()) == {"m": 0, "o": 1}


def test_scenarios_have_their_own_means_beside_the_overall_one():
    ratings = rated({("m", "p"): [[1], [3]], ("m", "q"): [[4], [4]]})
    frame = ratings.frame.with_row_index("rating_id").with_columns(scale_min=pl.lit(1), scale_max=pl.lit(5))
    prompts = pl.DataFrame({"prompt_id": ["p"], "scenario": ["Art"]})
    scores = mean_opinion_scores(MosRatings.from_frame(frame, prompts=prompts))
    assert scores.select("scenario", "mean").rows() == [(None, 3.0), ("(not given)", 4.0), ("Art", 2.0)]


@pytest.mark.slow
def test_intervals_cover_the_mean_of_these_prompts_at_their_nominal_rate():
    """The prompts stay the same from study to study; only generations are drawn anew."""
    study, prompt, _ = (grid.ravel() for grid in np.mgrid[:2000, :40, :4])
    level = 10.0 * (prompt % 3)
    frame = pl.DataFrame(
        {"model": study, "prompt_id": prompt, "value": level + np.random.default_rng(0).normal(0, 1, len(level))}
    )
    constants = {"dimension": pl.lit("d"), "rater_id": pl.lit("r"), "scale_min": pl.lit(-50), "scale_max": pl.lit(50)}
    numbered = frame.with_row_index("rating_id").with_columns(generation_id=pl.col("rating_id"), **constants)
    scores = mean_opinion_scores(MosRatings.from_frame(numbered))
    covered = scores.select(pl.lit(float(level.mean())).is_between("ci_low", "ci_high").mean()).item()
    assert 0.93 <= covered <= 0.965


@pytest.mark.parametrize("test", ["t", "wilcoxon", "within-prompts"])
def test_gaps_well_above_a_tenth_are_significant_at_the_size_of_the_papers_study(test: str):
    """377 prompts × 4 samples with Table 7's means: the paper says that a gap above 0.1 is typically significant."""
    for number, (dimension, means) in enumerate(TABLE_7.items()):
        ratings = simulated(number, means, prompts=377, samples=4, within=0.6, between=0.5)
        found = paired_comparisons(ratings, test=test)
        truth = {frozenset((a, b)): abs(means[a] - means[b]) for a in means for b in means if a != b}
        wide = [row for row in found.iter_rows(named=True) if truth[frozenset((row["model_a"], row["model_b"]))] > 0.15]
        assert wide and all(row["significant"] for row in wide), dimension


def test_a_paired_t_test_is_that_of_scipy():
    ratings = simulated(0, {"x": 1.0, "y": 1.1}, prompts=30, samples=2, within=0.5)
    wide = (
        ratings.frame.group_by("prompt_id", "model")
        .agg(pl.col("value").mean())
        .pivot(on="model", index="prompt_id", values="value")
    )
    expected = stats.ttest_rel(wide["x"].to_numpy(), wide["y"].to_numpy())
    row = paired_comparisons(ratings).row(0, named=True)
    assert row["p"] == pytest.approx(float(expected.pvalue))
    assert (row["difference"] >= 0, row["prompts"]) == (True, 30)


@pytest.mark.slow
def test_comparisons_keep_their_level_when_nothing_differs():
    false_alarms = sum(
        bool(
            paired_comparisons(simulated(seed, dict.fromkeys("abcd", 0.0), prompts=60, samples=2, within=1.0), alpha=0.05)[
                "significant"
            ].any()
        )
        for seed in range(100)
    )
    assert false_alarms <= 11  # 5 expected; more than 11 in 100 has a chance below 1%


def test_what_cannot_be_tested_is_null_and_not_significant():
    nothing_common = rated({("x", "p"): [[1], [2]], ("y", "q"): [[5], [4]]})
    row = paired_comparisons(nothing_common).row(0, named=True)
    assert (row["prompts"], row["difference"], row["p"], row["p_holm"], row["significant"]) == (0, None, None, None, None)
    equal_gaps = rated({(m, p): [[mark], [mark]] for m, mark in (("x", 1), ("y", 2)) for p in "pqr"})
    assert paired_comparisons(equal_gaps).select("difference", "p", "significant").row(0) == (1.0, None, None)
    same = rated({(m, p): [[2], [3]] for m in "xy" for p in "pqr"})
    for test in ("t", "wilcoxon"):
        assert paired_comparisons(same, test=test).select("p", "significant").row(0) == (1.0, False)


def test_the_papers_thirty_percent_with_one_sample_are_below_five_with_four():
    """Noise chosen so that single samples differ by over 0.1 in 30% of cases: then four samples do in 3.8%."""
    within = 0.1 / 1.0364 * math.sqrt(377 / 2)
    table = self_comparison(simulated(1, {"m": 0.0}, prompts=377, samples=4, within=within))
    chance = dict(table.select("samples", "probability").iter_rows())
    assert chance[1] == pytest.approx(0.30, abs=0.03)
    assert chance[4] < 0.05
    assert list(chance) == [1, 2, 3, 4]


def test_self_comparison_is_what_two_studies_of_one_model_show():
    """Two studies of the same prompts with m fresh samples each, 2,000 times over."""
    rng = np.random.default_rng(0)
    prompts, within = 50, 1.2
    table = self_comparison(simulated(2, {"m": 0.0}, prompts=prompts, samples=40, within=within), threshold=0.2, most=3)
    for samples, probability, gap in table.select("samples", "probability", "mean_abs_difference").iter_rows():
        studies = rng.normal(0, within, (2, 2000, prompts, samples)).mean(axis=(2, 3))
        seen = np.abs(studies[0] - studies[1])
        assert probability == pytest.approx((seen > 0.2).mean(), abs=0.04)
        assert gap == pytest.approx(seen.mean(), rel=0.08)


def test_a_rater_who_mixes_dimensions_is_flagged():
    rng = np.random.default_rng(3)
    rows = []
    for picture in range(200):
        beauty = float(rng.integers(1, 6))
        rows += [("careful", picture, "beauty", beauty), ("careful", picture, "structure", float(rng.integers(1, 6)))]
        rows += [("mixes", picture, "beauty", beauty), ("mixes", picture, "structure", beauty if picture % 4 else 3.0)]
        rows += [("constant", picture, "beauty", beauty), ("constant", picture, "structure", 3.0)]
    frame = pl.DataFrame(rows, schema=["rater_id", "generation_id", "dimension", "value"], orient="row")
    names = {"prompt_id": pl.lit("p"), "model": pl.lit("m"), "scale_min": pl.lit(1), "scale_max": pl.lit(5)}
    ratings = MosRatings.from_frame(frame.with_row_index("rating_id").with_columns(**names))
    found = {row["rater_id"]: row for row in dimension_correlations(ratings).iter_rows(named=True)}
    assert (found["careful"]["flagged"], found["mixes"]["flagged"]) == (False, True)
    assert (found["constant"]["pearson"], found["constant"]["flagged"]) == (None, None)
    x, y = (frame.filter(rater_id="mixes", dimension=name)["value"].to_numpy() for name in ("beauty", "structure"))
    assert found["mixes"]["pearson"] == pytest.approx(np.corrcoef(x, y)[0, 1])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda ratings: mean_opinion_scores(ratings, confidence=1.0), "confidence"),
        (lambda ratings: mean_opinion_scores(ratings, unit="picture"), "'picture'"),
        (lambda ratings: paired_comparisons(ratings, test="z"), "'z'"),
        (lambda ratings: paired_comparisons(ratings, alpha=0.0), "alpha"),
        (lambda ratings: paired_comparisons(ratings, by_scenario=True), "scenario"),
        (lambda ratings: self_comparison(ratings, threshold=0.0), "threshold"),
        (lambda ratings: self_comparison(ratings, most=0), "most"),
        (lambda ratings: dimension_correlations(ratings, limit=2.0), "limit"),
        (lambda ratings: summarise(ratings, test="none of them"), "none of them"),
    ],
)
def test_arguments_outside_their_range_are_refused(call, said: str):
    with pytest.raises(OptionError, match=said):
        call(rated({("m", "p"): [[1], [2]]}))
