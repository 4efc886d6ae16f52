"""A configuration becomes a model: cold start, GRPO, evaluation, export; and what stands in the way is said before that."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from salon_console import main
from salon_taxonomy.errors import InputError
from salon_train.configuration import read_configuration
from salon_train.run.events import TrainingEvent, read_log

STAGES = """
[sft]
steps = 2
batch = 8
device_batch = 4
learning_rate = 1e-3
[grpo]
start = "sft"
steps = 2
batch = 16
generations = 2
longest = 4
[checkpoints]
every = 1
keep = 1
[degeneration]
invalid_answers = 0
[store]
folder = "{run}-store"
completions = 6
"""
GRPO_ALONE = """
[grpo]
steps = {steps}
batch = 16
generations = 2
longest = 4
learning_rate = 1e-2
[degeneration]
{limits}
"""

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="session")
def trained(training_ground: Path, written: Callable[..., Path]) -> Path:
    """A configuration whose two stages were run from the command line, with adapters."""
    file = written("whole", model_more='training = "lora"\n[model.lora]\nrank = 4', more=STAGES.format(run="whole"))
    for stage in ("sft", "grpo"):
        done = CliRunner().invoke(main, ["train", stage, str(file)])
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith("Finished: 2 steps")
        assert f"Model: {training_ground / 'whole' / stage / 'model'}" in done.stdout
        assert "evaluated 2/2  f1_macro" in done.stderr
    return file


def test_a_stage_leaves_a_log_one_checkpoint_a_model_and_answers(trained: Path) -> None:
    for stage in ("sft", "grpo"):
        folder = trained.parent / "whole" / stage
        rows = read_log(folder / "log.jsonl")
        assert [row["what"] for row in rows if row["what"] not in ("saved", "watched", "warned")] == [
            "started", "evaluated", "learned", "learned", "evaluated", "finished"
        ]  # fmt: skip
        assert {"f1_macro", "f1_micro", "f1_binary", "normal", "invalid"} <= rows[1].keys()
        assert [path.name for path in folder.glob("checkpoint-*")] == ["checkpoint-2"]
        assert (folder / "model" / "adapter_model.safetensors").is_file()
        assert json.loads((folder / "finished.json").read_text())["steps"] == 2
        answers = [json.loads(line) for line in (folder / "held_out.jsonl").read_text().splitlines()]
        assert [answer["id"] for answer in answers] == [f"pictures/held-{number}.png" for number in range(4)]
    learned = [row for row in rows if row["what"] == "learned"]
    for name in ("answers/invalid", "groups/zero_variance/normal", "rewards/magicmirror/mean", "completions/mean_length"):
        assert name in learned[0]


def test_a_run_is_reported_as_one_page_and_as_json(trained: Path, tmp_path: Path) -> None:
    run = trained.parent / "whole"
    done = CliRunner().invoke(main, ["train", "report", str(run), "--output", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    assert [line.partition(" (")[0] for line in done.stdout.splitlines()] == [
        "whole sft: Finished: 2 of 2 steps", "whole grpo: Finished: 2 of 2 steps", f"page: {tmp_path / 'page.html'}"
    ]  # fmt: skip
    page = (tmp_path / "page.html").read_text()
    for title in (
        "F1 by label",
        "Learning rate",
        "Mean of the reward magicmirror",
        "Norm of the gradient",
        "Tokens of completions",
    ):
        assert f"<b><bdi>{title}</bdi></b>" in page
    found = json.loads(CliRunner().invoke(main, ["train", "report", str(run), "--format", "json"]).stdout)["runs"][0]
    told = found["changed_settings"]
    assert (told["model.training"], told["model.lora.rank"], told["grpo.start"]) == ("lora", 4, "sft")
    assert (told["checkpoints.every"], told["degeneration.invalid_answers"]) == (1, 0)  # of changeable.json
    assert "grpo.temperature" not in told
    sft, grpo = found["stages"]
    assert [step for step, _ in sft["curves"]["loss"]] == [1, 2]
    assert [step for step, _ in grpo["curves"]["held_out/f1_macro"]] == [0, 2]
    assert {sample["step"] for sample in grpo["samples"]} == {0, 1}
    assert grpo["thresholds"]["unreadable"]["stop"] is None


def test_a_finished_stage_is_not_trained_again(trained: Path) -> None:
    again = CliRunner().invoke(main, ["train", "sft", str(trained), "--format", "json"])
    assert again.exit_code == 0
    assert json.loads(again.stdout)["already_finished"] is True


def test_another_setting_is_refused_in_a_folder_that_was_begun(trained: Path) -> None:
    other = CliRunner().invoke(main, ["train", "grpo", str(trained), "--set", "grpo.temperature=0.5"])
    assert other.exit_code == 2
    assert "key 'grpo.temperature': this run was begun with 1.0, and is now told 0.5" in other.stderr
    free = CliRunner().invoke(main, ["train", "grpo", str(trained), "--set", "log.every=7"])
    assert free.exit_code == 0


def test_sampled_completions_stand_in_the_store(trained: Path) -> None:
    from salon_store import ResultStore

    store = ResultStore.open(trained.parent / "whole-store", read_only=True)
    rewards = store.sql("SELECT reward, weight, array_agg(step ORDER BY step) FROM rewards GROUP BY ALL ORDER BY weight DESC")
    assert [row[:2] for row in rewards.rows()][:3] == [
        ("magicmirror/format", 8.0), ("magicmirror/l1", 4.0), ("magicmirror/l2", 2.0)
    ]  # fmt: skip
    assert {row[:2] for row in rewards.rows()[3:]} == {("magicmirror", 1.0), ("magicmirror/l3", 1.0), ("total", 1.0)}
    assert all(row[2] == [0] * 6 + [1] * 6 for row in rewards.rows())
    calls = store.sql(
        "SELECT r.value, c.response_text FROM rewards r JOIN judge_calls c ON call_id = completion_id WHERE reward = 'total'"
    )
    assert calls.height == 12
    assert calls["response_text"].null_count() == 0
    assert store.sql("SELECT suite, subject_model FROM runs").rows() == [("training", "tiny")]
    events = store.sql('SELECT kind, cases_done, cases_total, detail FROM run_events ORDER BY "at"').rows()
    assert events == [("started", 0, 2, None), ("finished", 2, 2, None)]


def test_any_stage_is_evaluated_with_intervals_and_its_answers_are_written(trained: Path, tmp_path: Path) -> None:
    shown = CliRunner().invoke(main, ["train", "evaluate", str(trained), "--of", "sft", "--bootstrap", "20"])
    assert shown.exit_code == 0, shown.output
    assert "Images: 8." in shown.stdout  # all of them: evaluation.limit = 4 is for evaluation during training
    assert "L2 macro" in shown.stdout
    written = tmp_path / "answers.jsonl"
    plain = CliRunner().invoke(
        main,
        ["train", "evaluate", str(trained), "--of", "model", "--format", "json", "--limit", "4", "--answers", str(written)],
    )
    assert json.loads(plain.stdout)["pictures"] == 4
    assert len(written.read_text().splitlines()) == 4
    unknown = CliRunner().invoke(main, ["train", "evaluate", str(trained), "--of", "nothing"])
    assert unknown.exit_code == 2
    assert "is no stage of the run and no folder: 'nothing'" in unknown.stderr


def test_answers_and_models_that_cannot_be_written_are_said_in_a_sentence(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for words in (
        ["evaluate", "--answers", tmp_path / "nowhere" / "answers.jsonl"],
        ["export", tmp_path / "file" / "assessor"],
    ):
        done = CliRunner().invoke(main, ["train", words[0], str(trained), *map(str, words[1:])])
        assert done.exit_code == 2, done.output
        assert str(words[-1].parent) in done.stderr


def test_answers_score_in_the_benchmark_as_they_do_in_training(trained: Path) -> None:
    run = trained.parent / "whole/sft"
    evaluated = next(row for row in reversed(read_log(run / "log.jsonl")) if row["what"] == "evaluated")
    truth = trained.parent / "held-4.jsonl"
    truth.write_text("".join((trained.parent / "held.jsonl").read_text().splitlines(keepends=True)[:4]))
    command = ["bench", "assessor", "evaluate", str(truth), str(run / "held_out.jsonl"), "--bootstrap", "0", "--format", "json"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    rows = {(row["level"], row["label"]): row["f1"] for row in json.loads(done.stdout)["rows"]}
    assert evaluated["f1_macro"] == rows["L2", "macro"]
    assert evaluated["f1_micro"] == rows["L2", "micro"]
    assert evaluated["f1_binary"] == rows["artifact", "artifact"]


def test_an_exported_model_loads_through_the_auto_classes_and_is_a_judge(trained: Path, tmp_path: Path) -> None:
    import asyncio
    import io

    import torch
    from PIL import Image
    from transformers import AutoModelForImageTextToText

    from salon_judges.clients import open_judge
    from salon_taxonomy.protocols import Decoding, Media, Question
    from salon_train.models import load_model

    folder = tmp_path / "assessor"
    done = CliRunner().invoke(main, ["train", "export", str(trained), str(folder)])
    assert done.exit_code == 0, done.output
    assert "adapters merged" in done.stdout
    again = CliRunner().invoke(main, ["train", "export", str(trained), str(folder)])
    assert again.exit_code == 2
    merged = AutoModelForImageTextToText.from_pretrained(folder)
    configuration = read_configuration(trained)
    apart = load_model(configuration.model, start=trained.parent / "whole/grpo/model", learning=False).model.merge_and_unload()
    for name, value in apart.state_dict().items():
        assert torch.equal(value, merged.state_dict()[name]), name
    card = (folder / "README.md").read_text()
    assert "| f1_macro |" in card
    assert str(trained.parent) not in card

    async def ask() -> str:
        async with open_judge(f"transformers:{folder}", {}) as judge:
            file = io.BytesIO()
            Image.new("RGB", (16, 16)).save(file, "PNG")
            question = Question((Media.from_bytes(file.getvalue()), "What is wrong?"), decoding=Decoding(max_tokens=3))
            reply = await judge.ask(question)
            assert reply.error is None
            return reply.text

    assert isinstance(asyncio.run(ask()), str)


def test_a_run_whose_rewards_are_all_equal_ends_with_exit_code_1_and_keeps_its_checkpoint(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(training_ground))
    limits = "equal_rewards = 2\ninvalid_answers = 0\n[checkpoints]\nevery = 1"
    file = written("equal", reward="own_rewards:constant", more=GRPO_ALONE.format(steps=9, limits=limits))
    ended = CliRunner().invoke(main, ["train", "grpo", str(file)])
    assert ended.exit_code == 1
    assert "ended at step 1: for 2 generation batches in a row the completions of every group earned the same" in ended.stderr
    assert (training_ground / "equal/grpo/checkpoint-1/whole.json").is_file()
    row = read_log(training_ground / "equal/grpo/log.jsonl")[-1]
    assert row["reason"] == "equal_rewards"
    assert str(row["said"]) in ended.stderr  # so that a report can repeat it


def test_a_reward_that_loses_one_completion_abstains_for_its_group_and_is_counted(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from salon_train.assessor import stages

    monkeypatch.syspath_prepend(str(training_ground))
    seen = []
    monkeypatch.setattr(stages, "add_recorders", lambda setting, watch, metric: setting.listeners.append(seen.append))
    limits = "invalid_answers = 0"
    file = written("lost", reward="own_rewards:lost_once", more=GRPO_ALONE.format(steps=1, limits=limits))
    heard: list[TrainingEvent] = []

    class Watcher:
        def happened(self, event: TrainingEvent) -> None:
            heard.append(event)

    stages.train_grpo(read_configuration(file), watcher=Watcher())
    (sampled,) = seen
    paid = [completion.rewards["lost_once"] for completion in sampled.completions]
    assert paid[:2] == [None, None]
    assert paid[2:] == [0.0, 1.0] * 7
    assert [each.total for each in sampled.completions[:2]] == [None, None]
    (learned,) = [event for event in heard if event.what == "learned"]
    assert learned.facts["rewards/lost_once/abstained"] == 1 / 16


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"grpo.start": "sft"}, "the cold start has not been finished"),
        ({"grpo.generations": 4}, "4 prompts at once cannot hold the ratio '4:1:1:1:1'"),
        ({"grpo.device_batch": 5}, "is no multiple of 5 sequences"),
        ({"grpo.longest_prompt": 3}, "tokens; at most 3 are allowed"),
        ({"reward": [{"name": "beauty"}]}, "there is no reward 'beauty'"),
        ({"reward": [{"name": "own_rewards:nothing"}]}, "the reward cannot be imported: 'own_rewards:nothing'"),
        ({"reward": [{"name": "format", "options": {"deep": True}}]}, "unknown parameter of format 'deep'"),
        ({"model.name": "nowhere"}, "cannot be loaded ("),
        ({"data.train": ["nowhere.jsonl"]}, "nowhere.jsonl"),
        ({"model.training": "lora", "model.lora.targets": ["elbow"]}, "no adapter fits"),
        ({"model.freeze": ["vision", "connector", "language"]}, "nothing is left to learn"),
    ],
)
def test_what_cannot_work_is_said_before_the_first_step(
    training_ground: Path, written: Callable[..., Path], changes: dict[str, object], said: str
) -> None:
    from salon_train.assessor import train_grpo

    file = written("refused", more=GRPO_ALONE.format(steps=1, limits=""))
    run = f"refused-{next(iter(changes)).replace('.', '-')}-{abs(len(said))}"
    with pytest.raises(InputError) as error:
        train_grpo(read_configuration(file, changes={"run.folder": run, **changes}))
    assert said in str(error.value)
    assert not any((training_ground / run / "grpo" / name).exists() for name in ("log.jsonl", "configuration.json"))


def test_rows_that_cannot_be_used_are_told_and_others_than_before_are_refused(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(training_ground))
    rows = (training_ground / "train.jsonl").read_text()
    (training_ground / "some.jsonl").write_text(rows + '{"images": "lost.png", "response": {"Whether Normal": true}}\n')
    limits = "equal_rewards = 1\ninvalid_answers = 0"
    file = written("noted", reward="own_rewards:constant", more=GRPO_ALONE.format(steps=2, limits=limits))
    told = ["--set", 'data.train=["some.jsonl"]']
    ended = CliRunner().invoke(main, ["train", "grpo", str(file), *told])
    assert ended.exit_code == 1
    assert "1 rows cannot be used (picture)" in ended.stderr
    assert "lost.png" in str(
        [row["note"] for row in read_log(training_ground / "noted/grpo/log.jsonl") if row["what"] == "noted"]
    )
    (training_ground / "some.jsonl").write_text(rows.partition("\n")[2])
    other = CliRunner().invoke(main, ["train", "grpo", str(file), *told])
    assert other.exit_code == 2
    assert "this run was begun with other rows (80 of them) or pictures, and now finds 79" in other.stderr
    anew = CliRunner().invoke(main, ["train", "grpo", str(file), *told, "--again"])
    assert anew.exit_code == 1


def test_gates_and_changing_weights_of_the_file_make_one_reward_whose_parts_are_logged(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(training_ground))
    rewards = """[[reward]]
