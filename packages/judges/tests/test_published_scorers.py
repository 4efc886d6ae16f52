"""Published scorers (CLIPScore, PickScore, HPSv2, VQAScore, …): tiny weights, and NumPy as the oracle."""

import asyncio
import math
import sys
import types
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps
from tiny_clip import save_tiny_clip
from tiny_llava import save_tiny_llava

from salon_judges.scorers.vqa_score import QUESTION, VqaScore, yes_probability
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Reply, Token
from salon_taxonomy.records import CallStatus
from salon_taxonomy.scorers import checked_scorer, open_scorer
from salon_taxonomy.testing import ReplayJudge
from salon_taxonomy.verdict import Reason, Scored

PROMPTS = ["a red ball", "night", "a very long text of far more tokens than the model reads"]
PICTURES = [Image.new("RGB", size, colour) for size, colour in (((20, 30), "red"), ((16, 16), "black"), ((40, 20), "white"))]


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Path:
    pytest.importorskip("torch")
    return save_tiny_clip(tmp_path_factory.mktemp("weights") / "clip")


def scores(specification, pictures=PICTURES, prompts=PROMPTS):
    found = asyncio.run(open_scorer(specification).score(pictures, prompts))
    return [each.value for each in found]


def embeddings(folder, texts):
    """The model's own embeddings, one input at a time, as NumPy arrays: shape (inputs, dimensions)."""
    from transformers import CLIPModel, CLIPProcessor

    model, processor = CLIPModel.from_pretrained(folder).eval(), CLIPProcessor.from_pretrained(folder)
    options = {"truncation": True, "max_length": 20, "return_tensors": "pt"}
    shown = [model.get_image_features(**processor(images=each, return_tensors="pt")).pooler_output for each in PICTURES]
    said = [model.get_text_features(**processor(text=each, **options)).pooler_output for each in texts]
    return *(np.concatenate([each.detach().numpy() for each in some]).astype(np.float64) for some in (shown, said)), model


def cosines(shown, said):
    return np.sum(shown * said, axis=1) / np.linalg.norm(shown, axis=1) / np.linalg.norm(said, axis=1)


def test_clip_score_is_two_and_a_half_times_the_cosine_and_never_below_zero(clip):
    shown, said, _ = embeddings(clip, ["A photo depicts " + prompt for prompt in PROMPTS])
    wanted = 2.5 * np.maximum(cosines(shown, said), 0)
    assert scores(f"clip-score:{clip}") == pytest.approx(wanted.tolist(), abs=1e-6)
    assert (wanted > 0).any()


def test_features_of_pictures_are_the_unit_embeddings_and_of_others_the_pooled_output(clip, tmp_path):
    from transformers import BitImageProcessor, Dinov2Config, Dinov2Model

    from salon_judges.scorers.features import open_features

    shown, _, _ = embeddings(clip, PROMPTS)
    found = open_features(f"transformers:{clip}")(PICTURES)
    assert found == pytest.approx(shown / np.linalg.norm(shown, axis=1, keepdims=True), abs=1e-6)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28}
    Dinov2Model(Dinov2Config(**sizes)).save_pretrained(tmp_path)
    side = {"height": 28, "width": 28}
    BitImageProcessor(do_resize=True, size={"shortest_edge": 28}, crop_size=side).save_pretrained(tmp_path)
    assert open_features(f"transformers:{tmp_path}")(PICTURES).shape == (3, 16)
    with pytest.raises(InputError, match="cannot be loaded"):
        open_features(f"transformers:{tmp_path / 'none'}")


def test_pickscore_is_the_cosine_times_the_models_own_scale(clip):
    shown, said, model = embeddings(clip, PROMPTS)
    wanted = math.exp(model.logit_scale.item()) * cosines(shown, said)
    assert scores(f"pickscore:{clip}") == pytest.approx(wanted.tolist(), abs=1e-5)


def test_the_aesthetic_predictor_is_a_chain_of_linear_layers_on_the_unit_embedding(clip, tmp_path):
    import torch

    random = np.random.default_rng(0)
    sizes, found = (8, 6, 4, 1), {}
    for place, (before, after) in enumerate(pairwise(sizes)):
        found[f"layers.{2 * place}.weight"] = torch.tensor(random.normal(size=(after, before)), dtype=torch.float32)
        found[f"layers.{2 * place}.bias"] = torch.tensor(random.normal(size=after), dtype=torch.float32)
    torch.save(found, tmp_path / "head.pth")
    shown, _, _ = embeddings(clip, PROMPTS)
    value = shown / np.linalg.norm(shown, axis=1, keepdims=True)
    for place in range(len(sizes) - 1):
        value = value @ found[f"layers.{2 * place}.weight"].numpy().T + found[f"layers.{2 * place}.bias"].numpy()
    assert scores(f"aesthetic:{tmp_path}/head.pth,model={clip}") == pytest.approx(value[:, 0].tolist(), abs=1e-5)


