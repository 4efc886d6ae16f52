"""Released reward models on Qwen-VL: VideoReward rates videos, EditReward edited pictures.

    row ── prompt with reward tokens ──► Qwen2-VL or Qwen2.5-VL ── states of those tokens ──► head ──► numbers

Read from KwaiVGI/VideoAlign at 219ab9db64c045e5181a2202d11f686439351292 (modules ``inference``, ``trainer`` and
``vision_process``) and TIGER-AI-Lab/EditReward at edb027edde6080b8a9521ef8e87049b3797f8374 (``inference_edit`` and
``model.qwen2_5_vl_trainer``); how VideoReward's old names of weights are read today also from verl-project/verl-omni at
dc5e74928099d526f318096a3f93b3a44d45b5e8 (``utils.reward_score.videoalign``). The texts of the prompts are the authors' and
are read from a copy of their file, which is parsed and not run. Rows are given to the model one by one.
"""

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from salon_judges.scorers.clip_models import device_of
from salon_taxonomy.errors import InputError

DIMENSIONS: Final = ("VQ", "MQ", "TA")
"""VideoReward's numbers, in their order: visual quality, motion quality, text alignment; ``Overall`` is their sum."""
OVERALL: Final = "Overall"

_VIDEO_TOKENS: Final = tuple(f"<|{name}_reward|>" for name in DIMENSIONS)
_VIDEO_PROMPT: Final = "DETAILED_PROMPT_WITH_SPECIAL_TOKEN"
_VIDEO_TEMPLATE: Final = "detailed_special"
_LEAST_FRAME_PIXELS: Final = 128 * 28 * 28
_EDIT_TOKENS: Final = ("<|Reward|>",)
_EDIT_PROMPTS: Final = ("INSTRUCTION_EDIT_FOLLOWING", "INSTRUCTION_EDIT_QUALITY")
_EDIT_END: Final = "\nPlease provide the overall ratings of this image: <|Reward|>\n\nEND\n"
_EDIT_PIXELS: Final = 256 * 28 * 28
_FACTOR: Final = 28
_HEAD_LAYERS: Final = (0, 3, 5)
"""Places of the linear layers among those of a head of EditReward; a ReLU follows each but the last."""


def video_reward(settings: Mapping[str, str]) -> Callable[[Sequence[Sequence[Any]], Sequence[str]], list[float]]:
    """Return the scoring function of VideoReward (Liu et al. 2025, arXiv 2501.13918).

    ``checkpoint`` is the whole ``model.pth``, ``config`` the ``model_config.json`` above it, ``prompts`` the authors'
    module ``prompt_template``. The three numbers are normalised by the means and deviations of ``config``, where it has
    them, as ``VideoVLMRewardInference.reward`` does. LoRA weights are added to those they belong to.
    """
    about = _about(Path(settings["config"]))
    trained, data, lora = about["model_config"], about["data_config"], about["peft_lora_config"]
    if not trained.get("use_special_tokens") or data.get("prompt_template_type") != _VIDEO_TEMPLATE:
        problem = f"only models with reward tokens and the template {_VIDEO_TEMPLATE} are read, not"
        raise InputError(problem, source=settings["config"], value=data.get("prompt_template_type"))
    chosen = settings["dimension"]
    if chosen not in (*DIMENSIONS, OVERALL):
        raise InputError("unknown dimension", source="video-reward", value=chosen, allowed=(*DIMENSIONS, OVERALL))
    template = _constant(Path(settings["prompts"]), _VIDEO_PROMPT)
    backbone = _Backbone(settings, _VIDEO_TOKENS, _lora_scale(lora))
    head = backbone.left["rm_head.weight"].float()
    normal = about.get("inference_config") or {}
    scales = [(float(normal.get(f"{name}_mean", 0)), float(normal.get(f"{name}_std", 1))) for name in DIMENSIONS]
    most_pixels = int(data["max_frame_pixels"])

    def score(frames: Sequence[Sequence[Any]], prompts: Sequence[str]) -> list[float]:
        scores = []
        for video, prompt in zip(frames, prompts, strict=True):
            pixels = torch.stack([_pixels(frame) for frame in video])
            resized = _resized(pixels, _LEAST_FRAME_PIXELS, most_pixels)
            states = backbone.states(template.format(text_prompt=prompt), videos=[resized])
            raw = nn.functional.linear(states, head.to(states.device))
            logits = raw[:, 0] if raw.shape[1] == 1 else raw.diagonal()
            numbers = [(value - mean) / deviation for value, (mean, deviation) in zip(logits.tolist(), scales, strict=True)]
            scores.append(sum(numbers) if chosen == OVERALL else numbers[DIMENSIONS.index(chosen)])
        return scores

    return score


