"""How much memory training takes on each device: an estimate by formula, before anything is loaded.

With P parameters that are held, T of them that learn, w bytes per weight, o bytes of optimizer state per learning weight:

    weights       w · P
    gradients     w · T
    optimizer     8 · T           AdamW: two moments in float32 (bfloat16 weights: in their own format, 4 · T)
    reference     w · P           a second copy, for KL > 0 with full training only
    activations   b · s · h · L · k · a
                  b sequences at once, s tokens, h width, L layers, a bytes per activation; k = 34 values per token, layer
                  and width, as a gated layer of Qwen2.5's shape keeps (63 bytes in bfloat16, measured with autograd's saved
                  tensors; Korthikanti et al. 2022, arXiv 2205.05198, Eq. 2, count 34 bytes for a plain layer of 4 h without
                  attention scores, which fused attention does not keep), or k = 1 with activation checkpointing (the layer's
                  input) and 34 for one layer at a time
    logits        b · s · V · 4 / 8   the output layer is computed in chunks; one chunk in eight is held

FSDP and ZeRO-3 divide the first four by the number of devices; ZeRO-2 gradients and optimizer. Caches of generation, the
pictures' own activations and fragmentation are not counted: allow a third more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_KEPT: Final = 34
_BYTES: Final = {"float32": 4, "bfloat16": 2, "float16": 2}
GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes on one device, by what holds them; see the formula above."""

    weights: int
    gradients: int
    optimizer: int
    reference: int
    activations: int
    logits: int

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.parts.values())

    @property
    def parts(self) -> Mapping[str, int]:
        """By name."""
        return {name: getattr(self, name) for name in self.__slots__}


def estimate(
    *,
    parameters: int,
    learning: int,
    weight_format: str,
    learning_format: str,
    compute_format: str,
    sequences: int,
    tokens: int,
    width: int,
    layers: int,
    vocabulary: int,
    checkpointing: bool,
    reference: bool,
) -> MemoryEstimate:
    """Return the estimate of one device that holds the whole model.

    Args:
        parameters: P.
        learning: T.
        weight_format: of weights that do not learn; ``float32``, ``bfloat16``, ``float16``.
        learning_format: of weights that learn.
        compute_format: of activations.
        sequences: b.
        tokens: s, of question, picture and answer.
        width, layers, vocabulary: h, L and V of the language model.
        checkpointing: activations are computed again.
        reference: the starting weights are kept beside those that learn.

    Example:
        >>> formats = {"weight_format": "bfloat16", "learning_format": "float32", "compute_format": "bfloat16"}
        >>> sizes = {"sequences": 1, "tokens": 2048, "width": 3584, "layers": 28, "vocabulary": 152_064}
        >>> made = estimate(parameters=8_292_166_656, learning=0, checkpointing=True, reference=False, **formats, **sizes)
        >>> round(made.weights / GIB, 1), round(made.activations / GIB, 2)
        (15.4, 0.85)
    """
    still, own, active = _BYTES[weight_format], _BYTES[learning_format], _BYTES[compute_format]
    weights = still * (parameters - learning) + own * learning
    per_layer = sequences * tokens * width * active
    activations = per_layer * (layers + _KEPT) if checkpointing else per_layer * _KEPT * layers
    return MemoryEstimate(
        weights=weights,
        gradients=own * learning,
        optimizer=2 * own * learning,
        reference=weights if reference else 0,
        activations=activations,
        logits=sequences * tokens * vocabulary * 4 // 8,
    )


def shape_of(config: Any) -> tuple[int, int, int]:
    """Return width, layers and vocabulary of a model's language part, from its configuration."""
    text = config.get_text_config()
    return int(text.hidden_size), int(text.num_hidden_layers), int(text.vocab_size)
