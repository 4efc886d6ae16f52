"""The released recipes of reward models: what they hold and take; each learns with a tiny backbone of its kind."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from click.testing import CliRunner
from PIL import Image
from safetensors.torch import load_file
from tiny_clip import save_tiny_clip

from salon_console import main
from salon_judges.scorers.reward_network import RewardNetwork
from salon_taxonomy.errors import InputError
from salon_taxonomy.scorers import open_scorer
from salon_taxonomy.toml_files import parse_toml
from salon_train.configuration.recipes import preset
from salon_train.configuration.reward_model import configured
from salon_train.models.tiny import Architecture, TinyShape, build_tiny_model
from salon_train.reward_model.dry_run import SPEED, dry_run
from salon_train.reward_model.stage import train_reward_model

RECIPES = ("hpsv3", "imagereward", "videoreward")
pytestmark = pytest.mark.usefixtures("one_thread")


def save_pairs(folder: Path, pairs: int, *, side: int = 16, test: int = 0) -> Path:
    """Walls of chance colours; the redder one was chosen, the last ``test`` pairs are held out."""
    random, rows = np.random.default_rng(0), []
    for number in range(pairs):
        shades = sorted(random.integers(0, 256, 2).tolist())
        for name, shade in zip("ba", shades, strict=True):
            Image.new("RGB", (side, side), (shade, 90, 255 - shade)).save(folder / f"{number}{name}.png")
        split = "test" if number >= pairs - test else "train"
        rows.append({"prompt": f"a wall {number}", "chosen": f"{number}a.png", "rejected": f"{number}b.png", "split": split})
    pl.DataFrame(rows).write_csv(folder / "pairs.csv")
    return folder / "pairs.csv"


def asked(pairs: Path, output: Path, backbone: dict[str, Any], **learning: Any) -> Any:
    return configured(
        {
            "run": {"folder": str(output)},
            "backbone": backbone,
            "preferences": {"file": str(pairs)},
            "learning": learning,
        }
    )


def save_tiny_blip(folder: Path) -> Path:
    """BLIP as ImageReward has it, with random weights: the text tower sees the picture."""
    from transformers import BertTokenizer, BlipConfig, BlipForImageTextRetrieval, BlipImageProcessor
    from transformers.models.blip import processing_blip

    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "wall", *"0123456789"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    text = {"vocab_size": len(words), "hidden_size": 32, "encoder_hidden_size": 16, "intermediate_size": 32}
    text |= {"num_hidden_layers": 4, "num_attention_heads": 2, "max_position_embeddings": 32}
    vision = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 4, "num_attention_heads": 2}
    torch.manual_seed(0)
    config = BlipConfig(text_config=text, vision_config=vision | {"image_size": 16, "patch_size": 8})
    BlipForImageTextRetrieval(config).save_pretrained(folder)
    pictures = BlipImageProcessor(size={"height": 16, "width": 16})
    processors: Any = processing_blip
    processors.BlipProcessor(pictures, BertTokenizer(str(folder / "vocab.txt"))).save_pretrained(folder)
    return folder


def save_tiny_qwen2_vl(folder: Path) -> Path:
    """Qwen2-VL with random weights; its processor is that of the tiny Qwen2.5-VL."""
    from transformers import AutoConfig, Qwen2VLConfig, Qwen2VLForConditionalGeneration

    shape = TinyShape(image_size=32, vision_width=32, vision_layers=1, text_width=32, text_layers=2, heads=2)
    build_tiny_model(folder, ["a wall 0"], seed=0, architecture=Architecture.QWEN2_5_VL, shape=shape)
    other = AutoConfig.from_pretrained(folder)
    text = other.text_config.to_dict() | {"model_type": "qwen2_vl_text"}
    vision = {"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "patch_size": 8}
    ids = {name: getattr(other, name) for name in ("image_token_id", "video_token_id", "vision_start_token_id")}
    torch.manual_seed(0)
    Qwen2VLForConditionalGeneration(Qwen2VLConfig(text_config=text, vision_config=vision, **ids)).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", RECIPES)
def test_each_recipe_learns_two_steps_with_a_tiny_backbone_of_its_kind(name: str, tmp_path: Path) -> None:
    values = parse_toml(preset(name), source=Path(name))
    pairs = save_pairs(tmp_path, 2 * values["learning"]["batch"])
    backbone = (save_tiny_blip if name == "imagereward" else save_tiny_qwen2_vl)(tmp_path / "tiny")
    words = ["train", "reward-model", str(pairs), "--recipe", name, "--backbone", str(backbone), "--epochs", "1"]
    pixels = [] if name == "imagereward" else ["--set", "backbone.most_pixels=1024", "--set", "backbone.least_pixels=1024"]
    ran = CliRunner().invoke(main, [*words, *pixels, "--output", str(tmp_path / "run"), "--format", "json"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["steps"] == 2
    kept = json.loads((tmp_path / "run" / "reward-model" / "configuration.json").read_text())
    for key, value in values["learning"].items():
        assert kept[f"learning.{key}"] == (1 if key == "epochs" else value), key
    model = tmp_path / "run" / "reward-model" / "model"
    assert json.loads((model / "reward_model.json").read_text())["loss"] == values["learning"]["loss"]
    reward = open_scorer(f"reward-model:{model}")
    assert reward.name == "reward-model"


@pytest.mark.parametrize(
    ("name", "parameters", "learning", "pairs_at_once"),
    [
        ("hpsv3", 7_746_378_240 + 2 * 3584 + 2, 7_746_378_240 + 2 * 3584 + 2, 2),
        ("imagereward", 446_128_642 + 769, 140_613_379, 4),
        ("videoreward", 2_208_985_600 + 33_318_400 + 1537, 33_318_400 + 1537, 1),
    ],
)
def test_a_dry_run_says_memory_and_time(
    name: str, parameters: int, learning: int, pairs_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    file = save_pairs(tmp_path, 20, side=1024, test=4)
    words = ["train", "reward-model", str(file), "--recipe", name, "--output", str(tmp_path / "run"), "--dry-run"]
    ran = CliRunner().invoke(main, [*words, "--format", "json"])
    assert ran.exit_code == 0, ran.output
    plan = json.loads(ran.stdout)
    assert (sum(plan["parameters"].values()), sum(plan["learning"].values())) == (parameters, learning)
    assert (plan["pairs"], plan["held_out"], plan["device_batch"]) == (16, 4, pairs_at_once)
    assert plan["memory"]["total"] == sum(value for part, value in plan["memory"].items() if part != "total")
    assert plan["memory"]["gradients"] == 4 * learning
    assert plan["hours"] == pytest.approx(plan["operations"] / SPEED / 3600)
    assert not (tmp_path / "run").exists()
    shown = CliRunner().invoke(main, words)
    assert "memory on one device" in shown.stdout and " hours at 1.25e+14 a second" in shown.stdout


def test_time_is_in_proportion_to_pairs_and_memory_grows_with_pairs_at_once(tmp_path: Path) -> None:
    clip = {"name": str(save_tiny_clip(tmp_path / "clip"))}
    small, large = tmp_path / "small", tmp_path / "large"
    for folder, count in ((small, 10), (large, 20)):
        folder.mkdir()
        save_pairs(folder, count)
    few, many = (dry_run(asked(folder / "pairs.csv", tmp_path / "run", clip)) for folder in (small, large))
    assert many.operations == 2 * few.operations and many.steps == 2 * few.steps
    less = dry_run(asked(small / "pairs.csv", tmp_path / "run", clip, device_batch=4))
    assert few.memory.activations == 4 * less.memory.activations and few.memory.weights == less.memory.weights
    head = dry_run(asked(small / "pairs.csv", tmp_path / "run", clip | {"rank": 0}))
    assert sum(head.learning.values()) == 3 * 8 + 1 and head.operations < few.operations


@pytest.mark.parametrize("batch", [8, 12])
def test_accumulated_pairs_are_a_batch(batch: int, tmp_path: Path) -> None:
    """Four times two are eight; with twelve the last pass of the last update is smaller than the others."""
    pairs, clip = save_pairs(tmp_path, 21), str(save_tiny_clip(tmp_path / "clip"))
    found = [
        train_reward_model(
            asked(pairs, tmp_path / f"run-{at_once}", {"name": clip}, batch=batch, device_batch=at_once, epochs=2)
        ).model
        for at_once in (None, 2, 5)
    ]
    whole, *others = (load_file(model / "model.safetensors") | load_file(model / "head.safetensors") for model in found)
    start = load_file(Path(clip) / "model.safetensors")
    assert any(not torch.equal(start[name], whole[name]) for name in start)
    logged, *again = (_learned(model.parent / "log.jsonl") for model in found)
    assert len(logged) == 2 * -(-21 // batch)
    for other, lines in zip(others, again, strict=True):
        assert lines == [pytest.approx(line, rel=1e-4) for line in logged]
        for name, value in whole.items():
            if not name.endswith("k_proj.bias"):  # its gradient is 0, and AdamW makes a step of what rounding leaves
                assert torch.allclose(value, other[name], atol=1e-5), name


def _learned(log: Path) -> list[list[float]]:
    """Loss, norm of the gradient and accuracy of each update."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [[line[name] for name in ("loss", "grad_norm", "accuracy")] for line in lines if line["what"] == "learned"]


