"""R³-Bench from rows to numbers: four stages, resumable, and nothing from a dead endpoint."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from moments import Moments
from r3_world import Dead, Painter, World, colour_of, write_rows

from for_each import for_each
from salon_bench.analysis.reliability import compare, score_tables
from salon_bench.cli.r3_bench import r3_bench
from salon_bench.cli.scenes import scenes
from salon_bench.report.gathering import gather
from salon_bench.runs.score_rows import read_scores
from salon_bench.runs.status import run_statuses
from salon_bench.suites.r3_bench.editing import edit_pictures
from salon_bench.suites.r3_bench.scoring import changes, gain, lines_of
from salon_bench.suites.r3_bench.stages import StageOptions, run_stage, stage_summaries
from salon_bench.suites.r3_bench.workspace import Workspace
from salon_judges.asking.spending import RunLimits
from salon_judges.formats.r3_bench import read_items
from salon_store import ResultStore
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Edit, Media, Question, Reply


def bench(
    folder: Path, policy, editor, judge, *, keep=False, work="work"
) -> tuple[Workspace, dict[tuple[str, str | None], dict]]:
    """All four stages; the lines of all tables by metric and group."""
    rows = folder / "rows.jsonl"
    source = rows if rows.exists() else write_rows(folder)
    space = Workspace.begin(folder / work, policy.name, read_items(source))
    store, options = folder / "results", StageOptions(keep_lost=keep)

    async def chain() -> None:
        await run_stage(space, "reflect", policy, store, options)
        await edit_pictures(space, editor, store, keep_failed=keep)
        await run_stage(space, "explanations", judge, store, options)
        await run_stage(space, "images", judge, store, options)

    asyncio.run(chain())
    return space, lines(space, store)


def lines(space: Workspace, store: Path) -> dict[tuple[str, str | None], dict]:
    return {
        (line["metric"], line["group"]): line
        for summary in stage_summaries(space, store).values()
        for line in summary.table.to_dicts()
    }


def test_a_policy_that_sees_everything_and_an_editor_that_obeys_reach_one(tmp_path):
    space, found = bench(tmp_path, World(), Painter(), World("judge"))
    for metric, scored in (("verdict_accuracy", 6), ("s_ref", 6), ("s_rect", 4), ("s_rect_released", 4)):
        assert (found[metric, None]["value"], found[metric, None]["scored"]) == (1.0, scored), metric
    assert (found["v_before", None]["value"], found["v_after", None]["value"]) == (0.5, 1.0)
    assert (found["improved", None]["value"], found["worsened", None]["value"]) == (1.0, 0.0)
    assert found["s_ref", "non-spatial"]["scored"] == 1
    assert colour_of((space.pictures / "3" / "1.png").read_bytes()) == "green"


def test_a_policy_that_overlooks_a_mismatch_loses_reflection_and_rectification(tmp_path):
    _, found = bench(tmp_path, World("half", wrong=("white", "green")), Painter(), World("judge"))
    assert found["verdict_accuracy", None]["value"] == pytest.approx(4 / 6)
    assert found["s_ref", None]["value"] == pytest.approx(4 / 6)
    assert found["s_rect", None]["value"] == pytest.approx(2 / 4)
    assert found["unchanged", None]["value"] == 0.5
    assert found["s_rect", None]["unscored"] == 0, "what the policy let pass is a gain of 0, not a missing one"


def test_an_edit_that_cannot_be_had_counts_zero_by_the_paper_and_is_left_out_by_the_released_rule(tmp_path):
    class Choosy(Painter):
        async def edit(self, image, instruction, *, seed=None):
            return await super().edit(image, "nothing" if "white" in instruction else instruction, seed=seed)

    _, found = bench(tmp_path, World(), Choosy(), World("judge"), keep=True)
    assert found["s_rect", None]["value"] == pytest.approx(3 / 4)
    assert found["s_rect_released", None]["value"] == 1.0
    assert (found["s_rect", None]["scored"], found["s_rect", None]["unscored"]) == (3, 1)


def test_a_dead_endpoint_scores_nothing_at_all(tmp_path):
    _, found = bench(tmp_path, Dead(), Dead(), Dead(), keep=True)
    assert all(line["value"] is None and line["scored"] == 0 for line in found.values()), found
    assert (found["s_ref", None]["unscored"], found["s_rect", None]["unscored"]) == (6, 4)
    scores = ResultStore.open(tmp_path / "results").read("scores").collect()
    assert scores["value"].null_count() == scores.height
    assert set(scores["unscored_reason"]) == {"unreachable"}


@pytest.mark.parametrize("dead", ["explanations", "images"])
def test_a_dead_judge_scores_only_what_needs_no_judge(tmp_path, dead):
    policy, store = World(), tmp_path / "results"
    space = Workspace.begin(tmp_path / "work", policy.name, read_items(write_rows(tmp_path)))
    options = StageOptions(keep_lost=True)

    async def chain() -> None:
        await run_stage(space, "reflect", policy, store, options)
        await edit_pictures(space, Painter(), store)
        await run_stage(space, dead, Dead(), store, options)

    asyncio.run(chain())
    found = lines(space, store)
    if dead == "images":
        assert found["s_rect", None]["value"] is None
    else:
        assert (found["s_ref", None]["scored"], found["s_ref", None]["unscored"]) == (2, 4), "the two aligned rows ask nobody"
        assert found["s_ref_scored", None]["value"] == 1.0


def test_a_second_start_asks_nobody_and_says_the_same(tmp_path):
    policy, editor, judge = World(), Painter(), World("judge")
    _, first = bench(tmp_path, policy, editor, judge)
    asked = (policy.asked, editor.calls, judge.asked)
    _, second = bench(tmp_path, policy, editor, judge)
    assert (policy.asked, editor.calls, judge.asked) == asked
    assert first == second


def test_failed_edits_are_open_and_a_second_start_makes_only_those(tmp_path):
    policy, store = World(), tmp_path / "results"
    space = Workspace.begin(tmp_path / "work", policy.name, read_items(write_rows(tmp_path)))
    asyncio.run(run_stage(space, "reflect", policy, store))
    first = asyncio.run(edit_pictures(space, Painter(fails=3), store))
    assert (first.states, first.open) == ({"made": 1, "unreachable": 3}, 3)
    assert [each.state for each in run_statuses(store) if each.suite == "r3-edit"] == ["unfinished"]
    again = Painter()
    second = asyncio.run(edit_pictures(space, again, store))
    assert (second.states, second.open, again.calls) == ({"made": 4}, 0, 3)
    assert second.run_id == first.run_id
    assert [each.state for each in run_statuses(store) if each.suite == "r3-edit"] == ["finished"]
    rows = ResultStore.open(store).read("judge_calls").collect().filter(step="edit")
    assert sorted(rows["status"]) == ["ok"] * 4 + ["unreachable"] * 3


def test_a_limit_stops_the_edits_and_a_second_start_makes_the_rest(tmp_path):
    policy, store, editor = World(), tmp_path / "results", Painter()
    space = Workspace.begin(tmp_path / "work", policy.name, read_items(write_rows(tmp_path)))
    asyncio.run(run_stage(space, "reflect", policy, store))
    moments = Moments()
    first = asyncio.run(edit_pictures(space, editor, store, limits=RunLimits(calls=3), watcher=moments, keep_failed=True))
    assert (first.stopped, first.open, editor.calls) == ("the limit of 3 calls is reached", 1, 3)
    assert first.states == {"abstained": 1, "made": 3}
    assert (moments.last.done, moments.last.total, moments.last.calls) == (3, 4, 3)
    assert [each.kind for each in moments.events] == ["started", "stopped"]
    second = asyncio.run(edit_pictures(space, editor, store))
    assert (second.states, second.open, editor.calls) == ({"made": 4}, 0, 4)


def test_the_limits_of_a_command_hold_for_all_stages_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(scenes, ["generate", "--output", "drawn", "--per-category", "2"]).exit_code == 0
    words = ["run", "--rows", "drawn/rows.jsonl", "--policy", "pixels:", "--judge", "pixels:", "--editor", "draw"]
    words += ["--work", "work", "--concurrency", "1"]
    first = CliRunner().invoke(r3_bench, [*words, "--max-calls", "20"])
    assert (first.exit_code, type(first.exception).__name__) == (1, "IncompleteError")
    calls = ResultStore.open("results").read("judge_calls").collect().height
    assert calls == 20, "16 by the policy, and no more than 4 by whoever came next"
    left = CliRunner().invoke(r3_bench, [*words, "--max-calls", "3", "--allow-incomplete", "--log-json", "log.jsonl"])
    assert left.exit_code == 0
    assert "work is left: the limit of 3 calls is reached" in left.stderr
    assert '"what": "stopped"' in Path("log.jsonl").read_text()
    done = CliRunner().invoke(r3_bench, [*words, "--format", "json"])
    assert done.exit_code == 0, done.output
    assert ResultStore.open("results").read("judge_calls").collect().height > 23


def test_rows_that_all_match_need_no_judge_of_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = write_rows(tmp_path)
    rows.write_text("".join(line + "\n" for line in rows.read_text().splitlines() if '"answer": true' in line))
    words = ["run", "--rows", str(rows), "--policy", "pixels:", "--judge", "pixels:", "--editor", "draw", "--work", "work"]
    done = CliRunner().invoke(r3_bench, words)
    assert done.exit_code == 0, done.output
    assert "images: no row is misaligned" in done.stderr


def test_a_report_shows_before_and_after_side_by_side(tmp_path):
    space, _ = bench(tmp_path, World("half", wrong=("white",)), Painter(), World("judge"))
    [gallery] = gather(tmp_path / "results", [space.run_of("images")])
    cards = {prompt.prompt_id: prompt.cards[0] for prompt in gallery.prompts}
    shown = {name: (card.names, len(card.pictures), len(card.replies)) for name, card in cards.items()}
    together = (("before", "after"), 2, 2)
    assert shown == {"2": together, "3": together, "4": together, "5": ((), 1, 0)}
    assert len({each.url for each in cards["2"].pictures}) == 2
    assert gallery.elsewhere == 0
    calls = ResultStore.open(tmp_path / "results", read_only=True).read("judge_calls").filter(run_id=space.run_of("images"))
    roles = {(row["step"], json.loads(row["shown"])[0][0]) for row in calls.collect().iter_rows(named=True)}
    assert roles == {("before", "source"), ("after", "result")}


def test_a_picture_that_was_deleted_is_made_again(tmp_path):
    editor = Painter()
    space, _ = bench(tmp_path, World(), editor, World("judge"))
    (space.pictures / "2" / "1.png").unlink()
    asyncio.run(edit_pictures(space, editor, tmp_path / "results"))
    assert editor.calls == 5
    assert (space.pictures / "2" / "1.png").exists()


@for_each("own_ms", [None, 70.0])
def test_an_edit_takes_the_time_that_its_editor_reports_or_that_passed_on_the_clock(tmp_path, monkeypatch, own_ms):
    class Timed(Painter):
        async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
            made = await super().edit(image, instruction, seed=seed)
            now[0] += 0.25
            return replace(made, latency_ms=own_ms)

    now = [100.0]
    monkeypatch.setattr("salon_bench.runs.edit_runner.monotonic", lambda: now[0])
    policy, store = World(), tmp_path / "results"
    space = Workspace.begin(tmp_path / "work", policy.name, read_items(write_rows(tmp_path)))
    asyncio.run(run_stage(space, "reflect", policy, store))
    asyncio.run(edit_pictures(space, Timed(), store, concurrency=1))
    rows = ResultStore.open(store).read("judge_calls").collect().filter(step="edit")
    assert rows["latency_ms"].to_list() == [own_ms or 250.0] * 4


def test_edited_pictures_stand_as_generations_of_the_policy(tmp_path):
    bench(tmp_path, World(), Painter(), World("judge"))
    made = ResultStore.open(tmp_path / "results").read("generations").collect().filter(model="seer", sample=1)
    assert sorted(made["prompt_id"]) == ["2", "3", "4", "5"]


def test_a_wrong_number_of_lines_is_asked_for_again(tmp_path):
    class Terse(World):
        async def ask(self, question: Question) -> Reply:
            reply = await super().ask(question)
            again = "Time 2 of asking" in question.text
            return Reply(reply.text if again else reply.text.splitlines()[0])

    judge = Terse("judge")
    policy, store = World(), tmp_path / "results"
    space = Workspace.begin(tmp_path / "work", policy.name, read_items(write_rows(tmp_path)))
    asyncio.run(run_stage(space, "reflect", policy, store))
    asyncio.run(edit_pictures(space, Painter(), store))
    asyncio.run(run_stage(space, "images", judge, store))
    assert judge.asked == 16
    assert lines(space, store)["s_rect", None]["value"] == 1.0


def test_a_missing_picture_is_bad_media_and_nobody_is_asked(tmp_path):
    source = write_rows(tmp_path)
    (tmp_path / "images" / "2.png").unlink()
    policy = World()
    assert source.exists()
    _, found = bench(tmp_path, policy, Painter(), World("judge"))
    assert (found["s_ref", None]["unscored"], found["s_rect", None]["unscored"]) == (1, 1)
    assert policy.asked == 5


def test_a_work_folder_belongs_to_one_policy_and_stages_come_in_order(tmp_path):
    items = read_items(write_rows(tmp_path))
    space = Workspace.begin(tmp_path / "work", "one", items)
    with pytest.raises(InputError, match="another policy"):
        Workspace.begin(tmp_path / "work", "two", items)
    with pytest.raises(InputError, match="the stage before"):
        asyncio.run(run_stage(space, "images", World(), tmp_path / "results"))
    with pytest.raises(InputError, match="no stages of R³-Bench"):
        Workspace.open(tmp_path / "nowhere")


def test_instructions_that_rewrite_the_prompt_are_counted_and_change_no_picture(tmp_path):
    policy = World(instruction="Change the prompt to say {}.")
    editor = Painter()

    async def refuse(image, instruction, *, seed=None):
        return await Painter.edit(editor, image, "nothing", seed=seed)

    editor.edit = refuse
    _, found = bench(tmp_path, policy, editor, World("judge"))
    assert (found["illusory", None]["value"], found["illusory", None]["scored"]) == (1.0, 4)
    assert found["verdict_accuracy", None]["value"] == 1.0
    assert found["s_rect", None]["value"] is None


@pytest.mark.slow
def test_the_pixel_judge_and_the_draw_editor_put_eyes_in_their_known_order(tmp_path):
    runner = CliRunner()
    drawn, store = tmp_path / "drawn", tmp_path / "results"
    made = runner.invoke(scenes, ["generate", "--output", str(drawn), "--seed", "5", "--per-category", "3"])
    assert made.exit_code == 0, made.output
    runs = []
    for name in ("pixels:", "pixels:width=48"):
        work = tmp_path / name.replace(":", "-")
        words = ["run", "--rows", drawn / "rows.jsonl", "--policy", name, "--editor", "draw", "--judge", "pixels:"]
        shown = runner.invoke(r3_bench, [str(each) for each in (*words, "--work", work, "--store", store, "--format", "json")])
        assert shown.exit_code == 0, shown.output
        runs.append(Workspace.open(work).run_of("images"))
    [table] = score_tables(read_scores(runs, store), "s_rect", missing="zero")
    found = compare(table, sizes=[8], rounds=50)
    assert [each.model for each in found.standings] == ["pixels", "pixels:width=48"]
    assert found.differences[0].significant


def test_the_numbers_do_not_depend_on_the_order_in_which_replies_came():
    values = [0.1 * number for number in range(9)] + [None, -0.7]
    rows = [("s_rect", "color", value) for value in values]
    schema = {"dimension": pl.String, "task": pl.String, "value": pl.Float64}
    found = [
        lines_of(pl.DataFrame(each, schema=schema, orient="row"), "s_rect", "s_rect", "all", share=False)
        for each in (rows, rows[::-1], rows[5:] + rows[:5])
    ]
    assert found[0] == found[1] == found[2]


def test_an_editor_that_does_not_exist_is_said_before_the_policy_is_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["run", "--rows", str(write_rows(tmp_path)), "--policy", "pixels:", "--judge", "pixels:", "--work", "work"]
    result = CliRunner().invoke(r3_bench, [*words, "--editor", "nobody"])
    assert isinstance(result.exception, InputError), result.output
    assert not (tmp_path / "work").exists()
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("option", ["--max-cost", "--max-tokens", "--max-calls", "--deadline"])
def test_a_limit_that_is_none_is_named_by_its_option(tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    words = ["run", "--rows", str(write_rows(tmp_path)), "--policy", "pixels:", "--judge", "pixels:", "--work", "work"]
    result = CliRunner().invoke(r3_bench, [*words, "--editor", "draw", option, "0"])
    assert str(result.exception).startswith(f"{option}: a limit must be a number above 0, not 0")


def test_an_edit_that_spoils_a_perfect_picture_is_worsened(tmp_path):
    sides = {"improved": (0.5, 1.0), "worsened": (1.0, 0.5), "spoiled": (0.75, 0.25), "same": (1.0, 1.0), "passed": None}
    rows = []
    for name, shares in sides.items():
        before, after = shares or (None, None)
        values = {"v_before": before, "v_after": after, "s_rect": gain(before, after) if shares else 0.0}
        rows += [{"prompt_id": name, "dimension": key, "value": value} for key, value in values.items() if value is not None]
    rows.append({"prompt_id": "lost", "dimension": "s_rect", "value": None})
    found = {line["metric"]: (line["value"], line["scored"], line["unscored"]) for line in changes(pl.DataFrame(rows))}
    assert found == {"improved": (0.2, 5, 1), "unchanged": (0.4, 5, 1), "worsened": (0.4, 5, 1)}


def test_a_folder_of_pictures_that_is_not_there_is_named_as_it_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path)
    (tmp_path / "empty").mkdir()
    for folder, said in (("nothing", "nothing: there is no such folder"), ("empty", "empty: none of the 6 pictures")):
        words = [
            "run",
            "--stage",
            "reflect",
            "--rows",
            "rows.jsonl",
            "--images",
            folder,
            "--policy",
            "pixels:",
            "--work",
            "work",
        ]
        result = CliRunner().invoke(r3_bench, words)
        assert isinstance(result.exception, InputError)
        assert said in str(result.exception)
        assert "work" not in str(result.exception)
        assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("stage", "option"), [("reflect", "--rows"), ("edit", "--editor"), ("explanations", "--judge"), ("images", "--judge")]
)
def test_a_stage_names_the_option_that_it_misses(stage, option, tmp_path):
    result = CliRunner().invoke(r3_bench, ["run", "--stage", stage, "--work", str(tmp_path / "work")])
    assert (result.exit_code, f"'{option}', for the stage {stage}" in result.output) == (2, True)
    assert not (tmp_path / "work").exists()


def test_rows_that_were_left_out_stand_in_the_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with write_rows(tmp_path).open("a") as more:
        more.write('{"idx": 99}\n')
    words = ["--rows", "rows.jsonl", "--policy", "pixels:", "--work", "work", "--fidelity", "released"]
    assert CliRunner().invoke(r3_bench, ["run", "--stage", "reflect", *words]).exit_code == 0
    shown = json.loads(CliRunner().invoke(r3_bench, ["report", "--work", "work", "--format", "json"]).output)
    assert shown["left_out"][0] == "1 of 7 rows of rows.jsonl cannot be used and is left out:"
    assert shown["stages"]["reflect"]["run_id"].startswith("r3-reflect-released-")
