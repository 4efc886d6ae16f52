"""Find a model's configuration without its weights: in a folder, the hub's cache, or Salon's table.

The shapes of Qwen-VL and BLIP-large are public facts of their configurations; with them a dry run of the published recipes
needs no network.
"""

from typing import Any, Final

from salon_train.models.hub import not_found

KNOWN: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "Qwen/Qwen2.5-VL-7B-Instruct": (
        "qwen2_5_vl",
        {
            "text_config": {
                "hidden_size": 3584,
                "intermediate_size": 18944,
                "num_hidden_layers": 28,
                "num_attention_heads": 28,
                "num_key_value_heads": 4,
                "vocab_size": 152064,
            },
            "vision_config": {
                "depth": 32,
                "hidden_size": 1280,
                "intermediate_size": 3420,
                "num_heads": 16,
                "out_hidden_size": 3584,
                "patch_size": 14,
            },
            "tie_word_embeddings": False,
        },
    ),
    "Qwen/Qwen3-VL-8B-Instruct": (
        "qwen3_vl",
        {
            "text_config": {
                "hidden_size": 4096,
                "intermediate_size": 12288,
                "num_hidden_layers": 36,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "vocab_size": 151936,
            },
            "vision_config": {
                "depth": 27,
                "hidden_size": 1152,
                "intermediate_size": 4304,
                "num_heads": 16,
                "out_hidden_size": 4096,
                "patch_size": 16,
            },
            "tie_word_embeddings": False,
        },
    ),
    "Qwen/Qwen2-VL-7B-Instruct": (
        "qwen2_vl",
        {
            "text_config": {
                "hidden_size": 3584,
                "intermediate_size": 18944,
                "num_hidden_layers": 28,
                "num_attention_heads": 28,
                "num_key_value_heads": 4,
                "vocab_size": 152064,
            },
            "vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 3584, "num_heads": 16, "patch_size": 14},
            "tie_word_embeddings": False,
        },
    ),
    "Qwen/Qwen2-VL-2B-Instruct": (
        "qwen2_vl",
        {
            "text_config": {
                "hidden_size": 1536,
                "intermediate_size": 8960,
                "num_hidden_layers": 28,
                "num_attention_heads": 12,
                "num_key_value_heads": 2,
                "vocab_size": 151936,
            },
            "vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 1536, "num_heads": 16, "patch_size": 14},
            "tie_word_embeddings": True,
        },
    ),
    "Salesforce/blip-itm-large-coco": (
        "blip",
        {
            "text_config": {"hidden_size": 768, "encoder_hidden_size": 1024, "num_attention_heads": 12, "vocab_size": 30524},
            "vision_config": {
                "hidden_size": 1024,
                "intermediate_size": 4096,
                "num_hidden_layers": 24,
                "num_attention_heads": 16,
                "image_size": 384,
                "patch_size": 16,
            },
        },
    ),
}
"""Model type and sizes by name."""


def config_of(name: str, revision: str | None = None, *, hub: str | None = None) -> tuple[Any, bool]:
    """Return a model's configuration, and whether it is the model's own file (False: from :data:`KNOWN`).

    Args:
        name: a folder, or a name on the hub.
        revision: branch, tag or commit on the hub.
        hub: why the hub is not to be asked (:func:`~salon_train.models.hub.hub_problem`); then only its cache is.

    Raises:
        InputError: neither is there.
    """
    from transformers import AutoConfig

    try:
        options = {"revision": revision, "local_files_only": hub is not None, "trust_remote_code": False}
        return AutoConfig.from_pretrained(name, **options), True
    except (OSError, ValueError) as error:
        if name not in KNOWN:
            problem = str(error).strip().partition("\n")[0][:200]
            message = "the model cannot be found" if hub else f"the model cannot be found ({problem})"
            raise not_found(message, name, hub) from error
    kind, sizes = KNOWN[name]
    return AutoConfig.for_model(kind, **sizes), False


def without_weights(config: Any) -> Any:
    """Return the model of a configuration on torch's ``meta`` device: every parameter has a shape and no memory."""
    import torch
    from transformers import AutoModelForImageTextToText

    models: Any = AutoModelForImageTextToText
    with torch.device("meta"):
        return models.from_config(config)
