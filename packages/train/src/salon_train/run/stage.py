"""Run any stage: lock the folder, load the model, build and run the trainer, log the events.

configuration ──► folder ──► model ──► make(setting): trainer ──► checkpoints, log, evaluation ──► FOLDER/<stage>/model
A second call continues from the last whole checkpoint, or says that the stage is finished.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypedDict, Unpack

import torch
from transformers import PrinterCallback, set_seed

from salon_taxonomy.errors import IncompleteError, InputError, SalonError
from salon_train.configuration.schema import RunConfiguration, StageConfiguration
from salon_train.models.loading import LoadedModel, line, load_model, starting_weights
from salon_train.run import arguments
from salon_train.run.arguments import missing
from salon_train.run.callbacks import HeldOutEvaluation, WatcherCallback, open_project, quiet, report_evaluation
from salon_train.run.checkpoints import Checkpoint, undamaged, writing
from salon_train.run.completion_parsing import SampledCompletions
from salon_train.run.early_abort import ASSESSOR_HINTS, DegeneratedError, DegenerationMonitor, Hints
from salon_train.run.events import NO_WATCHER, Fact, LogFile, TrainingEvent, TrainingWatcher, TrainingWatchers, read_log
from salon_train.run.folder import Row, RunFolder, Stage, StageRows
from salon_train.run.processes import Processes

_NO_NUMBERS = ("step", "steps", "seconds")


@dataclass(frozen=True, slots=True)
class Trained:
    """The result of a stage.

    Attributes:
        model: the folder of the weights or adapters, with the processor.
        steps: optimizer steps of the whole stage.
        resumed_from: the step that this call continued from; None when it began.
        evaluation: the last numbers on held-out pictures; empty without any.
        already: the stage had been finished before this call, which did nothing.
        first: the training numbers of the first step that was logged.
        last: of the last one.
    """

    model: Path
    steps: int
    resumed_from: int | None
    evaluation: Mapping[str, Any]
    already: bool = False
    first: Mapping[str, float] = field(default_factory=dict)
    last: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Setting(Generic[Row]):
    """What a stage's trainer is made from.

    Attributes:
        configuration: of the run.
        folder: of the stage.
        loaded: the model that learns.
        watchers: observers of events; empty but on the main process.
        listeners: who is shown what was sampled.
        environment: where judges find their secrets.
        processes: that train together.
        notes: what people should know about the data, a sentence each.
        rows: to learn from, at least one.
    """

    configuration: StageConfiguration
    folder: RunFolder
    loaded: LoadedModel
    watchers: TrainingWatchers
    listeners: list[Callable[[SampledCompletions], None]]
    environment: Mapping[str, str]
    processes: Processes
    notes: list[str]
    rows: tuple[Row, ...]


class HeldOutAnswers(Protocol):
    """A model's answers about what is held out."""

    def metrics(self) -> Mapping[str, float | None]:
        """Return the numbers that are logged; None where one is undefined."""

    def write(self, path: Path) -> None:
        """Write the answers."""


class Measure(Protocol):
    """Lets a model answer about everything that is held out, greedily; draws nothing."""

    def __call__(
        self, model: Any, processor: Any, compute: Callable[[], AbstractContextManager[Any]], processes: Processes
    ) -> HeldOutAnswers:
        """``compute`` makes the context in which the model runs (autocast); each process asks about its share, and has all."""


class StageCall(TypedDict, total=False):
    """What every stage's function takes besides its configuration."""

    environment: Mapping[str, str]
    """Secrets of judges and editors, and the number of processes that train together (``WORLD_SIZE``, ``RANK``); a command
    line passes ``os.environ``. Default: no secrets, one process."""
    watcher: TrainingWatcher
    """Receives the events, beside the log file; of several processes the first one's does."""
    again: bool
    """Remove what the stage has done before, and begin again."""


