"""What is wrong in a configuration is named with its line and what would be right; presets hold the published numbers."""

import asyncio
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from for_each import for_each
from salon_console import main
from salon_console.table_rows import read_each
from salon_rewards import make_reward
from salon_taxonomy.answers import Artifact, MagicMirrorAnswer
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import ReplayJudge
from salon_taxonomy.training_example import MAIN_BUCKETS, NORMAL, TrainingExample
from salon_train.configuration import launch, launch_names, preset, preset_names, read_configuration
from salon_train.configuration.image import (
    ImageEvaluationSection,
    ImageSection,
    PaidSection,
    PairSection,
    PolicySection,
)
from salon_train.configuration.reward_model import BackboneSection, RewardEvaluationSection, RewardLearningSection
from salon_train.configuration.schema import (
    CheckpointSection,
    CompositionSection,
    ConfigurationTable,
    DataSection,
    DegenerationSection,
    EvaluationSection,
    GrpoSection,
    LearningSection,
    LinearWeight,
    LogSection,
    LoraSection,
    ModelSection,
    MonitorsSection,
    RewardSection,
    RunSection,
    SamplingSection,
    SftSection,
    StoreSection,
    VllmSection,
)
from salon_train.refiner import RefinementSettings, read_refiner_configuration
from salon_train.refiner.settings import EditorSection
from salon_train.sampling.prompt_order import prompt_plan

REFINERS = ("r3-refiner-7b", "r3-refiner-8b")
REWARD_MODELS = ("hpsv3", "imagereward", "videoreward")
WHOLE = '[run]\nfolder = "run"\n[model]\nname = "m"\n[data]\ntrain = ["t.jsonl"]\n'


DEFAULTS: dict[type[ConfigurationTable], dict[str, Any]] = {
    RunSection: {"seed": 0},
    LoraSection: {"rank": 32, "dropout": 0.0, "targets": "language"},
    ModelSection: {"dtype": "auto", "compute": "auto", "device": "auto", "training": "full", "activation_checkpointing": False},
    DataSection: {"reasoning": True},
    SamplingSection: {"strategy": "multi_bucket", "hard_positives": 1.0, "sft": False},
    LinearWeight: {"first": 0},
    RewardSection: {"weight": 1.0, "gate": False, "least": 0.5},
    CompositionSection: {"missing": "abstain", "missing_value": 0.0},
    LearningSection: {
        "schedule": "constant",
        "warmup_steps": 0,
        "weight_decay": 0.0,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-08,
        "clip_gradient": 1.0,
    },
    SftSection: {"learning_rate": 2e-05, "batch": 32},
    VllmSection: {"mode": "colocate", "memory": 0.3, "tensor_parallel": 1},
    GrpoSection: {
        "learning_rate": 1e-06,
        "start": "model",
        "batch": 128,
        "generations": 8,
        "iterations": 1,
        "longest": 512,
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "loss": "dapo",
        "clip_low": 0.2,
        "clip_high": 0.28,
        "kl": 0.0,
        "scale": "group",
        "aggregation": "sum_then_normalize",
        "rollouts": "transformers",
    },
    EvaluationSection: {"at_start": True, "batch": 16, "longest": 512},
    CheckpointSection: {"every": 50, "keep": 2},
    DegenerationSection: {"equal_rewards": 20, "invalid_answers": 20, "unscored": 3},
    MonitorsSection: {"on": True, "on_warn": "log", "on_stop": "stop"},
    LogSection: {"completions": 16, "every": 1, "to": "none", "project": "salon"},
    StoreSection: {"completions": 16},
    PolicySection: {"device": "cuda", "rank": 32, "guidance": 4.5, "negative_prompt": "", "activation_checkpointing": False},
    PaidSection: {"on_unscored": "nan"},
    PairSection: {"beta": 1000.0, "pairs": 16},
    ImageSection: {
        "steps": 300,
        "group": 8,
        "prompts_per_step": 6,
        "sampling_steps": 10,
        "noise": "cps",
        "window": 3,
        "level": 0.7,
        "learning_rate": 0.0003,
        "kl": 0.03,
        "at_once": 4,
    },
    ImageEvaluationSection: {"every": 50, "pictures": 2},
    BackboneSection: {"device": "cpu", "dtype": "float32", "fix_rate": 0.0, "activation_checkpointing": False},
    RewardLearningSection: {
        "loss": "bradley-terry",
        "rater_noise": 0.0,
        "epochs": 4,
        "batch": 16,
        "learning_rate": 0.0001,
        "schedule": "cosine",
        "warmup_ratio": 0.1,
        "weight_decay": 0.01,
    },
    RewardEvaluationSection: {"every": 100},
    EditorSection: {"timeout_s": 300.0, "concurrency": 8},
    RefinementSettings: {
        "epochs": 5.0,
        "learning_rate": 1e-06,
        "warmup_steps": 0,
        "group": 8,
        "prompts": 128,
        "micro_batch": 4,
        "longest_prompt": 2560,
        "most_tokens": 2048,
        "most_thought": 1024,
        "temperature": 1.0,
        "top_p": 1.0,
        "kl": 0.01,
        "loss": "grpo",
        "clip_low": 0.2,
        "clip_high": 0.28,
        "weight_decay": 0.01,
        "beta1": 0.9,
        "beta2": 0.999,
        "stage_one": 0.25,
        "stage_two": 0.75,
        "judged_by": "policy",
        "refusal": "abstain",
        "illusory": "executed",
        "wrong_verdict": "nothing",
    },
}
"""What a setting is where a file does not give it: a run of yesterday's file must be the same tomorrow."""


