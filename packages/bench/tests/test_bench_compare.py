"""``salon results compare``: pairs by prompt, counts what cannot be paired, and never mixes versions unasked."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from salon_bench.analysis.compare import compare
from salon_console import main
from salon_taxonomy.errors import InputError

sys.path.insert(0, str(Path(__file__).resolve().parent))
from verdict_store import VerdictStore


def values(numbers, task="t", dimension="d"):
    return {(task, f"p{place:02d}", dimension): value for place, value in enumerate(numbers)}


@pytest.fixture
def made(tmp_path: Path) -> VerdictStore:
    return VerdictStore(tmp_path)


def salon(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)])


def test_a_difference_is_of_the_prompts_that_both_scored_and_the_others_are_counted(made: VerdictStore) -> None:
    a = made.run("a", values([5, 6, 7, "timeout", 9, "malformed"]))
    b = made.run("b", values([4, 6, 4, 8, "refused", "empty"]))
    [gap] = compare(made.path, a, b).gaps
    assert (gap.paired, gap.only_a, gap.only_b, gap.neither) == (3, 1, 1, 1)
    assert (gap.unscored_a, gap.unscored_b) == (2, 2)
    assert (gap.mean_a, gap.mean_b) == (6.0, pytest.approx(14 / 3))
    assert gap.difference == pytest.approx(4 / 3)
    assert gap.ci_low is gap.ci_high is None, "three prompts are too few"


def test_the_interval_is_that_of_a_paired_bootstrap(made: VerdictStore) -> None:
    random = np.random.default_rng(0)
    base, gain = random.normal(5, 3, 200), random.normal(0.5, 0.2, 200)
    a, b = made.run("a", values((base + gain).tolist())), made.run("b", values(base.tolist()))
    [gap] = compare(made.path, a, b, replicates=500).gaps
    half = 1.96 * 0.2 / np.sqrt(200)
    assert gap.significant  # unpaired, the spread of 3 would hide the gain
    assert gap.ci_high - gap.ci_low == pytest.approx(2 * half, rel=0.25)


def test_samples_of_a_prompt_are_one_number_and_an_unscored_one_is_left_out_of_it(made: VerdictStore) -> None:
    a = made.run("a", {("t", "p", "d"): [1.0, 3.0, "timeout"], ("t", "q", "d"): 1.0})
    b = made.run("b", {("t", "p", "d"): [1.0], ("t", "q", "d"): 1.0}, subject="theirs")
    found = compare(made.path, a, b)
    assert (found.gaps[0].mean_a, found.gaps[0].unscored_a) == (1.5, 1)
    assert [(each.prompt_id, len(each.generations_a)) for each in found.changes] == [("p", 3)]


def test_each_category_has_its_own_row_beneath_the_whole(made: VerdictStore) -> None:
    a = made.run("a", {**values([1, 2], "x"), ("y", "p09", "d"): 5})
    b = made.run("b", {**values([1, 1], "x"), ("y", "p09", "d"): 1})
    gaps = compare(made.path, a, b).gaps
    assert [(gap.category, gap.paired, gap.difference) for gap in gaps] == [
        (None, 3, pytest.approx(5 / 3)),
        ("x", 2, 0.5),
        ("y", 1, 4.0),
    ]
    assert gaps[2].ci_low is None  # one prompt says nothing of its spread


def test_a_prompt_with_several_tasks_counts_once_in_the_whole(made: VerdictStore) -> None:
    a = made.run(
        "a", {(task, prompt, "d"): 1.0 + (prompt == "p") for task in "xyz" for prompt in "pq"} | {("x", "p", "d"): "empty"}
    )
    b = made.run("b", {(task, prompt, "d"): 1.0 for task in "xyz" for prompt in "pq"})
    found = compare(made.path, a, b)
    whole = found.gaps[0]
    assert (whole.paired, whole.mean_a, whole.unscored_a) == (2, 1.5, 1)  # six rows, but two prompts to draw from
    assert [(gap.category, gap.paired, gap.only_b) for gap in found.gaps[1:]] == [("x", 1, 1), ("y", 2, 0), ("z", 2, 0)]
    assert [(each.prompt_id, each.categories) for each in found.changes] == [("p", ("y", "z"))]


def test_a_dimension_of_one_task_has_no_row_for_it(made: VerdictStore) -> None:
    numbers = values([1, 2], "x", "d") | values([1, 2], "y", "e")
    found = compare(made.path, made.run("a", numbers), made.run("b", numbers))
    assert [(gap.dimension, gap.category) for gap in found.gaps] == [("d", None), ("e", None)]
    assert found.changes == ()


def test_the_biggest_changes_come_first_in_parts_of_each_dimensions_range(made: VerdictStore) -> None:
    wide, narrow = values([0, 100, 50], dimension="wide"), values([0, 1, 1], dimension="narrow")
    a = made.run("a", wide | narrow)
    b = made.run("b", values([10, 100, 50], dimension="wide") | values([0, 1, 0], dimension="narrow"))
    found = compare(made.path, a, b, biggest=1)
    assert found.changed == 2
    assert [each.prompt_id for each in found.changes] == ["p02"]  # the whole of 0 to 1, against a tenth of 0 to 100
    assert (found.changes[0].size, found.changes[0].balance) == (1.0, 1.0)


def test_the_order_of_rows_and_a_second_call_change_nothing(made: VerdictStore) -> None:
    numbers = values([3, 1, 4, 1, 5, 9, 2, 6])
    a = made.run("a", numbers)
    b = made.run("b", values([2, 7, 1, 8, 2, 8, 1, 8]))
    c = made.run("c", dict(reversed(numbers.items())))
    first = compare(made.path, a, b)
    assert compare(made.path, a, b) == first
    assert compare(made.path, c, b).gaps == first.gaps


def test_a_judge_that_is_silent_on_dark_pictures_does_not_differ_from_one_that_answers_alike(made: VerdictStore) -> None:
    """Three pictures of each of 21 prompts; the second judge answers as the first, or not at all."""
    random = np.random.default_rng(0)
    marks = np.sort(random.normal(5, 2, (21, 3)), axis=1)
    dark = marks <= np.sort(marks.ravel())[23]
    first = {("t", f"p{number:02d}", "d"): row.tolist() for number, row in enumerate(marks)}
    second = {
        key: ["timeout" if gone else value for value, gone in zip(values_, row, strict=True)]
        for (key, values_), row in zip(first.items(), dark, strict=True)
    }
    a, b = made.run("a", first, judge="j"), made.run("b", second, judge="k")
    [gap] = compare(made.path, a, b, across_versions=True).gaps
    assert (gap.difference, gap.significant, gap.unscored_b) == (0.0, False, 24)
    assert gap.paired == int((~dark).any(axis=1).sum())
    other = made.run("c", {key: [value + 1.0 for value in row] for key, row in first.items()}, subject="theirs")
    assert compare(made.path, other, a).gaps[0].difference == pytest.approx(1.0)


def test_two_judges_of_one_version_are_refused_unless_that_is_wanted_and_then_named(made: VerdictStore) -> None:
    a, b = made.run("a", values([1, 2])), made.run("b", values([1, 3]), judge="k")
    with pytest.raises(InputError, match="different judges"):
        compare(made.path, a, b)
    found = compare(made.path, a, b, across_versions=True)
    assert found.across_versions
    assert "The judges differ: A by j, B by k." in found.notes[0]


def test_two_judge_versions_are_refused_unless_that_is_wanted_and_then_named(made: VerdictStore) -> None:
    a, b = made.run("a", values([1, 2])), made.run("b", values([1, 3]), version="v2")
    refused = salon("results", "compare", a, b, "--store", made.path)
    assert (refused.exit_code, "--across-versions" in refused.stderr) == (2, True)
    found = json.loads(salon("results", "compare", a, b, "--store", made.path, "--across-versions", "--format", "json").stdout)
    assert found["across_versions"] is True
    assert "j v2" in found["notes"][0]


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"suite": "letters"}, "different suites"),
        ({"numbers": [("t", "zzz", "d")]}, "no prompt in common"),
        ({"numbers": []}, "no scores yet"),
    ],
)
def test_runs_that_cannot_be_paired_are_refused_with_the_reason(made: VerdictStore, other: dict, problem: str) -> None:
    a = made.run("a", values([1, 2]))
    keys = other.pop("numbers", values([1, 2]))
    b = made.run("b", dict.fromkeys(keys, 1.0), **other)
    with pytest.raises(InputError, match=problem):
        compare(made.path, a, b)


def test_a_run_that_is_not_there_and_the_same_run_twice_are_refused(made: VerdictStore) -> None:
    a = made.run("a", values([1, 2]))
    with pytest.raises(InputError, match="no run"):
        compare(made.path, a, "nothing")
    with pytest.raises(InputError, match="same model in the same run"):
        compare(made.path, a, a)
    assert salon("results", "compare", a, a, "--store", made.path / "elsewhere").exit_code == 2


def test_a_run_of_several_subjects_must_say_whose_rows(made: VerdictStore) -> None:
    made.run("a", values([1, 2]), subject="one")
    made.run("a", values([2, 2]), subject="two")
    with pytest.raises(InputError, match="several models") as caught:
        compare(made.path, "a", "a")
    assert "--model-a" in str(caught.value)
    with pytest.raises(InputError, match="has no model"):
        compare(made.path, "a", "a", model_a="three", model_b="one")
    assert compare(made.path, "a", "a", model_a="two", model_b="one").gaps[0].difference == 0.5


def test_a_run_that_is_not_finished_is_compared_and_said_to_be_so(made: VerdictStore) -> None:
    a, b = made.run("a", values([1, 2]), finished=False), made.run("b", values([1, 2]))
    assert any("Run A is unfinished: 1 of 2" in note for note in compare(made.path, a, b).notes)


def test_the_table_shows_what_is_scored_and_how_intervals_were_made(made: VerdictStore) -> None:
    a, b = made.run("a", values([1, 2, "timeout"])), made.run("b", values([1, 1, 1]))
    made.prompts({"p01": "a \x1b[31mred text"})
    shown = salon("results", "compare", a, b, "--store", made.path)
    assert shown.exit_code == 0, shown.output
    assert "1 / 0" in shown.stdout
    assert "paired bootstrap over prompts" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_a_page_is_written_whole_and_needs_a_name(made: VerdictStore, tmp_path: Path) -> None:
    a, b = made.run("a", values([1, 2])), made.run("b", values([1, 1]))
    made.prompts({"p01": "<script>alert(1)</script>"})
    page = tmp_path / "page.html"
    assert salon("results", "compare", a, b, "--store", made.path, "--output", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in text
    assert "<script" not in text
    assert "there is no picture" in text
    assert salon("results", "compare", a, b, "--store", made.path, "--format", "html").exit_code == 2
    assert salon("results", "compare", a, b, "--store", made.path, "--output", "page.txt").exit_code == 2
    assert salon("results", "compare", a, b, "--store", made.path, "--output", tmp_path / "no" / "page.html").exit_code == 2


def test_a_page_names_the_higher_one_of_every_prompt_and_what_each_scored(made: VerdictStore, tmp_path: Path) -> None:
    a = made.run("a", {("t", "p0", "d"): 3, ("t", "p1", "d"): 1, ("t", "p2", "d"): 3, ("t", "p2", "e"): 1, ("t", "p3", "e"): 2})
    b = made.run("b", {("t", "p0", "d"): 1, ("t", "p1", "d"): 3, ("t", "p2", "d"): 1, ("t", "p2", "e"): 2, ("t", "p3", "e"): 2})
    page = tmp_path / "page.html"
    assert salon("results", "compare", a, b, "--store", made.path, "--output", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    counts = [text.count(words) for words in ("A is higher", "B is higher", "they weigh the same")]
    balances = {change.prompt_id: change.balance for change in compare(made.path, a, b).changes}
    assert (balances["p0"] > 0, balances["p1"] < 0, balances["p2"], "p3" in balances) == (True, True, 0.0, False)
    assert counts == [sum(value > 0 for value in balances.values()), sum(value < 0 for value in balances.values()),
                      sum(value == 0 for value in balances.values())]  # fmt: skip
