"""What a run needs beyond salon-train's own dependencies, and whether it is installed."""

from importlib.util import find_spec

from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import Configuration, StageConfiguration
from salon_train.trainers.run_folder import Stage

_LOGS = {"tensorboard": ("tensorboard", "tensorboardX"), "wandb": ("wandb",)}


def missing(configuration: StageConfiguration, stage: Stage) -> list[InputError]:
    """What has to be installed first, each with the command that does; nothing when all is there.

    Example:
        >>> told = {"run": {"folder": "r"}, "model": {"name": "m"}, "data": {"train": ["t"]}, "sft": {"steps": 1}}
        >>> missing(Configuration.model_validate(told), "sft")
        []
    """
    found = []
    log = configuration.log.to
    if log in _LOGS and not any(find_spec(name) for name in _LOGS[log]):
        hint = f'pip install {_LOGS[log][0]}, or set log.to to "none"; log.jsonl is written in any case.'
        found.append(InputError("is not installed:", key="log.to", value=log, hint=hint))
    grpo = configuration.grpo if isinstance(configuration, Configuration) else None
    if stage != "sft" and grpo is not None and grpo.rollouts == "vllm" and find_spec("vllm") is None:
        hint = "pip install 'trl[vllm]', or set grpo.rollouts to \"transformers\"."
        found.append(InputError("is not installed:", key="grpo.rollouts", value="vllm", hint=hint))
    attention = configuration.model.attention
    if attention == "flash_attention_2" and find_spec("flash_attn") is None:
        hint = 'pip install flash-attn, or set model.attention to "sdpa".'
        found.append(InputError("is not installed:", key="model.attention", value=attention, hint=hint))
    return found