def test_the_first_update_of_a_warm_up_has_the_rate_zero(tmp_path: Path) -> None:
    pairs, clip = save_pairs(tmp_path, 8), save_tiny_clip(tmp_path / "clip")
    start = load_file(clip / "model.safetensors")
    for ratio, same in ((0.9, True), (0.0, False)):
        learning = {"batch": 8, "epochs": 1, "warmup_ratio": ratio, "schedule": "constant", "weight_decay": 0.0}
        model = train_reward_model(asked(pairs, tmp_path / f"run-{ratio}", {"name": str(clip)}, **learning)).model
        ended = load_file(model / "model.safetensors")
        assert all(torch.equal(start[name], ended[name]) for name in start) is same


def test_the_fix_rate_freezes_the_first_layers_of_both_towers_alone(tmp_path: Path) -> None:
    pairs, blip = save_pairs(tmp_path, 16), save_tiny_blip(tmp_path / "blip")
    backbone = {"name": str(blip), "fix_rate": 0.7, "activation_checkpointing": True}
    learning = {"batch": 4, "epochs": 2, "learning_rate": 1e-2, "weight_decay": 0.0}
    ended = load_file(train_reward_model(asked(pairs, tmp_path / "run", backbone, **learning)).model / "model.safetensors")
    start = load_file(blip / "model.safetensors")
    moved = {name for name in start if not torch.equal(start[name], ended[name])}
    for tower in ("vision_model.encoder.layers", "text_encoder.encoder.layer"):
        changed = {name.removeprefix(f"{tower}.").partition(".")[0] for name in moved if name.startswith(tower)}
        assert changed == {"2", "3"}, tower  # int(4 * 0.7) = 2 are frozen
    assert not any("embeddings" in name for name in moved)


