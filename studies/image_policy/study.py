"""Run the image policy's experiment: one start by imitation for each seed, and every way of learning from there.

for each seed:  random weights ──► imitating a teacher who errs = start
                start ──┬─► Flow-GRPO, by the SDE or coefficients-preserving; without KL; with shuffled rewards
                        ├─► more of the same imitation
                        ├─► Diffusion-DPO on votes about pairs of the start's pictures; with exchanged pairs
                        └─► imitating the best picture of each group

    FOLDER/study.json               the settings; a folder contains one study
    FOLDER/seed-N/ARM.json          the numbers of an arm, written when it has ended
    FOLDER/seed-N/ARM.safetensors   its weights, and ARM.png what they draw
    FOLDER/seed-N/ARM.checkpoint    while it runs

A second call continues from the last checkpoint. Everything runs on one thread, so results do not depend on their number;
calls for different seeds may share a folder at the same time.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from salon_rewards import make_reward
from salon_rewards.adapters import FlowGRPOReward
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole
from salon_train.demo.shapes import HELD_OUT, LEARNED, SIDE, DrawnPolicy, Obedience, TinyUNet, teach
from salon_train.image_policy.arms import claim_folder, run_arm
from salon_train.image_policy.policy import FlowPolicy, draw_with
from salon_train.image_policy.preferences import DiffusionDPO, PreferenceSettings
from salon_train.image_policy.small import Imitation, ImitationSettings
from salon_train.image_policy.training import FlowGRPO, FlowReward, PolicyLearner, RewardSettings, diversity
from salon_train.over_seeds import SeedProgress, Tell
from salon_train.run.own_loop import one_thread
from salon_train.seeds import generator_of, torch_seed
from studies.image_policy.learners import BestOfGroup
from studies.image_policy.votes import VoteSettings, voted_pairs

REWARD: Final = f"scorer:{Obedience.__module__}:{Obedience.__name__}"
"""The name by which the reward is loaded, as a user names a scorer of their own."""
_EVALUATION: Final = 2**40
"""The seed of the noise that all measurements of a seed begin with, apart from those of learning."""
_SHEET_ROWS: Final = 4
_MAGNIFIED: Final = 2


class PolicyArm(StrEnum):
    """How the policy learns after the start. The value names its files."""

    START = "start"
    """Imitation of the teacher who errs, from random weights; all others begin with its weights."""
    CPS = "cps"
    """Flow-GRPO with coefficients-preserving sampling."""
    SDE = "sde"
    """Flow-GRPO with its own stochastic differential equation."""
    CPS_WITHOUT_KL = "cps-without-kl"
    """As ``cps``, and distance from the start costs nothing."""
    SHUFFLED = "shuffled"
    """Control: as ``cps``, with the rewards of a batch dealt out at random."""
    IMITATION = "imitation"
    """Control: more imitation of the same teacher, for as many passes through the network."""
    BEST = "best-of-group"
    """Rival: rejection sampling. Imitate the best pictures of all groups so far, with as many pictures and passes."""
    DPO = "dpo"
    """Diffusion-DPO: votes about pairs of the start's pictures, and no reward."""
    DPO_SHUFFLED = "dpo-shuffled"
    """Control: as ``dpo``, with the pictures of half of the pairs exchanged at random."""


@dataclass(frozen=True, slots=True)
class ImageStudySettings:
    """Sizes of the study. The defaults take about three minutes of one processor for the start, and as long for each arm.

    Attributes:
        width: of the network; see :class:`~salon_train.demo.shapes.TinyUNet`.
        start: imitation from random weights.
        reward: what the arms that learn from the reward share.
        longer: imitation of the control: 10 updates with 64 pictures cost as much as a step of Flow-GRPO.
        votes: about pairs of the start's pictures.
        preferences: what the arms that learn from the votes share.
        every: steps between two measurements, and three times those between two checkpoints.
        per_prompt: pictures of each prompt in a measurement.
    """

    width: int = 32
    start: ImitationSettings = field(default_factory=ImitationSettings)
    reward: RewardSettings = field(default_factory=RewardSettings)
    longer: ImitationSettings = field(default_factory=lambda: ImitationSettings(120, updates=10, learning_rate=1e-3))
    votes: VoteSettings = field(default_factory=VoteSettings)
    preferences: PreferenceSettings = field(default_factory=PreferenceSettings)
    every: int = 30
    per_prompt: int = 32


