"""The numbers of Artifact-Bench: the published table from its own counts, and small cases counted by hand."""

import polars as pl
import pytest

from for_each import for_each
from salon_bench.suites.artifact_bench.accuracy import (
    AccuracyCounts,
    average,
    average_interval,
    falls_with_difficulty,
    interval,
    total,
)
from salon_bench.suites.artifact_bench.diagnosis import AidAnswer, confusion, diagnoses, label_counts
from salon_bench.suites.artifact_bench.summary import HUMAN_BASELINE, HUMAN_TOTAL, INVALID, summarize
from salon_judges.formats.artifact_bench import QuestionLevel, QuestionTask
from salon_published import load, table
from salon_published.counts import share_counts
from salon_taxonomy.records import Score

PRINTED = table("artifact-bench:2")
SIZES = {key: questions for key, (_, questions) in HUMAN_BASELINE.items()}


def counted(row: int) -> dict[tuple[QuestionTask, QuestionLevel], AccuracyCounts]:
    """The whole numbers behind one row of the published table."""
    found = {}
    for (task, level), size in SIZES.items():
        cell = PRINTED.quantity(row, f"{task}.level{level.value[1:]}")
        right, _ = share_counts(cell, [size])[0]
        found[task, level] = AccuracyCounts(right, size)
    return found


@for_each("row", range(20))
def test_avg_and_total_of_every_published_row_come_out_of_its_counts(row: int) -> None:
    tallies = counted(row)
    assert sum(tally.counted for tally in tallies.values()) == 1100
    assert total(tallies) == pytest.approx(PRINTED.quantity(row, "total").value, abs=0.05 + 1e-9)
    human = row == 19
    for task in QuestionTask:
        levels = [tally for (each, _), tally in tallies.items() if each is task]
        pooled = sum(levels, AccuracyCounts()).percent
        # The paper's Avg of the human row is pooled over the questions, that of the models is the mean of the levels.
        value = pooled if human else average(tallies, task)
        assert value == pytest.approx(PRINTED.quantity(row, f"{task}.average").value, abs=0.05 + 1e-9)


def test_the_human_baseline_is_the_published_row() -> None:
    [human] = load("artifact-bench:2").filter(model="Human Expert").iter_rows(named=True)
    counts = {(row["task"], row["level"]): row["questions"] for row in load("artifact-bench:3").iter_rows(named=True)}
    printed = {
        (task, level): (human[f"{task}.level{level.value[1:]}"], counts[task.value.upper(), level.value])
        for task in QuestionTask
        for level in QuestionLevel
    }
    assert printed == HUMAN_BASELINE
    assert human["total"] == HUMAN_TOTAL
    assert sum(SIZES.values()) == 1100


def test_difficulty_falls_or_not_and_is_unknown_without_all_levels() -> None:
    def of(*right: int) -> dict[tuple[QuestionTask, QuestionLevel], AccuracyCounts]:
        return {
            (QuestionTask.AID, level): AccuracyCounts(count, 10) for level, count in zip(QuestionLevel, right, strict=False)
        }

    assert [falls_with_difficulty(of(*each), QuestionTask.AID) for each in ((9, 5, 5), (9, 5, 6), (9, 5))] == [
        True,
        False,
        None,
    ]
    assert falls_with_difficulty({}, QuestionTask.RVAC) is None


def test_intervals_hold_their_value_and_are_no_wider_for_more_questions() -> None:
    for right in (0, 3, 10):
        small = {(QuestionTask.AID, level): AccuracyCounts(right, 10) for level in QuestionLevel}
        large = {(QuestionTask.AID, level): AccuracyCounts(right * 10, 100) for level in QuestionLevel}
        low, high = average_interval(small, QuestionTask.AID)
        assert low <= average(small, QuestionTask.AID) <= high
        inner = average_interval(large, QuestionTask.AID)
        assert inner[1] - inner[0] < high - low
    assert interval(AccuracyCounts(0, 0, 0, 5)) == (None, None)
    assert average_interval({(QuestionTask.AID, QuestionLevel.L1): AccuracyCounts()}, QuestionTask.AID) == (None, None)


