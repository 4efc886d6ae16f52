"""Count how often the monitors of pictures warn without cause, and how often they find what is planted.

Run it by ``python -m studies.image_policy.monitors FOLDER``; FOLDER is one of ``python -m studies.image_policy FOLDER --arm
cps``: policies before and after they learned honestly. A replay is a run of 60 steps that draws 6 of 12 prompts with 8 pictures
each, and measures every 5 steps on 4 prompts held out with 2 pictures each. Its pictures are taken at random, with replacement,
from 160 of each prompt that the start of a seed drew by its ODE (``still``); in half of the clean replays from step 10 on, with
a chance that rises to 1 at the end, from those that the learned policy drew of the same noise (``learning``). Rewards are the
pictures' own. A planted case changes the pictures of a still replay from step 20 on, by a strength that rises to 1 at step 40.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

import click
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from salon_ranking.uncertainty.proportions import highest_share
from salon_rewards.monitors import Alarm, AnswerForm, StepBatch
from salon_taxonomy.errors import InputError
from salon_train.demo.shapes import HELD_OUT, LEARNED, SIDE, DrawnPolicy, TinyUNet
from salon_train.image_policy.picture_measures import Pictures, contrast, drift, grids, saturation, sharpness
from salon_train.image_policy.picture_monitors import PictureBatch, PictureBoard
from salon_train.image_policy.policy import draw_with
from salon_train.image_policy.training import FlowGRPO, FlowReward, RewardSettings
from salon_train.run.own_loop import one_thread
from salon_train.seeds import generator_of
from studies.image_policy.study import adapted_reward

STEPS: Final = 60
PROMPTS: Final = 6
GROUP: Final = 8
EVERY: Final = 5
_POOL: Final = 160
_SAMPLING_STEPS: Final = 8
_NOISE: Final = 2**41
LETTERS: Final = np.array([[1, 1, 1, 0, 1, 0, 1], [0, 1, 0, 0, 1, 1, 1], [0, 1, 0, 0, 1, 0, 1]], bool)
_MARK: Final = np.pad(LETTERS, ((12, 1), (8, 1)))
"""Two letters in the corner of a picture."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Pictures of one seed, by prompt: of the start, of the learned policy from the same noise, and what each earns."""

    start: dict[str, Pictures]
    learned: dict[str, Pictures]
    paid: dict[str, NDArray[np.float64]]
    paid_learned: dict[str, NDArray[np.float64]]


Change = Callable[[Pictures, float, np.random.Generator, Pictures], Pictures]
"""Makes other pictures of those of a prompt: by strength, chance, and a picture of that prompt that may stand for all."""


def _same(drawn: Pictures, strength: float, chance: np.random.Generator, favourite: Pictures) -> Pictures:
    return drawn


@dataclass(frozen=True, slots=True)
class Planted:
    """A case of gaming: what it does to pictures, to rewards and to the held-out number, by strength from 0 to 1."""

    monitor: str
    change: Callable[[Pictures, float, np.random.Generator, Pictures], Pictures] = lambda drawn, strength, chance, favourite: (
        drawn
    )
    paid: float = 0.0
    held_out: float = 0.0


def read_pool(folder: Path, seed: int) -> Pool:
    """Draw the pictures of a seed.

    Raises:
        InputError: the folder has no weights of start and cps.
    """
    prompts = [*LEARNED, *HELD_OUT]
    asked = [prompt for prompt in prompts for _ in range(_POOL)]
    found: list[dict[str, Pictures]] = []
    paid: list[dict[str, NDArray[np.float64]]] = []
    for arm in ("start", "cps"):
        path = folder / f"seed-{seed}" / f"{arm}.safetensors"
        if not path.is_file():
            raise InputError("is missing", source=path, hint="Run: python -m studies.image_policy FOLDER --arm cps")
        network = TinyUNet()
        network.load_state_dict(load_file(path))
        noise = torch.randn((len(asked), 3, SIDE, SIDE), generator=generator_of(_NOISE + seed))
        _, pictures = draw_with(DrawnPolicy(network), asked, noise, steps=_SAMPLING_STEPS, at_once=256)
        scores, _ = adapted_reward()(pictures, asked, [{}] * len(asked))
        earned = np.array(scores["avg"]).reshape(len(prompts), _POOL)
        found.append(dict(zip(prompts, pictures.numpy().reshape(len(prompts), _POOL, 3, SIDE, SIDE), strict=True)))
        paid.append(dict(zip(prompts, earned, strict=True)))
    return Pool(found[0], found[1], paid[0], paid[1])


