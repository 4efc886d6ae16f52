"""Every stage goes through one run shell: rows counted, a second call does nothing, other rows or settings are refused."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

from salon_synthetic import DrawEditor
from salon_taxonomy.errors import InputError
from salon_train.assessor import train_grpo, train_sft
from salon_train.configuration import read_configuration
from salon_train.configuration.schema import SftSection
from salon_train.refiner import Lesson, read_refiner_configuration, train_refiner, train_warm_up
from salon_train.run.events import read_log
from salon_train.run.folder import RunFolder
from salon_train.run.stage import Trained

pytestmark = pytest.mark.usefixtures("one_thread")
STAGES = """
[sft]
steps = 1
batch = 4
[grpo]
steps = 1
batch = 16
generations = 2
longest = 4
[degeneration]
invalid_answers = 0
equal_rewards = 0
"""
Runner = Callable[..., Trained]


@pytest.fixture
def stage(
    request: pytest.FixtureRequest,
    training_ground: Path,
    written: Callable[..., Path],
    refiner_ground: Path,
    written_refiner: Callable[..., Path],
) -> tuple[Path, int, Runner]:
    """The folder of a stage, its rows, and a function that runs it: with ``fewer`` rows, or another ``seed``."""
    name = request.param
    if name in ("sft", "grpo"):
        file = written(f"every-{name}", more=STAGES)
        train = train_sft if name == "sft" else train_grpo

        def assess(fewer: int = 0, seed: int = 0) -> Trained:
            lines = (training_ground / "train.jsonl").read_text().splitlines()[: 40 - fewer]
            (training_ground / "every.jsonl").write_text("\n".join(lines) + "\n")
            changes = {"data.held_out": [], "data.train": ["every.jsonl"], "run.seed": seed, "run.threads": 1}
            return train(read_configuration(file, changes=changes))

        return RunFolder.of(read_configuration(file), name).path, 40, assess
    file = written_refiner(f"every-{name}")

    def refine(fewer: int = 0, seed: int = 0) -> Trained:
        lines = (refiner_ground / "rows/rows.jsonl").read_text().splitlines()[: 8 - fewer]
        (refiner_ground / "rows/every.jsonl").write_text("\n".join(lines) + "\n")
        changes = {"rows.file": "rows/every.jsonl", "run.seed": seed, "refine.steps": 1}
        configuration = read_refiner_configuration(file, changes=changes)
        if name == "refine":
            return train_refiner(configuration)
        pictures = sorted((refiner_ground / "rows").rglob("*.png"))[: 8 - fewer]
        lessons = [Lesson(picture, "A red cross.", '{"answer": true}') for picture in pictures]
        section = SftSection(steps=1, batch=4, learning_rate=1e-3)
        return train_warm_up(configuration.model_copy(update={"sft": section}), lessons)

    return RunFolder.of(read_refiner_configuration(file), "refine" if name == "refine" else "sft").path, 8, refine


@pytest.mark.parametrize("stage", ["sft", "grpo", "warm-up", "refine"], indirect=True)
def test_a_stage_counts_its_rows_ends_once_and_refuses_others(stage: tuple[Path, int, Runner]) -> None:
    folder, rows, train = stage
    first = train()
    assert (first.steps, first.already, first.model) == (1, False, folder / "model")
    assert (folder / "model" / "model.safetensors").is_file()
    told = json.loads((folder / "examples.json").read_text())
    assert (told["examples"], len(told["sha256"])) == (rows, 64)
    kinds = [row["what"] for row in read_log(folder / "log.jsonl") if row["what"] not in ("noted", "watched", "warned")]
    assert kinds == ["started", "learned", "saved", "finished"]
    again = train()
    assert (again.already, again.steps, again.last) == (True, 1, first.last)
    with pytest.raises(InputError, match=r"key 'run.seed': this run was begun with 0"):
        train(seed=1)
    (folder / "finished.json").unlink()  # as if it had been killed after its checkpoint
    with pytest.raises(InputError, match=rf"begun with other rows \({rows} of them\) or pictures, and now finds {rows - 1}"):
        train(fewer=1)


@pytest.mark.parametrize("more", ["", '[[reward]]\nname = "own_rewards:constant"\ngate = true\n'])
def test_grpo_that_was_killed_refuses_a_reward_of_another_version(
    more: str, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, training_ground: Path
) -> None:
    monkeypatch.syspath_prepend(training_ground)
    own_rewards = import_module("own_rewards")
    file = written("versions", reward="own_rewards:varied", more=f"{more}{STAGES}[checkpoints]\nevery = 1\n")
    monkeypatch.setattr(own_rewards.varied, "versions", ("1",), raising=False)
    changes = {"run.threads": 1, "run.folder": f"versions-{len(more)}", "data.held_out": [], "grpo.start": "model"}
    configuration = read_configuration(file, changes=changes)
    train_grpo(configuration)
    (RunFolder.of(configuration, "grpo").path / "finished.json").unlink()  # as if it had been killed after its checkpoint
    monkeypatch.setattr(own_rewards.varied, "versions", ("2",))
    with pytest.raises(InputError, match=r"key 'reward'.*another formula of its reward"):
        train_grpo(configuration)
    monkeypatch.setattr(own_rewards.varied, "versions", ("1",))
    assert train_grpo(configuration).resumed_from == 1


@pytest.mark.parametrize("stage", ["refine"], indirect=True)
def test_a_refiner_that_was_killed_refuses_another_editor_under_the_same_name(
    stage: tuple[Path, int, Runner], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _, train = stage
    train()
    (folder / "finished.json").unlink()  # as if it had been killed after its checkpoint
    with monkeypatch.context() as changed, pytest.raises(InputError, match=r"key 'reward'.*another formula of its reward"):
        changed.setattr(DrawEditor, "version", "another")
        train()
    assert train().resumed_from == 1


@contextmanager
def changed(files: Iterable[Path]) -> Iterator[None]:
    """Give files another last byte for a while, so that they keep their sizes."""
    before = {file: file.read_bytes() for file in files}
    assert before
    for file, content in before.items():
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    yield
    for file, content in before.items():
        file.write_bytes(content)


@pytest.mark.parametrize("stage", ["sft", "grpo", "warm-up", "refine"], indirect=True)
def test_a_stage_that_was_killed_refuses_other_weights_and_other_pictures_of_equal_size(
    stage: tuple[Path, int, Runner],
) -> None:
    folder, rows, train = stage
    train()
    (folder / "finished.json").unlink()  # as if it had been killed after its checkpoint
    base = Path(json.loads((folder / "configuration.json").read_text())["model.name"])
    with changed([base / "model.safetensors"]), pytest.raises(InputError, match=r"key 'model'.*begun with other weights"):
        train()
    pictures = folder.parent.parent.rglob("*.png")
    with changed(pictures), pytest.raises(InputError, match=rf"begun with other rows \({rows} of them\) or pictures"):
        train()
    assert train().resumed_from == 1
