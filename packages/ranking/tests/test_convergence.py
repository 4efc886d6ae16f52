"""Widths of intervals at fractions of the battles, win rates of pairs, and the page's sections made of them."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_ranking import BattleError, Battles, OptionError, UnknownModelError, rank, rank_by
from salon_ranking.diagnostics.convergence import convergence
from salon_ranking.diagnostics.head_to_head import head_to_head
from salon_ranking.report.leaderboard import leaderboard_page
from salon_ranking.report.sections import LISTED_WIDTH, compared_groups, interval_convergence


def league(models: int = 6, battles: int = 12_000, *, clusters: int = 0, seed: int = 0, weight: bool = False) -> Battles:
    random = np.random.default_rng(seed)
    theta = random.normal(size=models) * 0.5
    a = random.integers(0, models, battles)
    b = (a + random.integers(1, models, battles)) % models
    prompt = random.integers(0, max(clusters, 1), battles)
    shift = random.normal(size=(max(clusters, 1), models)) * (0.8 if clusters else 0.0)
    gap = theta[a] + shift[prompt, a] - theta[b] - shift[prompt, b]
    names = np.array([f"m{number}" for number in range(models)])
    won = random.random(battles) < 1 / (1 + np.exp(-gap))
    frame = pl.DataFrame(
        {
            "model_a": names[a],
            "model_b": names[b],
            "winner": np.where(random.random(battles) < 0.2, "tie", np.where(won, "model_a", "model_b")),
            "prompt_id": prompt,
            "w": random.choice([0.5, 2.0], battles),
        }
    )
    return Battles.from_frame(frame, cluster_by="prompt_id" if clusters else None, weight="w" if weight else None)


@pytest.mark.parametrize(("clusters", "weight"), [(0, False), (0, True), (150, False)])
def test_the_widths_agree_with_the_bootstrap(clusters: int, weight: bool):
    battles = league(clusters=clusters, weight=weight)
    board = rank(battles, baseline="m0", replicates=800, cluster=clusters > 0)
    widths = (board.table["ci_high"] - board.table["ci_low"]).filter(board.table["model"] != "m0")
    last = convergence(battles, baseline="m0", cluster=clusters > 0).row(-1, named=True)
    assert last["battles"] == 12_000
    assert last["mean_width"] == pytest.approx(float(widths.mean()), rel=0.07)  # type: ignore[arg-type]


def test_widths_shrink_with_the_root_of_the_matches():
    curve = convergence(league(), baseline="m0", fractions=(0.0625, 0.25, 1.0))
    small, middle, whole = curve["mean_width"].to_list()
    assert small / middle == pytest.approx(2.0, rel=0.1)
    assert middle / whole == pytest.approx(2.0, rel=0.1)
    assert curve["matches_per_model"].to_list()[-1] == 4_000.0


def test_parts_too_small_for_a_finite_fit_are_left_out():
    votes = pl.DataFrame({"model_a": ["x", "y"] * 4, "model_b": ["y", "x"] * 4, "winner": ["model_a"] * 8})
    curve = convergence(Battles.from_frame(votes), baseline="x", fractions=(0.01, 1.0))
    assert curve["fraction"].to_list() == [1.0]


def test_the_same_seed_gives_the_same_curve():
    battles = league(battles=2_000)
    assert convergence(battles, baseline="m1", seed=4).equals(convergence(battles, baseline="m1", seed=4))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"baseline": "nobody"}, "unknown baseline"),
        ({"confidence": 1.0}, "confidence"),
        ({"fractions": (0.0, 1.0)}, "fractions"),
        ({"fractions": ()}, "fractions"),
        ({"cluster": True}, "nothing to cluster by"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], said: str):
    with pytest.raises((OptionError, UnknownModelError), match=said):
        convergence(league(battles=100), **{"baseline": "m0", **options})  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 2), st.sampled_from([0.5, 1.0])), min_size=1))
def test_win_rates_are_counted_from_both_sides(rows: list[tuple[int, int, int, float]]):
    frame = pl.DataFrame(
        [(f"m{a}", f"m{(a + step) % 4}", ["model_a", "model_b", "both_bad"][won], w) for a, step, won, w in rows],
        schema=["model_a", "model_b", "winner", "w"],
        orient="row",
    )
    pairs = head_to_head(Battles.from_frame(frame, weight="w"))
    assert pairs["matches"].sum() == pytest.approx(2 * frame["w"].sum())
    for row in pairs.iter_rows(named=True):
        met = frame.filter(
            pl.col("model_a").is_in([row["model"], row["opponent"]]) & pl.col("model_b").is_in([row["model"], row["opponent"]])
        )
        mine = ((met["model_a"] == row["model"]) & (met["winner"] == "model_a")) | (
            (met["model_b"] == row["model"]) & (met["winner"] == "model_b")
        )
        assert row["matches"] == pytest.approx(met["w"].sum())
        assert row["wins"] == pytest.approx(met["w"].filter(mine).sum())
        assert row["win_rate"] == pytest.approx((row["wins"] + row["ties"] / 2) / row["matches"])


def test_an_unknown_model_has_no_win_rates():
    with pytest.raises(UnknownModelError, match="nobody"):
        head_to_head(league(battles=50), ["m0", "nobody"])


def test_the_page_shows_win_rates_convergence_and_raters(tmp_path: Path):
    battles = league()
    raters = tmp_path / "raters.csv"
    raters.write_text("rater_id,kappa,flagged\n<b>ann</b>,0.812345,true\n", encoding="utf-8")
    page = leaderboard_page([rank(battles, replicates=20)], title="Votes", battles=battles, raters=raters)
    for part in ("Win rates", "Pairs that met", "Convergence", "matches per model are needed", "1 rater, 1 flagged"):
        assert part in page
    assert "<b>ann" not in page


def test_the_matches_that_narrow_intervals_need_follow_from_the_last_width_as_its_square():
    for battles in (300, 3000):
        votes = league(battles=battles)
        board = rank(votes, replicates=20)
        [section] = interval_convergence(votes, board)
        said, figure = section.blocks
        matches, mean, widest = (float(cell.replace(",", "")) for cell in figure.numbers.rows[-1][1:])
        numbers = [float(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", said)]
        assert numbers[:2] == [mean, widest] and numbers[-1] == matches > 0
        assert numbers[-2] == pytest.approx(matches * (widest / LISTED_WIDTH) ** 2, rel=0.02)


@pytest.mark.parametrize("whole", [True, False])
def test_places_gained_in_a_group_are_those_against_all_battles_or_the_first_group(whole: bool):
    parts = [league(battles=300), league(battles=200, seed=1)]
    boards = [replace(rank(part, replicates=5), group=name) for part, name in zip(parts, ("one", "two"), strict=True)]
    assert compared_groups(boards[:1], None) == []
    overall = rank(parts[0], replicates=5) if whole else boards[0]
    [section] = compared_groups(boards, parts[0] if whole else None)
    table = section.blocks[0].numbers
    rank_of = [dict(board.table.select("model", "rank").iter_rows()) for board in (overall, *boards)]
    for model, before, *cells in table.rows:
        assert int(before) == rank_of[0][model]
        for cell, ranks in zip(cells, rank_of[1:], strict=True):
            change = rank_of[0][model] - ranks[model]
            places = f" ({'▲' if change > 0 else '▼'} {abs(change)})" if change else ""
            assert cell == f"{ranks[model]}{places}"
    assert {row[0] for row in table.rows} == set(rank_of[0])


def test_more_than_forty_models_are_cut_and_said_so():
    battles = league(models=45, battles=40_000)
    page = leaderboard_page([rank(battles, replicates=10)], title="Votes", battles=battles)
    assert "The best 40 of 45 models." in page


def test_groups_show_places_gained_and_lost():
    frame = pl.DataFrame(
        {
            "model_a": ["x"] * 40,
            "model_b": ["y"] * 40,
            "winner": ["model_a"] * 15 + ["model_b"] * 5 + ["model_a"] * 8 + ["model_b"] * 12,
            "scenario": ["art"] * 20 + ["film"] * 20,
        }
    )
    battles = Battles.from_frame(frame)
    page = leaderboard_page(rank_by(battles, "scenario", replicates=10), title="Votes", battles=battles)
    assert "Groups compared" in page
    assert "1 (▲ 1)" in page
    assert "2 (▼ 1)" in page


def test_rank_intervals_are_drawn_when_the_table_has_them():
    board = rank(league(battles=500), replicates=10)
    wider = board.table.with_columns(rank_low=pl.col("rank") - 0, rank_high=pl.col("rank") + 1)
    object.__setattr__(board, "table", wider)
    assert "Rank intervals" in leaderboard_page([board], title="Votes")


def test_a_table_of_raters_without_names_is_refused(tmp_path: Path):
    raters = tmp_path / "raters.csv"
    raters.write_text("who\nann\n", encoding="utf-8")
    with pytest.raises(BattleError, match="rater_id"):
        leaderboard_page([rank(league(battles=500), replicates=10)], title="Votes", raters=raters)


def test_components_and_single_models_have_a_page_too():
    frame = pl.DataFrame({"model_a": ["x", "y", "p", "z"], "model_b": ["y", "x", "q", "p"], "winner": ["model_a"] * 4})
    battles = Battles.from_frame(frame)
    page = leaderboard_page([rank(battles, components="separate", replicates=0)], title="Votes", battles=battles)
    assert "Win rates" in page
    assert "Convergence" not in page
