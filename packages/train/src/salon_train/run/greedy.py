"""Let a model answer questions about pictures, greedily and in batches: for evaluation during training and after it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from salon_taxonomy.picture_formats import open_picture
from salon_taxonomy.training_example import TrainingExample


@dataclass(frozen=True, slots=True)
class GreedyAnswer:
    """One answer.

    Attributes:
        text: without special tokens.
        tokens: their number, the end included.
        whole: it ended by itself; False: it was cut off at the limit.
    """

    text: str
    tokens: int
    whole: bool = True


def answers(
    model: Any,
    processor: Any,
    asked: Sequence[tuple[str, Any]],
    *,
    batch: int,
    longest: int,
    compute: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Iterator[GreedyAnswer]:
    """Answer questions, each about one picture, with the likeliest tokens; random generators are left as they were.

    Args:
        model: in any mode; dropout is off while it answers.
        processor: pads on the left.
        asked: question and picture (PIL), in order.
        batch: answered together; memory grows with it, the answers do not change but for rounding.
        longest: tokens of an answer; a longer one is cut off.
        compute: makes the context in which the model runs (autocast).
    """
    learning = model.training
    model.eval()
    try:
        for start in range(0, len(asked), batch):
            with compute(), torch.no_grad():  # FSDP could not learn with weights that were gathered in inference mode
                yield from _answered(model, processor, asked[start : start + batch], longest)
    finally:
        model.train(learning)


def picture_of(example: TrainingExample) -> Any:
    """Return the picture of an example, decoded (PIL, RGB)."""
    return opened(example.image if isinstance(example.image, bytes) else example.image.read_bytes())


def opened(content: bytes) -> Any:
    """Decode a picture (PIL, RGB), upright as ``datasets`` shows it to a model that learns.

    Raises:
        InputError: the bytes are in no format that is read.
    """
    from PIL import ImageOps

    with open_picture(content) as picture:
        return ImageOps.exif_transpose(picture).convert("RGB")


def _answered(model: Any, processor: Any, some: Sequence[tuple[str, Any]], longest: int) -> list[GreedyAnswer]:
    messages = [
        [{"role": "user", "content": [{"type": "image", "image": picture}, {"type": "text", "text": question}]}]
        for question, picture in some
    ]
    inputs = processor.apply_chat_template(
        messages,
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        processor_kwargs={"padding": True, "padding_side": "left", "return_tensors": "pt"},
    ).to(model.device)
    tokenizer = processor.tokenizer
    ends = _ends(model, tokenizer)
    generated = model.generate(
        **inputs,
        max_new_tokens=longest,
        do_sample=False,
        num_beams=1,
        temperature=None,
        top_p=None,
        top_k=None,
        repetition_penalty=1.0,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=sorted(ends),
        use_cache=True,
    )
    written = generated[:, inputs["input_ids"].shape[1] :].tolist()
    return [_answer(tokenizer, tokens, ends) for tokens in written]


def _answer(tokenizer: Any, tokens: list[int], ends: set[int]) -> GreedyAnswer:
    length = next((place for place, token in enumerate(tokens) if token in ends), len(tokens))
    text = tokenizer.decode(tokens[:length], skip_special_tokens=True)
    return GreedyAnswer(text, min(length + 1, len(tokens)), length < len(tokens))


def _ends(model: Any, tokenizer: Any) -> set[int]:
    end = model.generation_config.eos_token_id
    ends = set(end) if isinstance(end, list) else {end}
    return {each for each in (*ends, tokenizer.eos_token_id) if each is not None}
