"""A tiny refiner from nothing, offline: a LLaVA of about half a million random weights with a tokenizer of its own words.

The chat template hands on what stands between a question's data markers, and the picture: all else of the question is the
same for every item. So the policy reads the very questions that larger ones are asked, and a few tokens of them.
"""

import random
from typing import TYPE_CHECKING, Any, Final

from salon_train.refining.small_scenes import draw_small_scenes
from salon_train.refining.teacher import Habits, teacher_reply

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PIXELS: Final = 32
PATCH: Final = 16
"""Of the 256 pixels that a scene is wide, a patch shows 128: one quarter of the small scenes."""
_PIECES: Final = r"""<think>\n|\n</think>\n\{"answer": |, "explanation": "|", "edit_prompt": "|"\}|, not| ?[A-Za-z]+|\n|."""
"""What becomes one token: words, and the fixed stretches of the grammar."""
_SPECIAL: Final = ("<pad>", "<s>", "</s>", "<image>")
_CHAT: Final = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'assistant' %}"
    "{{ message['content'] if message['content'] is string else message['content'][0]['text'] }}{{ eos_token }}"
    "{% elif message['role'] == 'user' %}"
    "{% for part in ([{'type': 'text', 'text': message['content']}] if message['content'] is string else message['content']) %}"
    "{% if part['type'] == 'image' %}<image>{% elif '<data>\\n' in part['text'] %}"
    "{{ part['text'].split('<data>\\n')[1].split('\\n</data>')[0] }}{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '\\n' }}{% endif %}"
)
_WORDS_FROM: Final = 1500


def tiny_tokenizer() -> "PreTrainedTokenizerFast":
    """Byte-level, so it takes any text; words of the small scenes and the fixed stretches of the grammar are one token each."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(_PIECES), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1000, special_tokens=list(_SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    pad, start, end, _ = _SPECIAL
    fast: Any = PreTrainedTokenizerFast  # transformers leaves it, and what follows, untyped
    made: PreTrainedTokenizerFast = fast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        bos_token=start,
        eos_token=end,
        additional_special_tokens=[_SPECIAL[3]],
        padding_side="left",
    )
    return made


def tiny_policy(*, seed: int, width: int = 96, layers: int = 3, pixels: int = PIXELS, patch: int = PATCH) -> tuple[Any, Any]:
    """A LLaVA with random weights and its processor, ready for ``save_pretrained``.

    Args:
        seed: of the weights.
        width: of both towers.
        layers: of the language model; the picture's tower has two.
        pixels: to which pictures are scaled.
        patch: the side of a patch, in those pixels.
    """
    import torch
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    tokenizer = tiny_tokenizer()
    size = {"height": pixels, "width": pixels}
    image_processor: Any = CLIPImageProcessor(size=size, do_center_crop=False, resample=2)
    processors: Any = LlavaProcessor
    processor = processors(
        image_processor=image_processor,
        tokenizer=tokenizer,
        patch_size=patch,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token=_SPECIAL[3],
        chat_template=_CHAT,
    )
    spread = 0.06  # a width near 100 learns several times faster than with the 0.02 that large models are given
    vision = CLIPVisionConfig(
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=pixels,
        patch_size=patch,
        projection_dim=width,
        initializer_range=spread,
    )
    words = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        initializer_range=spread,
        tie_word_embeddings=False,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    configurations: Any = LlavaConfig
    config = configurations(
        vision_config=vision,
        text_config=words,
        image_token_id=tokenizer.convert_tokens_to_ids(_SPECIAL[3]),
        image_seq_length=(pixels // patch) ** 2,
        vision_feature_layer=-1,  # with another, the last layer of so few would learn nothing
        vision_feature_select_strategy="default",
        initializer_range=spread,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        model = LlavaForConditionalGeneration(config)
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.bos_token_id = tokenizer.bos_token_id
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    return model, processor


def _texts() -> list[str]:
    generator = random.Random(0)  # noqa: S311 - words, no secret
    often = Habits(evasive_colours=0.4, evasive_shapes=0.4)
    items = list(draw_small_scenes(_WORDS_FROM, seed=0))
    return [text for item in items for text in (item.prompt, teacher_reply(item, often, generator))]