def run_stage(
    configuration: StageConfiguration,
    stage: Stage,
    *,
    rows: Callable[[], StageRows[Row]],
    make: Callable[[Setting[Row]], Any],
    start: Callable[[], Path | None] = lambda: None,
    measure: Callable[[list[str]], Measure | None] = lambda _: None,
    hints: Hints = ASSESSOR_HINTS,
    **call: Unpack[StageCall],
) -> Trained:
    """Run one stage from its beginning or its last checkpoint to its end.

    Args:
        configuration: of the run.
        stage: its name, and that of its folder.
        rows: reads the rows to learn from; a second call with other rows is refused.
        make: builds the trainer, a :class:`~salon_train.trl.mixin.Learning`.
        start: finds a folder of weights in place of the configured model's; None: use that.
        measure: reads what is held out, adds what people should know about it to a list, and gives what evaluates the model in
            between; None: there is nothing.
        hints: what to do about a run that degenerated.
        call: see :class:`StageCall`.
    """
    environment, again = call.get("environment", {}), call.get("again", False)
    if configuration.run.threads is not None:
        torch.set_num_threads(configuration.run.threads)
    folder = RunFolder.of(configuration, stage)
    processes = Processes.of(environment)
    with ExitStack() as kept, quiet():
        processes.join(on_cpu=arguments.on_processor(configuration.model))
        state = processes.decided(lambda: begun(kept, folder, configuration, processes, again))
        if state.finished is not None:
            facts = state.finished
            return Trained(folder.model, facts["steps"], None, facts["evaluation"], True, *first_and_last(folder))
        checkpoint, passed = state.checkpoint, state.passed
        watchers = TrainingWatchers([LogFile(folder.log), call.get("watcher", NO_WATCHER)] if processes.first else [])

        def ready() -> tuple[Setting[Row], Measure | None, Any]:
            for problem in missing(configuration, stage):
                raise problem
            examples = rows()
            if not examples.examples:
                raise InputError("there is nothing to learn from", column="rows", value=0)
            notes = [*passed, *examples.notes]
            if processes.first:
                folder.learn_from(examples)
            measuring = measure(notes)
            set_seed(configuration.run.seed)  # adapters begin at random
            begins_with = start()
            loaded = load_model(configuration.model, start=begins_with)
            if processes.first:
                folder.start_from(starting_weights(configuration.model, begins_with))
            setting = Setting(configuration, folder, loaded, watchers, [], environment, processes, notes, examples.examples)
            return setting, measuring, make(setting)

        setting, measuring, trainer = processes.agreed(ready)
        if trainer.args.world_size != processes.count:
            hint = "Pass os.environ as environment, where a launcher has started several processes."
            raise InputError(
                f"{trainer.args.world_size} processes train, and the environment says", value=processes.count, hint=hint
            )
        if processes.first:
            folder.begin(configuration)
            open_project(configuration, stage)
        for note in setting.notes:
            watchers.happened(TrainingEvent("noted", 0, trainer.args.max_steps, {"note": note}))
        trainer.set_guards(DegenerationMonitor(configuration.degeneration, hints), configuration.checkpoints.keep)
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(WatcherCallback(watchers, resumed=checkpoint is not None))
        evaluation = None if measuring is None else _evaluation(setting, measuring, trainer)
        if evaluation is not None:
            trainer.add_callback(evaluation)
        _train(trainer, None if checkpoint is None else str(checkpoint.folder), setting)
        numbers = {} if evaluation is None else dict(evaluation.latest)
        _keep(trainer, setting.loaded, folder, numbers)
        watchers.happened(TrainingEvent("finished", trainer.state.global_step, trainer.state.max_steps, {}))
        resumed = None if checkpoint is None else checkpoint.step
        return Trained(folder.model, trainer.state.global_step, resumed, numbers, False, *first_and_last(folder))


def first_and_last(folder: RunFolder) -> tuple[dict[str, float], dict[str, float]]:
    """Return the training numbers of the first and of the last step that was logged."""
    learned = [row for row in read_log(folder.log) if row["what"] == "learned"] if folder.log.is_file() else []
    first, last = (
        {name: value for name, value in row.items() if isinstance(value, int | float) and name not in _NO_NUMBERS}
        for row in ((learned[0], learned[-1]) if learned else ({}, {}))
    )
    return first, last


@dataclass(frozen=True, slots=True)
class BegunStage:
    """How a stage stands when it is called.

    Attributes:
        finished: what it had ended with; None where it has not.
        checkpoint: what it continues from; None where it begins.
        passed: a sentence about each damaged checkpoint that was passed over.
    """

    finished: Mapping[str, Any] | None
    checkpoint: Checkpoint | None
    passed: list[str]


