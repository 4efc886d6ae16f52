"""The plan that every dry run prints, whatever learns: steps, parameters, memory and tokens, from sizes alone.

configuration ──► the model's own files (or what is known of it) ──► parameters by part ──► memory by formula
rows ──► processor ──► the longest question
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Decoding, Question
from salon_train.configuration.schema import GrpoSection, ModelSection, SftSection, StageConfiguration
from salon_train.data.lengths import check_lengths
from salon_train.models.hub import HINT, hub_problem
from salon_train.models.parts import PARTS, part_of
from salon_train.models.shapes import config_of, without_weights
from salon_train.run import arguments
from salon_train.run.arguments import missing
from salon_train.run.folder import Stage
from salon_train.run.memory import MemoryEstimate, estimate, shape_of
from salon_train.run.processes import Processes

if TYPE_CHECKING:
    from datasets import Dataset

_Row = TypeVar("_Row")
_TRIED: Final = 32
NOT_HERE: Final = "The model is not on this machine: sizes are those that its configuration is known to have."
UNKNOWN_TOKENS: Final = 1024
"""Tokens of a question and picture of which nothing is known."""


@dataclass(frozen=True, slots=True)
class StageDryRun:
    """The plan of a stage.

    Attributes:
        stage: which.
        model: its name.
        own_configuration: sizes are from the model's own files; False: from what is known of it.
        parameters: by part.
        learning: parameters that learn, by part; adapters count for their part.
        memory: on one device that holds the whole model, in bytes.
        devices: processes that train together.
        steps: optimizer steps.
        batch: sequences of an optimizer step, over all devices.
        device_batch: computed at once on each device.
        accumulated: passes before an optimizer step.
        prompts: different prompts of a generation batch (SFT: of a step).
        quota: prompts of each bucket in it; empty when there are no buckets.
        epochs: passes over the examples that the steps make.
        examples: learned from, by bucket.
        held_out: pictures for evaluation.
        tokens: of the longest question that was counted, picture included (SFT: and the answer); None where the processor is
            not here.
        rewards: names and weights.
        judges: that answered.
        editor: that carries instructions out; None where nothing is edited.
        notes: what a reader should know.
    """

    stage: Stage
    model: str
    own_configuration: bool
    parameters: Mapping[str, int]
    learning: Mapping[str, int]
    memory: MemoryEstimate
    devices: int
    steps: int
    batch: int
    device_batch: int
    accumulated: int
    prompts: int
    quota: Mapping[str, int]
    epochs: float
    examples: Mapping[str, int]
    held_out: int
    tokens: int | None
    rewards: Mapping[str, float | str] = field(default_factory=dict)
    judges: tuple[str, ...] = ()
    editor: str | None = None
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; memory has its total beside its parts."""
        plain = asdict(self)
        plain["memory"] = {**self.memory.parts, "total": self.memory.total}
        return plain


@dataclass(frozen=True, slots=True)
class Checked(Generic[_Row]):
    """What a stage's own checks have found, for :func:`planned`.

    Attributes:
        rows: to learn from.
        held_out: how many are measured on.
        dataset: makes rows for the trainer.
        buckets: rows by bucket.
        steps: optimizer steps.
        prompts: different prompts at once.
        seen: rows that the steps learn from, repeated ones counted again.
        assumed: about how many tokens a question and its picture take, from the model's configuration; None: unknown.
        quota: prompts of each bucket at once.
        rewards: names and weights.
        judges: that answered.
        editor: what to say of it.
        notes: what a reader should know.
    """

    rows: Sequence[_Row]
    held_out: int
    dataset: Callable[[Sequence[_Row]], "Dataset"]
    buckets: Mapping[str, int]
    steps: int
    prompts: int
    seen: int
    assumed: Callable[[Any], int] | None = None
    quota: Mapping[str, int] = field(default_factory=dict)
    rewards: Mapping[str, float | str] = field(default_factory=dict)
    judges: tuple[str, ...] = ()
    editor: str | None = None
    notes: tuple[str, ...] = ()


def planned(
    configuration: StageConfiguration,
    stage: Stage,
    section: SftSection | GrpoSection,
    checked: Checked[Any],
    environment: Mapping[str, str],
) -> StageDryRun:
    """Return the plan of a stage whose data, rewards and helpers have been checked; no weights are loaded.

    The hub is asked for a model's configuration and processor, once it is known to answer; else its cache is.

    Args:
        configuration: of the run.
        stage: its name.
        section: how it learns.
        checked: what is known of it.
        environment: how many processes train together.

    Raises:
        InputError: the model cannot be found, a row is too long, or a batch cannot be divided.
    """
    world = Processes.of(environment).count
    own, accumulated = arguments.device_batch(section, section.batch, world=world)
    model = configuration.model
    hub = hub_problem(model.name)
    config, own_files = config_of(model.name, model.revision, hub=hub)
    parameters, learning = _parameters(model, config)
    tokens = _tokens(model, section, checked, hub)
    notes = [*checked.notes, *(() if own_files else (NOT_HERE,))]
    notes += [] if hub is None else [f"{hub[0].upper()}{hub[1:]}. {HINT}"]
    assumed = tokens
    if tokens is None and not _longest(section) and checked.assumed is not None:
        assumed = checked.assumed(config)
        notes.append(f"No processor is here to count tokens: memory is estimated for {assumed:,} of picture and question.")
    notes += [str(problem).replace("\n", ". ") for problem in missing(configuration, stage)]
    return StageDryRun(
        stage=stage,
        model=model.name,
        own_configuration=own_files,
        parameters=parameters,
        learning=learning,
        memory=_memory(model, section, config, parameters, learning, own, assumed),
        devices=world,
        steps=checked.steps,
        batch=section.batch,
        device_batch=own,
        accumulated=accumulated,
        prompts=checked.prompts,
        quota=checked.quota,
        epochs=checked.seen / len(checked.rows),
        examples=checked.buckets,
        held_out=checked.held_out,
        tokens=tokens,
        rewards=checked.rewards,
        judges=checked.judges,
        editor=checked.editor,
        notes=tuple(notes),
    )


