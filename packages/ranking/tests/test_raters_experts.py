"""Qualification against reference answers, and the sample to be judged again."""

import polars as pl
import pytest

from salon_ranking.errors import BattleError, OptionError
from salon_ranking.raters import RaterPolicy, Votes, audit_sample, check_raters, qualify

OUTCOMES = ["model_a", "model_b", "both_good", "both_bad"] * 5
KNOWN = pl.DataFrame({"prompt_id": [f"p{n}" for n in range(20)], "winner": OUTCOMES}).with_columns(
    model_a=pl.lit("x"), model_b=pl.lit("y")
)


def answered(rater: str, wrong: int, mode: str = "expert") -> pl.DataFrame:
    """All twenty answers, the first ``wrong`` of them replaced by ``tie``."""
    winner = pl.when(pl.int_range(pl.len()) < wrong).then(pl.lit("tie")).otherwise("winner")
    return KNOWN.with_columns(winner.alias("winner"), rater_id=pl.lit(rater), mode=pl.lit(mode))


def test_eighty_five_percent_and_kappa_above_point_eight_are_needed():
    votes = Votes.from_frame(pl.concat([answered("three", 3), answered("four", 4), answered("none", 0)]))
    rows = {row["rater_id"]: row for row in qualify(votes, KNOWN).iter_rows(named=True)}
    assert rows["none"]["kappa"] == 1.0
    assert rows["none"]["qualified"] is True
    # 17 of 20 agree; chance is (4 + 4 + 4 + 5)·5/400 = 0.2125, so κ = (0.85 - 0.2125) / 0.7875.
    assert rows["three"]["agreement"] == 0.85
    assert rows["three"]["kappa"] == pytest.approx(0.6375 / 0.7875)
    assert rows["three"]["qualified"] is True
    assert rows["four"]["qualified"] is False
    stricter = RaterPolicy(qualification_kappa=0.82)
    assert qualify(votes, KNOWN, stricter).filter(pl.col("rater_id") == "three")["qualified"].item() is False


def test_only_experts_are_examined_and_a_failure_is_a_flag():
    votes = pl.concat([answered("expert", 10), answered("good", 1), answered("anybody", 20, mode="public")])
    found = check_raters(votes, reference=KNOWN)
    assert found.flagged == ("expert",)
    finding = found.findings.row(0, named=True)
    assert (finding["reason"], finding["value"], finding["threshold"]) == ("unqualified", 0.5, 0.85)
    assert "agrees with 50% of 20 reference answers, κ 0.4" in finding["explanation"]


def test_who_was_called_a_does_not_matter():
    swap = {"model_a": "model_b", "model_b": "model_a"}
    swapped = answered("r", 0).with_columns(pl.col("winner").replace(swap), model_a=pl.lit("y"), model_b=pl.lit("x"))
    assert qualify(Votes.from_frame(swapped), KNOWN)["agreement"].to_list() == [1.0]


def test_one_category_has_no_kappa_and_decides_nothing():
    known = KNOWN.filter(pl.col("winner") == "model_a")
    votes = Votes.from_frame(known.with_columns(rater_id=pl.lit("r")))
    assert qualify(votes, known).rows() == [("r", 5, 1.0, None, None)]
    assert check_raters(votes, reference=known).flagged == ()


def test_a_reference_that_contradicts_itself_or_cannot_be_found_is_refused():
    votes = Votes.from_frame(answered("r", 0))
    with pytest.raises(BattleError, match="reference, row 21, column 'prompt_id': the same pair is answered twice: 'p0'"):
        qualify(votes, pl.concat([KNOWN, KNOWN.head(1)]))
    with pytest.raises(BattleError, match="reference: missing column 'prompt_id'"):
        qualify(votes, KNOWN.drop("prompt_id"))
    with pytest.raises(BattleError, match="reference answers cannot be found: no column prompt_id"):
        qualify(Votes.from_frame(answered("r", 0).drop("prompt_id")), KNOWN)
    stranger = KNOWN.with_columns(prompt_id=pl.lit("q") + pl.col("prompt_id"))
    assert dict(check_raters(votes, reference=stranger).not_checked)["unqualified"].startswith("no expert answered")


@pytest.fixture
def battles() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "battle_id": [f"b{n}" for n in range(110)],
            "rater_id": ["many"] * 100 + ["few"] * 9 + ["one"],
            "mode": ["expert"] * 109 + ["public"],
        }
    )


def test_every_rater_gives_a_quarter_rounded_up(battles: pl.DataFrame):
    counts = dict(audit_sample(battles)["rater_id"].value_counts().iter_rows())
    assert counts == {"many": 25, "few": 3, "one": 1}
    assert audit_sample(battles, share=1.0).equals(battles)
    assert "one" not in audit_sample(battles, mode="expert")["rater_id"].to_list()


def test_the_sample_depends_on_the_seed_and_the_ids_alone(battles: pl.DataFrame):
    drawn = set(audit_sample(battles, seed=1)["battle_id"])
    assert set(audit_sample(battles.reverse(), seed=1)["battle_id"]) == drawn
    assert set(audit_sample(battles.filter(pl.col("rater_id") != "few"), seed=1)["battle_id"]) <= drawn
    assert set(audit_sample(battles, seed=2)["battle_id"]) != drawn


def test_audits_refuse_what_they_cannot_draw_from(battles: pl.DataFrame):
    with pytest.raises(OptionError, match="above 0"):
        audit_sample(battles, share=0.0)
    with pytest.raises(BattleError, match="missing column 'battle_id'"):
        audit_sample(battles.drop("battle_id"))
    with pytest.raises(BattleError, match="row 2, column 'battle_id': occurs twice: 'b0'"):
        audit_sample(battles.with_columns(battle_id=pl.lit("b0")))
    with pytest.raises(BattleError, match="row 1, column 'rater_id': no value"):
        audit_sample(battles.with_columns(rater_id=pl.lit(None, dtype=pl.String)))
