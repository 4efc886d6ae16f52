"""Which part of a vision-language model a parameter or module belongs to, by the names that architectures use.

Qwen-VL: ``visual`` and in it ``merger``; LLaVA: ``vision_tower``, ``multi_modal_projector``; Idefics and SmolVLM:
``vision_model``, ``connector``; everything else writes the text.
"""

import re
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from salon_taxonomy.errors import InputError

Part: TypeAlias = Literal["vision", "connector", "language"]
PARTS: Final[tuple[Part, ...]] = ("vision", "connector", "language")
"""What looks, what joins the two, what writes."""
_CONNECTORS: Final = frozenset(
    {"multi_modal_projector", "connector", "merger", "deepstack_merger_list", "projector", "aligner", "mm_projector", "mlp1"}
)
_VISION: Final = frozenset({"visual", "vision_tower", "vision_model", "vision_encoder", "image_encoder", "vision_embed_tokens"})


def part_of(name: str) -> Part:
    """Return the part that a parameter's or module's dotted name belongs to.

    Example:
        >>> part_of("model.visual.blocks.0.attn.qkv.weight"), part_of("model.visual.merger.mlp.0.weight")
        ('vision', 'connector')
        >>> part_of("model.language_model.layers.0.self_attn.q_proj.weight"), part_of("lm_head.weight")
        ('language', 'language')
    """
    names = set(name.split("."))
    if names & _CONNECTORS:
        return "connector"
    return "vision" if names & _VISION else "language"


def target_pattern(linear: Iterable[str], parts: Iterable[Part]) -> str:
    """Return a regular expression for the linear layers of some parts, for peft's ``target_modules``.

    Args:
        linear: dotted names of all linear layers, without the output layer.
        parts: of the model.

    Raises:
        InputError: when the parts have no linear layer.

    Example:
        >>> target_pattern(["model.layers.0.q_proj", "model.layers.1.q_proj", "model.layers.1.mlp.up"], ["language"])
        'model\\\\.layers\\\\..*\\\\b(q_proj|up)'
    """
    names = list(linear)
    patterns = []
    for part in parts:
        own = [name.split(".") for name in names if part_of(name) == part]
        if own:
            leaves = "|".join(sorted({re.escape(name[-1]) for name in own}))
            shared = _shared([name[:-1] for name in own])
            patterns.append(rf"{re.escape('.'.join(shared))}\..*\b({leaves})" if shared else rf"(.*\.)?({leaves})")
    if not patterns:
        raise InputError("this model has no linear layers there", key="model.lora.targets", value=list(parts))
    return patterns[0] if len(patterns) == 1 else "|".join(f"({pattern})" for pattern in patterns)


def _shared(paths: list[list[str]]) -> list[str]:
    """Return the longest beginning that all paths share."""
    shared = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return shared
