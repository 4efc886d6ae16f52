"""A refiner's training goes on after a kill, is given up when it degenerates, and is planned before anything heavy."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from for_each import for_each
from salon_console import main
from salon_store import ResultStore
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_train.configuration import preset
from salon_train.refiner import read_refiner_configuration, train_refiner
from salon_train.refiner.stage import EditorAbort
from salon_train.run.checkpoints import whole_checkpoints
from salon_train.run.completion_parsing import ParsedCompletion, read_refinement
from salon_train.run.early_abort import DegeneratedError
from salon_train.run.events import read_log
from salon_train.trl.grpo import SampledCompletion, SampledCompletions

WATCHED = """
[evaluation]
every = 2
longest = 8
[monitors]
thresholds = {{ unreadable = [0.1, 0.2], reasoning_contradiction = [0.1, 0.2] }}
on_stop = "log"
[store]
folder = "{run}-store"
completions = 4
"""
COMMAND = (sys.executable, "-c", "from salon_console import main; main()", "train", "refiner")

pytestmark = pytest.mark.usefixtures("one_thread")


def weights(run: Path) -> dict[str, object]:
    from safetensors.torch import load_file

    return dict(load_file(run / "model.safetensors"))


def numbers(run: Path) -> dict[object, tuple[object, ...]]:
    """What every step was told; what was done twice counts as it was done last."""
    names = ("loss", "grad_norm", "reward", "rewards/reasoning/mean", "rewards/rectification/mean", "answers/matches")
    rows = [row for row in read_log(run / "refine/log.jsonl") if row["what"] == "learned"]
    return {row["step"]: tuple(row.get(name) for name in names) for row in rows}


def watched(run: Path) -> dict[tuple[object, object], object]:
    """What the monitors said at every step; what was done twice counts as it was done last."""
    rows = [row for row in read_log(run / "refine/log.jsonl") if row["what"] == "watched"]
    return {(row["step"], each["monitor"]): each for row in rows for each in row["readings"]}


def kept(ground: Path, run: str) -> tuple[object, ...]:
    """What stands in a run's store and file of completions."""
    store = ResultStore.open(ground / f"{run}-store", read_only=True)
    paid = "SELECT step, prompt_id, reward, value, unscored_reason, weight FROM rewards ORDER BY ALL"
    said = "SELECT step, case_id, response_text, parse_status FROM judge_calls ORDER BY ALL"
    return store.sql(paid).rows(), store.sql(said).rows(), (ground / run / "refine/completions.jsonl").read_text()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_and_watched_run_ends_with_the_weights_of_one_that_was_not(
    refiner_ground: Path, written_refiner: Callable[..., Path]
) -> None:
    import torch

    whole, killed = (
        written_refiner(run, rows='held_out = "held-out/rows.jsonl"', more=WATCHED.format(run=run))
        for run in ("unbroken", "broken")
    )
    unbroken = train_refiner(read_refiner_configuration(whole))
    assert (unbroken.steps, unbroken.resumed_from) == (4, None)
    log = refiner_ground / "broken/refine/log.jsonl"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([*COMMAND, str(killed)], env=environment, stdout=subprocess.DEVNULL)
    try:
        while child.poll() is None and not (log.exists() and '"learned", "step": 2,' in log.read_text()):
            time.sleep(0.05)
    finally:
        child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL, "the run ended before it could be killed"
    saved = [checkpoint.step for checkpoint in whole_checkpoints(log.parent)]
    assert saved
    assert saved[-1] in (1, 2, 3)
    on = train_refiner(read_refiner_configuration(killed))

    assert on.resumed_from == saved[-1]
    start, first, second = (weights(refiner_ground / run) for run in ("policy", "unbroken/refine/model", "broken/refine/model"))
    assert any(not torch.equal(first[name], start[name]) for name in first)  # it learned something
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name
    assert numbers(refiner_ground / "unbroken") == numbers(refiner_ground / "broken")
    assert [row["what"] for row in read_log(log)].count("resumed") == 1
    assert watched(refiner_ground / "unbroken") == watched(refiner_ground / "broken")
    assert {step for step, _ in watched(refiner_ground / "broken")} == {0, 1, 2, 3}
    first, second = (kept(refiner_ground, run) for run in ("unbroken", "broken"))
    assert first == second
    assert len(first[0]) == 4 * 4 * 6  # steps, completions, two rewards with three terms and the total
    kinds = ('SELECT kind, cases_done, cases_total, detail FROM run_events ORDER BY "at"', "SELECT count(*) FROM runs")
    store = ResultStore.open(refiner_ground / "broken-store", read_only=True)
    assert [store.sql(query).rows() for query in kinds] == [
        [("started", 0, 4, None), ("resumed", saved[-1], 4, None), ("finished", 4, 4, None)], [(1,)]
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"key 'refine.group': this run was begun with 4"):
        train_refiner(read_refiner_configuration(killed, changes={"refine.group": 2}))


