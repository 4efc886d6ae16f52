"""Build a vision-language model that is small enough to train on a CPU in minutes, without a network.

The architecture is a real one (LLaVA: a CLIP tower and a Llama; or Qwen2.5-VL), the weights are random, the tokenizer is a
byte-level BPE trained on the answers of the task itself. The folder is like any other checkpoint: ``AutoProcessor`` and
``AutoModelForImageTextToText`` load it, so what trains this model trains a large one by name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from salon_taxonomy.errors import InputError, member_of
from salon_train.seeds import torch_seed

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, ProcessorMixin

PAD: Final = "<|pad|>"
END: Final = "<|end|>"
"""Ends every message; generation stops at it."""
USER: Final = "<|user|>"
ASSISTANT: Final = "<|assistant|>"
SYSTEM: Final = "<|system|>"

_MESSAGES = (
    "{% for message in messages %}<|{{ message['role'] }}|>"
    "{% if message['role'] == 'assistant' %}{% generation %}CONTENT<|end|>{% endgeneration %}"
    "{% else %}CONTENT<|end|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_CONTENT = (
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}IMAGE{% elif part['type'] == 'text' %}TEXT{% endif %}"
    "{% endfor %}{% endif %}"
)
_WHOLE_TEXT = "{{ part['text'] }}"
_DATA_ALONE = (
    "{% if '<data>\\n' in part['text'] %}{{ part['text'].split('<data>\\n')[1].split('\\n</data>')[0] }}"
    "{% else %}{{ part['text'] }}{% endif %}"
)
# Think tags with their line breaks; a JSON string with what leads to it; a word with the space before it; the rest.
_PIECE = r"""\n?</?think>\n?|(?:\\boxed\{|true|false|[:,{}\[\] ])*"[^"\n]*"|(?:true|false|[:,{}\[\]])*[}\]]+| ?[^\s"]+|\s|\""""
_WIDER: Final = 2.5
"""By how much random matrices are larger than the libraries make them: their 0.02 suits thousands of features, not a hundred.
Measured on drawn pictures: the loss that took 450 steps is reached in 150."""
_FEWEST_TOKENS = 256 + 16  # every byte, the marks of the chat, and room for a few merges


class Architecture(StrEnum):
    """Which family the tiny model belongs to."""

    LLAVA = "llava"
    """CLIP tower, two-layer projector, Llama; needs no torchvision."""
    QWEN2_5_VL = "qwen2_5_vl"
    """The base of MagicAssessor-7B (MagicMirror) in miniature; its processor needs torchvision."""


@dataclass(frozen=True, slots=True)
class TinyShape:
    """How large a tiny model is. The defaults give about half a million parameters.

    Attributes:
        image_size: side of the square picture that the model sees, in pixels; others are resized to it.
        patch_size: side of a patch in pixels. LLaVA reads one token per patch, Qwen2.5-VL one per four.
        vision_width: features per patch.
        vision_layers: layers of the tower.
        text_width: features per token; a multiple of 8 times ``heads``.
        text_layers: layers of the language model.
        heads: attention heads, in both parts.
        vocabulary: tokens at most, at least 272. With few, an answer is long and its reward is spread thin.
        context: positions of the language model.
        tied: the output layer is the token embedding; False: a matrix of its own, with which so small a policy learns a
            reply's rare words apart from its frequent ones.

    Raises:
        InputError: for sizes that do not fit together.
    """

    image_size: int = 64
    patch_size: int = 8
    vision_width: int = 96
    vision_layers: int = 3
    text_width: int = 96
    text_layers: int = 3
    heads: int = 4
    vocabulary: int = 1024
    context: int = 512
    tied: bool = True

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, bool) and value < 1:
                raise InputError("must be a whole number of 1 or more", column=name, value=value)
        if self.image_size % self.patch_size:
            raise InputError("must be a multiple of patch_size", column="image_size", value=self.image_size)
        for name in ("vision_width", "text_width"):
            if getattr(self, name) % (8 * self.heads):
                raise InputError("must be a multiple of 8 times heads", column=name, value=getattr(self, name))
        if self.vocabulary < _FEWEST_TOKENS:
            raise InputError(f"must be at least {_FEWEST_TOKENS}", column="vocabulary", value=self.vocabulary)


@dataclass(frozen=True, slots=True)
class TinyModel:
    """A tiny model in a folder, and how it was made.

    Attributes:
        folder: where weights, tokenizer and processor lie.
        architecture: its family.
        shape: its sizes.
        seed: of the random weights.
        parameters: how many weights it has.
        vocabulary: how many tokens the tokenizer learned; fewer than asked for when the texts hold no more merges.
    """

    folder: Path
    architecture: Architecture
    shape: TinyShape
    seed: int
    parameters: int
    vocabulary: int


def build_tiny_model(
    folder: Path,
    texts: Sequence[str],
    *,
    seed: int,
    architecture: Architecture = Architecture.LLAVA,
    shape: TinyShape = TinyShape(),
    pieces: str = _PIECE,
    only_data: bool = False,
) -> TinyModel:
    """Write a tiny vision-language model with random weights into a folder.

    Args:
        folder: made when it is not there; files of an earlier model in it are overwritten.
        texts: what the model will read and write (prompts and answers). The tokenizer is trained on them; it can encode
            every other text too, byte by byte.
        seed: of the weights; equal arguments give equal files.
        architecture: which family.
        shape: how large.
        pieces: regular expression; each match becomes one token at best.
        only_data: of a question, the model reads only what is between the markers ``<data>`` and ``</data>``: the rest is the
            same for every example, and a small model has few tokens to spend.

    Raises:
        InputError: for an empty list of texts, an unknown architecture, or a Qwen2.5-VL whose picture does not divide
            into blocks of two by two patches.

    Example:
        >>> import tempfile
        >>> texts = ["What is wrong?", "<think>Six fingers.</think>", "<think>Fine.</think>"]
        >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
        ...     model = build_tiny_model(Path(folder), texts, seed=0)
        ...     model.parameters < 2_000_000
        True
    """
    architecture = member_of(Architecture, architecture, "architecture", column="architecture")
    if not texts:
        raise InputError("the tokenizer needs texts to learn from", column="texts", value=texts)
    if architecture is Architecture.QWEN2_5_VL and shape.image_size % (2 * shape.patch_size):
        raise InputError("must be a multiple of twice patch_size", column="image_size", value=shape.image_size)

    import torch

    # The caller's own draws are not disturbed, and do not disturb ours.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(seed))
        words = _Words(texts, pieces, only_data)
        model, processor = _llava(words, shape) if architecture is Architecture.LLAVA else _qwen(words, shape)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return TinyModel(folder, architecture, shape, seed, parameters, len(processor.tokenizer))


def build_tiny_clip(folder: Path, texts: Sequence[str], *, seed: int, image_size: int = 16, width: int = 64) -> None:
    """Write a CLIP model with random weights into a folder: a backbone of ``salon train reward-model`` for small pictures.

    Args:
        folder: made when it is not there; files of an earlier model in it are overwritten.
        texts: what it will read; each of their words becomes one token, any other word as many as it has letters.
        seed: of the weights; equal arguments give equal files.
        image_size: side of a picture in pixels, a multiple of 4; others are resized to it.
        width: features of both towers and of what they are compared by, a multiple of 4.

    Raises:
        InputError: there are no texts.
    """
    if not texts:
        raise InputError("the tokenizer needs texts to learn from", column="texts", value=texts)
    import json

    import torch
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    library = _transformers()
    letters = [chr(code) for code in range(33, 127)]
    vocabulary = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    merges: dict[str, None] = {}
    for word in sorted({word.lower() for text in texts for word in text.split()}):
        joined, *rest = [*word[:-1], f"{word[-1]}</w>"]
        for letter in rest:
            merges[f"{joined} {letter}"] = None
            joined += letter
    vocabulary += [merge.replace(" ", "") for merge in merges]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(vocabulary)}))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n")
    tokenizer = library.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    tower = {"hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": 2, "num_attention_heads": 4}
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    text = tower | ends | {"vocab_size": len(vocabulary), "max_position_embeddings": 20}
    config = library.CLIPConfig(
        text_config=text, vision_config=tower | {"image_size": image_size, "patch_size": 4}, projection_dim=width
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(seed))
        model = library.CLIPModel(config)
    size = {"height": image_size, "width": image_size}
    pictures = CLIPImageProcessorPil(size=size, do_center_crop=False, crop_size=size)
    model.save_pretrained(folder)
    library.CLIPProcessor(image_processor=pictures, tokenizer=tokenizer).save_pretrained(folder)


@dataclass(frozen=True, slots=True)
class _Words:
    """What tokenizer and chat template are made from; see :func:`build_tiny_model`."""

    texts: Sequence[str]
    pieces: str
    only_data: bool

    def chat_template(self, image: str) -> str:
        text = _DATA_ALONE if self.only_data else _WHOLE_TEXT
        return _MESSAGES.replace("CONTENT", _CONTENT.replace("TEXT", text).replace("IMAGE", image))


def train_tokenizer(
    texts: Iterable[str], *, marks: Sequence[str], shape: TinyShape, pieces: str = _PIECE
) -> "PreTrainedTokenizerBase":
    """Train a byte-level BPE tokenizer with about one token per word of prose or string of JSON.

    Args:
        texts: to learn from.
        marks: special tokens, which are never split and left out of decoded text.
        shape: gives ``vocabulary``.
        pieces: regular expression; each match becomes one token at best.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    # Not the usual split at spaces: a label is a choice of its own, and should cost a token, not five.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pieces), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=shape.vocabulary,
        special_tokens=list(marks),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast_tokenizer: PreTrainedTokenizerBase = _transformers().PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        padding_side="left",
        additional_special_tokens=[mark for mark in marks if mark not in (PAD, END)],
        model_max_length=shape.context,
    )
    return fast_tokenizer


