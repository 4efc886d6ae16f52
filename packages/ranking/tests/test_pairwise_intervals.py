"""Bootstrap and clustered intervals of tie models and of models with covariates: against twins, and against each other."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked import contextual, tied
from twins import numpy_core, reference_parameter_uncertainty

from salon_ranking import Battles, OptionError, _core, rank

MODELS = 4
BOTH = ("prompt", "rater")


def league(battles: int = 300, seed: int = 0, prompts: int = 20, raters: int = 9, spread: float = 0.5) -> pl.DataFrame:
    """Votes with ties and a covariate; prompts and raters have tastes of their own."""
    rng = np.random.default_rng(seed)
    prompt, rater = rng.integers(0, prompts, battles), rng.integers(0, raters, battles)
    tastes = rng.normal(size=(prompts, MODELS))[prompt] + rng.normal(size=(raters, MODELS))[rater]
    strength = np.linspace(0.5, -0.5, MODELS) + spread * tastes
    a = rng.integers(0, MODELS, battles)
    b = (a + rng.integers(1, MODELS, battles)) % MODELS
    rows, detail = np.arange(battles), rng.normal(size=battles)
    won = rng.random(battles) < 1 / (1 + np.exp(strength[rows, b] - strength[rows, a] - 0.4 * detail))
    names = np.array([f"m{number}" for number in range(MODELS)])
    return pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "winner": np.where(rng.random(battles) < 0.2, "tie", np.where(won, "model_a", "model_b")),
            "prompt": prompt,
            "rater": rater,
            "detail": detail,
            "w": rng.choice([0.5, 1.0, 2.0], battles),
        }
    )


def fitted(model: str, battles: Battles, **options: object):
    if model == "contextual":
        return contextual(battles, ["detail"], baseline="m3", **options)
    return tied(battles, model, baseline="m3", **options)


@given(st.integers(0, 99), st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_core_and_its_twin_agree_on_sums_over_scores(seed: int, grouped: bool):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, MODELS, 30).astype(np.uint32)
    second = ((first + rng.integers(1, MODELS, 30)) % MODELS).astype(np.uint32)
    scores = (first, second, rng.normal(size=30), rng.normal(size=(30, 2)), rng.integers(1, 4, 30).astype(float))
    group = rng.integers(0, 6, 30).astype(np.uint32) if grouped else None
    expected = reference_parameter_uncertainty.parameter_products(MODELS, scores, group)
    assert _core.parameter_products(MODELS, scores, group) == pytest.approx(expected, abs=1e-10)
    kernel = rng.normal(size=(MODELS + 2, 3))
    cubes = reference_parameter_uncertainty.parameter_third_moments(MODELS, scores, kernel, group)
    assert _core.parameter_third_moments(MODELS, scores, kernel, group) == pytest.approx(cubes, abs=1e-9)


@pytest.mark.parametrize(
    ("interval", "cluster_by"),
    [(kind, by) for kind in ("sandwich", "percentile", "bca") for by in (None, "prompt", BOTH) if (kind, by) != ("bca", BOTH)],
)
@pytest.mark.parametrize("model", ["davidson", "rao-kupper", "contextual"])
@pytest.mark.parametrize("prior_ties", [0.0, 0.5])
def test_the_core_and_its_twin_give_the_same_intervals(
    model: str, interval: str, cluster_by: str | tuple[str, str] | None, prior_ties: float
):
    battles = Battles.from_frame(league(), cluster_by=cluster_by, weight="w")
    options = {
        "cluster": cluster_by is not None,
        "interval": interval,
        "replicates": 12,
        "prior_ties": prior_ties,
        "confidence": 0.5,
    }
    ours = fitted(model, battles, seed=1, **options)
    with numpy_core():
        twin = fitted(model, battles, seed=1, **options)
    columns = ["standard_error", "ci_low", "ci_high", "replicates_used"]
    assert ours.table.select(columns).to_numpy() == pytest.approx(twin.table.select(columns).to_numpy(), abs=1e-4, nan_ok=True)
    assert ours.table["ci_low"].null_count() < MODELS
    if model == "contextual":
        ends = ["standard_error", "ci_low", "ci_high", "p_value"]
        assert ours.coefficients.select(ends).to_numpy() == pytest.approx(
            twin.coefficients.select(ends).to_numpy(), abs=1e-6, nan_ok=True
        )
    else:
        ends = [(one.tie["standard_error"], one.tie["ci_low"], one.tie["ci_high"]) for one in (ours, twin)]
        assert ends[0] == pytest.approx(ends[1], abs=1e-6, nan_ok=True)
    assert (ours.degenerate, ours.unconverged) == (twin.degenerate, twin.unconverged)


def test_without_ties_and_covariates_that_matter_the_intervals_are_those_of_bradley_terry():
    frame = league(2_000).filter(pl.col("winner") != "tie")
    battles = Battles.from_frame(frame, cluster_by="prompt")
    for cluster in (False, True):
        plain = rank(battles, interval="sandwich", cluster=cluster, baseline="m3").table
        other = rank(battles, ties="davidson", cluster=cluster, baseline="m3").table
        for end in ("rating", "ci_low", "ci_high"):
            assert other[end].to_numpy() == pytest.approx(plain[end].to_numpy(), abs=1e-5)
        drawn = {"interval": "percentile", "cluster": cluster, "replicates": 90, "seed": 3, "baseline": "m3"}
        plain, other = rank(battles, **drawn).table, rank(battles, ties="rao-kupper", **drawn).table
        for end in ("ci_low", "ci_high"):
            assert other[end].to_numpy() == pytest.approx(plain[end].to_numpy(), abs=1e-5)


@pytest.mark.parametrize("cluster_by", [None, "prompt", BOTH])
@pytest.mark.parametrize("model", ["davidson", "contextual"])
def test_bootstrap_and_sandwich_have_like_widths(model: str, cluster_by: str | tuple[str, str] | None):
    battles = Battles.from_frame(league(6_000, prompts=120, raters=80), cluster_by=cluster_by)
    cluster = cluster_by is not None
    kinds = {
        kind: fitted(model, battles, interval=kind, cluster=cluster, replicates=400) for kind in ("sandwich", "percentile")
    }
    widths = {kind: (one.ci_high - one.ci_low)[:-1] for kind, one in kinds.items()}
    assert np.abs(widths["percentile"] / widths["sandwich"] - 1).max() < 0.2


@pytest.mark.parametrize("model", ["davidson", "contextual"])
def test_intervals_that_know_the_clusters_are_wider(model: str):
    battles = Battles.from_frame(league(3_000, spread=1.0), cluster_by="prompt")
    alone, together = (fitted(model, battles, cluster=cluster).standard_errors[:-1] for cluster in (False, True))
    assert (together > 1.2 * alone).all()


@pytest.mark.parametrize("cluster_by", [None, "prompt", BOTH])
@pytest.mark.parametrize("model", ["davidson", "contextual"])
def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads_and_in_any_order_of_rows(
    model: str, cluster_by: str | tuple[str, str] | None
):
    frame, cluster = league(600), cluster_by is not None
    asked = {"interval": "percentile", "cluster": cluster, "replicates": 30, "seed": 5}
    tables = [
        fitted(model, Battles.from_frame(rows, cluster_by=cluster_by), threads=threads, **asked).table
        for rows, threads in ((frame, 1), (frame, 3), (frame.sample(fraction=1.0, shuffle=True, seed=1), 2))
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_replicates_without_a_finite_answer_are_counted_and_the_header_says_so():
    winners = ["model_a"] * 3 + ["model_b"] + ["tie"] * 2
    votes = pl.DataFrame({"winner": winners}).with_columns(model_a=pl.lit("x"), model_b=pl.lit("y"))
    found = tied(Battles.from_frame(votes), "davidson", interval="percentile", replicates=200)
    assert 0 < found.degenerate < 200
    assert "degenerate replicates without a finite estimate" in found.header
    assert found.table["replicates_used"].to_list() == [200 - found.degenerate] * 2


def test_one_cluster_says_nothing():
    battles = Battles.from_frame(league().with_columns(prompt=pl.lit(1)), cluster_by="prompt")
    for interval in ("sandwich", "percentile"):
        found = tied(battles, cluster=True, interval=interval, replicates=5)
        assert found.table["ci_low"].null_count() == MODELS
        assert "no interval is known" in found.header


def test_progress_is_told_and_the_header_says_how_intervals_were_made():
    told: list[tuple[int, int]] = []
    battles = Battles.from_frame(league(3_000), cluster_by="rater")
    found = contextual(
        battles,
        ["detail"],
        interval="percentile",
        cluster=True,
        replicates=2_000,
        threads=1,
        progress=lambda done, total: told.append((done, total)),
    )
    assert "95% interval: percentile bootstrap clustered by rater, 2,000 replicates, seed 0" in found.header
    assert told
    assert {total for _, total in told} == {2_000}


@pytest.mark.parametrize("model", ["davidson", "contextual"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"interval": "jackknife"}, "interval is unknown"),
        ({"interval": "bca", "cluster": True}, "one column of clusters"),
        ({"interval": "percentile", "replicates": -1}, "replicates must lie between 0 and 2147483647, not -1"),
        ({"interval": "percentile", "replicates": 1 << 30}, "must stay below"),
        ({"interval": "percentile", "seed": -1}, "seed"),
        ({"interval": "percentile", "threads": 0}, "threads"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_wrong_options_are_named(model: str, options: dict[str, object], said: str):
    with pytest.raises(OptionError, match=said):
        fitted(model, Battles.from_frame(league(), cluster_by=BOTH), **options)


def test_clusters_need_a_column():
    with pytest.raises(OptionError, match="nothing to cluster by"):
        tied(Battles.from_frame(league()), cluster=True)
