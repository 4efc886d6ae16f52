"""Scores of assessors: hostile answers first, the paper's Tables 1 and 2 from their own counts, and the bootstrap."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.suites.assessors import MAIN_LABELS, Invalid, compare, counts_behind, evaluate, labels_in
from salon_bench.suites.assessors.evaluation import drawn_times, outcomes_by_pattern
from salon_bench.suites.assessors.label_counts import LabelCounts, macro, micro
from salon_bench.suites.assessors.label_space import LABELS, label_matrix, label_names
from salon_bench.suites.assessors.suite import answer_of
from salon_published import load
from salon_taxonomy.answers import Artifact, MagicMirrorAnswer, Parsed, Unparsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES, magicmirror_answers
from salon_taxonomy.verdict import Reason

NORMAL = MagicMirrorAnswer(True)
HAND = MagicMirrorAnswer(False, (Artifact("L2: Abnormal Human Anatomy", ("L3: Hand Structure Deformity",)),))
FACE = MagicMirrorAnswer(False, (Artifact("L2: Abnormal Human Anatomy", ("L3: Facial Structure Deformity",)),))
UNREAD = Unparsed(Reason.MALFORMED, "no box")


def row(result, label, level=None):
    table = result.table.filter(pl.col("label") == label)
    [found] = (table if level is None else table.filter(pl.col("level") == level)).iter_rows(named=True)
    return found


@for_each("reply", HOSTILE_REPLIES)
def test_a_hostile_answer_gives_no_label_and_is_counted(reply):
    result = evaluate([HAND], [labels_in(reply)], replicates=0)
    assert (result.valid, sum(count for _, count in result.reasons)) == (0, 1)
    assert (row(result, "artifact")["recall"], row(result, "artifact")["precision"]) == (0.0, None)


def test_invalid_answers_miss_every_label_by_default_and_are_left_out_on_request():
    truth, answers = [HAND, HAND, NORMAL], [Parsed(HAND), UNREAD, UNREAD]
    assert row(evaluate(truth, answers, replicates=0), "artifact")["recall"] == 0.5
    left_out = evaluate(truth, answers, invalid="left_out", replicates=0)
    assert row(left_out, "artifact")["recall"] == 1.0
    assert row(left_out, "artifact")["support"] == 1
    assert left_out.header == "Images: 3. Answers read: 1, not read: 2 (2 malformed; left out)."


def test_l3_labels_are_scored_beside_their_parent():
    result = evaluate([HAND, HAND], [Parsed(HAND), Parsed(FACE)], replicates=0)
    assert row(result, "L2: Abnormal Human Anatomy")["f1"] == 1.0
    hand, face = row(result, "L3: Hand Structure Deformity"), row(result, "L3: Facial Structure Deformity")
    assert (hand["recall"], hand["precision"], face["precision"], face["recall"]) == (0.5, 1.0, 0.0, None)


def test_the_label_that_shares_its_parents_name_is_told_apart():
    whole = MagicMirrorAnswer(False, (Artifact("L2: Abnormal Human Anatomy", ("L3: Abnormal Human Anatomy",)),))
    result = evaluate([whole], [Parsed(HAND)], replicates=0)
    assert row(result, "L2: Abnormal Human Anatomy")["f1"] == 1.0
    assert row(result, "L3: Abnormal Human Anatomy")["recall"] == 0.0


def test_an_artifact_without_label_is_an_artifact():
    bare = MagicMirrorAnswer(False)
    result = evaluate([HAND], [Parsed(bare)], replicates=0)
    assert (row(result, "artifact")["f1"], row(result, "macro", "L2")["recall"]) == (1.0, 0.0)


def test_the_table_has_all_labels_and_four_averages():
    table = evaluate([HAND], [Parsed(HAND)], replicates=0).table
    assert set(table["label"]) == {label.name for label in LABELS} | {"macro", "micro"}
    assert table.height == 24 + 4


def test_undefined_values_are_null_and_labels_without_support_are_in_no_macro():
    result = evaluate([HAND], [Parsed(HAND)], replicates=20)
    assert row(result, "L2: Abnormal Animal Anatomy")["f1"] is None
    assert row(result, "L2: Abnormal Animal Anatomy")["f1_low"] is None
    assert row(result, "macro", "L2")["f1"] == 1.0


def test_macro_f1_is_the_mean_of_f1_and_not_made_from_means():
    labels = [LabelCounts(90, 10, 10), LabelCounts(1, 9, 99)]
    assert float(macro(labels).f1) == pytest.approx((0.9 + 2 / 110) / 2)
    assert float(micro(labels).precision) == pytest.approx(91 / 110)


def test_a_label_that_was_never_given_has_precision_zero_in_the_macro_average():
    assert float(macro([LabelCounts(10, 0, 0), LabelCounts(0, 0, 5)]).precision) == 0.5
    assert math.isnan(LabelCounts(0, 0, 5).precision)


# ------------------------------------------------------------------------------------------ Tables 1 and 2 of paper 000

SHORT = dict(zip(("interaction", "human", "animal", "object"), MAIN_LABELS, strict=True))
SUPPORT = {
    short: load("magicmirror:5").filter(pl.col("label") == name)["test"].cast(pl.Int64).item() for short, name in SHORT.items()
}
ASSESSORS = load("magicmirror:2")["model"].to_list()


def images_behind(model):
    """Images and answers whose counts give one row of Table 2."""
    [printed] = load("magicmirror:2").filter(pl.col("model") == model).iter_rows(named=True)
    truth, answers = [], []
    for short, name in SHORT.items():
        counts = counts_behind(printed[f"{short}.precision"], printed[f"{short}.recall"], SUPPORT[short])
        flawed = MagicMirrorAnswer(False, (Artifact(name),))
        for times, true, given_ in (
            (counts.true_positives, flawed, flawed),
            (counts.false_positives, NORMAL, flawed),
            (counts.false_negatives, flawed, NORMAL),
        ):
            truth += [true] * times
            answers += [Parsed(given_)] * times
    return truth, answers


def test_the_supports_are_those_of_the_paper():
    assert SUPPORT == {"interaction": 3004, "human": 5645, "animal": 1324, "object": 1842}


def printed_row(table, model):
    [found] = load(table).filter(pl.col("model") == model).iter_rows(named=True)
    return found


@pytest.mark.parametrize("model", ASSESSORS)
def test_the_macro_columns_of_table_1_follow_from_table_2_to_the_printed_digit(model):
    table_1, table_2 = printed_row("magicmirror:1", model), printed_row("magicmirror:2", model)
    labels = []
    for short, support in SUPPORT.items():
        precision, recall = table_2[f"{short}.precision"], table_2[f"{short}.recall"]
        hits = recall * support
        labels.append(LabelCounts(hits, hits / precision - hits, support - hits))
    for metric in ("precision", "recall", "f1"):
        assert float(getattr(macro(labels), metric)) == pytest.approx(table_1[f"macro.{metric}"], abs=1.01e-4)


@pytest.mark.parametrize("model", sorted(set(ASSESSORS) - {"Gemini2.5-flash", "Gemini2.5-pro", "Qwen2.5-VL-32B"}))
def test_an_evaluation_of_the_images_behind_table_2_gives_table_1(model):
    result = evaluate(*images_behind(model), replicates=0)
    table_1, table_2 = printed_row("magicmirror:1", model), printed_row("magicmirror:2", model)
    for metric in ("precision", "recall", "f1"):
        for short, name in SHORT.items():
            assert row(result, name)[metric] == pytest.approx(table_2[f"{short}.{metric}"], abs=6e-4)
        for average in ("macro", "micro"):
            assert row(result, average, "L2")[metric] == pytest.approx(table_1[f"{average}.{metric}"], abs=3e-4)


def test_the_row_of_the_papers_own_assessor_comes_out_to_the_last_digit():
    result, table_1 = (
        evaluate(*images_behind("MagicAssessor-7B"), replicates=0),
        printed_row("magicmirror:1", "MagicAssessor-7B"),
    )
    for average in ("macro", "micro"):
        for metric in ("precision", "recall", "f1"):
            assert f"{row(result, average, 'L2')[metric]:.4f}" == f"{table_1[f'{average}.{metric}']:.4f}"


@pytest.mark.parametrize(("model", "gap"), [("Gemini2.5-flash", 44), ("Gemini2.5-pro", 10), ("Qwen2.5-VL-32B", -11)])
def test_three_rows_of_table_1_stand_on_other_supports_than_table_5(model, gap):
    found = row(evaluate(*images_behind(model), replicates=0), "micro", "L2")["precision"]
    assert round(1e4 * (found - printed_row("magicmirror:1", model)["micro.precision"])) == gap


# ------------------------------------------------------------------------------------------------------- the bootstrap


def plain_bootstrap(true, predicted, replicates, seed, column):
    """The readable twin: draw images one by one, count, divide."""
    random = np.random.default_rng(seed)
    values = []
    for _ in range(replicates):
        rows = random.integers(0, len(true), len(true))
        t, p = true[rows, column], predicted[rows, column]
        values.append((t & p).sum() / t.sum() if t.any() else np.nan)
    return np.nanpercentile(values, [2.5, 97.5])


def test_the_interval_agrees_with_a_bootstrap_that_draws_images_one_by_one():
    random = np.random.default_rng(3)
    truth = [HAND if random.random() < 0.6 else NORMAL for _ in range(400)]
    answers = [Parsed(true if random.random() < 0.7 else NORMAL) for true in truth]
    found = row(evaluate(truth, answers, replicates=4000, seed=1), "artifact")
    low, high = plain_bootstrap(label_matrix(truth), label_matrix([a.answer for a in answers]), 4000, 2, 0)
    assert found["recall_low"] == pytest.approx(low, abs=0.01)
    assert found["recall_high"] == pytest.approx(high, abs=0.01)


def test_the_same_seed_gives_the_same_intervals_in_any_order_of_the_images():
    truth, answers = [HAND, NORMAL, FACE] * 9, [Parsed(HAND), Parsed(FACE), UNREAD] * 9
    first, again = evaluate(truth, answers, replicates=50), evaluate(truth[::-1], answers[::-1], replicates=50)
    assert first.table.equals(again.table)
    assert not first.table.equals(evaluate(truth, answers, replicates=50, seed=1).table)


def test_every_resample_has_as_many_images_as_there_are():
    matrices, times = outcomes_by_pattern(label_matrix([HAND, NORMAL, HAND]), label_matrix([HAND, HAND, HAND]))
    assert sorted(times.tolist()) == [1, 2]
    assert matrices[0].shape == (2, len(LABELS))
    assert set(drawn_times(times, 30, seed=0).sum(axis=1)) == {3}


def test_two_equal_assessors_do_not_differ_and_a_better_one_does():
    truth = [HAND, NORMAL] * 30
    same = compare(truth, [Parsed(t) for t in truth], [Parsed(t) for t in truth], replicates=50)
    assert same.table["difference"].drop_nulls().to_list() == [0.0] * same.table["difference"].count()
    assert not same.table["significant"].any()
    # A difference of 1 in all of them has no interval; so the second finds one of thirty.
    second = [Parsed(HAND), *[UNREAD] * 59]
    better = compare(truth, [Parsed(t) for t in truth], second, replicates=500).table
    assert better.filter(pl.col("metric") == "recall", pl.col("label") == "artifact").row(0, named=True)["significant"]


def test_a_comparison_has_the_differences_of_the_evaluations():
    truth = [HAND, NORMAL, FACE, HAND] * 5
    one, other = [Parsed(HAND)] * 20, [Parsed(FACE), UNREAD, Parsed(FACE), Parsed(NORMAL)] * 5
    table = compare(truth, one, other, replicates=20).table
    for label in ("artifact", "L3: Hand Structure Deformity"):
        [found] = table.filter(pl.col("label") == label, pl.col("metric") == "recall").iter_rows(named=True)
        first, second = (row(evaluate(truth, answers, replicates=0), label)["recall"] for answers in (one, other))
        assert (found["first"], found["second"], found["difference"]) == (first, second, first - second)


@settings(max_examples=40)
@given(st.lists(st.tuples(magicmirror_answers(), magicmirror_answers() | st.none()), min_size=1, max_size=12))
def test_counts_are_those_of_sets_of_names(pairs):
    truth = [true for true, _ in pairs]
    answers = [UNREAD if given_ is None else Parsed(given_) for _, given_ in pairs]
    result = evaluate(truth, answers, replicates=3)
    sets = [(set(label_names(true)), set() if given_ is None else set(label_names(given_))) for true, given_ in pairs]
    for label in LABELS:
        found = row(result, label.name)
        assert found["support"] == sum(label.name in true for true, _ in sets)
        assert found["flagged"] == sum(label.name in given_ for _, given_ in sets)
        assert found["correct"] == sum(label.name in true & given_ for true, given_ in sets)
        for metric in ("precision", "recall", "f1"):
            assert found[metric] is None or 0 <= found[metric] <= 1


@given(magicmirror_answers())
def test_names_lead_back_to_the_same_labels(answer):
    assert set(label_names(answer_of(label_names(answer)))) == set(label_names(answer))


@pytest.mark.parametrize(
    "options", [{"replicates": -1}, {"confidence": 1.0}, {"confidence": float("nan")}, {"seed": -1}, {"invalid": "wrong"}]
)
def test_options_out_of_range_are_typed_errors(options):
    with pytest.raises(InputError):
        evaluate([HAND], [UNREAD], **options)


def test_lengths_that_differ_and_nothing_to_evaluate_are_typed_errors():
    with pytest.raises(InputError, match="1 images have truth"):
        evaluate([HAND], [])
    with pytest.raises(InputError, match="no image"):
        evaluate([HAND], [UNREAD], invalid=Invalid.LEFT_OUT)
    with pytest.raises(InputError, match="replicates"):
        compare([HAND], [UNREAD], [UNREAD], replicates=0)


@pytest.mark.parametrize("values", [(1.2, 0.5, 10), (0.5, -0.1, 10), (0.5, 0.5, -1), (float("nan"), 0.5, 1)])
def test_values_that_no_table_can_print_have_no_counts(values):
    with pytest.raises(InputError):
        counts_behind(*values)
