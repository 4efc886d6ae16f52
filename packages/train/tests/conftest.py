"""What tests of training share: a folder with pictures, a tiny model and a configuration, and one torch thread."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from training_files import QUESTION, write_examples

from salon_taxonomy.answers import MagicMirrorAnswer, render_magicmirror

OWN_REWARDS = '''
import hashlib


def varied(completions, **_):
    """A number between 0 and 1 that depends on the text alone."""
    return [int(hashlib.sha256(each[-1]["content"].encode()).hexdigest()[:4], 16) / 65536 for each in completions]


def constant(completions, **_):
    return [1.0] * len(completions)


def endless(completions, **_):
    return [float("inf")] * len(completions)


def silent(completions, **_):
    return [None] * len(completions)


def lost_once(completions, **_):
    """The first completion of each batch is lost; others differ."""
    return [None, *(float(place % 2) for place in range(1, len(completions)))]
'''


@pytest.fixture
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that does not answer is asked again at once."""

    async def at_once(clock: object, seconds: float) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr("salon_judges.clients.pacing.SystemClock.sleep", at_once)


@pytest.fixture(scope="session")
def one_thread() -> Iterator[None]:
    """More threads than free processors make torch spin."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def training_ground(tmp_path_factory: pytest.TempPathFactory, one_thread: None) -> Path:
    """A folder with ``train.jsonl``, ``held.jsonl``, their pictures, a tiny LLaVA in ``tiny`` and ``own_rewards.py``."""
    from salon_train.models import TinyShape, build_tiny_model

    folder = tmp_path_factory.mktemp("training-ground")
    write_examples(folder, "train", 80, seed=0)
    write_examples(folder, "held", 8, seed=1)
    shape = TinyShape(image_size=16, patch_size=8, vision_width=32, vision_layers=2, text_width=32, text_layers=2, heads=2)
    build_tiny_model(folder / "tiny", [QUESTION, render_magicmirror(MagicMirrorAnswer(True))], seed=0, shape=shape)
    (folder / "own_rewards.py").write_text(OWN_REWARDS, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def written(training_ground: Path) -> Callable[..., Path]:
    """Writes a configuration into the training ground: run folder, model, reward, and further TOML."""

    def write(run: str, *, model: str = "tiny", reward: str = "magicmirror", model_more: str = "", more: str = "") -> Path:
        path = training_ground / f"{run}.toml"
        path.write_text(
            f'[run]\nfolder = "{run}"\n[model]\nname = "{model}"\ndevice = "cpu"\n{model_more}\n'
            f'[data]\ntrain = ["train.jsonl"]\nheld_out = ["held.jsonl"]\nquestion = "{QUESTION}"\nreasoning = false\n'
            f'[[reward]]\nname = "{reward}"\n[evaluation]\nlongest = 4\nlimit = 4\n{more}\n',
            encoding="utf-8",
        )
        return path

    return write


REFINER = """
[run]
folder = "{run}"
threads = 1
[model]
name = "policy"
device = "cpu"
[rows]
file = "rows/rows.jsonl"
{rows}
[editor]
name = "draw"
[refine]
steps = 4
group = 4
prompts = 2
micro_batch = 4
most_tokens = 12
most_thought = 4
kl = 0.0
learning_rate = 1e-3
stage_one = 0.5
refusal = "zero"
[checkpoints]
every = 1
keep = 2
[degeneration]
invalid_answers = 0
equal_rewards = 0
{more}
"""


@pytest.fixture(scope="session")
def refiner_ground(tmp_path_factory: pytest.TempPathFactory, one_thread: None) -> Path:
    """A folder with a policy that has half learned the form of replies, rows, and other rows that are held out."""
    from salon_synthetic.scenes.generating import save
    from salon_train.configuration.schema import ModelSection, RunSection, SftSection
    from salon_train.refiner import Lesson, RefinerConfiguration, build_tiny_policy, draw_small_scenes, train_warm_up
    from salon_train.refiner.settings import EditorSection, RowsSection

    folder = tmp_path_factory.mktemp("refiner-ground")
    build_tiny_policy(folder / "untrained", seed=0)
    items = list(draw_small_scenes(8, seed=4))
    save(iter(items), folder / "rows")
    replies = ['{"answer": true}', '{"answer": false, "explanation": "", "edit_prompt": ""}']
    lessons = [Lesson(folder / "rows" / item.picture, item.prompt, replies[place % 2]) for place, item in enumerate(items)]
    warm_up = RefinerConfiguration(
        run=RunSection(folder=str(folder / "warm-up"), threads=1),
        model=ModelSection(name=str(folder / "untrained"), device="cpu"),
        rows=RowsSection(file=str(folder / "rows/rows.jsonl")),
        editor=EditorSection(name="draw"),
        sft=SftSection(steps=25, batch=8, learning_rate=3e-3),
    )
    train_warm_up(warm_up, lessons).model.rename(folder / "policy")
    save(draw_small_scenes(6, seed=9), folder / "held-out")
    return folder


@pytest.fixture(scope="session")
def written_refiner(refiner_ground: Path) -> Callable[..., Path]:
    """Writes a configuration of four steps into the refiner's ground: run folder, further lines of [rows], further TOML."""

    def write(run: str, *, rows: str = "", more: str = "") -> Path:
        path = refiner_ground / f"{run}.toml"
        path.write_text(REFINER.format(run=run, rows=rows, more=more), encoding="utf-8")
        return path

    return write
