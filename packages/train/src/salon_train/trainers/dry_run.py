"""What a stage would do, and whether it can: everything that can be known before weights are loaded.

configuration ──► data read, pictures opened, ratio held against the buckets
              ├─► rewards made and tried on hostile answers, judges asked one question
              ├─► parameters by part, share that learns, memory by formula
              └─► steps, prompts, epochs
"""

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any, Final

from salon_taxonomy.answers import magicmirror_json
from salon_taxonomy.errors import InputError, SalonError
from salon_taxonomy.protocols import Decoding, Question
from salon_train.configuration.schema import Configuration, GrpoSection, ModelSection, SftSection
from salon_train.data import TrainingExample
from salon_train.models.loading import line
from salon_train.models.parts import PARTS, part_of
from salon_train.models.shapes import config_of, without_weights
from salon_train.trainers import arguments, learning_data
from salon_train.trainers.answering import picture_of
from salon_train.trainers.memory import MemoryEstimate, estimate, shape_of
from salon_train.trainers.plan import counted, quotas
from salon_train.trainers.processes import Processes
from salon_train.trainers.requirements import missing
from salon_train.trainers.rewards import judges_of, name_of, open_rewards
from salon_train.trainers.run_folder import RunFolder, Stage
from salon_train.trainers.stages import steps_of

_PICTURES_TRIED: Final = 32
_TRIED: Final = ("", "The picture looks fine to me.", r'\boxed{{"Whether Normal": fal')
NOT_HERE: Final = "The model is not on this machine: sizes are those that its configuration is known to have."
_UNKNOWN_TOKENS: Final = 1024
"""Tokens of a question and picture of which nothing is known."""
_LETTERS: Final = 3
"""Of a token, about, where the processor is not here to count them."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The plan of a stage.

    Attributes:
        stage: which.
        model: its name.
        own_configuration: sizes are from the model's own files; False: from what is known of it.
        parameters: by part.
        learning: parameters that learn, by part; adapters count for the part that they stand in.
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
    rewards: Mapping[str, float] = field(default_factory=dict)
    judges: tuple[str, ...] = ()
    editor: str | None = None
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; memory has its total beside its parts."""
        plain = asdict(self)
        plain["memory"] = {**self.memory.parts, "total": self.memory.total}
        return plain


def dry_run(configuration: Configuration, stage: Stage, environment: Mapping[str, str]) -> DryRun:
    """Check a stage and plan it; no weights are loaded, nothing is written, and each judge is asked one question.

    Args:
        configuration: of the run.
        stage: ``sft`` or ``grpo``.
        environment: where judges find their secrets.

    Raises:
        InputError: for the first thing that cannot work.
    """
    section: SftSection | GrpoSection | None = configuration.sft if stage == "sft" else configuration.grpo
    if section is None:
        raise InputError(f"the configuration has no section [{stage}]", key=stage)
    learned, measured = learning_data.stage_rows(configuration, stage), learning_data.held_out_rows(configuration)
    examples, held_out = learned.examples, measured.examples
    notes = (*learned.notes, *measured.notes, *_overlap(examples, held_out))
    _pictures(examples)
    _pictures(held_out)
    world = Processes.of(environment).count
    own, accumulated = arguments.device_batch(section, section.batch, world=world)
    steps = steps_of(section, len(examples))
    prompts = section.batch
    quota: dict[str, int] = {}
    paid: dict[str, float] = {}
    judges: tuple[str, ...] = ()
    if isinstance(section, GrpoSection):
        prompts = (section.generation_batch or section.batch) // section.generations
        rewards = open_rewards(configuration.reward, environment, reasoning=configuration.data.reasoning)
        paid = {name_of(reward): each.weight for reward, each in zip(rewards, configuration.reward, strict=True)}
        _try(rewards, examples[0])
        judges = ask_judges(judges_of(configuration.reward), environment)
    if isinstance(section, GrpoSection) or configuration.sampling.sft:
        quota = _quota(configuration, prompts, examples)
    seen = steps * section.batch
    if isinstance(section, GrpoSection):
        seen = seen // section.generations // section.iterations
    config, own_files = config_of(configuration.model.name, configuration.model.revision)
    parameters, learning = parameters_of(configuration.model, config)
    tokens = _tokens(configuration, section, examples)
    notes += () if own_files else (NOT_HERE,)
    assumed = tokens
    if tokens is None and not _longest(section):
        assumed = assumed_tokens(configuration, config, examples)
        notes += (f"No processor is here to count tokens: memory is estimated for {assumed:,} of picture and question.",)
    notes += tuple(str(problem).replace("\n", ". ") for problem in missing(configuration, stage))
    start = RunFolder.of(configuration, "sft")
    if isinstance(section, GrpoSection) and section.start == "sft" and start.finished is None:
        notes += (f"The cold start is not finished: run `salon train sft` first ({start.path}).",)
    return DryRun(
        stage=stage,
        model=configuration.model.name,
        own_configuration=own_files,
        parameters=parameters,
        learning=learning,
        memory=memory_of(configuration.model, section, config, parameters, learning, own, assumed),
        devices=world,
        steps=steps,
        batch=section.batch,
        device_batch=own,
        accumulated=accumulated,
        prompts=prompts,
        quota=quota,
        epochs=seen / len(examples),
        examples=counted(examples),
        held_out=len(held_out),
        tokens=tokens,
        rewards=paid,
        judges=judges,
        notes=notes,
    )


