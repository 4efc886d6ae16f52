"""Run one experiment of one seed: pictures, tiny model, SFT warm-up, GRPO, evaluation.

pictures ──► random weights ──► SFT ──► clean cold start ──► GRPO "improve"
                                  └──► SFT on a teacher who misses artifacts ──► biased cold start ──► GRPO, one run per arm

Everything goes through the public trainers; here are only their configurations, and the reading of their logs.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from salon_train.configuration import Configuration
from salon_train.demo.consistency import supports
from salon_train.demo.pictures import Pictures, draw_pictures
from salon_train.demo.recipe import QUESTION, Recipe
from salon_train.over_seeds import SeedProgress, Tell
from salon_train.run.events import TrainingEvent


class Ablation(StrEnum):
    """What is left out of GRPO, after the biased cold start (MagicMirror, Tables 4 and 6)."""

    FULL = "full"
    NO_BUCKETS = "without multi-bucket sampling"
    NO_RESAMPLING = "without positive resampling"
    NO_CONSISTENCY = "without consistency reward"
    SFT = "SFT only"
    IMPROVE = "from the clean cold start"
    """Not an ablation: GRPO in full, from the best weights that SFT found on the same pictures."""
    SFT_MORE = "SFT for longer, from the clean cold start"
    """Its control: so many steps of imitation as take about the same time (four for one of GRPO)."""


@dataclass(frozen=True, slots=True)
class ArmNumbers:
    """The numbers of one arm and seed at one moment.

    Attributes:
        arm: which.
        seed: of pictures, weights, SFT and GRPO.
        stage: ``cold start`` (before GRPO), ``grpo``, or ``sft``.
        step: optimizer steps of the stage.
        last: nothing of this stage comes after it.
        numbers: on held-out pictures: ``f1_macro``, ``f1_binary``, ``normal``, ``invalid``, ``f1/…``; with ``last`` also
            ``precision/…`` and ``recall/…`` of each label, macro and micro, and ``consistent``, the share of answers that
            their reasoning supports. None where one is undefined.
        learned: means of the trainer's own log since the measurement before, such as ``reward``.
        cpu_s: processor seconds of the stage; with ``last`` only, and None when an earlier call had finished it.
        wall_s: seconds on the clock since the stage began.
    """

    arm: Ablation
    seed: int
    stage: str
    step: int
    last: bool
    numbers: Mapping[str, float | None]
    learned: Mapping[str, float] = field(default_factory=dict)
    cpu_s: float | None = None
    wall_s: float | None = None

    def as_json(self) -> str:
        """Return one line."""
        return json.dumps(asdict(self), ensure_ascii=False)


def stages_of(arms: tuple[Ablation, ...]) -> list[str]:
    """Return the folders of the stages that :func:`run_seed` runs for these arms, below the folder of a seed.

    Example:
        >>> stages_of((Ablation.SFT, Ablation.FULL))
        ['clean/sft', 'biased/sft', 'full/grpo']
    """
    apart = (Ablation.IMPROVE, Ablation.SFT_MORE)
    biased = ["biased/sft"] if any(arm not in apart for arm in arms) else []
    learned = [f"{arm.name.lower()}/grpo" for arm in arms if arm not in (Ablation.SFT, Ablation.SFT_MORE)]
    return ["clean/sft", *biased, *learned, *(["sft_more/sft"] if Ablation.SFT_MORE in arms else [])]


def run_seed(
    folder: Path,
    recipe: Recipe,
    *,
    seed: int,
    arms: tuple[Ablation, ...],
    tell: Tell = lambda _: None,
    reward: str = "magicmirror",
) -> Iterator[ArmNumbers]:
    """Yield all wanted arms of one seed; the cold starts are shared, as they do not depend on the arm.

    Args:
        folder: for pictures, weights and logs; empty or new.
        recipe: sizes.
        seed: of everything.
        arms: which, in this order.
        tell: told what begins.
        reward: name of the reward for the labels, as configurations have it; for controls that must not learn.
    """
    from salon_train.models import build_tiny_model
    from salon_train.run.callbacks import quiet

    tell(f"seed {seed}: drawing {recipe.pictures + recipe.held_out} pictures")
    pictures = draw_pictures(folder / "data", recipe, seed=seed)
    with quiet():
        model = build_tiny_model(folder / "tiny", [QUESTION, *pictures.answers], seed=seed, shape=recipe.shape)
    tell(f"seed {seed}: cold start of {model.parameters:,} random weights")
    clean = _Run(folder / "clean", recipe, pictures, seed, reward, tell)
    yield from clean.sft(model.folder, pictures.reasoned, recipe.sft_steps, recipe.sft_rate, arm=Ablation.IMPROVE)
    start = clean.folder / "sft" / "model"
    from_bias = [arm for arm in arms if arm not in (Ablation.IMPROVE, Ablation.SFT_MORE)]
    if from_bias:
        tell(f"seed {seed}: imitating a teacher who misses {recipe.teacher_misses:.0%} of all artifacts")
        biased = _Run(folder / "biased", recipe, pictures, seed, reward, tell)
        yield from biased.sft(start, pictures.biased, recipe.bias_steps, recipe.bias_rate, arm=Ablation.SFT)
        for arm in from_bias:
            if arm is not Ablation.SFT:
                tell(f"seed {seed}: GRPO, {arm}")
                run = _Run(folder / arm.name.lower(), recipe, pictures, seed, reward, tell)
                yield from run.grpo(biased.folder / "sft" / "model", arm)
    if Ablation.IMPROVE in arms:
        tell(f"seed {seed}: GRPO, {Ablation.IMPROVE}")
        yield from _Run(folder / "improve", recipe, pictures, seed, reward, tell).grpo(start, Ablation.IMPROVE)
    if Ablation.SFT_MORE in arms:
        tell(f"seed {seed}: {Ablation.SFT_MORE}")
        run = _Run(folder / "sft_more", recipe, pictures, seed, reward, tell)
        yield from run.sft(start, pictures.reasoned, 4 * recipe.grpo_steps, recipe.sft_rate / 2, arm=Ablation.SFT_MORE)


@dataclass(frozen=True, slots=True)
class _Run:
    folder: Path
    recipe: Recipe
    pictures: Pictures
    seed: int
    reward: str
    tell: Tell = lambda _: None

    def happened(self, event: TrainingEvent) -> None:
        """Pass the progress on; a run is the watcher of its own stages."""
        if event.what in ("started", "learned", "finished"):
            self.tell(SeedProgress(self.seed, self.folder.name.replace("_", " "), event.step, event.steps))

    def sft(self, model: Path, rows: Path, steps: int, rate: float, *, arm: Ablation) -> Iterator[ArmNumbers]:
        """Imitation of one file's answers."""
        from salon_train.assessor import train_sft

        section = {
            "steps": steps,
            "batch": 32,
            "learning_rate": rate,
            "schedule": "linear",
            "warmup_steps": min(30, steps // 10),
            "beta2": 0.98,
            "weight_decay": 0.01,
        }
        configuration = self._configuration(model, sft=section, rows=rows, steps=steps)
        began = time.process_time()
        trained = train_sft(configuration, watcher=self)
        yield from self._measured("sft", arm, None if trained.already else time.process_time() - began)

    def grpo(self, model: Path, arm: Ablation) -> Iterator[ArmNumbers]:
        """Yield learning from rewards, with what the arm leaves out."""
        from salon_train.assessor import train_grpo

        recipe = self.recipe
        rewards: list[dict[str, Any]] = [{"name": self.reward}]
        if arm is not Ablation.NO_CONSISTENCY:
            name = f"{supports.__module__}:RuleConsistency"
            rewards.append({"name": name, "weight": recipe.consistency})
        section: dict[str, Any] = {
            "steps": recipe.grpo_steps,
            "batch": recipe.prompts * recipe.group,
            "generations": recipe.group,
            "learning_rate": recipe.grpo_rate,
            "longest": 24,
            "top_p": 0.95,
        }
        sampling = {
            "strategy": "shuffled" if arm is Ablation.NO_BUCKETS else "multi_bucket",
            "hard_positives": 1.0 if arm is Ablation.NO_RESAMPLING else recipe.resampled,
        }
        rows = self.pictures.train
        configuration = self._configuration(
            model, grpo=section, rows=rows, steps=recipe.grpo_steps, sampling=sampling, reward=rewards
        )
        began = time.process_time()
        trained = train_grpo(configuration, watcher=self)
        yield from self._measured("grpo", arm, None if trained.already else time.process_time() - began)

    def _configuration(self, model: Path, *, rows: Path, steps: int, **sections: Any) -> Configuration:
        recipe = self.recipe
        return Configuration.model_validate(
            {
                "run": {"folder": str(self.folder), "seed": self.seed, "threads": 1},
                "model": {"name": str(model), "device": "cpu"},
                "data": {"train": [str(rows)], "held_out": [str(self.pictures.held_out)], "question": QUESTION},
                "evaluation": {"every": max(recipe.every, steps // 8), "batch": 100, "longest": 24},
                "checkpoints": {"every": 10 * steps, "keep": 1},
                "monitors": {"on_stop": "log"},  # an arm that goes wrong is what the experiment is there to show
                "log": {"every": max(1, min(5, steps // 6))},
                **sections,
            }
        )

    def _measured(self, stage: str, arm: Ablation, cpu_s: float | None) -> Iterator[ArmNumbers]:
        """Read the log of a finished stage."""
        from salon_train.run.events import read_log

        since: list[Mapping[str, Any]] = []
        rows = read_log(self.folder / stage / "log.jsonl")
        # A stage that was killed began again: what it had measured before does not count.
        begun = max(place for place, row in enumerate(rows) if row["what"] == "started")
        evaluated = [row for row in rows[begun:] if row["what"] in ("learned", "evaluated")]
        last = max(place for place, row in enumerate(evaluated) if row["what"] == "evaluated")
        for number, row in enumerate(evaluated):
            if row["what"] == "learned":
                since.append(row)
                continue
            numbers = {name: _number(value) for name, value in row.items() if name not in _NO_NUMBERS}
            if number == last:
                numbers |= self._in_detail(stage)
            learned = {
                name: sum(float(each[name]) for each in since) / len(since)
                for name in (since[0] if since else {})
                if name in _LEARNED and all(isinstance(each.get(name), int | float) for each in since)
            }
            since = []
            yield ArmNumbers(
                arm,
                self.seed,
                stage,
                int(_number(row["step"]) or 0),
                number == last,
                numbers,
                learned,
                round(cpu_s, 1) if number == last and cpu_s is not None else None,
                _number(row["seconds"]),
            )

    def _in_detail(self, stage: str) -> dict[str, float | None]:
        """Return precision, recall and F1 of every main label from the answers that the last measurement kept."""
        from salon_bench.suites.assessors import evaluate
        from salon_taxonomy.answers import parse_magicmirror
        from salon_train.data import read_examples

        truth = {each.example_id: each.truth for each in read_examples([self.pictures.held_out]).examples}
        rows = [json.loads(line) for line in (self.folder / stage / "held_out.jsonl").read_text(encoding="utf-8").splitlines()]
        table = evaluate([truth[row["id"]] for row in rows], [parse_magicmirror(row["response"]) for row in rows]).table
        detail: dict[str, float | None] = {}
        for row in table.to_dicts():
            if row["level"] in ("L2", "artifact"):
                detail |= {f"{metric}/{row['label']}": row[metric] for metric in ("precision", "recall", "f1")}
        detail["consistent"] = sum(supports(row["response"]) for row in rows) / len(rows)
        return detail


_NO_NUMBERS = ("what", "step", "steps", "at", "seconds")
_LEARNED = ("loss", "reward", "entropy", "frac_reward_zero_std", "rewards/magicmirror/mean", "rewards/consistency/mean")


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