def test_one_level_has_the_interval_of_its_own_as_avg() -> None:
    one = {(QuestionTask.AID, QuestionLevel.L1): AccuracyCounts(3, 10)}
    assert average_interval(one, QuestionTask.AID) == pytest.approx(interval(AccuracyCounts(3, 10)))


def answer(prompt: str, truth: str, wrong: str, chosen: str | None) -> AidAnswer:
    names = {"f": "flickering-and-noise", "o": "oversmoothing", "c": "spatial-clipping", "t": "texture-inconsistency"}
    sets = [frozenset(names[letter] for letter in letters) for letters in (truth, wrong, chosen or "")]
    return AidAnswer(prompt, sets[0], sets[1], None if chosen is None else sets[2])


def test_labels_families_overlap_and_confusions_as_counted_by_hand() -> None:
    found = [answer("1", "fo", "ct", "fc"), answer("2", "f", "oc", "f"), answer("3", "c", "ft", None)]
    assert [each.jaccard for each in found] == [1 / 3, 1.0, 0.0]
    assert [each.options_right for each in found] == [2, 3, 0]
    leaves = label_counts(found)
    assert (leaves["flickering-and-noise"].precision, leaves["flickering-and-noise"].recall) == (1.0, 1.0)
    assert (leaves["spatial-clipping"].precision, leaves["spatial-clipping"].recall) == (0.0, 0.0)
    assert (leaves["oversmoothing"].precision, leaves["oversmoothing"].recall) == (None, 0.0)
    texture = label_counts(found, families=True)["image-quality-and-texture"]
    assert (texture.present, texture.chosen, texture.both) == (3, 2, 2)
    pairs = confusion(found)
    assert pairs.rows() == [("oversmoothing", "spatial-clipping", 1.0, 1, 1.0)]
    assert confusion([]).height == 0


def score(prompt: str, dimension: str, value: float | str, task: str = "aid L1") -> Score:
    said = {"unscored_reason": value} if isinstance(value, str) else {"value": value}
    whole = {"run_id": "r", "suite": "artifact-bench", "task": task, "subject_model": "m", "judge": "j"}
    return Score(**whole, prompt_id=prompt, dimension=dimension, **said)


def frame(*rows: Score) -> pl.DataFrame:
    return pl.DataFrame([row.model_dump() for row in rows], infer_schema_length=None).with_columns(
        pl.col("value").cast(pl.Float64), pl.col("unscored_reason").cast(pl.String)
    )


def test_an_invalid_reply_counts_as_wrong_and_a_lost_one_not_at_all() -> None:
    rows = frame(
        score("a", "correct", 1.0), score("a", "present: oversmoothing", 1.0),
        score("b", "correct", "malformed"), score("b", "present: oversmoothing", "malformed"),
        score("c", "correct", "timeout"), score("c", "present: oversmoothing", "timeout"),
    )  # fmt: skip
    table = {(row["metric"], row["group"]): row for row in summarize(rows).table.to_dicts()}
    assert table["accuracy", "aid L1"]["value"] == 50.0
    assert (table["accuracy", "aid L1"]["scored"], table["accuracy", "aid L1"]["unscored"]) == (1, 2)
    assert table["recall", "leaf oversmoothing"]["value"] == 50.0
    assert [each.prompt_id for each in diagnoses(rows, INVALID)] == ["a", "b"]


def test_the_place_that_decides_is_reported() -> None:
    rows = [
        score(str(pair), f"{dimension}{ending}", value, "pvrc L1")
        for pair in range(8)
        for ending, right in (("", 1.0), ("_swapped", 0.0))
        for dimension, value in (("correct", right), ("chose_first", 1.0))
    ]
    found = summarize(frame(*rows))
    table = {row["metric"]: row["value"] for row in found.table.to_dicts() if row["metric"] != "accuracy"}
    assert (table["chose the first"], table["same video in both orders"], table["accuracy in both orders"]) == (100, 0, 0)
    assert any("in 8 of 8 pairs the place decided: the first 8 times" in note and "p = 0.00781" in note for note in found.notes)


def test_no_rows_give_no_numbers() -> None:
    empty = frame(score("a", "correct", 1.0)).clear()
    assert summarize(empty).table.height == 0
