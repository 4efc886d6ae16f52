"""VideoReward and EditReward: the real loading path with tiny random weights, against the models' own classes and PEFT."""

import asyncio
import json

import numpy as np
import pytest
from PIL import Image
from tiny_qwen import save_tiny_qwen

from salon_taxonomy.errors import InputError
from salon_taxonomy.scorers import open_scorer
from salon_taxonomy.verdict import Scored

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")

VIDEO_PROMPT = (
    "\nLook.\nVisual: <|VQ_reward|>\nEND\nMotion: <|MQ_reward|>\nEND\nAsked: {text_prompt}\nText: <|TA_reward|>\nEND\n"
)
EDIT_PROMPTS = ("\nFollow? {text_prompt}\n", "\nGood? {text_prompt}\n")
VIDEO_TOKENS = [f"<|{name}_reward|>" for name in ("VQ", "MQ", "TA")]
NORMAL = {"VQ_mean": 0.5, "VQ_std": 2.0, "MQ_mean": -0.25, "MQ_std": 0.5, "TA_mean": 0.0, "TA_std": 1.5}
VIDEOS = [[Image.effect_noise((60, 40), 90 + 9 * at).convert("RGB") for at in range(count)] for count in (2, 3)]
"""Random frames; the models see the very same objects."""


def released_names(state):
    """Names of weights as Qwen2-VL's classes had them when VideoReward was saved."""
    for key, value in state.items():
        old = key.replace("base_model.model.model.visual.", "base_model.model.visual.")
        yield old.replace("base_model.model.model.language_model.", "base_model.model.model."), value


def read_through(model, tokenizer, inputs, tokens):
    """The states of some tokens as the released classes compute them: pictures among embeddings, then the language model."""
    ids = inputs["input_ids"]
    vectors = model.get_input_embeddings()(ids)
    for kind, pixels in (("image", "pixel_values"), ("video", "pixel_values_videos")):
        if pixels in inputs:
            seen = model.visual(inputs[pixels], grid_thw=inputs[f"{kind}_grid_thw"])
            seen = getattr(seen, "pooler_output", seen)
            mask = (ids == tokenizer.convert_tokens_to_ids(f"<|{kind}_pad|>"))[..., None].expand_as(vectors)
            vectors = vectors.masked_scatter(mask, seen)
    positions = torch.arange(ids.shape[1])[None, None].expand(3, 1, -1)
    states = model.language_model(inputs_embeds=vectors, position_ids=positions, attention_mask=inputs["attention_mask"])
    chosen = torch.isin(ids[0], torch.tensor(tokenizer.convert_tokens_to_ids(tokens)))
    return states.last_hidden_state[0, chosen]


def with_tokens(library, folder, kind, tokens):
    """The tiny model with tokens of its own, and its processor."""
    processor = library.AutoProcessor.from_pretrained(folder)
    processor.tokenizer.add_tokens(tokens, special_tokens=True)
    model = getattr(library, f"{kind}ForConditionalGeneration").from_pretrained(folder)
    model.resize_token_embeddings(len(processor.tokenizer))
    return model.eval(), processor


