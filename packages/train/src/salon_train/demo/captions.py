"""Teach a small CLIP of random weights which caption belongs to which picture, as the CLIPs that people use were taught.

The loss is CLIP's (Radford et al. 2021, arXiv 2103.00020, section 2.3) from pictures to captions, over all different captions
and not those of the batch alone: in a small world most captions are in a batch several times.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from salon_train.seeds import generator_of

_STEEPEST: Final = 100.0
"""Of the cosine's scale, as in CLIP."""


@dataclass(frozen=True, slots=True)
class CaptionSettings:
    """How it learns.

    Attributes:
        steps: updates; 0: the weights stay random.
        batch: pictures of an update.
        learning_rate: of AdamW, at its highest, after a tenth of the steps; falls to 0 along a cosine.
    """

    steps: int = 600
    batch: int = 64
    learning_rate: float = 1e-3


def learn_captions(
    folder: Path, pictures: Tensor, captions: Sequence[str], settings: CaptionSettings = CaptionSettings(), *, seed: int
) -> float:
    """Train the CLIP in a folder, and write it there again.

    Args:
        folder: with a model of :func:`~salon_train.models.tiny.build_tiny_clip`.
        pictures: of its size, shape (pictures, 3, height, width), values from 0 to 1.
        captions: of each picture.
        settings: how it learns.
        seed: of the batches.

    Returns:
        The loss of the last update; infinite without any.
    """
    import transformers

    names: Any = transformers
    model, processor = names.CLIPModel.from_pretrained(folder), names.AutoProcessor.from_pretrained(folder)
    different = sorted(set(captions))
    of = torch.tensor([different.index(caption) for caption in captions])
    seen = processor.image_processor(list(pictures), do_rescale=False, return_tensors="pt")["pixel_values"]
    texts = processor.tokenizer(different, padding=True, return_tensors="pt")
    weights, generator = list(model.parameters()), generator_of(seed)
    optimizer = torch.optim.AdamW(weights, settings.learning_rate, weight_decay=0.01)
    loss = torch.tensor(math.inf)
    model.train()
    for step in range(settings.steps):
        rate = min(1.0, (step + 1) / (0.1 * settings.steps)) * 0.5 * (1.0 + math.cos(math.pi * step / settings.steps))
        optimizer.param_groups[0]["lr"] = settings.learning_rate * rate
        batch = torch.randint(len(of), (settings.batch,), generator=generator)
        ends = model(**texts, pixel_values=seen[batch])
        cosine = nn.functional.normalize(ends.image_embeds, dim=-1) @ nn.functional.normalize(ends.text_embeds, dim=-1).T
        loss = nn.functional.cross_entropy(model.logit_scale.exp().clamp(max=_STEEPEST) * cosine, of[batch])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
    model.save_pretrained(folder)
    return float(loss.detach())
