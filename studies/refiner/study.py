"""Repeat R³-Bench's Table 4 in small: which second-stage reward teaches a refiner to mend pictures?

for each seed:  random weights ──► seeing ──► comparing ──► imitating a teacher with bad habits = cold start (SFT)
                cold start ──┬─► R_reason alone
                             ├─► R_reason + questions
                             └─► R_reason + R_rect = HRM
each is measured on the same held-out scenes; a second call continues with what is missing
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from time import process_time
from typing import Any, Final

from salon_synthetic.scenes.generating import ROWS_FILE, DrawnItem, save
from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import (
    DegenerationSection,
    LogSection,
    ModelSection,
    MonitorsSection,
    RunSection,
    SftSection,
)
from salon_train.models.loading import load_model
from salon_train.refiner.rows import Lesson, RefinerRow
from salon_train.refiner.settings import EditorSection, RefinementSettings, RefinerConfiguration, RowsSection
from salon_train.refiner.small_scenes import draw_small_scenes
from salon_train.refiner.stage import STAGE, train_refiner, train_warm_up
from salon_train.refiner.teacher import Habits, build_tiny_policy, teacher_reply, what_is_there
from salon_train.run.callbacks import quiet
from salon_train.run.events import read_log
from salon_train.run.folder import RunFolder
from studies.refiner.scene_evaluation import SceneEvaluation, evaluate_on_scenes

WARM_UP: Final = "sft"
RESULTS_FILE: Final = "results.jsonl"
HABITS: Final = Habits(overlooked_colours=0.1, overlooked_shapes=0.7, evasive_colours=0.35, evasive_shapes=0.6, careless=0.15)
"""The study's teacher."""
GRPO: Final = RefinementSettings(
    steps=120,
    learning_rate=1e-4,
    prompts=8,
    micro_batch=64,
    warmup_steps=10,
    most_tokens=48,
    most_thought=24,
    top_p=0.95,
    longest_prompt=None,
    loss="dapo",
    kl=0.04,
    weight_decay=0.0,
    refusal="unchanged",
)
"""Sized for a tiny policy: 120 steps of eight groups.

The divergence from the cold start costs something: without that, and at twice the rate, two policies of two that were looked
into forgot to see: their thoughts named wrong shapes in more than four pictures of five.
"""
_SEEING: Final = "What is there?"


class Arm(StrEnum):
    """What the policy is paid for. The value names its folder and its row in tables."""

    COLD_START = "cold-start"
    """Nothing yet: the policy that all others begin with."""
    REASON = "reason"
    """The verdict and the form alone."""
    QUESTIONS = "questions"
    """Beside it, the share of questions that another judge answers rightly about the edited picture."""
    HRM = "hrm"
    """Beside it, the policy's own certainty that the edited picture matches; wrong verdicts earn nothing there."""
    HRM_UNGATED = "hrm-ungated"
    """As ``hrm``, and wrong verdicts earn that certainty too: Equation 5 to the letter."""
    HRM_GUARDED = "hrm-guarded"
    """As ``hrm``, and instructions that rewrite the prompt, or are refused, earn nothing by rule."""


_STAGES: Final[dict[Arm, dict[str, object]]] = {
    Arm.QUESTIONS: {"judged_by": "questions", "judge": "pixels:"},
    Arm.REASON: {"stage_one": 1.0, "stage_two": 0.0},
    Arm.HRM_UNGATED: {"wrong_verdict": "judged"},
    Arm.HRM_GUARDED: {"illusory": "zero", "refusal": "zero"},
}
PUBLISHED: Final = {Arm.COLD_START: (0.72, 0.38), Arm.REASON: (0.81, 0.29), Arm.QUESTIONS: (0.85, 0.41), Arm.HRM: (0.84, 0.47)}
"""S_ref and S_rect of R³-Bench's Table 4, for Qwen2.5-VL-7B."""