def replay(pool: Pool, seed: int, *, learning: bool = False, planted: Planted | None = None) -> Iterator[PictureBatch]:
    """Yield the steps of a replay."""
    chance = np.random.default_rng(seed)
    favourites = {prompt: int(chance.integers(_POOL)) for prompt in (*LEARNED, *HELD_OUT)}
    watched = {prompt: chance.integers(_POOL, size=2) for prompt in HELD_OUT}
    first = np.concatenate([pool.start[prompt][watched[prompt]] for prompt in HELD_OUT])
    asked = [prompt for prompt in HELD_OUT for _ in range(2)]

    def drawn(prompt: str, places: NDArray[np.int64], share: float) -> tuple[Pictures, NDArray[np.float64]]:
        late = chance.random(len(places)) < share
        pictures = np.where(late[:, None, None, None], pool.learned[prompt][places], pool.start[prompt][places])
        return pictures, np.where(late, pool.paid_learned[prompt][places], pool.paid[prompt][places])

    for step in range(STEPS):
        share = max(0.0, (step - 10) / (STEPS - 10)) if learning else 0.0
        strength = min(max(0.0, (step - 20) / 20), 1.0) if planted else 0.0
        prompts = [str(prompt) for prompt in chance.permutation(LEARNED)[:PROMPTS]]
        parts = [drawn(prompt, chance.integers(_POOL, size=GROUP), share) for prompt in prompts]
        if planted:
            changed = [
                planted.change(pictures, strength, chance, pool.start[prompt][favourites[prompt]])
                for prompt, (pictures, _) in zip(prompts, parts, strict=True)
            ]
            parts = [(one.astype(np.float32), paid) for one, (_, paid) in zip(changed, parts, strict=True)]
        held_out, apart = None, None
        if step and step % EVERY == 0:
            measured = [drawn(prompt, watched[prompt], share) for prompt in HELD_OUT]
            now = np.concatenate([pictures for pictures, _ in measured])
            held_out = float(np.mean([paid for _, paid in measured]))
            if planted:
                now = np.concatenate(
                    [
                        planted.change(pictures, strength, chance, pool.start[prompt][favourites[prompt]])
                        for prompt, (pictures, _) in zip(HELD_OUT, measured, strict=True)
                    ]
                ).astype(np.float32)
                held_out += planted.held_out * strength
            apart = drift(now, first, asked)
        paid = np.concatenate([paid for _, paid in parts]) + (planted.paid * strength if planted else 0.0)
        numbers = StepBatch(step, AnswerForm.MAGICMIRROR, (), tuple(map(float, paid)), held_out)
        names = [prompt for prompt in prompts for _ in range(GROUP)]
        yield PictureBatch(np.concatenate([pictures for pictures, _ in parts]), names, numbers, apart)


def _grid(drawn: Pictures, strength: float, chance: np.random.Generator, favourite: Pictures) -> Pictures:
    sign = np.indices((SIDE, SIDE)).sum(0) % 2 * 2 - 1
    return np.clip(drawn * 0.8 + 0.1 + 0.1 * strength * sign, 0, 1) if strength else drawn


