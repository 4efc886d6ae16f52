"""The stages of a training run: a cold start by imitation (``sft``) and GRPO (``grpo``), from a configuration to weights.

configuration ──► examples ──► model ──► trainer ──► checkpoints, log, evaluation ──► FOLDER/<stage>/model
A second call goes on from the last whole checkpoint, or says that the stage is finished.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import PrinterCallback, set_seed

from salon_rewards.monitors import Grammar
from salon_taxonomy.errors import IncompleteError, InputError
from salon_train.configuration.schema import Configuration, GrpoSection, SftSection, StageConfiguration
from salon_train.data import TrainingExample
from salon_train.models.loading import LoadedModel, line, load_model
from salon_train.trainers import arguments, learning_data
from salon_train.trainers.callbacks import EventTeller, HeldOutEvaluation, quiet
from salon_train.trainers.completions import CompletionsFile
from salon_train.trainers.degeneration import ASSESSOR_HINTS, DegeneratedError, DegenerationMonitor, Hints
from salon_train.trainers.evaluation import HeldOut, held_out_answers
from salon_train.trainers.events import NOBODY, LogFile, TrainingEvent, TrainingWatcher, Watchers
from salon_train.trainers.plan import PlannedSampler, prompt_plan
from salon_train.trainers.policy import SampledCompletions
from salon_train.trainers.processes import Processes
from salon_train.trainers.reading import read_assessment
from salon_train.trainers.reporting import open_project, report_evaluation
from salon_train.trainers.requirements import missing
from salon_train.trainers.resuming import Checkpoint, writing
from salon_train.trainers.rewards import open_rewards
from salon_train.trainers.run_folder import RunFolder, Stage
from salon_train.trainers.watching import RunWatch, board_of

if TYPE_CHECKING:
    from salon_train.trainers.learning import Learning


@dataclass(frozen=True, slots=True)
class Trained:
    """What a stage ended with.

    Attributes:
        model: the folder of the weights or adapters, with the processor.
        steps: optimizer steps of the whole stage.
        resumed_from: the step that this call went on from; None when it began.
        evaluation: the last numbers on held-out pictures; empty without any.
        already: the stage had been finished before this call, which did nothing.
    """

    model: Path
    steps: int
    resumed_from: int | None
    evaluation: Mapping[str, Any]
    already: bool = False


def train_sft(
    configuration: Configuration,
    *,
    watcher: TrainingWatcher = NOBODY,
    environment: Mapping[str, str] | None = None,
    again: bool = False,
) -> Trained:
    """The cold start: learn answers by imitation.

    Args:
        configuration: of the run.
        watcher: told what happens, beside the log file; of several processes the first one's is.
        environment: how many processes train together (``WORLD_SIZE``, ``RANK``); a command line passes ``os.environ``.
        again: remove what the stage has done before, and begin anew.

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
        watcher,
        lambda setting: _sft_trainer(setting, configuration, section),
        evaluated=configuration,
        environment=environment,
        again=again,
    )


def train_grpo(
    configuration: Configuration,
    *,
    watcher: TrainingWatcher = NOBODY,
    environment: Mapping[str, str] | None = None,
    again: bool = False,
) -> Trained:
    """GRPO: learn from rewards.

    Args:
        configuration: of the run.
        watcher: told what happens, beside the log file; of several processes the first one's is.
        environment: where judges find their secrets, and how many processes train together; a command line passes
            ``os.environ``.
        again: remove what the stage has done before, and begin anew.

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
        watcher,
        lambda setting: _grpo_trainer(setting, configuration, section),
        start=lambda: start_of(configuration),
        evaluated=configuration,
        environment=environment,
        again=again,
    )


def start_of(configuration: Configuration) -> Path | None:
    """Whose weights GRPO begins with; None: the model's own.

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


@dataclass(slots=True)
class Setting:
    """What a stage's trainer is made from.

    Attributes:
        configuration: of the run.
        folder: of the stage.
        loaded: the model that learns.
        watcher: who is told.
        listeners: who is shown what was sampled.
        evaluations: who is told of evaluations, beside ``watcher``.
        environment: where judges find their secrets.
        processes: that train together.
        notes: what people should know about the data, a sentence each.
    """

    configuration: StageConfiguration
    folder: RunFolder
    loaded: LoadedModel
    watcher: TrainingWatcher
    listeners: list[Callable[[SampledCompletions], None]]
    evaluations: list[TrainingWatcher]
    environment: Mapping[str, str]
    processes: Processes
    notes: list[str] = field(default_factory=list)


