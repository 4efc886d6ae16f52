"""The cold start: a policy imitates a teacher's replies, token by token; the question is not part of the loss.

A plain loop for small policies on pictures that fit in memory. Large ones are taught by ``salon train sft``.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from salon_bench.suites.r3_bench.questions import templates

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Lesson:
    """One picture, what was asked for, and the reply to imitate."""

    picture: "Image"
    prompt: str
    reply: str


def imitate(
    model: Any,
    processor: Any,
    lessons: Sequence[Lesson],
    *,
    steps: int,
    learning_rate: float,
    seed: int,
    batch: int = 32,
    warm_up: int = 50,
    progress: Callable[[int], None] | None = None,
) -> list[float]:
    """Train for so many steps; the learning rate rises over ``warm_up`` steps and falls to 5 % along a cosine.

    Args:
        model: trained in place.
        processor: its own.
        lessons: drawn without replacement, again from the start when all were seen.
        steps: optimizer steps.
        learning_rate: the highest.
        seed: of the order.
        batch: lessons a step.
        warm_up: steps.
        progress: called with 1 after each step.

    Returns:
        The loss of every step: the mean over the replies' tokens, in nats.
    """
    import torch

    encoded = _encoded(processor, lessons)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    generator = random.Random(seed)  # noqa: S311 - an order, no secret
    order: list[int] = []
    losses = []
    model.train()
    for step in range(steps):
        rate = min(1.0, (step + 1) / warm_up) * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / steps)))
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * rate
        while len(order) < batch:
            order += generator.sample(range(len(lessons)), len(lessons))
        chosen, order = order[:batch], order[batch:]
        loss = model(**_batch(encoded, chosen, processor.tokenizer.pad_token_id)).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
        if progress is not None:
            progress(1)
    model.eval()
    return losses


def question_text(processor: Any, prompt: str) -> str:
    """The question about one picture as the policy reads it, up to where its reply begins."""
    content = [{"type": "image"}, {"type": "text", "text": templates().render("reflect", prompt=prompt)}]
    text: str = processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
    )
    return text


def _encoded(processor: Any, lessons: Sequence[Lesson]) -> tuple[list[list[int]], list[int], Any]:
    """Token ids, where each reply begins, and all pictures in one tensor."""
    import torch

    ids, starts, pixels = [], [], []
    for first in range(0, len(lessons), 256):
        some = lessons[first : first + 256]
        asked = [question_text(processor, lesson.prompt) for lesson in some]
        pictures = [[lesson.picture] for lesson in some]
        read = processor(text=asked, images=pictures, padding=True, padding_side="right", return_tensors="pt")
        for row, mask, lesson in zip(read["input_ids"], read["attention_mask"], some, strict=True):
            question = row[: int(mask.sum())].tolist()
            reply = processor.tokenizer(lesson.reply, add_special_tokens=False)["input_ids"]
            ids.append([*question, *reply, processor.tokenizer.eos_token_id])
            starts.append(len(question))
        pixels.append(read["pixel_values"])
    return ids, starts, torch.cat(pixels)


def _batch(encoded: tuple[list[list[int]], list[int], Any], chosen: Sequence[int], pad: int) -> dict[str, Any]:
    import torch

    ids, starts, pixels = encoded
    longest = max(len(ids[place]) for place in chosen)
    rows = torch.full((len(chosen), longest), pad)
    labels = torch.full((len(chosen), longest), -100)
    mask = torch.zeros((len(chosen), longest), dtype=torch.long)
    for row, place in enumerate(chosen):
        line = torch.tensor(ids[place])
        rows[row, : len(line)], mask[row, : len(line)] = line, 1
        labels[row, starts[place] : len(line)] = line[starts[place] :]
    return {"input_ids": rows, "attention_mask": mask, "labels": labels, "pixel_values": pixels[list(chosen)]}
