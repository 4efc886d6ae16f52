"""Any vision-language model of the hub learns: four families, tiny and random, load through the Auto classes and take steps."""

from collections.abc import Callable
from pathlib import Path

import pytest
from other_families import save_qwen3_vl, save_smolvlm

from salon_train.configuration import read_configuration
from salon_train.configuration.schema import LoraSection, ModelSection

STEPS = """
[sft]
steps = 2
batch = 4
learning_rate = 1e-3
[grpo]
steps = 2
batch = 16
generations = 2
longest = 3
learning_rate = 1e-2
[degeneration]
invalid_answers = 0
"""
FAMILIES = ("llava", "qwen2_5_vl", "qwen3_vl", "smolvlm")

pytestmark = pytest.mark.usefixtures("one_thread")


def saved(family: str, folder: Path) -> Path:
    from salon_train.models import TinyShape, build_tiny_model

    if family == "qwen3_vl":
        return save_qwen3_vl(folder)
    if family == "smolvlm":
        return save_smolvlm(folder)
    shape = TinyShape(image_size=16, patch_size=4, vision_width=32, vision_layers=1, text_width=32, text_layers=1, heads=2)
    return build_tiny_model(folder, ["What is wrong?"], seed=0, architecture=family, shape=shape).folder


@pytest.fixture(scope="module")
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, saved(request.param, tmp_path_factory.mktemp(request.param) / "model")


@pytest.mark.parametrize("family", FAMILIES, indirect=True)
def test_a_family_loads_and_takes_two_steps_of_imitation_and_two_of_grpo(
    family: tuple[str, Path], training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import load_file

    from salon_train.assessor import train_grpo, train_sft

    monkeypatch.syspath_prepend(str(training_ground))
    name, folder = family
    file = written(f"steps-{name}", model=str(folder), reward="own_rewards:varied", more=STEPS)
    configuration = read_configuration(file, changes={"data.held_out": []})
    before = load_file(folder / "model.safetensors")
    for train in (train_sft, train_grpo):
        after = load_file(train(configuration).model / "model.safetensors")
        moved = {key for key in before if not after[key].equal(before[key])}
        assert len(moved) > len(before) // 2


@pytest.mark.parametrize("family", FAMILIES, indirect=True)
def test_adapters_stand_in_the_language_model_alone_unless_all_are_wanted(family: tuple[str, Path]) -> None:
    from salon_train.models import load_model, part_of

    _, folder = family
    for targets, parts in (("language", {"language"}), ("all", {"vision", "connector", "language"})):
        lora = LoraSection(rank=2, targets=targets)
        model = load_model(ModelSection(name=str(folder), training="lora", lora=lora, device="cpu")).model
        learning = [key for key, value in model.named_parameters() if value.requires_grad]
        assert all("lora_" in key for key in learning)
        assert {part_of(key) for key in learning} == parts
        assert not any("lm_head" in key for key in learning)


@pytest.mark.parametrize("family", FAMILIES, indirect=True)
def test_every_part_is_found_and_can_be_frozen(family: tuple[str, Path]) -> None:
    from salon_train.models import PARTS, load_model, part_of

    _, folder = family
    frozen = ("vision", "connector")
    loaded = load_model(ModelSection(name=str(folder), freeze=frozen, device="cpu"))
    parts = {part_of(key): value.requires_grad for key, value in loaded.model.named_parameters()}
    assert parts == {"vision": False, "connector": False, "language": True}
    assert set(parts) == set(PARTS)
    assert loaded.image_token_ids
    assert loaded.processor.tokenizer.padding_side == "left"
