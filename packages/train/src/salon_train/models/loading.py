"""Loads any vision-language model that ``AutoModelForImageTextToText`` knows, and makes it ready to learn.

folder or name ──► model + processor ──► frozen parts, or adapters (peft) ──► LoadedModel
                        └── a folder with adapter_config.json: its base, and the adapter on it, which goes on learning
"""

import json
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from salon_judges.clients.local_weights import weights_digest
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import LoraSection, ModelSection
from salon_train.models.hub import hub_problem, not_found
from salon_train.models.parts import PARTS, part_of, target_pattern

_ADAPTER = "adapter_config.json"
_LONGEST_ERROR = 300
_FAILURES = (OSError, ImportError, RuntimeError, ValueError, LookupError, TypeError, UnpicklingError)
"""What transformers raises for a model that it cannot load."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model and its processor.

    Attributes:
        model: a transformers model, or a peft model around one.
        processor: of pictures and text; pads on the left and has a padding token and a chat template.
        source: where the weights came from.
    """

    model: Any
    processor: Any
    source: str

    @property
    def image_token_ids(self) -> tuple[int, ...]:
        """Return the placeholder tokens of pictures and videos, which are never sampled."""
        config = self.model.config
        names = ("image_token_id", "image_token_index", "video_token_id", "vision_start_token_id", "vision_end_token_id")
        ids = {getattr(config, name, None) for name in names}
        return tuple(sorted(token for token in ids if isinstance(token, int)))


def load_model(section: ModelSection, *, start: str | Path | None = None, learning: bool = True) -> LoadedModel:
    """Load a model and its processor; no code of the model's folder is run.

    With dtype ``auto``, weights that all learn are float32 (steps of 1e-6 are lost in bfloat16's seven bits), and those
    under adapters are as they were saved.

    Args:
        section: which model, and how it learns.
        start: a folder whose weights or adapters are taken instead, written by an earlier stage.
        learning: False: for answers only; nothing is frozen and no adapter is added.

    Raises:
        InputError: when it cannot be loaded, or its processor has no chat template.
    """
    source = str(start or section.name)
    adapter = Path(source) if (Path(source) / _ADAPTER).is_file() else None
    base = section.name if adapter is None else _base_of(adapter, section.name)
    hub = hub_problem(base if adapter else source)
    processor = load_processor(section, source if Path(source, "processor_config.json").is_file() else base, hub=hub)
    model = _weights(section, base if adapter else source, learning, hub)
    if adapter is not None:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, str(adapter), is_trainable=learning)
    elif learning and section.training == "lora":
        model = with_adapters(model, section.lora)
    elif learning:
        _freeze(model, section.freeze)
        _freeze_unused(model)
    if learning:
        _name_layers(model)
    if section.device == "auto" and torch.cuda.is_available() and not learning:
        model = model.to("cuda")
    return LoadedModel(model, processor, source)


def _weights(section: ModelSection, source: str, learning: bool, hub: str | None) -> Any:
    from transformers import AutoModelForImageTextToText

    models: Any = AutoModelForImageTextToText  # transformers leaves it untyped
    dtype: Any = section.dtype
    if dtype == "auto" and learning and section.training == "full":
        dtype = torch.float32
    try:
        return models.from_pretrained(
            source,
            revision=section.revision,
            dtype=dtype,
            attn_implementation=section.attention,
            local_files_only=hub is not None,
            trust_remote_code=False,
        )
    except _FAILURES as error:
        if hub is not None:
            raise not_found("the model cannot be loaded", source, hub) from error
        raise InputError(f"the model cannot be loaded ({line(error)}):", key="model.name", value=source) from error


def load_processor(section: ModelSection, source: str, *, hub: str | None = None) -> Any:
    """Return the processor alone.

    Args:
        section: how pictures are scaled, and which revision.
        source: a folder, or a name on the hub.
        hub: why the hub is not to be asked (:func:`~salon_train.models.hub.hub_problem`); then only its cache is.

    Raises:
        InputError: it cannot be loaded, takes no pictures, or has no chat template.
    """
    from transformers import AutoProcessor

    processors: Any = AutoProcessor
    pixels = {"min_pixels": section.least_pixels, "max_pixels": section.most_pixels}
    limits = {name: value for name, value in pixels.items() if value is not None}
    try:
        processor = processors.from_pretrained(
            source, revision=section.revision, local_files_only=hub is not None, trust_remote_code=False, **limits
        )
    except _FAILURES as error:
        if hub is not None:
            raise not_found("the processor cannot be loaded", source, hub) from error
        raise InputError(f"the processor cannot be loaded ({line(error)}):", key="model.name", value=source) from error
    if not hasattr(processor, "image_processor"):
        raise InputError("has no processor for pictures:", key="model.name", value=source)
    if not getattr(processor, "chat_template", None):
        hint = "Save one with the processor (chat_template.jinja)."
        raise InputError("the processor of this model has no chat template:", key="model.name", value=source, hint=hint)
    processor.tokenizer.padding_side = "left"
    if processor.tokenizer.pad_token_id is None:
        processor.tokenizer.pad_token = processor.tokenizer.eos_token
    return processor


