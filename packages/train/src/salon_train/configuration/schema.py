"""Every setting of a training run, section by section as in the TOML file. Frozen; unknown keys are refused.

    [run]  [model]  [data]  [sampling]  [[reward]]  [composition]  [sft]  [grpo]  [evaluation]  [checkpoints]
    [degeneration]  [monitors]  [log]  [store]

Defaults are those of a small run on one machine; the published recipes are in ``presets/``.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag, model_validator

from salon_taxonomy.training_example import MAIN_BUCKETS, NORMAL

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1)]
Whole = Annotated[int, Field(ge=1)]
Counted = Annotated[int, Field(ge=0)]
Text = Annotated[str, Field(min_length=1)]
NEAR: Final = "relative to the file"
"""Marks a setting that holds a path, or several: a relative one is looked up from the configuration's own folder."""

CHANGEABLE: Final = ("log", "store", "evaluation", "checkpoints", "degeneration", "monitors")
"""Sections that do not change which weights come out, and may be changed between two calls of a stage."""

PAPER_RATIO = {NORMAL: 4, **{bucket: 1 for bucket in MAIN_BUCKETS if bucket != NORMAL}}
"""4:1:1:1:1 (MagicMirror, section 3.1)."""


class ConfigurationTable(BaseModel):
    """One table of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class RunSection(ConfigurationTable):
    """Folder and random seed of a run.

    Attributes:
        folder: of everything that the run writes; relative to the file.
        seed: of every draw.
        threads: of torch on the processor; None leaves them as they are.
    """

    folder: Annotated[Text, NEAR]
    seed: Counted = 0
    threads: Whole | None = None


class LoraSection(ConfigurationTable):
    """Low-rank adapters (peft).

    Attributes:
        rank: of each adapter.
        alpha: its scale is ``alpha / rank``; None: twice the rank.
        dropout: before each adapter, in training.
        targets: ``language``: every linear layer of the language model but the output layer; ``all``: those of the vision
            tower and of what joins the two as well; or names of modules, as peft takes them.
    """

    rank: Whole = 32
    alpha: Whole | None = None
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    targets: Literal["language", "all"] | tuple[str, ...] = "language"


class ModelSection(ConfigurationTable):
    """Which model learns.

    Attributes:
        name: a name on the Hugging Face hub, or a folder (relative to the file), of any vision-language model that
            ``AutoModelForImageTextToText`` loads.
        revision: branch, tag or commit on the hub.
        dtype: of the weights; ``auto``: float32 where all of them learn, as they were saved under adapters.
        compute: the number format of activations; ``auto``: bfloat16 on an accelerator, float32 on the processor.
        attention: the implementation, as transformers calls it; None leaves the choice to transformers.
        device: ``auto``: the accelerator, where there is one.
        training: all weights (``full``), or adapters (``lora``).
        lora: the adapters.
        freeze: parts that do not learn in ``full`` training: the vision tower, what joins the two, the language model.
        activation_checkpointing: compute activations again instead of keeping them: less memory, about a third more time.
        least_pixels, most_pixels: width × height that a picture is scaled to, for processors that scale (Qwen's); None
            leaves the processor's own.
    """

    name: Text
    revision: str | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    compute: Literal["auto", "float32", "bfloat16"] = "auto"
    attention: str | None = None
    device: Literal["auto", "cpu"] = "auto"
    training: Literal["full", "lora"] = "full"
    lora: LoraSection = LoraSection()
    freeze: tuple[Literal["vision", "connector", "language"], ...] = ()
    activation_checkpointing: bool = False
    least_pixels: Whole | None = None
    most_pixels: Whole | None = None

    @model_validator(mode="after")
    def _all_used(self) -> Self:
        _refuse_void(self, ("lora",), 'training = "lora"', self.training == "lora")
        _refuse_void(self, ("freeze",), 'training = "full"', self.training == "full")
        return self


class DataSection(ConfigurationTable):
    """What is learned from.

    Attributes:
        train: files in MagicData340K's form (JSON Lines, Parquet), relative to the file.
        sft: files for the cold start, where they are others (rows with reasoning); empty: ``train``.
        held_out: files that are never learned from, for evaluation; empty: no evaluation during training.
        pictures: the folder that the rows' pictures are in; None: each file's own folder.
        question: what the model is asked about each picture: ``full`` (as None: MagicBench's question, with every label's
            definition), ``short``, ``bare``, or words of your own, in which ``{prompt}`` is what the generator was told.
        reasoning: whether answers begin with ``<think>…</think>``, as in the paper; a row without reasoning gets an empty
            block. False: the box alone, for models too small to reason.
        limit: so many rows of ``train``; None: all.
    """

    train: Annotated[tuple[str, ...], Field(min_length=1), NEAR]
    sft: Annotated[tuple[str, ...], NEAR] = ()
    held_out: Annotated[tuple[str, ...], NEAR] = ()
    pictures: Annotated[str | None, NEAR] = None
    question: str | None = None
    reasoning: bool = True
    limit: Whole | None = None


def _refuse_void(section: ConfigurationTable, options: Sequence[str], needs: str, fulfilled: bool) -> None:
    """Refuse options with another value than the default that do nothing, because another option makes them void."""
    for option in () if fulfilled else options:
        if getattr(section, option) != type(section).model_fields[option].get_default(call_default_factory=True):
            raise ValueError(f"{option} does nothing without {needs}: set that, or take {option} out")


class SamplingSection(ConfigurationTable):
    """Which rows come up, and how often (MagicMirror, section 3.1).

    Attributes:
        strategy: ``multi_bucket``: every batch of prompts holds the ratio; ``shuffled``: rows as they come.
        ratio: prompts per bucket; a bucket that is not named is not drawn.
        hard_positives: how many times more often a normal picture of something difficult comes up; 1: like others. Above 1,
            data without such a picture (column ``hard_positive``) are refused.
        sft: whether the SFT warm-up (cold start) is drawn with this sampler as well; False: each row comes up equally often.
    """

    strategy: Literal["multi_bucket", "shuffled"] = "multi_bucket"
    ratio: dict[str, Counted] = Field(default_factory=lambda: dict(PAPER_RATIO))
    hard_positives: Annotated[float, Field(ge=1)] = 1.0
    sft: bool = False

    @model_validator(mode="after")
    def _known(self) -> Self:
        unknown = self.ratio.keys() - set(MAIN_BUCKETS)
        if unknown:
            raise ValueError(f"unknown bucket {min(unknown)!r} (allowed: {', '.join(MAIN_BUCKETS)})")
        if not sum(self.ratio.values()):
            raise ValueError("a ratio needs at least one bucket above 0")
        _refuse_void(self, ("ratio",), 'strategy = "multi_bucket"', self.strategy == "multi_bucket")
        return self


Weight = Annotated[float, Field(allow_inf_nan=False)]


class LinearWeight(ConfigurationTable):
    """A weight that changes in a straight line.

    In a file: ``{ start = 0.0, end = 2.0, last = 100 }``.

    Attributes:
        start: the weight up to the step ``first``.
        end: the weight from the step ``last`` on.
        first: optimizer step.
        last: optimizer step, after ``first``.
    """

    start: Weight
    end: Weight
    first: Counted = 0
    last: Whole

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.last <= self.first:
            raise ValueError(f"last must be above first, {self.first}, got {self.last}")
        return self


class StepWeight(ConfigurationTable):
    """A weight that changes at given steps: ``weight = { steps = [[0, 1.0], [100, 0.25]] }``.

    Attributes:
        steps: pairs of an optimizer step and the weight from it on; the first step is 0.
    """

    steps: Annotated[tuple[tuple[Counted, Weight], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        numbers = [step for step, _ in self.steps]
        if numbers[0] != 0 or sorted(set(numbers)) != numbers:
            raise ValueError(f"steps must begin at 0 and rise, got {numbers}")
        return self


def _form_of_weight(value: object) -> str:
    if isinstance(value, Mapping | ConfigurationTable):
        return "/steps" if isinstance(value, StepWeight) or (isinstance(value, Mapping) and "steps" in value) else "/line"
    return "/number"


class RewardSection(ConfigurationTable):
    """One reward of GRPO, by name (``salon reward list``).

    Attributes:
        name: of the reward.
        weight: of the reward in the sum: a number, or one that changes with the optimizer step (:class:`LinearWeight`,
            :class:`StepWeight`). A gate has none.
        gate: the reward is not part of the sum: the sum is earned only where the reward is at least ``least``.
        least: see ``gate``.
        options: its own settings.
    """

    name: Text
    weight: Annotated[
        Annotated[Weight, Tag("/number")] | Annotated[LinearWeight, Tag("/line")] | Annotated[StepWeight, Tag("/steps")],
        Discriminator(_form_of_weight),
    ] = 1.0
    gate: bool = False
    least: Weight = 0.5
    options: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _all_used(self) -> Self:
        _refuse_void(self, ("least",), "gate = true", self.gate)
        _refuse_void(self, ("weight",), "gate = false", not self.gate)
        return self


class CompositionSection(ConfigurationTable):
    """How rewards with a gate or a changing weight become one (``docs/rewards.md``).

    Attributes:
        missing: where one of them has no number: the group abstains; the weights of the others are raised (``renormalise``);
            or it counts as ``missing_value`` (``value``).
        missing_value: with ``missing = "value"``.
    """

    missing: Literal["abstain", "renormalise", "value"] = "abstain"
    missing_value: Weight = 0.0

    @model_validator(mode="after")
    def _all_used(self) -> Self:
        _refuse_void(self, ("missing_value",), 'missing = "value"', self.missing == "value")
        return self


class LearningSection(ConfigurationTable):
    """Learning settings of every stage.

    Attributes:
        steps: optimizer steps; None: as many as ``epochs`` take.
        epochs: passes over the data; with ``steps`` None only.
        device_batch: sequences that a device computes at once; None: the whole batch. The rest is accumulated.
        learning_rate: at its highest.
        schedule: of the learning rate after the warm-up.
        warmup_steps: with a rising learning rate.
        weight_decay, beta1, beta2, epsilon: of AdamW.
        clip_gradient: the largest norm of the gradient; 0: no clipping.
    """

    steps: Whole | None = None
    epochs: Positive | None = None
    device_batch: Whole | None = None
    learning_rate: Positive
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: Counted = 0
    weight_decay: NonNegative = 0.0
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    epsilon: Positive = 1e-8
    clip_gradient: NonNegative = 1.0

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if (self.steps is None) == (self.epochs is None):
            raise ValueError("give either steps or epochs")
        return self


class SftSection(LearningSection):
    """The cold start.

    Attributes:
        batch: sequences of one optimizer step, over all devices.
        longest: tokens of prompt and answer; a longer row is an error before training, never cut. None: no limit.
    """

    batch: Whole = 32
    learning_rate: Positive = 2e-5
    longest: Whole | None = None

    def steps_for(self, rows: int) -> int:
        """Return the optimizer steps: as given, or as many as the epochs over so many rows take.

        Example:
            >>> SftSection(epochs=2, batch=32).steps_for(100)
            7
        """
        return self.steps if self.steps is not None else max(1, -int(-(self.epochs or 0) * rows // self.batch))


class VllmSection(ConfigurationTable):
    """Completions by vLLM (``pip install 'trl[vllm]'``).

    Attributes:
        mode: ``colocate``: on the training devices; ``server``: ``trl vllm-serve`` elsewhere.
        memory: the share of each device's memory that it takes when colocated.
        tensor_parallel: devices that share one copy of the model when colocated.
        url: of the server.
    """

    mode: Literal["colocate", "server"] = "colocate"
    memory: Share = 0.3
    tensor_parallel: Whole = 1
    url: str | None = None

    @model_validator(mode="after")
    def _all_used(self) -> Self:
        _refuse_void(self, ("memory", "tensor_parallel"), 'mode = "colocate"', self.mode == "colocate")
        _refuse_void(self, ("url",), 'mode = "server"', self.mode == "server")
        return self


class GrpoSection(LearningSection):
    """Group relative policy optimization.

    Attributes:
        start: whose weights it begins with: ``model``, or what ``salon train sft`` made of it in the same run folder.
        batch: completions of one optimizer step, over all devices.
        generations: completions of one prompt: the group.
        generation_batch: completions that are sampled before the next steps learn from them; None: ``batch``.
        iterations: how often each completion is learned from.
        longest_prompt: tokens, picture included; a longer row is an error before training. None: no limit.
        longest: tokens of a completion.
        temperature, top_p, top_k: of sampling; ``top_k`` 0: all tokens.
        loss: as TRL calls it.
        clip_low, clip_high: how far the probability ratio may move, below and above 1.
        kl: weight of the divergence from the starting weights; 0 loads no reference.
        scale: whether advantages are divided by the spread of their ``group``, of the ``batch``, or not.
        aggregation: sum the rewards and normalize in the group, or normalize each before the sum.
        rollouts: who writes the completions.
        vllm: settings for ``rollouts = "vllm"``.
    """

    start: Literal["model", "sft"] = "model"
    batch: Whole = 128
    learning_rate: Positive = 1e-6
    generations: Annotated[int, Field(ge=2)] = 8
    generation_batch: Whole | None = None
    iterations: Whole = 1
    longest_prompt: Whole | None = None
    longest: Whole = 512
    temperature: Positive = 1.0
    top_p: Share = 1.0
    top_k: Counted = 0
    loss: Literal["grpo", "dapo", "dr_grpo", "bnpo"] = "dapo"
    clip_low: Positive = 0.2
    clip_high: Positive = 0.28
    kl: NonNegative = 0.0
    scale: Literal["group", "batch", "none"] = "group"
    aggregation: Literal["sum_then_normalize", "normalize_then_sum"] = "sum_then_normalize"
    rollouts: Literal["transformers", "vllm"] = "transformers"
    vllm: VllmSection = VllmSection()

    def steps_for(self, rows: int) -> int:
        """Return the optimizer steps: as given, or as many as the epochs over so many rows take.

        Example:
            >>> GrpoSection(epochs=1, batch=12, generations=6).steps_for(100)
            50
        """
        if self.steps is not None:
            return self.steps
        sequences = Fraction(str(self.epochs or 0)) * rows * self.generations * self.iterations
        return max(1, -int(-sequences // self.batch))

    @model_validator(mode="after")
    def _whole_groups(self) -> Self:
        completions = self.generation_batch or self.batch
        if completions % self.generations:
            raise ValueError(f"{completions} completions at once are no whole number of groups of {self.generations}")
        if completions % self.batch:
            raise ValueError(f"generation_batch {completions} is no multiple of batch {self.batch}")
        _refuse_void(self, ("vllm",), 'rollouts = "vllm"', self.rollouts == "vllm")
        return self


class EvaluationSection(ConfigurationTable):
    """Evaluation on the held-out pictures while training goes on, with the metrics of what learns (assessor or refiner).

    Attributes:
        every: optimizer steps; None: only before the first step and after the last.
        at_start: also before the first step.
        batch: pictures that are answered together.
        longest: tokens of an answer.
        limit: so many held-out pictures, the first ones; None: all.
    """

    every: Whole | None = None
    at_start: bool = True
    batch: Whole = 16
    longest: Whole = 512
    limit: Whole | None = None


class CheckpointSection(ConfigurationTable):
    """What a killed run continues from.

    Attributes:
        every: optimizer steps.
        keep: so many, the latest ones.
    """

    every: Whole = 50
    keep: Whole = 2


class DegenerationSection(ConfigurationTable):
    """When a run is given up; 0 never does. Loss or gradient that is no number always does.

    Attributes:
        equal_rewards: generation batches in a row in which no group's rewards differ: nothing is learned.
        invalid_answers: generation batches in a row in which no answer can be read.
        unscored: generation batches in a row in which no completion was scored by any reward.
    """

    equal_rewards: Counted = 20
    invalid_answers: Counted = 20
    unscored: Counted = 3


class MonitorsSection(ConfigurationTable):
    """Monitors of policies that game their reward (``docs/monitors.md``), shown every generation batch of
    ``salon train grpo`` and ``salon train refiner``.

    Attributes:
        on: whether anything is watched.
        which: their names; None: all that say something about the run's answers.
        thresholds: a pair for each monitor that is to have others than its own: from where on it warns, from where on it says
            stop; ``inf`` never does. ``unreadable`` by itself never does here: ``degeneration.invalid_answers`` ends such runs.
        on_warn: what a warning does: it is logged, or ends the run.
        on_stop: what a stop does.
    """

    on: bool = True
    which: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    thresholds: dict[str, tuple[Annotated[float, Field(allow_inf_nan=False)], Annotated[float, Field(allow_inf_nan=True)]]] = (
        Field(default_factory=dict)
    )
    on_warn: Literal["log", "stop"] = "log"
    on_stop: Literal["log", "stop"] = "stop"


class LogSection(ConfigurationTable):
    """What is logged, and where; ``log.jsonl`` in the run folder is always written.

    Attributes:
        completions: of each generation batch of GRPO, drawn evenly, that ``completions.jsonl`` keeps (``salon reward audit``
            reads it); 0: no such file.
        every: optimizer steps.
        to: a further reader of the same numbers.
        project: what Weights & Biases calls the project.
    """

    completions: Counted = 16
    every: Whole = 1
    to: Literal["none", "tensorboard", "wandb"] = "none"
    project: str = "salon"

    @model_validator(mode="after")
    def _all_used(self) -> Self:
        _refuse_void(self, ("project",), 'to = "wandb"', self.to == "wandb")
        return self


class StoreSection(ConfigurationTable):
    """Completions that are kept in a result store, with their rewards and the events of the run.

    Attributes:
        folder: the store, a directory relative to the file or a URL; None keeps nothing.
        completions: of each generation batch, drawn evenly; None: all.
    """

    folder: Annotated[str | None, NEAR] = None
    completions: Whole | None = 16

    @model_validator(mode="after")
    def _all_used(self) -> Self:
        _refuse_void(self, ("completions",), "a folder", self.folder is not None)
        return self


class RunConfiguration(ConfigurationTable):
    """Settings that every run has.

    Attributes:
        run: where, and which seed.
        checkpoints: what a killed run continues from.
        degeneration: when a run is given up.
    """

    run: RunSection
    checkpoints: CheckpointSection = CheckpointSection()
    degeneration: DegenerationSection = DegenerationSection()


class StageConfiguration(RunConfiguration):
    """Settings that every stage of a vision-language model has.

    Attributes:
        model: which one learns.
        log: what is logged, and where.
        evaluation: of the model on what is held out, while it learns.
        monitors: which look for reward hacking.
        store: where completions are kept.
    """

    preset: ClassVar[str] = "NAME"

    model: ModelSection
    log: LogSection = LogSection()
    evaluation: EvaluationSection = EvaluationSection()
    monitors: MonitorsSection = MonitorsSection()
    store: StoreSection = StoreSection()


class Configuration(StageConfiguration):
    """A whole training run of an assessor.

    Example:
        >>> Configuration.model_validate(
        ...     {"run": {"folder": "run"}, "model": {"name": "m"}, "data": {"train": ["t.jsonl"]}, "sft": {"steps": 40}}
        ... ).sft.batch
        32
    """

    data: DataSection
    sampling: SamplingSection = SamplingSection()
    reward: tuple[RewardSection, ...] = (RewardSection(name="magicmirror"),)
    composition: CompositionSection = CompositionSection()
    sft: SftSection | None = None
    grpo: GrpoSection | None = None

    @property
    def composed(self) -> bool:
        """Whether the rewards become one: a gate or a changing weight is something that TRL does not have."""
        return any(each.gate or not isinstance(each.weight, float) for each in self.reward)

    @model_validator(mode="after")
    def _composes(self) -> Self:
        needs = "a reward with a gate or a changing weight"
        _refuse_void(self, ("composition",), needs, self.composed)
        if all(each.gate for each in self.reward):
            raise ValueError("at least one reward must not be a gate")
        return self