def edit_reward(settings: Mapping[str, str]) -> Callable[..., list[float]]:
    """Return the scoring function of EditReward (Wu et al. 2025, arXiv 2509.26346): the mean of its heads' first numbers.

    ``checkpoint`` is ``model.safetensors`` or ``model.pth`` of a model with two heads, ``prompts`` the authors'
    module ``dataset.prompts``, ``model`` the backbone that it was trained from. Of several sources the first is shown.
    """
    templates = [_constant(Path(settings["prompts"]), name) + _EDIT_END for name in _EDIT_PROMPTS]
    backbone = _Backbone(settings, _EDIT_TOKENS, 1.0)
    heads = [_layers(backbone.left, f"rm_heads.head_{number}", settings["checkpoint"]) for number in range(len(templates))]

    def score(images: Sequence[Any], prompts: Sequence[str], sources: Sequence[Sequence[Any]]) -> list[float]:
        scores = []
        for image, prompt, source in zip(images, prompts, sources, strict=True):
            pictures = [_fitted(each) for each in (source[0], image)]
            numbers = []
            for template, layers in zip(templates, heads, strict=True):
                value = backbone.states(template.format(text_prompt=prompt), images=pictures)
                for depth, (weight, bias) in enumerate(layers):
                    value = nn.functional.linear(
                        value.relu() if depth else value, weight.to(value.device), bias.to(value.device)
                    )
                numbers.append(float(value[0, 0]))
            scores.append(sum(numbers) / len(numbers))
        return scores

    return score


class _Backbone:
    """A Qwen-VL model without its language head, with the weights of a checkpoint and tokens of its own.

    Args:
        settings: ``model``, ``revision``, ``checkpoint``, ``dtype`` and ``device``.
        tokens: are added to the tokenizer, in this order.
        lora_scale: alpha / r of LoRA weights in the checkpoint.

    Attributes:
        left: the weights that are not the backbone's: heads.
    """

    def __init__(self, settings: Mapping[str, str], tokens: Sequence[str], lora_scale: float) -> None:
        import transformers

        names: Any = transformers
        model, revision, checkpoint = settings["model"], settings.get("revision"), settings["checkpoint"]
        kinds = {"qwen2_vl": names.Qwen2VLModel, "qwen2_5_vl": names.Qwen2_5_VLModel}
        try:
            config = names.AutoConfig.from_pretrained(model, revision=revision, trust_remote_code=False)
            self._processor = names.AutoProcessor.from_pretrained(model, revision=revision, trust_remote_code=False)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be loaded ({str(error).splitlines()[0]})", value=model) from error
        if config.model_type not in kinds:
            raise InputError("is no backbone of this scorer", value=config.model_type, allowed=tuple(kinds))
        self._processor.tokenizer.add_tokens(list(tokens), special_tokens=True)
        self._tokens = torch.tensor(self._processor.tokenizer.convert_tokens_to_ids(list(tokens)))
        weights, self.left = _sorted_weights(_merged(_read(Path(checkpoint)), lora_scale))
        embeddings = weights.get("language_model.embed_tokens.weight")
        if embeddings is None or embeddings.shape[0] <= int(self._tokens.max()):
            raise InputError("lacks embeddings of the reward tokens", source=checkpoint)
        config.get_text_config().vocab_size = embeddings.shape[0]
        options = {"config": config, "dtype": getattr(torch, settings["dtype"]), "output_loading_info": True}
        try:
            network, loading = kinds[config.model_type].from_pretrained(None, state_dict=weights, **options)
        except (RuntimeError, ValueError) as error:
            raise InputError(f"does not fit the backbone ({str(error).splitlines()[0]})", source=checkpoint) from error
        wrong = sorted({*loading["missing_keys"], *loading["unexpected_keys"]})
        if wrong:
            raise InputError("does not fit the backbone, by", source=checkpoint, value=wrong[0])
        self._network = network.to(device_of(settings)).eval()

    def states(self, text: str, **media: Any) -> Tensor:
        """Return the last layer's state of each reward token in a prompt, shape (tokens, features), 32 bits.

        Positions count the tokens one by one, pictures too: the authors' code hands embeddings to the language model, without
        the grids that Qwen's own positions need.
        """
        media_parts = [{"type": kind.removesuffix("s")} for kind, each in media.items() for _ in each]
        message = [{"role": "user", "content": [*media_parts, {"type": "text", "text": text}]}]
        written = self._processor.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        inputs = self._processor(text=[written], do_resize=False, return_tensors="pt", **media)
        inputs = {key: value.to(self._network.device) for key, value in inputs.items()}
        inputs = {key: value.to(self._network.dtype) if value.is_floating_point() else value for key, value in inputs.items()}
        ids = inputs["input_ids"]
        inputs["position_ids"] = torch.arange(ids.shape[1], device=ids.device).expand(3, 1, -1)
        with torch.inference_mode():
            states: Tensor = self._network(**inputs, use_cache=False).last_hidden_state[0]
        chosen = states[torch.isin(ids[0], self._tokens.to(ids.device))].float()
        if chosen.shape[0] != len(self._tokens):  # a prompt that holds one
            raise ValueError(f"the prompt holds {chosen.shape[0]} reward tokens, not {len(self._tokens)}")
        return chosen