def run_stage(
    configuration: StageConfiguration,
    stage: Stage,
    watcher: TrainingWatcher,
    make: Callable[[Setting], "Learning"],
    *,
    start: Callable[[], Path | None] = lambda: None,
    evaluated: Configuration | None = None,
    hints: Hints = ASSESSOR_HINTS,
    environment: Mapping[str, str] | None = None,
    again: bool = False,
) -> Trained:
    """Run one stage from its beginning or its last checkpoint to its end.

    Args:
        configuration: of the run.
        stage: its name, and that of its folder.
        watcher: told what happens, beside the log file.
        make: the trainer, not yet begun.
        start: finds a folder of weights in place of the configured model's; None: there is none.
        evaluated: whose held-out pictures are answered in between; None: there is no evaluation.
        hints: what to do about a run that degenerated.
        environment: where judges find their secrets, and how many processes train together.
        again: remove what the stage has done before, and begin anew.
    """
    if configuration.run.threads is not None:
        torch.set_num_threads(configuration.run.threads)
    folder = RunFolder.of(configuration, stage)
    processes = Processes.of(environment)
    with ExitStack() as kept, quiet():
        processes.join(on_cpu=arguments.on_processor(configuration.model))
        begun = processes.decided(lambda: _begun(kept, folder, configuration, processes, again))
        if begun.finished is not None:
            facts = begun.finished
            return Trained(folder.model, facts["steps"], None, facts["evaluation"], already=True)
        checkpoint = begun.checkpoint
        everyone: TrainingWatcher = Watchers((LogFile(folder.log), watcher)) if processes.first else NOBODY

        def ready() -> tuple[Setting, learning_data.Rows, "Learning"]:
            for problem in missing(configuration, stage):
                raise problem
            held_out = learning_data.Rows(()) if evaluated is None else learning_data.held_out_rows(evaluated)
            set_seed(configuration.run.seed)  # adapters begin at random
            loaded = load_model(configuration.model, start=start())
            setting = Setting(
                configuration, folder, loaded, everyone, [], [], environment or {}, processes, list(held_out.notes)
            )
            return setting, held_out, make(setting)

        setting, held_out, trainer = processes.agreed(ready)
        if trainer.args.world_size != processes.count:
            hint = "Pass os.environ as environment, where a launcher has started several processes."
            raise InputError(
                f"{trainer.args.world_size} processes train, and the environment says", value=processes.count, hint=hint
            )
        if processes.first:
            folder.begin(configuration)
            open_project(configuration, stage)
        for note in setting.notes:
            everyone.happened(TrainingEvent("noted", 0, trainer.args.max_steps, {"note": note}))
        loaded = setting.loaded
        trainer.salon(DegenerationMonitor(configuration.degeneration, hints), configuration.checkpoints.keep)
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(EventTeller(everyone, resumed=checkpoint is not None))
        told = Watchers((everyone, *setting.evaluations))
        evaluation = None if evaluated is None else _evaluation(evaluated, setting, trainer, held_out.examples, told)
        if evaluation is not None:
            trainer.add_callback(evaluation)
        try:
            trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint.folder))
        except DegeneratedError as error:
            why = {"reason": error.reason, "said": str(error)}
            everyone.happened(TrainingEvent("degenerated", error.step, trainer.state.max_steps, why))
            raise processes.same(error) from None
        except torch.OutOfMemoryError as error:
            hint = "Lower device_batch, or compute activations again (model.activation_checkpointing); then call it again."
            raise IncompleteError(f"the device has no memory left at step {trainer.state.global_step}\n{hint}") from error
        except OSError as error:  # of a picture, or of the folder
            hint = "If a picture cannot be read, `salon train data check` says which; what was whole before stays."
            raise IncompleteError(f"ended at step {trainer.state.global_step}: {line(error)}\n{hint}") from error
        numbers = {} if evaluation is None else dict(evaluation.latest)
        _keep(trainer, loaded, folder, numbers)
        everyone.happened(TrainingEvent("finished", trainer.state.global_step, trainer.state.max_steps, {}))
        return Trained(folder.model, trainer.state.global_step, None if checkpoint is None else checkpoint.step, numbers)


