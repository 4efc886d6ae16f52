"""Every setting of ``salon train image``, section by section. Frozen; unknown keys are refused.

[run]  [policy]  [prompts]  [paid]  [preferences]  [image]  [evaluation]  [monitors]  [checkpoints]  [degeneration]
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, JsonValue, Tag, ValidationError, ValidationInfo, field_validator

from salon_taxonomy.errors import InputError
from salon_train.configuration.reading import explained
from salon_train.configuration.schema import (
    ConfigurationTable,
    MonitorsSection,
    NonNegative,
    Positive,
    RunConfiguration,
    Text,
    Whole,
)

Edge = Annotated[int, Field(ge=8, multiple_of=8)]


class PolicySection(ConfigurationTable):
    """The pipeline that learns, through low-rank adapters (LoRA) on the attention of its transformer.

    Attributes:
        model: a folder, or a name on the Hugging Face hub, of a pipeline of Stable Diffusion 3 or 3.5.
        revision: branch, tag or commit on the hub.
        device: of torch: ``cuda``, ``cuda:1``, or ``cpu`` for a small model.
        dtype: of the frozen weights; None: bfloat16 on an accelerator, float32 on the processor. The adapters, their
            optimizer, noisy pictures and densities are float32.
        rank: of each adapter.
        alpha: its scale is ``alpha / rank``; None: twice the rank.
        width: of a picture in pixels; None: the model's own.
        height: likewise.
        guidance: scale of classifier-free guidance, in sampling and in the loss; 1 turns it off.
        negative_prompt: what guidance leads away from.
        activation_checkpointing: compute activations again instead of keeping them: less memory, more time.
    """

    model: Text
    revision: str | None = None
    device: Text = "cuda"
    dtype: Literal["float32", "bfloat16"] | None = None
    rank: Whole = 32
    alpha: Whole | None = None
    width: Edge | None = None
    height: Edge | None = None
    guidance: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 4.5
    negative_prompt: str = ""
    activation_checkpointing: bool = False


class PromptSection(ConfigurationTable):
    """What the policy draws.

    Attributes:
        file: prompts that earn a reward: lines of a text file, or a table or folder as ``salon bench generate`` takes them.
    """

    file: Text


def _form_of_policy(value: object) -> str:
    try:
        return "/number" if math.isfinite(float(str(value))) else "/word"
    except ValueError:
        return "/word"


class PaidSection(ConfigurationTable):
    """The reward.

    Attributes:
        reward: by its name, as ``make_reward`` takes it: ``scorer:NAME``, ``scorer:./metrics.py:FUNCTION``, ``suite:NAME``.
        parameters: of the reward.
        on_unscored: what a picture without a score is paid: ``nan`` (it takes no part), ``mean`` of its prompt's others, a
            number, or the run ends (``raise``).
    """

    reward: Text
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    on_unscored: Annotated[
        Annotated[Literal["nan", "mean", "raise"], Tag("/word")] | Annotated[float, Tag("/number")],
        Discriminator(_form_of_policy),
    ] = "nan"


class PairSection(ConfigurationTable):
    """Preferences, from which the policy learns in place of a reward: Diffusion-DPO.

    Attributes:
        file: of ``salon votes pairs``; relative paths of pictures start in its folder. Pairs for testing are not learned from.
        beta: β of the loss: the larger, the nearer the policy stays to the model without adapters.
        pairs: of a step.
    """

    file: Text
    beta: Positive = 1000.0
    pairs: Whole = 16


class ImageSection(ConfigurationTable):
    """How the policy learns; ``docs/image-policy.md`` describes a step.

    Attributes:
        steps: updates of AdamW.
        group: pictures of each prompt, every step.
        prompts_per_step: different prompts of a step; they take turns in an order of the seed's.
        sampling_steps: steps from noise to a picture.
        noise: coefficients-preserving sampling (``cps``) or Flow-GRPO's stochastic differential equation (``sde``).
        window: how many steps have chance, in a row that begins at a random place; of ``cps`` none that
            ends near the picture (:func:`~salon_train.image_policy.flow.chance_steps`).
        level: how much; of ``cps`` at most 1.
        learning_rate: of AdamW.
        kl: weight of the divergence from the model without adapters; 0 computes none.
        at_once: pictures that the network computes at once.
    """

    steps: Whole = 300
    group: Annotated[int, Field(ge=2)] = 8
    prompts_per_step: Whole = 6
    sampling_steps: Whole = 10
    noise: Literal["cps", "sde"] = "cps"
    window: Annotated[int, Field(ge=1, validate_default=True)] = 3
    level: Positive = 0.7
    learning_rate: Positive = 3e-4
    kl: NonNegative = 0.03
    at_once: Whole = 4

    @field_validator("window")
    @classmethod
    def _fits(cls, window: int, info: ValidationInfo) -> int:
        steps, noise = info.data.get("sampling_steps"), info.data.get("noise")
        if steps is not None and window > (most := steps - (noise == "cps")):
            raise ValueError(f"must be at most {most} with {steps} sampling steps of {noise}")
        return window

    @field_validator("level")
    @classmethod
    def _is_angle(cls, level: float, info: ValidationInfo) -> float:
        if info.data.get("noise") == "cps" and level > 1:
            raise ValueError("of cps must be at most 1, a right angle")
        return level


class ImageEvaluationSection(ConfigurationTable):
    """Measurement on prompts that never earn a reward, with pictures of the ODE from the same noise every time.

    Attributes:
        held_out: file or folder of the prompts; None: no measurement.
        every: steps between two measurements; also before the first step and after the last.
        pictures: of each prompt.
    """

    held_out: str | None = None
    every: Whole = 50
    pictures: Annotated[int, Field(ge=2)] = 2


class ImageConfiguration(RunConfiguration):
    """One run of ``salon train image``.

    Attributes:
        policy: what learns.
        prompts: what it draws; None with preferences, which have prompts of their own.
        paid: the reward; with preferences it only measures the prompts held out, or is None.
        preferences: in place of learning from the reward.
        image: how it learns.
        evaluation: on prompts held out.
        monitors: of the pictures, while it learns from a reward (``docs/monitors.md``); by themselves they end no run.
    """

    policy: PolicySection
    prompts: PromptSection | None = None
    paid: PaidSection | None = None
    preferences: PairSection | None = None
    image: ImageSection = ImageSection()
    evaluation: ImageEvaluationSection = ImageEvaluationSection()
    monitors: MonitorsSection = MonitorsSection(on_stop="log")


def configured(values: Mapping[str, Any]) -> ImageConfiguration:
    """Return the configuration of a run.

    Args:
        values: of the sections, by name; settings that are missing have their defaults.

    Raises:
        InputError: a setting is unknown, missing or out of bounds; its ``key`` is ``section.name``. Prompts and a reward are
            missing without preferences; prompts are given beside them.

    Example:
        >>> values = {"run": {"folder": "r"}, "policy": {"model": "m"}, "prompts": {"file": "p"}, "paid": {"reward": "s"}}
        >>> configured(values).image.kl
        0.03
        >>> configured(values | {"image": {"kl": -1}})
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: key 'image.kl': input should be greater than or equal to 0, not -1
    """
    try:
        configuration = ImageConfiguration.model_validate(values)
    except ValidationError as error:
        raise explained(error, "", "", ImageConfiguration) from error
    prompts = configuration.prompts
    if configuration.preferences is not None and prompts is not None:
        raise InputError("preferences have their own prompts; leave out", key="prompts.file", value=prompts.file)
    for key, section in (("prompts.file", prompts), ("paid.reward", configuration.paid)):
        if section is None and configuration.preferences is None:
            raise InputError("is missing; without preferences the policy learns from a reward of prompts", key=key)
    return configuration