def _read(path: Path) -> dict[str, Tensor]:
    try:
        state = load_file(path) if path.suffix == ".safetensors" else torch.load(path, map_location="cpu", weights_only=True)
        state = state.get("model", state)
        if not all(isinstance(value, Tensor) for value in state.values()):
            raise TypeError("not tensors")
    except (OSError, ValueError, TypeError, AttributeError, RuntimeError, EOFError, SafetensorError) as error:
        raise InputError(f"holds no weights ({type(error).__name__})", source=path) from error
    return dict(state)


def _merged(state: Mapping[str, Tensor], scale: float) -> dict[str, Tensor]:
    """Return weights under the names that they have without PEFT, LoRA's products added: W + scale · B A (LoRA, Eq. 3)."""
    plain = {key.removeprefix("base_model.model."): value for key, value in state.items()}
    merged = {key.replace(".base_layer.", "."): value for key, value in plain.items() if ".lora_" not in key}
    for key, down in plain.items():
        name, marked, _ = key.partition(".lora_A.")
        if marked:
            up, target = plain[key.replace(".lora_A.", ".lora_B.")], f"{name}.weight"
            merged[target] = (merged[target].float() + scale * (up.float() @ down.float())).to(merged[target].dtype)
    return merged


def _sorted_weights(state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the backbone's weights by the names of transformers 5, and the heads'; the language head is left out."""
    weights, heads = {}, {}
    for key, value in state.items():
        name = key.removeprefix("model.")
        if name.startswith(("visual.", "language_model.")):
            weights[name] = value
        elif key.startswith("model."):
            weights[f"language_model.{name}"] = value
        elif key.startswith("rm_head"):
            heads[key] = value
    return weights, heads


def _lora_scale(lora: Mapping[str, Any]) -> float:
    rank = float(lora.get("lora_r", 1))
    return float(lora.get("lora_alpha", 1)) / (rank**0.5 if lora.get("use_rslora") else rank)


def _layers(state: Mapping[str, Tensor], head: str, source: str) -> list[tuple[Tensor, Tensor]]:
    try:
        return [(state[f"{head}.{place}.weight"].float(), state[f"{head}.{place}.bias"].float()) for place in _HEAD_LAYERS]
    except KeyError as error:
        raise InputError("lacks a layer of a head:", source=source, value=error.args[0]) from error


def _about(path: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in ("model_config", "data_config", "peft_lora_config") if not isinstance(about[key], dict)]
        int(about["data_config"]["max_frame_pixels"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"is no configuration of VideoReward ({error!r})", source=path) from error
    if missing:
        raise InputError("is no configuration of VideoReward: no table", source=path, key=missing[0])
    return about


def _constant(path: Path, name: str, placeholder: str = "{text_prompt}") -> str:
    """Return a text with the placeholder of a prompt that a file of Python assigns to a name, without running it."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        raise InputError(f"is no file of Python ({type(error).__name__})", source=path) from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(isinstance(each, ast.Name) and each.id == name for each in node.targets):
            text = node.value.args[0] if isinstance(node.value, ast.Call) and node.value.args else node.value
            value = text.value if isinstance(text, ast.Constant) else None
            if isinstance(value, str) and placeholder in value:
                return value
    raise InputError("does not hold the authors' prompt", source=path, key=name)


def _pixels(image: Any) -> Tensor:
    import numpy as np

    return torch.from_numpy(np.array(image)).permute(2, 0, 1)


def _resized(frames: Tensor, least: int, most: int) -> Tensor:
    """Return frames whose sides are multiples of 28 and whose area lies within the bounds, bicubic, as bytes."""
    high, wide = _size(frames.shape[-2], frames.shape[-1], least, most)
    options: dict[str, Any] = {"mode": "bicubic", "align_corners": False, "antialias": True}
    return nn.functional.interpolate(frames.float(), size=(high, wide), **options).clamp(0, 255).round().byte()


def _fitted(image: Any) -> Any:
    """Return a picture of about 200,704 pixels whose sides are multiples of 28."""
    high, wide = _size(image.height, image.width, _EDIT_PIXELS, _EDIT_PIXELS)
    return image.resize((wide, high))


def _size(high: int, wide: int, least: int, most: int) -> tuple[int, int]:
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

    size: tuple[int, int] = smart_resize(high, wide, factor=_FACTOR, min_pixels=least, max_pixels=most)
    return size
