"""All agreement statistics of a table of labels, in Python and on the command line."""

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from salon_console import main
from salon_ranking.agreement import AgreementError, LabelStatistics, alpha, cohen_kappa, fleiss_kappa, label_statistics

ROWS = pl.DataFrame(
    {
        "generation_id": [f"g{place // 3}" for place in range(18)],
        "rater_id": ["ann", "bob", "eve"] * 6,
        "value": [1, 1, 2, 3, 3, 3, 5, 4, 5, 2, 2, 2, 1, 1, 1, 4, 5, 5],
    }
)
NAMES = {"thing": "generation_id", "rater": "rater_id", "label": "value"}


def by_name(found: LabelStatistics) -> dict[tuple[str, str | None, str | None], float | None]:
    return {row[:3]: row[3] for row in found.table.iter_rows()}


def test_the_statistics_are_those_of_the_single_functions() -> None:
    found = by_name(label_statistics(ROWS, **NAMES, level="ordinal", weights="quadratic"))
    known = {(s, a, b): value for (s, a, b), value in found.items()}
    assert known["Krippendorff α, ordinal", None, None] == pytest.approx(
        alpha(ROWS, thing="generation_id", rater="rater_id", value="value", level="ordinal").value
    )
    counts = [
        [sum(row == mark for row in ROWS["value"][3 * place : 3 * place + 3]) for mark in range(1, 6)] for place in range(6)
    ]
    assert known["Fleiss κ", None, None] == pytest.approx(fleiss_kappa(counts))
    ann, bob = (ROWS.filter(rater_id=name)["value"].to_list() for name in ("ann", "bob"))
    assert known["Cohen κ, quadratic", "ann", "bob"] == pytest.approx(cohen_kappa(ann, bob, weights="quadratic"))
    assert len(found) == 5


def test_what_does_not_exist_has_a_reason_and_no_value() -> None:
    uneven = label_statistics(ROWS[:-1].with_columns(pl.col("value").cast(pl.String)), **NAMES)
    (fleiss,) = uneven.table.filter(pl.col("statistic") == "Fleiss κ").to_dicts()
    assert (fleiss["value"], "same number of raters" in fleiss["reason"]) == (None, True)
    same = label_statistics(ROWS.with_columns(value=pl.lit("a")), **NAMES)
    assert same.table["value"].null_count() == same.table.height == same.table["reason"].count()
    assert "–" in str(same)


def test_rows_without_a_label_are_counted_and_wrong_tables_refused() -> None:
    holes = ROWS.with_columns(value=pl.when(pl.col("rater_id") == "eve").then(None).otherwise("value"))
    assert label_statistics(holes, **NAMES).header.startswith(
        "12 labels of 6 things by 2 raters; 6 rows without a label left out; 95%"
    )
    for missing in (float("nan"), "", " "):
        kind = pl.Float64 if isinstance(missing, float) else pl.String
        value = pl.when(pl.col("rater_id") == "eve").then(pl.lit(missing)).otherwise(pl.col("value").cast(kind))
        for replicates in (0, 100):
            found = label_statistics(ROWS.with_columns(value=value), **NAMES, replicates=replicates)
            expected = label_statistics(holes.with_columns(pl.col("value").cast(kind)), **NAMES, replicates=replicates)
            assert (found.header, found.table.to_dicts()) == (expected.header, expected.table.to_dicts())
    for frame, words in (
        (ROWS.drop("value"), "missing column"),
        (ROWS.with_columns(value=pl.lit(None)), "no label"),
        (pl.concat([ROWS, ROWS[:1]]), "twice"),
    ):
        with pytest.raises(AgreementError, match=words):
            label_statistics(frame, **NAMES)
    with pytest.raises(AgreementError, match="needs numbers"):
        label_statistics(ROWS.with_columns(value=pl.lit("good")), **NAMES, level="interval")


def test_the_command_prints_and_writes_them(tmp_path: Path) -> None:
    ROWS.write_csv(tmp_path / "ratings.csv")
    words = ["ratings", "agreement", str(tmp_path / "ratings.csv"), "--level", "ordinal", "--weights", "linear"]
    done = CliRunner().invoke(main, [*words, "--output", str(tmp_path / "agreement.csv")])
    assert done.exit_code == 0, done.output
    assert (
        "18 labels of 6 things by 3 raters; 95% interval: percentile bootstrap over things, 1,000 replicates, seed 0"
        in done.stdout
    )
    expected = label_statistics(ROWS, **NAMES, level="ordinal", weights="linear").table
    written = pl.read_csv(tmp_path / "agreement.csv", schema_overrides=expected.schema)
    assert written["statistic"].to_list() == expected["statistic"].to_list()
    assert written["value"].to_list() == pytest.approx(expected["value"].to_list())
    wrong = CliRunner().invoke(main, [*words, "--label", "mark"])
    assert (wrong.exit_code, "missing column 'mark'" in wrong.stderr) == (2, True)


def test_neither_the_order_of_rows_nor_the_names_of_things_and_raters_change_an_interval() -> None:
    numbers = ("statistic", "value", "ci_low", "ci_high", "things", "ratings")
    expected = label_statistics(ROWS, **NAMES, level="ordinal").table.select(numbers)
    assert expected["ci_low"].null_count() < expected.height
    shuffled = ROWS.sample(fraction=1.0, shuffle=True, seed=3)
    assert label_statistics(shuffled, **NAMES, level="ordinal").table.select(numbers).equals(expected)
    renamed = ROWS.with_columns(*(pl.format("r-{}", NAMES[name]).alias(NAMES[name]) for name in ("thing", "rater")))
    assert label_statistics(renamed, **NAMES, level="ordinal").table.select(numbers).equals(expected)
