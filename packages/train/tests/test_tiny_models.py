"""Tiny vision-language models made on the spot: loadable like any other, reproducible, small."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from PIL import Image

from salon_taxonomy.answers import MAGICMIRROR_MENU, Artifact, MagicMirrorAnswer, render_magicmirror
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_train.models import Architecture, TinyShape, build_tiny_model

SHAPE = TinyShape(image_size=32, vision_width=32, vision_layers=1, text_width=32, text_layers=1)
QUESTION = "Which artifacts does this picture show?"
ANSWERS = [
    render_magicmirror(MagicMirrorAnswer(normal=True), "Nothing is wrong."),
    *(render_magicmirror(MagicMirrorAnswer(False, (Artifact(l2),)), "Something is wrong.") for l2 in MAGICMIRROR_MENU),
]
ARCHITECTURES = [str(architecture) for architecture in Architecture]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("tied", [True, False])
def test_a_tiny_model_loads_through_the_auto_classes_and_writes_after_a_picture(
    architecture: str, tied: bool, tmp_path: Path
) -> None:
    import torch
    import transformers

    if architecture == Architecture.QWEN2_5_VL:
        pytest.importorskip("torchvision")
    shape = replace(SHAPE, tied=tied)
    made = build_tiny_model(tmp_path, [QUESTION, *ANSWERS], seed=1, architecture=Architecture(architecture), shape=shape)
    library: Any = transformers
    processor = library.AutoProcessor.from_pretrained(tmp_path)
    model = library.AutoModelForImageTextToText.from_pretrained(tmp_path)
    assert made.parameters == sum(parameter.numel() for parameter in model.parameters()) < 200_000
    assert (model.get_input_embeddings().weight is model.get_output_embeddings().weight) == tied
    picture = Image.new("RGB", (50, 30), "teal")
    message = {"role": "user", "content": [{"type": "image", "image": picture}, {"type": "text", "text": QUESTION}]}
    inputs = processor.apply_chat_template(
        [[message]], add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    with torch.no_grad():
        written = model.generate(**inputs, max_new_tokens=12, do_sample=False)
    assert written.shape[1] > inputs["input_ids"].shape[1]
    pictures = {model.config.image_token_id}
    assert not pictures & set(written[0, inputs["input_ids"].shape[1] :].tolist())


def test_the_tokenizer_gives_back_every_text_and_keeps_answers_short(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    build_tiny_model(tmp_path, [QUESTION, *ANSWERS], seed=1, shape=SHAPE)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    # A lone surrogate is no text that a tokenizer can be given.
    for text in [*(reply for reply in HOSTILE_REPLIES if not any("\ud800" <= sign <= "\udfff" for sign in reply)), *ANSWERS]:
        assert tokenizer.decode(tokenizer.encode(text), skip_special_tokens=True) == text
    lengths = [len(tokenizer.encode(answer)) for answer in ANSWERS]
    assert min(lengths) >= 2 and max(lengths) <= 16


def test_equal_arguments_give_equal_files_and_another_seed_other_weights(tmp_path: Path) -> None:
    import torch

    def files(name: str, seed: int) -> dict[str, str]:
        build_tiny_model(tmp_path / name, [QUESTION, *ANSWERS], seed=seed, shape=SHAPE)
        return {file.name: sha256(file.read_bytes()).hexdigest() for file in sorted((tmp_path / name).iterdir())}

    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, again, other = files("one", 1), files("again", 1), files("other", 2)
    assert torch.equal(before, torch.random.get_rng_state())
    assert one == again
    assert {name for name in one if one[name] != other[name]} == {"model.safetensors"}


@pytest.mark.parametrize(
    ("column", "sizes"),
    [
        ("image_size", {"image_size": 33}),
        ("text_width", {"text_width": 33}),
        ("vision_layers", {"vision_layers": 0}),
        ("vocabulary", {"vocabulary": 200}),
    ],
)
def test_sizes_that_do_not_fit_together_are_refused_by_name(column: str, sizes: dict[str, int]) -> None:
    with pytest.raises(InputError, match=column):
        TinyShape(**sizes)


def test_no_texts_or_an_unknown_architecture_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="texts"):
        build_tiny_model(tmp_path / "model", [], seed=0)
    with pytest.raises(InputError, match="unknown architecture"):
        build_tiny_model(tmp_path / "model", ["a"], seed=0, architecture="bert")  # type: ignore[arg-type]
    assert not (tmp_path / "model").exists()