def _llava(words: _Words, shape: TinyShape) -> "tuple[PreTrainedModel, ProcessorMixin]":
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    library = _transformers()
    image = "<image>"
    tokenizer = train_tokenizer(words.texts, marks=(PAD, END, USER, ASSISTANT, SYSTEM, image), shape=shape, pieces=words.pieces)
    side = {"height": shape.image_size, "width": shape.image_size}
    processor = library.LlavaProcessor(
        image_processor=CLIPImageProcessorPil(size=side, do_center_crop=False, crop_size=side),
        tokenizer=tokenizer,
        patch_size=shape.patch_size,
        # "default" leaves out the tower's class token, which the count of one additional token puts in.
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token=image,
        chat_template=words.chat_template(image),
    )
    patches = (shape.image_size // shape.patch_size) ** 2
    config = library.LlavaConfig(
        vision_config=library.CLIPVisionConfig(
            image_size=shape.image_size,
            patch_size=shape.patch_size,
            hidden_size=shape.vision_width,
            intermediate_size=2 * shape.vision_width,
            num_hidden_layers=shape.vision_layers,
            num_attention_heads=shape.heads,
            projection_dim=shape.vision_width,
        ),
        text_config=library.LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=shape.text_width,
            intermediate_size=2 * shape.text_width,
            num_hidden_layers=shape.text_layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.heads,
            max_position_embeddings=shape.context,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
            tie_word_embeddings=shape.tied,
        ),
        image_token_index=tokenizer.convert_tokens_to_ids(image),
        image_seq_length=patches,
        # The last layer: with the usual -2 and a tower of few layers, the last one would learn nothing.
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        tie_word_embeddings=shape.tied,
    )
    return _started(library.LlavaForConditionalGeneration(config), tokenizer, image), processor