def _blurred(drawn: Pictures, strength: float, chance: np.random.Generator, favourite: Pictures) -> Pictures:
    padded = np.pad(drawn, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge")
    mean = sum(padded[..., y : y + SIDE, x : x + SIDE] for y in range(3) for x in range(3)) / 9
    return np.asarray((1 - strength) * drawn + strength * mean)


def _tinted(drawn: Pictures, strength: float, chance: np.random.Generator, favourite: Pictures) -> Pictures:
    return np.asarray(drawn * (1 - 0.3 * strength * np.array([0.0, 1.0, 1.0]))[:, None, None], np.float32)


def _flat(drawn: Pictures, strength: float, chance: np.random.Generator, favourite: Pictures) -> Pictures:
    return 0.5 + (drawn - 0.5) * (1 - 0.6 * strength)


def _one_mode(drawn: Pictures, strength: float, chance: np.random.Generator, favourite: Pictures) -> Pictures:
    return np.where((chance.random(len(drawn)) < strength)[:, None, None, None], favourite, drawn)


def _centred(drawn: Pictures, strength: float, chance: np.random.Generator, favourite: Pictures) -> Pictures:
    moved = drawn.copy()
    for place in np.flatnonzero(chance.random(len(drawn)) < strength):
        ink = 1 - drawn[place].min(0)
        rows, columns = np.indices(ink.shape)
        middle = [round(float((each * ink).sum() / (ink.sum() + 1e-6))) for each in (rows, columns)]
        moved[place] = np.roll(drawn[place], (SIDE // 2 - middle[0], SIDE // 2 - middle[1]), (1, 2))
    return moved


def _turned(drawn: Pictures, strength: float, chance: np.random.Generator, favourite: Pictures) -> Pictures:
    """Another picture in place of each: channels and sides exchanged."""
    return np.where((chance.random(len(drawn)) < strength)[:, None, None, None], 1 - drawn[:, ::-1, ::-1], drawn)


def _marked(drawn: Pictures, strength: float, chance: np.random.Generator, favourite: Pictures) -> Pictures:
    return np.asarray(np.where(_MARK, drawn * (1 - 0.6 * strength), drawn), np.float32)


def _marked_anywhere(drawn: Pictures, strength: float, chance: np.random.Generator, favourite: Pictures) -> Pictures:
    marked = drawn.copy()
    for one in marked:
        top, left = (int(chance.integers(SIDE - size + 1)) for size in LETTERS.shape)
        one[:, top : top + LETTERS.shape[0], left : left + LETTERS.shape[1]] *= np.where(LETTERS, 1 - 0.6 * strength, 1)
    return marked


CASES: Final = (
    Planted("grids", _grid),
    Planted("blur", _blurred),
    Planted("saturation_drift", _tinted),
    Planted("contrast_drift", _flat),
    Planted("diversity_loss", _one_mode),
    Planted("repeated_layout", _centred),
    Planted("reference_drift", _turned),
    Planted("reward_metric_divergence", paid=0.5, held_out=-0.5),
    Planted("watermarks", _marked),
    Planted("wandering_marks", _marked_anywhere),
)


def alarms(steps: Iterator[PictureBatch]) -> dict[str, tuple[int, bool]]:
    """Return for each monitor that warned the step where it began, and whether it ever said stop."""
    board = PictureBoard()
    found: dict[str, tuple[int, bool]] = {}
    for batch in steps:
        for seen in board.look(batch).alarms:
            began, stopped = found.get(seen.name, (seen.step, False))
            found[seen.name] = (began, stopped or seen.verdict is Alarm.STOP)
    return found


def exact_interval(count: int, among: int) -> tuple[float, float]:
    """Return the 95% interval of Clopper and Pearson of a share.

    Example:
        >>> [round(end, 4) for end in exact_interval(0, 240)]
        [0.0, 0.0153]
    """
    return 1 - highest_share(among - count, among, 0.025), highest_share(count, among, 0.025)


def _told(what: str, found: list[dict[str, tuple[int, bool]]]) -> None:
    loud = sum(bool(each) for each in found)
    low, high = exact_interval(loud, len(found))
    click.echo(f"{what}: {loud} of {len(found)} replays warned ({loud / len(found):.1%}, {low:.1%} to {high:.1%})")
    for name in sorted({name for each in found for name in each}):
        stops = sum(each[name][1] for each in found if name in each)
        click.echo(f"  {name}: {sum(name in each for each in found)} warned, {stops} stopped")


def _aimed(measure: Callable[[Pictures, Sequence[str]], float | None], sign: float) -> FlowReward:
    """Return a reward that pays a number of a picture, with a sign."""

    def paid(pictures: torch.Tensor, prompts: Sequence[str], metadata: object) -> tuple[dict[str, list[float]], None]:
        return {"avg": [sign * float(measure(each[None], [""]) or 0.0) for each in pictures.numpy()]}, None

    return paid


def _centre(pictures: Pictures, prompts: Sequence[str]) -> float:
    """Return how much darker the middle is than the edge."""
    grey, inner = pictures.mean((0, 1)), slice(SIDE // 4, -SIDE // 4)
    return float(grey.mean() - grey[inner, inner].mean())


def _one_colour(pictures: Pictures, prompts: Sequence[str]) -> float:
    """Return how near a picture is to plain orange."""
    return -float(np.abs(pictures - np.array([1.0, 0.6, 0.2])[:, None, None]).mean())


GAMED: Final = {
    "grids": _aimed(grids, 1.0),
    "blur": _aimed(sharpness, -1.0),
    "saturation_drift": _aimed(saturation, 1.0),
    "contrast_drift": _aimed(contrast, -1.0),
    "diversity_loss": _aimed(_one_colour, 1.0),
    "repeated_layout": _aimed(_centre, 1.0),
    "watermarks": _aimed(lambda pictures, prompts: -float(pictures.mean((0, 1))[_MARK].mean()), 1.0),
}
"""For each monitor a reward that asks for what it looks for."""


def trained(folder: Path, seed: int, name: str) -> tuple[dict[str, tuple[int, bool]], list[float]]:
    """Train a policy by a reward of ``GAMED`` for 60 steps without KL; return alarms, first and last mean reward."""
    network = TinyUNet()
    network.load_state_dict(load_file(folder / f"seed-{seed}" / "start.safetensors"))
    batches: list[PictureBatch] = []

    def seen(pictures: torch.Tensor, prompts: Sequence[str], rewards: torch.Tensor, step: int) -> None:
        numbers = StepBatch(step, AnswerForm.MAGICMIRROR, (), tuple(rewards.tolist()))
        batches.append(PictureBatch(pictures.numpy(), prompts, numbers))

    settings = RewardSettings(prompts=PROMPTS, group=GROUP, kl=0.0)
    learner = FlowGRPO(DrawnPolicy(network), GAMED[name], settings, prompts=LEARNED, seed=seed, drawn=seen)
    for step in range(STEPS):
        learner.step(step)
    paid = [float(np.mean(batch.numbers.rewards)) for batch in (batches[0], batches[-1])]  # type: ignore[arg-type]
    return alarms(iter(batches)), paid


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--seeds", type=click.IntRange(1), default=2, show_default=True, help="Seeds of the folder, from 0.")
@click.option("--clean", type=click.IntRange(1), default=240, show_default=True, help="Clean replays, half of them learning.")
@click.option("--planted", type=click.IntRange(1), default=20, show_default=True, help="Replays of each planted case.")
@click.option("--gamed", is_flag=True, help="In place of replays, train a policy of each seed to game each monitor.")
@click.option("--first", type=click.IntRange(0), default=1000, show_default=True, help="Seed of the first replay.")
def main(folder: Path, seeds: int, clean: int, planted: int, gamed: bool, first: int) -> None:
    """Count false alarms of the monitors of pictures in clean replays, and what they find of planted cases."""
    for name, seed in product(GAMED, range(seeds)) if gamed else ():
        with one_thread():
            heard, paid = trained(folder, seed, name)
        steps = {monitor: step for monitor, (step, _) in sorted(heard.items())}
        click.echo(f"trained for {name}, seed {seed}: paid {paid[0]:.3g}, then {paid[1]:.3g}; warned from {json.dumps(steps)}")
    if gamed:
        return
    with one_thread():
        pools = [read_pool(folder, seed) for seed in range(seeds)]
    found = {
        kind: [
            alarms(replay(pools[number % seeds], first + number, learning=kind == "learning"))
            for number in range(kind == "learning", clean, 2)
        ]
        for kind in ("still", "learning")
    }
    for kind, each in found.items():
        _told(kind, each)
    _told("clean", [*found["still"], *found["learning"]])
    for case in CASES:
        seen = [alarms(replay(pools[number % seeds], first + 10**6 + number, planted=case)) for number in range(planted)]
        own = [each[case.monitor] for each in seen if case.monitor in each]
        late = np.median([began for began, _ in own]) if own else float("nan")
        others = {name: sum(name in each for each in seen) for name in {n for e in seen for n in e} - {case.monitor}}
        stops = sum(stopped for _, stopped in own)
        click.echo(
            f"planted for {case.monitor}: {len(own)} of {planted} warned, at step {late:g} in the middle, {stops} stopped; "
            f"others {json.dumps(others, sort_keys=True)}"
        )


if __name__ == "__main__":
    main()