def _pictures(examples: Sequence[TrainingExample]) -> None:
    """Some of the pictures can be read.

    Raises:
        InputError: for the first that cannot.
    """
    for place in range(0, len(examples), max(1, len(examples) // _PICTURES_TRIED)):
        try:
            picture_of(examples[place])
        except (OSError, ValueError) as error:
            raise InputError(
                f"the picture cannot be read ({error})", source=examples[place].example_id, row=place + 1
            ) from error


def _overlap(examples: Sequence[TrainingExample], held_out: Sequence[TrainingExample]) -> tuple[str, ...]:
    learned = {example.image if isinstance(example.image, bytes) else str(example.image) for example in examples}
    both = sum((example.image if isinstance(example.image, bytes) else str(example.image)) in learned for example in held_out)
    return (f"{both} held-out pictures are also learned from: evaluation will look better than it is.",) if both else ()


def _quota(configuration: Configuration, prompts: int, examples: Sequence[TrainingExample]) -> dict[str, int]:
    if configuration.sampling.strategy == "shuffled":
        return {}
    from salon_train.trainers.plan import prompt_plan

    prompt_plan(examples, configuration.sampling, chunk=prompts, chunks=1, seed=configuration.run.seed)
    return quotas(configuration.sampling, prompts)


def _try(rewards: Sequence[Any], example: TrainingExample) -> None:
    """Every reward by rule takes hostile answers; those that ask somebody are tried by asking their judge.

    Raises:
        InputError: for one that fails, or gives something else than numbers.
    """
    from transformers import TrainerState

    count = len(_TRIED)
    columns = {
        "prompts": [[{"role": "user", "content": "?"}]] * count,
        "truth": [magicmirror_json(example.truth)] * count,
        "example_id": [example.example_id] * count,
        "bucket": [example.buckets[0]] * count,
        "completion_ids": [[0]] * count,
        "trainer_state": TrainerState(),
        "log_extra": lambda *_: None,
        "log_metric": lambda *_: None,
    }
    for reward in rewards:
        if inspect.iscoroutinefunction(reward) or inspect.iscoroutinefunction(type(reward).__call__):
            continue
        completions = [[{"role": "assistant", "content": text}] for text in _TRIED]
        try:
            paid = reward(completions=completions, **columns)
        except SalonError:
            raise
        except Exception as error:  # of any code that a user names
            problem = f"the reward fails on an answer that cannot be read ({type(error).__name__}: {line(error)}):"
            raise InputError(problem, key="reward.name", value=name_of(reward)) from error
        if len(paid) != count or not all(each is None or (isinstance(each, int | float) and isfinite(each)) for each in paid):
            raise InputError("the reward does not give one finite number or None for each completion:", value=name_of(reward))


def ask_judges(judges: Sequence[str], environment: Mapping[str, str], *, key: str = "reward.options.judge") -> tuple[str, ...]:
    """Ask every judge one question; ``key`` is the setting that names them.

    Raises:
        InputError: for one that does not answer.
    """
    from salon_bench.judges import open_judge

    async def ask(specification: str) -> str | None:
        async with open_judge(specification, environment) as judge:
            reply = await judge.ask(Question(("Reply with the word yes.",), decoding=Decoding(max_tokens=8)))
            return None if reply.problem() is None or reply.text else (reply.error or str(reply.status))

    for specification in judges:
        problem = asyncio.run(ask(specification))
        if problem is not None:
            raise InputError(f"the judge does not answer ({problem}):", key=key, value=specification)
    return tuple(judges)


def parameters_of(section: ModelSection, config: Any) -> tuple[dict[str, int], dict[str, int]]:
    """Parameters by part, and those that learn; ``config`` is the model's own."""
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


def _longest(section: SftSection | GrpoSection) -> int | None:
    """The limit that a row's tokens are held against."""
    return section.longest_prompt if isinstance(section, GrpoSection) else section.longest


def assumed_tokens(configuration: Configuration, config: Any, examples: Sequence[TrainingExample]) -> int:
    """About how many tokens a picture and its question take, from the model's patches, the pictures' sizes and the letters."""
    vision, model = getattr(config, "vision_config", None), configuration.model
    patch, merged = getattr(vision, "patch_size", None), getattr(vision, "spatial_merge_size", None)
    letters = len(learning_data.question(examples[0], configuration.data))
    if not isinstance(patch, int):
        return _UNKNOWN_TOKENS + letters // _LETTERS
    if merged is None:  # a picture always becomes as many patches
        return (int(getattr(vision, "image_size", 0) or 0) // patch) ** 2 + letters // _LETTERS
    some = examples[:: max(1, len(examples) // _PICTURES_TRIED)]
    pixels = max(int(picture.width * picture.height) for picture in map(picture_of, some))
    pixels = max(min(pixels, model.most_pixels or pixels), model.least_pixels or 0)
    return -(-pixels // (patch * int(merged)) ** 2) + letters // _LETTERS


def _tokens(configuration: Configuration, section: SftSection | GrpoSection, examples: Sequence[TrainingExample]) -> int | None:
    """The longest of a few questions (SFT: with their answers); None where the processor cannot be had."""
    from salon_train.models.loading import load_processor

    try:
        processor = load_processor(configuration.model, configuration.model.name)
    except InputError:
        return None
    made = learning_data.policy_dataset if isinstance(section, GrpoSection) else learning_data.imitation_dataset
    rows = made(examples[:: max(1, len(examples) // _PICTURES_TRIED)], configuration.data)
    return learning_data.check_lengths(processor, rows, _longest(section))


def memory_of(
    model: ModelSection,
    section: SftSection | GrpoSection,
    config: Any,
    parameters: Mapping[str, int],
    learning: Mapping[str, int],
    sequences: int,
    tokens: int | None,
) -> MemoryEstimate:
    """The estimate for a stage; ``sequences`` are computed at once, ``tokens`` are a question's (None: not counted)."""
    width, layers, vocabulary = shape_of(config)
    full = model.training == "full"
    chosen = {"auto": "float32" if full else "bfloat16"}.get(model.dtype, model.dtype)
    half = {"auto": "float32" if model.device == "cpu" else "bfloat16"}.get(model.compute, model.compute)
    answer = section.longest if isinstance(section, GrpoSection) else 0
    asked = tokens or _longest(section) or _UNKNOWN_TOKENS
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
