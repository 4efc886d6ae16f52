"""Qwen2-VL and Qwen2.5-VL with random weights, tokenizer and processor, made on the spot: no network."""

from pathlib import Path

_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif part['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)
_MARKS = ("<|pad|>", "<|end|>", "<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>")


def save_tiny_qwen(folder: Path, kind: str = "qwen2_vl", *, seed: int = 0) -> Path:
    """Write a model of the kind ``qwen2_vl`` or ``qwen2_5_vl`` to a folder; the same seed gives the same weights."""
    import torch
    import transformers as library
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    words.train_from_iterator(
        ["a red ball"], trainers.BpeTrainer(special_tokens=list(_MARKS), initial_alphabet=letters, show_progress=False)
    )
    tokenizer = library.PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<|end|>", pad_token="<|pad|>", additional_special_tokens=list(_MARKS[2:])
    )
    names = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    ids = {name: tokenizer.convert_tokens_to_ids(mark) for name, mark in zip(names, _MARKS[2:], strict=True)}
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 1024,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]},
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "bos_token_id": None,
        "tie_word_embeddings": False,
    }
    shared = {"depth": 2, "num_heads": 2, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2}
    torch.manual_seed(seed)
    if kind == "qwen2_vl":
        vision = {**shared, "embed_dim": 16, "hidden_size": 32, "mlp_ratio": 2}
        config = library.Qwen2VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **ids)
        model, processor = library.Qwen2VLForConditionalGeneration(config), library.Qwen2VLProcessor
    else:
        vision = {**shared, "hidden_size": 16, "out_hidden_size": 32, "intermediate_size": 32, "window_size": 112}
        vision["fullatt_block_indexes"] = [1]
        config = library.Qwen2_5_VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **ids)
        model, processor = library.Qwen2_5_VLForConditionalGeneration(config), library.Qwen2_5_VLProcessor
    model.save_pretrained(folder)
    pictures, videos = library.Qwen2VLImageProcessor(patch_size=14), library.Qwen2VLVideoProcessor(patch_size=14)
    processor(image_processor=pictures, tokenizer=tokenizer, video_processor=videos, chat_template=_TEMPLATE).save_pretrained(
        folder
    )
    return folder
