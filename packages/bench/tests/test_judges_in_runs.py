"""Caches, replays, batch files, routes and extractors within whole runs, through the command line and below it."""

import asyncio
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from number_suite import NumberSuite

from salon_bench.runs.open_questions import write_open_questions
from salon_bench.runs.plan import SubjectModel, planned
from salon_bench.runs.rescore import rescore
from salon_bench.runs.suite_runner import execute
from salon_bench.runs.view import RunView
from salon_bench.suites.contract import registry
from salon_console import main
from salon_judges.clients import ChatSettings, CollectingJudge, ResponseCache, RoutedJudge
from salon_judges.testing.mock_server import Script, ScriptLine, fixed, serving
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Question, Reply


class Saying:
    """Always says the same."""

    def __init__(self, text: str, name: str = "saying") -> None:
        self.name, self.version, self.text, self.asked = name, f"{name}-1", text, []

    async def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        return Reply(self.text, version=self.version)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    from PIL import Image

    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(3):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / f"p0000{number}.png")
    return folder


@pytest.fixture(autouse=True)
def small_suite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> NumberSuite:
    suite = NumberSuite(3, with_pictures=True)
    monkeypatch.setattr(registry, "suite_named", lambda name: suite)
    monkeypatch.setattr("salon_bench.runs.view.suite_named", lambda name: suite)
    monkeypatch.chdir(tmp_path)
    return suite


