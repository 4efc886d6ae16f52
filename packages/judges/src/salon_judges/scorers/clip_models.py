"""Scorers that compare CLIP embeddings, with transformers or open_clip."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import torch

Score: TypeAlias = Callable[[Sequence[Any], Sequence[str]], list[float]]

CLIP_SCORE_WEIGHT: Final = 2.5
"""CLIPScore, Eq. 1."""
CLIP_SCORE_PREFIX: Final = "A photo depicts "
"""Stands before every text, as in the released code of CLIPScore."""


def clip_score(settings: Mapping[str, str]) -> Score:
    """Return CLIPScore, 2.5 · max(cos, 0), of "A photo depicts " and the prompt (CLIPScore, Eq. 1, and its released code)."""
    clip = _Clip(settings)

    def score(images: Sequence[Any], prompts: Sequence[str]) -> list[float]:
        cosines = clip.cosines(images, [CLIP_SCORE_PREFIX + prompt for prompt in prompts])
        return _numbers(CLIP_SCORE_WEIGHT * cosines.clamp(min=0))

    return score


def pick_score(settings: Mapping[str, str]) -> Score:
    """Return PickScore: the cosine times the exponential of the model's logit scale, as its README computes it."""
    clip = _Clip(settings)

    def score(images: Sequence[Any], prompts: Sequence[str]) -> list[float]:
        return _numbers(clip.model.logit_scale.float().exp() * clip.cosines(images, prompts))

    return score


def aesthetic(settings: Mapping[str, str]) -> Score:
    """Return the aesthetic prediction: a chain of linear layers on the normalised embedding of the picture.

    As in the inference script of improved-aesthetic-predictor, whose dropout does nothing at inference and which has no
    activations between its layers. The layers are those that the file holds: ``layers.0.weight``, ``layers.0.bias``, ….
    """
    import torch

    clip = _Clip(settings)
    layers = _linear_layers(Path(settings["head"]), clip.model.config.projection_dim)

    def score(images: Sequence[Any], prompts: Sequence[str]) -> list[float]:
        features = clip.pictures(images).cpu()
        for weight, bias in layers:
            features = torch.nn.functional.linear(features, weight, bias)
        return _numbers(features[:, 0])

    return score


def hpsv2(settings: Mapping[str, str]) -> Score:
    """Return HPSv2: the cosine of an open_clip model with its checkpoint, as the released package computes it.

    A picture that is no square is scaled until it fits and padded with black (``light_augmentation`` of the released code).
    """
    import open_clip
    import torch

    device = device_of(settings)
    options = {"precision": "fp32", "device": device, "output_dict": True, "image_resize_mode": "longest"}
    created = open_clip.create_model_and_transforms(settings["architecture"], **options)
    model, prepare = created[0], created[2]
    state = torch.load(settings["checkpoint"], map_location="cpu", weights_only=True)
    model.load_state_dict(state.get("state_dict", state))
    model = model.to(getattr(torch, settings["dtype"])).eval()
    tokenizer = open_clip.get_tokenizer(settings["architecture"])

    def score(images: Sequence[Any], prompts: Sequence[str]) -> list[float]:
        pixels = torch.stack([prepare(image) for image in images]).to(device, next(model.parameters()).dtype)
        with torch.inference_mode():
            picture_vectors = model.encode_image(pixels, normalize=True).float()
            text_vectors = model.encode_text(tokenizer(list(prompts)).to(device), normalize=True).float()
        return _numbers((picture_vectors * text_vectors).sum(dim=-1))

    return score


def picture_features(model: str) -> Callable[[Sequence[Any]], Any]:
    """Return the features of pictures: a CLIP model's unit vectors, or the pooled output of another model, such as DINOv2."""
    import torch
    import transformers

    names: Any = transformers
    device = device_of({"device": "auto"})
    try:
        network = names.AutoModel.from_pretrained(model, dtype=torch.float32, trust_remote_code=False).to(device).eval()
        processor = names.AutoImageProcessor.from_pretrained(model, trust_remote_code=False)
    except (OSError, ValueError, UnpicklingError) as error:
        raise InputError(f"cannot be loaded ({str(error).splitlines()[0]})", value=model) from error
    compares = callable(getattr(network, "get_image_features", None))

    def features(images: Sequence[Any]) -> Any:
        pixels = processor(images=list(images), return_tensors="pt")["pixel_values"].to(device)
        with torch.inference_mode():
            features = network.get_image_features(pixel_values=pixels) if compares else network(pixel_values=pixels)
        vectors = getattr(features, "pooler_output", features).float()
        return (vectors / vectors.norm(dim=-1, keepdim=True) if compares else vectors).cpu().numpy()

    return features