def begun(kept: ExitStack, folder: RunFolder, configuration: RunConfiguration, processes: Processes, again: bool) -> BegunStage:
    """Take the folder, until ``kept`` is closed; the first process does it for all.

    Args:
        kept: holds the folder's lock.
        folder: of the stage.
        configuration: compared with the one that the stage was begun with.
        processes: that train together.
        again: remove what the stage has done before.

    Raises:
        InputError: another process trains there, a setting changed, or no checkpoint is whole.
    """
    kept.enter_context(folder)
    if again:
        folder.clear()
    folder.hold_against(configuration)
    if folder.finished is not None:
        return BegunStage(folder.finished, None, [])
    checkpoint, passed = undamaged(folder.path)
    if checkpoint is not None and checkpoint.processes not in (None, processes.count):
        hint = "Start as many, or begin again with --again: others would be given other prompts."
        raise InputError(
            f"{checkpoint.processes} processes trained here, and now there are", source=folder.path, value=processes.count,
            hint=hint,
        )  # fmt: skip
    return BegunStage(None, checkpoint, passed)


def _train(trainer: Any, checkpoint: str | None, setting: Setting[Any]) -> None:
    """Train to the end."""
    with logged_end(
        setting.watchers,
        lambda: (trainer.state.global_step, max(trainer.state.max_steps, 0)),
        memory="Lower device_batch, or compute activations again (model.activation_checkpointing); then call it again.",
        unreadable="If a picture cannot be read, `salon train data check` says which; what was whole before stays.",
        same=setting.processes.same,
    ):
        trainer.train(resume_from_checkpoint=checkpoint)


@contextmanager
def logged_end(
    watchers: TrainingWatchers,
    at: Callable[[], tuple[int, int]],
    *,
    memory: str,
    unreadable: str,
    same: Callable[[DegeneratedError], SalonError] = lambda error: error,
) -> Iterator[None]:
    """Log the reason of training that ends early, and raise it for people.

    Args:
        watchers: receive the event.
        at: returns optimizer steps done, and those of the whole stage.
        memory: what to do where the device has no memory left.
        unreadable: what to do about a file that cannot be read or written.
        same: the error that all processes raise together.

    Raises:
        IncompleteError: no memory, or a file.
    """

    def told(what: str, step: int, facts: Mapping[str, Fact]) -> None:
        with suppress(OSError, SalonError):  # a full disk takes no event either
            watchers.happened(TrainingEvent(what, step, at()[1], facts))

    try:
        yield
    except DegeneratedError as error:
        told("degenerated", error.step, {"reason": error.reason, "said": str(error)})
        raise same(error) from None
    except torch.OutOfMemoryError as error:
        step, _ = at()
        told("stopped", step, {"reason": "out of memory"})
        raise IncompleteError(f"the device has no memory left at step {step}\n{memory}") from error
    except OSError as error:  # of a picture, or of the folder
        step, _ = at()
        told("stopped", step, {"reason": type(error).__name__, "said": str(error)})
        raise IncompleteError(f"ended at step {step}: {line(error)}\n{unreadable}") from error
    except KeyboardInterrupt:
        told("stopped", at()[0], {"reason": "interrupted"})
        raise
    except Exception as error:  # of anybody's code: its words may hold a secret, so only its kind is kept
        told("stopped", at()[0], {"reason": type(error).__name__})
        raise


def _evaluation(setting: Setting[Any], measure: Measure, trainer: Any) -> HeldOutEvaluation:
    """Return what measures the model during training, and writes its answers."""

    def evaluate() -> Mapping[str, float | None]:
        from trl.models.utils import unwrap_model_for_generation

        with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model:
            held_out = measure(model, setting.loaded.processor, trainer.accelerator.autocast, setting.processes)
        numbers = held_out.metrics()
        if setting.processes.first:
            held_out.write(Path(trainer.args.output_dir) / "held_out.jsonl")
            report_evaluation(trainer, numbers)
        return numbers

    section = setting.configuration.evaluation
    return HeldOutEvaluation(evaluate, setting.watchers, every=section.every, at_start=section.at_start)


def _keep(trainer: Any, loaded: LoadedModel, folder: RunFolder, numbers: Mapping[str, Any]) -> None:
    """Write the result; the main process says at last that the stage is finished."""
    with writing(folder.model):
        trainer.save_model(str(folder.model))
        if trainer.accelerator.is_main_process:
            loaded.processor.save_pretrained(folder.model)
            folder.finish({"steps": trainer.state.global_step, "evaluation": dict(numbers)})
    trainer.accelerator.wait_for_everyone()