def salon(*words: object) -> Result:
    result = CliRunner().invoke(main, ["bench", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def run(pictures: Path, *words: object) -> Result:
    return salon("run", "numbers", "--model", "ours", "--generations", pictures, "--format", "json", *words)


def plan(suite: NumberSuite, pictures: Path, judge: Judge, **more: object):  # type: ignore[no-untyped-def]
    return planned(suite, [SubjectModel("ours", pictures)], judge, **more)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ caches and recordings


def test_a_second_run_with_a_cache_pays_for_nothing_and_has_the_same_scores(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        judge = f"cache:replies=vllm:mock@{server.url}"
        reports = [json.loads(run(pictures, "--judge", judge, "--store", store).stdout)[0] for store in ("one", "two")]
        assert server.stats.requests == 6
    assert reports[0]["models"] == reports[1]["models"]
    assert (reports[0]["progress"]["cached"], reports[1]["progress"]["cached"]) == (0, 6)
    assert set(RunView(Path("two"), reports[1]["run_id"]).rows("judge_calls")["cached"]) == {True}
    with closing(sqlite3.connect("replies/replies.sqlite3")) as database, database:
        database.execute("UPDATE replies SET body = CAST('torn' AS BLOB)")
    with serving(Script(rule=fixed("3"))) as server:
        third = run(pictures, "--judge", f"cache:replies=vllm:mock@{server.url}", "--store", "three")
    assert json.loads(third.stdout)[0]["models"] == reports[0]["models"]
    assert "6 damaged entries of the cache were not used" in third.stderr
    shown = json.loads(salon("cache", "replies", "--format", "json").stdout)
    assert shown["entries"] == 6
    assert "6 replies deleted" in salon("cache", "replies", "--most-mb", 0).stdout


def test_a_recorded_run_is_replayed_under_the_same_name_without_a_server(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        live = json.loads(run(pictures, "--judge", f"cache:calls=vllm:mock@{server.url}", "--store", "one").stdout)[0]
    replayed = run(pictures, "--judge", "replay:calls", "--store", "two")
    assert replayed.exit_code == 0, replayed.output
    report = json.loads(replayed.stdout)[0]
    assert (report["run_id"], report["models"]) == (live["run_id"], live["models"])


def test_a_replay_that_lacks_replies_leaves_work_and_says_so(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        run(pictures, "--judge", f"cache:calls=vllm:mock@{server.url}", "--store", "one")
    with closing(sqlite3.connect("calls/replies.sqlite3")) as database, database:
        database.execute("DELETE FROM replies WHERE rowid = (SELECT max(rowid) FROM replies)")
    report = run(pictures, "--judge", "replay:calls", "--store", "two")
    assert report.exit_code == 1
    assert json.loads(report.stdout)[0]["progress"]["reasons"] == {"abstained": 1}
    assert "1 questions had no reply in the cache" in report.stderr


# ----------------------------------------------------------------------------------------------------------- batch files


def answered(folder: Path, text: str) -> Path:
    """What a vendor gives back for the newest request file."""
    newest = max(folder.glob("requests-*.jsonl"))
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    body = {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 1}}
    lines = [
        {"custom_id": json.loads(line)["custom_id"], "response": {"status_code": 200, "body": body}}
        for line in newest.read_text().splitlines()
    ]
    output = folder / "output.json"
    output.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return output


def test_a_run_goes_through_batch_files_step_by_step_to_the_rows_of_a_live_one(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        live = json.loads(run(pictures, "--judge", f"openai:mock@{server.url}", "--store", "live").stdout)[0]
    first = run(pictures, "--judge", "batch:calls=openai:mock@https://api.example.com/v1")
    assert first.exit_code == 1
    assert "requests-001.jsonl is to be submitted" in first.stderr
    run_id = json.loads(first.stdout)[0]["run_id"]
    assert run_id == live["run_id"]
    for number in (1, 2):  # the second question follows from the first
        assert len((Path("calls") / f"requests-00{number}.jsonl").read_text().splitlines()) == 3
        taken = salon("batch", "ingest", "calls", answered(Path("calls"), "3"))
        assert (taken.exit_code, "3 replies" in taken.stdout) == (0, True), taken.output
        resumed = salon("resume", run_id, "--format", "json")
    assert resumed.exit_code == 0, resumed.output
    assert json.loads(resumed.stdout)[0]["models"] == live["models"]
    assert "0 requests wait" in taken.stdout
    calls = RunView(Path("results"), run_id).rows("judge_calls")
    assert Counter(calls["status"]) == {"ok": 6, "cancelled": 6}
    assert calls["prompt_tokens"].sum() == 60


def test_a_run_that_was_begun_live_goes_on_through_batch_files(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        begun = run(pictures, "--judge", f"openai:mock@{server.url}", "--max-calls", 2, "--concurrency", 1)
        run_id = json.loads(begun.stdout)[0]["run_id"]
        for _ in range(2):
            written = salon("batch", "write", run_id, "--folder", "calls", "--format", "json")
            report = json.loads(written.stdout)
            assert (written.exit_code, report["complete"], len(report["files"])) == (0, False, 1), written.output
            salon("batch", "ingest", "calls", answered(Path("calls"), "3"))
        last = salon("batch", "write", run_id, "--folder", "calls")
        assert "Every case is judged." in last.stderr
        assert "Every case is judged." in salon("batch", "write", run_id, "--folder", "calls").stderr
        assert server.stats.requests == 2


def test_only_runs_of_judges_behind_a_server_go_through_batch_files(pictures: Path) -> None:
    ResponseCache("replies").keep("1", "0" * 64, Reply("3"), "m")
    begun = run(pictures, "--judge", "replay:replies")
    run_id = json.loads(begun.stdout)[0]["run_id"]
    with pytest.raises(InputError, match="nothing"):
        asyncio.run(write_open_questions("nothing", Path("results"), Path("calls")))
    refused = salon("batch", "write", run_id, "--folder", "calls")
    assert (refused.exit_code, "behind a server" in refused.stderr) == (2, True)


def test_ingesting_files_of_another_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    (tmp_path / "output.jsonl").write_text("prose\n{}\n")
    assert "no folder of a batch" in salon("batch", "ingest", "calls", "output.jsonl").stderr
    assert list((tmp_path / "calls").iterdir()) == []
    (tmp_path / "calls" / "calls.jsonl").touch()
    result = salon("batch", "ingest", "calls", "output.jsonl")
    assert result.exit_code == 2
    assert "2 malformed" in result.stdout
    assert "line 1" in result.stderr
    assert salon("batch", "ingest", "calls", "nowhere.jsonl").exit_code == 2
    assert salon("batch", "ingest", "nowhere", "output.jsonl").exit_code == 2


# --------------------------------------------------------------------------------------------------- routes and extractors


def test_each_step_is_asked_of_its_own_judge_in_one_run(small_suite: NumberSuite, pictures: Path, tmp_path: Path) -> None:
    one, two = Saying("1", "one"), Saying("2", "two")
    judge = RoutedJudge({"first": one, "*": two})
    made = plan(small_suite, pictures, judge)
    outcome = asyncio.run(execute(made, judge, tmp_path / "results"))
    assert outcome.complete
    assert (len(one.asked), len(two.asked)) == (3, 3)
    scores = RunView(tmp_path / "results", made.plan.run_id).rows("scores")
    assert set(scores.filter(scores["dimension"] == "total")["value"]) == {3.0}
    assert set(scores["judge"]) == {"*=two+first=one"}


def test_routes_on_the_command_line_are_one_run_that_can_be_resumed(pictures: Path) -> None:
    script = Script((ScriptLine("1", contains="First"), ScriptLine("2", contains="Second")))
    with serving(script) as one, serving(script) as two:
        judges = ["--judge", f"first=vllm:one@{one.url}", "--judge", f"second=vllm:two@{two.url}"]
        begun = run(pictures, *judges, "--max-calls", 2, "--concurrency", 1)
        (report,) = json.loads(begun.stdout)
        resumed = salon("resume", report["run_id"], "--format", "json")
        assert resumed.exit_code == 0, resumed.output
        assert (one.stats.requests, two.stats.requests) == (3, 3)


def test_a_step_without_a_judge_stops_the_run_with_what_to_write(pictures: Path) -> None:
    with serving(Script(rule=fixed("1"))) as server:
        stopped = run(pictures, "--judge", f"first=vllm:one@{server.url}")
    assert stopped.exit_code == 2
    assert "--judge second=SPEC" in stopped.stderr


@pytest.mark.parametrize(("restated", "value"), [("7", 7.0), ("8", None)])
def test_an_extractor_restates_and_never_invents(
    small_suite: NumberSuite, pictures: Path, tmp_path: Path, restated: str, value: float | None
) -> None:
    judge, extractor = Saying("I would say 7 points"), Saying(restated, "extractor")
    made = plan(small_suite, pictures, judge, extractor=extractor, re_asks=0)
    store = tmp_path / "results"
    assert asyncio.run(execute(made, judge, store, extractor=extractor)).complete
    scores = RunView(store, made.plan.run_id).rows("scores")
    assert set(scores.filter(scores["dimension"] == "first")["value"]) == {value}
    calls = RunView(store, made.plan.run_id).rows("judge_calls")
    extracted = calls.filter(calls["step"] == "first#extract")
    assert set(extracted["parse_status"]) == {"parsed" if value else "malformed"}
    again = asyncio.run(
        rescore(RunView(store, made.plan.run_id).planned(judge, extractor, suite=small_suite), made.plan.run_id, store)
    )
    assert again.changes.other_value + again.changes.now_scored + again.changes.now_unscored == 0


def test_a_collected_run_stands_under_the_plan_of_the_judge_behind_the_server(
    small_suite: NumberSuite, pictures: Path, tmp_path: Path
) -> None:
    settings = ChatSettings(kind="openai", model="m", base_url="https://api.example.com/v1")
    judge = CollectingJudge(settings, tmp_path / "calls")
    made = plan(small_suite, pictures, judge, judge_settings=settings.model_dump(mode="json"))
    asyncio.run(execute(made, judge, tmp_path / "results"))
    stored = RunView(tmp_path / "results", made.plan.run_id).plan
    assert (stored.judge, stored.judge_alone) == ("m", settings.version)


def test_every_command_says_what_it_does() -> None:
    for words in (
        ["cache"],
        ["batch"],
        ["batch", "write"],
        ["batch", "ingest"],
    ):
        shown = salon(*words, "--help")
        assert (shown.exit_code, "Example" in click.unstyle(shown.stdout)) == (0, True), words
