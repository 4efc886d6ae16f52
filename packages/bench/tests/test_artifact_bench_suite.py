"""Artifact-Bench from rows to answers: hostile replies first, then what is asked, and judges of known quality in order."""

import asyncio
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from artifact_bench_rows import LABELS, PixelJudge, hostile_rows, write_bench
from click.testing import CliRunner
from row_problems import problem_of

from for_each import for_each
from salon_bench.report.gallery import gallery_fragment
from salon_bench.report.gathering import gather
from salon_bench.report.thumbnails import Thumbnail
from salon_bench.runs.plan import SubjectModel, planned
from salon_bench.runs.suite_runner import execute
from salon_bench.runs.view import RunView
from salon_bench.suites import Case, dry_run
from salon_bench.suites.artifact_bench import ArtifactBench, both_orders, read_rows, released, suite
from salon_bench.suites.artifact_bench.suite import ABSENT, CORRECT, PRESENT
from salon_console import main
from salon_judges.testing.mock_server import Asked, Script, serving
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Reply
from salon_taxonomy.records import CallStatus
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Reason, Unscored

GOOD = {
    "task_type": 3,
    "sample_id": "7",
    "video_path": ["v.mp4"],
    "option": ["Oversmoothing: plastic skin.", "Spatial Clipping: things pass through.", "Unnatural Morphing: shapes melt."],
    "answer": "A,C",
    "level": "medium",
}


def case_of(row: dict[str, Any], folder: Path, which: ArtifactBench = suite) -> Case:
    (folder / "rows.json").write_text(json.dumps([row]))
    [item] = which.prompts(folder / "rows.json")
    return Case("case", which.name, "artifact-bench", item.prompt, facts=item.facts)


def values(case: Case, replies: list[str | Unscored], which: ArtifactBench = suite) -> dict[str, float | str | None]:
    rows = [row for row in dry_run(which, case, replies).records if hasattr(row, "dimension")]
    return {row.dimension: row.unscored_reason if row.value is None else row.value for row in rows}


TASKS = [
    {**GOOD, "task_type": 1, "answer": "yes"},
    {**GOOD, "task_type": 2, "video_path": ["a.mp4", "b.mp4"], "answer": "<Video B>"},
    GOOD,
]


@for_each("reply", [each for each in HOSTILE_REPLIES if each != "The picture looks fine to me."])
@pytest.mark.parametrize("row", TASKS, ids=["rvac", "pvrc", "aid"])
def test_no_hostile_reply_raises_or_is_an_answer(row: dict[str, Any], reply: str, tmp_path: Path) -> None:
    found = values(case_of(row, tmp_path), [reply])
    assert found[CORRECT] in {each.value for each in Reason}
    assert all(not isinstance(value, float) for value in found.values())


@pytest.mark.parametrize("reason", [Reason.BAD_MEDIA, Reason.TIMEOUT])
@pytest.mark.parametrize("row", TASKS, ids=["rvac", "pvrc", "aid"])
def test_a_question_that_got_no_reply_has_no_score(row: dict[str, Any], reason: Reason, tmp_path: Path) -> None:
    assert set(values(case_of(row, tmp_path), [Unscored(reason)]).values()) == {reason.value}


