"""``salon results leaderboard`` and ``export``: one board for every judge version, and rows for other programs."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_bench.analysis.export import exported
from salon_bench.analysis.leaderboard import leaderboards
from salon_bench.suites.contract.registry import suite_named
from salon_console import main
from salon_taxonomy.errors import InputError

sys.path.insert(0, str(Path(__file__).resolve().parent))
from verdict_store import VerdictStore

TRACKS = ("imagination", "entity", "text-rendering", "style", "affection", "composition", "long-text")


def judged(points, prompts=("p1", "p2")):
    """PRISM rows with one score everywhere."""
    return {(t, f"{t}-{p}", axis): points for t in TRACKS for p in prompts for axis in ("alignment", "aesthetic")}


@pytest.fixture
def made(tmp_path: Path) -> VerdictStore:
    return VerdictStore(tmp_path)


def boards(made: VerdictStore, **options):
    return leaderboards(made.path, suite_named("prism"), **options)


def salon(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)])


def test_subjects_are_ranked_by_the_suites_overall_number_and_ties_share_a_rank(made: VerdictStore) -> None:
    for subject, points in (("good", 9.0), ("bad", 2.0), ("fine", 9.0)):
        made.run(f"run-{subject}", judged(points), subject=subject, suite="prism")
    [board] = boards(made)
    assert board.metric == "average"
    assert [each.model for each in board.entries] == ["fine", "good", "bad"]
    assert board.ranks() == [1, 1, 3]
    assert board.table().filter(pl.col("group").is_null(), pl.col("metric") == "average")["value"].to_list() == [
        90.0,
        90.0,
        20.0,
    ]


def test_versions_are_never_on_one_board_and_the_newest_of_each_judge_is_shown(made: VerdictStore) -> None:
    made.run("old", judged(9.0), subject="a", suite="prism", version="v1")
    made.run("new", judged(5.0), subject="b", suite="prism", version="v2")
    made.run("other", judged(5.0), subject="b", suite="prism", version="w1", judge="k")
    found = boards(made)
    assert [(each.judge, each.judge_version) for each in found] == [("k", "w1"), ("j", "v2")]
    assert [len(each.entries) for each in found] == [1, 1]
    assert any("1 older version of" in note for note in found[1].notes)
    assert [each.judge_version for each in boards(made, all_versions=True)] == ["w1", "v2", "v1"]
    assert [each.judge_version for each in boards(made, judge="j", all_versions=True)] == ["v2", "v1"]
    refused = salon("results", "leaderboard", "prism", "--store", made.path, "--judge", "jj").stderr
    assert "no finished run of the suite has the judge 'jj' (allowed: j, k)" in refused


def test_a_run_that_is_not_finished_is_on_no_board(made: VerdictStore) -> None:
    made.run("begun", judged(9.0), suite="prism", finished=False)
    with pytest.raises(InputError, match="no run of the suite is finished") as caught:
        boards(made)
    assert "1 are begun" in str(caught.value)


def test_the_latest_run_of_a_subject_counts_and_other_prompts_are_said(made: VerdictStore) -> None:
    made.run("first", judged(9.0), subject="a", suite="prism")
    made.run("second", judged(3.0, prompts=("p1",)), subject="a", suite="prism")
    made.run("third", judged(4.0), subject="b", suite="prism")
    [board] = boards(made)
    assert [(each.model, each.run_id) for each in board.entries] == [("b", "third"), ("a", "second")]
    assert any("different prompts" in note for note in board.notes)
    assert any("1 older result of" in note for note in board.notes)


def test_a_subject_without_the_ranking_number_has_no_rank_and_stands_last(made: VerdictStore) -> None:
    made.run("whole", judged(1.0), subject="z", suite="prism")
    lacking = {key: ("timeout" if key[0] == "style" else 9.0) for key in judged(1.0)}
    made.run("part", lacking, subject="a", suite="prism")
    [board] = boards(made)
    assert list(zip(board.ranks(), (each.model for each in board.entries), strict=True)) == [(1, "z"), (None, "a")]
    shown = salon("results", "leaderboard", "prism", "--store", made.path)
    assert (shown.exit_code, "–" in shown.stdout, "unscored" in shown.stdout) == (0, True, True)


def test_every_form_has_the_counts_and_says_how_intervals_were_made(made: VerdictStore, tmp_path: Path) -> None:
    made.run("a", {key: 5.0 + (key[1][-1] == "1") for key in judged(0)}, subject="<b>a</b>", suite="prism")
    table = salon("results", "leaderboard", "prism", "--store", made.path)
    assert "bootstrap over prompts within tracks" in table.stdout
    [board] = json.loads(salon("results", "leaderboard", "prism", "--store", made.path, "--format", "json").stdout)
    assert {"scored", "unscored", "ci_low", "ci_high", "rank"} <= set(board["rows"][0])
    csv = pl.read_csv(salon("results", "leaderboard", "prism", "--store", made.path, "--format", "csv").stdout.encode())
    assert csv.height == len(board["rows"])
    page = tmp_path / "board.html"
    assert salon("results", "leaderboard", "prism", "--store", made.path, "--output", page).exit_code == 0
    assert "&lt;b&gt;a&lt;/b&gt;" in page.read_text(encoding="utf-8")


def test_an_unknown_suite_or_number_is_refused_with_those_there_are(made: VerdictStore) -> None:
    made.run("a", judged(5.0), suite="prism")
    assert (
        "no installed package brings the suite 'prosm'" in salon("results", "leaderboard", "prosm", "--store", made.path).stderr
    )
    with pytest.raises(InputError, match="no such number") as caught:
        boards(made, metric="beauty")
    assert "alignment" in str(caught.value)
    assert boards(made, metric="alignment")[0].metric == "alignment"


# ---------------------------------------------------------------------------------------------------------------- export


def test_an_export_has_a_row_for_every_score_with_prompt_and_labels(made: VerdictStore) -> None:
    made.prompts({"p": "a cat"})
    made.prompts({"q": "of another suite"}, suite="letters")
    made.run("a", {("t", "p", "d"): 1.0, ("t", "q", "d"): "timeout"}, labels={"p": ["x", "b"]})
    rows = exported(made.path, ["a"]).to_dicts()
    assert [(row["prompt_id"], row["value"], row["unscored_reason"]) for row in rows] == [
        ("p", 1.0, None),
        ("q", None, "timeout"),
    ]
    assert [row["prompt"] for row in rows] == ["a cat", None]
    assert [row["labels"] for row in rows] == [["own/b", "own/x"], []]


def test_a_wide_export_has_a_column_for_every_dimension_and_one_for_its_reasons(made: VerdictStore) -> None:
    made.run("a", {("t", "p", "sharp"): 1.0, ("t", "p", "task"): "empty", ("t", "q", "sharp"): [2.0, 3.0]})
    rows = exported(made.path, ["a", "a"], wide=True)
    assert rows.height == 3
    assert sorted(rows["sharp"]) == [1.0, 2.0, 3.0]
    assert rows.filter(pl.col("prompt_id") == "p").select("task", "task_score", "task_score_unscored").row(0) == (
        "t",
        None,
        "empty",
    )


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_files_ending_says_the_form(made: VerdictStore, tmp_path: Path, ending: str) -> None:
    made.run("a", {("t", "p", "d"): 1.5}, labels={"p": ["x"]})
    path = tmp_path / f"rows.{ending}"
    done = salon("results", "export", "a", "--store", made.path, "--output", path)
    assert (done.exit_code, "1 row in" in done.stderr) == (0, True)
    read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending](path)
    assert read["value"].to_list() == [1.5]


def test_an_unknown_ending_is_refused(made: VerdictStore) -> None:
    done = salon("results", "export", "a", "--store", made.path, "--output", "rows.xlsx")
    assert (done.exit_code, "unknown kind of output '.xlsx' (allowed: .csv" in done.stderr) == (2, True)
    assert salon("results", "export", "a", "--store", made.path).exit_code == 2
