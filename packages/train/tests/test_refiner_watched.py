"""A refiner's training is watched: which shortcuts end it, what the store keeps of it, and how it is measured meanwhile."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from for_each import for_each
from salon_console import main
from salon_rewards.monitors import AnswerForm
from salon_store import ResultStore
from salon_taxonomy.answers import R3Answer, render_r3
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_train.configuration.schema import MonitorsSection
from salon_train.refiner import RefinerRow, read_refiner_configuration, train_refiner
from salon_train.refiner.held_out import METRIC, HeldOutReplies
from salon_train.run.completion_parsing import read_refinement
from salon_train.run.early_abort import DegeneratedError
from salon_train.run.events import TrainingEvent, read_log
from salon_train.run.monitor_hook import RunWatch, board_of
from salon_train.run.rollouts import RolloutRecorder
from salon_train.trl.grpo import SampledCompletion, SampledCompletions

MATCHES = render_r3(R3Answer(True), "It is there.")


class Told:
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.events: list[TrainingEvent] = []

    def happened(self, event: TrainingEvent) -> None:
        self.events.append(event)


def watch(told: Told, **settings: object) -> RunWatch:
    section = MonitorsSection.model_validate(settings)
    board = board_of(section, AnswerForm.R3)
    assert board is not None
    return RunWatch(board, section, told, steps=99, metric=METRIC)


def sampled(step: int, texts: list[str], *, total: float | None = 0.5) -> SampledCompletions:
    rows = [
        SampledCompletion(
            str(place), "", place, text, 9, read_refinement(text), {"reasoning": total}, total, json.dumps(place % 2 == 0)
        )
        for place, text in enumerate(texts)
    ]
    return SampledCompletions(step, tuple(rows), {"reasoning": 0})


def refused(place: int, instruction: str, thought: str | None = None) -> str:
    said = thought or f"Thing {place} of {place * 7} is not {place}{place} but {place + 1}x."
    return render_r3(R3Answer(False, f"Thing {place} is missing.", instruction), said)


def test_hostile_replies_are_watched_and_end_nothing() -> None:
    told = Told()
    looking = watch(told)
    for step in range(4):
        looking.sampled(sampled(step, list(HOSTILE_REPLIES) * 3, total=None))
    readings = {each["monitor"]: each["value"] for each in told.events[-1].facts["readings"]}
    assert readings.pop("unreadable") == 1.0
    assert set(readings.values()) == {None}


@pytest.mark.parametrize(
    ("texts", "monitor"),
    [
        ([render_r3(R3Answer(True), f"Sight {place} of it.") for place in range(40)], "always_normal"),
        ([refused(place, f"Add thing {place}.") for place in range(40)], "always_artifact"),
        ([refused(place, "Replace two bowls with one in the prompt." if place % 2 else "Add it.") for place in range(40)],
         "prompt_editing"),
        ([refused(place, f"Add thing {place}.", "I look at it with care.") if place % 2 else
          render_r3(R3Answer(True), "I look at it with care.") for place in range(40)], "template_reasoning"),
        ([refused(place, f"Add {place}.", f"Number {place}x is as asked; the picture {place}y matches the prompt.")
          if place % 2 else render_r3(R3Answer(True), f"Item {place}x is missing, so {place}y does not match.")
          for place in range(40)], "reasoning_contradiction"),
    ],
    ids=["always matches", "never matches", "illusory", "template", "contradiction"],
)  # fmt: skip
def test_a_shortcut_of_refiners_ends_the_run_by_its_name(texts: list[str], monitor: str) -> None:
    looking = watch(Told(), which=[monitor])
    with pytest.raises(DegeneratedError, match=f"the monitor {monitor} says stop") as error:
        looking.sampled(sampled(3, texts))
    assert (error.value.reason, error.value.step) == (f"monitor {monitor}", 3)
    watch(Told(), which=[monitor], on_stop="log").sampled(sampled(3, texts))


def test_an_honest_refiner_rings_no_bell() -> None:
    told = Told()
    texts = [
        refused(place, f"Add thing {place}.")
        if place % 2
        else render_r3(R3Answer(True), f"Things {place}a and {place}b are as asked in {place}c.")
        for place in range(40)
    ]
    for step in range(12):
        watch(told).sampled(sampled(step, texts))
    assert {event.facts["verdict"] for event in told.events} == {"ok"}


def rows(*matches: bool) -> tuple[RefinerRow, ...]:
    return tuple(RefinerRow(str(place), "A cat.", Path("x.png"), each) for place, each in enumerate(matches))


@for_each("text", HOSTILE_REPLIES)
def test_hostile_replies_help_nobody(text: str) -> None:
    found = HeldOutReplies(rows(True, False), (text, text), (3, 3)).metrics()
    assert (found["helpful"], found["verdict"]) in ((0.0, 0.0), (0.5, 0.5))  # a verdict for all at most
    assert found["invalid"] in (0.0, 1.0)


@pytest.mark.parametrize(
    ("texts", "helpful", "verdict", "illusory"),
    [
        ([MATCHES, MATCHES, refused(1, "Add a cat.")], 0.75, 0.75, 0.0),
        ([MATCHES, refused(1, "Change the prompt to a dog."), refused(2, " ")], 0.5, 1.0, 0.5),
        ([MATCHES] * 3, 0.5, 0.5, None),
        ([refused(0, "Add a cat."), refused(1, "Add a cat."), "?"], 0.25, 0.25, 0.0),
    ],
    ids=["one passed", "evasive", "always matches", "never matches"],
)
def test_a_refiner_helps_by_right_verdicts_and_instructions_that_edit_the_picture(
    texts: list[str], helpful: float, verdict: float, illusory: float | None
) -> None:
    found = HeldOutReplies(rows(True, False, False), tuple(texts), (5, 6, 7)).metrics()
    assert (found["helpful"], found["verdict"], found["illusory"]) == (helpful, verdict, illusory)


def test_one_kind_of_held_out_rows_is_measured_alone() -> None:
    assert HeldOutReplies(rows(False), (refused(0, "Add a cat."),), (5,)).metrics()["helpful"] == 1.0


def test_what_abstained_stands_in_the_store_as_null_with_a_reason(tmp_path: Path) -> None:
    recorder = RolloutRecorder(tmp_path, run_id="r", policy="p", completions=None, seed=0, settings="{}", version="0")
    paid: Mapping[str, float | None] = {"reasoning": 0.3, "rectification": None}
    one = SampledCompletion("7", "", 0, "?", 1, read_refinement("?"), paid, 0.075, "true", {"reasoning/verdict": None})
    lost = SampledCompletion("8", "", 1, "?", 1, read_refinement("?"), dict.fromkeys(paid), None, "true")
    weights = {"reasoning": 0.25, "rectification": 0.75, "reasoning/verdict": 0.7}
    batch = SampledCompletions(3, (one, lost), {"reasoning": 1, "rectification": 2}, weights)
    recorder.keep(batch)
    assert recorder._journal is not None
    recorder._journal.leave()  # as a kill does: the rows are in the journal alone
    again = RolloutRecorder(tmp_path, run_id="r", policy="p", completions=None, seed=0, settings="{}", version="0")
    again.keep(batch)  # the step is repeated, with the same completions
    again.happened(TrainingEvent("saved", 4, 9))
    again.keep(replace(batch, step=4))
    again.happened(TrainingEvent("finished", 9, 9))
    store = ResultStore.open(tmp_path, read_only=True)
    counted = "SELECT step, count(*) FROM rewards GROUP BY step ORDER BY step"
    assert store.sql(counted).rows() == [(3, 7), (4, 7)]
    assert store.sql("SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM judge_calls)").rows() == [(1, 4)]
    found = ResultStore.open(tmp_path, read_only=True).sql(
        "SELECT prompt_id, reward, value, unscored_reason, weight FROM rewards WHERE step = 3 ORDER BY prompt_id, reward"
    )
    assert found.rows() == [
        ("7", "reasoning", 0.3, None, 0.25),
        ("7", "reasoning/verdict", None, "abstained", 0.7),
        ("7", "rectification", None, "abstained", 0.75),
        ("7", "total", 0.075, None, 1.0),
        ("8", "reasoning", None, "abstained", 0.25),
        ("8", "rectification", None, "abstained", 0.75),
        ("8", "total", None, "abstained", 1.0),
    ]


STRICT = """
[evaluation]
longest = 8
[monitors]
thresholds = {{ unreadable = [0.01, 0.02] }}
[store]
folder = "{run}-store"
"""


@pytest.mark.usefixtures("one_thread")
def test_a_monitors_stop_is_noted_in_the_store_and_the_run_goes_on_when_it_is_told_to(
    refiner_ground: Path, written_refiner: Callable[..., Path]
) -> None:
    file = written_refiner("gamed", rows='held_out = "held-out/rows.jsonl"', more=STRICT.format(run="gamed"))
    short = ["--set", "refine.most_tokens=2", "--set", "refine.group=8"]
    ended = CliRunner().invoke(main, ["train", "refiner", str(file), *short])
    assert ended.exit_code == 1, ended.output
    assert "the monitor unreadable says stop: 1 is at or above 0.02 (32 of 32" in ended.stderr
    on = CliRunner().invoke(main, ["train", "refiner", str(file), *short, "--set", "monitors.on_stop=log", "--format", "json"])
    assert on.exit_code == 0, on.output
    done = json.loads(on.stdout)
    assert {"helpful", "verdict", "matches", "illusory", "invalid"} <= done["evaluation"].keys()
    assert "evaluated 4/4  helpful" in on.stderr
    store = ResultStore.open(refiner_ground / "gamed-store", read_only=True)
    events = store.sql('SELECT kind, cases_done, detail FROM run_events ORDER BY "at"').rows()
    assert [kind for kind, *_ in events] == ["started", "stopped", "resumed", "finished"]
    assert events[1][1] == 1
    assert events[1][2].startswith("monitor unreadable: ended at step 1: the monitor unreadable says stop")
    assert store.sql("SELECT DISTINCT reward, weight FROM rewards ORDER BY ALL").rows() == [
        ("reasoning", 0.5), ("reasoning/json", 0.2), ("reasoning/think", 0.1), ("reasoning/verdict", 0.7),
        ("rectification", 0.75), ("total", 1.0),
    ]  # fmt: skip
    folder = refiner_ground / "gamed/refine"
    assert len((folder / "held_out.jsonl").read_text().splitlines()) == 6
    audited = CliRunner().invoke(main, ["reward", "audit", str(folder / "completions.jsonl"), "--grammar", "r3"])
    assert audited.exit_code == 1, audited.output
    assert "stop: unreadable" in audited.stdout


@pytest.mark.usefixtures("one_thread")
def test_a_run_that_is_interrupted_or_given_up_says_so_in_log_and_store(
    refiner_ground: Path, written_refiner: Callable[..., Path]
) -> None:
    class Impatient:
        def happened(self, event: TrainingEvent) -> None:
            if event.what == "learned":
                raise KeyboardInterrupt

    file = written_refiner("impatient", more='[store]\nfolder = "impatient-store"')
    with pytest.raises(KeyboardInterrupt):
        train_refiner(read_refiner_configuration(file), watcher=Impatient())
    rows = read_log(refiner_ground / "impatient/refine/log.jsonl")
    assert (rows[-1]["what"], rows[-1]["reason"], rows[-1]["step"]) == ("stopped", "interrupted", 1)
    changes = {"degeneration.invalid_answers": 1, "refine.most_tokens": 1}
    with pytest.raises(DegeneratedError):
        train_refiner(read_refiner_configuration(file, changes=changes), again=True)
    store = ResultStore.open(refiner_ground / "impatient-store", read_only=True)
    runs = store.sql(
        'SELECT array_agg(kind ORDER BY "at"), any_value(detail ORDER BY "at" DESC) FROM run_events '
        'GROUP BY run_id ORDER BY min("at")'
    ).rows()
    assert runs[0] == (["started", "stopped"], "interrupted")
    assert runs[1][0] == ["started", "stopped"]  # begun anew: another run
    assert runs[1][1].startswith("invalid_answers: ended at step 0")