@pytest.mark.parametrize(
    "layers", [{}, {"layers.0.weight": (1, 7), "layers.0.bias": (1,)}, {"layers.0.weight": (2, 8), "layers.0.bias": (2,)}]
)
def test_a_file_that_is_no_aesthetic_predictor_for_the_model_is_refused(clip, tmp_path, layers):
    import torch

    torch.save({name: torch.zeros(shape) for name, shape in layers.items()}, tmp_path / "head.pth")
    with pytest.raises(InputError):
        scores(f"aesthetic:{tmp_path}/head.pth,model={clip}")


@pytest.mark.slow
def test_hpsv2_is_the_cosine_of_an_open_clip_model_with_its_checkpoint(tmp_path):
    torch = pytest.importorskip("torch")
    open_clip = pytest.importorskip("open_clip")
    (tmp_path / "tiny-hps.json").write_text(
        '{"embed_dim": 8, "vision_cfg": {"image_size": 16, "layers": 2, "width": 64, "patch_size": 8},'
        ' "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2}}'
    )
    open_clip.add_model_config(tmp_path / "tiny-hps.json")
    torch.manual_seed(0)
    model, _, squares = open_clip.create_model_and_transforms("tiny-hps")
    torch.save({"state_dict": model.state_dict()}, tmp_path / "hps.pt")
    tokens = open_clip.get_tokenizer("tiny-hps")(PROMPTS)
    model.eval()
    fitted = [ImageOps.pad(each, (16, 16), Image.Resampling.BICUBIC, color="black") for each in PICTURES]  # whole, never cut
    shown = torch.cat([model.encode_image(squares(each)[None]) for each in fitted]).detach().numpy()
    wanted = cosines(shown, model.encode_text(tokens).detach().numpy())
    assert scores(f"hpsv2:{tmp_path}/hps.pt,architecture=tiny-hps") == pytest.approx(wanted.tolist(), abs=1e-6)


def test_the_version_follows_the_weights_and_not_the_place_or_the_device(clip, tmp_path):
    other = save_tiny_clip(tmp_path / "other", seed=1)
    same = save_tiny_clip(tmp_path / "same")
    versions = [
        open_scorer(f"clip-score:{folder}{more}").version for folder, more in ((clip, ""), (same, ",device=cpu"), (other, ""))
    ]
    assert versions[0] == versions[1] != versions[2]
    assert open_scorer(f"clip-score:{clip},dtype=bfloat16").version != versions[0]


def test_files_and_folders_of_settings_are_stored_absolute(clip, monkeypatch):
    from salon_judges.clients.specification import read_settings

    monkeypatch.chdir(clip.parent)
    assert read_settings("scorer:clip-score:clip,device=cpu").scorer == f"clip-score:{clip},device=cpu"
    assert read_settings("scorer:aesthetic:head.pth,model=clip").scorer == f"aesthetic:head.pth,model={clip}"
    judge = f"vqa-score:transformers:{clip}"
    assert read_settings("scorer:vqa-score:transformers:./clip").scorer == judge
    assert read_settings(f"scorer:{judge}").scorer == judge
    kept = f"vqa-score:cache:{clip.parent / 'replies'}=transformers:{clip}"
    assert read_settings("scorer:vqa-score:cache:replies=transformers:clip").scorer == kept
    server = "vqa-score:vllm:clip@localhost:8000"
    assert read_settings(f"scorer:{server}").scorer == server


WRONG = {
    "clip-score:CLIP,weights=x": "unknown setting",
    "clip-score:CLIP,dtype=int8": "must be one of",
    "clip-score:./nowhere": "there is no such folder",
    "aesthetic": "needs a file of weights",
    "aesthetic:nowhere.pth": "there is no such file",
    "hpsv3": "needs hpsv3, which is not installed",
    "image-reward": "needs ImageReward, which is not installed",
    "vqa-score": "needs a judge",
    "vqa-score:nobody:x": "no such kind of judge",
}


