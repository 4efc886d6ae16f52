"""Reward models of pictures: a backbone of transformers, and a head that gives a number, or a number and how unsure it is.

    CLIP, SigLIP          unit vectors of picture and prompt, and their product ──┐
    BLIP                  the first token's state in the text that sees the picture ─┤
    vision-language model the last layer's state of the last token ───────────────┴─► linear head ──► reward (and deviation)

``salon train reward-model`` makes them; as a scorer one is ``reward-model:FOLDER``. The folder holds the backbone and its
processor as transformers saves them, ``head.safetensors``, and ``reward_model.json``.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from salon_judges.clients.special_tokens import disarmed
from salon_taxonomy.errors import InputError

ABOUT: Final = "reward_model.json"
_HEAD: Final = "head.safetensors"
_LEAST_DEVIATION: Final = 1e-3
_SCALE: Final = 10.0
"""Of the cosine where a backbone has no scale of its own."""
_FAILURES: Final = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RuntimeError),
    *(SafetensorError, StrictDataclassError, UnpicklingError),
)
"""Of files that are not what transformers, safetensors and torch write."""
_QUESTION: Final = "How well is this picture made, and how well does it show what was asked for?\n"


class RewardNetwork(nn.Module):
    """A backbone and its head.

    Args:
        backbone: of transformers: with ``get_image_features`` and ``get_text_features``, ``BlipForImageTextRetrieval`` (the
            backbone of ImageReward), or a vision-language model.
        processor: of the backbone.
        unsure: whether the head also gives a standard deviation.

    Attributes:
        head: of a CLIP-like backbone it begins as the scaled cosine, PickScore's formula; else at random.
    """

    def __init__(self, backbone: Any, processor: Any, *, unsure: bool = False) -> None:
        super().__init__()
        self.backbone, self.processor, self.unsure = backbone, processor, unsure
        self._compares = callable(getattr(backbone, "get_image_features", None)) and hasattr(backbone, "get_text_features")
        self._matches = hasattr(backbone, "itm_head")
        width = _width(backbone, compares=self._compares)
        self.head = nn.Linear(3 * width if self._compares else width, 2 if unsure else 1)
        with torch.no_grad():
            self.head.bias.zero_()
            if self._compares:
                self.head.weight.zero_()
                scale = getattr(backbone, "logit_scale", None)
                self.head.weight[0, 2 * width :] = (
                    _SCALE if scale is None or scale.is_meta else min(float(scale.float().exp()), 100.0)
                )
        self.head.to(backbone.device)

    @classmethod
    def begin(
        cls,
        model: str,
        *,
        revision: str | None = None,
        dtype: str = "float32",
        device: str = "cpu",
        unsure: bool = False,
        local_files_only: bool = False,
        least_pixels: int | None = None,
        most_pixels: int | None = None,
    ) -> "RewardNetwork":
        """Load a backbone, with a new head.

        Args:
            model: a folder, or a name on the Hugging Face hub.
            revision: on the hub.
            dtype: of the backbone's weights.
            device: of torch.
            unsure: whether the head also gives a standard deviation.
            local_files_only: whether the hub is left alone.
            least_pixels, most_pixels: width × height that a picture is scaled to, for processors that scale (Qwen's); None:
                the processor's own.

        Raises:
            InputError: transformers cannot load it, it lacks weights, or it is no model of pictures and texts.
        """
        import transformers

        names: Any = transformers
        options = {"revision": revision, "dtype": getattr(torch, dtype), "local_files_only": local_files_only}
        pixels = {"min_pixels": least_pixels, "max_pixels": most_pixels}
        limits = {name: value for name, value in pixels.items() if value is not None}
        try:
            own = {"revision": revision, "trust_remote_code": False, "local_files_only": local_files_only}
            processor = names.AutoProcessor.from_pretrained(model, **own, **limits)
            kind = backbone_class(names.AutoConfig.from_pretrained(model, **own))
            backbone, loading = kind.from_pretrained(model, output_loading_info=True, **options)
        except _FAILURES as error:
            raise InputError(f"cannot be loaded ({str(error).partition(chr(10))[0]})", value=model) from error
        missing = sorted(loading["missing_keys"])
        if missing:
            raise InputError(f"lacks weights of the model, such as {missing[0]}:", value=model)
        return cls(backbone.to(device), processor, unsure=unsure)

    @classmethod
    def read(cls, folder: Path, *, dtype: str = "float32", device: str = "cpu") -> "RewardNetwork":
        """Load a reward model that :meth:`save` has written.

        Raises:
            InputError: the folder has no reward model.
        """
        try:
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            network = cls.begin(str(folder), dtype=dtype, device=device, unsure=bool(about["unsure"]))
            network.head.load_state_dict(load_file(folder / _HEAD))
        except _FAILURES as error:
            raise InputError(f"is no reward model ({type(error).__name__})", source=folder) from error
        return network.eval()

    def save(self, folder: Path, about: Mapping[str, Any] | None = None) -> None:
        """Write the model into a folder; ``about`` says how it was made."""
        self.backbone.save_pretrained(folder)
        self.processor.save_pretrained(folder)
        save_file({name: value.detach().cpu().contiguous() for name, value in self.head.state_dict().items()}, folder / _HEAD)
        (folder / ABOUT).write_text(json.dumps({"unsure": self.unsure, **(about or {})}, indent=1), encoding="utf-8")

    def prepared(self, images: Sequence[Any], prompts: Sequence[str]) -> dict[str, Tensor]:
        """Return what the network reads of PIL images and their prompts, on its device."""
        if self._compares or self._matches:
            longest = self.backbone.config.text_config.max_position_embeddings
            options = {"padding": "max_length", "truncation": True, "max_length": longest}
            inputs = self.processor(images=list(images), text=list(prompts), return_tensors="pt", **options)
        else:
            self.processor.tokenizer.padding_side = "left"
            plain = [_QUESTION + disarmed(self.processor, prompt) for prompt in prompts]
            asked = [[{"type": "image"}, {"type": "text", "text": text}] for text in plain]
            template = self.processor.apply_chat_template
            texts = [template([{"role": "user", "content": each}], add_generation_prompt=True) for each in asked]
            inputs = self.processor(images=[[image] for image in images], text=texts, padding=True, return_tensors="pt")
        moved: dict[str, Tensor] = {}
        for name, value in inputs.items():
            moved[name] = value.to(self.backbone.device, self.backbone.dtype if value.is_floating_point() else value.dtype)
        return moved

    def forward(self, inputs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        """Return rewards and, of a model that is unsure, standard deviations; shape (pictures,), 32 bits."""
        if self._compares:
            picture = _unit(self.backbone.get_image_features(pixel_values=inputs["pixel_values"]))
            named = {name: inputs[name] for name in ("input_ids", "attention_mask") if name in inputs}
            text = _unit(self.backbone.get_text_features(**named))
            features = torch.cat([picture, text, picture * text], dim=1)
        elif self._matches:
            seen = self.backbone.vision_model(pixel_values=inputs["pixel_values"]).last_hidden_state
            named = {name: inputs[name] for name in ("input_ids", "attention_mask")}
            features = self.backbone.text_encoder(**named, encoder_hidden_states=seen).last_hidden_state[:, 0].float()
        else:
            features = self.backbone(**inputs, use_cache=False).last_hidden_state[:, -1].float()
        read = nn.functional.linear(features, self.head.weight, self.head.bias)
        return read[:, 0], nn.functional.softplus(read[:, 1]) + _LEAST_DEVIATION if self.unsure else None


def reward_model(settings: Mapping[str, str]) -> Callable[[Sequence[Any], Sequence[str]], list[float]]:
    """Return the scoring function of a folder of ``salon train reward-model``."""
    from salon_judges.scorers.clip_models import device_of

    network = RewardNetwork.read(Path(settings["model"]), dtype=settings["dtype"], device=device_of(settings))

    def score(images: Sequence[Any], prompts: Sequence[str]) -> list[float]:
        with torch.inference_mode():
            rewards: list[float] = network(network.prepared(images, prompts))[0].tolist()
        return rewards

    return score


def backbone_class(config: Any) -> Any:
    """Return the class of transformers that a backbone is loaded as: of a BLIP the one whose text sees the picture."""
    import transformers

    names: Any = transformers
    if config.model_type == "blip":
        return names.BlipForImageTextRetrieval
    if type(config) not in names.MODEL_MAPPING:
        raise InputError("is no model of pictures and texts:", value=config.model_type)
    return names.MODEL_MAPPING[type(config)]


def _width(backbone: Any, *, compares: bool) -> int:
    config = backbone.config
    if compares:
        width = getattr(config, "projection_dim", None) if hasattr(backbone, "visual_projection") else None
        return int(width or config.vision_config.hidden_size)
    if not hasattr(backbone, "get_image_features") and not hasattr(backbone, "itm_head"):
        raise InputError("is no model of pictures and texts", value=type(backbone).__name__)
    return int(config.get_text_config().hidden_size)


def _unit(features: Any) -> Tensor:
    vectors: Tensor = getattr(features, "pooler_output", features)
    return nn.functional.normalize(vectors.float(), dim=-1)
