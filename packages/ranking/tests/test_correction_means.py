"""Correcting a judge's scores by people's marks: what must not change the means, and what they must be where it is known."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from salon_ranking import CorrectedMeans, correct_means
from salon_ranking.errors import OptionError

MODELS = ("m0", "m1", "m2")
ENDS = ("mean", "ci_low", "ci_high", "people", "people_low", "people_high", "judge", "judge_low", "judge_high")


def drawn(seed: int = 0, pictures: int = 900, marked: int = 240, noise: float = 0.5) -> tuple[pl.DataFrame, ...]:
    """Marks, scores, and marks of all pictures: the judge likes each model by its own taste, and errs."""
    rng = np.random.default_rng(seed)
    model, prompt = np.arange(pictures) % 3, np.arange(pictures) // 3
    truth = 3 + np.array([0.0, 0.4, 0.9])[model] + 0.5 * rng.normal(size=pictures // 3 + 1)[prompt] + rng.normal(size=pictures)
    judge = truth + np.array([0.5, -0.6, 0.0])[model] + noise * rng.normal(size=pictures)
    frame = pl.DataFrame(
        {
            "generation_id": [f"g{number}" for number in range(pictures)],
            "prompt_id": [f"p{number}" for number in prompt],
            "model": np.array(MODELS)[model],
        }
    )
    raters = pl.Series([f"r{number % 12}" for number in rng.permutation(pictures)])
    people = frame.with_columns(value=pl.Series(truth), rater_id=raters)
    shown = np.sort(rng.choice(pictures, marked, replace=False))
    return people[shown], frame.with_columns(value=pl.Series(judge)), people


def ends(result: CorrectedMeans, names: dict[str, str] | None = None) -> np.ndarray:
    table = result.table.with_columns(pl.col("model").replace(names or {})).sort("model")
    return table.select(*ENDS).to_numpy().astype(float)


def yes_no(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(value=(pl.col("value") > 3.4).cast(pl.Float64))


@pytest.mark.parametrize("cluster", [(), ("prompt_id",), ("rater_id",), ("prompt_id", "rater_id")])
def test_order_and_names_change_nothing(cluster: tuple[str, ...]) -> None:
    people, judged, _ = drawn()
    expected = ends(correct_means(people, judged, cluster_by=cluster))
    assert np.isfinite(expected).all()
    mixed = [frame.sample(fraction=1.0, shuffle=True, seed=seed) for seed, frame in enumerate((people, judged))]
    np.testing.assert_allclose(ends(correct_means(*mixed, cluster_by=cluster)), expected, atol=1e-9)
    names = dict(zip(MODELS, ("z", "y", "x"), strict=True))
    renamed = [frame.with_columns(pl.col("model").replace(names)) for frame in (people, judged)]
    back = {new: old for old, new in names.items()}
    np.testing.assert_allclose(ends(correct_means(*renamed, cluster_by=cluster), back), expected, atol=1e-9)


def test_either_key_matches_the_same_pictures() -> None:
    people, judged, _ = drawn()
    expected = ends(correct_means(people, judged, cluster_by=("prompt_id",)))
    by_prompt = correct_means(people.drop("generation_id"), judged, cluster_by=("prompt_id",))
    np.testing.assert_array_equal(ends(by_prompt), expected)
    assert "matched by prompt_id and model" in by_prompt.header


def test_columns_of_any_name_beside_them_change_nothing() -> None:
    people, judged, _ = drawn()
    people = people.with_columns(chance=pl.lit(0.5))
    names = ("battle", "row", "known", "of picture", "of file", "rank", "mean", "marks", "weight", "index")
    more = [frame.with_columns(pl.lit("x").alias(name) for name in names) for frame in (people, judged)]
    expected = ends(correct_means(people, judged, probability="chance"))
    np.testing.assert_array_equal(ends(correct_means(*more, probability="chance")), expected)


def test_scale_and_origin_of_both_move_the_means_with_them() -> None:
    people, judged, _ = drawn()
    expected = ends(correct_means(people, judged))
    moved = [frame.with_columns(pl.col("value") * 20 - 7) for frame in (people, judged)]
    np.testing.assert_allclose(ends(correct_means(*moved)), expected * 20 - 7, rtol=1e-9)


def test_a_constant_added_to_the_judge_changes_only_the_judge_alone() -> None:
    people, judged, _ = drawn()
    table = correct_means(people, judged).table
    moved = correct_means(people, judged.with_columns(pl.col("value") + 100)).table
    own = ["judge", "judge_low", "judge_high"]
    np.testing.assert_allclose(moved.select(own).to_numpy() - 100, table.select(own).to_numpy(), atol=1e-9)
    for name in ("mean", "ci_low", "ci_high", "people", "people_low", "people_high"):
        np.testing.assert_allclose(moved[name], table[name], atol=1e-9)


def test_a_judge_identical_to_people_gives_people_on_all_pictures() -> None:
    people, _, everyone = drawn()
    result = correct_means(people, everyone.drop("rater_id"))
    assert result.factor == pytest.approx(1.0)
    means = everyone.group_by("model").agg(pl.col("value").mean()).sort("model")["value"]
    np.testing.assert_allclose(result.table.sort("model")["mean"], means, atol=1e-12)
    for low, high in (("ci_low", "judge_low"), ("ci_high", "judge_high")):
        np.testing.assert_allclose(result.table[low], result.table[high], atol=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_a_judge_that_gives_each_model_one_score_gives_people_alone_whatever_its_decimals(seed: int) -> None:
    people, judged, _ = drawn(seed)
    score = pl.col("model").replace_strict({"m0": 0.1, "m1": 0.3, "m2": 1.7}, return_dtype=pl.Float64)
    found = correct_means(people, judged.with_columns(value=score))
    assert found.factor == 0.0 and not found.warnings
    fixed = correct_means(people, judged.with_columns(value=score), factor=0.5)
    for name in ENDS[:3]:
        assert fixed.table.sort("model")[name].to_list() == pytest.approx(found.table.sort("model")[name].to_list(), rel=0.01)


def test_a_judge_of_pure_noise_gives_people_alone() -> None:
    factors = []
    for seed in range(20):
        people, judged, _ = drawn(seed)
        noise = judged.with_columns(value=pl.Series(np.random.default_rng(seed).normal(size=judged.height)))
        result = correct_means(people, noise)
        factors.append(result.factor)
        low, high, people_low, people_high = ends(result)[:, [1, 2, 4, 5]].T
        assert np.mean((high - low) / (people_high - people_low)) < 1.02
    assert np.mean(factors) < 0.1


def test_means_are_those_of_prediction_powered_inference_of_separate_samples() -> None:
    """PPI++ takes the N - n other pictures, and λ (N - n)/N in place of λ: arXiv 2311.01453, equation 4."""
    people, judged, _ = drawn()
    result = correct_means(people, judged, cluster_by=())
    shown = people["generation_id"].implode()
    for row in result.table.iter_rows(named=True):
        human = people.filter(model=row["model"])["value"].to_numpy()
        of_model = judged.filter(model=row["model"])
        same = of_model.filter(pl.col("generation_id").is_in(shown))["value"].to_numpy()
        others = of_model.filter(~pl.col("generation_id").is_in(shown))["value"].to_numpy()
        factor = result.factor * len(others) / of_model.height
        assert row["mean"] == pytest.approx(float(np.mean(factor * others) + np.mean(human - factor * same)), abs=1e-10)


def test_one_model_has_the_variance_of_prediction_powered_inference() -> None:
    people, judged, _ = (frame.filter(model="m1").drop("prompt_id") for frame in drawn(pictures=30_000, marked=3_000))
    result = correct_means(people, judged)
    human = people["value"].to_numpy()
    same = people.join(judged, on="generation_id", suffix="_judge")["value_judge"].to_numpy()
    others = judged.join(people, on="generation_id", how="anti")["value"].to_numpy()
    cov = np.cov(human, same)
    assert result.factor == pytest.approx(cov[0, 1] / cov[1, 1])
    factor = result.factor * len(others) / judged.height
    error = math.sqrt(np.var(human - factor * same, ddof=1) / len(human) + factor**2 * np.var(others, ddof=1) / len(others))
    row = result.table.row(0, named=True)
    assert (row["ci_high"] - row["ci_low"]) / 2 == pytest.approx(1.96 * error, rel=0.01)


def test_rogan_and_gladen_equal_their_closed_form() -> None:
    people, judged, _ = (yes_no(frame) for frame in drawn())
    table = correct_means(people, judged).table
    both = people.join(judged, on="generation_id", suffix="_judge")
    human, judge = both["value"].to_numpy(), both["value_judge"].to_numpy()
    sensitivity, specificity = judge[human == 1].mean(), 1 - judge[human == 0].mean()
    for row in table.iter_rows(named=True):
        share = judged.filter(model=row["model"])["value"].to_numpy()
        point = (share.mean() + specificity - 1) / (sensitivity + specificity - 1)
        assert row["rogan_gladen"] == pytest.approx(point, abs=1e-12)
        variance = share.var() / len(share)
        variance += point**2 * sensitivity * (1 - sensitivity) / (human == 1).sum()
        variance += (1 - point) ** 2 * specificity * (1 - specificity) / (human == 0).sum()
        reach = 1.959964 * math.sqrt(variance) / (sensitivity + specificity - 1)
        assert row["rogan_gladen_high"] == pytest.approx(point + reach, abs=1e-6)


def test_yes_and_no_may_be_written_as_truth_values() -> None:
    people, judged, _ = (yes_no(frame) for frame in drawn())
    truths = [frame.with_columns(pl.col("value").cast(pl.Boolean)) for frame in (people, judged)]
    np.testing.assert_array_equal(ends(correct_means(*truths)), ends(correct_means(people, judged)))
    assert "rogan_gladen" not in correct_means(*drawn()[:2]).table.columns


def test_marks_that_weigh_the_same_need_no_probability() -> None:
    people, judged, _ = drawn()
    even = correct_means(people.with_columns(chance=pl.lit(0.25)), judged, probability="chance")
    np.testing.assert_allclose(ends(even), ends(correct_means(people, judged)), atol=1e-9)


def test_marks_of_known_unequal_chances_are_weighed_by_their_inverse() -> None:
    _, judged, everyone = drawn(pictures=9_000)
    chance = np.where(judged["value"] > 4, 0.3, 0.03)
    shown = np.random.default_rng(5).random(9_000) < chance
    people = everyone.with_columns(chance=pl.Series(chance)).filter(pl.Series(shown))
    truth = everyone.group_by("model").agg(pl.col("value").mean()).sort("model")["value"].to_numpy()
    plain, weighed = correct_means(people, judged), correct_means(people, judged, probability="chance")
    assert any("no random part" in text for text in plain.warnings)
    assert not weighed.warnings
    error = [np.abs(ends(result)[:, 3] - truth).max() for result in (plain, weighed)]
    assert error[0] > 0.4
    assert error[1] < 0.2
    assert (np.abs(ends(weighed)[:, 0] - truth) < np.diff(ends(weighed)[:, 1:3], axis=1)[:, 0]).all()


def test_the_baseline_differs_from_itself_by_nothing_and_from_others_by_their_difference() -> None:
    people, judged, _ = drawn()
    table = correct_means(people, judged, baseline="m1").table.sort("model")
    assert table["difference"][1] == 0.0
    assert table["difference_low"][1] is None
    np.testing.assert_allclose(table["difference"], table["mean"] - table["mean"][1], atol=1e-12)
    back = correct_means(people, judged, baseline="m0").table.sort("model")
    assert table["difference_low"][0] == pytest.approx(-back["difference_high"][1])


def test_a_model_whose_marks_are_equal_has_no_interval_and_is_named() -> None:
    people, judged, _ = drawn()
    equal = people.with_columns(value=pl.when(model="m2").then(4.0).otherwise("value"))
    result = correct_means(equal, judged, baseline="m0")
    row = result.table.filter(model="m2").row(0, named=True)
    assert [row[name] for name in ("ci_low", "ci_high", "people_low", "difference_low", "degrees")] == [None] * 5
    assert row["judge_low"] is not None
    assert any("no interval where all marks are equal: m2" in text for text in result.warnings)


def test_what_the_judge_did_not_score_is_left_out_and_counted() -> None:
    people, judged, _ = drawn()
    unknown = people["generation_id"][:3].implode()
    kept = people.filter(~pl.col("generation_id").is_in(unknown))
    missing = judged.with_columns(value=pl.when(pl.col("generation_id").is_in(unknown)).then(None).otherwise("value"))
    without = judged.filter(~pl.col("generation_id").is_in(unknown))
    result = correct_means(people, missing)
    np.testing.assert_array_equal(ends(result), ends(correct_means(kept, without)))
    assert result.warnings[:2] == (
        "3 pictures left out, not scored by the judge",
        "3 marks left out, of pictures that the judge did not score",
    )


def test_a_narrow_scale_of_the_judge_is_said() -> None:
    people, judged, _ = drawn()
    result = correct_means(people, judged.with_columns(pl.col("value") / 5))
    assert result.factor == 1.0
    assert any("scale narrower" in text for text in result.warnings)


def test_what_cannot_be_corrected_is_refused_with_its_name() -> None:
    people, judged, _ = drawn()

    def refused(match: str, marks: pl.DataFrame = people, scores: pl.DataFrame = judged, **options: Any) -> None:
        with pytest.raises(OptionError, match=match):
            correct_means(marks, scores, **options)

    refused("20 marks or more are needed to correct a judge, not 19", people.head(19))
    refused("people marked no picture of 'm2'", people.filter(pl.col("model") != "m2"))
    refused("no picture of 'm2'", scores=judged.with_columns(value=pl.when(model="m2").then(None).otherwise("value")))
    refused(
        "1 of 241 marks are of no judged picture.*g9999",
        pl.concat([people, people[:1].with_columns(generation_id=pl.lit("g9999"))]),
    )
    refused("two scores; leave in one judge's.*g0", scores=pl.concat([judged, judged[:1]]))
    refused("row 1: no finite number.*nan", people.with_columns(value=pl.lit(math.nan)))
    refused("row 1: no finite number.*inf", scores=judged.with_columns(value=pl.lit(math.inf)))
    refused("row 1: no finite number.*None", people.with_columns(value=pl.lit(None)))
    refused("not numbers.*String", people.with_columns(value=pl.lit("4")))
    refused("the judge scored no picture of", scores=judged.with_columns(value=pl.lit(None)))
    refused("'value': no such column", people.drop("value"))
    refused("each score needs a model", scores=judged.drop("model"))
    refused("matched by generation_id, or by prompt_id and model", people.drop("generation_id", "prompt_id"))
    refused("another model than their picture", people.with_columns(model=pl.lit("m0")))
    refused("another prompt_id than their picture", people.with_columns(prompt_id=pl.lit("p0")))
    refused("baseline is no model of the scores.*nobody", baseline="nobody")
    refused("have the column.*mood", cluster_by=("mood",))
    refused("'chance': no such column", probability="chance")
    refused(
        "row 1: a probability is above 0 and at most 1, not.*0", people.with_columns(chance=pl.lit(0.0)), probability="chance"
    )
    refused("factor must lie between 0 and 1", factor=1.5)
    nobody = people.with_columns(rater_id=pl.lit(None, pl.String))
    refused("'rater_id': a mark has no cluster", nobody, cluster_by=("rater_id",))
    refused("each score needs a model", scores=judged.clear().drop("model"))
    refused("no judged picture", scores=judged.clear())