@pytest.fixture(scope="module", params=[1, 3])
def video_model(request, tmp_path_factory):
    """A checkpoint as VideoReward's trainer saves it with LoRA, and its numbers for the videos by PEFT."""
    import transformers as library

    folder = tmp_path_factory.mktemp("video")
    save_tiny_qwen(folder / "base")
    model, processor = with_tokens(library, folder / "base", "Qwen2VL", VIDEO_TOKENS)
    model.rm_head = torch.nn.Linear(32, request.param, bias=False)
    targets = [name for name, each in model.named_modules() if isinstance(each, torch.nn.Linear) and "language_model" in name]
    tuned = peft.get_peft_model(model, peft.LoraConfig(target_modules=targets, r=4, lora_alpha=8, bias="none")).eval()
    torch.manual_seed(1)
    for name, value in tuned.named_parameters():
        if "lora_B" in name:
            value.data.normal_(0, 0.3)
    torch.save(dict(released_names(tuned.state_dict())), folder / "model.pth")
    about = {
        "model_config": {"use_special_tokens": True, "reward_token": "special", "output_dim": request.param},
        "data_config": {"prompt_template_type": "detailed_special", "max_frame_pixels": 200_704},
        "peft_lora_config": {"lora_enable": True, "lora_r": 4, "lora_alpha": 8, "use_rslora": False},
        "inference_config": NORMAL,
    }
    (folder / "model_config.json").write_text(json.dumps(about))
    (folder / "prompt_template.py").write_text(f"raise SystemExit\nDETAILED_PROMPT_WITH_SPECIAL_TOKEN = {VIDEO_PROMPT!r}\n")
    wanted = []
    for video, prompt in zip(VIDEOS, ("a red ball", "{braces}"), strict=True):
        chat = [
            {"role": "user", "content": [{"type": "video"}, {"type": "text", "text": VIDEO_PROMPT.format(text_prompt=prompt)}]}
        ]
        text = processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        frames = torch.stack([torch.from_numpy(np.array(frame)) for frame in video]).permute(0, 3, 1, 2)
        large = torch.nn.functional.interpolate(frames.float(), size=(280, 392), mode="bicubic", antialias=True)
        inputs = processor(text=[text], videos=[large.clamp(0, 255).round().byte()], do_resize=False, return_tensors="pt")
        with torch.inference_mode():
            logits = model.rm_head(read_through(model.model, processor.tokenizer, inputs, VIDEO_TOKENS))
        raw = logits[:, 0] if request.param == 1 else logits.diagonal()
        wanted.append(
            [
                (float(each) - NORMAL[f"{name}_mean"]) / NORMAL[f"{name}_std"]
                for each, name in zip(raw, ("VQ", "MQ", "TA"), strict=True)
            ]
        )
    return folder, wanted


def video_spec(folder, **changed):
    parts = {
        "checkpoint": folder / "model.pth",
        "config": folder / "model_config.json",
        "prompts": folder / "prompt_template.py",
        "model": folder / "base",
        "device": "cpu",
    }
    return "video-reward:" + ",".join(f"{key}={value}" for key, value in {**parts, **changed}.items())


def scored(specification, shown, prompts, **beside):
    found = asyncio.run(open_scorer(specification).score(shown, prompts, beside))
    assert all(isinstance(each, Scored) for each in found), found
    return [each.value for each in found]


def test_video_reward_is_its_normalised_numbers_and_their_sum_with_lora_merged(video_model):
    folder, wanted = video_model
    prompts = ["a red ball", "{braces}"]
    assert scored(video_spec(folder), VIDEOS, prompts) == pytest.approx([sum(each) for each in wanted], abs=1e-4)
    for number, name in enumerate(("VQ", "MQ", "TA")):
        found = scored(video_spec(folder, dimension=name), VIDEOS, prompts)
        assert found == pytest.approx([each[number] for each in wanted], abs=1e-4)
    assert abs(wanted[0][0] - wanted[1][0]) > 1e-3


def test_video_reward_rates_videos_alone_and_a_prompt_with_a_reward_token_has_no_score(video_model):
    folder, _ = video_model
    scorer = open_scorer(video_spec(folder))
    assert (scorer.takes, scorer.frames_per_second) == (("frames",), 2.0)
    with pytest.raises(InputError, match="rates videos, not pictures"):
        asyncio.run(scorer.score([VIDEOS[0][0]], ["a"]))
    good, bad = asyncio.run(scorer.score(VIDEOS, ["a", "<|VQ_reward|>"]))
    assert isinstance(good, Scored) and bad.reason == "rejected"