name = "own_rewards:constant"
gate = true
[[reward]]
name = "length"
weight = { start = 0.0, end = 2.0, last = 2 }
options = { longest = 1, buffer = 0 }
"""
    more = rewards + GRPO_ALONE.format(steps=2, limits="invalid_answers = 0\nequal_rewards = 0")
    file = written("composed", reward="own_rewards:varied", more=more)
    plan = CliRunner().invoke(main, ["train", "grpo", str(file), "--dry-run"])
    assert "rewards: varied × 1, constant (gate), length (changing)" in plan.stdout, plan.output
    done = CliRunner().invoke(main, ["train", "grpo", str(file)])
    assert done.exit_code == 0, done.output
    first, second = [row for row in read_log(training_ground / "composed/grpo/log.jsonl") if row["what"] == "learned"]
    for row, weight in ((first, 0.0), (second, 1.0)):
        total = row["composed/varied"] + weight * row["composed/length"]
        assert row["rewards/composed/mean"] == pytest.approx(total, abs=1e-4)
    refused = [
        ("gate = true", "gate = true\nweight = 2.0", "weight does nothing without gate = false"),
        ("last = 2", "first = 3\nlast = 2", "is not TOML"),
        ("start = 0.0, end = 2.0, last = 2", "steps = [[1, 1.0]]", "steps must begin at 0 and rise"),
        ("gate = true", "least = 0.2", "least does nothing without gate = true"),
    ]
    for old, new, said in refused:
        file.write_text(file.read_text().replace(old, new))
        wrong = CliRunner().invoke(main, ["train", "grpo", str(file)])
        assert wrong.exit_code == 2
        assert said in wrong.stderr
        file.write_text(file.read_text().replace(new, old))


def test_an_infinite_reward_ends_the_run_with_a_sentence(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(training_ground))
    file = written("infinite", reward="own_rewards:endless", more=GRPO_ALONE.format(steps=2, limits=""))
    ended = CliRunner().invoke(main, ["train", "grpo", str(file)])
    assert ended.exit_code == 1
    assert "ended at step 0: the reward endless pays inf for a completion" in ended.stderr
    planned = CliRunner().invoke(main, ["train", "grpo", str(file), "--dry-run"])
    assert planned.exit_code == 2
    assert "the reward does not give one finite number or None for each completion: 'endless'" in planned.stderr


def test_a_picture_that_cannot_be_read_ends_the_run_with_a_sentence(
    training_ground: Path, written: Callable[..., Path]
) -> None:
    (training_ground / "half").mkdir()
    row = json.loads((training_ground / "train.jsonl").read_text().partition("\n")[0])
    whole = (training_ground / row["images"]).read_bytes()
    rows = []
    for number in range(80):
        (training_ground / "half" / f"{number}.png").write_bytes(whole[: len(whole) // 2] if number == 5 else whole)
        rows.append(json.dumps({**row, "images": f"half/{number}.png"}) + "\n")
    file = written("half-read", more="[sft]\nepochs = 1\nbatch = 8\n")
    # Of eighty rows every second one is opened before training, of twenty each.
    for count, code, said in ((80, 1, "`salon train data check` says which"), (20, 2, "the picture cannot be read (")):
        (training_ground / "half.jsonl").write_text("".join(rows[:count]))
        ended = CliRunner().invoke(main, ["train", "sft", str(file), "--again", "--set", 'data.train=["half.jsonl"]'])
        assert ended.exit_code == code, ended.output
        assert said in ended.stderr
    assert "row 6, column 'images'" in ended.stderr
    assert "half/5.png" in ended.stderr


@pytest.mark.parametrize("kind", [OSError, RuntimeError])
def test_a_full_disk_ends_the_run_with_a_sentence(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    from salon_train.trl import mixin as learning

    def full(*_: object, **__: object) -> None:
        raise kind("no space left")

    monkeypatch.setattr(learning, "save_sampling", full)
    file = written(f"full-{kind.__name__}", more="[sft]\nsteps = 2\nbatch = 8\n[checkpoints]\nevery = 1\n")
    ended = CliRunner().invoke(main, ["train", "sft", str(file)])
    assert ended.exit_code == 1, ended.output
    assert "checkpoint-1: cannot be written (no space left)" in ended.stderr
    assert "Make room" in ended.stderr


@pytest.mark.parametrize("name", ["configuration.json", "finished.json"])
def test_a_note_of_the_folder_that_was_cut_off_is_named(trained: Path, name: str) -> None:
    note = trained.parent / "whole/sft" / name
    whole = note.read_text()
    note.write_text(whole[: len(whole) // 2])
    try:
        done = CliRunner().invoke(main, ["train", "sft", str(trained)])
    finally:
        note.write_text(whole)
    assert done.exit_code == 2
    assert f"{name}: cannot be read: it is cut off or was changed" in done.stderr


def test_two_processes_do_not_train_in_one_folder(written: Callable[..., Path]) -> None:
    from salon_train.assessor import train_grpo
    from salon_train.run.folder import RunFolder

    configuration = read_configuration(written("taken", more=GRPO_ALONE.format(steps=1, limits="")))
    with RunFolder.of(configuration, "grpo"), pytest.raises(InputError, match="another process is training here"):
        train_grpo(configuration)
