"""VideoScore2: a Qwen2.5-VL that reasons about a video, and then marks it from 1 to 5 in three dimensions.

He et al. 2025, VideoScore2 (arXiv 2509.22799). Read from TIGER-AI-Lab/VideoScore2 at e6abe26bf694c293023cb3863bd6c657128766ac
(``vs2_inference``). The text of the question is the authors' and is read from a copy of that file, which is parsed and not run.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, Final

import torch

from salon_judges.scorers.clip_models import device_of
from salon_judges.scorers.qwen_rewards import _constant, _pixels, _resized
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

DIMENSIONS: Final = {
    "visual": "visual quality:",
    "text": "text-to-video alignment:",
    "physical": "physical/common-sense consistency:",
}
"""Each dimension with the words in front of its mark."""
MEAN: Final = "mean"

_MARKS: Final = (1, 2, 3, 4, 5)
_ANSWER: Final = re.compile(
    ".*?".join(rf"{re.escape(words)}\s*(\d+)" for words in DIMENSIONS.values()), re.DOTALL | re.IGNORECASE
)
_SECOND: Final = 2.0
"""Frames of a second of video that are shown."""
_LEAST_PIXELS, _MOST_PIXELS, _ALL_PIXELS = 128 * 28 * 28, 768 * 28 * 28, round(128_000 * 28 * 28 * 0.9)
_DRAW: Final = {"do_sample": True, "temperature": 0.7, "max_new_tokens": 1024}


def video_score2(settings: Mapping[str, str]) -> Callable[[Sequence[Sequence[Any]], Sequence[str]], list[Verdict[float]]]:
    """Return the scoring function of VideoScore2: its soft marks, as the released script computes them.

    A soft mark is the likeliest mark from 1 to 5 where the reply has it, times its share of the probability of the five.
    ``model`` is a folder or name of the weights, ``prompts`` the authors' module ``vs2_inference``, ``dimension`` one of
    :data:`DIMENSIONS` or ``mean`` of the three, ``seed`` that of the reply, which is drawn at temperature 0.7 as theirs is. A
    reply without all three marks, or with one that is not from 1 to 5, leaves the video unscored.
    """
    import transformers

    names: Any = transformers
    chosen = settings["dimension"]
    if chosen not in (*DIMENSIONS, MEAN):
        raise InputError("unknown dimension", source="video-score2", value=chosen, allowed=(*DIMENSIONS, MEAN))
    if not settings["seed"].isdecimal():
        raise InputError("must be a whole number from 0", source="video-score2", key="seed", value=settings["seed"])
    template = Template(_constant(Path(settings["prompts"]), "VS2_QUERY_TEMPLATE", "$t2v_prompt"))
    model, revision = settings["model"], settings.get("revision")
    try:
        processor = names.AutoProcessor.from_pretrained(model, revision=revision, trust_remote_code=False)
        network = names.Qwen2_5_VLForConditionalGeneration.from_pretrained(
            model, revision=revision, dtype=getattr(torch, settings["dtype"])
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"cannot be loaded ({str(error).splitlines()[0]})", value=model) from error
    network = network.to(device_of(settings)).eval()

    def score(frames: Sequence[Sequence[Any]], prompts: Sequence[str]) -> list[Verdict[float]]:
        verdicts: list[Verdict[float]] = []
        for video, prompt in zip(frames, prompts, strict=True):
            inputs = _inputs(processor, video, template.safe_substitute(t2v_prompt=prompt)).to(network.device)
            with (
                torch.inference_mode(),
                torch.random.fork_rng(devices=[network.device] if network.device.type == "cuda" else []),
            ):
                torch.manual_seed(int(settings["seed"]))
                drawn = network.generate(**inputs, **_DRAW, output_scores=True, return_dict_in_generate=True)
            ids = drawn.sequences[0, inputs["input_ids"].shape[1] :].tolist()
            marks = soft_marks(processor.tokenizer, ids, [each[0] for each in drawn.scores])
            if isinstance(marks, Unscored):
                verdicts.append(marks)
            else:
                verdicts.append(Scored(sum(marks.values()) / len(marks) if chosen == MEAN else marks[chosen]))
        return verdicts

    return score


def soft_marks(tokenizer: Any, ids: Sequence[int], scores: Sequence[torch.Tensor]) -> dict[str, float] | Unscored:
    """Return the soft mark of each dimension of a reply.

    Args:
        tokenizer: of the model.
        ids: the reply's tokens.
        scores: of each token, shape (vocabulary,).
    """
    reply = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    answer = _ANSWER.search(reply)
    if answer is None:
        return Unscored(Reason.MALFORMED, "the reply lacks a mark", reply)
    odd = next((mark for mark in answer.groups() if mark not in map(str, _MARKS)), None)
    if odd is not None:
        return Unscored(Reason.OFF_MENU, f"a mark is {odd}, not from 1 to 5", reply)
    tokens = [tokenizer.encode(str(mark), add_special_tokens=False)[0] for mark in _MARKS]
    marks = {}
    for name, words in DIMENSIONS.items():
        position = _place(tokenizer, ids, words)
        if position is None:
            return Unscored(Reason.MALFORMED, f"no token of the reply is the mark of {name}", reply)
        shares = torch.softmax(scores[position].float(), dim=-1)[tokens]
        best = int(shares.argmax())
        marks[name] = float(_MARKS[best] * shares[best] / shares.sum()) if shares.sum() > 0 else 0.0
    return marks


def _place(tokenizer: Any, ids: Sequence[int], words: str) -> int | None:
    """Return which token ends with the first digit behind the first of some words."""
    match = re.search(rf"{re.escape(words)}\D*\d", tokenizer.decode(ids, skip_special_tokens=False), re.IGNORECASE)
    for position in range(len(ids) if match else 0):
        begun = tokenizer.decode(ids[: position + 1], skip_special_tokens=False)
        if match and len(begun) >= match.end():
            return position if len(begun) == match.end() else None
    return None


def _inputs(processor: Any, video: Sequence[Any], question: str) -> Any:
    from transformers.video_utils import VideoMetadata

    frames = [*video, *video[-1:]] if len(video) % 2 else [*video]
    most = max(min(_MOST_PIXELS, _ALL_PIXELS // len(frames) * 2), round(_LEAST_PIXELS * 1.05))
    pixels = _resized(torch.stack([_pixels(frame) for frame in frames]), _LEAST_PIXELS, most)
    content = [{"type": "video"}, {"type": "text", "text": question}]
    text = processor.apply_chat_template([{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True)
    timing = VideoMetadata(total_num_frames=len(frames), fps=_SECOND, frames_indices=[*range(len(frames))])
    options: dict[str, Any] = {"do_resize": False, "do_sample_frames": False, "return_tensors": "pt"}
    return processor(text=[text], videos=[pixels], video_metadata=[timing], **options)
