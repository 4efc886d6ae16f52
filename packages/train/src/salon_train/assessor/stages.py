"""The stages of an assessor's training run: a cold start by imitation (``sft``) and GRPO (``grpo``).

configuration ──► examples ──► trainer ──► ``run_stage`` ──► FOLDER/<stage>/model
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Unpack

from salon_rewards.monitors import AnswerForm
from salon_taxonomy.errors import InputError
from salon_taxonomy.training_example import TrainingExample
from salon_train.assessor import rows as data_rows
from salon_train.assessor.evaluation import Assessed, asked_about
from salon_train.assessor.rewards import open_rewards
from salon_train.configuration.schema import Configuration, GrpoSection, SftSection
from salon_train.run.completion_parsing import read_assessment
from salon_train.run.folder import RunFolder
from salon_train.run.held_out import measure_of
from salon_train.run.recorders import add_recorders, watch_of
from salon_train.run.stage import Measure, Setting, StageCall, Trained, run_stage
from salon_train.sampling.prompt_order import prompt_plan

if TYPE_CHECKING:
    from salon_train.trl.mixin import Learning

METRIC: Final = "f1_macro"
"""Of an assessor's evaluation, what the monitors hold against its reward."""


def train_sft(configuration: Configuration, **call: Unpack[StageCall]) -> Trained:
    """Learn answers by imitation (SFT, the cold start).

    Args:
        configuration: of the run.
        call: see :class:`~salon_train.run.stage.StageCall`.

    Raises:
        InputError: for anything in the configuration or data that cannot work, before the first step.
        DegeneratedError: when loss or gradient became no number.
        IncompleteError: memory or disk are full, or a picture cannot be read any more.
    """
    section = configuration.sft
    if section is None:
        raise InputError("the configuration has no section [sft]", key="sft")
    return run_stage(
        configuration,
        "sft",
        rows=lambda: data_rows.stage_rows(configuration, "sft"),
        make=lambda setting: _sft_trainer(setting, configuration, section),
        measure=partial(_measure, configuration),
        **call,
    )


def train_grpo(configuration: Configuration, **call: Unpack[StageCall]) -> Trained:
    """Learn from rewards (GRPO).

    Args:
        configuration: of the run.
        call: see :class:`~salon_train.run.stage.StageCall`.

    Raises:
        InputError: for anything in the configuration or data that cannot work, before the first step.
        DegeneratedError: when nothing good can come of it any more (:class:`DegenerationMonitor`).
        IncompleteError: as :func:`train_sft`.
    """
    section = configuration.grpo
    if section is None:
        raise InputError("the configuration has no section [grpo]", key="grpo")
    return run_stage(
        configuration,
        "grpo",
        rows=lambda: data_rows.stage_rows(configuration, "grpo"),
        make=lambda setting: _grpo_trainer(setting, configuration, section),
        start=lambda: start_of(configuration),
        measure=partial(_measure, configuration),
        **call,
    )


def start_of(configuration: Configuration) -> Path | None:
    """Return whose weights GRPO begins with; None: the model's own.

    Raises:
        InputError: the cold start is wanted and has not been finished.
    """
    if configuration.grpo is None or configuration.grpo.start == "model":
        return None
    cold = RunFolder.of(configuration, "sft")
    if cold.finished is None:
        hint = 'Run `salon train sft` with the same file first, or set grpo.start to "model".'
        raise InputError("the cold start has not been finished", source=cold.path, key="grpo.start", value="sft", hint=hint)
    return cold.model


def _sft_trainer(setting: Setting[TrainingExample], configuration: Configuration, section: SftSection) -> "Learning":
    from salon_train.trl.sft import warm_up_trainer

    examples, sampling = setting.rows, configuration.sampling
    if not sampling.sft:
        sampling = sampling.model_copy(update={"strategy": "shuffled", "hard_positives": 1.0})
    steps = section.steps_for(len(examples))
    plan = prompt_plan(examples, sampling, chunk=section.batch, chunks=steps, seed=configuration.run.seed)
    return warm_up_trainer(setting, section, data_rows.warm_up_dataset(examples, configuration.data), plan)


def _grpo_trainer(setting: Setting[TrainingExample], configuration: Configuration, section: GrpoSection) -> "Learning":
    from salon_train.trl.grpo import policy_trainer

    examples, data = setting.rows, configuration.data
    opened = open_rewards(configuration, setting.environment)
    if opened.versions and setting.processes.first:
        setting.folder.learn_by(" ".join(opened.versions))
    steps = section.steps_for(len(examples))
    watch = watch_of(setting, AnswerForm.MAGICMIRROR, steps=steps, metric=METRIC)
    completions = section.generation_batch or section.batch
    lasts = completions // section.batch * section.iterations
    plan = prompt_plan(
        examples,
        configuration.sampling,
        chunk=completions // section.generations,
        chunks=-(-steps // lasts),
        seed=configuration.run.seed,
    )
    add_recorders(setting, watch, metric=METRIC)
    return policy_trainer(
        setting,
        section.model_copy(update={"steps": steps, "epochs": None}),
        data_rows.policy_dataset(examples, data),
        plan,
        rewards=opened.rewards,
        weights=opened.weights,
        read=read_assessment,
        watch=watch,
    )


def _measure(configuration: Configuration, notes: list[str]) -> Measure | None:
    """Return what is measured during training; None without held-out pictures."""
    held_out = data_rows.held_out_rows(configuration)
    notes += held_out.notes
    return measure_of(Assessed, held_out.examples, asked_about(configuration.data), configuration.evaluation)