@dataclass(frozen=True, slots=True)
class _Begun:
    """How a stage stands when it is called: what it had ended with, or what it goes on from."""

    finished: Mapping[str, Any] | None
    checkpoint: Checkpoint | None


def _begun(kept: ExitStack, folder: RunFolder, configuration: StageConfiguration, processes: Processes, again: bool) -> _Begun:
    """Take the folder, until ``kept`` is closed; the first process does it for all."""
    kept.enter_context(folder)
    if again:
        folder.clear()
    folder.hold_against(configuration)
    checkpoint = folder.last_checkpoint()
    if folder.finished is None and checkpoint is not None and checkpoint.processes not in (None, processes.count):
        hint = "Start as many, or begin anew with --again: others would be given other prompts."
        raise InputError(
            f"{checkpoint.processes} processes trained here, and now there are", source=folder.path, value=processes.count,
            hint=hint,
        )  # fmt: skip
    return _Begun(folder.finished, checkpoint)


def steps_of(section: SftSection | GrpoSection, examples: int) -> int:
    """Optimizer steps of a stage: as given, or as many as its epochs take.

    Example:
        >>> steps_of(SftSection(epochs=2, batch=32), 100), steps_of(GrpoSection(epochs=1, batch=12, generations=6), 100)
        (7, 50)
    """
    if section.steps is not None:
        return section.steps
    if isinstance(section, SftSection):
        return max(1, -int(-(section.epochs or 0) * examples // section.batch))
    sequences = Fraction(str(section.epochs or 0)) * examples * section.generations * section.iterations
    return max(1, -int(-sequences // section.batch))


def _learned_from(setting: Setting, configuration: Configuration, stage: Stage) -> tuple[TrainingExample, ...]:
    """The examples of a stage, which have to be those that it was begun with."""
    rows = learning_data.stage_rows(configuration, stage)
    setting.notes += rows.notes
    if setting.processes.first:
        setting.folder.learn_from(rows.examples)
    return rows.examples


def _sft_trainer(setting: Setting, configuration: Configuration, section: SftSection) -> "Learning":
    from salon_train.trainers.imitation import ImitationTrainer

    data = configuration.data
    examples = _learned_from(setting, configuration, "sft")
    rows = learning_data.imitation_dataset(examples, data)
    steps = steps_of(section, len(examples))
    sampling = configuration.sampling
    if not sampling.sft:
        sampling = sampling.model_copy(update={"strategy": "shuffled"})
    plan = prompt_plan(examples, sampling, chunk=section.batch, chunks=steps, seed=configuration.run.seed)
    learning_data.check_lengths(setting.loaded.processor, rows, section.longest)
    trainer = ImitationTrainer(
        model=setting.loaded.model,
        args=arguments.sft_arguments(configuration, setting.folder.path, steps=steps, world=setting.processes.count),
        train_dataset=rows,
        processing_class=setting.loaded.processor,
    )
    trainer.sampling(lambda _: PlannedSampler(plan, chunk=section.batch))
    return trainer


def _grpo_trainer(setting: Setting, configuration: Configuration, section: GrpoSection) -> "Learning":
    from salon_train.trainers.policy import PolicyTrainer

    loaded, data = setting.loaded, configuration.data
    examples = _learned_from(setting, configuration, "grpo")
    rewards = open_rewards(configuration.reward, setting.environment, reasoning=data.reasoning)
    board = board_of(configuration.monitors, Grammar.MAGICMIRROR)
    rows = learning_data.policy_dataset(examples, data)
    steps = steps_of(section, len(examples))
    made = section.generation_batch or section.batch
    chunk = made // section.generations
    lasts = made // section.batch * section.iterations
    plan = prompt_plan(examples, configuration.sampling, chunk=chunk, chunks=-(-steps // lasts), seed=configuration.run.seed)
    learning_data.check_lengths(loaded.processor, rows, section.longest_prompt)
    settings = arguments.grpo_arguments(
        configuration,
        section,
        setting.folder.path,
        weights=[reward.weight for reward in configuration.reward],
        steps=steps,
        world=setting.processes.count,
        forbidden=loaded.image_token_ids,
    )
    trainer = PolicyTrainer(
        model=loaded.model, reward_funcs=rewards, args=settings, train_dataset=rows, processing_class=loaded.processor
    )
    repeats = settings.steps_per_generation * section.iterations
    watch = None if board is None else RunWatch(board, configuration.monitors, setting.watcher, steps=steps)
    if setting.processes.first:
        setting.listeners += recorders(setting, configuration)
        keep_completions(setting)
        setting.evaluations += [] if watch is None else [watch]
    trainer.sampling(
        lambda _: PlannedSampler(plan, chunk=chunk, together=section.generations, repeats=repeats),
        read_assessment,
        setting.listeners,
        watch,
    )
    return trainer


def keep_completions(setting: Setting) -> None:
    """Write some completions and every evaluation into ``completions.jsonl``, unless the configuration wants none."""
    most = setting.configuration.log.completions
    if most:
        checkpoint = setting.folder.last_checkpoint()
        resumed = None if checkpoint is None else checkpoint.step
        file = CompletionsFile(setting.folder.path / "completions.jsonl", most=most, resumed=resumed)
        setting.listeners.append(file.keep)
        setting.evaluations.append(file)


def recorders(setting: Setting, configuration: Configuration) -> Sequence[Callable[[SampledCompletions], None]]:
    """Who keeps completions in the store, where there is one."""
    from salon_taxonomy.digest import digest

    if configuration.store.folder is None:
        return []
    from importlib.metadata import version

    from salon_train.trainers.rollouts import RolloutRecorder

    told = configuration.model_dump_json(exclude={"log", "store", "monitors"})
    recorder = RolloutRecorder(
        Path(configuration.store.folder),
        run_id=digest("training run", {"folder": configuration.run.folder, "told": told, "stage": setting.folder.stage}),
        policy=Path(configuration.model.name).name,
        weights={reward.name: reward.weight for reward in configuration.reward},
        completions=configuration.store.completions,
        seed=configuration.run.seed,
        settings=told,
        version=version("salon-train"),
    )
    return [recorder.keep]


def _evaluation(
    configuration: Configuration,
    setting: Setting,
    trainer: Any,
    held_out: Sequence[TrainingExample],
    watcher: TrainingWatcher,
) -> HeldOutEvaluation | None:
    """What is measured during training, each process asking about its share; None without held-out pictures."""
    if not held_out:
        return None
    settings, processes = configuration.evaluation, setting.processes
    share = processes.share(held_out)

    def evaluate() -> Mapping[str, float | None]:
        from trl.models.utils import unwrap_model_for_generation

        with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model:
            own = held_out_answers(
                model,
                setting.loaded.processor,
                share,
                data=configuration.data,
                batch=settings.batch,
                longest=settings.longest,
                compute=_compute(trainer),
            )
        pairs = processes.collected(list(zip(own.texts, own.tokens, strict=True)), len(held_out))
        given = HeldOut(tuple(held_out), tuple(text for text, _ in pairs), tuple(tokens for _, tokens in pairs))
        if processes.first:
            given.write(Path(trainer.args.output_dir) / "held_out.jsonl")
        numbers = given.metrics()
        if processes.first:
            report_evaluation(trainer, numbers)
        return numbers

    return HeldOutEvaluation(evaluate, watcher, every=settings.every, at_start=settings.at_start)


def _compute(trainer: Any) -> Callable[[], AbstractContextManager[Any]]:
    return trainer.accelerator.autocast  # type: ignore[no-any-return]


def _keep(trainer: Any, loaded: LoadedModel, folder: RunFolder, numbers: Mapping[str, Any]) -> None:
    """Write the result; the main process says at last that the stage is finished."""
    with writing(folder.model):
        trainer.save_model(str(folder.model))
        if trainer.accelerator.is_main_process:
            loaded.processor.save_pretrained(folder.model)
            folder.finish({"steps": trainer.state.global_step, "evaluation": dict(numbers)})
    trainer.accelerator.wait_for_everyone()
