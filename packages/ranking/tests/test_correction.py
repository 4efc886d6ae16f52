"""Correcting a judge by people: what must not change the board, and what it must be in the cases that are known."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from salon_ranking import Battles, CorrectedRatings, correct_ratings, rank
from salon_ranking.cli import votes as votes_commands
from salon_ranking.correction.estimate import shares_of_judges
from salon_ranking.errors import BattleError, OptionError, UnratableError

MODELS = ("m0", "m1", "m2", "m3")
ENDS = ("rating", "ci_low", "ci_high", "people", "people_low", "people_high", "judge", "judge_low", "judge_high")


def drawn(
    seed: int = 0, battles: int = 1200, voted: int = 240, noise: float = 0.3, taste: float = 0.6
) -> tuple[pl.DataFrame, ...]:
    """Votes and verdicts of one league: the judge has its own taste for each model, and guesses a share of its verdicts."""
    rng = np.random.default_rng(seed)
    strengths, tastes = rng.normal(0, 0.5, 4), rng.normal(0, taste, 4)
    a = rng.integers(0, 4, battles)
    b = (a + rng.integers(1, 4, battles)) % 4
    latent = strengths[a] - strengths[b] + rng.logistic(size=battles)
    leaning = latent + tastes[a] - tastes[b]
    judge = np.where(rng.random(battles) < noise, rng.random(battles) < 0.5, leaning > 0)
    names = np.array(MODELS)
    frame = pl.DataFrame(
        {
            "battle_id": [f"b{number}" for number in range(battles)],
            "prompt_id": [f"p{number // 6}" for number in range(battles)],
            "model_a": names[a],
            "model_b": names[b],
        }
    )
    people = frame.with_columns(
        winner=pl.Series(np.where(np.abs(latent) < 0.2, "tie", np.where(latent > 0, "model_a", "model_b"))),
        rater_id=pl.Series([f"r{number % 12}" for number in rng.permutation(battles)]),
    )
    chosen = np.sort(rng.choice(battles, voted, replace=False))
    return people[chosen], frame.with_columns(winner=pl.Series(np.where(judge, "model_a", "model_b"))), people


def board(votes: pl.DataFrame, judged: pl.DataFrame, *, cluster: tuple[str, ...] = (), **options: Any) -> CorrectedRatings:
    people = Battles.from_frame(votes, cluster_by=cluster)
    return correct_ratings(people, Battles.from_frame(judged, ids=None), **{"baseline": "m1", **options})


def numbers(result: CorrectedRatings, models: dict[str, str] | None = None) -> np.ndarray:
    table = result.table.with_columns(pl.col("model").replace(models or {})).sort("model")
    return table.select(*ENDS).to_numpy().astype(float)


def turned(frame: pl.DataFrame, rows: pl.Series) -> pl.DataFrame:
    """The same battles with the sides of some of them swapped."""
    other = pl.col("winner").replace({"model_a": "model_b", "model_b": "model_a"})
    return frame.with_columns(turn=rows).with_columns(
        model_a=pl.when("turn").then("model_b").otherwise("model_a"),
        model_b=pl.when("turn").then("model_a").otherwise("model_b"),
        winner=pl.when("turn").then(other).otherwise("winner"),
    )


@pytest.mark.parametrize("cluster", [(), ("prompt_id",), ("rater_id",), ("prompt_id", "rater_id")])
def test_order_names_and_sides_change_nothing(cluster: tuple[str, ...]) -> None:
    votes, judged, _ = drawn()
    expected = numbers(board(votes, judged, cluster=cluster))
    assert np.isfinite(expected).all()
    rng = np.random.default_rng(1)
    shuffled = board(
        votes.sample(fraction=1.0, shuffle=True, seed=1), judged.sample(fraction=1.0, shuffle=True, seed=2), cluster=cluster
    )
    np.testing.assert_allclose(numbers(shuffled), expected, atol=1e-6)
    sides = [turned(frame, pl.Series(rng.random(frame.height) < 0.5)) for frame in (votes, judged)]
    np.testing.assert_allclose(numbers(board(*sides, cluster=cluster)), expected, atol=1e-6)
    names = dict(zip(MODELS, ("z", "y", "x", "w"), strict=True))
    renamed = [frame.with_columns(pl.col("model_a", "model_b").replace(names)) for frame in (votes, judged)]
    found = board(*renamed, cluster=cluster, baseline="y")
    np.testing.assert_allclose(numbers(found, {new: old for old, new in names.items()}), expected, atol=1e-6)


def test_a_judge_identical_to_people_gives_people_on_all_battles() -> None:
    votes, _, people = drawn()
    found = board(votes, people.drop("rater_id"))
    assert found.factor == pytest.approx(1.0)
    everyone = rank(Battles.from_frame(people), baseline="m1", interval="sandwich", replicates=0).table.sort("model")
    np.testing.assert_allclose(found.table.sort("model")["rating"], everyone["rating"], atol=1e-6)


def test_a_judge_that_guesses_gives_people_alone() -> None:
    factors = []
    for seed in range(20):
        votes, judged, _ = drawn(seed, noise=1.0)
        found = board(votes, judged)
        factors.append(found.factor)
        widths = (found.table["ci_high"] - found.table["ci_low"]) / (found.table["people_high"] - found.table["people_low"])
        assert widths.fill_nan(None).mean() < 1.02
    assert np.mean(factors) < 0.1


def test_without_the_judge_it_is_the_board_of_people() -> None:
    votes, judged, _ = drawn()
    table = board(votes, judged, factor=0.0).table.sort("model")
    plain = rank(Battles.from_frame(votes), baseline="m1", interval="sandwich").table.sort("model")
    np.testing.assert_allclose(table["rating"], plain["rating"], atol=1e-6)
    np.testing.assert_allclose(table["rating"], table["people"], atol=1e-9)
    # clusters of one battle each: CR2, where rank takes battles as independent
    np.testing.assert_allclose(table["ci_high"] - table["ci_low"], plain["ci_high"] - plain["ci_low"], rtol=0.02)


def test_two_models_are_prediction_powered_inference_of_a_mean() -> None:
    """The oracle: log-odds of the mean h̄ + λ (j̄_N - j̄_n), with λ = Cov(h, j) / Var(j) over the votes."""
    rng = np.random.default_rng(3)
    latent = rng.normal(size=900)
    judge = latent + 0.3 + rng.normal(size=900) > 0
    frame = pl.DataFrame({"battle_id": [str(n) for n in range(900)], "model_a": ["x"] * 900, "model_b": ["y"] * 900})
    judged = frame.with_columns(winner=pl.Series(np.where(judge, "model_a", "model_b")))
    human = latent[:150] > 0
    votes = frame[:150].with_columns(winner=pl.Series(np.where(human, "model_a", "model_b")))
    found = correct_ratings(Battles.from_frame(votes), Battles.from_frame(judged), baseline="y")
    covariance = np.cov(human, judge[:150], ddof=0)
    factor = covariance[0, 1] / covariance[1, 1]
    share = human.mean() + factor * (judge.mean() - judge[:150].mean())
    influence = -factor * (judge - judge.mean()) / 900
    influence[:150] -= (human - human.mean() - factor * (judge[:150] - judge[:150].mean())) / 150
    scale = 400 / np.log(10)
    error = scale * np.sqrt((influence**2).sum()) / (share * (1 - share))
    row = found.table.filter(model="x").row(0, named=True)
    assert found.factor == pytest.approx(factor, abs=1e-9)
    assert row["rating"] == pytest.approx(1000 + scale * np.log(share / (1 - share)), abs=1e-6)
    from salon_ranking.uncertainty.student import two_sided_quantile

    reach = two_sided_quantile(0.05, row["degrees"]) * error
    assert row["ci_high"] - row["rating"] == pytest.approx(reach, rel=0.01)


def test_columns_of_any_name_beside_them_change_nothing() -> None:
    votes, judged, _ = drawn()
    votes = votes.with_columns(chance=pl.lit(0.5))
    names = ("battle", "row", "first", "second", "score", "prompt_id_of_verdict", "of file", "index")
    more = [frame.with_columns(pl.lit("x").alias(name) for name in names) for frame in (votes, judged)]
    np.testing.assert_array_equal(
        numbers(board(*more, probability="chance")), numbers(board(votes, judged, probability="chance"))
    )


@pytest.mark.parametrize("cluster", [(), ("prompt_id",)])
def test_the_bootstrap_of_both_parts_is_as_wide_as_the_sandwich(cluster: tuple[str, ...]) -> None:
    votes, judged, _ = drawn()
    plain = board(votes, judged, cluster=cluster)
    resampled = board(votes, judged, cluster=cluster, replicates=400, seed=1)
    assert "bootstrap (400 replicates, seed 1) of both parts" in resampled.header
    for name in ("rating", "people", "judge"):
        assert resampled.table[name].equals(plain.table[name])
    widths = [
        (result.table.filter(pl.col("model") != "m1")[high] - result.table.filter(pl.col("model") != "m1")[low]).to_numpy()
        for low, high in (("ci_low", "ci_high"), ("people_low", "people_high"), ("judge_low", "judge_high"))
        for result in (resampled, plain)
    ]
    for ours, sandwich in zip(widths[::2], widths[1::2], strict=True):
        assert 0.8 < float(np.mean(ours / sandwich)) < 1.3
    with pytest.raises(OptionError, match=r"the sandwich takes.*rater_id"):
        board(votes, judged, cluster=("rater_id",), replicates=10)
    again = board(votes, judged, cluster=cluster, replicates=400, seed=1)
    assert again.table.equals(resampled.table)
    assert not board(votes, judged, cluster=cluster, replicates=400, seed=2).table.equals(resampled.table)


def test_votes_that_weigh_the_same_need_no_probability() -> None:
    votes, judged, _ = drawn()
    plain, weighed = board(votes, judged), board(votes.with_columns(chance=pl.lit(0.2)), judged, probability="chance")
    np.testing.assert_allclose(numbers(weighed), numbers(plain), atol=1e-9)
    assert "votes weigh the inverse of chance" in weighed.header


def test_votes_of_a_chosen_part_are_named() -> None:
    votes, judged, people = drawn(battles=2000)
    assert board(votes, judged).warnings == ()
    wins = people.join(judged.select("battle_id", verdict="winner"), on="battle_id")
    chosen = wins.filter(
        ((pl.col("model_a") == "m0") & (pl.col("verdict") == "model_a"))
        | ((pl.col("model_b") == "m0") & (pl.col("verdict") == "model_b"))
        | (pl.int_range(pl.len()) % 9 == 0)
    ).drop("verdict")
    warnings = board(chosen, judged).warnings
    assert any("the judge gives m0" in text for text in warnings)
    assert any("m0 is in" in text for text in warnings)


def test_what_cannot_be_corrected_is_refused_with_its_name() -> None:
    votes, judged, _ = drawn()
    stray = pl.concat([votes, votes[:1].with_columns(battle_id=pl.lit("gone"))])
    never = judged.with_columns(pl.col("model_b").replace({"m3": "m4"}), pl.col("model_a").replace({"m3": "m4"}))
    for arguments, words in (
        ((votes[:19], judged), "20 votes or more"),
        ((stray, judged), "1 of 241 votes are about no judged battle.*gone"),
        ((votes, never), "about no judged battle"),
        ((votes.filter((pl.col("model_a") != "m3") & (pl.col("model_b") != "m3")), judged), "people voted on no battle of.*m3"),
        ((votes, pl.concat([judged, judged[:1]]).with_columns(battle_id=pl.lit("same"))), "two verdicts of one judge"),
        (
            (votes.drop("battle_id", "prompt_id"), judged.drop("prompt_id")),
            r"matched by battle_id, or by generation_a.*none of these",
        ),
        ((votes.with_columns(prompt_id=pl.lit("p0")), judged), r"have another prompt_id than the verdict that they match"),
        ((votes.with_columns(weight=pl.lit(2.0)), judged), "weights of battles cannot be corrected.*weight"),
    ):
        with pytest.raises((OptionError, BattleError), match=words):
            board(*arguments)
    for options, words in (
        ({"baseline": "m9"}, "m9"),
        ({"confidence": 1.0}, "confidence"),
        ({"factor": 1.5}, "factor"),
        ({"cluster": ("shade",)}, "shade"),
        ({"cluster": ("prompt_id", "battle_id")}, "one column that the verdicts have"),
        ({"probability": "shade"}, "shade"),
        ({"probability": "battle_id"}, "row 1.*above 0 and at most 1"),
    ):
        with pytest.raises((OptionError, BattleError), match=words):
            board(votes, judged, **options)


def test_a_verdict_without_a_cluster_is_refused() -> None:
    votes, judged, _ = drawn()
    some = judged.with_columns(prompt_id=pl.when(pl.int_range(pl.len()) % 7 > 0).then("prompt_id"))
    with pytest.raises(OptionError, match=r"prompt_id.*a verdict has no cluster"):
        board(votes, some, cluster=("prompt_id",))


def test_rows_of_weight_0_change_nothing() -> None:
    votes, judged, _ = drawn()
    expected = numbers(board(votes, judged))
    more = [
        pl.concat([one.with_columns(weight=pl.lit(1.0)), one[:20].with_columns(battle_id=pl.lit("b0"), weight=pl.lit(0.0))])
        for one in (votes, judged)
    ]
    np.testing.assert_array_equal(numbers(board(*more)), expected)


def test_votes_and_verdicts_with_ids_of_their_own_are_matched_by_what_was_compared() -> None:
    votes, judged, _ = drawn()
    expected = numbers(board(votes, judged))

    def compared(frame: pl.DataFrame, what: str) -> pl.DataFrame:
        sides = [pl.format("{} {}", "battle_id", model).alias(f"generation_{model[-1]}") for model in ("model_a", "model_b")]
        columns = sides if what == "generations" else [pl.col("battle_id").alias("prompt_id")]
        return frame.drop("prompt_id").with_columns(*columns)

    for what, said in (("generations", "generation_a and generation_b"), ("prompts", "prompt_id and pair")):
        people, machine = compared(votes, what), compared(judged, what)
        people = people.with_columns(battle_id=pl.format("vote {}", pl.int_range(pl.len())))
        machine = turned(machine, pl.int_range(machine.height, eager=True) % 2 == 0)
        if what == "generations":
            swapped = {"generation_a": "generation_b", "generation_b": "generation_a"}
            machine = machine.with_columns(
                pl.when("turn").then(pl.col(other)).otherwise(pl.col(one)).alias(one) for one, other in swapped.items()
            )
        for its_ids in (machine.drop("battle_id"), machine.with_columns(battle_id=pl.int_range(pl.len()))):
            found = board(people, its_ids)
            assert f"matched by {said}" in found.header
            np.testing.assert_allclose(numbers(found), expected, atol=1e-6)
        twice = pl.concat([people, people[:40].with_columns(battle_id=pl.format("second {}", pl.int_range(pl.len())))])
        assert board(twice, machine.drop("battle_id")).table["votes"].sum() == 2 * (240 + 40)


def test_one_cluster_has_no_interval() -> None:
    votes, judged, _ = drawn()
    found = board(*(one.with_columns(prompt_id=pl.lit("p")) for one in (votes, judged)), cluster=("prompt_id",))
    assert found.counts_for is None
    assert found.table.filter(pl.col("model") != "m1").select("ci_low", "ci_high").null_count().row(0) == (3, 3)


def test_models_that_no_battle_connects_have_no_board() -> None:
    votes, judged, _ = drawn()
    apart = [pl.concat([one, one.with_columns(pl.col("model_a", "model_b", "battle_id") + "'")]) for one in (votes, judged)]
    with pytest.raises(UnratableError, match="no finite ratings"):
        board(*apart)


def test_a_model_that_lost_every_vote_is_rated_by_the_judge_where_it_can_be() -> None:
    votes, judged, _ = drawn()
    lost = votes.with_columns(
        winner=pl.when(pl.col("model_a") == "m2")
        .then(pl.lit("model_b"))
        .when(pl.col("model_b") == "m2")
        .then(pl.lit("model_a"))
        .otherwise("winner")
    )
    try:
        found = board(lost, judged)
    except UnratableError as error:
        assert "no finite ratings" in str(error)
    else:
        assert found.table["people"].is_null().all()
        assert found.counts_for is None
        assert any("votes alone give no finite ratings" in text for text in found.warnings)


def test_the_command_prints_the_board_and_what_a_vote_counts_for(tmp_path: Path) -> None:
    votes, judged, _ = drawn()
    votes.write_csv(tmp_path / "votes.csv")
    judged.write_parquet(tmp_path / "verdicts.parquet")
    asked = ["correct", str(tmp_path / "votes.csv"), "--judged", str(tmp_path / "verdicts.parquet"), "--baseline", "m1"]
    shown = CliRunner().invoke(votes_commands, [*asked, "--output", str(tmp_path / "board.svg"), "--format", "table"])
    assert shown.exit_code == 0, shown.output
    assert "one vote counts for" in " ".join(shown.output.split())
    assert "people alone" in (tmp_path / "board.svg").read_text(encoding="utf-8")
    answer = json.loads(CliRunner().invoke(votes_commands, [*asked, "--format", "json"]).stdout)
    expected = board(votes, judged)
    assert answer["factor"] == pytest.approx(expected.factor)
    assert [row["model"] for row in answer["rows"]] == expected.table["model"].to_list()
    empty = tmp_path / "empty.csv"
    empty.write_text("model_a,model_b,winner\n", encoding="utf-8")
    refused = CliRunner().invoke(votes_commands, ["correct", str(empty), "--judged", str(tmp_path / "verdicts.parquet")])
    assert refused.exit_code != 0


def several(n: int = 3_000, votes: int = 400, seed: int = 5, guesses: tuple[float, ...] = (0.2, 0.5)) -> tuple[Any, Any, Any]:
    """Votes, verdicts of several judges that guess differently often, and the true strengths."""
    random = np.random.default_rng(seed)
    truth = np.array([0.5, 0.2, 0.0, -0.2, -0.5])
    a = random.integers(0, 5, n)
    b = (a + random.integers(1, 5, n)) % 5
    people = truth[a] - truth[b] + random.logistic(size=n) > 0
    words = np.array(["model_b", "model_a"])
    pairs = pl.DataFrame(
        {
            "battle_id": [f"b{number}" for number in range(n)],
            "model_a": [f"m{number}" for number in a],
            "model_b": [f"m{number}" for number in b],
            "category": np.where(np.arange(n) % 3 == 0, "text", "scene"),
        }
    )
    judged = []
    for number, share in enumerate(guesses):
        says = np.where(random.random(n) < share, random.integers(0, 2, n), people)
        name = pl.lit(f"judge {number}").alias("rater_id")
        judged.append(pairs.with_columns(name, winner=pl.Series(words[says.astype(int)])))
    chosen = random.choice(n, votes, replace=False)
    voted = pairs[chosen].with_columns(
        winner=pl.Series(words[people[chosen].astype(int)]), rater_id=pl.Series([f"r{number % 20}" for number in range(votes)])
    )
    return voted, pl.concat(judged), truth


def test_several_judges_are_used_as_far_as_each_helps() -> None:
    votes, judged, _ = several()
    both = board(votes, judged)
    alone = [board(votes, judged.filter(rater_id=f"judge {number}")) for number in range(2)]
    assert 0.0 < both.factors["judge 1"] < both.factors["judge 0"]
    assert both.factor == pytest.approx(sum(both.factors.values()))
    assert both.counts_for is not None
    assert all(one.counts_for is not None and both.counts_for > one.counts_for for one in alone)
    assert f"{both.factors['judge 0']:.2f} (judge 0)" in both.header


def test_a_judge_twice_is_that_judge_and_a_guesser_beside_it_changes_nearly_nothing() -> None:
    votes, judged, _ = several(guesses=(0.2, 1.0))
    first, guesser = (judged.filter(rater_id=f"judge {number}") for number in range(2))
    alone = board(votes, first).table
    twin = board(votes, pl.concat([first, first.with_columns(rater_id=pl.lit("twin"))])).table
    assert_frame_equal(alone.drop("verdicts"), twin.drop("verdicts"), abs_tol=1e-6)
    beside = board(votes, pl.concat([first, guesser]))
    assert beside.factors["judge 1"] < 0.1
    assert np.abs((beside.table.sort("model")["rating"] - alone.sort("model")["rating"]).to_numpy()).max() < 5.0


def test_judges_shares_minimise_the_quadratic_over_the_simplex() -> None:
    """Held against a fine grid; two variables, with and without an edge."""
    random = np.random.default_rng(0)
    grid = np.array([(x, y) for x in np.linspace(0, 1, 51) for y in np.linspace(0, 1, 51) if x + y <= 1 + 1e-12])
    for _ in range(20):
        root, target = random.normal(size=(2, 2)), random.normal(size=2)
        variance = root @ root.T + 0.05 * np.eye(2)
        shares = shares_of_judges(variance, target)
        assert (shares >= 0).all()
        assert shares.sum() <= 1 + 1e-9
        values = 0.5 * np.einsum("ni,ij,nj->n", grid, variance, grid) - grid @ target
        assert 0.5 * shares @ variance @ shares - target @ shares <= values.min() + 1e-9


def test_battles_that_not_all_judges_decided_are_left_out_and_counted() -> None:
    votes, judged, _ = several()
    gone = judged.filter((pl.col("rater_id") == "judge 0") | (pl.col("battle_id") != votes["battle_id"][0]))
    found = board(votes, gone)
    assert "1 battle with 1 vote left out that not all judges decided" in found.header
    stray = pl.concat([votes, votes[:1].with_columns(battle_id=pl.lit("nowhere"))])
    with pytest.raises(OptionError, match=r"1 of .* votes are about no judged battle"):
        board(stray, gone)
    assert found.table["votes"].sum() == 2 * (votes.height - 1)


def test_boards_by_category_are_those_of_their_rows_and_a_small_one_is_named() -> None:
    votes, judged, _ = several(guesses=(0.2,))
    found = board(votes, judged, by="category")
    for part in ("text", "scene"):
        own = board(votes.filter(category=part), judged.filter(category=part)).table
        assert_frame_equal(found.groups.filter(group=part).drop("group"), own, abs_tol=1e-9)
    assert_frame_equal(found.table, board(votes, judged).table)
    few = votes.filter((pl.col("category") == "text") | (pl.col("battle_id").str.ends_with("1")))
    is_rare = pl.col("battle_id").is_in(few["battle_id"][:5].implode())
    sparse = judged.with_columns(category=pl.when(is_rare).then(pl.lit("rare")).otherwise("category"))
    assert "category rare has no board: 20 votes or more are needed" in " ".join(board(few, sparse, by="category").warnings)
    with pytest.raises(OptionError, match="no such column"):
        board(votes, judged, by="colour")


def test_ranks_and_differences_are_those_of_the_corrected_covariance() -> None:
    votes, judged, _ = several()
    found = board(votes, judged, ranks=True)
    assert_frame_equal(found.table.drop("rank_low", "rank_high"), board(votes, judged).table)
    assert (found.table["rank_low"] <= found.table["rank"]).all()
    assert (found.table["rank_high"] >= found.table["rank"]).all()
    beside = found.differences.filter((pl.col("model_a") == "m1") | (pl.col("model_b") == "m1"))
    others = found.table.filter(pl.col("model") != "m1")
    assert sorted((beside["ci_high"] - beside["ci_low"]).round(6)) == sorted((others["ci_high"] - others["ci_low"]).round(6))
    assert found.differences.height == 10
    assert board(votes, judged).differences.is_empty()
    with pytest.raises(OptionError, match="ranks are made by the sandwich alone"):
        board(votes, judged, replicates=50, ranks=True)


def test_too_many_judges_and_a_judge_twice_about_one_battle_are_refused() -> None:
    votes, judged, _ = several()
    with pytest.raises(OptionError, match="two verdicts of one judge about one battle"):
        board(votes, pl.concat([judged, judged[:1]]))
    with pytest.raises(OptionError, match="at most 6 judges"):
        board(
            votes,
            pl.concat([judged.with_columns(rater_id=pl.lit(f"j{n}")) for n in range(7)]).unique(["battle_id", "rater_id"]),
        )
