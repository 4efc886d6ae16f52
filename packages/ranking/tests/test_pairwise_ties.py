"""Davidson and Rao-Kupper: closed forms, SciPy and the NumPy twin as oracles, and what has no answer."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ranked import tied
from scipy.optimize import minimize
from twins import numpy_core

from salon_ranking import BattleError, Battles, OptionError, UnknownModelError, UnratableError, _core, fit
from salon_ranking.models.ties import davidson, outcome_chances, rao_kupper

MODELS = ["davidson", "rao-kupper"]


def log_chances(model: str, d: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The logarithms of P(win), P(loss), P(tie), written as the papers have them."""
    if model == "davidson":
        shares = np.stack([np.exp(d / 2), np.exp(-d / 2), np.exp(t)])
        return np.log(shares / shares.sum(axis=0))
    win, loss = 1 / (1 + np.exp(t - d)), 1 / (1 + np.exp(t + d))
    return np.log(np.stack([win, loss, 1 - win - loss]))


@pytest.mark.parametrize("outcome", [0, 1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_the_terms_are_the_log_probability_and_its_derivatives(model: str, outcome: int):
    d, step = np.linspace(-3.0, 3.0, 25), 1e-4
    for t in (0.3, 0.7, 1.5):
        at = {
            (i, j): log_chances(model, d + i * step, np.full_like(d, t + j * step))[outcome]
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
        }
        expected = (
            at[0, 0],
            (at[1, 0] - at[-1, 0]) / (2 * step),
            (at[0, 1] - at[0, -1]) / (2 * step),
            -(at[1, 0] - 2 * at[0, 0] + at[-1, 0]) / step**2,
            -(at[1, 1] - at[1, -1] - at[-1, 1] + at[-1, -1]) / (4 * step**2),
            -(at[0, 1] - 2 * at[0, 0] + at[0, -1]) / step**2,
        )
        terms = davidson if model == "davidson" else rao_kupper
        found = terms(d, t, np.full(d.size, outcome, dtype=np.uint8))
        for part, numeric in zip(found, expected, strict=True):
            np.testing.assert_allclose(part, numeric, rtol=1e-5, atol=2e-6)


def two(wins: int, losses: int, ties: int) -> Battles:
    winners = ["model_a"] * wins + ["model_b"] * losses + ["tie"] * ties
    return Battles.from_frame(pl.DataFrame({"winner": winners}).with_columns(model_a=pl.lit("x"), model_b=pl.lit("y")))


def frame_of(rows: list[tuple[str, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row")


@st.composite
def leagues(draw: st.DrawFn) -> Battles:
    """Any battles among up to five models, with weights."""
    count = draw(st.integers(2, 5))
    winner = st.sampled_from(["model_a", "model_b", "tie", "both_bad"])
    row = st.tuples(st.integers(0, count - 1), st.integers(1, count - 1), winner, st.sampled_from([0.5, 1.0, 2.0]))
    rows = draw(st.lists(row, min_size=2, max_size=60))
    columns = {
        "model_a": [f"m{a}" for a, *_ in rows],
        "model_b": [f"m{(a + step) % count}" for a, step, *_ in rows],
        "winner": [winner for *_, winner, _ in rows],
        "weight": [weight for *_, weight in rows],
    }
    return Battles.from_frame(pl.DataFrame(columns), weight="weight")


def has_answer(battles: Battles) -> bool:
    _, wins, _, _ = battles.cells.records()
    return not battles.cells.components().any() and wins.any() and _core.has_decisive_cycle(battles.cells)


@pytest.mark.parametrize(("wins", "losses", "ties"), [(8, 2, 4), (3, 3, 3), (30, 12, 5)])
def test_davidson_of_two_models_has_its_closed_form(wins: int, losses: int, ties: int):
    fitted = tied(two(wins, losses, ties), "davidson", baseline="y")
    # The saturated model: chances are shares, so e^d = wins/losses and ν = ties/√(wins·losses).
    assert fitted.log_strengths[0] - fitted.log_strengths[1] == pytest.approx(math.log(wins / losses))
    assert fitted.tie["estimate"] == pytest.approx(ties / math.sqrt(wins * losses))
    # var ln ν by the delta method from multinomial shares: 1/t + 1/(4w) + 1/(4l); two parameters are fitted.
    battles = wins + losses + ties
    few = math.sqrt(battles / (battles - 2))
    error = few * fitted.tie["estimate"] * math.sqrt(1 / ties + 1 / (4 * wins) + 1 / (4 * losses))
    assert fitted.tie["standard_error"] == pytest.approx(error)
    gap_error = few * 400 / math.log(10) * math.sqrt(1 / wins + 1 / losses)
    assert fitted.standard_errors.tolist() == pytest.approx([gap_error, 0.0])


def test_rao_kupper_of_two_models_has_its_closed_form():
    wins, losses, ties = 12, 5, 7
    fitted = tied(two(wins, losses, ties), "rao-kupper", baseline="y")
    # P(win) = 1/(1 + κ/r) and P(loss) = 1/(1 + κ·r) equal their shares.
    against_win, against_loss = (losses + ties) / wins, (wins + ties) / losses
    assert fitted.tie["estimate"] == pytest.approx(math.sqrt(against_win * against_loss))
    assert fitted.ratings[0] - 1000 == pytest.approx(200 * math.log10(against_loss / against_win))
    assert fitted.chances("x", "y") == pytest.approx((wins / 24, ties / 24, losses / 24))


@pytest.mark.parametrize("model", MODELS)
def test_the_fit_is_what_scipy_finds(model: str):
    random = np.random.default_rng(5)
    a = random.integers(0, 4, 300)
    b = (a + random.integers(1, 4, 300)) % 4
    winner = random.integers(0, 3, 300)
    names = np.array(["p", "q", "r", "s"])
    columns = {"model_a": names[a], "model_b": names[b], "winner": np.array(["model_a", "tie", "model_b"])[winner]}
    fitted = tied(Battles.from_frame(pl.DataFrame(columns)), model)

    def cost(x: np.ndarray) -> float:
        theta = np.append(0.0, x[:3])
        tie = math.exp(x[3]) if model == "davidson" else 1.0 + math.exp(x[3])
        chances = np.array(outcome_chances(model, theta[a] - theta[b], tie))
        return -float(np.log(chances[winner, np.arange(300)]).sum())

    found = minimize(cost, np.zeros(4), method="BFGS", options={"gtol": 1e-7})
    tie = math.exp(found.x[3]) if model == "davidson" else 1.0 + math.exp(found.x[3])
    assert fitted.log_likelihood == pytest.approx(-found.fun, abs=1e-8)
    assert fitted.log_strengths - fitted.log_strengths[0] == pytest.approx(np.append(0.0, found.x[:3]), abs=1e-5)
    assert fitted.tie["estimate"] == pytest.approx(tie, abs=1e-5)


@given(leagues(), st.sampled_from(MODELS), st.sampled_from([0.0, 1.5]))
@settings(max_examples=60, deadline=None)
def test_the_core_and_its_twin_agree(battles: Battles, model: str, prior_ties: float):
    assume(battles.cells.records()[1].any() if prior_ties else has_answer(battles))
    ours = tied(battles, model, prior_ties=prior_ties)
    with numpy_core():
        twin = tied(battles, model, prior_ties=prior_ties)
    assert ours.converged
    assert twin.converged
    gaps = ours.log_strengths[:, None] - ours.log_strengths
    theirs = twin.log_strengths[:, None] - twin.log_strengths
    for mine, other in zip(
        outcome_chances(model, gaps, ours.tie["estimate"]), outcome_chances(model, theirs, twin.tie["estimate"]), strict=True
    ):
        assert np.abs(mine - other).max() < 1e-7
    assert ours.log_likelihood == pytest.approx(twin.log_likelihood, abs=1e-8)


@given(leagues(), st.sampled_from(MODELS))
@settings(max_examples=60, deadline=None)
def test_what_is_let_through_has_a_finite_answer_and_what_has_none_is_refused(battles: Battles, model: str):
    if has_answer(battles) or (not battles.cells.components().any() and not battles.cells.records()[2].any()):
        fitted = tied(battles, model)
        assert fitted.converged
        assert np.isfinite(fitted.ratings).all()
        assert math.isfinite(fitted.tie["estimate"])
    else:
        with pytest.raises(UnratableError):
            tied(battles, model)


@pytest.mark.parametrize("model", MODELS)
def test_without_ties_both_are_plain_bradley_terry(model: str):
    battles = Battles.from_frame(
        frame_of([("x", "y", "model_a"), ("y", "z", "model_a"), ("z", "x", "model_a"), ("x", "z", "model_a")])
    )
    fitted = tied(battles, model)
    assert fitted.log_strengths == pytest.approx(fit(battles).log_strengths)
    assert fitted.tie["estimate"] == (0.0 if model == "davidson" else 1.0)
    assert math.isnan(fitted.tie["standard_error"])
    assert fitted.chances("x", "y").tie == 0.0


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("x", "y", "tie"), ("x", "y", "both_good")], "every battle is a tie"),
        ([("x", "y", "model_a"), ("x", "y", "tie")], "no cycle of models has more wins than ties"),
        ([("x", "y", "model_a"), ("x", "y", "model_a")], "won all of their battles"),
    ],
)
def test_no_finite_answer_is_refused_with_its_reason(rows: list[tuple[str, str, str]], said: str):
    with pytest.raises(UnratableError, match=said):
        tied(Battles.from_frame(frame_of(rows)))


@pytest.mark.parametrize("model", MODELS)
def test_a_prior_makes_an_answer_and_stands_in_the_header(model: str):
    fitted = tied(Battles.from_frame(frame_of([("x", "y", "model_a"), ("x", "y", "tie")])), model, prior_ties=1.0)
    assert fitted.converged
    assert fitted.options.prior_ties == 1.0
    assert "prior: drawn battles per model against a mean opponent: 1" in fitted.header
    # The slope of x: its own score, and the prior's pull towards 0.
    chances = fitted.chances("x", "y")
    theta = fitted.log_strengths[0]
    pull = 0.5 - 1 / (1 + math.exp(-theta))
    if model == "davidson":
        score = 2 * (0.5 - 0.5 * (chances.win - chances.loss)) - 0.5
        assert score + pull == pytest.approx(0.0, abs=1e-9)


def test_a_prior_leaves_the_tie_parameter_of_equals_alone():
    assert tied(two(5, 5, 10), prior_ties=50.0).tie["estimate"] == pytest.approx(tied(two(5, 5, 10)).tie["estimate"])


def test_weights_enter_estimate_and_standard_error():
    frame = two(8, 2, 4).frame.collect().with_columns(w=pl.lit(4.0))
    heavy, plain = tied(Battles.from_frame(frame, weight="w")), tied(two(8, 2, 4))
    assert heavy.tie["estimate"] == pytest.approx(plain.tie["estimate"])
    # Equal weights are no repeated votes: the uncertainty stays that of 14 battles.
    assert heavy.standard_errors == pytest.approx(plain.standard_errors)
    assert heavy.log_likelihood == pytest.approx(4 * plain.log_likelihood)


@pytest.mark.parametrize("model", MODELS)
def test_many_models_need_no_square_matrix(model: str):
    count = 5_000
    random = np.random.default_rng(0)
    a = random.integers(0, count, 100_000)
    b = (a + random.integers(1, count, 100_000)) % count
    winner = np.array(["model_a", "tie", "model_b"])[random.integers(0, 3, 100_000)]
    names = np.array([f"m{number:04}" for number in range(count)])
    fitted = fit(Battles.from_frame(pl.DataFrame({"model_a": names[a], "model_b": names[b], "winner": winner})), ties=model)
    assert fitted.converged
    assert fitted.gradient_norm < 1e-8


@pytest.mark.study
@pytest.mark.parametrize("model", MODELS)
def test_intervals_of_ratings_and_tie_parameter_hold_the_truth(model: str):
    random = np.random.default_rng(11)
    theta = np.array([0.8, 0.3, 0.0, -0.4, -0.7])
    truth, held, rated, leagues_drawn = 1.4, 0, 0, 500
    names = np.array(list("abcde"))
    for _ in range(leagues_drawn):
        a = random.integers(0, 5, 400)
        b = (a + random.integers(1, 5, 400)) % 5
        win, tie, _ = outcome_chances(model, theta[a] - theta[b], truth)
        draw = random.random(400)
        winner = np.where(draw < win, "model_a", np.where(draw < win + tie, "tie", "model_b"))
        fitted = tied(
            Battles.from_frame(pl.DataFrame({"model_a": names[a], "model_b": names[b], "winner": winner})), model, baseline="c"
        )
        held += abs(fitted.tie["estimate"] - truth) < 1.96 * fitted.tie["standard_error"]
        wanted = 1000 + 400 / math.log(10) * (theta - theta[2])
        rated += int((np.abs(fitted.ratings - wanted) < 1.96 * fitted.standard_errors)[[0, 1, 3, 4]].sum())
    assert 0.925 < held / leagues_drawn < 0.975
    assert 0.93 < rated / (4 * leagues_drawn) < 0.97


def test_bad_arguments_are_refused():
    with pytest.raises(OptionError, match="davidson"):
        tied(two(1, 1, 1), "thurstone")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="confidence"):
        tied(two(1, 1, 1), confidence=1.0)
    with pytest.raises(OptionError, match="prior_ties"):
        tied(two(1, 1, 1), prior_ties=-1.0)
    with pytest.raises(UnknownModelError, match="allowed: x, y"):
        tied(two(1, 1, 1), baseline="z")
    with pytest.raises(UnknownModelError, match="'z'"):
        tied(two(1, 1, 1)).chances("x", "z")
    with pytest.raises(BattleError, match="there are no battles"):
        tied(Battles.from_frame(pl.DataFrame(schema={"model_a": pl.String, "model_b": pl.String, "winner": pl.String})))
