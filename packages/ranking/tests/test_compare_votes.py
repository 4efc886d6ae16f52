"""Two sets of votes beside each other: differences, and intervals only where the sets are independent."""

from html import unescape
from pathlib import Path
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from for_each import for_each
from salon_console import main
from salon_ranking import Battles, OptionError, compare_groups, compare_votes, differences, fit

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


def test_a_vote_in_both_sets_leaves_no_interval_and_is_named() -> None:
    first, second = votes(1), votes(2)
    second = second.with_columns(battle_id=pl.Series([first["battle_id"][0], *second["battle_id"][1:]]))
    found = compare_votes(first, second)
    assert found.table["ci_low"].null_count() == found.table.height
    assert found.table["difference"].null_count() == 0
    assert "no interval is known: 1 battles are in both" in found.header


def by_raters(seed: int, *, effect: float = 1.5, raters: int = 40, each: int = 30) -> pl.DataFrame:
    """Votes in two categories by the same raters, each of whom has a taste of his own."""
    random = np.random.default_rng(seed)
    taste = np.repeat(random.normal(0.0, effect, (raters, 4)), each, axis=0)
    a = random.integers(0, 4, raters * each)
    b = (a + random.integers(1, 4, len(a))) % 4
    rows = np.arange(len(a))
    gap = STRENGTH[a] + taste[rows, a] - STRENGTH[b] - taste[rows, b]
    names = np.array(["w", "x", "y", "z"])
    return pl.DataFrame(
        {
            "rater_id": np.repeat([f"r{number}" for number in range(raters)], each),
            "category": np.array(["art", "film"])[random.integers(0, 2, len(a))],
            "model_a": names[a],
            "model_b": names[b],
            "winner": np.where(random.random(len(a)) < 1 / (1 + np.exp(-gap)), "model_a", "model_b"),
        }
    )


def errors(table: pl.DataFrame, name: str = "film") -> np.ndarray:
    reach = table.sort("model").select(pl.col(f"difference_high {name}") - pl.col(f"difference {name}")).to_series()
    return reach.to_numpy()


def differences_between(frame: pl.DataFrame) -> np.ndarray:
    sides = []
    for name in ("art", "film"):
        ratings = fit(frame.filter(category=name)).ratings
        sides.append(ratings - ratings.mean())
    return sides[1] - sides[0]


