"""Tiny models with random weights of two families that Salon itself does not make: Qwen3-VL and SmolVLM."""

from pathlib import Path

from salon_train.models.tiny import ASSISTANT, END, PAD, SYSTEM, USER, TinyShape, train_tokenizer

_TEXTS = ["What is wrong?", "Nothing."]
_SHAPE = TinyShape(image_size=16, patch_size=4, vision_width=32, vision_layers=1, text_width=32, text_layers=1, heads=2)
_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}{% if part['type'] == 'image' %}IMAGE{% else %}{{ part['text'] }}"
    "{% endif %}{% endfor %}{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_MARKS = (PAD, END, USER, ASSISTANT, SYSTEM)


def save_qwen3_vl(folder: Path) -> Path:
    """Write a tiny Qwen3-VL."""
    from transformers import (
        Qwen2VLImageProcessor,
        Qwen3VLConfig,
        Qwen3VLForConditionalGeneration,
        Qwen3VLProcessor,
        Qwen3VLVideoProcessor,
    )

    image, video, start, end = "<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"
    tokenizer = train_tokenizer(_TEXTS, marks=(*_MARKS, image, video, start, end), shape=_SHAPE)
    patches = {"patch_size": 4, "merge_size": 2, "temporal_patch_size": 2}
    size = {"shortest_edge": 256, "longest_edge": 256}
    template = _TEMPLATE.replace("IMAGE", start + image + end)
    pictures, videos = Qwen2VLImageProcessor(size=size, **patches), Qwen3VLVideoProcessor(size=size, **patches)
    processor = Qwen3VLProcessor(pictures, tokenizer, videos, chat_template=template)
    ids = tokenizer.convert_tokens_to_ids
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 2, 2]},
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": 4,
            "out_hidden_size": 32,
            "num_position_embeddings": 16,
            "deepstack_visual_indexes": [0],
        },
        image_token_id=ids(image),
        video_token_id=ids(video),
        vision_start_token_id=ids(start),
        vision_end_token_id=ids(end),
    )
    return _saved(Qwen3VLForConditionalGeneration, config, processor, folder)


def save_smolvlm(folder: Path) -> Path:
    """Write a tiny SmolVLM, with the processor of Idefics3, from which it descends: SmolVLM's own needs num2words."""
    from transformers import (
        Idefics3ImageProcessor,
        Idefics3Processor,
        LlamaConfig,
        SmolVLMConfig,
        SmolVLMForConditionalGeneration,
    )

    marks = ("<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>")
    tokenizer = train_tokenizer(_TEXTS, marks=(*_MARKS, *marks), shape=_SHAPE)
    sizes = {"size": {"longest_edge": 16}, "max_image_size": {"longest_edge": 16}}
    processor = Idefics3Processor(
        Idefics3ImageProcessor(do_image_splitting=False, **sizes),
        tokenizer,
        image_seq_len=4,
        chat_template=_TEMPLATE.replace("IMAGE", "<image>"),
    )
    config = SmolVLMConfig(
        text_config=LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        ),
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 16,
            "patch_size": 4,
        },
        scale_factor=2,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        pad_token_id=tokenizer.pad_token_id,
    )
    return _saved(SmolVLMForConditionalGeneration, config, processor, folder)


def _saved(kind: type, config: object, processor: object, folder: Path) -> Path:
    import torch

    torch.manual_seed(0)
    model = kind(config)
    model.generation_config.eos_token_id = processor.tokenizer.eos_token_id
    model.generation_config.pad_token_id = processor.tokenizer.pad_token_id
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