def starting_weights(section: ModelSection, start: str | Path | None = None) -> str:
    """Return the digest of what :func:`load_model` loads: the weights, and of adapters their base's, too.

    Raises:
        InputError: a folder without weights, or a name that neither this machine nor the hub knows.
    """
    source = str(start or section.name)
    adapter = (Path(source) / _ADAPTER).is_file()
    models = [source, _base_of(Path(source), section.name)] if adapter else [source]
    return digest("starting weights", [weights_digest(model, section.revision) for model in models])


def _base_of(adapter: Path, name: str) -> str:
    """Return the model that an adapter was made for; the configured one where the adapter's own is no longer there."""
    recorded = json.loads((adapter / _ADAPTER).read_text(encoding="utf-8")).get("base_model_name_or_path")
    return recorded if recorded and (Path(recorded).is_dir() or not Path(name).is_dir()) else name


def _freeze_unused(model: Any) -> None:
    """Let the end of a LLaVA's vision tower as it is: pictures leave the tower before it (``vision_feature_layer``).

    It never gets a gradient. On several processes that is an error: DDP waits for one where activations are computed again,
    and FSDP misses the optimizer's state for it in a checkpoint.
    """
    feature = getattr(model.config, "vision_feature_layer", None)
    if feature is None:
        return
    layers = model.config.vision_config.num_hidden_layers
    used = max(each if each >= 0 else layers + 1 + each for each in (feature if isinstance(feature, list) else [feature]))
    for name, parameter in model.named_parameters():
        _, tower, inside = name.partition("vision_tower.")
        words = inside.split(".")
        after = "layers" in words and int(words[words.index("layers") + 1]) >= used
        if tower and (after or "post_layernorm" in words):
            parameter.requires_grad_(False)


def _name_layers(model: Any) -> None:
    """Let the model's list of layers that stay whole name only those that it has.

    Sharding (FSDP) wraps each of them, and accelerate refuses a model without one that is named: LLaVA's list has the layers
    of a text tower that only its vision tower's sibling has.
    """
    named = getattr(model, "_no_split_modules", None)
    if named:
        held = {type(module).__name__ for module in model.modules()}
        model._no_split_modules = type(named)(name for name in named if name in held)


def _freeze(model: Any, frozen: tuple[str, ...]) -> None:
    """Let the named parts as they are."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(part_of(name) not in frozen)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise InputError("nothing is left to learn", key="model.freeze", value=list(frozen), allowed=PARTS)


def with_adapters(model: Any, section: LoraSection) -> Any:
    """Return a peft model around a model.

    Raises:
        InputError: the wanted modules are not in this model.
    """
    from peft import LoraConfig, get_peft_model

    head = model.get_output_embeddings()
    linear = [name for name, layer in model.named_modules() if isinstance(layer, torch.nn.Linear) and layer is not head]
    targets: str | list[str]
    if isinstance(section.targets, tuple):
        targets = list(section.targets)
    else:
        targets = target_pattern(linear, PARTS if section.targets == "all" else ("language",))
    alpha = section.alpha or 2 * section.rank
    settings = LoraConfig(
        r=section.rank, lora_alpha=alpha, lora_dropout=section.dropout, target_modules=targets, task_type="CAUSAL_LM"
    )
    try:
        return get_peft_model(model, settings)
    except ValueError as error:
        allowed = sorted({name.rpartition(".")[2] for name in linear})
        raise InputError(
            f"no adapter fits ({line(error)}):", key="model.lora.targets", value=targets, allowed=allowed
        ) from error


def line(error: BaseException) -> str:
    """Return an error's text on one line, shortened."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST_ERROR else f"{text[: _LONGEST_ERROR - 1]}…"