@dataclass(frozen=True, slots=True)
class StudySettings:
    """What the study does for each seed.

    Attributes:
        habits: of the teacher.
        seeing: steps in which the policy learns to say what is in a picture.
        comparing: steps in which it learns the replies of a teacher that overlooks nothing, and instructs as badly as it does.
        imitating: steps in which it learns to overlook what the teacher overlooks.
        lessons: different pictures.
        learning_rate: of seeing and comparing.
        imitation_rate: of imitating.
        rows: different items in GRPO.
        misaligned: of these, the share that is; with half, neither verdict is right more often.
        held_out: items of the measure, three fifths of them misaligned.
        grpo: settings of GRPO; its seed, and the weights of the stages, are the arm's.
    """

    habits: Habits = HABITS
    seeing: int = 200
    comparing: int = 800
    imitating: int = 200
    lessons: int = 6000
    learning_rate: float = 2e-3
    imitation_rate: float = 5e-4
    rows: int = 600
    misaligned: float = 0.5
    held_out: int = 400
    grpo: RefinementSettings = GRPO


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One arm of one seed.

    Attributes:
        arm: which.
        seed: which.
        evaluation: on the held-out scenes.
        first: the mean of each training number over the first tenth of the steps.
        last: over the last tenth.
        cpu_s: seconds of one processor, training and measure.
    """

    arm: Arm
    seed: int
    evaluation: SceneEvaluation
    first: dict[str, float]
    last: dict[str, float]
    cpu_s: float


def run_study(
    folder: Path,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    arms: Sequence[Arm] = tuple(Arm),
    settings: StudySettings = StudySettings(),
    told: Callable[[str], None] | None = None,
    on_start: Callable[[int, int], None] | None = None,
) -> list[ArmResult]:
    """Run what is missing in a folder and return all that was asked for.

    Args:
        folder: for ``seed-N/<arm>`` with the run of each policy, ``results.jsonl``, and the held-out scenes as rows of
            R³-Bench, ``held-out``.
        seeds: each is a run from random weights to the end: weights, pictures, draws.
        arms: which; the cold start is always run.
        settings: of a study; a folder holds one study.
        told: called with a line for people after each arm.
        on_start: called with how many arms are finished, and how many are wanted, over all seeds.

    Raises:
        InputError: when the folder holds another study, or cannot be written.
    """
    known = _known(folder, settings)
    _rows(_held_out(settings), folder / "held-out")
    results = []
    wanted = (Arm.COLD_START, *(arm for arm in Arm if arm in arms and arm is not Arm.COLD_START))
    if on_start is not None:
        on_start(sum((arm, seed) in known for seed in seeds for arm in wanted), len(seeds) * len(wanted))
    for seed in seeds:
        for arm in wanted:
            if (arm, seed) not in known:
                began = process_time()
                evaluation, log = _run(folder / f"seed-{seed}", arm, seed, settings)
                log = [line for line in log if "reward" in line]
                tenth = max(1, len(log) // 10)
                done = ArmResult(arm, seed, evaluation, _means(log[:tenth]), _means(log[-tenth:]), process_time() - began)
                known[arm, seed] = done
                with (folder / RESULTS_FILE).open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(done)) + "\n")
                if told is not None:
                    told(f"seed {seed}, {arm}: S_ref {evaluation.s_ref:.3f}, S_rect {evaluation.s_rect:.3f}")
            results.append(known[arm, seed])
    return results


def paired(results: Sequence[ArmResult], arm: Arm, other: Arm) -> dict[int, tuple[float, float]]:
    """Return the differences of S_ref and S_rect between two arms, by seed, where both were run."""
    evaluations = {(each.arm, each.seed): each.evaluation for each in results}
    return {
        seed: (mine.s_ref - evaluations[other, seed].s_ref, mine.s_rect - evaluations[other, seed].s_rect)
        for (name, seed), mine in evaluations.items()
        if name is arm and (other, seed) in evaluations
    }


def _run(folder: Path, arm: Arm, seed: int, settings: StudySettings) -> tuple[SceneEvaluation, list[dict[str, Any]]]:
    """Train one arm, or go on with it; the policy is FOLDER/<arm>/…/model (:func:`policy_of`)."""
    if arm is Arm.COLD_START:
        _warm_up(folder, seed, settings)
        log = []
    else:
        configuration = _refining(folder, arm, seed, settings)
        train_refiner(configuration)
        log = read_log(RunFolder.of(configuration, STAGE).log)
    with quiet():
        loaded = load_model(ModelSection(name=str(policy_of(folder, arm)), device="cpu"), learning=False)
        return evaluate_on_scenes(loaded.model, loaded.processor, _held_out(settings)), log


def policy_of(folder: Path, arm: Arm) -> Path:
    """Return the folder of an arm's policy, below the folder of its seed."""
    return folder / arm / (f"imitating/{WARM_UP}" if arm is Arm.COLD_START else STAGE) / "model"


def _held_out(settings: StudySettings) -> list[DrawnItem]:
    return list(draw_small_scenes(settings.held_out, seed=1_000_000, misaligned=0.6))


