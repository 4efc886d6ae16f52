"""The listing rule, the effect of one match, and a rating told in sentences."""

import numpy as np
import polars as pl
import pytest

from salon_ranking import Battles, OptionError, UnknownModelError, explain, fit, listing, match_effects, rank
from salon_ranking.leaderboard.listing import _growth, with_listing
from salon_ranking.uncertainty.anytime import Anytime


def league(models: int = 4, battles: int = 600, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    strength = np.linspace(0.8, -0.8, models)
    a = rng.integers(0, models, battles)
    b = (a + rng.integers(1, models, battles)) % models
    won = rng.random(battles) < 1 / (1 + np.exp(strength[b] - strength[a]))
    names = np.array([f"m{number}" for number in range(models)])
    return pl.DataFrame({"model_a": names[a], "model_b": names[b], "winner": np.where(won, "model_a", "model_b")})


def refitted_effects(frame: pl.DataFrame, base: str, prior_ties: float, **how: object) -> np.ndarray:
    """The largest change by one more match against anybody, by fitting every such league."""
    before = fit(Battles.from_frame(frame), baseline=base, prior_ties=prior_ties, **how)
    effects = np.zeros(len(before.models))
    for place, model in enumerate(before.models):
        for rival in before.models:
            for winner in ("model_a", "model_b", "tie") if rival != model else ():
                one = pl.DataFrame({"model_a": [model], "model_b": [rival], "winner": [winner], "size": [0.0]})
                more = pl.concat([frame, one.select(frame.columns)])
                after = fit(Battles.from_frame(more), baseline=base, prior_ties=prior_ties, **how)
                effects[place] = max(effects[place], abs(after.ratings[place] - before.ratings[place]))
    return effects


@pytest.mark.parametrize("prior_ties", [0.0, 2.0])
@pytest.mark.parametrize("model", [{}, {"ties": "davidson"}, {"ties": "rao-kupper"}, {"covariates": ["size"]}], ids=str)
def test_the_effect_of_one_match_is_that_of_fitting_again(model: dict[str, object], prior_ties: float):
    frame = league()
    if model:
        random = np.random.default_rng(4)
        tie = pl.Series(random.random(600) < 0.3)
        frame = frame.with_columns(size=random.normal(size=600), winner=pl.when(tie).then(pl.lit("tie")).otherwise("winner"))
    if "covariates" in model:
        model = {**model, "standardize": False}
    ours = match_effects(fit(Battles.from_frame(frame), baseline="m3", prior_ties=prior_ties, **model))
    expected = refitted_effects(frame, "m3", prior_ties, **model)
    assert ours == pytest.approx(expected, rel=0.01)
    assert ours[3] == 0.0


@pytest.mark.parametrize("battles", [24, 60, 140])
@pytest.mark.parametrize("model", [{}, {"ties": "davidson"}, {"ties": "rao-kupper"}], ids=str)
def test_the_effect_of_one_match_is_that_of_fitting_again_where_matches_are_few(model: dict[str, object], battles: int):
    """12 to 70 matches of each model, of which one wins nearly all."""
    random = np.random.default_rng(battles)
    frame = league(battles=battles, seed=battles)
    frame = frame.with_columns(
        size=pl.lit(0.0),
        winner=pl.when(pl.Series(random.random(battles) < 0.2)).then(pl.lit("tie")).otherwise("winner"),
    )
    ours = match_effects(fit(Battles.from_frame(frame), baseline="m3", prior_ties=1.0, **model))
    assert ours == pytest.approx(refitted_effects(frame, "m3", 1.0, **model), rel=0.01)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_with_ties_the_effect_of_one_match_is_that_of_fitting_again(ties: str):
    """Of three models alone: quick, and both the nearly exact effects and the refitted ones."""
    for battles in (40, 4000):
        tied = pl.Series(np.random.default_rng(battles).random(battles) < 0.25)
        frame = league(3, battles, seed=1).with_columns(winner=pl.when(tied).then(pl.lit("tie")).otherwise("winner"))
        votes = Battles.from_frame(frame.with_columns(size=pl.lit(0.0)))
        ours = match_effects(fit(votes, baseline="m2", prior_ties=1.0, ties=ties))
        expected = refitted_effects(frame.with_columns(size=pl.lit(0.0)), "m2", 1.0, ties=ties)
        assert ours == pytest.approx(expected, rel=0.01) and ours[2] == 0.0 < ours[0]


def test_an_anytime_interval_needs_more_matches_than_one_over_the_root_of_their_number_says():
    votes = Battles.from_frame(league(battles=2000))
    usual, anytime = (rank(votes, interval=kind, baseline="m3") for kind in ("sandwich", "anytime"))
    for ratio in (0.5, 1.0):
        assert _growth(usual, ratio) == _growth(anytime, ratio) == ratio**2
    assert _growth(usual, 3.0) == 9.0
    grown = _growth(anytime, 3.0)
    reaches = [
        Anytime(battles, False, anytime.options.confidence).reach for battles in (anytime.battles, anytime.battles * grown)
    ]
    assert grown > 9.0 and reaches[1] / reaches[0] / grown**0.5 == pytest.approx(1 / 3)


def test_few_matches_are_not_listed_and_many_are():
    few = Battles.from_frame(league())
    table = listing(rank(few, interval="sandwich", baseline="m3"), few)
    assert table["listed"].to_list() == [False, False, False, None]
    assert (table["matches_needed"].head(3) > 0).all()
    many = Battles.from_frame(league(battles=60_000))
    table = listing(rank(many, interval="sandwich", baseline="m3"), many)
    assert table["listed"].to_list() == [True, True, True, None]
    assert table["matches_needed"].to_list() == [0, 0, 0, None]


@pytest.mark.parametrize("battles", [12, 60_000])
def test_the_baseline_is_not_called_listed_whose_interval_has_no_width_by_construction(battles: int):
    votes = Battles.from_frame(league(battles=battles))
    board = with_listing(rank(votes, interval="sandwich", baseline="m3", prior_ties=1.0), votes)
    row = board.table.row(by_predicate=pl.col("model") == "m3", named=True)
    assert [row[name] for name in ("width", "match_effect", "listed", "matches_needed")] == [None] * 4
    assert next(cells for cells in board.view().table.rows if "m3" in cells)[-3:] == ("–", "–", "baseline")
    assert "says nothing of the baseline" in explain(board, votes, "m3")[-1]


def test_the_extrapolated_matches_bring_the_width_to_the_limit():
    battles = Battles.from_frame(league(battles=2000))
    table = listing(rank(battles, interval="sandwich", baseline="m3"), battles)
    factor = float(((table["matches"] + table["matches_needed"]) / table["matches"]).max())
    more = Battles.from_frame(league(battles=int(2000 * factor), seed=5))
    widths = listing(rank(more, interval="sandwich", baseline="m3"), more)["width"]
    assert 17 < widths.max() < 23


def test_the_effect_limits_a_model_whose_interval_is_narrow_enough():
    battles = Battles.from_frame(league(battles=600))
    board = rank(battles, interval="sandwich", baseline="m3")
    loose = listing(board, battles, most_width=1000.0, most_effect=0.1).row(0, named=True)
    assert not loose["listed"]
    assert loose["matches_needed"] == int(np.ceil(loose["matches"] * loose["match_effect"] / 0.1) - loose["matches"])


def test_a_model_without_a_rating_is_not_listed_and_needs_are_unknown():
    alone = pl.DataFrame({"model_a": ["new"], "model_b": ["m0"], "winner": ["model_b"]})
    battles = Battles.from_frame(pl.concat([league(), alone]))
    board = rank(battles, interval="sandwich", components="separate")
    row = listing(board, battles).row(by_predicate=pl.col("model") == "new", named=True)
    assert (row["listed"], row["match_effect"], row["matches_needed"]) == (False, None, None)
    assert "has no rating" in explain(board, battles, "new")[0]


def test_a_listing_needs_intervals_limits_and_its_own_battles():
    battles = Battles.from_frame(league())
    board = rank(battles, interval="sandwich")
    with pytest.raises(OptionError, match="needs intervals"):
        listing(rank(battles, replicates=0), battles)
    with pytest.raises(OptionError, match="most_width"):
        listing(board, battles, most_width=float("nan"))
    with pytest.raises(OptionError, match="other battles"):
        listing(board, Battles.from_frame(league(battles=601)))


@pytest.mark.parametrize("interval", ["sandwich", "anytime", "percentile", "bca"])
def test_an_explanation_names_the_rating_the_rivals_and_what_is_missing(interval: str):
    battles = Battles.from_frame(league())
    told = " ".join(explain(rank(battles, interval=interval, replicates=100, baseline="m3"), battles, "m1"))
    for part in (
        "m1 is rated",
        "rank 2 of 4",
        "matches",
        "m0",
        "m2",
        "Holm",
        "does not meet the listing rule",
        "extrapolation",
    ):
        assert part in told


def test_the_baseline_and_a_listed_model_are_explained_as_such():
    battles = Battles.from_frame(league(battles=60_000))
    board = rank(battles, interval="sandwich", baseline="m3")
    assert any("It is the baseline" in sentence for sentence in explain(board, battles, "m3"))
    assert explain(board, battles, "m0")[-1].startswith("It meets the listing rule")


def test_an_unknown_model_is_named():
    battles = Battles.from_frame(league())
    with pytest.raises(UnknownModelError, match="nobody"):
        explain(rank(battles, interval="sandwich"), battles, "nobody")


def test_a_named_baseline_of_one_of_several_components_is_kept():
    other = league(seed=9).with_columns(pl.col("model_a", "model_b").str.replace("m", "n"))
    battles = Battles.from_frame(pl.concat([league(), other]))
    board = rank(battles, interval="sandwich", components="separate", baseline="n1")
    effects = dict(listing(board, battles).select("model", "match_effect").iter_rows())
    assert (effects["n1"], effects[board.baselines[0]]) == (None, None)
    assert sum(effect is None for effect in effects.values()) == 2