def test_activations_that_are_computed_again_give_the_same_gradients(tmp_path: Path) -> None:
    pairs, clip = save_pairs(tmp_path, 8), str(save_tiny_clip(tmp_path / "clip"))
    found = [
        train_reward_model(
            asked(pairs, tmp_path / str(again), {"name": clip, "activation_checkpointing": again}, batch=4, epochs=2)
        ).model
        for again in (False, True)
    ]
    kept, computed = (load_file(model / "model.safetensors") for model in found)
    assert all(torch.allclose(kept[name], computed[name], atol=1e-6) for name in kept if not name.endswith("k_proj.bias"))


def test_pictures_are_scaled_to_the_recipes_size_and_a_text_tower_that_sees_the_picture_reads_both(tmp_path: Path) -> None:
    qwen = save_tiny_qwen2_vl(tmp_path / "qwen")
    network = RewardNetwork.begin(str(qwen), least_pixels=64 * 64, most_pixels=64 * 64)
    seen = network.prepared([Image.new("RGB", (16, 16)), Image.new("RGB", (300, 300))], ["a wall", "a wall 7"])
    assert seen["image_grid_thw"].tolist() == [[1, 8, 8]] * 2  # patches of 8 by 8 pixels
    blip = RewardNetwork.begin(str(save_tiny_blip(tmp_path / "blip"))).eval()
    red, blue = (Image.new("RGB", (16, 16), colour) for colour in ("red", "blue"))
    with torch.no_grad():
        rewards = blip(blip.prepared([red, blue, red], ["a wall", "a wall", "wall a a"]))[0]
    assert len(set(rewards.tolist())) == 3


def test_wrong_recipes_are_named(tmp_path: Path) -> None:
    pairs = save_pairs(tmp_path, 2)
    words = ["train", "reward-model", str(pairs), "--output", str(tmp_path / "run")]
    for name in ("hpsv9", "r3-refiner-7b"):  # the second is one of another command
        unknown = CliRunner().invoke(main, [*words, "--recipe", name])
        assert unknown.exit_code == 2 and f"'{name}' (allowed: hpsv3, imagereward, videoreward)" in unknown.stderr
    none = CliRunner().invoke(main, words)
    assert none.exit_code == 2 and "--backbone" in none.stderr
    (tmp_path / "own.toml").write_text('[backbone]\nname = "m"\n[learning]\nspeed = 3\n')
    (tmp_path / "flat.toml").write_text('backbone = "openai/clip"\n')
    flat = CliRunner().invoke(main, [*words, "--recipe", str(tmp_path / "flat.toml")])
    assert (flat.exit_code, "Write [backbone]" in flat.output) == (2, True), flat.output
    wrong = CliRunner().invoke(main, [*words, "--recipe", str(tmp_path / "own.toml")])
    assert wrong.exit_code == 2 and "learning.speed" in wrong.stderr
    with pytest.raises(InputError, match="fix_rate"):
        asked(pairs, tmp_path, {"name": "m", "fix_rate": 1.5})
