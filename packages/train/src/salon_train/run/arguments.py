"""Translate a configuration into TRL's ``SFTConfig`` and ``GRPOConfig``, and check that what it needs is installed."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import (
    Configuration,
    GrpoSection,
    LearningSection,
    ModelSection,
    SftSection,
    StageConfiguration,
)
from salon_train.run.folder import Stage

_LOGS = {"tensorboard": ("tensorboard", "tensorboardX"), "wandb": ("wandb",)}


def sft_arguments(configuration: StageConfiguration, section: SftSection, folder: Path, *, steps: int, world: int) -> Any:
    """Build TRL's settings of the SFT warm-up; ``world`` processes train together."""
    from trl.trainer.sft_config import SFTConfig

    return SFTConfig(
        **_shared(configuration, section, folder, steps=steps, batch=section.batch, world=world),
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
        packing=False,
    )


def grpo_arguments(
    configuration: StageConfiguration,
    section: GrpoSection,
    folder: Path,
    *,
    weights: Sequence[float],
    steps: int,
    world: int,
    forbidden: Sequence[int],
) -> Any:
    """Build TRL's settings of GRPO.

    Args:
        configuration: of the run.
        section: how GRPO runs.
        folder: for the trainer's files.
        weights: of the rewards.
        steps: optimizer steps.
        world: processes that train together.
        forbidden: tokens that are never sampled.
    """
    from trl.trainer.grpo_config import GRPOConfig

    suppressed = {"suppress_tokens": list(forbidden)} if section.rollouts == "transformers" and forbidden else None
    options = {
        **_shared(configuration, section, folder, steps=steps, batch=section.batch, world=world),
        "num_generations": section.generations,
        "generation_batch_size": section.generation_batch or section.batch,
        "num_iterations": section.iterations,
        "max_completion_length": section.longest,
        "temperature": section.temperature,
        "top_p": section.top_p,
        "top_k": section.top_k,
        "loss_type": section.loss,
        "epsilon": section.clip_low,
        "epsilon_high": section.clip_high,
        "beta": section.kl,
        "scale_rewards": section.scale,
        "multi_objective_aggregation": section.aggregation,
        "reward_weights": list(weights),
        "generation_kwargs": suppressed,
        **_vllm(section),
    }
    return GRPOConfig(**options)


def on_processor(section: ModelSection) -> bool:
    """Return whether a run trains on the processor: by configuration, or because there is no accelerator."""
    return section.device == "cpu" or not torch.cuda.is_available()


def device_batch(section: LearningSection, batch: int, *, world: int) -> tuple[int, int]:
    """Return the sequences that one device computes at once, and the passes before an optimizer step.

    Raises:
        InputError: if the batch is not a multiple of both.
    """
    own = section.device_batch or max(batch // world, 1)
    if batch % (own * world):
        raise InputError(f"is no multiple of {own} sequences on each of {world} devices", key="batch", value=batch)
    return own, batch // (own * world)


def _shared(
    configuration: StageConfiguration, section: LearningSection, folder: Path, *, steps: int, batch: int, world: int
) -> dict[str, Any]:
    own, accumulated = device_batch(section, batch, world=world)
    on_cpu = on_processor(configuration.model)
    half = configuration.model.compute == "bfloat16" or (configuration.model.compute == "auto" and not on_cpu)
    return {
        "output_dir": str(folder),
        "seed": configuration.run.seed,
        "data_seed": configuration.run.seed,
        "max_steps": steps,
        "per_device_train_batch_size": own,
        "gradient_accumulation_steps": accumulated,
        "learning_rate": section.learning_rate,
        "lr_scheduler_type": "constant_with_warmup" if section.schedule == "constant" else section.schedule,
        "warmup_steps": section.warmup_steps,
        "weight_decay": section.weight_decay,
        "adam_beta1": section.beta1,
        "adam_beta2": section.beta2,
        "adam_epsilon": section.epsilon,
        "max_grad_norm": section.clip_gradient,
        "bf16": half,
        "use_cpu": on_cpu,
        "gradient_checkpointing": configuration.model.activation_checkpointing,
        "save_strategy": "steps",
        "save_steps": configuration.checkpoints.every,
        "save_total_limit": None,  # checkpoints.py removes older ones, once the new one is whole
        "logging_strategy": "steps",
        "logging_steps": configuration.log.every,
        "logging_nan_inf_filter": False,
        "report_to": "none" if configuration.log.to == "none" else configuration.log.to,
        "run_name": Path(configuration.run.folder).name,
        "disable_tqdm": True,
        "dataloader_num_workers": 0,
        "remove_unused_columns": False,
        "dataloader_pin_memory": not on_cpu,
    }


def _vllm(section: GrpoSection) -> dict[str, Any]:
    if section.rollouts != "vllm":
        return {}
    vllm = section.vllm
    return {
        "use_vllm": True,
        "vllm_mode": vllm.mode,
        "vllm_gpu_memory_utilization": vllm.memory,
        "vllm_tensor_parallel_size": vllm.tensor_parallel,
        **({"vllm_server_base_url": vllm.url} if vllm.url else {}),
    }


def missing(configuration: StageConfiguration, stage: Stage) -> list[InputError]:
    """Return an error for each missing package that the configuration needs, with the command that installs it.

    Example:
        >>> told = {"run": {"folder": "r"}, "model": {"name": "m"}, "data": {"train": ["t"]}, "sft": {"steps": 1}}
        >>> missing(Configuration.model_validate(told), "sft")
        []
    """
    problems = []
    log = configuration.log.to
    if log in _LOGS and not any(find_spec(name) for name in _LOGS[log]):
        hint = f'pip install {_LOGS[log][0]}, or set log.to to "none"; log.jsonl is written in any case.'
        problems.append(InputError("is not installed:", key="log.to", value=log, hint=hint))
    grpo = configuration.grpo if isinstance(configuration, Configuration) else None
    if stage != "sft" and grpo is not None and grpo.rollouts == "vllm" and find_spec("vllm") is None:
        hint = "pip install 'trl[vllm]', or set grpo.rollouts to \"transformers\"."
        problems.append(InputError("is not installed:", key="grpo.rollouts", value="vllm", hint=hint))
    attention = configuration.model.attention
    if attention == "flash_attention_2" and find_spec("flash_attn") is None:
        hint = 'pip install flash-attn, or set model.attention to "sdpa".'
        problems.append(InputError("is not installed:", key="model.attention", value=attention, hint=hint))
    return problems
