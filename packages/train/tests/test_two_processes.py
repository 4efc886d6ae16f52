"""Two real processes train as one, on loopback: each learns from its share, one of them writes, and they end together."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from training_files import QUESTION, write_examples
from two_processes import run_in_two_processes, said

from salon_taxonomy.answers import MagicMirrorAnswer, render_magicmirror
from salon_taxonomy.errors import InputError
from salon_train.data import read_examples
from salon_train.run.events import read_log
from salon_train.run.processes import Processes, said_elsewhere

REWARDS = '''
import hashlib, json, math, os, signal
from pathlib import Path

RANK = os.environ.get("RANK", "0")


def seen(completions, trainer_state, example_id, **_):
    """Remembers what this process was given; pays by the text alone."""
    row = {"step": trainer_state.global_step, "ids": example_id, "texts": [each[-1]["content"] for each in completions]}
    with Path(os.environ["SEEN"], f"sampled.{RANK}").open("a") as file:
        file.write(json.dumps(row) + "\\n")
    return [int(hashlib.sha256(text.encode()).hexdigest()[:4], 16) / 65536 for text in row["texts"]]


def seen_and_equal(completions, **columns):
    return [1.0 for _ in seen(completions, **columns)]


def lost_on_one(completions, **_):
    """The second process loses its first completion."""
    return [None if RANK == "1" and place == 0 else float(place % 2) for place in range(len(completions))]


def spoiled_on_one(completions, trainer_state, **_):
    """After the first step the loss of the second process is no number; its gradients are."""
    from transformers import Trainer

    step = Trainer.training_step
    if RANK == "1" and trainer_state.global_step == 1:
        Trainer.training_step = lambda *args, **more: step(*args, **more) * math.nan
    return [float(place % 2) for place in range(len(completions))]


def infinite_on_one(completions, **_):
    return [math.inf if RANK == "1" and place == 3 else float(place % 2) for place in range(len(completions))]


def raising_on_one(completions, trainer_state, **_):
    if RANK == "1" and trainer_state.global_step == 1:
        raise RuntimeError("a defect on one process")
    return [float(place % 2) for place in range(len(completions))]


def killed_on_one(completions, trainer_state, **_):
    if RANK == "1" and trainer_state.global_step == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return [float(place % 2) for place in range(len(completions))]
'''
SETTINGS = """
[run]
folder = "{run}"
threads = 1
[model]
name = "tiny"
device = "cpu"
[data]
train = ["train.jsonl"]
held_out = ["held.jsonl"]
question = "{question}"
reasoning = false
[sampling]
sft = true
[[reward]]
name = "many_rewards:{reward}"
[evaluation]
longest = 4
[sft]
steps = 2
batch = 16
device_batch = 4
learning_rate = 1e-3
[grpo]
start = "model"
steps = {steps}
batch = 16
device_batch = 4
generation_batch = {generation_batch}
generations = 2
longest = 4
learning_rate = 1e-3
[checkpoints]
every = 1
[degeneration]
invalid_answers = 0
[monitors]
on_stop = "log"
[store]
folder = "{run}-store"
{more}
"""

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training ground in which the first pixel of each picture is its own."""
    from salon_train.models import TinyShape, build_tiny_model

    folder = tmp_path_factory.mktemp("two-processes")
    write_examples(folder, "train", 80, seed=0)
    write_examples(folder, "held", 5, seed=1)
    for number in range(80):
        file = folder / f"pictures/train-{number}.png"
        picture = Image.open(file)
        picture.putpixel((0, 0), (number, 0, 0))
        picture.save(file)
    shape = TinyShape(image_size=16, patch_size=8, vision_width=32, vision_layers=2, text_width=32, text_layers=2, heads=2)
    build_tiny_model(folder / "tiny", [QUESTION, render_magicmirror(MagicMirrorAnswer(True))], seed=0, shape=shape)
    (folder / "many_rewards.py").write_text(REWARDS, encoding="utf-8")
    return folder


def written(ground: Path, run: str, *, reward: str = "seen", steps: int = 2, generation_batch: int = 32, more: str = "") -> str:
    told = {"question": QUESTION, "reward": reward, "steps": steps, "generation_batch": generation_batch, "more": more}
    file = ground / f"{run}.toml"
    file.write_text(SETTINGS.format(run=run, **told), encoding="utf-8")
    return str(file)


