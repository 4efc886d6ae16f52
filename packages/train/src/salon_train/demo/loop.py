"""Close the loop in the drawn world, where the truth is known: ``salon train loop``.

    base  ──► pictures ──► votes of simulated raters ──► pairs of chosen and rejected ──► reward model
    base  ──┬─► Diffusion-DPO on the pairs; control: with exchanged pairs
            ├─► Flow-GRPO on the reward model
            └─► Flow-GRPO on the truth
    all arms ──► votes of fresh raters ──► ratings, beside the truth

    FOLDER/study.json          the settings; a folder contains one study
    FOLDER/seed-N/votes/       the pictures that were voted about, and pairs.csv
    FOLDER/seed-N/clip/        the reward model's backbone, which learned the captions of the base's lessons
    FOLDER/seed-N/reward-model/  its run
    FOLDER/seed-N/ARM.json     the measurements of an arm, written when it has ended; ARM.safetensors: its weights
    FOLDER/seed-N/round.json   the last votes, the truth, and how well the reward model tells the raters' choices

A second call makes only what is missing. Raters vote for the first of two pictures with chance
σ(sharpness · difference of truth + bias · difference of ink): what a rater sees beside the truth is how much ink a picture has.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save
from torch import Tensor

from salon_ranking import Battles, preference_pairs, rank
from salon_ranking.options import Seed, checked
from salon_ranking.uncertainty.means import ratio_with_interval
from salon_rewards import make_reward
from salon_rewards.adapters import FlowGRPOReward
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole
from salon_train.configuration.reward_model import configured
from salon_train.data.preferences import read_preferences
from salon_train.demo.captions import CaptionSettings, learn_captions
from salon_train.demo.raters import RaterSettings, ink
from salon_train.demo.shapes import HELD_OUT, LEARNED, PROMPTS, SIDE, DrawnPolicy, Obedience, TinyUNet, teach
from salon_train.image_policy.arms import claim_folder, run_arm
from salon_train.image_policy.picture_pairs import PicturePairs
from salon_train.image_policy.policy import FlowPolicy, draw_with
from salon_train.image_policy.preferences import DiffusionDPO, PreferenceSettings
from salon_train.image_policy.sheet import picture_sheet
from salon_train.image_policy.small import Imitation, ImitationSettings
from salon_train.image_policy.training import (
    Drawn,
    FlowGRPO,
    FlowReward,
    PolicyLearner,
    RewardSettings,
    diversity,
)
from salon_train.models.tiny import build_tiny_clip
from salon_train.over_seeds import SeedProgress, Tell
from salon_train.reward_model.stage import train_reward_model
from salon_train.run.folder import FINISHED
from salon_train.run.own_loop import one_thread
from salon_train.seeds import generator_of, torch_seed

TRUTH: Final = f"scorer:{Obedience.__module__}:{Obedience.__name__}"
_VOTES, _CHECK, _MEASURE, _ROUND = (2**30 + number * 2**28 for number in range(4))
"""Seeds of pictures and votes: to learn from, to measure the reward model with, of measurements by step, of the last round."""
_AT_ONCE: Final = 250


class LoopArm(StrEnum):
    """How the policy learns. The value names its files."""

    BASE = "base"
    """Imitation of a teacher who errs, from random weights; the others begin with its weights."""
    DPO = "dpo"
    """Diffusion-DPO on the votes."""
    DPO_SHUFFLED = "dpo-shuffled"
    """Control: as ``dpo``, with the pictures of half of the pairs exchanged at random."""
    GRPO = "grpo"
    """Flow-GRPO on the reward model that learned from the votes."""
    GRPO_TRUTH = "grpo-truth"
    """Flow-GRPO on the truth, which no one has outside a drawn world."""


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Sizes of the experiment.

    Attributes:
        width: of the policy's network.
        start: imitation from random weights.
        raters: who vote.
        votes: to learn from, each about a pair of its own.
        captions: how the reward model's backbone learns, before the votes, from the pictures that the base imitates.
        epochs: passes of the reward model over the pairs.
        learning_rate: of the reward model.
        preferences: what both arms of Diffusion-DPO share.
        reward: what both arms of Flow-GRPO share.
        every: steps between two measurements.
        per_prompt: pictures of each prompt in a measurement and, of each arm, in the last round.
        check: votes that the reward model is measured with, on prompts with votes and as many on prompts without.
    """

    width: int = 32
    start: ImitationSettings = field(default_factory=ImitationSettings)
    raters: RaterSettings = field(default_factory=RaterSettings)
    votes: int = 5000
    captions: CaptionSettings = field(default_factory=CaptionSettings)
    epochs: int = 3
    learning_rate: float = 1e-4
    preferences: PreferenceSettings = field(default_factory=PreferenceSettings)
    reward: RewardSettings = field(default_factory=RewardSettings)
    every: int = 20
    per_prompt: int = 16
    check: int = 1200


