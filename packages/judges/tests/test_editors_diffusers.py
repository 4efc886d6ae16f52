"""The editor and the generator on this machine, with tiny random pipelines that are made here: loaded, called, seeded."""

import asyncio
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from salon_judges.editors import DiffusersEditor
from salon_judges.editors.diffusers_pipeline import frame_rate
from salon_judges.generators import DiffusersGenerator, PictureGenerator
from salon_judges.media.video_container import outline
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_decoding import Decoded, decode
from salon_taxonomy.protocols import Edit, Editor, Media
from salon_taxonomy.records import CallStatus, MediaKind, MediaRole
from salon_taxonomy.verdict import Unscored

WRITTEN = BytesIO()
Image.new("RGB", (32, 32), "teal").save(WRITTEN, "PNG")
PICTURE = Media.from_bytes(WRITTEN.getvalue())
"""Attention costs the square of the pixels: a drawn scene would take minutes."""


def saved_pipeline(within: Path, kind: str, channels: int) -> Path:
    """A pipeline of Stable Diffusion's parts with random weights and a vocabulary of single letters."""
    diffusers = pytest.importorskip("diffusers")
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    import json

    folder = within
    letters = [
        *"abcdefghijklmnopqrstuvwxyz.",
        *(f"{c}</w>" for c in "abcdefghijklmnopqrstuvwxyz."),
        "<|startoftext|>",
        "<|endoftext|>",
    ]
    (folder / "vocab.json").write_text(json.dumps({word: place for place, word in enumerate(letters)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=16)
    torch.manual_seed(0)
    text = transformers.CLIPTextConfig(
        vocab_size=len(letters),
        hidden_size=32,
        intermediate_size=37,
        num_hidden_layers=1,
        num_attention_heads=4,
        max_position_embeddings=16,
        bos_token_id=len(letters) - 2,
        eos_token_id=len(letters) - 1,
    )
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(32, 64),
        layers_per_block=1,
        sample_size=32,
        in_channels=channels,
        out_channels=4,
        cross_attention_dim=32,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )
    vae = diffusers.AutoencoderKL(
        block_out_channels=[32, 64],
        in_channels=3,
        out_channels=3,
        latent_channels=4,
        down_block_types=["DownEncoderBlock2D"] * 2,
        up_block_types=["UpDecoderBlock2D"] * 2,
    )
    made = getattr(diffusers, kind)(
        unet=unet,
        scheduler=diffusers.DDIMScheduler(),
        vae=vae,
        text_encoder=transformers.CLIPTextModel(text),
        tokenizer=tokenizer,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    made.save_pretrained(folder / "saved")
    return folder / "saved"


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_pipeline(tmp_path_factory.mktemp("pipeline"), "StableDiffusionInstructPix2PixPipeline", 8)


def test_a_generator_makes_a_picture_of_a_prompt_and_the_seed_settles_it(tmp_path: Path) -> None:
    painter = str(saved_pipeline(tmp_path, "StableDiffusionPipeline", 4))

    async def main() -> list[bytes | None]:
        options = {"num_inference_steps": 2, "height": 32, "width": 32}
        async with DiffusersGenerator(painter, options=options, device="cpu") as generator:
            assert isinstance(generator, PictureGenerator)
            made = [await generator.generate("a red star.", seed=seed) for seed in (1, 1, 2)]
            return [each.image.data if each.image else None for each in made]

    first, again, other = asyncio.run(main())
    assert first is not None
    assert first.startswith(b"\x89PNG")
    assert first == again != other


def test_a_pipeline_is_loaded_from_its_folder_and_the_seed_settles_the_picture(pipeline: Path) -> None:
    async def main() -> list[bytes | None]:
        async with DiffusersEditor(str(pipeline), options={"num_inference_steps": 2}, device="cpu") as editor:
            assert isinstance(editor, Editor)
            edits = [await editor.edit(PICTURE, "make it red.", seed=seed) for seed in (1, 1, 2)]
            return [edit.image.data if edit.image else None for edit in edits]

    first, again, other = asyncio.run(main())
    assert first is not None
    assert first.startswith(b"\x89PNG")
    assert first == again != other


@pytest.mark.slow  # imports all families of pipelines
def test_a_generator_edits_by_an_edit_pipeline_and_by_the_image_to_image_one_of_the_same_weights(
    pipeline: Path, tmp_path: Path
) -> None:
    source = replace(PICTURE, role=MediaRole.SOURCE)
    painter = saved_pipeline(tmp_path, "StableDiffusionPipeline", 4)

    async def main(folder: Path) -> list[bytes | None]:
        options = {"num_inference_steps": 2}
        async with DiffusersGenerator(str(folder), options=options, device="cpu") as generator:
            made = [await generator.generate("make it red.", seed=seed, given=[source]) for seed in (1, 1, 2)]
            return [each.image.data if each.image else None for each in made]

    for folder in (pipeline, painter):
        first, again, other = asyncio.run(main(folder))
        assert first is not None, folder
        seen = decode(first)
        assert isinstance(seen, Decoded)
        assert (seen.width, seen.height) == (32, 32)
        assert first == again != other
    with pytest.raises(InputError, match="does not take"):
        asyncio.run(DiffusersGenerator(str(painter)).generate("a", seed=1, given=[replace(source, role=MediaRole.FIRST_FRAME)]))


def video_pipelines(folder: Path) -> None:
    """Wan and LTX with random weights and an alphabet as vocabulary."""
    diffusers = pytest.importorskip("diffusers")
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<pad>", "</s>", "<unk>", *"abcdefghijklmnopqrstuvwxyz. "]
    letters = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    letters.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=letters, model_max_length=32, **names)
    torch.manual_seed(0)
    size = {"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 4}
    heads = {"num_attention_heads": 2, "attention_head_dim": 12}
    wan = diffusers.WanTransformer3DModel(
        **heads, text_dim=32, freq_dim=256, ffn_dim=32, num_layers=1, qk_norm="rms_norm_across_heads", rope_max_seq_len=32
    )
    diffusers.WanPipeline(
        tokenizer=tokenizer,
        text_encoder=transformers.UMT5EncoderModel(transformers.UMT5Config(**size)),
        vae=diffusers.AutoencoderKLWan(base_dim=3, z_dim=16, dim_mult=[1, 1, 1, 1], num_res_blocks=1),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        transformer=wan,
    ).save_pretrained(folder / "wan")
    ltx = diffusers.LTXVideoTransformer3DModel(
        **heads, in_channels=8, out_channels=8, cross_attention_dim=24, num_layers=1, caption_channels=32
    )
    widths = {"block_out_channels": (8,) * 4, "decoder_block_out_channels": (8,) * 4, "latent_channels": 8, "patch_size": 1}
    layers = {"layers_per_block": (1,) * 5, "decoder_layers_per_block": (1,) * 5}
    scaling = (True, True, False, False)
    diffusers.LTXPipeline(
        tokenizer=tokenizer,
        text_encoder=transformers.T5EncoderModel(transformers.T5Config(**size)),
        vae=diffusers.AutoencoderKLLTXVideo(
            **widths, **layers, spatio_temporal_scaling=scaling, decoder_spatio_temporal_scaling=scaling
        ),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        transformer=ltx,
    ).save_pretrained(folder / "ltx")


@pytest.mark.slow  # imports two families of pipelines
def test_pipelines_make_videos_of_prompts_and_of_first_frames_at_the_rate_that_they_or_the_user_say(tmp_path: Path) -> None:
    video_pipelines(tmp_path)
    frame = replace(PICTURE, role=MediaRole.FIRST_FRAME)

    async def main(name: str, given: list[Media], **options: float) -> list[Edit]:
        small = {"num_inference_steps": 2, "height": 32, "width": 32, "num_frames": 9, "max_sequence_length": 16}
        shape = {**small, "guidance_scale": 1.0, **options}
        async with DiffusersGenerator(str(tmp_path / name), makes=MediaKind.VIDEO, options=shape, device="cpu") as generator:
            return [await generator.generate("a ball.", seed=seed, given=given) for seed in (1, 1, 2)]

    for name, given, options, rate in (
        ("wan", [], {"fps": 16}, 16),
        ("ltx", [], {}, 25),
        ("ltx", [frame], {"frame_rate": 12}, 12),
    ):
        first, again, other = asyncio.run(main(name, given, **options))
        assert first.image is not None, first
        assert first.image.kind == MediaKind.VIDEO
        assert first.image == again.image != other.image
        seen = outline(first.image.data or b"", DEFAULT_VIDEO_LIMITS)
        assert not isinstance(seen, Unscored), seen
        assert (seen.width, seen.height, seen.coded_frames) == (32, 32, 9)
        assert seen.duration_s == pytest.approx(9 / rate, abs=1e-3)
    with pytest.raises(InputError, match="fps"):
        asyncio.run(main("wan", []))
    with pytest.raises(InputError, match="takes no picture"):
        asyncio.run(main("wan", [frame], fps=16))


@pytest.mark.parametrize("fps", [0, -1, 1e9, float("nan"), float("inf"), True, "16", None])
def test_a_rate_that_no_player_keeps_is_refused(fps: object) -> None:
    with pytest.raises(InputError, match="frames per second"):
        frame_rate(lambda prompt, fps=None: None, {"fps": fps})


def test_a_call_that_the_pipeline_cannot_take_is_an_edit_without_a_picture(pipeline: Path) -> None:
    editor = DiffusersEditor(str(pipeline), options={"num_inference_steps": 2, "guidance_scale": "much"}, device="cpu")
    made = asyncio.run(editor.edit(PICTURE, "make it red."))
    assert made.status == CallStatus.REJECTED
    assert "TypeError" in (made.error or "")


@pytest.mark.parametrize(
    "made",
    [
        *({"images": images} for images in ([], None, [None], [np.zeros((4, 4, 3))], [[1, 2]], "ab")),
        *(StopIteration(), KeyError("unet"), AssertionError(), OSError("no file"), NotImplementedError()),
    ],
    ids=repr,
)
def test_whatever_a_pipeline_returns_or_raises_is_an_edit_without_a_picture(made: object) -> None:
    pytest.importorskip("torch")

    def pipeline(**inputs: object) -> SimpleNamespace:
        if isinstance(made, dict):
            return SimpleNamespace(**made)
        assert isinstance(made, Exception)
        raise made

    async def main() -> Edit:
        generator = DiffusersGenerator("any/model")
        generator._pipeline = pipeline
        async with asyncio.timeout(5):
            return await generator.generate("a red star", seed=1)

    found = asyncio.run(main())
    assert (found.image, found.status) == (None, CallStatus.REJECTED)
    assert "the pipeline failed" in (found.error or "")


def test_a_folder_that_holds_no_pipeline_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("diffusers")
    with pytest.raises(InputError, match="no pipeline"):
        asyncio.run(DiffusersEditor(str(tmp_path)).edit(PICTURE, "make it red."))


def test_without_diffusers_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(InputError, match=r"packages/judges\[diffusers\]"):
        asyncio.run(DiffusersEditor("any/model").edit(PICTURE, "make it red."))


def test_what_shapes_the_pictures_shapes_the_version() -> None:
    versions = {
        DiffusersEditor("a").version,
        DiffusersEditor("b").version,
        DiffusersEditor("a", options={"strength": 1}).version,
    }
    assert len(versions) == 3
    assert DiffusersEditor("a", device="cpu").version == DiffusersEditor("a").version


def test_the_version_tells_weights_apart_and_not_folders(tmp_path: Path) -> None:
    def saved(name: str, weights: bytes) -> Path:
        (tmp_path / name / "unet").mkdir(parents=True)
        (tmp_path / name / "model_index.json").write_text('{"_class_name": "Any", "unet": ["diffusers", "UNet"]}')
        (tmp_path / name / "unet" / "model.safetensors").write_bytes(weights)
        return tmp_path / name

    one, same, other = saved("one", b"1"), saved("same", b"1"), saved("other", b"2")
    versions = [DiffusersEditor(str(folder)).version for folder in (one, same, other)]
    assert versions[0] == versions[1] != versions[2]
    (same / "checkpoint.bin").write_bytes(b"beside")
    (same / "notes").mkdir()
    (same / "notes" / "more.safetensors").write_bytes(b"no part of the pipeline")
    assert DiffusersEditor(str(same)).version != versions[0]
    (same / "checkpoint.bin").unlink()
    assert DiffusersEditor(str(same)).version == versions[0]


@pytest.mark.parametrize("index", [None, b"[]", b"{", b'{"unet": ["a", "b"]}'], ids=["none", "list", "broken", "no weights"])
def test_a_folder_without_a_pipeline_has_no_version(tmp_path: Path, index: bytes | None) -> None:
    if index is not None:
        (tmp_path / "model_index.json").write_bytes(index)
    with pytest.raises(InputError, match=r"pipeline|weights"):
        _ = DiffusersEditor(str(tmp_path)).version
