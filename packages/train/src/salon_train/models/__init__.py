"""Load or build vision-language models to train.

load_model          a model and its processor, ready to learn: adapters, frozen parts, number format
LoadedModel         the two together
part_of             which part of a model a parameter belongs to: vision, connector, language
build_tiny_model    a tiny LLaVA or Qwen2.5-VL with random weights, made without a network
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.models.loading import LoadedModel, load_model
    from salon_train.models.parts import PARTS, part_of
    from salon_train.models.tiny import Architecture, TinyModel, TinyShape, build_tiny_model

__all__ = ["PARTS", "Architecture", "LoadedModel", "TinyModel", "TinyShape", "build_tiny_model", "load_model", "part_of"]

_BY_MODULE = {
    "loading": ("LoadedModel", "load_model"),
    "parts": ("PARTS", "part_of"),
    "tiny": ("Architecture", "TinyModel", "TinyShape", "build_tiny_model"),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
