"""A dry run says what a stage would take, and refuses what cannot work, before any weight is loaded."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from salon_console import main
from salon_taxonomy.errors import InputError
from salon_train.assessor.dry_run import dry_run
from salon_train.configuration import preset, read_configuration
from salon_train.run.memory import estimate

GRPO = "[grpo]\nsteps = 10\nbatch = 32\ndevice_batch = 8\ngenerations = 2\nlongest = 4\n[sft]\nepochs = 2\nbatch = 8\n"

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_plan_of_a_stage_is_counted_and_printed(training_ground: Path, written: Callable[..., Path]) -> None:
    file = written("planned", more=GRPO)
    printed = CliRunner().invoke(main, ["train", "grpo", str(file), "--dry-run", "--format", "json"])
    assert printed.exit_code == 0, printed.output
    plan = json.loads(printed.stdout)
    assert (plan["steps"], plan["batch"], plan["device_batch"], plan["accumulated"], plan["prompts"]) == (10, 32, 8, 4, 16)
    assert list(plan["quota"].values()) == [8, 2, 2, 2, 2]
    assert plan["epochs"] == 2.0  # ten steps of sixteen prompts over eighty examples
    assert plan["learning"] == plan["parameters"]
    assert plan["rewards"] == {"magicmirror": 1.0}
    assert plan["memory"]["total"] == sum(value for name, value in plan["memory"].items() if name != "total")
    assert not (training_ground / "planned").exists()
    shown = CliRunner().invoke(main, ["train", "sft", str(file), "--dry-run"])
    assert "20 steps of 8 sequences (8 at once on each of 1 devices, 1 passes)" in shown.stdout


@pytest.mark.parametrize(
    ("name", "parameters", "learning"),
    [("Qwen/Qwen2.5-VL-7B-Instruct", 8_292_166_656, 80_740_352), ("Qwen/Qwen3-VL-8B-Instruct", 8_767_123_696, 87_293_952)],
)
def test_the_published_models_are_counted_without_their_weights(
    training_ground: Path, written: Callable[..., Path], name: str, parameters: int, learning: int
) -> None:
    configuration = read_configuration(written("large", more=GRPO), changes={"model.name": name, "model.training": "lora"})
    plan = dry_run(configuration, "grpo", {})
    assert sum(plan.parameters.values()) == parameters
    assert plan.learning == {"vision": 0, "connector": 0, "language": learning}


def test_a_cold_start_is_counted_with_its_answers_and_held_against_its_own_limit(written: Callable[..., Path]) -> None:
    file = written("answered", more=GRPO)
    asked, answered = (dry_run(read_configuration(file), stage, {}).tokens for stage in ("grpo", "sft"))
    assert asked is not None
    assert answered is not None
    assert answered > asked
    short = read_configuration(file, changes={"sft.longest": asked, "grpo.longest_prompt": asked})
    dry_run(short, "grpo", {})
    with pytest.raises(InputError, match=f"at most {asked} are allowed"):
        dry_run(short, "sft", {})


def test_tokens_that_no_processor_can_count_are_assumed_from_pictures_and_letters(written: Callable[..., Path]) -> None:
    changes = {"model.name": "Qwen/Qwen2.5-VL-7B-Instruct", "model.training": "lora", "model.least_pixels": 784 * 100}
    configuration = read_configuration(written("assumed", more=GRPO), changes=changes)
    plan = dry_run(configuration, "grpo", {})
    assert plan.tokens is None
    assert "No processor is here to count tokens: memory is estimated for 104 of picture and question." in plan.notes
    larger = dry_run(configuration.model_copy(
        update={"model": configuration.model.model_copy(update={"least_pixels": 784 * 1000})}
    ), "grpo", {})  # fmt: skip
    assert larger.memory.activations > 5 * plan.memory.activations


def test_what_has_to_be_installed_first_is_noted_and_stops_a_run(
    written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from salon_train.assessor import train_grpo
    from salon_train.run import arguments

    monkeypatch.setattr(arguments, "find_spec", lambda name: None)
    file = written("bare", more=GRPO.replace("longest = 4", 'longest = 4\nrollouts = "vllm"') + '[log]\nto = "wandb"\n')
    configuration = read_configuration(file)
    notes = dry_run(configuration, "grpo", {}).notes
    assert len(notes) == 2
    assert "pip install 'trl[vllm]'" in notes[1]
    with pytest.raises(InputError, match="pip install wandb"):
        train_grpo(configuration)


def test_memory_follows_its_formula() -> None:
    made = estimate(
        parameters=100, learning=10, weight_format="bfloat16", learning_format="float32", compute_format="bfloat16",
        sequences=2, tokens=3, width=5, layers=7, vocabulary=16, checkpointing=False, reference=True,
    )  # fmt: skip
    assert (made.weights, made.gradients, made.optimizer, made.reference) == (2 * 90 + 4 * 10, 40, 80, 220)
    assert (made.activations, made.logits) == (2 * 3 * 5 * 7 * 34 * 2, 2 * 3 * 16 * 4 // 8)


@pytest.mark.parametrize(("checkpointing", "lowest", "highest"), [(False, 28, 34), (True, 1, 1)])
def test_a_layer_keeps_about_as_much_as_the_formula_says(checkpointing: bool, lowest: int, highest: int) -> None:
    """Values per token, layer and width that autograd keeps for a layer of Qwen2.5-VL-7B's proportions, in bfloat16."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    def kept(layers: int) -> float:
        sizes = {"hidden_size": 256, "intermediate_size": 256 * 18944 // 3584, "num_hidden_layers": layers, "vocab_size": 64}
        heads = {"num_attention_heads": 8, "num_key_value_heads": 1, "use_cache": False}
        model = Qwen2ForCausalLM(Qwen2Config(**sizes, **heads)).to(torch.bfloat16).train()
        if checkpointing:
            model.gradient_checkpointing_enable()
        own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
        held: dict[int, tuple[int, torch.Tensor]] = {}

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in own:
                held[storage.data_ptr()] = (storage.nbytes(), tensor)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            model.model(torch.zeros(1, 64, dtype=torch.long))
        return sum(size for size, _ in held.values()) / (64 * 256 * 2)

    assert lowest <= (kept(4) - kept(2)) / 2 <= highest


def test_pictures_that_are_learned_from_and_held_out_are_told(written: Callable[..., Path]) -> None:
    configuration = read_configuration(written("both", more=GRPO), changes={"data.held_out": ["train.jsonl"]})
    configuration = configuration.model_copy(
        update={"data": configuration.data.model_copy(update={"held_out": configuration.data.train})}
    )
    notes = dry_run(configuration, "sft", {}).notes
    assert any("held-out pictures are also learned from" in note for note in notes)


@pytest.mark.usefixtures("without_waiting")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reward": [{"name": "consistency"}]}, "consistency cannot be made without 'judge'"),
        ({"reward": [{"name": "consistency", "options": {"judge": "vllm:m@127.0.0.1:9"}}]}, "the judge does not answer"),
        ({"reward": [{"name": "magicmirror"}, {"name": "magicmirror"}]}, "key 'reward.2.name': two rewards have one name"),
        ({"reward": [{"name": "os.path:join"}]}, "the reward fails on an answer that cannot be read (TypeError"),
        ({"model.name": "nobody/nothing"}, "the model cannot be found"),
        ({"sampling.ratio": {"normal": 5}, "grpo.batch": 16}, None),
    ],
)
def test_what_cannot_work_is_refused(written: Callable[..., Path], changes: dict[str, object], said: str | None) -> None:
    configuration = read_configuration(written("checked", more=GRPO), changes=changes)
    if said is None:
        assert dry_run(configuration, "grpo", {}).quota == {"normal": 8}
        return
    with pytest.raises(InputError) as error:
        dry_run(configuration, "grpo", {})
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "return [1.0 / len(each[-1]['content']) for each in completions]",
            "the reward fails on an answer that cannot be read (ZeroDivis",
        ),
        ("return [1.0]", "the reward does not give one finite number or None for each completion"),
        ("log_metric('a', 1); log_extra('b', [1]); return [trainer_state.global_step * 1.0 for _ in completions]", None),
    ],
    ids=["raises", "counts", "takes what TRL gives"],
)
def test_a_reward_of_ones_own_is_tried_with_what_trl_gives_it(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, body: str, said: str | None
) -> None:
    monkeypatch.syspath_prepend(str(training_ground))
    module = f"tried_reward_{abs(len(body))}"
    given = "completions, trainer_state, log_metric, log_extra, **_"
    (training_ground / f"{module}.py").write_text(f"def own({given}):\n    {body}\n", encoding="utf-8")
    configuration = read_configuration(written("tried", reward=f"{module}:own", more=GRPO))
    if said is None:
        assert dry_run(configuration, "grpo", {}).rewards == {"own": 1.0}
        return
    with pytest.raises(InputError) as error:
        dry_run(configuration, "grpo", {})
    assert said in str(error.value)


def test_a_preset_is_ready_once_its_paths_are_there(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(preset("magicmirror-7b"), encoding="utf-8")
    done = CliRunner().invoke(main, ["train", "sft", str(tmp_path / "run.toml"), "--dry-run"])
    assert done.exit_code == 2
    assert "magic_mirror_data_cot.jsonl" in done.stderr