def task(ground: Path, name: str, *arguments: str, **more: Any) -> dict[str, Any]:
    output = ground / "output" / name
    return {"arguments": list(arguments), "output": output, "environment": {"SEEN": str(output)}, **more}


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def in_ratio(ground: Path, ids: list[str]) -> bool:
    """4:1:1:1:1, by the example's bucket."""
    buckets = {each.example_id: each.buckets[0] for each in read_examples([ground / "train.jsonl"], None).examples}
    counts = Counter(buckets[each] for each in ids)
    return counts.pop("normal") * 2 == len(ids) and set(counts.values()) == {len(ids) // 8} and len(counts) == 4


@given(count=st.integers(1, 5), items=st.lists(st.integers(), max_size=12))
def test_shares_are_of_one_length_and_come_back_in_order(count: int, items: list[int]) -> None:
    shares = [Processes(rank, count).share(items) for rank in range(count)]
    assert len({len(share) for share in shares}) == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accelerate.utils.gather_object", lambda _: [item for share in shares for item in share])
        assert Processes(0, count).collected(shares[0], len(items)) == items


def test_one_process_alone_agrees_with_itself_and_keeps_its_error() -> None:
    alone = Processes.of(None)
    assert alone.agreed(lambda: 3) == alone.decided(lambda: 3) == 3
    problem = InputError("is wrong", key="run.folder")

    def fail() -> None:
        raise problem

    for way in (alone.agreed, alone.decided):
        with pytest.raises(InputError) as error:
            way(fail)
        assert error.value is problem
        assert not said_elsewhere(error.value)
    assert said_elsewhere(Processes(1, 2).same(problem))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_processes_learn_from_one_plan_write_once_and_end_together(ground: Path) -> None:
    file = written(ground, "pair", reward="seen_and_equal", steps=9, generation_batch=16)
    runs = [
        task(ground, "sft", "sft", file, "--format", "json"),
        task(ground, "grpo", "grpo", file, "--set", "degeneration.equal_rewards=2"),
    ]
    codes = run_in_two_processes(runs, path=[ground])
    assert codes == [[0, 0], [1, 1]], "\n".join(said(run["output"]) for run in runs)

    # The cold start: two passes of four rows on each process make a step of sixteen, in the ratio.
    first, second = (lines(ground / f"output/sft/seen.{rank}") for rank in range(2))
    for step in range(2):
        places = [pixel[0] for part in (first, second) for batch in part[2 * step : 2 * step + 2] for pixel in batch]
        assert len(set(places)) == 16
        assert in_ratio(ground, [f"pictures/train-{place}.png" for place in places])

    # GRPO: eight prompts of two completions, in the ratio on both together; groups are whole, and drawn apart.
    first, second = (lines(ground / f"output/grpo/sampled.{rank}") for rank in range(2))
    assert [row["step"] for row in first] == [row["step"] for row in second] == [0, 1]
    for mine, other in zip(first, second, strict=True):
        both = Counter(mine["ids"] + other["ids"])
        assert set(both.values()) == {2}
        assert in_ratio(ground, list(both))
        assert all(part["ids"][::2] == part["ids"][1::2] for part in (mine, other))
        assert mine["texts"] != other["texts"]

    # One of them writes, and says how it ended.
    sft, grpo = ([row["what"] for row in read_log(ground / "pair" / stage / "log.jsonl")] for stage in ("sft", "grpo"))
    assert sft == ["started", "evaluated", "learned", "saved", "learned", "saved", "evaluated", "finished"]
    seen = [each for each in grpo if each not in ("watched", "warned")]
    assert seen == ["started", "evaluated", "learned", "saved", "degenerated"]
    assert grpo.count("watched") == 2
    for stage, step in (("sft", 2), ("grpo", 1)):
        folder = ground / "pair" / stage
        assert [row["id"] for row in lines(folder / "held_out.jsonl")] == [f"pictures/held-{number}.png" for number in range(5)]
        whole = json.loads((folder / f"checkpoint-{step}/whole.json").read_text())
        assert (whole["step"], whole["processes"]) == (step, 2)
    kept = lines(ground / "pair/grpo/completions.jsonl")
    assert Counter(row["step"] for row in kept if "completion" in row) == {0: 16, 1: 16}
    assert json.loads((ground / "output/sft/stdout.0").read_text())["steps"] == 2
    assert "ended at step 1: for 2 generation batches in a row" in (ground / "output/grpo/stderr.0").read_text()
    for run in ("sft", "grpo"):
        assert (ground / f"output/{run}/stdout.1").read_text() == (ground / f"output/{run}/stderr.1").read_text() == ""
    from salon_store import ResultStore

    store = ResultStore.open(ground / "pair-store", read_only=True)
    counted = "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM rewards WHERE reward = 'total')"
    assert store.sql(counted).rows() == [(1, 32)]


@pytest.mark.study
@pytest.mark.timeout(900)
def test_two_killed_processes_go_on_with_the_same_prompts_to_the_same_weights(ground: Path) -> None:
    import torch
    from safetensors.torch import load_file

    files = {run: written(ground, run, steps=5) for run in ("unbroken", "broken")}
    log = str(ground / "broken/grpo/log.jsonl")
    runs = [
        task(ground, "unbroken", "grpo", files["unbroken"]),
        task(ground, "broken", "grpo", files["broken"], kill='"learned", "step": 3,', kill_when=log),
        task(ground, "alone", "grpo", files["broken"], environment={"WORLD_SIZE": "1", "RANK": "0"}),
        task(ground, "on", "grpo", files["broken"]),
    ]
    unbroken, broken, alone, on = run_in_two_processes(runs, path=[ground])
    shown = "\n".join(said(run["output"]) for run in runs)
    assert (unbroken, broken, on) == ([0, 0], [-9, -9], [0, 0]), shown
    assert alone == [2, 2]
    assert "2 processes trained here, and now there are 1" in shown
    (resumed,) = [row for row in read_log(Path(log)) if row["what"] == "resumed"]
    assert resumed["step"] in (2, 3)
    first, second = (load_file(ground / f"{run}/grpo/model/model.safetensors") for run in ("unbroken", "broken"))
    assert first.keys() == second.keys()
    assert all(torch.equal(value, second[name]) for name, value in first.items())
    for rank in range(2):
        whole = {row["step"]: row for row in lines(ground / f"output/unbroken/sampled.{rank}")}
        again = lines(ground / f"output/broken/sampled.{rank}") + lines(ground / f"output/on/sampled.{rank}")
        assert {row["step"]: row for row in again} == whole
    for name in ("log.jsonl", "completions.jsonl"):
        assert numbers(ground / "unbroken/grpo" / name) == numbers(ground / "broken/grpo" / name)


def numbers(file: Path) -> list[tuple[Any, ...]]:
    """What was learned (done twice: the last one), or which completions were kept."""
    if file.name == "log.jsonl":
        rows = {row["step"]: (row["step"], row["loss"], row["grad_norm"]) for row in read_log(file) if row["what"] == "learned"}
        return list(rows.values())
    return [(row["step"], row.get("completion"), row.get("reward")) for row in lines(file)]


@pytest.mark.study
@pytest.mark.timeout(900)
def test_what_stops_one_process_stops_both_with_its_reason(ground: Path) -> None:
    strict = "monitors.thresholds={ unreadable = [0.1, 0.5] }"
    single = {"steps": 3, "generation_batch": 16}
    runs = [
        task(ground, "gamed", "grpo", written(ground, "gamed", **single), "--set", strict, "--set", "monitors.on_stop=stop"),
        task(ground, "spoiled", "grpo", written(ground, "spoiled", reward="spoiled_on_one", **single)),
        task(ground, "infinite", "grpo", written(ground, "infinite", reward="infinite_on_one", **single)),
        task(ground, "lost", "grpo", written(ground, "lost", reward="lost_on_one", **single)),
        task(ground, "killed", "grpo", written(ground, "killed", reward="killed_on_one", **single)),
        task(ground, "raised", "grpo", written(ground, "raised", reward="raising_on_one", **single)),
        task(ground, "refused", "grpo", written(ground, "refused", **single), "--set", "grpo.longest_prompt=3"),
        task(
            ground, "changed", "grpo", written(ground, "lost", reward="lost_on_one", **single), "--set", "grpo.temperature=0.5"
        ),
        task(ground, "again", "grpo", written(ground, "lost", reward="lost_on_one", **single), "--again"),
        task(ground, "planned", "grpo", written(ground, "planned", **single), "--dry-run"),
    ]
    codes = dict(zip((run["output"].name for run in runs), run_in_two_processes(runs, path=[ground]), strict=True))
    shown = "\n".join(f"#### {run['output'].name} {codes[run['output'].name]}\n{said(run['output'])}" for run in runs)

    def error(run: str, rank: int = 0) -> str:
        return (ground / f"output/{run}/stderr.{rank}").read_text()

    assert codes["gamed"] == [1, 1], shown
    assert "the monitor unreadable says stop" in error("gamed")
    assert codes["spoiled"] == [1, 1], shown
    assert "ended at step 1: the loss is nan" in error("spoiled")
    assert codes["infinite"] == [1, 1], shown
    assert "ended at step 0: the reward infinite_on_one pays inf" in error("infinite")
    assert codes["lost"] == [0, 0], shown
    learned = [row for row in read_log(ground / "lost/grpo/log.jsonl") if row["what"] == "learned"]
    assert codes["killed"] is not None, shown
    assert codes["killed"][1] == -9
    assert codes["killed"][0] not in (0, None)
    assert codes["raised"] is not None
    assert 0 not in codes["raised"]
    assert "a defect on one process" in error("raised", 1)
    assert codes["refused"] == [2, 2]
    assert "at most 3 are allowed" in error("refused")
    assert codes["changed"] == [2, 2]
    assert "this run was begun with 1.0, and is now told 0.5" in error("changed")
    assert codes["again"] == [0, 0]
    assert codes["planned"] == [0, 0]
    assert "16 sequences (4 at once on each of 2 devices, 2 passes)" in (ground / "output/planned/stdout.0").read_text()
    for run in ("gamed", "spoiled", "infinite", "refused", "changed", "planned"):
        assert (error(run, 1), (ground / f"output/{run}/stdout.1").read_text()) == ("", ""), run
    assert learned[0]["rewards/lost_on_one/abstained"] == 1 / 16