QUICK: Final = LoopSettings(
    start=ImitationSettings(steps=1000),
    votes=1000,
    preferences=PreferenceSettings(steps=80),
    reward=RewardSettings(steps=60),
)
"""Minutes of one processor."""


@checked
def run_loop(
    folder: Path, *, seed: Seed, settings: LoopSettings = LoopSettings(), tell: Tell = lambda _: None
) -> dict[str, Any]:
    """Run what is missing of one seed.

    Args:
        folder: of the study.
        seed: of everything that is drawn.
        settings: of the study.
        tell: called with a line about what begins, and with the progress of each arm.

    Returns:
        ``arms`` (of each arm: ``arm``, mean ``truth`` with ``learned`` and ``held_out`` prompts apart, ``gain`` over the base,
        each as estimate, low and high, and the last votes' ``rating``, ``ci_low``, ``ci_high``, ``win_rate``), ``accuracy`` (of
        the reward model, of the truth and of the mean rater: the share of fresh votes for the picture with the higher score,
        with intervals) and ``points`` (measurements by step). Intervals are 95% over prompts, by Student's t.

    Raises:
        InputError: the folder contains another study or a damaged file, or the seed is none of :func:`salon_ranking.rank`'s.
    """
    claim_folder(folder, settings)
    own = folder / f"seed-{seed}"
    with one_thread():
        _run(own, LoopArm.BASE, seed, settings, tell)
        _collect(own, seed, settings, tell)
        _learn_reward(own, seed, settings, tell)
        for arm in list(LoopArm)[1:]:
            _run(own, arm, seed, settings, tell)
        numbers = own / "round.json"
        if not numbers.exists():
            tell(f"seed {seed}: last round of votes")
            measured = {"arms": _last_round(own, seed, settings), "accuracy": _accuracy(own, seed, settings)}
            write_whole(numbers, json.dumps(measured, indent=1) + "\n")
    points = [{"arm": arm.value, **point} for arm in list(LoopArm)[1:] for point in _read(own / f"{arm}.json")]
    return {**_read(numbers), "points": points}


def adapted(name: str) -> FlowReward:
    """Return a reward in Flow-GRPO's signature, by its name."""
    return FlowGRPOReward(make_reward(name), on_unscored="nan")


def _scores(reward: FlowReward, pictures: Tensor, prompts: Sequence[str]) -> Tensor:
    return torch.tensor(list(reward(pictures, prompts, [{}] * len(prompts))[0]["avg"]))


def _run(folder: Path, arm: LoopArm, seed: int, settings: LoopSettings, tell: Tell) -> None:
    """Run one arm to its end, if it has not ended."""
    numbers = folder / f"{arm}.json"
    if numbers.exists():
        return
    tell(f"seed {seed}: {arm}")
    learner, steps = learner_of(folder, arm, seed, settings)
    truth, proxy = adapted(TRUTH), None if arm is LoopArm.BASE else adapted(_model(folder))

    def measured(done: int, paid: float | None) -> Mapping[str, Any]:
        if proxy is None:
            return {"step": done}
        asked = [prompt for prompt in PROMPTS for _ in range(settings.per_prompt)]
        pictures = _drawn(learner.policy, asked, settings, seed=_MEASURE + seed)
        learned = torch.tensor([prompt in LEARNED for prompt in asked])
        obeyed, preferred = (_scores(reward, pictures, asked) for reward in (truth, proxy))
        return {
            "step": done,
            "learned": float(obeyed[learned].mean()),
            "held_out": float(obeyed[~learned].mean()),
            "proxy": float(preferred[learned].mean()),
            "ink": float(ink(pictures).mean()),
            "diversity": diversity(pictures * 2 - 1, asked),
        }

    points, _ = run_arm(
        learner,
        folder / arm,
        steps=steps,
        every=steps if proxy is None else settings.every,
        measure=measured,
        progress=lambda done: tell(SeedProgress(seed, arm, done, steps)),
    )
    sheet = _drawn(learner.policy, [*PROMPTS] * 4, settings, seed=_MEASURE + seed)
    write_whole(folder / f"{arm}.png", picture_sheet(sheet, len(PROMPTS), magnified=2), parents=True)
    write_whole(folder / f"{arm}.safetensors", save(learner.policy.state()))
    write_whole(numbers, json.dumps(points, indent=1) + "\n")
    (folder / f"{arm}.checkpoint").unlink(missing_ok=True)


