"""Models to train.

build_tiny_model    a tiny LLaVA or Qwen2.5-VL with random weights, made on the spot without a network
"""

from salon_train.models.tiny import Architecture, TinyModel, TinyShape, build_tiny_model

__all__ = ["Architecture", "TinyModel", "TinyShape", "build_tiny_model"]
