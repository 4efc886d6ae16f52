"""Teach a small policy to write words, with a text recogniser as the reward: ``salon train image --demo words``.

    random weights ──► imitate a teacher of whose letters one in eight is wrong ──► start
             start ──┬─► Flow-GRPO with the scorer ``ocr`` as the reward
                     └─► control: the same with shuffled rewards

    FOLDER/study.json                    the settings; a folder contains one study
    FOLDER/seed-N/ARM.json               the numbers of an arm, written when it has ended
    FOLDER/seed-N/ARM-STEP.safetensors   its weights at each measurement, and ARM-STEP.png what they draw
    FOLDER/seed-N/ARM.checkpoint         while it runs

A second call continues from the last checkpoint; calls for different seeds may share a folder.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from statistics import mean
from typing import Any, Final

import torch
from safetensors.torch import load_file, save

from salon_rewards import make_reward
from salon_rewards.adapters import FlowGRPOReward
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole
from salon_train.demo.words import draw_words, prompt_of, word_policy, word_sets
from salon_train.image_policy.arms import claim_folder, run_arm
from salon_train.image_policy.policy import FlowPolicy, draw_with
from salon_train.image_policy.sheet import picture_sheet
from salon_train.image_policy.small import Imitation, ImitationSettings, SmallPolicy
from salon_train.image_policy.training import FlowGRPO, FlowReward, PolicyLearner, RewardSettings, diversity
from salon_train.over_seeds import SeedProgress, Tell
from salon_train.run.own_loop import one_thread
from salon_train.seeds import generator_of

REWARD: Final = "scorer:ocr:similarity,line"
"""1 less the edit distance over the length, of the word and what RapidOCR's recogniser reads in the whole picture."""
_EVALUATION: Final = 2**40
"""The seed of the noise that all measurements of a seed begin with, apart from those of learning."""
_ROWS, _COLUMNS = 6, 8
"""Pictures of a sheet; those of a word are side by side."""


class WordArm(StrEnum):
    """How the policy learns. The value names its files."""

    START = "start"
    """Imitation of the teacher who errs, from random weights; the others begin with its weights."""
    OCR = "ocr"
    """Flow-GRPO with the reward of the text recogniser."""
    SHUFFLED = "shuffled"
    """Control: as ``ocr``, with the rewards of a batch dealt out at random."""


@dataclass(frozen=True, slots=True)
class WordSettings:
    """Sizes of the demonstration.

    Attributes:
        width: of the network.
        start: imitation from random weights; ``wrong`` is the share of letters.
        reward: what both arms of Flow-GRPO share.
        every: steps between two measurements, of the start twenty times as many.
        choice, held_out: words that are never learned from; the step is chosen on the first, and reported are the others.
        pictures: of each of these words, in a measurement.
    """

    width: int = 40
    start: ImitationSettings = field(default_factory=lambda: ImitationSettings(1200, lessons=8000, wrong=1 / 8))
    reward: RewardSettings = field(
        default_factory=lambda: RewardSettings(80, level=0.6, learning_rate=2e-4, kl=0.02, prompts=12)
    )
    every: int = 20
    choice: int = 60
    held_out: int = 120
    pictures: int = 2


@dataclass(frozen=True, slots=True)
class WordPoint:
    """What one measurement found.

    Attributes:
        step: steps of the arm that were done.
        choice: share of pictures of the words for choosing that are read exactly.
        held_out: the same for the words that are held out.
        letters: mean reward of the held-out words.
        diversity: mean difference between two pictures of a held-out word; see
            :func:`~salon_train.image_policy.training.diversity`.
        reward: mean reward while learning since the measurement before; None without any.
    """

    step: int
    choice: float
    held_out: float
    letters: float
    diversity: float
    reward: float | None = None


@dataclass(frozen=True, slots=True)
class WordResult:
    """One arm of one seed.

    Attributes:
        arm: which.
        seed: of words, pictures, weights and draws.
        points: measurements by step; the first at step 0.
        cpu_s: processor seconds of learning and measuring.
    """

    arm: WordArm
    seed: int
    points: Sequence[WordPoint]
    cpu_s: float

    @property
    def chosen(self) -> WordPoint:
        """The measurement with the largest share of words for choosing; of equal ones the first."""
        return max(self.points, key=lambda point: point.choice)