QUICK: Final = ImageStudySettings(
    width=8,
    start=ImitationSettings(steps=10, batch=16, lessons=40),
    reward=RewardSettings(steps=4, group=2, ways=4, window=2),
    longer=ImitationSettings(steps=4, batch=16),
    votes=VoteSettings(count=24),
    preferences=PreferenceSettings(steps=4, pairs=4),
    every=2,
    per_prompt=2,
)
"""Seconds; too small to learn."""


@dataclass(frozen=True, slots=True)
class PolicyPoint:
    """What one measurement found.

    Attributes:
        step: steps of the arm that were done.
        learned: share of pictures that show shape and colour of their prompt and nothing else, prompts with a reward.
        held_out: the same for the prompts that no reward was paid for.
        diversity: mean difference between two pictures of a prompt, prompts with a reward; see
            :func:`~salon_train.image_policy.training.diversity`.
        held_out_diversity: the same for the others.
        reward: mean reward while learning since the measurement before; None without any.
    """

    step: int
    learned: float
    held_out: float
    diversity: float
    held_out_diversity: float
    reward: float | None = None


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """One arm of one seed.

    Attributes:
        arm: which.
        seed: of pictures, weights and draws.
        points: measurements by step; the first at step 0.
        cpu_s: processor seconds of learning and measuring.
    """

    arm: PolicyArm
    seed: int
    points: Sequence[PolicyPoint]
    cpu_s: float


def run_image_study(
    folder: Path,
    *,
    seeds: Sequence[int] = (0,),
    arms: Sequence[PolicyArm] = tuple(PolicyArm),
    settings: ImageStudySettings = ImageStudySettings(),
    tell: Tell = lambda _: None,
    on_start: Callable[[int, int], None] = lambda done, total: None,
) -> list[PolicyResult]:
    """Run what is missing in a folder, and return all that was asked for.

    Args:
        folder: of the study.
        seeds: each is a run from random weights to the end.
        arms: which; the start is always run.
        settings: of the study.
        tell: called with a line about what begins, and with the progress of each arm.
        on_start: called with how many arms are finished, and how many are wanted, over all seeds.

    Raises:
        InputError: the folder contains another study, a damaged file, or cannot be written.
    """
    claim_folder(folder, settings)
    wanted = [(folder / f"seed-{seed}", arm, seed) for seed in seeds for arm in PolicyArm if arm in (PolicyArm.START, *arms)]
    on_start(sum((own / f"{arm}.json").exists() for own, arm, _ in wanted), len(wanted))
    with one_thread():
        return [_run(own, arm, seed, settings, tell) for own, arm, seed in wanted]


def _run(folder: Path, arm: PolicyArm, seed: int, settings: ImageStudySettings, tell: Tell) -> PolicyResult:
    """Run one arm to its end, or return what an earlier call has found."""
    numbers = folder / f"{arm}.json"
    if numbers.exists():
        return _read_result(numbers)
    tell(f"seed {seed}: {arm}")
    learner, steps, every = _learner(folder, arm, seed, settings)
    measured, cpu_s = run_arm(
        learner,
        folder / arm,
        steps=steps,
        every=every,
        measure=lambda done, reward: asdict(measure(learner.policy, settings, seed=seed, step=done, reward=reward)),
        progress=lambda done: tell(SeedProgress(seed, arm, done, steps)),
    )
    result = PolicyResult(arm, seed, [PolicyPoint(**point) for point in measured], cpu_s)
    write_whole(folder / f"{arm}.safetensors", save(learner.policy.state()), parents=True)
    write_whole(folder / f"{arm}.png", sheet(learner.policy, settings, seed=seed))
    write_whole(numbers, json.dumps(asdict(result), indent=1) + "\n")
    (folder / f"{arm}.checkpoint").unlink(missing_ok=True)
    return result