def learner_of(
    folder: Path, arm: LoopArm, seed: int, settings: LoopSettings, *, drawn: Drawn = lambda *_: None
) -> tuple[PolicyLearner, int]:
    """Return what learns in an arm, and its steps.

    Args:
        folder: of the seed, with what the arms before have left.
        arm: which.
        seed: of everything that is drawn.
        settings: of the study.
        drawn: of Flow-GRPO: called in each step with its pictures, their prompts and rewards, and the step's number.
    """
    if arm is LoopArm.BASE:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(torch_seed(seed))
            policy = DrawnPolicy(TinyUNet(settings.width))
        lessons = teach(settings.start.lessons, seed=seed, wrong=settings.start.wrong)
        return Imitation(policy, lessons, settings.start, seed=seed), settings.start.steps
    policy = _policy(folder, LoopArm.BASE, settings)
    if arm in (LoopArm.DPO, LoopArm.DPO_SHUFFLED):
        pairs = PicturePairs(read_preferences(folder / "votes" / "pairs.csv"), policy, (SIDE, SIDE))
        preferences = replace(settings.preferences, shuffled=arm is LoopArm.DPO_SHUFFLED)
        return DiffusionDPO(policy, pairs, preferences, seed=seed), preferences.steps
    reward = adapted(TRUTH if arm is LoopArm.GRPO_TRUTH else _model(folder))
    return FlowGRPO(policy, reward, settings.reward, prompts=LEARNED, seed=seed, drawn=drawn), settings.reward.steps


def _policy(folder: Path, arm: LoopArm, settings: LoopSettings) -> DrawnPolicy:
    network = TinyUNet(settings.width)
    network.load_state_dict(load_file(folder / f"{arm}.safetensors"))
    return DrawnPolicy(network)


def _model(folder: Path) -> str:
    return f"scorer:reward-model:{folder / 'reward-model' / 'model'}"


def _drawn(policy: FlowPolicy, prompts: Sequence[str], settings: LoopSettings, *, seed: int) -> Tensor:
    """Draw pictures by the ODE, values from 0 to 1 in steps of 1/255 as in a file."""
    start = torch.randn((len(prompts), *policy.shape), generator=generator_of(seed))
    pictures = draw_with(policy, prompts, start, steps=settings.reward.ways, at_once=_AT_ONCE)[1]
    return pictures.mul(255).round() / 255