@for_each(("row", "column"), hostile_rows(GOOD))
def test_a_wrong_row_is_named_by_row_and_column(row: dict[str, Any], column: str, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(
        json.dumps([GOOD, {**row, "sample_id": row["sample_id"] if column == "sample_id" else "8"}])
    )
    problem = str(problem_of(read_rows, tmp_path / "rows.json"))
    assert column in problem and "row 2" in problem


def test_a_missing_column_a_question_twice_and_no_question_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    for content, message in (
        ([GOOD, GOOD], "occurs twice"),
        ([], "no question"),
        ([{key: value for key, value in GOOD.items() if key != "task_type"}], "task_type"),
        ([{key: value for key, value in GOOD.items() if key != "video_path"}], "video_path"),
    ):
        file.write_text(json.dumps(content))
        assert message in str(problem_of(read_rows, file))
    with pytest.raises(InputError, match="--prompts"):
        suite.prompts(None)


def test_rows_read_the_same_from_json_json_lines_csv_and_parquet(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps([GOOD]))
    (tmp_path / "rows.jsonl").write_text(json.dumps(GOOD))
    pl.DataFrame([GOOD]).write_parquet(tmp_path / "rows.parquet")
    flat = {name: json.dumps(value) if isinstance(value, list) else value for name, value in GOOD.items()}
    pl.DataFrame([flat]).write_csv(tmp_path / "rows.csv")
    [first], *others = [read_rows(tmp_path / f"rows.{ending}") for ending in ("json", "jsonl", "csv", "parquet")]
    assert (first.answer, first.leaves) == ("AC", ("oversmoothing", "spatial-clipping", "unnatural-morphing"))
    assert others == [[first]] * 3


def test_a_diagnosis_is_right_only_when_the_set_is_exactly_the_right_one(tmp_path: Path) -> None:
    case = case_of(GOOD, tmp_path)
    assert [values(case, [f"Answer: {letters}"])[CORRECT] for letters in ("A, C", "C and A", "A", "A, B, C")] == [1, 1, 0, 0]
    found = values(case, ["Answer: A, B"])
    options = {PRESENT + "oversmoothing": 1, PRESENT + "unnatural-morphing": 0, ABSENT + "spatial-clipping": 1}
    assert {name: found[name] for name in options} == options


def test_labels_that_were_chosen_and_not_become_assessments(tmp_path: Path) -> None:
    rows = dry_run(suite, case_of(GOOD, tmp_path), ["Answer: A, B"]).records
    labels = {row.label: row.present for row in rows if hasattr(row, "label")}
    assert labels == {"oversmoothing": True, "spatial-clipping": True, "unnatural-morphing": False}


def test_swapped_videos_are_asked_about_in_the_other_order_and_read_accordingly(tmp_path: Path) -> None:
    case = case_of(TASKS[1], tmp_path, both_orders)
    always_first = values(case, ["Answer: <Video A>", "Answer: <Video A>"], both_orders)
    assert always_first == {"correct": 0, "correct_swapped": 1, "chose_first": 1, "chose_first_swapped": 1}
    steady = values(case, ["Answer: <Video B>", "Answer: <Video A>"], both_orders)
    assert steady == {"correct": 1, "correct_swapped": 1, "chose_first": 0, "chose_first_swapped": 1}


def test_the_released_rules_read_what_the_papers_refuse(tmp_path: Path) -> None:
    reply = ["There is no sign of generation, I think"]
    assert values(case_of(TASKS[0], tmp_path, released), reply, released)[CORRECT] == 0
    assert released.version != suite.version != both_orders.version
    assert [each.name for each in (suite, released, both_orders)] == [
        "artifact-bench",
        "artifact-bench-released",
        "artifact-bench-both-orders",
    ]
    with pytest.raises(InputError, match="paper, released"):
        ArtifactBench("strict")


# ------------------------------------------------------------------------------------------------------- from start to end


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("av")
    return write_bench(tmp_path_factory.mktemp("bench"), each=6)


def run(bench: Path, judge: Any, store: Path, which: ArtifactBench = suite) -> dict[tuple[str, str], dict[str, Any]]:
    plan = planned(which, [SubjectModel("artifact-bench", bench.parent)], judge, prompts=bench, re_asks=0)
    outcome = asyncio.run(execute(plan, judge, store))
    assert outcome.complete, outcome
    [found] = RunView(store, plan.plan.run_id).summaries(which)
    return {(row["metric"], row["group"]): row for row in found.summary.table.to_dicts()} | {
        ("notes", ""): {"notes": found.summary.notes, "run": plan.plan.run_id}
    }


@pytest.mark.slow  # simulated judges
def test_judges_of_known_quality_come_out_in_their_order_with_their_intervals(bench: Path, tmp_path: Path) -> None:
    judges = [PixelJudge("sharp"), PixelJudge("dim", 0.5), PixelJudge("blind", 1.0)]
    sharp, dim, blind = (run(bench, judge, tmp_path / "results", both_orders) for judge in judges)
    total = ("accuracy", "total")
    assert sharp[total]["value"] == 100.0
    assert sharp[total]["ci_low"] > dim[total]["value"] > dim[total]["ci_low"] > blind[total]["value"]
    assert dim[total]["ci_low"] > blind[total]["ci_low"]
    assert {sharp[each]["value"] for each in sharp if each[0] in ("precision", "recall") and each[1].startswith("leaf")} == {
        100.0,
        None,
    }
    assert sharp["same video in both orders", "pvrc"]["value"] == 100.0
    assert sharp["chose the first", "pvrc"]["value"] == 50.0
    frames = RunView(tmp_path / "results", sharp["notes", ""]["run"]).rows("scores").filter(dimension="frames")
    assert set(frames["value"]) == {10.0, 20.0}


def test_a_judge_that_only_says_yes_scores_as_counted_by_hand(bench: Path, tmp_path: Path) -> None:
    class Yes:
        name, version = "yes", "1"

        async def ask(self, question: Any) -> Reply:
            return Reply("yes" if "generative model or recorded" in question.text else "I cannot tell.")

    found = run(bench, Yes(), tmp_path / "results")
    # 6 seeds: 2 of each level. RVAC: 1 of 5 clips is clean, so 8 of 10 are right on each level. PVRC 24, AID 24: no answer.
    assert [found["accuracy", f"rvac {level}"]["value"] for level in ("L1", "L2", "L3", "Avg")] == pytest.approx([80.0] * 4)
    assert found["accuracy", "total"]["value"] == pytest.approx(100 * 24 / (30 + 24 + 24))
    assert (found["accuracy", "total"]["scored"], found["accuracy", "total"]["unscored"]) == (30, 48)
    assert found["accuracy", "aid Avg"]["value"] == 0.0
    assert found["said generated", "rvac"]["value"] == 100.0
    assert (found["jaccard", "aid"]["value"], found["option accuracy", "aid"]["value"]) == (0.0, 0.0)
    assert "48 replies hold no answer and count as wrong" in found["notes", ""]["notes"][0]


def test_a_dead_endpoint_scores_nothing_at_all(bench: Path, tmp_path: Path) -> None:
    class Dead:
        name, version = "dead", "1"

        async def ask(self, question: Any) -> Reply:
            return Reply("", CallStatus.UNREACHABLE, error="refused")

    plan = planned(suite, [SubjectModel("artifact-bench", bench.parent)], Dead(), prompts=bench)
    outcome = asyncio.run(execute(plan, Dead(), tmp_path / "results", keep_lost=True))
    assert outcome.progress.open == 0
    [found] = RunView(tmp_path / "results", plan.plan.run_id).summaries(suite)
    accuracies = found.summary.table.filter(pl.col("metric") == "accuracy")
    assert accuracies["value"].null_count() == accuracies.height
    assert set(accuracies["scored"]) == {0}


def test_bad_videos_are_left_out_named_and_never_asked_about(bench: Path, tmp_path: Path) -> None:
    folder = tmp_path / "videos"
    folder.mkdir()
    for file in bench.parent.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "clean-0.mp4").write_bytes(b"")
    (folder / "pop-0.mp4").unlink()
    (folder / "morph-0.mp4").write_bytes((folder / "morph-0.mp4").read_bytes()[:900])
    judge = PixelJudge("sharp")
    found = run(folder / "rows.json", judge, tmp_path / "results")
    # clean-0: 1 RVAC and 4 PVRC; pop-0 and morph-0: RVAC and AID each (their PVRC are among the four).
    assert len(judge.asked) == 78 - 9
    assert found["accuracy", "total"]["unscored"] == 9
    assert found["accuracy", "total"]["value"] == 100.0


