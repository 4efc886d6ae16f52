"""Two sets of votes beside each other: differences, and intervals only where the sets are independent."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from salon_console import main
from salon_ranking import Battles, OptionError, compare_votes, fit

STRENGTH = np.array([0.6, 0.2, -0.1, -0.7])


def votes(seed: int, count: int = 300, prefix: str = "") -> pl.DataFrame:
    random = np.random.default_rng(seed)
    a = random.integers(0, 4, count)
    b = (a + random.integers(1, 4, count)) % 4
    won = random.random(count) < 1 / (1 + np.exp(STRENGTH[b] - STRENGTH[a]))
    names = np.array(["w", "x", "y", "z"])
    ids = [f"{prefix or seed}-{number}" for number in range(count)]
    prompts = [f"{prefix or seed}-p{number // 10}" for number in range(count)]
    winner = np.where(won, "model_a", "model_b")
    return pl.DataFrame({"battle_id": ids, "prompt_id": prompts, "model_a": names[a], "model_b": names[b], "winner": winner})


@pytest.mark.slow
def test_equal_strengths_are_told_apart_no_more_often_than_claimed() -> None:
    missed = 0
    for seed in range(200):
        table = compare_votes(votes(2 * seed), votes(2 * seed + 1, 200)).table
        missed += table.filter((pl.col("ci_low") > 0) | (pl.col("ci_high") < 0)).height
    assert 0.03 < missed / 800 < 0.07  # 5%, give or take three standard errors of 800 dependent rows


def test_the_difference_is_that_of_the_ratings_about_the_mean_of_the_shared_models() -> None:
    first = votes(1)
    second = pl.concat(
        [votes(2), votes(3, 60).with_columns(pl.col("model_b").replace({"z": "new"})).filter(pl.col("model_a") != "z")]
    )
    found = compare_votes(first, second).table.sort("model")
    sides = []
    for frame in (first, second):
        battles = Battles.from_frame(frame)
        ratings = dict(zip(battles.models, fit(battles).ratings, strict=True))
        own = np.array([ratings[name] for name in "wxyz"])
        sides.append(own - own.mean())
    assert found["difference"].to_numpy() == pytest.approx(sides[0] - sides[1], abs=1e-6)
    assert found["model"].to_list() == ["w", "x", "y", "z"]
    assert (found["rating"] - found["other_rating"]).to_numpy() == pytest.approx(found["difference"].to_numpy())
    swapped = compare_votes(second, first).table.sort("model")
    assert swapped["difference"].to_numpy() == pytest.approx(-found["difference"].to_numpy())
    assert swapped["ci_low"].to_numpy() == pytest.approx(-found["ci_high"].to_numpy())


@pytest.mark.parametrize("column", ["battle_id", "prompt_id"])
def test_what_is_in_both_sets_leaves_no_interval_and_is_named(column: str) -> None:
    first, second = votes(1), votes(2)
    values = [first[column][0], *second[column][1:]]  # one of the first set's
    second = second.with_columns(pl.Series(column, values))
    by = "prompt_id" if column == "prompt_id" else None
    found = compare_votes(Battles.from_frame(first, cluster_by=by), Battles.from_frame(second, cluster_by=by))
    assert found.table["ci_low"].null_count() == found.table.height
    assert found.table["difference"].null_count() == 0
    assert "no interval is known: 1 " in found.header
    assert column.split("_")[0] in found.header


@pytest.mark.parametrize("columns", [[], ["battle_id"], ["battle_id", "prompt_id"]])
def test_the_same_votes_in_any_order_are_never_independent(tmp_path: Path, columns: list[str]) -> None:
    first = votes(1).drop(columns)
    for copy in (first, first.reverse(), first.with_columns(note=pl.lit("again"))):
        found = compare_votes(first, copy)
        assert "no interval is known: both sets hold the same votes" in found.header
        assert found.table["p_value"].null_count() == found.table.height
    other = compare_votes(first, votes(2).drop(columns))
    assert other.table["ci_low"].null_count() == 0
    path = tmp_path / "votes.csv"
    first.write_csv(path)
    shown = CliRunner().invoke(main, ["votes", "compare", str(path), str(path)])
    assert "both sets hold the same votes" in " ".join(shown.stdout.split())


def test_two_models_must_be_in_both() -> None:
    with pytest.raises(OptionError, match="two models or more must be in both"):
        compare_votes(votes(1), votes(2).with_columns(pl.col("model_a", "model_b") + "2"))


def test_the_command_compares_two_files(tmp_path: Path) -> None:
    for name, seed in (("june", 1), ("may", 2)):
        votes(seed).write_csv(tmp_path / f"{name}.csv")
    command = ["votes", "compare", str(tmp_path / "june.csv"), str(tmp_path / "may.csv"), "--cluster", "prompt_id"]
    shown = CliRunner().invoke(main, [*command, "--format", "csv", "--output", str(tmp_path / "both.csv")])
    assert shown.exit_code == 0, shown.output
    june, may = (Battles.read(tmp_path / f"{name}.csv", cluster_by="prompt_id") for name in ("june", "may"))
    assert pl.read_csv(tmp_path / "both.csv").equals(pl.read_csv(compare_votes(june, may).table.write_csv().encode()))
    assert "as no vote is in both" in " ".join(CliRunner().invoke(main, command).stdout.split())
    refused = CliRunner().invoke(main, [*command, "--by", "prompt_id"])
    assert (refused.exit_code, "does not go with a second" in refused.stderr) == (2, True)
