"""``salon bench``: runs, resumes, rescores and lists, against the mock server and the small suite."""

import json
import os
import signal
from collections import Counter
from pathlib import Path

import click
import duckdb
import polars as pl
import pytest
from click.testing import CliRunner, Result
from number_suite import NumberSuite

from for_each import for_each
from salon_bench.cli import bench as bench_cli
from salon_bench.suites.contract import registry
from salon_console import main
from salon_judges.testing.mock_server import Asked, Script, ScriptLine, ServerFault, fixed, serving
from salon_store import ResultStore
from salon_taxonomy.records import Run


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    from PIL import Image

    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(4):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / f"p0000{number}.png")
    return folder


@pytest.fixture(autouse=True)
def small_suite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, NumberSuite]:
    """``suite_named("numbers")`` without an installed package; runs write below an empty folder."""
    known = {"numbers": NumberSuite(4, with_pictures=True)}
    found = registry.suite_named
    monkeypatch.setattr(registry, "suite_named", lambda name: known.get(name) or found(name))
    monkeypatch.setattr("salon_bench.runs.view.suite_named", lambda name: known.get(name) or found(name))
    monkeypatch.chdir(tmp_path)
    return known


def salon(*words: object) -> Result:
    result = CliRunner().invoke(main, ["bench", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def run(pictures: Path, url: str, *more: object) -> Result:
    judge = f"vllm:mock@{url}"
    return salon("run", "numbers", "--model", "ours", "--generations", pictures, "--judge", judge, "--format", "json", *more)


def test_a_run_prints_the_suites_numbers_and_a_second_one_asks_nobody(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        first = run(pictures, server.url)
        asked = server.stats.requests
        second = run(pictures, server.url)
        assert server.stats.requests == asked == 8
    assert (first.exit_code, second.exit_code) == (0, 0), first.output
    report = json.loads(first.stdout)[0]
    assert report["complete"] is True
    assert report["models"][0]["table"][0]["value"] == 6.0
    assert report["progress"]["done"] == 4
    assert "nothing is left to do" in second.stderr
    assert json.loads(second.stdout)[0]["models"] == report["models"]


def test_work_that_is_left_is_exit_code_one_and_can_be_resumed(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        stopped = run(pictures, server.url, "--max-calls", 3)
        assert stopped.exit_code == 1
        run_id = json.loads(stopped.stdout)[0]["run_id"]
        assert f"salon bench resume {run_id}" in stopped.stderr
        shown = salon("runs", run_id)
        assert (shown.exit_code, run_id in shown.stdout) == (0, True)
        assert json.loads(salon("runs", run_id, "--format", "json").stdout)[0]["state"] == "unfinished"
        done = salon("resume", run_id)
        assert done.exit_code == 0, done.output
        assert server.stats.paid_again == 0
    assert " 6.00 " in done.stdout
    assert "finished, 4 of 4 cases" in salon("runs", run_id).stdout
    assert run_id in salon("runs").stdout


def test_the_same_command_goes_on_and_asks_nothing_twice(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        assert run(pictures, server.url, "--max-calls", 3).exit_code == 1
        again = run(pictures, server.url)
        assert (again.exit_code, server.stats.paid_again) == (0, 0), again.output
    assert json.loads(again.stdout)[0]["progress"]["done"] == 4


def test_what_is_allowed_to_be_left_is_exit_code_zero(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        left = run(pictures, server.url, "--max-calls", 3, "--allow-incomplete")
    assert left.exit_code == 0
    assert "Work is left" in left.stderr


def test_the_judges_of_a_command_share_its_limits(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as one, serving(Script(rule=fixed("3"))) as two:
        more = ("--judge", f"vllm:second@{two.url}", "--concurrency", 1)
        assert run(pictures, one.url, *more, "--max-calls", 10).exit_code == 1
        assert (one.stats.requests, two.stats.requests) == (8, 2)
        nothing_begun = run(pictures, one.url, *more, "--deadline", 1e-9, "--allow-incomplete")
        assert (nothing_begun.exit_code, "not begun" in nothing_begun.stderr) == (1, True), nothing_begun.output
        assert run(pictures, one.url, *more, "--max-calls", 6).exit_code == 0
        assert (one.stats.requests, two.stats.requests) == (8, 8)


def test_a_server_that_refuses_leaves_cases_open(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"), lines=(ScriptLine(body='{"error": "no"}', status=400, times=1),))) as server:
        refused = run(pictures, server.url)
        assert refused.exit_code == 1
        assert "1 cases got no reply" in refused.stderr
        assert run(pictures, server.url).exit_code == 0


@for_each(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_a_run_with_the_code_that_shells_expect_and_begins_no_further_one(
    pictures: Path, tmp_path: Path, number: int, code: int
) -> None:
    asked: list[object] = []

    def answer(question: Asked) -> str:
        asked.append(question)
        if len(asked) == 2:
            os.kill(os.getpid(), number)
        return "3"

    with serving(Script(rule=answer)) as server:
        words = ("--store", tmp_path / "store", "--concurrency", 1)
        second = ("--judge", f"vllm:second@{server.url}")
        stopped = run(pictures, server.url, *second, *words)
        assert stopped.exit_code == code, stopped.output
        assert "Stopping: questions in flight" in stopped.stderr and len(json.loads(stopped.stdout)) == 1
        assert run(pictures, server.url, *words).exit_code == 0
        assert run(pictures, server.url, *second, *words, "--allow-incomplete").exit_code == 0


def test_a_signal_at_the_last_question_of_a_run_leaves_the_next_one_and_says_so(pictures: Path, tmp_path: Path) -> None:
    asked: list[object] = []

    def answer(question: Asked) -> str:
        asked.append(question)
        if len(asked) == 8:
            os.kill(os.getpid(), signal.SIGINT)
        return "3"

    with serving(Script(rule=answer)) as server:
        words = ("--judge", f"vllm:second@{server.url}", "--store", tmp_path / "store", "--concurrency", 1)
        stopped = run(pictures, server.url, *words)
        assert [report["complete"] for report in json.loads(stopped.stdout)] == [True]
        assert stopped.exit_code == 130 and "not begun: " in stopped.stderr
        assert run(pictures, server.url, *words, "--allow-incomplete").exit_code == 0


def test_the_log_is_json_lines(pictures: Path, tmp_path: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        assert run(pictures, server.url, "--log-json", tmp_path / "log.jsonl").exit_code == 0
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    # Progress is reported as time passes: once or more, before or after the end.
    started, finished = (line for line in lines if line["what"] != "progress")
    assert (started["what"], finished["what"], finished["cases_done"]) == ("started", "finished", 4)
    assert lines[0] == started
    assert len(lines) > 2


def test_rescoring_asks_nobody_and_says_what_changed(pictures: Path, small_suite: dict[str, NumberSuite]) -> None:
    with serving(Script(rule=fixed("3"), lines=(ScriptLine("three", times=2),))) as server:
        first = run(pictures, server.url, "--re-asks", 0)
        run_id = json.loads(first.stdout)[0]["run_id"]
        asked = server.stats.requests
        small_suite["numbers"] = ThreeSuite(4, with_pictures=True, version="2")
        again = salon("rescore", run_id, "--format", "json")
        assert again.exit_code == 0, again.output
        assert server.stats.requests == asked
    report = json.loads(again.stdout)[0]
    assert report["run_id"].startswith(f"{run_id}+rescore-")
    shown = salon("rescore", run_id, "--format", "json")
    assert (shown.exit_code, "nothing is left to do" in shown.stderr) == (0, True)
    assert json.loads(shown.stdout)[0] == {**report, "progress": None}
    assert report["changes"] == {"same": 6, "other_value": 0, "now_scored": 2, "now_unscored": 0, "gone": 0, "new": 0}
    versions = ResultStore.open("results", read_only=True).read("scores").collect()["judge_version"].n_unique()
    assert versions == 2


def test_a_run_with_further_replies_is_never_shown_as_it_was_rescored_before(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        run_id = json.loads(run(pictures, server.url, "--max-calls", 3).stdout)[0]["run_id"]
        early = salon("rescore", run_id)
        assert (early.exit_code, f"salon bench resume {run_id}" in early.stderr) == (2, True), early.output
        assert salon("resume", run_id).exit_code == 0
        rescored = json.loads(salon("rescore", run_id, "--format", "json").stdout)[0]
        assert rescored["changes"]["same"] == 8
        store = ResultStore.open(Path("results"))
        store.remove(run_id)
        assert run(pictures, server.url).exit_code == 0
        stale = salon("rescore", run_id)
        assert (stale.exit_code, f"salon store remove results {rescored['run_id']}" in stale.stderr) == (2, True), stale.output
        store.remove(rescored["run_id"])
        assert json.loads(salon("rescore", run_id, "--format", "json").stdout)[0]["changes"]["same"] == 8


class ThreeSuite(NumberSuite):
    """Also takes the word three for a number."""

    def examine(self, case):
        inner = super().examine(case)
        inquiry = next(inner)
        while True:
            parse = inquiry.parse
            verdict = yield type(inquiry)(
                inquiry.step, inquiry.question, lambda text, parse=parse: parse(text.replace("three", "3"))
            )
            try:
                inquiry = inner.send(verdict)
            except StopIteration as end:
                return end.value


@pytest.mark.real_store
def test_several_judges_are_runs_of_their_own_and_a_panel(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as one, serving(Script(rule=fixed("5"))) as two:
        result = salon(
            *("run", "numbers", "--model", "ours", "--generations", pictures, "--format", "json"),
            *("--judge", f"vllm:one@{one.url}", "--judge", f"vllm:two@{two.url}"),
        )
    assert result.exit_code == 0, result.output
    first, second, panel = json.loads(result.stdout)
    assert [each["models"][0]["table"][0]["value"] for each in (first, second, panel)] == [6.0, 10.0, 8.0]
    assert panel["agreement"][0]["same"] == 0
    assert panel["agreement"][0]["pairs"] == 4
    store = ResultStore.open("results", read_only=True)
    rows = store.sql("SELECT judge, made_of, avg(value) AS mean FROM scores GROUP BY ALL ORDER BY judge").rows()
    assert rows == [("one", None, 4.5), ("panel", "panel of 2 judges", 6.0), ("two", None, 7.5)]
    with duckdb.connect("results/catalog.duckdb", read_only=True) as plain:
        assert plain.execute("SELECT count(*) > 0 FROM scores WHERE judge = 'panel'").fetchall() == [(True,)]
    models = "SELECT model FROM generations UNION SELECT subject_model FROM runs"
    assert store.sql(f"SELECT DISTINCT subject_model FROM scores WHERE subject_model NOT IN ({models})").is_empty()
    listing = salon("runs", "--format", "json")
    assert listing.exit_code == 0, listing.output
    listed = json.loads(listing.stdout)
    assert len(listed) == 3 and {(each["cases_done"], each["cases_total"]) for each in listed} == {(4, 4)}


def test_no_log_is_added_to_a_picture_a_table_or_any_other_file_that_is_no_log(pictures: Path, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt_id": "p", "prompt": "a cat"}\n')
    before = {path: path.read_bytes() for path in (prompts, *sorted(pictures.iterdir()))}
    with serving(Script(rule=fixed("3"))) as server:
        for path in before:
            refused = run(pictures, server.url, "--log-json", path)
            assert refused.exit_code == 2 and "is no log" in refused.output, refused.output
        for _ in range(2):  # a log is added to
            assert run(pictures, server.url, "--log-json", tmp_path / "log.jsonl").exit_code == 0
    assert {path: path.read_bytes() for path in before} == before


def test_a_panel_of_a_run_that_was_removed_and_repeated_has_its_new_numbers(pictures: Path) -> None:
    def judged(one: str, two: str) -> dict[str, object]:
        words = ("--model", "ours", "--generations", pictures, "--judge", f"vllm:one@{one}", "--judge", f"vllm:two@{two}")
        done = salon("run", "numbers", *words, "--format", "json")
        assert done.exit_code == 0, done.output
        panel: dict[str, object] = json.loads(done.stdout)[2]
        return panel

    with serving(Script(rule=fixed("3"))) as one, serving(Script(rule=fixed("5"))) as two:
        before = judged(one.url, two.url)
    store = ResultStore.open(Path("results"))
    [wrong] = store.read("runs").filter(pl.col("judge") == "one").collect()["run_id"]
    store.remove(wrong)
    with serving(Script(rule=fixed("4"))) as one, serving(Script(rule=fixed("5"))) as two:
        after = judged(one.url, two.url)
    [old, new] = [panel["models"][0]["table"][0]["value"] for panel in (before, after)]  # type: ignore[index]
    assert (old, new) == (8.0, 9.0)


def test_one_judge_named_twice_is_no_panel_and_nobody_is_asked(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        twice = run(pictures, server.url, "--judge", f"vllm:mock@{server.url}")
        assert server.stats.requests == 0
    assert (twice.exit_code, "named twice" in twice.stderr) == (2, True)


def test_a_limit_on_cost_without_prices_is_refused_before_anybody_is_asked(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        refused = run(pictures, server.url, "--max-cost", 1)
        assert server.stats.requests == 0
    assert (refused.exit_code, "needs a judge with prices" in refused.stderr) == (2, True)


def test_a_panel_of_which_one_judge_answers_says_that_nothing_is_agreed(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as one, serving(Script(rule=fixed("Lovely!"))) as two:
        result = salon(
            *("run", "numbers", "--model", "ours", "--generations", pictures),
            *("--judge", f"vllm:one@{one.url}", "--judge", f"vllm:two@{two.url}"),
        )
    assert result.exit_code == 0, result.output
    assert "every number is one judge's alone" in result.stdout


def test_pictures_that_cannot_be_used_are_named_with_the_reason(pictures: Path) -> None:
    (pictures / "p00001.png").write_bytes(b"")
    (pictures / "p00002.png").unlink()
    with serving(Script(rule=fixed("3"))) as server:
        said = run(pictures, server.url).stderr
    assert f"{pictures / 'p00001.png'}: the file is empty" in said
    assert "no picture for p00002" in said


def test_a_step_that_the_suite_does_not_have_is_mentioned(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        said = run(pictures, server.url, "--judge", f"frist=vllm:mock@{server.url}").stderr
    assert "the suite asked nothing at step 'frist'" in said


def test_a_server_that_comes_back_is_asked_for_the_rest(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"), lines=(ScriptLine(fault=ServerFault.CUT, times=1),))) as server:
        assert run(pictures, server.url).exit_code == 0
        assert server.stats.requests == 9


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "no-such", "--model", "a", "--generations", ".", "--judge", "vllm:m@h:1"], "no installed package brings"),
        (["run", "numbers", "--model", "a", "--generations", "nowhere", "--judge", "vllm:m@h:1"], "no such file or folder"),
        (["run", "numbers", "--model", "a", "--generations", "pictures", "--judge", "who?"], "no such kind of judge"),
        (["run", "numbers", "--model", "a", "--model", "b", "--generations", ".", "--judge", "vllm:m@h:1"], "2 --model"),
        (["resume", "nothing", "--store", "results"], "no such store"),
        (["runs", "--store", "pictures"], "no store"),
        (["runs", "x", "--store", "empty"], "there is no run"),
        (["rescore", "imported", "--store", "empty"], "were imported"),
    ],
)
def test_a_mistake_is_explained_and_exits_two(pictures: Path, words: list[str], said: str) -> None:
    if "empty" in words:
        opened = ResultStore.open("empty")
        if "imported" in words:
            opened.append("runs", [Run(run_id="imported", suite="s", source="a paper", salon_version="0.1.0")], run_id="i")
    result = salon(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_secrets_are_in_no_file_of_the_store(pictures: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SALON_JUDGE_API_KEY", "sesame-open-4711")
    with serving(Script(rule=fixed("3"))) as server:
        assert run(pictures, server.url, "--max-calls", 2, "--log-json", tmp_path / "log.jsonl").exit_code == 1
        assert server.seen[0].headers["authorization"] == "Bearer sesame-open-4711"
    settings = ResultStore.open("results", read_only=True).read("runs").collect()["settings"].item()
    assert "sesame" not in settings + (tmp_path / "log.jsonl").read_text()
    assert not any(b"sesame" in path.read_bytes() for path in (tmp_path / "results").rglob("*") if path.is_file())


def test_the_commands_of_other_files_are_there() -> None:
    context = click.Context(bench_cli.bench)
    assert {"mock-server", "run", "list"} <= set(bench_cli.bench.list_commands(context))
    assert bench_cli.bench.get_command(context, "mock-server") is not None


def test_draws_are_runs_of_their_own_that_ask_with_seeds_of_their_own_and_resume(pictures: Path) -> None:
    with serving(Script(rule=fixed("3"))) as server:
        within = f'[judge]\nkind = "vllm"\nmodel = "mock"\nbase_url = "{server.url}"\n[judge.decoding]\ntemperature = 0.7\n'
        Path("judge.toml").write_text(f'kind = "cache"\npath = "replies"\n{within}', encoding="utf-8")
        words = ("run", "numbers", "--model", "ours", "--generations", pictures, "--judge", "judge.toml")
        once = json.loads(salon(*words, "--format", "json").stdout)
        assert salon(*words, "--repeat", 3, "--max-calls", 3).exit_code == 1
        done = salon(*words, "--repeat", 3, "--format", "json")
        assert (done.exit_code, server.stats.requests) == (0, 24), done.output
        reports = json.loads(done.stdout)
        assert reports[0]["run_id"] == once[0]["run_id"]
        asked = Counter(json.loads(seen.body).get("seed") for seen in server.seen)
        assert sorted(asked.values()) == [8, 8, 8]
        assert None in asked
        assert salon(*words, "--repeat", 3).exit_code == 0
        assert server.stats.requests == 24
        other = json.loads(salon(*words, "--repeat", 2, "--seed", 1, "--format", "json").stdout)
        assert server.stats.requests == 32
    assert other[0]["run_id"] == once[0]["run_id"]
    ids = {report["run_id"] for report in (*reports, *other)}
    scores = ResultStore.open(Path("results")).read("scores").collect()
    assert len(ids) == 4
    assert scores.group_by("run_id").len().sort("run_id").rows() == sorted((name, 8) for name in ids)


@pytest.mark.parametrize("decoding", ["", "temperature = 0.0", "temperature = 1\nseed = 3"])
def test_draws_that_could_only_be_one_are_refused_before_anything_is_written(pictures: Path, decoding: str) -> None:
    judge = 'kind = "vllm"\nmodel = "m"\nbase_url = "http://h/v1"\n'
    Path("judge.toml").write_text(f"{judge}[decoding]\n{decoding}\n", encoding="utf-8")
    within = f'kind = "cache"\npath = "replies"\n[judge]\n{judge}[judge.decoding]\n{decoding}\n'
    Path("cached.toml").write_text(within, encoding="utf-8")
    words = ("run", "numbers", "--model", "ours", "--generations", pictures, "--repeat", 2)
    for judge in ("judge.toml", "cached.toml"):
        result = salon(*words, "--judge", judge)
        assert result.exit_code == 2
        assert f"decoding.{'seed' if 'seed' in decoding else 'temperature'}" in result.stderr
    assert not Path("results").exists()
