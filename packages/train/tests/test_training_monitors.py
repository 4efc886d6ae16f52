"""GRPO is watched: a policy that games its reward ends the run, a resumed run goes on watching, and a run can be audited."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from salon_console import main
from salon_rewards.monitors import AnswerForm
from salon_taxonomy.answers import Artifact, MagicMirrorAnswer, magicmirror_json, render_magicmirror
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_train.configuration import read_configuration
from salon_train.configuration.schema import MonitorsSection
from salon_train.run.completion_parsing import ParsedCompletion
from salon_train.run.completions_file import CompletionsFile
from salon_train.run.early_abort import DegeneratedError
from salon_train.run.events import TrainingEvent, read_log
from salon_train.run.monitor_hook import RunWatch, board_of
from salon_train.trl.grpo import SampledCompletion, SampledCompletions

SETTINGS = """
[grpo]
steps = {steps}
batch = 16
generations = 2
longest = 4
learning_rate = 1e-2
[checkpoints]
every = 1
[degeneration]
invalid_answers = 0
"""
NORMAL = MagicMirrorAnswer(True)
HAND = MagicMirrorAnswer(False, (Artifact("L2: Abnormal Human Anatomy"),))


class Told:
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.events: list[TrainingEvent] = []

    def happened(self, event: TrainingEvent) -> None:
        self.events.append(event)

    def of(self, what: str) -> list[tuple[int, Mapping[str, object]]]:
        return [(event.step, event.facts) for event in self.events if event.what == what]


def sampled(step: int, texts: list[str], *, total: float | None = 0.5) -> SampledCompletions:
    truths = [magicmirror_json((NORMAL, HAND)[place % 2]) for place in range(len(texts))]
    rows = [
        SampledCompletion(
            f"picture {place}", "normal", place, text, 9, ParsedCompletion(True), {"own": total}, total, truths[place]
        )
        for place, text in enumerate(texts)
    ]
    return SampledCompletions(step, tuple(rows), {"own": 0})


def always_normal(step: int, *, total: float | None = 0.5) -> SampledCompletions:
    return sampled(step, [render_magicmirror(NORMAL, f"Sight {place} of {step}.") for place in range(32)], total=total)


def readings_of(row: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """The readings of a ``watched`` row by monitor."""
    return {each["monitor"]: each for each in row["readings"]}


def watch(told: Told, **settings: object) -> RunWatch:
    section = MonitorsSection.model_validate(settings)
    board = board_of(section, AnswerForm.MAGICMIRROR)
    assert board is not None
    return RunWatch(board, section, told, steps=99, metric="f1_macro")


def test_hostile_replies_are_watched_and_end_nothing() -> None:
    told = Told()
    looking = watch(told)
    for step in range(4):
        looking.sampled(sampled(step, list(HOSTILE_REPLIES) * 3, total=None))
    (_, facts), *_ = told.of("watched")
    readings = readings_of(facts)
    assert readings["unreadable"]["value"] == 1.0
    assert readings["unreadable"]["verdict"] == "warn"  # [degeneration] gives such a run up, later
    assert (readings["always_normal"]["value"], readings["always_normal"]["verdict"]) == (None, None)
    assert "readable completions" in readings["always_normal"]["detail"]
    assert [facts["monitor"] for _, facts in told.of("warned")] == ["unreadable"]  # once, not every time


def test_a_stop_names_monitor_step_value_threshold_and_detail() -> None:
    looking = watch(Told())
    with pytest.raises(DegeneratedError) as error:
        looking.sampled(always_normal(7))
    said = str(error.value)
    assert said.startswith(
        "ended at step 7: the monitor always_normal says stop: 1 is at or above 0.9 (100% say 'normal' on 32"
    )
    assert 'monitors.on_stop = "log"' in said
    assert (error.value.reason, error.value.step) == ("monitor always_normal", 7)


def test_what_follows_from_a_warning_and_a_stop_is_the_configurations_choice() -> None:
    told = Told()
    watch(told, on_stop="log").sampled(always_normal(0))
    assert [facts["verdict"] for _, facts in told.of("warned")] == ["stop"]
    lenient = {"always_normal": (0.5, float("inf"))}
    watch(told, thresholds=lenient).sampled(always_normal(0))
    with pytest.raises(DegeneratedError, match="the monitor always_normal says warn"):
        watch(told, thresholds=lenient, on_warn="stop").sampled(always_normal(0))
    watch(told, which=["length_drift"]).sampled(always_normal(0))
    assert set(readings_of(told.of("watched")[-1][1])) == {"length_drift"}
    assert board_of(MonitorsSection(on=False), AnswerForm.MAGICMIRROR) is None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"which": ["lenght_drift"]}, "key 'monitors.which': unknown monitor 'lenght_drift' (allowed: label_flooding"),
        ({"thresholds": {"prompt_editing": (1, 2)}}, "key 'monitors.thresholds': unknown monitor 'prompt_editing'"),
        ({"thresholds": {"unreadable": (0.5, 0.4)}}, "key 'monitors.thresholds.unreadable': must not be below 'warn'"),
        ({"thresholds": {"length_drift": (0.5, 2)}}, "key 'monitors.thresholds.length_drift'"),
    ],
)
def test_monitors_and_thresholds_that_are_none_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as error:
        board_of(MonitorsSection.model_validate(settings), AnswerForm.MAGICMIRROR)
    assert said in str(error.value)


def test_a_reward_that_rises_while_held_out_f1_falls_ends_the_run_though_it_was_resumed(tmp_path: Path) -> None:
    told = Told()
    settings = {"which": ["reward_metric_divergence"]}
    looking = watch(told, **settings)
    with pytest.raises(DegeneratedError, match="ended at step 6: the monitor reward_metric_divergence says stop"):
        for step in range(20):
            looking.happened(TrainingEvent("evaluated", step, 99, {"f1_macro": 0.85 - step / 50}))
            looking.sampled(always_normal(step, total=0.5 + step / 50))
            looking.save(tmp_path)
            looking = watch(told, **settings)
            looking.load(tmp_path)


def test_an_evaluation_between_two_generations_counts_at_its_own_step() -> None:
    told = Told()
    looking = watch(told, on_stop="log")
    looking.sampled(always_normal(0))
    for step in (2, 4):
        looking.happened(TrainingEvent("evaluated", step, 99, {"f1_macro": 0.5}))
    looking.happened(TrainingEvent("evaluated", 6, 99, {"f1_macro": None}))
    looking.sampled(always_normal(4))
    assert [step for step, _ in told.of("watched")] == [0, 2, 4]


def test_a_resumed_watch_takes_the_thresholds_of_now(tmp_path: Path) -> None:
    looking = watch(Told(), on_stop="log", which=["always_normal", "unreadable"])
    looking.sampled(always_normal(0))
    looking.save(tmp_path)
    told = Told()
    again = watch(told, which=["always_normal", "length_drift"], thresholds={"always_normal": (2, 3)})
    again.load(tmp_path)
    again.sampled(always_normal(1))
    assert readings_of(told.of("watched")[0][1])["always_normal"]["verdict"] == "ok"
    with pytest.raises(InputError, match="must be after step 1"):
        again.sampled(always_normal(1))


def test_what_a_killed_run_wrote_after_its_checkpoint_is_removed_from_its_completions(tmp_path: Path) -> None:
    path = tmp_path / "completions.jsonl"
    file = CompletionsFile(path, most=2, metric="f1_macro", resumed=None)
    for step in range(3):
        file.happened(TrainingEvent("evaluated", step, 9, {"f1_macro": 0.5}))
        file.keep(always_normal(step))
    with path.open("a") as broken:
        broken.write('{"step": 3, "compl')
    CompletionsFile(path, most=2, metric="f1_macro", resumed=2)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(row["step"], "held_out" in row) for row in rows] == [
        (0, True), (0, False), (0, False), (1, True), (1, False), (1, False), (2, True)
    ]  # fmt: skip
    assert [row["example_id"] for row in rows[1:3]] == ["picture 0", "picture 16"]
    CompletionsFile(path, most=2, metric="f1_macro", resumed=None)
    assert not path.exists()


@pytest.mark.usefixtures("one_thread")
def test_a_gamed_run_ends_with_exit_code_1_goes_on_where_it_was_and_can_be_audited(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(training_ground))
    strict = "[monitors]\nthresholds = { unreadable = [0.1, 0.5] }"
    file = written("gamed", reward="own_rewards:varied", more=SETTINGS.format(steps=3) + strict)
    ended = CliRunner().invoke(main, ["train", "grpo", str(file)])
    assert ended.exit_code == 1, ended.output
    assert "ended at step 1: the monitor unreadable says stop: 1 is at or above 0.5 (32 of 32" in ended.stderr
    folder = training_ground / "gamed/grpo"
    assert (folder / "checkpoint-1/monitors.pickle").is_file()
    rows = read_log(folder / "log.jsonl")
    watched = [(row["step"], readings_of(row)["unreadable"]["value"]) for row in rows if row["what"] == "watched"]
    assert watched == [(0, None), (1, 1.0)]
    assert (rows[-1]["what"], rows[-1]["reason"]) == ("degenerated", "monitor unreadable")

    again = CliRunner().invoke(main, ["train", "grpo", str(file)])  # the board remembers: one batch alone says nothing
    assert again.exit_code == 1
    assert "ended at step 1: the monitor unreadable says stop" in again.stderr
    on = CliRunner().invoke(main, ["train", "grpo", str(file), "--set", "monitors.on_stop=log"])
    assert on.exit_code == 0, on.output
    assert "warned 1/3  monitor unreadable  verdict stop  value 1" in on.stderr

    completions = folder / "completions.jsonl"
    audited = CliRunner().invoke(main, ["reward", "audit", str(completions), "--format", "json"])
    assert audited.exit_code == 1, audited.output
    said = json.loads(audited.stdout)
    assert (said["verdict"], said["completions"], said["steps"]) == ("stop", 48, 4)  # the last evaluation is a step, too
    unreadable = next(each for each in said["monitors"] if each["name"] == "unreadable")
    assert unreadable["values"][:2] == [None, 1.0]


@pytest.mark.usefixtures("one_thread")
def test_a_run_without_monitors_and_completions_is_left_alone(training_ground: Path, written: Callable[..., Path]) -> None:
    from salon_train.assessor import train_grpo

    file = written("unwatched", more=SETTINGS.format(steps=1))
    train_grpo(read_configuration(file, changes={"monitors.on": False, "log.completions": 0}))
    folder = training_ground / "unwatched/grpo"
    assert not (folder / "completions.jsonl").exists()
    assert "watched" not in [row["what"] for row in read_log(folder / "log.jsonl")]