def test_raters_who_vote_in_both_groups_are_taken_into_the_error_as_leaving_each_out_shows_it() -> None:
    frame = by_raters(1)
    clustered = compare_groups(Battles.from_frame(frame, cluster_by="rater_id"), "category", replicates=0)
    table = clustered.table.sort("model")
    assert table["difference film"].to_numpy() == pytest.approx(differences_between(frame), abs=1e-6)
    raters = frame["rater_id"].unique().to_list()
    left_out = np.array([differences_between(frame.filter(pl.col("rater_id") != rater)) for rater in raters])
    jackknife = np.sqrt((len(raters) - 1) / len(raters) * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    tails = NormalDist().inv_cdf(0.975)
    assert errors(clustered.table) / tails == pytest.approx(jackknife, rel=0.12)
    apart = [Battles.from_frame(frame.filter(category=name), cluster_by="rater_id") for name in ("film", "art")]
    both = compare_votes(*apart).table.sort("model")  # two tables of the same raters
    assert (both["ci_high"] - both["difference"]).to_numpy() == pytest.approx(errors(clustered.table), rel=1e-6)
    assert "40 values of rater_id are in both" in compare_votes(*apart).header


def test_groups_that_share_no_rater_have_the_errors_of_independent_sets() -> None:
    frame = by_raters(2).with_columns(pl.concat_str("rater_id", "category").alias("rater_id"))
    clustered = compare_groups(Battles.from_frame(frame, cluster_by="rater_id"), "category", replicates=0)
    apart = [Battles.from_frame(frame.filter(category=name), cluster_by="rater_id") for name in ("film", "art")]
    table = compare_votes(*apart).table.sort("model")
    assert errors(clustered.table) == pytest.approx((table["ci_high"] - table["difference"]).to_numpy(), rel=0.02)
    alone = compare_groups(frame, "category", replicates=0)
    table = compare_votes(frame.filter(category="film"), frame.filter(category="art")).table.sort("model")
    assert errors(alone.table) == pytest.approx((table["ci_high"] - table["difference"]).to_numpy(), rel=1e-6)
    assert alone.warnings == ()


def test_a_file_holds_what_the_screen_shows_and_raters_on_both_sides_are_warned_of(tmp_path: Path) -> None:
    by_raters(3).write_csv(tmp_path / "votes.csv")
    command = ["votes", "compare", str(tmp_path / "votes.csv"), "--by", "category", "--bootstrap", "50"]
    shown = CliRunner().invoke(main, command, env={"COLUMNS": "200"})
    assert "40 values of rater_id have votes on both sides" in shown.stdout
    CliRunner().invoke(main, [*command, "--output", str(tmp_path / "both.md")])
    written = [line.strip("| ").split(" | ") for line in (tmp_path / "both.md").read_text().splitlines()]
    assert [" ".join(row).split() for row in [written[0], *written[2:]]] == [
        line.split() for line in shown.stdout.splitlines() if line.startswith((" model", " w ", " x ", " y ", " z "))
    ]
    CliRunner().invoke(main, [*command, "--output", str(tmp_path / "both.csv")])
    columns = pl.read_csv(tmp_path / "both.csv").columns
    assert {"ci_low art", "rank film", "difference film", "difference_low film", "p_holm film"} <= {*columns}


def test_a_terminal_of_eighty_characters_shows_the_differences_of_two_groups(tmp_path: Path) -> None:
    by_raters(3).write_csv(tmp_path / "votes.csv")
    command = ["votes", "compare", str(tmp_path / "votes.csv"), "--by", "category", "--bootstrap", "50"]
    lines = CliRunner().invoke(main, command, env={"COLUMNS": "80"}).stdout.splitlines()
    [head] = [line.split() for line in lines if line.startswith(" model")]
    assert head[:5] == ["model", "art", "film", "difference", "film"]
    [left_out] = [line for line in lines if line.startswith("Left out")]
    assert "rank art" in left_out and "difference" not in left_out


def test_differences_of_models_are_shown_as_a_table_a_page_and_a_chart(tmp_path: Path) -> None:
    frame = by_raters(3)
    found = differences(frame, replicates=50)
    assert str(found).splitlines()[0] == found.header
    assert found._repr_html_().count("<svg") == 1
    frame.write_csv(tmp_path / "votes.csv")
    for ending in ("html", "svg"):
        file = tmp_path / f"pairs.{ending}"
        result = CliRunner().invoke(
            main, ["votes", "compare", str(tmp_path / "votes.csv"), "--bootstrap", "50", "--output", str(file)]
        )
        assert result.exit_code == 0, result.output
        written = unescape(file.read_text())
        assert found.table["model_a"][0] in written
        assert ending == "svg" or "after Holm's correction" in written


@for_each(
    ("options", "message"),
    [({"ties": "davidson"}, "plain Bradley-Terry"), ({"covariates": ["length"]}, "plain Bradley-Terry")],
)
def test_groups_without_a_test_say_why(options: dict[str, object], message: str) -> None:
    frame = by_raters(4).with_columns(
        length=pl.int_range(pl.len()) % 7,
        winner=pl.when(pl.int_range(pl.len()) % 9 == 0).then(pl.lit("tie")).otherwise("winner"),
    )
    found = compare_groups(frame, "category", replicates=0, **options)  # type: ignore[arg-type]
    assert message in found.header
    assert found.table["p_holm film"].null_count() == 4


def test_a_battle_in_several_groups_is_tested_when_what_hangs_together_is_named() -> None:
    frame = by_raters(5).with_columns(category=pl.concat_list("category", pl.lit("all")))
    assert "--cluster" in compare_groups(frame, "category", replicates=0).header
    found = compare_groups(Battles.from_frame(frame, cluster_by="rater_id"), "category", replicates=0)
    assert found.groups == ("all", "art", "film")
    assert found.table["p_holm art"].null_count() == 0


@pytest.mark.slow
def test_groups_of_equal_strengths_are_told_apart_no_more_often_than_claimed() -> None:
    missed = {True: 0, False: 0}
    for seed in range(200):
        for clusters in missed:
            battles = Battles.from_frame(by_raters(seed), cluster_by="rater_id" if clusters else None)
            table = compare_groups(battles, "category", replicates=0).table
            missed[clusters] += table.filter(pl.col("p_value film") < 0.05).height
    assert 0.03 < missed[True] / 800 < 0.07


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