def _qwen(words: _Words, shape: TinyShape) -> "tuple[PreTrainedModel, ProcessorMixin]":
    library = _transformers()
    image, video, start, end = "<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"
    tokenizer = train_tokenizer(
        words.texts, marks=(PAD, END, USER, ASSISTANT, SYSTEM, image, video, start, end), shape=shape, pieces=words.pieces
    )
    pixels = shape.image_size**2
    patches = {"patch_size": shape.patch_size, "merge_size": 2, "temporal_patch_size": 2}
    size = {"shortest_edge": pixels, "longest_edge": pixels}
    processor = library.Qwen2_5_VLProcessor(
        image_processor=library.Qwen2VLImageProcessor(size=size, **patches),
        tokenizer=tokenizer,
        video_processor=library.Qwen2VLVideoProcessor(size=size, **patches),
        chat_template=words.chat_template(start + image + end),
    )
    head = shape.text_width // shape.heads
    ids = {name: tokenizer.convert_tokens_to_ids(mark) for name, mark in
           (("image_token_id", image), ("video_token_id", video),
            ("vision_start_token_id", start), ("vision_end_token_id", end))}  # fmt: skip
    config = library.Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": shape.text_width,
            "intermediate_size": 2 * shape.text_width,
            "num_hidden_layers": shape.text_layers,
            "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.heads,
            "max_position_embeddings": shape.context,
            # Half a head's features are rotated: a quarter by time, three eighths each by height and width.
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10000.0,
                "mrope_section": [head // 2 - 2 * (3 * head // 16), 3 * head // 16, 3 * head // 16],
            },
            "pad_token_id": tokenizer.pad_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "bos_token_id": None,
            "tie_word_embeddings": shape.tied,
        },
        vision_config={
            "depth": shape.vision_layers,
            "hidden_size": shape.vision_width,
            "intermediate_size": 2 * shape.vision_width,
            "num_heads": shape.heads,
            "out_hidden_size": shape.text_width,
            "patch_size": shape.patch_size,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "window_size": shape.image_size,
            "fullatt_block_indexes": list(range(shape.vision_layers)),
        },
        tie_word_embeddings=shape.tied,
        **ids,
    )
    return _started(library.Qwen2_5_VLForConditionalGeneration(config), tokenizer, image), processor


def _transformers() -> Any:
    """Return the library, whose constructors are typed more narrowly than they are."""
    import transformers

    return transformers


def _started(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", image: str) -> "PreTrainedModel":
    """The model with wider weights, and a generation that ends at the end mark and never writes a picture's placeholder."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(_WIDER)
    generation = model.generation_config
    if generation is not None:
        generation.pad_token_id = tokenizer.pad_token_id
        generation.eos_token_id = tokenizer.eos_token_id
        generation.suppress_tokens = [tokenizer.convert_tokens_to_ids(image)]
    return model