def test_a_report_shows_both_videos_of_a_pair_side_by_side_with_what_was_said(bench: Path, tmp_path: Path) -> None:
    store = tmp_path / "results"
    run_id = run(bench, PixelJudge("sharp"), store)["notes", ""]["run"]
    [gallery] = gather(store, [run_id], side=60)
    cards = {prompt.prompt_id: prompt.cards[0] for prompt in gallery.prompts}
    pairs = {name: card for name, card in cards.items() if card.names}
    assert len(pairs) == 24
    assert {card.names for card in pairs.values()} == {("Video A", "Video B")}
    assert all(isinstance(each, Thumbnail) for card in pairs.values() for each in card.pictures)
    assert all(card.pictures[0] != card.pictures[1] and len(card.replies) == 1 for card in pairs.values())
    assert all(len(card.pictures) == 1 for name, card in cards.items() if name not in pairs)
    assert gallery.elsewhere == 0
    page = gallery_fragment(gallery).html
    assert page.count("<figcaption>Video A</figcaption>") == 24
    assert "several pictures at once" not in page


# ------------------------------------------------------------------------------------------------------------ the extractor


def test_an_extractor_is_asked_only_where_the_rules_find_nothing_and_is_counted(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the command: a judge that rambles about some videos, and a second model that restates what it said."""
    monkeypatch.chdir(tmp_path)

    def judge(asked: Asked) -> str:
        if "looks more realistic" in asked.text:
            return "Of the two, A moves as it should."
        return "Answer: yes" if "generative model or recorded" in asked.text else "I cannot tell at all."

    def second(asked: Asked) -> str:
        return "Answer: <Video A>" if "Of the two, A" in asked.text else "Answer: B"

    words = ["bench", "run", "artifact-bench", "--model", "artifact-bench", "--generations", str(bench.parent)]
    words += ["--prompts", str(bench), "--re-asks", "0", "--format", "json"]
    with serving(Script(rule=judge)) as one, serving(Script(rule=second)) as two:
        words += ["--judge", f"vllm:rambler@{one.url}", "--extractor", f"vllm:reader@{two.url}"]
        shown = CliRunner().invoke(main, words)
        assert (one.stats.paid, two.stats.paid) == (78, 48)
    assert shown.exit_code == 0, shown.output
    [report] = json.loads(shown.stdout)
    assert report["progress"]["extracted"] == 48, "24 pairs and 24 diagnoses; the 30 plain answers need nobody"
    calls = RunView(tmp_path / "results", report["run_id"]).rows("judge_calls")
    extracted = calls.filter(pl.col("step").str.ends_with("#extract"))
    assert (calls.height, extracted.height) == (78 + 48, 48)
    assert sorted(extracted["parse_status"].value_counts().rows()) == [("malformed", 24), ("parsed", 24)]
    table = {(row["metric"], row["group"]): row for row in report["models"][0]["table"]}
    assert table["accuracy", "total"]["unscored"] == 24, "no diagnosis is taken that the reply does not hold"
    assert (table["chose the first", "pvrc"]["value"], table["chose the first", "pvrc"]["scored"]) == (100.0, 24)


def test_a_generations_argument_that_is_no_folder_is_refused(bench: Path) -> None:
    with pytest.raises(InputError, match="folder below which the videos lie"):
        planned(suite, [SubjectModel("artifact-bench", bench)], PixelJudge("sharp"), prompts=bench)


def test_every_label_of_the_drawn_clips_is_in_the_tree(bench: Path) -> None:
    leaves = {leaf for row in read_rows(bench) for leaf in row.leaves}
    assert len(leaves) == len(LABELS) + 2


def bench_command(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["bench", *map(str, arguments)])
    return done.exit_code, done.output


def test_a_run_that_is_none_has_no_confusions(tmp_path: Path) -> None:
    assert bench_command("artifact-bench", "confusion", "no-run", "--store", tmp_path)[0] != 0


def test_a_video_is_drawn_and_shown_as_one_picture(tmp_path: Path) -> None:
    pytest.importorskip("av")
    clip, sheet = tmp_path / "ball.mp4", tmp_path / "ball.jpg"
    assert CliRunner().invoke(main, ["synthetic", "video", str(clip), "--kind", "morph"]).exit_code == 0
    status, text = bench_command("contact-sheet", clip, "--output", sheet)
    assert status == 0 and "10 frames at 5 per second" in text
    assert sheet.read_bytes()[:3] == b"\xff\xd8\xff"
    assert bench_command("contact-sheet", tmp_path / "no.mp4", "--output", sheet)[0] != 0


@for_each("name", ["sheet.xyz", "sheet.png", "sheet"])
def test_a_contact_sheet_is_a_jpeg_and_is_called_one(name: str, tmp_path: Path) -> None:
    (tmp_path / "any.mp4").touch()
    status, text = bench_command("contact-sheet", tmp_path / "any.mp4", "--output", tmp_path / name)
    assert status == 2
    assert "unknown ending of a contact sheet" in text
    assert "(allowed: .jpg, .jpeg)" in text
    assert not (tmp_path / name).exists()