def spread(rows: Sequence[_Row]) -> list[tuple[int, _Row]]:
    """Return a few of the rows, evenly, with their places: those that a dry run tries.

    Example:
        >>> spread("abc")
        [(0, 'a'), (1, 'b'), (2, 'c')]
        >>> [place for place, _ in spread(range(96))][:3]
        [0, 3, 6]
    """
    return [(place, rows[place]) for place in range(0, len(rows), max(1, len(rows) // _TRIED))]


def first_unreadable(rows: Sequence[_Row], opened: Callable[[_Row], object]) -> tuple[int, _Row, Exception] | None:
    """Return the first of some rows whose picture cannot be opened, with place and error; None without any."""
    for number, row in spread(rows):
        try:
            opened(row)
        except (OSError, ValueError) as error:
            return number, row, error
    return None


def overlap(learned: Iterable[Hashable], held_out: Iterable[Hashable]) -> tuple[str, ...]:
    """Return a note that says how many held-out pictures are also learned from; empty for none.

    Example:
        >>> overlap("abc", "cd")
        ('1 held-out pictures are also learned from: evaluation will look better than it is.',)
    """
    known = set(learned)
    both = sum(picture in known for picture in held_out)
    return (f"{both} held-out pictures are also learned from: evaluation will look better than it is.",) if both else ()


def ask_judges(judges: Sequence[str], environment: Mapping[str, str], *, key: str = "reward.options.judge") -> tuple[str, ...]:
    """Ask every judge one question; ``key`` is the setting that names them.

    Raises:
        InputError: for one that does not answer.
    """
    from salon_judges.clients import open_judge

    async def ask(specification: str) -> str | None:
        async with open_judge(specification, environment) as judge:
            reply = await judge.ask(Question(("Reply with the word yes.",), decoding=Decoding(max_tokens=8)))
            return None if reply.problem() is None or reply.text else (reply.error or str(reply.status))

    for specification in judges:
        problem = asyncio.run(ask(specification))
        if problem is not None:
            raise InputError(f"the judge does not answer ({problem}):", key=key, value=specification)
    return tuple(judges)


def _tokens(model: ModelSection, section: SftSection | GrpoSection, checked: Checked[Any], hub: str | None) -> int | None:
    """Return the tokens of the longest of a few questions; None without a processor."""
    from salon_train.models.loading import load_processor

    try:
        processor = load_processor(model, model.name, hub=hub)
    except InputError:
        return None
    rows = checked.dataset([row for _, row in spread(checked.rows)])
    return check_lengths(processor, rows, _longest(section))


def _longest(section: SftSection | GrpoSection) -> int | None:
    """Return the limit that a row's tokens are held against."""
    return section.longest_prompt if isinstance(section, GrpoSection) else section.longest


def _parameters(section: ModelSection, config: Any) -> tuple[dict[str, int], dict[str, int]]:
    """Return parameters by part, and those that learn; ``config`` is the model's own."""
    import torch

    from salon_train.models.loading import with_adapters

    model = without_weights(config)
    parameters: dict[str, int] = dict.fromkeys(PARTS, 0)
    for name, parameter in model.named_parameters():
        parameters[part_of(name)] += parameter.numel()
    learning: dict[str, int] = dict.fromkeys(PARTS, 0)
    if section.training == "lora":
        with torch.device("meta"):
            model = with_adapters(model, section.lora)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and (section.training == "lora" or part_of(name) not in section.freeze):
            learning[part_of(name)] += parameter.numel()
    return parameters, learning


def _memory(
    model: ModelSection,
    section: SftSection | GrpoSection,
    config: Any,
    parameters: Mapping[str, int],
    learning: Mapping[str, int],
    sequences: int,
    tokens: int | None,
) -> MemoryEstimate:
    """Return the estimate for a stage; ``sequences`` are computed at once, ``tokens`` are a question's (None: not counted)."""
    width, layers, vocabulary = shape_of(config)
    full = model.training == "full"
    chosen = {"auto": "float32" if full else "bfloat16"}.get(model.dtype, model.dtype)
    half = {"auto": "float32" if model.device == "cpu" else "bfloat16"}.get(model.compute, model.compute)
    answer = section.longest if isinstance(section, GrpoSection) else 0
    asked = tokens or _longest(section) or UNKNOWN_TOKENS
    held = sum(parameters.values()) + (0 if full else sum(learning.values()))
    return estimate(
        parameters=held,
        learning=sum(learning.values()),
        weight_format=chosen,
        learning_format=chosen if full else "float32",
        compute_format=half,
        sequences=sequences,
        tokens=asked + answer,
        width=width,
        layers=layers,
        vocabulary=vocabulary,
        checkpointing=model.activation_checkpointing,
        reference=full and isinstance(section, GrpoSection) and section.kl > 0,
    )