def run_words(
    folder: Path, *, seed: int, settings: WordSettings = WordSettings(), tell: Tell = lambda _: None
) -> list[WordResult]:
    """Run what is missing of one seed.

    Args:
        folder: of the study.
        seed: of everything that is drawn.
        settings: of the study.
        tell: called with a line about what begins, and with the progress of each arm.

    Returns:
        The results of all finished seeds of the folder, in their order.

    Raises:
        InputError: the folder contains another study or a damaged file, or the extra ``ocr`` is not installed.
    """
    reward = FlowGRPOReward(make_reward(REWARD), on_unscored="nan")
    claim_folder(folder, settings)
    with one_thread():
        for arm in WordArm:
            _run(folder / f"seed-{seed}", arm, seed, settings, reward, tell)
    last = list(WordArm)[-1]
    seeds = sorted(int(path.parent.name.removeprefix("seed-")) for path in folder.glob(f"seed-*/{last}.json"))
    return [_read(folder / f"seed-{each}" / f"{arm}.json") for each in seeds for arm in WordArm]


def _run(folder: Path, arm: WordArm, seed: int, settings: WordSettings, reward: FlowReward, tell: Tell) -> None:
    numbers = folder / f"{arm}.json"
    if numbers.exists():
        return
    tell(f"seed {seed}: {arm}")
    learner, steps, every = _learner(folder, arm, seed, settings, reward)

    def measured(done: int, paid: float | None) -> dict[str, Any]:
        point, sheet = _measure(learner.policy, settings, reward, seed=seed, step=done, paid=paid)
        write_whole(folder / f"{arm}-{done}.safetensors", save(learner.policy.state()), parents=True)
        write_whole(folder / f"{arm}-{done}.png", sheet)
        tell(f"seed {seed}: {arm}, step {done} of {steps}: {point.held_out:.0%} of the words held out are read exactly")
        return asdict(point)

    points, cpu_s = run_arm(
        learner,
        folder / arm,
        steps=steps,
        every=every,
        measure=measured,
        progress=lambda done: tell(SeedProgress(seed, arm, done, steps)),
    )
    result = WordResult(arm, seed, [WordPoint(**point) for point in points], cpu_s)
    write_whole(numbers, json.dumps(asdict(result), indent=1) + "\n")
    (folder / f"{arm}.checkpoint").unlink(missing_ok=True)


def _learner(
    folder: Path, arm: WordArm, seed: int, settings: WordSettings, reward: FlowReward
) -> tuple[PolicyLearner, int, int]:
    """Return what learns in an arm, its steps, and how many of them lie between two measurements."""
    policy = word_policy(settings.width, seed=seed)
    words, _, _ = word_sets(seed, choice=settings.choice, held_out=settings.held_out)
    if arm is WordArm.START:
        taught = random.Random(f"lessons {seed}").choices(words, k=settings.start.lessons)  # noqa: S311 - no secret
        lessons = draw_words(taught, seed=seed, wrong=settings.start.wrong), [prompt_of(word) for word in taught]
        return Imitation(policy, lessons, settings.start, seed=seed), settings.start.steps, settings.every * 20
    policy.restore(load_file(folder / f"{WordArm.START}-{settings.start.steps}.safetensors"))
    policy = SmallPolicy(policy.network, policy.shape, policy.codes)  # with these weights as the reference
    paid = replace(settings.reward, shuffled=arm is WordArm.SHUFFLED)
    learner = FlowGRPO(policy, reward, paid, prompts=[prompt_of(word) for word in words], seed=seed)
    return learner, paid.steps, settings.every


def _measure(
    policy: FlowPolicy, settings: WordSettings, reward: FlowReward, *, seed: int, step: int, paid: float | None
) -> tuple[WordPoint, bytes]:
    """Draw words without chance after the first noise, from the same noise at every step of a seed, and read them.

    Returns:
        What was found, and a sheet of the first words that are held out.
    """
    _, *sets = word_sets(seed, choice=settings.choice, held_out=settings.held_out)
    asked = [prompt_of(word) for words in sets for word in words for _ in range(settings.pictures)]
    start = torch.randn((len(asked), *policy.shape), generator=generator_of(_EVALUATION + seed))
    drawn, pictures = draw_with(policy, asked, start, steps=settings.reward.ways)
    scores, _ = reward(pictures, asked, [{}] * len(asked))
    first = settings.choice * settings.pictures
    choice, held_out = scores["avg"][:first], scores["avg"][first:]
    point = WordPoint(
        step,
        choice=mean(score == 1 for score in choice),
        held_out=mean(score == 1 for score in held_out),
        letters=mean(held_out),
        diversity=diversity(drawn[first:], asked[first:]),
        reward=paid,
    )
    count = min(len(held_out) // _COLUMNS, _ROWS) * _COLUMNS
    return point, picture_sheet(pictures[first : first + count], _COLUMNS, magnified=3)


def _read(path: Path) -> WordResult:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        points = [WordPoint(**point) for point in values.pop("points")]
        return WordResult(arm=WordArm(values.pop("arm")), points=points, **values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"cannot be read ({error})", source=path, hint="Remove it to run the arm again.") from error
