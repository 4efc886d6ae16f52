"""The loop and its baselines, over fake hands and over a whole run with a judge and an editor."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from moments import Moments
from r3_world import Dead, Painter, World, colour_of, png, write_rows
from row_problems import problem_of

from for_each import for_each
from salon_bench.refine import Effort, Method, RefineItem, RefineModels, Stopped, read_refine_items, refine_all
from salon_bench.refine.loop import METHODS
from salon_bench.report.trace_page import trace_page
from salon_console import main
from salon_judges.asking.spending import RunLimits
from salon_store import ResultStore
from salon_taxonomy.answers import R3Answer
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Edit, Media
from salon_taxonomy.records import CallStatus
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge
from salon_taxonomy.verdict import Reason, Scored, Unscored

ITEM = RefineItem("one", "a red square", Path("one.png"))
NO = R3Answer(False, "blue", "Paint it red.")


class Puppet:
    """Steps that say what they are told to."""

    def __init__(self, verdicts=(), edits=(), scores=()):
        self.verdicts, self.edits, self.scores = list(verdicts), list(edits), list(scores)
        self.told = []

    async def reflect(self, item, picture, number):
        return self.verdicts.pop(0)

    async def change(self, item, picture, instruction, number):
        self.told.append((picture.name, instruction))
        return self.edits.pop(0) if self.edits else Scored(Path(f"round-{number}.png"))

    async def rate(self, item, picture, number):
        return self.scores.pop(0)


def work(method, steps, **effort):
    return asyncio.run(METHODS[method](ITEM, Path("first.png"), steps, Effort(**effort)))


def test_a_picture_that_matches_is_left_alone():
    steps = Puppet([Scored(R3Answer(True))])
    trace = work(Method.REFINE, steps)
    assert (trace.stopped, trace.final.name, trace.edits, steps.told) == (Stopped.MATCHES, "first.png", 0, [])


def test_the_loop_goes_on_from_the_last_picture_until_the_judge_is_content():
    steps = Puppet([Scored(NO), Scored(NO), Scored(R3Answer(True))])
    trace = work(Method.REFINE, steps)
    assert steps.told == [("first.png", "Paint it red."), ("round-1.png", "Paint it red.")]
    assert (trace.stopped, trace.final.name, len(trace.rounds)) == (Stopped.MATCHES, "round-2.png", 3)


def test_the_loop_ends_after_its_last_round_with_a_verdict_on_the_last_picture():
    trace = work(Method.REFINE, Puppet([Scored(NO)] * 2), most_rounds=1)
    assert (trace.stopped, trace.final.name, trace.edits) == (Stopped.MAX_ROUNDS, "round-1.png", 1)
    assert trace.rounds[-1].verdict == Scored(NO)
    assert trace.rounds[-1].instruction is None


@pytest.mark.parametrize("reason", [Reason.TIMEOUT, Reason.MALFORMED, Reason.BAD_MEDIA])
def test_no_verdict_ends_the_loop_and_is_never_taken_for_a_match(reason):
    trace = work(Method.REFINE, Puppet([Scored(NO), Unscored(reason)]))
    assert (trace.stopped, trace.final.name) == (Stopped.NO_VERDICT, "round-1.png")


def test_an_edit_that_cannot_be_had_keeps_the_picture_before_it():
    trace = work(Method.REFINE, Puppet([Scored(NO)], [Unscored(Reason.REJECTED)]))
    assert (trace.stopped, trace.final.name, trace.edits) == (Stopped.NO_EDIT, "first.png", 0)


def test_resubmission_tells_the_prompt_every_time_and_asks_nobody():
    steps = Puppet()
    trace = work(Method.RESUBMIT, steps, most_rounds=3)
    assert [words for _, words in steps.told] == ["a red square"] * 3
    assert (trace.final.name, trace.edits, trace.stopped) == ("round-3.png", 3, Stopped.MAX_ROUNDS)


def test_best_of_n_keeps_the_highest_score_and_the_earliest_of_equals():
    trace = work(Method.BEST_OF_N, Puppet(scores=[Scored(0.5), Scored(1.0), Scored(1.0)]), candidates=2)
    assert (trace.final.name, trace.stopped) == ("round-1.png", Stopped.CHOSEN)
    trace = work(Method.BEST_OF_N, Puppet(scores=[Scored(0.5), Unscored(Reason.TIMEOUT), Scored(0.5)]), candidates=2)
    assert trace.final.name == "first.png"
    trace = work(Method.BEST_OF_N, Puppet(scores=[Unscored(Reason.TIMEOUT)] * 3), candidates=2)
    assert (trace.final.name, trace.stopped) == ("first.png", Stopped.NO_VERDICT)


def test_effort_is_at_least_one():
    with pytest.raises(InputError, match="most_rounds"):
        Effort(most_rounds=0)


# ------------------------------------------------------------------------------------------------------------ whole runs


def refined(tmp_path, models, **how):
    source = tmp_path / "rows.jsonl"
    items = read_refine_items(source if source.exists() else write_rows(tmp_path))
    return asyncio.run(refine_all(items, models, tmp_path / "out", tmp_path / "results", **how))


def test_a_run_refines_every_item_and_keeps_rows_pictures_and_rounds(tmp_path):
    done = refined(tmp_path, RefineModels(Painter(), World(), World("scorer")), check=True)
    assert [trace.stopped for trace in done.traces] == [Stopped.MATCHES] * 6
    assert [trace.edits for trace in done.traces] == [0, 0, 1, 1, 1, 1]
    assert [trace.checked[1].value for trace in done.traces] == [1.0] * 6
    assert colour_of((tmp_path / "out" / "3" / "round-1.png").read_bytes()) == "green"
    store = ResultStore.open(tmp_path / "results")
    scores = store.read("scores").collect()
    assert sorted(scores.filter(dimension="matches", task="round 0")["value"]) == [0.0] * 4 + [1.0] * 2
    assert scores.filter(dimension="matches", task="round 1")["value"].to_list() == [1.0] * 4
    assert store.read("generations").collect().filter(model=done.subject).height == 4
    rounds = [json.loads(line) for line in (tmp_path / "out" / "rounds.jsonl").read_text().splitlines()]
    assert [each["final"] for each in rounds if each["item"] == "2"] == [False, True]


def test_a_second_start_asks_nobody_and_gives_the_same_traces(tmp_path):
    judge, editor = World(), Painter()
    first = refined(tmp_path, RefineModels(editor, judge))
    asked, calls = judge.asked, editor.calls
    second = refined(tmp_path, RefineModels(editor, judge))
    assert (judge.asked, editor.calls, second.calls) == (asked, calls, 0)
    assert second.traces == first.traces


def test_a_limit_ends_a_run_whose_second_start_goes_on(tmp_path):
    judge, editor = World(), Painter()
    moments = Moments()
    first = refined(tmp_path, RefineModels(editor, judge), limits=RunLimits(calls=5), watcher=moments, concurrency=1)
    assert first.stopped == "the limit of 5 calls is reached"
    assert (judge.asked + editor.calls, first.calls) == (5, 5)
    assert (len(first.traces), first.open, moments.last.done) == (3, 3, 3)
    assert [each.kind for each in moments.events] == ["started", "stopped"]
    second = refined(tmp_path, RefineModels(editor, judge))
    assert (len(second.traces), second.open, second.stopped, second.run_id) == (6, 0, None, first.run_id)
    assert judge.asked + editor.calls == 5 + second.calls


def test_whoever_stops_a_run_has_it_ask_nothing_more(tmp_path):
    judge = World()
    done = refined(tmp_path, RefineModels(Painter(), judge), on_start=lambda book: book.stop("stopped by Ctrl-C"))
    assert (done.stopped, done.traces, done.open, judge.asked) == ("stopped by Ctrl-C", (), 6, 0)


def test_an_edit_counts_as_a_call(tmp_path):
    editor = Painter()
    done = refined(tmp_path, RefineModels(editor), method=Method.RESUBMIT, limits=RunLimits(calls=3), concurrency=1)
    assert (editor.calls, done.stopped) == (3, "the limit of 3 calls is reached")


def test_dead_ends_leave_items_open_and_a_second_start_goes_on(tmp_path):
    done = refined(tmp_path, RefineModels(Painter(), Dead()))
    assert (done.open, {trace.stopped for trace in done.traces}) == (6, {Stopped.NO_VERDICT})
    assert ResultStore.open(tmp_path / "results").read("scores").collect().height == 0
    first = refined(tmp_path, RefineModels(Painter(fails=2), World()))
    assert first.open == 2
    editor = Painter()
    again = refined(tmp_path, RefineModels(editor, World()))
    assert (again.open, editor.calls, again.run_id) == (0, 2, first.run_id)


def test_a_picture_that_another_of_equal_size_replaced_is_refined_by_another_run(tmp_path):
    write_rows(tmp_path)
    picture, other = tmp_path / "images" / "2.png", png("white").ljust(200, b"\0")
    picture.write_bytes(png("blue").ljust(200, b"\0"))
    first = refined(tmp_path, RefineModels(Painter(), World()))
    picture.write_bytes(other)
    again = refined(tmp_path, RefineModels(Painter(), World()))
    assert again.run_id != first.run_id
    assert again.traces[2].rounds[0].picture.read_bytes() == other


class Ends(Painter):
    """An editor whose edits all end in one way."""

    def __init__(self, ending):
        super().__init__()
        self.ending = ending

    async def edit(self, image, instruction, *, seed=None):
        self.calls += 1
        if isinstance(self.ending, CallStatus):
            return Edit(None, self.ending, self.version, error="not this one")
        if isinstance(self.ending, bytes):
            return Edit(Media.from_bytes(self.ending), version=self.version)
        raise InputError("no model is here")


@for_each(
    ("ending", "reason", "asked_again"),
    [
        (png("red"), None, False),
        (b"no picture", Reason.BAD_MEDIA, False),
        (CallStatus.REJECTED, Reason.REJECTED, False),
        (CallStatus.TIMEOUT, Reason.TIMEOUT, True),
        (CallStatus.UNREACHABLE, Reason.UNREACHABLE, True),
        (CallStatus.CANCELLED, Reason.ABSTAINED, True),
        (None, Reason.ABSTAINED, True),
    ],
)
def test_a_later_start_makes_lost_edits_again_and_no_others(tmp_path, ending, reason, asked_again):
    """Limits on cost and tokens do not stop edits, which have neither."""
    once = {"method": Method.RESUBMIT, "effort": Effort(most_rounds=1), "limits": RunLimits(cost_usd=0.01, tokens=1)}
    editor = Ends(ending)
    first, second, third = (refined(tmp_path, RefineModels(editor), **once) for _ in range(3))
    assert (first.calls, second.calls, third.calls) == ((6, 6, 6) if asked_again else (6, 0, 0))
    assert (editor.calls, first.stopped) == (18 if asked_again else 6, None)
    assert [run.open for run in (first, second, third)] == [6 * asked_again] * 3
    edits = [[turn.edit for trace in run.traces for turn in trace.rounds if turn.edit is not None] for run in (first, third)]
    assert {edit.reason if isinstance(edit, Unscored) else None for run in edits for edit in run} <= {reason}
    calls = ResultStore.open(tmp_path / "results").read("judge_calls").sort("call_id", "attempt").collect()
    assert calls["attempt"].to_list() == ([1, 2, 3] if asked_again else [1]) * 6
    assert set(calls["parse_status"]) == {reason or "parsed"}
    assert calls["error"].is_null().all() == (reason is None)


def test_a_picture_whose_file_was_changed_is_made_again(tmp_path):
    editor, once = Painter(), {"method": Method.RESUBMIT, "effort": Effort(most_rounds=1)}
    refined(tmp_path, RefineModels(editor), **once)
    made = sorted((tmp_path / "out").glob("*/round-1.png"))
    contents = [path.read_bytes() for path in made]
    paid = editor.calls
    made[0].unlink()
    made[1].write_bytes(b"changed")
    refined(tmp_path, RefineModels(editor), **once)
    assert (editor.calls, [path.read_bytes() for path in made]) == (paid + 2, contents)


@for_each("reply", HOSTILE_REPLIES[::4])  # each of them is read in packages/taxonomy/tests/test_answers.py
def test_a_hostile_reply_edits_nothing(tmp_path, reply):
    item = RefineItem("one", "a red square", tmp_path / "one.png")
    item.picture.write_bytes(png("blue"))
    editor = Painter()
    judge = ReplayJudge([reply, reply])
    done = asyncio.run(refine_all([item], RefineModels(editor, judge), tmp_path / "out", tmp_path / "results"))
    assert (done.traces[0].stopped, editor.calls, done.open) == (Stopped.NO_VERDICT, 0, 0)


def test_best_of_n_finds_questions_itself_and_chooses_with_them(tmp_path):
    item = RefineItem("one", "a red square", tmp_path / "one.png")
    item.picture.write_bytes(png("blue"))
    scorer = World("scorer")
    models = RefineModels(Painter(), scorer=scorer)
    how = {"method": Method.BEST_OF_N, "effort": Effort(candidates=2)}
    done = asyncio.run(refine_all([item], models, tmp_path / "out", tmp_path / "results", **how))
    assert [each.score.value for each in done.traces[0].rounds] == [0.5, 1.0, 1.0]
    assert done.traces[0].final.name == "round-1.png"
    assert scorer.asked == 4, "the questions are found once"


def test_what_is_missing_is_said_before_anything_is_asked(tmp_path):
    write_rows(tmp_path)
    with pytest.raises(InputError, match="needs a judge"):
        refined(tmp_path, RefineModels(Painter()))
    with pytest.raises(InputError, match="scorer is needed"):
        refined(tmp_path, RefineModels(Painter(), World()), check=True)
    with pytest.raises(InputError, match="nothing to refine"):
        asyncio.run(refine_all([], RefineModels(Painter(), World()), tmp_path / "out", tmp_path / "results"))


def test_a_missing_picture_is_no_verdict_and_the_others_go_on(tmp_path):
    write_rows(tmp_path)
    (tmp_path / "images" / "2.png").unlink()
    done = refined(tmp_path, RefineModels(Painter(), World()))
    assert done.traces[2].rounds[0].verdict.reason == Reason.BAD_MEDIA
    assert [trace.stopped for trace in done.traces].count(Stopped.MATCHES) == 5


def test_the_page_shows_every_round_and_escapes_what_strangers_wrote(tmp_path):
    item = RefineItem("one", "<script>alert(1)</script> red", tmp_path / "one.png")
    item.picture.write_bytes(png("blue"))
    done = asyncio.run(refine_all([item], RefineModels(Painter(), World()), tmp_path / "out", tmp_path / "results"))
    page = trace_page("Trace", done.traces)
    assert "<script>" not in page
    assert page.count("data:image/jpeg;base64,") == 2
    assert "Paint it red." in page
    assert "does not match the prompt" in page


@pytest.mark.parametrize("name", ["", "a/b", "..", "x\n", "y" * 201, "trace.html", "Trace.HTML", "rounds.jsonl"])
def test_an_id_that_cannot_name_a_folder_is_refused(name):
    with pytest.raises(InputError, match="id"):
        RefineItem(name, "a", Path("a.png"))


def test_a_table_of_items_names_its_row_when_it_is_wrong(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("id,prompt,image\na,red,a.png\na,blue,b.png\n")
    assert "row 2" in str(problem_of(read_refine_items, path))
    path.write_text("id,prompt,image\n../up,red,a.png\n")
    with pytest.raises(InputError, match="row 1"):
        read_refine_items(path)
    path.write_text("id,prompt,image\n")
    with pytest.raises(InputError, match="no row"):
        read_refine_items(path)


def test_a_candidate_that_could_not_be_made_is_never_the_final_one(tmp_path):
    item = RefineItem("one", "a black square", tmp_path / "one.png", ("Is it blue?",), (True,))
    item.picture.write_bytes(png("blue"))
    how = {"method": Method.BEST_OF_N, "effort": Effort(candidates=2)}
    models = RefineModels(Painter(), scorer=World("scorer"))
    [trace] = asyncio.run(refine_all([item], models, tmp_path / "out", tmp_path / "results", **how)).traces
    assert (trace.final_round, trace.edits, trace.why) == (0, 0, "rejected")
    rounds = [json.loads(line) for line in (tmp_path / "out" / "rounds.jsonl").read_text().splitlines()]
    assert [each["final"] for each in rounds] == [True, False, False]


def test_the_command_refines_one_picture_or_a_table_and_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(
        main, ["synthetic", "scenes", "generate", "--output", "drawn", "--seed", "2", "--per-category", "1"]
    )
    assert made.exit_code == 0, made.output
    words = ["refine", "--items", "drawn/rows.jsonl", "--judge", "pixels:", "--editor", "draw", "--format", "json"]
    shown = CliRunner().invoke(main, [*words, "--scorer", "pixels:", "--check"])
    assert shown.exit_code == 0, shown.output
    document = json.loads(shown.stdout)
    assert (document["items"], document["stopped"], document["after"]) == (8, {"matches": 8}, 1.0)
    assert Path(document["page"]).read_text().count("data:image") == 8 + document["edits"]
    limited = CliRunner().invoke(main, [*words, "--output", "other", "--seed", "1", "--max-calls", "2", "--concurrency", "1"])
    assert (limited.exit_code, json.loads(limited.stdout)["left_by"]) == (1, "the limit of 2 calls is reached")
    two = CliRunner().invoke(main, [*words, "--scorer", "check=pixels:", "--scorer", "decompose=pixels:width=48", "--check"])
    assert (two.exit_code, json.loads(two.stdout)["after"]) == (0, 1.0)
    for wrong in ([*words, "--scorer", "pixels:", "--scorer", "pixels:width=48"], [*words, "--max-tokens", "0"]):
        assert CliRunner().invoke(main, wrong).exit_code == 2
    steps = ["refine", "--items", "drawn/rows.jsonl", "--judge", "reflect=pixels:", "--editor", "draw"]
    assert "no steps to name" in CliRunner().invoke(main, steps).output
    no_picture = ["refine", "--prompt", "a star", "--image", "drawn/rows.jsonl", "--judge", "pixels:", "--editor", "draw"]
    said = CliRunner().invoke(main, no_picture)
    assert "drawn/rows.jsonl (item rows): " in said.stderr, "the picture that is none is named, with why"
    assert said.exit_code == 1
    assert "Error: pictures that cannot be read: 1 of" in said.stderr
    assert CliRunner().invoke(main, [*no_picture, "--allow-incomplete"]).exit_code == 0
    for wrong in (["refine", "--editor", "draw"], [*words, "--prompt", "a"], [*words[:3], "--editor", "draw"]):
        assert CliRunner().invoke(main, wrong).exit_code == 2


def test_the_baselines_run_offline_with_a_generator_that_slips(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["synthetic", "scenes", "generate", "--output", "drawn", "--seed", "2", "--per-category", "2", "--misaligned", "1"]
    assert CliRunner().invoke(main, words).exit_code == 0
    words = ["refine", "--items", "drawn/rows.jsonl", "--scorer", "pixels:", "--check", "--format", "json"]
    after = {}
    for method in ("resubmit", "best-of-n"):
        deaf = CliRunner().invoke(main, [*words, "--method", method, "--editor", "draw"])
        assert (deaf.exit_code, "draw:prompt" in deaf.output) == (2, True)
        told = [*words, "--method", method, "--editor", "draw:prompt,slips=0.3", "--output", method]
        document = json.loads(CliRunner().invoke(main, told).stdout)
        assert (document["items"], document["open"], document["reasons"]) == (16, 0, {})
        assert document["edits"] == 16 * (2 if method == "resubmit" else 4)
        after[method] = document["after"]
        assert document["after"] > document["before"]
    assert after["best-of-n"] > after["resubmit"], "whoever chooses among four does better than nobody"