@for_each(("table", "values"), DEFAULTS.items())
def test_a_setting_that_is_left_out_is_what_it_always_was(table: type[ConfigurationTable], values: dict[str, Any]) -> None:
    own = {name: field.default for name, field in table.model_fields.items() if name in table.__annotations__}
    assert {name: value for name, value in own.items() if isinstance(value, bool | int | float | str)} == values


def test_every_table_of_settings_with_a_default_is_in_the_list_of_defaults() -> None:
    def below(table: type[ConfigurationTable]) -> Iterator[type[ConfigurationTable]]:
        for other in table.__subclasses__():
            yield from (other, *below(other))

    scalars = (bool, int, float, str)
    with_default = {
        table for table in below(ConfigurationTable) for name, field in table.model_fields.items()
        if name in table.__annotations__ and isinstance(field.default, scalars) and table.__module__.startswith("salon_train.")
    }  # fmt: skip
    assert {table.__name__ for table in with_default} == {table.__name__ for table in DEFAULTS}


def written(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[run", "is not TOML"),
        ("", "key 'run': is missing\nComplete configurations to copy: salon train presets"),
        (f"{WHOLE}[grpo]\nsteps = 3\nstepz = 4\n", "line 9, key 'grpo.stepz': unknown setting (allowed: steps, epochs, "),
        (f"{WHOLE}[grpo]\nsteps = 3\nloss = 'ppo'\n", "key 'grpo.loss': is not allowed: 'ppo' (allowed: grpo, dapo, "),
        (f"{WHOLE}[model.lora]\nrank = 0\n", "line 8, key 'model.lora.rank': input should be greater than or equal to 1"),
        (f"{WHOLE}[sft]\nbatch = 3\n", "line 7, key 'sft': give either steps or epochs"),
        (f"{WHOLE}[sft]\nsteps = 3\nepochs = 1\n", "give either steps or epochs"),
        (f"{WHOLE}[grpo]\nsteps = 3\nbatch = 20\n", "20 completions at once are no whole number of groups of 8"),
        (f"{WHOLE}[grpo]\nsteps = 3\nbatch = 16\ngeneration_batch = 40\n", "40 is no multiple of batch 16"),
        (f'{WHOLE}[sampling.ratio]\n"normale" = 4\n', "unknown bucket 'normale' (allowed: normal, L2: "),
        (f'{WHOLE}[sampling.ratio]\n"normal" = 0\n', "at least one bucket above 0"),
        (f"{WHOLE}[[reward]]\nname = 'a'\n[[reward]]\nname = 'b'\nwait = 2\n", "line 11, key 'reward.2.wait': unknown setting"),
        (f"{WHOLE}[sampling]\nhard_positives = nan\n", "key 'sampling.hard_positives'"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line_and_what_would_be_right(tmp_path, text, said):
    with pytest.raises(InputError) as error:
        read_configuration(written(tmp_path, text))
    assert said in str(error.value)


def test_a_file_that_is_not_there_says_where_one_comes_from(tmp_path):
    with pytest.raises(InputError, match="salon train presets"):
        read_configuration(tmp_path / "nowhere.toml")


def test_paths_are_from_the_file_and_changes_take_the_place_of_settings(tmp_path):
    (tmp_path / "m").mkdir()
    read = read_configuration(
        written(tmp_path, WHOLE), changes={"sft.steps": 3, "run.seed": 7, "model.training": "lora", "model.lora.rank": 4}
    )
    assert read.run.folder == str(tmp_path / "run")
    assert read.data.train == (str(tmp_path / "t.jsonl"),)
    assert read.model.name == str(tmp_path / "m")
    assert (read.sft.steps, read.run.seed, read.model.lora.rank) == (3, 7, 4)
    with pytest.raises(InputError, match=r"key 'run.sed': unknown setting"):
        read_configuration(tmp_path / "run.toml", changes={"run.sed": 1})
    with pytest.raises(InputError) as error:
        read_configuration(tmp_path / "run.toml", changes={"run.seed": "abc"})
    assert str(error.value).startswith("--set, key 'run.seed': ")


def test_a_file_for_the_other_kind_of_training_is_told_apart(tmp_path):
    with pytest.raises(InputError, match="is the configuration of a refiner"):
        read_configuration(written(tmp_path, preset("r3-refiner-7b")))
    with pytest.raises(InputError, match="is the configuration of an assessor"):
        read_refiner_configuration(written(tmp_path, preset("magicmirror-7b")))


@pytest.mark.parametrize("name", [name for name in preset_names() if name not in REFINERS + REWARD_MODELS])
def test_every_preset_of_an_assessor_is_a_configuration(tmp_path, name):
    assert preset(name).startswith("# ")
    read = read_configuration(written(tmp_path, preset(name)))
    assert read.sft or read.grpo


@pytest.mark.parametrize("name", REFINERS)
def test_the_refiner_presets_hold_table_11(tmp_path, name):
    read = read_refiner_configuration(written(tmp_path, preset(name)))
    refine = read.refine
    grpo = refine.grpo(24_925)
    assert (grpo.beta1, grpo.beta2, grpo.learning_rate, grpo.schedule, grpo.weight_decay) == (0.9, 0.999, 1e-6, "cosine", 1e-2)
    assert (grpo.batch, grpo.device_batch, refine.epochs, grpo.steps) == (1024, 4, 5, 974)
    assert (grpo.longest_prompt, grpo.longest) == (2560, 2048)
    assert (grpo.generations, grpo.kl, grpo.clip_low, grpo.clip_high) == (8, 1e-2, 0.2, 0.28)
    assert (grpo.temperature, grpo.top_p) == (1.0, 1.0)
    assert (refine.stage_one, refine.stage_two) == (0.25, 0.75)
    assert (read.model.least_pixels, read.model.most_pixels) == (512**2, 1088**2)


def test_launch_files_are_what_accelerate_reads(tmp_path, monkeypatch):
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin
    from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

    kinds, told = {}, {}
    for name in launch_names():
        file = tmp_path / f"{name}.yaml"
        file.write_text(launch(name), encoding="utf-8")
        read = load_config_from_file(str(file))
        assert read.num_processes == 8
        kinds[name] = read.distributed_type.value
        arguments, _, _ = _validate_launch_command(launch_command_parser().parse_args(["--config_file", str(file), "salon"]))
        if arguments.use_deepspeed:
            arguments.deepspeed_fields_from_accelerate_config = ",".join([*read.deepspeed_config, "mixed_precision"])
            told[name] = prepare_deepspeed_cmd_env(arguments)[1]
        else:
            told[name] = prepare_multi_gpu_env(arguments)
        assert told[name]["ACCELERATE_MIXED_PRECISION"] == "bf16"
    assert kinds == {"ddp": "MULTI_GPU", "deepspeed-zero2": "DEEPSPEED", "deepspeed-zero3": "DEEPSPEED", "fsdp": "FSDP"}

    for name, value in told["fsdp"].items():
        if "FSDP" in name:
            monkeypatch.setenv(name, value)
    sharded = FullyShardedDataParallelPlugin()
    assert (sharded.fsdp_version, sharded.state_dict_type.name) == (2, "FULL_STATE_DICT")
    assert (sharded.reshard_after_forward, sharded.cpu_ram_efficient_loading) == (True, True)
    for stage in (2, 3):
        monkeypatch.setattr("accelerate.utils.dataclasses.is_deepspeed_available", lambda: True, raising=False)
        for name, value in told[f"deepspeed-zero{stage}"].items():
            if "DEEPSPEED" in name:
                monkeypatch.setenv(name, value)
        plugin = DeepSpeedPlugin()
        assert plugin.zero_stage == stage
        assert plugin.zero3_save_16bit_model is (stage == 3)
        sizes = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping")
        assert {plugin.deepspeed_config[size] for size in sizes} == {"auto"}  # the run's own are filled in


def test_what_vllm_is_told_are_settings_of_trl(tmp_path):
    from dataclasses import fields

    from trl import GRPOConfig

    from salon_train.configuration.schema import GrpoSection, VllmSection
    from salon_train.run.arguments import _vllm

    url = "http://127.0.0.1:8000"
    told = _vllm(GrpoSection(steps=1, rollouts="vllm", vllm=VllmSection(mode="server", url=url)))
    assert told.keys() <= {field.name for field in fields(GRPOConfig)}
    made = GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, **told)
    assert (made.use_vllm, made.vllm_mode, made.vllm_server_base_url) == (True, "server", url)
    colocated = GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, **_vllm(GrpoSection(steps=1, rollouts="vllm")))
    assert (colocated.vllm_mode, colocated.vllm_gpu_memory_utilization) == ("colocate", 0.3)
    assert _vllm(GrpoSection(steps=1)) == {}


def test_presets_are_listed_and_printed():
    listed = CliRunner().invoke(main, ["train", "presets"])
    assert listed.exit_code == 0
    assert all(name in listed.stdout for name in (*preset_names(), *launch_names()))
    assert CliRunner().invoke(main, ["train", "presets", "magicmirror-7b"]).stdout == preset("magicmirror-7b")
    assert CliRunner().invoke(main, ["train", "presets", "fsdp", "--launch"]).stdout == launch("fsdp")
    for idle in (["--launch"], ["magicmirror-7b", "--format", "json"]):  # an option without an effect
        assert CliRunner().invoke(main, ["train", "presets", *idle]).exit_code == 2
    unknown = CliRunner().invoke(main, ["train", "presets", "magicmirror-70b"])
    assert unknown.exit_code == 2
    assert "allowed: hpsv3, imagereward, magicmirror-7b" in unknown.stderr


MAGICMIRROR = {
    "model.name": ("Qwen/Qwen2.5-VL-7B-Instruct", "A.5.1: built upon Qwen2.5-VL-7B"),
    "data.train": (["magic_mirror_data_train.jsonl"], "A.5.1: 325,238 training samples"),
    "data.held_out": (["magic_mirror_data_test.jsonl"], "A.5.1: 17,366 test samples"),
}
TRAINED = MAGICMIRROR | {
    "data.sft": (["magic_mirror_data_cot.jsonl"], "A.5.1: 1,294 examples with reasoning"),
    "sampling.strategy": ("multi_bucket", "3.1: five buckets"),
    "sampling.ratio.normal": (4, "3.1: 4:1:1:1:1"),
    **{f"sampling.ratio.{name}": (1, "3.1: 4:1:1:1:1") for name in MAIN_BUCKETS if name != NORMAL},
    "reward.0.name": ("magicmirror", "A.4: format, L1, L2, L3"),
    "reward.0.options": ({"reasoning": "paper"}, "A.4: the format"),
    "reward.1.name": ("consistency", "A.4 and Equation 3: a smaller language model judges"),
    "sft.steps": (40, "A.5.1"),
    "sft.batch": (32, "A.5.1"),
    "sft.learning_rate": (2e-5, "A.5.1"),
    "grpo.start": ("sft", "3.1: following cold-start"),
    "grpo.steps": (300, "A.5.1"),
    "grpo.batch": (128 * 8, "A.5.1: global batch 128, in prompts; 8 replies are ours"),
    "grpo.learning_rate": (1e-6, "A.5.1"),
    "grpo.loss": ("grpo", "Equation 1"),
}
REFINED = {
    "model.least_pixels": (512**2, "Table 11: min pixels"),
    "model.most_pixels": (1088**2, "Table 11: max pixels, about 1088 squared"),
    "editor.name": ("diffusers:Qwen/Qwen-Image-Edit-2511", "D.1"),
    "refine.epochs": (5, "Table 11"),
    "refine.prompts": (128, "Table 11: global batch and rollout batch 128, in prompts"),
    "refine.group": (8, "Table 11: group size"),
    "refine.micro_batch": (4, "Table 11"),
    "refine.learning_rate": (1e-6, "Table 11"),
    "refine.weight_decay": (1e-2, "Table 11"),
    "refine.beta1": (0.9, "Table 11"),
    "refine.beta2": (0.999, "Table 11"),
    "refine.longest_prompt": (2560, "Table 11"),
    "refine.most_tokens": (2048, "Table 11"),
    "refine.temperature": (1.0, "Table 11"),
    "refine.top_p": (1.0, "Table 11"),
    "refine.loss": ("grpo", "Table 11: advantage estimator GRPO"),
    "refine.clip_low": (0.2, "Table 11"),
    "refine.clip_high": (0.28, "Table 11"),
    "refine.kl": (1e-2, "Table 11"),
    "refine.stage_one": (0.25, "Table 11"),
    "refine.stage_two": (0.75, "Table 11"),
    "refine.illusory": ("executed", "Equation 5"),
}
HPSV3 = {
    "backbone.name": ("Qwen/Qwen2-VL-7B-Instruct", "HPSv3_7B.yaml: model_name_or_path"),
    "backbone.least_pixels": (256 * 28 * 28, "min_pixels"),
    "backbone.most_pixels": (256 * 28 * 28, "max_pixels"),
    "backbone.activation_checkpointing": (True, "gradient_checkpointing"),
    "learning.loss": ("unsure", "loss_type: uncertainty"),
    "learning.epochs": (10, "num_train_epochs"),
    "learning.batch": (2 * 4, "per_device_train_batch_size × gradient_accumulation_steps"),
    "learning.device_batch": (2, "per_device_train_batch_size"),
    "learning.learning_rate": (2e-6, "learning_rate"),
    "learning.schedule": ("constant", "lr_scheduler_type: constant_with_warmup"),
    "learning.warmup_ratio": (0.05, "warmup_ratio"),
}
IMAGEREWARD = {
    "backbone.fix_rate": (0.7, "train_one_node.sh: --fix_rate"),
    "learning.loss": ("bradley-terry", "train.py: loss_func"),
    "learning.epochs": (10, "--epochs"),
    "learning.batch": (4 * 4 * 4, "--batch_size × --accumulation_steps × devices"),
    "learning.device_batch": (4, "--batch_size"),
    "learning.learning_rate": (1e-5, "--lr"),
    "learning.schedule": ("cosine", "--lr-decay-style"),
    "learning.warmup_ratio": (0.0, "--warmup"),
    "learning.weight_decay": (0.0, "train.py: torch.optim.Adam without one"),
}
VIDEOREWARD = {
    "backbone.name": ("Qwen/Qwen2-VL-2B-Instruct", "train.sh: --model_name_or_path"),
    "backbone.dtype": ("bfloat16", "--torch_dtype"),
    "backbone.rank": (64, "--lora_r"),
    "backbone.alpha": (128, "--lora_alpha"),
    "backbone.most_pixels": (200704, "--max_frame_pixels"),
    "learning.loss": ("rao-kupper", "trainer.py: btt"),
    "learning.epochs": (3, "--num_train_epochs"),
    "learning.batch": (1 * 4, "--per_device_train_batch_size × --gradient_accumulation_steps"),
    "learning.device_batch": (1, "--per_device_train_batch_size"),
    "learning.learning_rate": (2e-6, "--learning_rate"),
    "learning.schedule": ("constant", "--lr_scheduler_type constant_with_warmup"),
    "learning.warmup_ratio": (0.05, "--warmup_ratio"),
}
RECIPES = {
    "hpsv3": HPSV3,
    "imagereward": IMAGEREWARD,
    "videoreward": VIDEOREWARD,
    "magicmirror-7b": TRAINED
    | {"model.training": ("lora", "A.5.1: the cold start's"), "model.lora.rank": (32, "A.5.1: the cold start's")},
    "magicmirror-7b-full": TRAINED,
    "magicmirror-7b-sft-only": MAGICMIRROR | {"sft.steps": (300, "A.5.1: SFT only, full data")},
    "r3-refiner-7b": REFINED | {"model.name": ("Qwen/Qwen2.5-VL-7B-Instruct", "D.1")},
    "r3-refiner-8b": REFINED | {"model.name": ("Qwen/Qwen3-VL-8B-Instruct", "D.1")},
}


def lines_of(name: str) -> dict[str, tuple[object, str]]:
    """Every setting of a preset by dotted key, with its value and the comment of its line."""
    found: dict[str, tuple[object, str]] = {}
    section, rewards = "", -1
    for line in preset(name).splitlines():
        if line.startswith("["):
            section = line.strip("[]") + "."
            rewards += line == "[[reward]]"
            section = f"reward.{rewards}." if line == "[[reward]]" else section
        elif line and not line.startswith("#"):
            ((key, value),) = tomllib.loads(line).items()
            found[section + key] = (value, line.partition(" # ")[2])
    return found


@pytest.mark.parametrize("name", [name for name in preset_names() if name != "tiny-cpu"])
def test_every_preset_of_a_paper_is_its_recipe_line_by_line(name: str) -> None:
    """Each line is the paper's value, with its place, or says that it is ours or the user's; and no value is left out."""
    recipe, lines = RECIPES[name], lines_of(name)
    for key, (value, comment) in lines.items():
        if key in recipe:
            assert value == recipe[key][0], f"{key}: the paper has {recipe[key]}"
            assert not comment.startswith(("ours", "yours")), key
        else:
            assert comment.startswith(("ours", "yours")), key
    assert recipe.keys() <= lines.keys()
    assert not [line for line in preset(name).splitlines() if line.startswith("# [")]  # nothing of it is commented out


@pytest.mark.parametrize("name", ["magicmirror-7b", "magicmirror-7b-full"])
def test_a_magicmirror_preset_names_the_gate_of_appendix_a4_as_a_line_that_runs(name: str, tmp_path: Path) -> None:
    """With the line in place of its neighbour, and without the term, inconsistent reasoning earns nothing."""
    (line,) = [line for line in preset(name).splitlines() if line.startswith("# options = ")]
    before, term = preset(name).split('[[reward]]\nname = "consistency"')
    replaced = re.sub(r"(?m)^options = .*$", line.removeprefix("# "), before) + term[term.index("[sft]") :]
    (reward,) = read_configuration(written(tmp_path, replaced)).reward
    assert (reward.name, reward.options["mode"]) == ("magicmirror", "gate")
    normal = '{"Whether Normal": true}'
    reply = f"<think>Six fingers on the left hand.</think>\\boxed{{{normal}}}"
    for consistent, earned in (("true", 12.0), ("false", 0.0)):
        judge = ReplayJudge([f'{{"consistent": {consistent}}}'])
        gate = make_reward(reward.name, **{**reward.options, "judge": judge})
        assert asyncio.run(gate([reply], truth=[normal])) == [earned]


def test_the_defaults_of_a_refiner_are_those_of_table_11() -> None:
    defaults = RefinementSettings()
    table = {key.removeprefix("refine."): value for key, (value, _) in REFINED.items() if key.startswith("refine.")}
    assert {key: getattr(defaults, key) for key in table} == table


@pytest.mark.parametrize("strategy", ["multi_bucket", "shuffled"])
def test_hard_positives_that_the_data_lack_stop_a_run_and_never_reach_the_cold_start(strategy: str) -> None:
    buckets = [None if name == NORMAL else (Artifact(name),) for name in MAIN_BUCKETS]
    examples = [
        TrainingExample(str(at), b"", MagicMirrorAnswer(True) if kind is None else MagicMirrorAnswer(False, kind))
        for at, kind in enumerate(buckets)
    ]
    sampling = SamplingSection(strategy=strategy, hard_positives=2.0)
    with pytest.raises(InputError, match=r"hard_positives.*\n.*column hard_positive"):
        prompt_plan(examples, sampling, chunk=8, chunks=1, seed=0)
    normal = examples[MAIN_BUCKETS.index(NORMAL)]
    enough = [*examples, *(replace(normal, hard_positive=at == 0) for at in range(12))]
    assert prompt_plan(enough, sampling, chunk=8, chunks=1, seed=0)


@pytest.mark.parametrize(
    ("section", "given"),
    [
        (SamplingSection, {"strategy": "shuffled", "ratio": {"normal": 1}}),
        (ModelSection, {"name": "m", "training": "full", "lora": {"rank": 8}}),
        (ModelSection, {"name": "m", "training": "lora", "freeze": ["vision"]}),
        (GrpoSection, {"steps": 1, "vllm": {"memory": 0.5}}),
        (VllmSection, {"mode": "server", "memory": 0.5}),
        (VllmSection, {"mode": "server", "tensor_parallel": 2}),
        (VllmSection, {"mode": "colocate", "url": "http://localhost:8000"}),
        (LogSection, {"to": "tensorboard", "project": "mine"}),
        (StoreSection, {"completions": 4}),
    ],
)
def test_an_option_that_another_one_makes_void_is_refused_with_what_to_do(
    section: type[ConfigurationTable], given: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"does nothing without .*: set that, or take .* out") as caught:
        section.model_validate(given)
    void = str(caught.value).partition("does nothing")[0].split()[-1]
    section.model_validate({name: value for name, value in given.items() if name != void})


@pytest.mark.parametrize("stage", ["sft", "grpo", "refiner"])
def test_a_device_in_place_of_a_configuration_or_of_rows_is_refused_before_it_is_read(tmp_path, stage):
    refused = CliRunner().invoke(main, ["train", stage, "/dev/zero"])
    assert (refused.exit_code, "/dev/zero: is a device, not a file" in refused.output) == (2, True), refused.output
    with pytest.raises(InputError, match="/dev/zero: is a device, not a file"):
        read_configuration("/dev/zero")
    (tmp_path / "rows.jsonl").symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"rows\.jsonl: is a device, not a file"):
        list(read_each(tmp_path / "rows.jsonl", lambda row: row))