@pytest.mark.parametrize("specification", WRONG)
def test_wrong_settings_are_refused_when_the_scorer_is_opened(clip, specification):
    with pytest.raises(InputError, match=WRONG[specification]):
        open_scorer(specification.replace("CLIP", str(clip)))


@pytest.fixture
def installed_packages(monkeypatch):
    """Stand-ins with the public functions of the two packages: what they are called with, they give back."""

    class HPSv3RewardInferencer:
        def __init__(self, config_path=None, checkpoint_path=None, device="cuda"):
            self.device = device

        def reward(self, image_paths, prompts):
            return [
                [len(prompt) + Image.open(path).getpixel((0, 0))[0], 1.0]
                for path, prompt in zip(image_paths, prompts, strict=True)
            ]

    class Model:
        def score(self, prompt, image):
            return len(prompt) - Image.open(image).getpixel((0, 0))[0]

    three, reward = types.ModuleType("hpsv3"), types.ModuleType("ImageReward")
    three.HPSv3RewardInferencer, reward.load = HPSv3RewardInferencer, lambda name, device="cpu", **others: Model()
    for module in (three, reward):
        module.__spec__ = types.SimpleNamespace(name=module.__name__)
        monkeypatch.setitem(sys.modules, module.__name__, module)


def test_the_authors_own_packages_are_called_with_files_and_prompts(installed_packages):
    assert scores("hpsv3:device=cpu") == [10 + 255, 5 + 0, len(PROMPTS[2]) + 255]
    assert scores("image-reward") == [10 - 255, 5 - 0, len(PROMPTS[2]) - 255]


# ---------------------------------------------------------------------------------------------------------------- VQAScore


def said(*alternatives, text="Yes"):
    listed = tuple((word, math.log(share)) for word, share in alternatives)
    return Reply(text, tokens=(Token(text, dict(listed).get(text, math.log(1e-9)), listed),))


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        (said(("Yes", 0.7), ("No", 0.2), (" yes", 0.05)), 0.75),
        (said(("No", 0.999), ("Yes", 0.0005), text="No"), 0.0005),
        (said(("No", 1.0), text="No"), 0.0),
        (said(("The", 0.9), ("Yes", 0.05)), Reason.OFF_MENU),
        (said(("<think>", 1.0), text="<think>"), Reason.OFF_MENU),
        (Reply("Yes"), Reason.NOT_REPORTED),
        (Reply("", status=CallStatus.TIMEOUT), Reason.TIMEOUT),
        (Reply("It is a lovely picture."), Reason.NOT_REPORTED),
    ],
)
def test_vqa_score_is_the_probability_of_yes_and_nothing_without_one(reply, wanted):
    found = yes_probability(reply)
    assert (found.value if isinstance(found, Scored) else found.reason) == (
        pytest.approx(wanted) if isinstance(wanted, float) else wanted
    )


def test_vqa_score_asks_the_released_question_about_each_picture():
    judge = ReplayJudge([said(("Yes", 0.75), ("No", 0.25)), said(("Yes", 0.25), ("No", 0.75))])
    judge.close = None
    found = asyncio.run(checked_scorer(VqaScore(judge)).score(PICTURES[:2], PROMPTS[:2]))
    assert found == [Scored(0.75), Scored(0.25)]
    assert [each.text for each in judge.asked] == [QUESTION.format(prompt) for prompt in PROMPTS[:2]]
    assert all(each.decoding.top_logprobs and len(each.media) == 1 for each in judge.asked)


def test_vqa_score_of_a_model_on_this_machine_runs_as_a_suite(tmp_path, monkeypatch):
    """A model with random weights begins with neither word, so each picture is unscored with that reason, never 0."""
    import json

    from click.testing import CliRunner

    from salon_console import main

    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    save_tiny_llava(tmp_path / "llava")
    Path("prompts.txt").write_text("a red ball\n")
    Path("pictures").mkdir()
    PICTURES[0].save("pictures/0001.png")
    given = ["--model", "ours", "--generations", "pictures", "--prompts", "prompts.txt", "--format", "json"]
    done = CliRunner().invoke(main, ["bench", "run", "scorer", "--scorer", "vqa-score:transformers:llava", *given])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)[0]["models"][0]
    assert (report["scored"], report["unscored"]) == (0, 2)
    assert "Without a score: 1 off_menu." in report["notes"]