def _voted(folder: Path, prompts: Sequence[str], settings: LoopSettings, *, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw two of the base's pictures for each prompt, and vote.

    Returns:
        The first pictures, the second ones, the truth of both (pairs, 2), and whether the vote is for the first.
    """
    policy = _policy(folder, LoopArm.BASE, settings)
    first, second = _drawn(policy, [*prompts, *prompts], settings, seed=seed).chunk(2)
    truth = torch.stack([_scores(adapted(TRUTH), each, prompts) for each in (first, second)], 1)
    generator = generator_of(seed + 1)
    return first, second, truth, settings.raters.vote(first, second, truth[:, 0] - truth[:, 1], generator)


def _turns(prompts: Sequence[str], count: int) -> list[str]:
    return [prompts[number % len(prompts)] for number in range(count)]


def _collect(folder: Path, seed: int, settings: LoopSettings, tell: Tell) -> None:
    """Write the pictures that were voted about, and the pairs."""
    file = folder / "votes" / "pairs.csv"
    if file.exists():
        return
    tell(f"seed {seed}: {settings.votes} votes")
    prompts = _turns(LEARNED, settings.votes)
    first, second, _, wins = _voted(folder, prompts, settings, seed=_VOTES + 2 * seed)
    names = [[f"{number:06d}{side}.png" for number in range(len(prompts))] for side in "ab"]
    file.parent.mkdir(parents=True, exist_ok=True)
    for side, pictures in zip(names, (first, second), strict=True):
        for name, picture in zip(side, pictures.mul(255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy(), strict=True):
            Image.fromarray(picture).save(file.parent / name)
    battles = Battles.from_frame(
        {
            "prompt": prompts,
            "model_a": ["first"] * len(prompts),
            "model_b": ["second"] * len(prompts),
            "generation_a": names[0],
            "generation_b": names[1],
            "winner": ["model_a" if won else "model_b" for won in wins.tolist()],
        }
    )
    write_whole(file, preference_pairs(battles).table.write_csv())


def _learn_reward(folder: Path, seed: int, settings: LoopSettings, tell: Tell) -> None:
    """Train the reward model on the pairs; a broken-off run continues by itself."""
    if (folder / "reward-model" / FINISHED).exists():
        return
    backbone, taught = folder / "clip", folder / "clip" / "taught.json"
    if not taught.exists():
        tell(f"seed {seed}: backbone of the reward model")
        build_tiny_clip(backbone, PROMPTS, seed=seed, image_size=SIDE)
        pictures, captions = teach(settings.start.lessons, seed=seed, wrong=settings.start.wrong)
        loss = learn_captions(backbone, pictures / 2 + 0.5, captions, settings.captions, seed=seed)
        write_whole(taught, json.dumps({"loss": loss}) + "\n")
    tell(f"seed {seed}: reward model")
    values = {
        "run": {"folder": str(folder), "seed": seed},
        "backbone": {"name": str(backbone)},
        "preferences": {"file": str(folder / "votes" / "pairs.csv")},
        "learning": {"epochs": settings.epochs, "batch": 32, "learning_rate": settings.learning_rate},
    }
    train_reward_model(configured(values))


def _accuracy(folder: Path, seed: int, settings: LoopSettings) -> list[dict[str, Any]]:
    """Return how often fresh votes are for the picture with the higher score; equal scores count one half."""
    rows = []
    for number, (name, among) in enumerate((("learned", LEARNED), ("held_out", HELD_OUT))):
        prompts = _turns(among, settings.check)
        first, second, truth, wins = _voted(folder, prompts, settings, seed=_CHECK + 4 * seed + 2 * number)
        model, raters = adapted(_model(folder)), settings.raters
        gaps = {
            "reward model": _scores(model, first, prompts) - _scores(model, second, prompts),
            "truth": truth[:, 0] - truth[:, 1],
            "mean rater": raters.utility(first, truth[:, 0]) - raters.utility(second, truth[:, 1]),
        }
        for scorer, gap in gaps.items():
            right = (gap.sign() * (wins.float() * 2 - 1) + 1) / 2
            rows.append({"scorer": scorer, "prompts": name, "accuracy": _over_prompts(right, prompts)})
    return rows


def _last_round(folder: Path, seed: int, settings: LoopSettings) -> list[dict[str, Any]]:
    """Let fresh raters vote on all pairs of arms, whose pictures begin with the same new noise."""
    asked = [prompt for prompt in PROMPTS for _ in range(settings.per_prompt)]
    drawn = {arm: _drawn(_policy(folder, arm, settings), asked, settings, seed=_ROUND + 2 * seed) for arm in LoopArm}
    truth = {arm: _scores(adapted(TRUTH), pictures, asked) for arm, pictures in drawn.items()}
    pairs, wins, generator = list(combinations(LoopArm, 2)), [], generator_of(_ROUND + 2 * seed + 1)
    for a, b in pairs:  # each with raters of its own
        wins += settings.raters.vote(drawn[a], drawn[b], truth[a] - truth[b], generator).tolist()
    columns = {
        "model_a": [a.value for a, _ in pairs for _ in asked],
        "model_b": [b.value for _, b in pairs for _ in asked],
        "winner": ["model_a" if won else "model_b" for won in wins],
        "prompt_id": asked * len(pairs),
    }
    board = rank(Battles.from_frame(columns, cluster_by="prompt_id"), baseline=LoopArm.BASE.value, seed=seed)
    rated = {row["model"]: row for row in board.table.iter_rows(named=True)}
    learned = torch.tensor([prompt in LEARNED for prompt in asked])
    names = np.array(asked)
    return [
        {
            "arm": arm.value,
            "truth": _over_prompts(truth[arm], asked),
            "learned": _over_prompts(truth[arm][learned], names[learned.numpy()]),
            "held_out": _over_prompts(truth[arm][~learned], names[~learned.numpy()]),
            "gain": _over_prompts(truth[arm] - truth[LoopArm.BASE], asked, differences=True),
            **{name: rated[arm.value][name] for name in ("rating", "ci_low", "ci_high", "win_rate")},
        }
        for arm in LoopArm
    ]


def _over_prompts(values: Tensor, prompts: Sequence[str], *, differences: bool = False) -> list[float | None]:
    """Return the mean with its 95% interval by Student's t over prompts; None where there is no interval."""
    of = np.unique(prompts, return_inverse=True)[1]
    sums = np.column_stack([np.bincount(of, values.double().numpy()), np.bincount(of).astype(np.float64)])
    estimate, (low, high) = ratio_with_interval(sums, within=(-1.0 if differences else 0.0, 1.0))
    return [estimate, low, high]


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", source=path, hint="Remove it to run its part again.") from error