def test_a_checkpoint_that_does_not_fit_is_an_error_that_names_it(video_model, tmp_path):
    folder, _ = video_model
    state = torch.load(folder / "model.pth", weights_only=True)
    lacking = {key: value for key, value in state.items() if "layers.1.mlp.up_proj" not in key}
    few = {key: value[:-3] if "embed_tokens" in key else value for key, value in state.items()}
    for name, broken, problem in (
        ("a", lacking, "does not fit the backbone"),
        ("b", few, "lacks embeddings"),
        ("c", {"x": 1}, "no weights"),
    ):
        torch.save(broken, tmp_path / f"{name}.pth")
        with pytest.raises(InputError, match=problem):
            scored(video_spec(folder, checkpoint=tmp_path / f"{name}.pth"), VIDEOS[:1], ["a"])
    for text, problem in (("{", "no configuration"), ("{}", "no configuration"), ("[]", "no configuration")):
        (tmp_path / "about.json").write_text(text)
        with pytest.raises(InputError, match=problem):
            scored(video_spec(folder, config=tmp_path / "about.json"), VIDEOS[:1], ["a"])
    for text in ("x = 1", "def", "DETAILED_PROMPT_WITH_SPECIAL_TOKEN = f''", "DETAILED_PROMPT_WITH_SPECIAL_TOKEN = 'no place'"):
        (tmp_path / "prompts.py").write_text(text)
        with pytest.raises(InputError, match=r"no file of Python|does not hold the authors' prompt"):
            scored(video_spec(folder, prompts=tmp_path / "prompts.py"), VIDEOS[:1], ["a"])
    with pytest.raises(InputError, match="unknown dimension"):
        scored(video_spec(folder, dimension="Fun"), VIDEOS[:1], ["a"])


@pytest.mark.parametrize("old_names", [True, False])
def test_edit_reward_is_the_mean_of_its_two_heads_on_the_source_and_the_edit(tmp_path, old_names):
    import transformers as library
    from safetensors.torch import save_file

    save_tiny_qwen(tmp_path / "base", "qwen2_5_vl")
    model, processor = with_tokens(library, tmp_path / "base", "Qwen2_5_VL", ["<|Reward|>"])
    sizes = ((32, 1024), (1024, 16), (16, 2))
    torch.manual_seed(2)
    heads = [[torch.nn.Linear(*size) for size in sizes] for _ in range(2)]
    state = dict(model.state_dict())
    if old_names:
        state = {key.replace("model.visual.", "visual.").replace("language_model.", ""): value for key, value in state.items()}
    for number, head in enumerate(heads):
        for place, layer in zip((0, 3, 5), head, strict=True):
            state |= {f"rm_heads.head_{number}.{place}.{name}": value for name, value in layer.state_dict().items()}
    save_file({key: value.contiguous() for key, value in state.items()}, tmp_path / "model.safetensors")
    names = ("INSTRUCTION_EDIT_FOLLOWING", "INSTRUCTION_EDIT_QUALITY")
    (tmp_path / "prompts.py").write_text(
        "\n".join(f"{name} = {text!r}" for name, text in zip(names, EDIT_PROMPTS, strict=True))
    )
    source, edited = VIDEOS[0]
    numbers = []
    for template, head in zip(EDIT_PROMPTS, heads, strict=True):
        words = (
            template.format(text_prompt="a red ball")
            + "\nPlease provide the overall ratings of this image: <|Reward|>\n\nEND\n"
        )
        content = [{"type": "image"}, {"type": "image"}, {"type": "text", "text": words}]
        text = processor.apply_chat_template([{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True)
        large = [each.resize((560, 392)) for each in (source, edited)]
        inputs = processor(text=[text], images=large, do_resize=False, return_tensors="pt")
        with torch.inference_mode():
            value = read_through(model.model, processor.tokenizer, inputs, ["<|Reward|>"])
            numbers.append(float(head[2](head[1](head[0](value).relu()).relu())[0, 0]))
    given = f"edit-reward:{tmp_path}/model.safetensors,prompts={tmp_path}/prompts.py,model={tmp_path}/base,device=cpu"
    assert scored(given, [edited], ["a red ball"], sources=[[source]]) == pytest.approx([sum(numbers) / 2], abs=1e-4)
    with pytest.raises(InputError, match="needs sources beside the images"):
        scored(given, [edited], ["a red ball"])