def _learner(folder: Path, arm: PolicyArm, seed: int, settings: ImageStudySettings) -> tuple[PolicyLearner, int, int]:
    """Return what learns in an arm, its steps, and how many of them lie between two measurements."""
    if arm is PolicyArm.START:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(torch_seed(seed))
            network = TinyUNet(settings.width)
    else:
        network = TinyUNet(settings.width)
        network.load_state_dict(load_file(folder / f"{PolicyArm.START}.safetensors"))
    if arm in (PolicyArm.START, PolicyArm.IMITATION):
        imitation = settings.start if arm is PolicyArm.START else settings.longer
        lessons = teach(settings.start.lessons, seed=seed, wrong=settings.start.wrong)
        every = settings.every * (10 if arm is PolicyArm.START else 1)
        return Imitation(DrawnPolicy(network), lessons, imitation, seed=seed), imitation.steps, every
    if arm in (PolicyArm.DPO, PolicyArm.DPO_SHUFFLED):
        policy = DrawnPolicy(network)
        pairs = voted_pairs(policy, adapted_reward(), settings.votes, steps=settings.reward.ways, seed=seed)
        preferences = replace(settings.preferences, shuffled=arm is PolicyArm.DPO_SHUFFLED)
        return DiffusionDPO(policy, pairs, preferences, seed=seed), preferences.steps, settings.every
    rewarded = replace(settings.reward, **_CHANGES[arm])
    kind = BestOfGroup if arm is PolicyArm.BEST else FlowGRPO
    learner = kind(DrawnPolicy(network), adapted_reward(), rewarded, prompts=LEARNED, seed=seed)
    return learner, rewarded.steps, settings.every


_CHANGES: Final[dict[PolicyArm, dict[str, Any]]] = {
    PolicyArm.CPS: {},
    PolicyArm.SDE: {"noise": "sde"},
    PolicyArm.CPS_WITHOUT_KL: {"kl": 0.0},
    PolicyArm.SHUFFLED: {"shuffled": True},
    PolicyArm.BEST: {},
}


def adapted_reward() -> FlowReward:
    """Return the reward in Flow-GRPO's signature, by the path that any scorer takes: by name, through the adapter."""
    return FlowGRPOReward(make_reward(REWARD), on_unscored="nan")


def measure(
    policy: FlowPolicy, settings: ImageStudySettings, *, seed: int, step: int, reward: float | None = None
) -> PolicyPoint:
    """Measure obedience and diversity on pictures of the ODE, from the same noise at every step of a seed."""
    measured = {}
    for name, prompts in (("learned", LEARNED), ("held_out", HELD_OUT)):
        asked = [prompt for prompt in prompts for _ in range(settings.per_prompt)]
        drawn, pictures = _drawn(policy, asked, settings, seed)
        scores, _ = adapted_reward()(pictures, asked, [{}] * len(asked))
        measured[name] = sum(score == 1 for score in scores["avg"]) / len(asked), diversity(drawn, asked)
    (learned, spread), (held_out, held_out_spread) = measured["learned"], measured["held_out"]
    return PolicyPoint(step, learned, held_out, spread, held_out_spread, reward)


def _drawn(policy: FlowPolicy, prompts: Sequence[str], settings: ImageStudySettings, seed: int) -> tuple[Tensor, Tensor]:
    start = torch.randn((len(prompts), *policy.shape), generator=generator_of(_EVALUATION + seed))
    return draw_with(policy, prompts, start, steps=settings.reward.ways)


def sheet(policy: FlowPolicy, settings: ImageStudySettings, *, seed: int) -> bytes:
    """Return a PNG with four pictures of each prompt; those held out are on the right, after a gap."""
    from PIL import Image

    prompts = [*LEARNED, *HELD_OUT]
    pictures = _drawn(policy, prompts * _SHEET_ROWS, settings, seed)[1].mul(255).round().to(torch.uint8)
    cell = SIDE * _MAGNIFIED + 2
    whole = Image.new("RGB", ((len(prompts) + 1) * cell, _SHEET_ROWS * cell), "gray")
    for number, picture in enumerate(pictures):
        row, column = divmod(number, len(prompts))
        image = Image.fromarray(picture.permute(1, 2, 0).contiguous().numpy())
        image = image.resize((cell - 2, cell - 2), Image.Resampling.NEAREST)
        whole.paste(image, ((column + (column >= len(LEARNED))) * cell + 1, row * cell + 1))
    stream = BytesIO()
    whole.save(stream, "PNG")
    return stream.getvalue()


def _read_result(path: Path) -> PolicyResult:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        points = [PolicyPoint(**point) for point in values.pop("points")]
        return PolicyResult(arm=PolicyArm(values.pop("arm")), points=points, **values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"cannot be read ({error})", source=path, hint="Remove it to run the arm again.") from error
