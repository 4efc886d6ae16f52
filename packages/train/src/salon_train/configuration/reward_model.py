"""Every setting of ``salon train reward-model``, section by section. Frozen; unknown keys are refused.

[run]  [backbone]  [preferences]  [learning]  [evaluation]  [checkpoints]
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, ValidationError

from salon_train.configuration.reading import explained
from salon_train.configuration.schema import ConfigurationTable, NonNegative, Positive, RunConfiguration, Text, Whole

Loss: TypeAlias = Literal["bradley-terry", "davidson", "rao-kupper", "unsure"]
"""How votes follow from rewards; :func:`~salon_train.reward_model.losses.chances`."""


class BackboneSection(ConfigurationTable):
    """What reads pictures and prompts.

    Attributes:
        name: a folder, or a name on the Hugging Face hub: CLIP, SigLIP, or a vision-language model.
        revision: branch, tag or commit on the hub.
        device: of torch.
        dtype: of frozen weights; weights that learn are float32.
        rank: of low-rank adapters (LoRA) on the backbone's attention, which are merged into the result; 0: the head alone
            learns; None: every weight does.
        alpha: the adapters' scale is ``alpha / rank``; None: twice the rank.
        fix_rate: share of the layers of each tower, from the first, that do not learn, nor what embeds their input.
        activation_checkpointing: compute activations again instead of keeping them: less memory, about a third more time.
        least_pixels, most_pixels: width × height that a picture is scaled to, for processors that scale (Qwen's); None: the
            processor's own.
    """

    name: Text
    revision: str | None = None
    device: Text = "cpu"
    dtype: Literal["float32", "bfloat16"] = "float32"
    rank: Annotated[int, Field(ge=0)] | None = None
    alpha: Whole | None = None
    fix_rate: Annotated[float, Field(ge=0, le=1)] = 0.0
    activation_checkpointing: bool = False
    least_pixels: Whole | None = None
    most_pixels: Whole | None = None


class PreferenceSection(ConfigurationTable):
    """What it learns from.

    Attributes:
        file: of ``salon votes pairs``; relative paths of pictures start in its folder.
    """

    file: Text


class RewardLearningSection(ConfigurationTable):
    """How it learns.

    Attributes:
        loss: how votes follow from rewards.
        rater_noise: chance that a vote is for the other picture whatever the rewards; below a half.
        epochs: passes over the pairs.
        batch: pairs of an update.
        device_batch: pairs that are computed at once; None: the whole batch. The rest is accumulated.
        learning_rate: of AdamW, at its highest.
        schedule: of the learning rate after the warm-up; ``linear`` and ``cosine`` end at 0.
        warmup_ratio: share of the updates over which the learning rate rises.
        weight_decay: of AdamW.
    """

    loss: Loss = "bradley-terry"
    rater_noise: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    epochs: Whole = 4
    batch: Whole = 16
    device_batch: Whole | None = None
    learning_rate: Positive = 1e-4
    schedule: Literal["constant", "linear", "cosine"] = "cosine"
    warmup_ratio: Annotated[float, Field(ge=0, lt=1)] = 0.1
    weight_decay: NonNegative = 0.01


class RewardEvaluationSection(ConfigurationTable):
    """Measurement on the pairs whose ``split`` is ``test``.

    Attributes:
        every: updates between two measurements; also before the first update and after the last.
    """

    every: Whole = 100


class RewardModelConfiguration(RunConfiguration):
    """One run of ``salon train reward-model``.

    Attributes:
        backbone: what reads pictures and prompts.
        preferences: what it learns from.
        learning: how.
        evaluation: on pairs held out.
    """

    backbone: BackboneSection
    preferences: PreferenceSection
    learning: RewardLearningSection = RewardLearningSection()
    evaluation: RewardEvaluationSection = RewardEvaluationSection()


def configured(values: Mapping[str, Any]) -> RewardModelConfiguration:
    """Return the configuration of a run.

    Args:
        values: of the sections, by name; settings that are missing have their defaults.

    Raises:
        InputError: a setting is unknown, missing or out of bounds; its ``key`` is ``section.name``.

    Example:
        >>> values = {"run": {"folder": "r"}, "backbone": {"name": "m"}, "preferences": {"file": "p"}}
        >>> configured(values).learning.loss
        'bradley-terry'
    """
    try:
        return RewardModelConfiguration.model_validate(values)
    except ValidationError as error:
        raise explained(error, "", "", RewardModelConfiguration) from error