def _warm_up(folder: Path, seed: int, settings: StudySettings) -> None:
    """Teach a tiny policy in three runs, each from the weights of the one before: seeing, comparing, imitating."""
    policy = folder / "untrained"
    if not (policy / "config.json").exists():
        with quiet():
            build_tiny_policy(policy, seed=seed)
    items = list(draw_small_scenes(settings.lessons, seed=100 + seed, misaligned=0.55))
    pictures = [row.picture for row in _rows(items, folder / "lessons")]
    generator = random.Random(seed)  # noqa: S311 - habits, no secret

    def taught(habits: Habits) -> list[Lesson]:
        pairs = zip(pictures, items, strict=True)
        return [Lesson(picture, item.prompt, teacher_reply(item, habits, generator)) for picture, item in pairs]

    attentive = replace(settings.habits, overlooked_colours=0.0, overlooked_shapes=0.0)
    described = [f"<think>\n{what_is_there(item)}\n</think>" for item in items]
    lessons = {
        "seeing": [Lesson(picture, _SEEING, reply) for picture, reply in zip(pictures, described, strict=True)],
        "comparing": taught(attentive),
        "imitating": taught(settings.habits),
    }
    for name, learned in lessons.items():
        last = name == "imitating"
        section = SftSection(
            steps=getattr(settings, name),
            learning_rate=settings.imitation_rate if last else settings.learning_rate,
            schedule="cosine",
            warmup_steps=10 if last else 50,
            beta2=0.98,
            weight_decay=0.01,
        )
        configuration = _configuration(folder / Arm.COLD_START / name, policy, seed + last, folder / "lessons")
        configuration = configuration.model_copy(update={"sft": section})
        policy = train_warm_up(configuration, learned).model


def _refining(folder: Path, arm: Arm, seed: int, settings: StudySettings) -> RefinerConfiguration:
    items = list(draw_small_scenes(settings.rows, seed=200 + seed, misaligned=settings.misaligned))
    _rows(items, folder / "rows")
    configuration = _configuration(folder / arm, policy_of(folder, Arm.COLD_START), seed, folder / "rows")
    stages = _STAGES.get(arm, {})
    return configuration.model_copy(update={"refine": settings.grpo.model_copy(update=stages)})


def _configuration(folder: Path, policy: Path, seed: int, rows: Path) -> RefinerConfiguration:
    """Configure a run of the study; monitors are off, because a gamed reward is a result."""
    return RefinerConfiguration(
        run=RunSection(folder=str(folder), seed=seed, threads=1),
        model=ModelSection(name=str(policy), device="cpu"),
        rows=RowsSection(file=str(rows / ROWS_FILE)),
        editor=EditorSection(name="draw"),
        monitors=MonitorsSection(on=False),
        degeneration=DegenerationSection(equal_rewards=0, invalid_answers=0, unscored=0),
        log=LogSection(completions=0),
    )


def _rows(items: Sequence[DrawnItem], folder: Path) -> list[RefinerRow]:
    """Return the items as files, in R³-Bench's form; what an earlier call has written stays."""
    if not (folder / ROWS_FILE).exists():
        save(iter(items), folder)
    return [RefinerRow(str(item.idx), item.prompt, folder / item.picture, not item.findings) for item in items]


def _known(folder: Path, settings: StudySettings) -> dict[tuple[Arm, int], ArmResult]:
    """Return what an earlier call has done; writes down which study this is."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder / "study.json"
        own = json.dumps(asdict(settings) | {"grpo": settings.grpo.model_dump(mode="json")}, indent=2)
        if mark.exists() and mark.read_text(encoding="utf-8") != own:
            raise InputError("the folder holds a study with other settings", source=mark, hint="Name a new folder.")
        mark.write_text(own, encoding="utf-8")
        lines = (folder / RESULTS_FILE).read_text(encoding="utf-8").splitlines() if (folder / RESULTS_FILE).exists() else []
    except OSError as error:
        raise InputError(f"cannot be used ({error.strerror})", source=folder) from error
    known = {}
    for line in lines:
        values = json.loads(line)
        values |= {"arm": Arm(values["arm"]), "evaluation": SceneEvaluation(**values["evaluation"])}
        known[values["arm"], values["seed"]] = ArmResult(**values)
    return known


def _means(log: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of some numbers over the lines of a log."""
    wanted = ("reward", "rewards/reasoning/mean", "rewards/rectification/mean", "rectification/abstained", "entropy")
    means = {}
    for name in wanted:
        values = [line[name] for line in log if line.get(name) is not None and not math.isnan(line[name])]
        if values:
            means[name] = sum(values) / len(values)
    return means
