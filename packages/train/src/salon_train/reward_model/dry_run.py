"""What training a reward model would take, before weights are loaded: ``salon train reward-model --dry-run``."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from salon_judges.scorers.reward_network import RewardNetwork, backbone_class
from salon_train.configuration.reward_model import RewardModelConfiguration
from salon_train.data.preferences import picture, read_preferences
from salon_train.models.hub import HINT, hub_problem
from salon_train.models.parts import PARTS, part_of
from salon_train.models.shapes import config_of
from salon_train.reward_model.stage import ready_to_learn
from salon_train.run.dry_run import NOT_HERE, spread
from salon_train.run.memory import MemoryEstimate, estimate

SPEED: Final = 125e12
"""Operations per second that the time is given for: 40% of what an A100 does in bfloat16."""
_LETTERS: Final = 3
"""Of a token, about."""
_ASKED: Final = 32
"""Tokens of the question around a prompt, about."""


@dataclass(frozen=True, slots=True)
class RewardDryRun:
    """The plan of a run.

    Attributes:
        model: the backbone's name.
        parameters: of backbone and head, by part.
        learning: those that learn; adapters count for their part.
        memory: on one device, in bytes.
        pairs: to learn from.
        held_out: pairs to measure with.
        steps: updates.
        batch: pairs of an update.
        device_batch: pairs at once.
        tokens: of a picture with its prompt, about.
        operations: of the whole run: per token 2 for each parameter forward (again with activation checkpointing), 2 backward,
            and 2 for each that learns (Kaplan et al. 2020, arXiv 2001.08361, section 2.1).
        notes: what a reader should know.
    """

    model: str
    parameters: Mapping[str, int]
    learning: Mapping[str, int]
    memory: MemoryEstimate
    pairs: int
    held_out: int
    steps: int
    batch: int
    device_batch: int
    tokens: int
    operations: float
    notes: tuple[str, ...]

    @property
    def hours(self) -> float:
        """On one device, at :data:`SPEED`."""
        return self.operations / SPEED / 3600

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; memory has its total beside its parts."""
        return {**asdict(self), "memory": {**self.memory.parts, "total": self.memory.total}, "hours": self.hours}


def dry_run(configuration: RewardModelConfiguration) -> RewardDryRun:
    """Read the pairs and plan a run; no weights are loaded and nothing is written.

    The memory of activations is that of the tower that reads the picture: of a vision-language model its language model.

    Raises:
        InputError: the pairs cannot be used, or the backbone cannot be found.
    """
    import torch

    section, learning = configuration.backbone, configuration.learning
    pairs = read_preferences(Path(configuration.preferences.file), [])
    learned = [pair for pair in pairs if pair.split == "train"]
    hub = hub_problem(section.name)
    config, own = config_of(section.name, section.revision, hub=hub)
    with torch.device("meta"):
        network = RewardNetwork(backbone_class(config)._from_config(config), None, unsure=learning.loss == "unsure")
        network.backbone, _ = ready_to_learn(network.backbone, section)
    counted: list[dict[str, int]] = [dict.fromkeys(PARTS, 0) for _ in range(2)]
    for name, weight in network.named_parameters():
        counted[0][part_of(name)] += weight.numel()
        counted[1][part_of(name)] += weight.numel() * weight.requires_grad
    held, taught = (sum(each.values()) for each in counted)
    at_once = min(learning.device_batch or learning.batch, learning.batch)
    pixels = max(picture(pair.chosen).width * picture(pair.chosen).height for _, pair in spread(learned))
    pixels = max(min(pixels, section.most_pixels or pixels), section.least_pixels or 0)
    tower, tokens = _reading(config, pixels, max(len(pair.prompt) for pair in learned))
    weights = "float32" if section.rank is None else section.dtype
    passes = 3 if section.activation_checkpointing else 2
    return RewardDryRun(
        model=section.name,
        parameters=counted[0],
        learning=counted[1],
        memory=estimate(
            parameters=held,
            learning=taught,
            weight_format=weights,
            learning_format="float32",
            compute_format=weights,
            sequences=2 * at_once,
            tokens=tokens,
            width=tower.hidden_size,
            layers=tower.num_hidden_layers,
            vocabulary=0,
            checkpointing=section.activation_checkpointing,
            reference=False,
        ),
        pairs=len(learned),
        held_out=len(pairs) - len(learned),
        steps=learning.epochs * math.ceil(len(learned) / learning.batch),
        batch=learning.batch,
        device_batch=at_once,
        tokens=tokens,
        operations=2.0 * (passes * held + taught) * tokens * 2 * len(learned) * learning.epochs,
        notes=(*(() if own else (NOT_HERE,)), *(() if hub is None else (f"{hub[0].upper()}{hub[1:]}. {HINT}",))),
    )


def _reading(config: Any, pixels: int, letters: int) -> tuple[Any, int]:
    """Return the configuration of the tower whose activations count, and about how many tokens it reads for a picture."""
    vision = config.vision_config
    merged = getattr(vision, "spatial_merge_size", None)
    if merged is not None:
        return config.get_text_config(), -(-pixels // (vision.patch_size * merged) ** 2) + letters // _LETTERS + _ASKED
    patches = (vision.image_size // vision.patch_size) ** 2
    if hasattr(config, "image_token_id") or hasattr(config, "image_token_index"):
        return config.get_text_config(), patches + letters // _LETTERS + _ASKED
    return vision, patches + 1