def test_replies_that_cannot_be_read_end_a_run_with_exit_code_1(
    refiner_ground: Path, written_refiner: Callable[..., Path]
) -> None:
    file = written_refiner("unreadable")
    changes = ("degeneration.invalid_answers=2", "refine.most_tokens=1")
    settings = [word for change in changes for word in ("--set", change)]
    ended = CliRunner().invoke(main, ["train", "refiner", str(file), *settings])
    assert ended.exit_code == 1
    assert "for 2 generation batches in a row no completion could be read as an answer" in ended.stderr
    assert "refine.most_tokens" in ended.stderr
    assert read_log(refiner_ground / "unreadable/refine/log.jsonl")[-1]["reason"] == "invalid_answers"
    assert not (refiner_ground / "unreadable/refine/model").exists()


def batch(*paid: float | None) -> SampledCompletions:
    made = [SampledCompletion("1", "", 0, "", 1, ParsedCompletion(False), {"rectification": each}, each) for each in paid]
    return SampledCompletions(7, tuple(made), {"rectification": sum(each is None for each in paid)})


def test_a_run_whose_edits_are_all_lost_is_given_up_though_verdicts_are_paid() -> None:
    watch = EditorAbort(2)
    for sampled in (batch(None, 0.0), batch(None, 0.3), batch(0.0, 0.0), batch(None, None)):
        watch(sampled)
    with pytest.raises(DegeneratedError, match="for 2 generation batches in a row the reward of stage II") as error:
        watch(batch(None, 0.0))
    assert (error.value.reason, error.value.step) == ("unscored", 7)
    for _ in range(5):
        EditorAbort(0)(batch(None))


@for_each("place", range(len(HOSTILE_REPLIES)))
def test_hostile_replies_are_counted_and_never_raise(place: int) -> None:
    read = read_refinement(HOSTILE_REPLIES[place])
    assert read.readable == (read.verdict in ("matches", "differs"))


def test_a_plan_is_printed_before_anything_is_written(refiner_ground: Path, written_refiner: Callable[..., Path]) -> None:
    file = written_refiner("planned")
    printed = CliRunner().invoke(main, ["train", "refiner", str(file), "--dry-run", "--format", "json"])
    assert printed.exit_code == 0, printed.output
    plan = json.loads(printed.stdout)
    assert (plan["steps"], plan["batch"], plan["device_batch"], plan["accumulated"], plan["prompts"]) == (4, 8, 4, 2, 2)
    assert plan["epochs"] == 1.0  # four steps of two prompts over eight rows
    assert sum(plan["examples"].values()) == 8
    assert plan["rewards"] == {"reasoning": 0.5, "rectification": 0.75}
    assert plan["editor"] == "draw answers"
    assert plan["tokens"] > 8
    assert not (refiner_ground / "planned").exists()
    shown = CliRunner().invoke(main, ["train", "refiner", str(file), "--dry-run", "--set", "editor.name=diffusers:m"])
    assert "editor: diffusers:m (not tried)" in shown.stdout
    assert "was not tried" in shown.stderr


@pytest.mark.usefixtures("without_waiting")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"editor.name": "vllm:m@127.0.0.1:9", "editor.timeout_s": 0.3}, "the editor does not answer"),
        ({"editor.name": "pencil"}, "no such editor"),
        ({"rows.file": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"model.name": "nobody/nothing"}, "the model cannot be found"),
        ({"refine.longest_prompt": 4}, "at most 4 are allowed"),
        ({"refine.epochs": 2}, "give either steps or epochs"),
        ({"refine.judged_by": "questions", "refine.judge": "vllm:m@127.0.0.1:9"}, "key 'refine.judge': the judge does not"),
    ],
    ids=["editor", "kind", "rows", "model", "length", "epochs", "judge"],
)
def test_what_cannot_work_is_refused(written_refiner: Callable[..., Path], changes: dict[str, object], said: str) -> None:
    from salon_train.refiner.dry_run import dry_run

    with pytest.raises(InputError) as error:
        dry_run(read_refiner_configuration(written_refiner("checked"), changes=changes), {})
    assert said in str(error.value)


@pytest.mark.parametrize("name", ["r3-refiner-7b", "r3-refiner-8b"])
def test_a_preset_is_planned_offline_once_its_rows_are_there(refiner_ground: Path, name: str) -> None:
    file = refiner_ground / f"{name}.toml"
    file.write_text(preset(name), encoding="utf-8")
    bare = CliRunner().invoke(main, ["train", "refiner", str(file), "--dry-run"])
    assert bare.exit_code == 2
    assert "r3_train.jsonl" in bare.stderr
    planned = CliRunner().invoke(main, ["train", "refiner", str(file), "--dry-run", "--set", "rows.file=rows/rows.jsonl"])
    assert planned.exit_code == 0, planned.output
    assert "1 steps of 1024 sequences (4 at once on each of 1 devices, 256 passes), 128 prompts at once" in planned.stdout