class _Clip:
    """A CLIP model of transformers with its processor."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        import torch
        from transformers import AutoModel, AutoProcessor

        models: Any = AutoModel  # transformers types neither
        processors: Any = AutoProcessor
        model, revision = settings["model"], settings.get("revision")
        processor = settings.get("processor") or model
        dtype = getattr(torch, settings["dtype"])
        try:
            loaded = models.from_pretrained(model, revision=revision, dtype=dtype, trust_remote_code=False)
            self.model: Any = loaded.to(device_of(settings)).eval()
            own = revision if processor == model else None
            self._processor: Any = processors.from_pretrained(processor, revision=own, trust_remote_code=False)
        except (OSError, ValueError, UnpicklingError) as error:
            raise InputError(f"cannot be loaded ({str(error).splitlines()[0]})", value=model) from error
        if not callable(getattr(self.model, "get_image_features", None)):
            raise InputError("is no CLIP model", value=model)

    def pictures(self, images: Sequence[Any]) -> "torch.Tensor":
        """Return the unit embeddings of pictures, shape (pictures, dimensions), in 32 bits."""
        inputs = self._processor(images=list(images), return_tensors="pt")
        pixels = inputs["pixel_values"].to(self.model.device, self.model.dtype)
        return self._unit(self.model.get_image_features, pixel_values=pixels)

    def cosines(self, images: Sequence[Any], texts: Sequence[str]) -> "torch.Tensor":
        """Return the cosine of each picture with its text, shape (pictures,)."""
        longest = self.model.config.text_config.max_position_embeddings
        options = {"padding": True, "truncation": True, "max_length": longest, "return_tensors": "pt"}
        inputs = self._processor(text=list(texts), **options).to(self.model.device)
        text_vectors = self._unit(self.model.get_text_features, **inputs)
        cosines: torch.Tensor = (self.pictures(images) * text_vectors).sum(dim=-1)
        return cosines

    def _unit(self, embed: Callable[..., Any], **inputs: Any) -> "torch.Tensor":
        import torch

        with torch.inference_mode():
            features = embed(**inputs)
        vectors: torch.Tensor = getattr(features, "pooler_output", features).float()
        unit: torch.Tensor = vectors / vectors.norm(dim=-1, keepdim=True)
        return unit


def _numbers(tensor: "torch.Tensor") -> list[float]:
    numbers: list[float] = tensor.detach().tolist()
    return numbers


def device_of(settings: Mapping[str, str]) -> str:
    import torch

    named = settings["device"]
    return named if named != "auto" else "cuda" if torch.cuda.is_available() else "cpu"


def _linear_layers(path: Path, width: int) -> list[tuple["torch.Tensor", "torch.Tensor"]]:
    """Read the layers of an aesthetic predictor, in order.

    Raises:
        InputError: the file holds no chain of layers from ``width`` numbers to one.
    """
    import torch

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        places = sorted({int(key.split(".")[-2]) for key in state if key.endswith(".weight")})
        prefix = next(key for key in state if key.endswith(".weight")).rsplit(".", 2)[0]
        layers = [(state[f"{prefix}.{place}.weight"].float(), state[f"{prefix}.{place}.bias"].float()) for place in places]
    except (OSError, ValueError, KeyError, StopIteration, RuntimeError, AttributeError) as error:
        raise InputError(f"holds no layers of an aesthetic predictor ({type(error).__name__})", source=path) from error
    for weight, _ in layers:
        if weight.ndim != 2 or weight.shape[1] != width:
            problem = f"a layer must take {width} numbers, not"
            raise InputError(
                problem, source=path, value=tuple(weight.shape), hint="Name the CLIP model that it was trained on."
            )
        width = weight.shape[0]
    if width != 1:
        raise InputError("the last layer must give one number, not", source=path, value=width)
    return layers
