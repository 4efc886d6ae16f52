"""GRPO on R³-Refiner's two rewards, by TRL.

rows ──► chat messages, picture, truth ──► GRPOTrainer ──► group of replies ──► R_reason, R_rect ──► the policy's next step
                                                                                  └── looks with the policy's own weights
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from salon_bench.suites.r3_bench.questions import templates
from salon_rewards import ReasoningReward, RectificationReward
from salon_rewards.callables.rectification import Certainty
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Editor
from salon_train.refining.policy_verifier import PolicyVerifier
from salon_train.refining.settings import RefinementSettings
from salon_train.refining.watched_editor import WatchedEditor


@dataclass(frozen=True, slots=True)
class RefinerRow:
    """One training input ⟨P, I⁰, v⟩ of paper 002, section 3.1.

    Attributes:
        example_id: unique; completions of one id are one group.
        prompt: P.
        picture: the file of I⁰.
        matches: v.
    """

    example_id: str
    prompt: str
    picture: Path
    matches: bool


def refine_policy(
    model: Any,
    processor: Any,
    rows: Sequence[RefinerRow],
    settings: RefinementSettings,
    *,
    output: Path,
    seed: int = 0,
    arguments: Mapping[str, Any] | None = None,
    editor: Editor | None = None,
    certainty: Certainty | None = None,
    edit_timeout_s: float = 300.0,
    concurrency: int = 8,
    callbacks: Sequence[Any] = (),
    progress: Callable[[int], None] | None = None,
) -> list[dict[str, float]]:
    """Train a policy in place.

    Args:
        model: any vision-language model of transformers. With ``kl`` above 0 and no adapters it must have been loaded from a
            folder or a hub: the first policy, from which the divergence is measured, is loaded from there again.
        processor: its own, with a chat template.
        rows: what to learn from.
        settings: how.
        output: a folder for the trainer's own files.
        seed: of order, draws and edits.
        arguments: further ones of TRL's ``GRPOConfig``.
        editor: carries out instructions; needed for stage II.
        certainty: looks at edited pictures instead of the policy itself.
        edit_timeout_s: for one edit, in seconds.
        concurrency: edits side by side.
        callbacks: of transformers' trainer.
        progress: called with 1 after each step.

    Returns:
        What was logged, one mapping a step: ``reward``, ``rewards/reason/mean``, ``refiner/illusory`` and more.

    Raises:
        InputError: without rows, for a second stage without an editor, or when the first policy cannot be loaded again.
    """
    if not rows:
        raise InputError("there is nothing to learn from", column="rows", value=0)
    if settings.kl > 0 and not model.config.name_or_path and not hasattr(model, "peft_config"):
        hint = "Save the model, load it with from_pretrained, or set kl = 0."
        raise InputError("needs a model that was loaded from somewhere", column="kl", value=settings.kl, hint=hint)
    from transformers import PrinterCallback
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer

    rewards = refining_rewards(
        model,
        processor,
        settings,
        editor=editor,
        certainty=certainty,
        seed=seed,
        edit_timeout_s=edit_timeout_s,
        concurrency=concurrency,
    )
    batch = settings.prompts * settings.group
    import torch

    config = GRPOConfig(
        output_dir=str(output),
        max_steps=settings.steps_for(len(rows)),
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        weight_decay=settings.weight_decay,
        adam_beta1=settings.beta1,
        adam_beta2=settings.beta2,
        per_device_train_batch_size=settings.micro_batch,
        gradient_accumulation_steps=batch // settings.micro_batch,
        num_generations=settings.group,
        max_completion_length=settings.most_tokens,
        temperature=settings.temperature,
        top_p=settings.top_p,
        beta=settings.kl,
        epsilon=settings.clip_low,
        epsilon_high=settings.clip_high,
        loss_type=settings.loss,
        reward_weights=weights_of(settings),
        generation_kwargs={"suppress_tokens": forbidden} if (forbidden := forbidden_tokens(model)) else {},
        seed=seed,
        use_cpu=not torch.cuda.is_available(),
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        log_completions=False,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        **{"bf16": False, "gradient_checkpointing": False, **(arguments or {})},
    )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=rewards,
        args=config,
        train_dataset=refining_dataset(rows),
        processing_class=processor,
        callbacks=[*callbacks, _recorder(progress)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return [
        {name: value for name, value in line.items() if isinstance(value, int | float)} for line in trainer.state.log_history
    ]


def refining_rewards(
    model: Any,
    processor: Any,
    settings: RefinementSettings,
    *,
    editor: Editor | None,
    certainty: Certainty | None,
    seed: int,
    edit_timeout_s: float,
    concurrency: int,
    whole_groups: bool = True,
) -> list[Any]:
    """What the policy is paid by, as TRL calls it: R_reason, R_rect, or both; the arguments are :func:`refine_policy`'s.

    Args:
        whole_groups: a process is given all replies to a prompt; False: its first and last group may be parts.

    Raises:
        InputError: for a second stage without an editor.
    """
    rewards: list[Any] = []
    if settings.stage_one > 0:
        rewards.append(ReasoningReward())
    if settings.stage_two > 0:
        if editor is None:
            raise InputError("stage II needs an editor", column="editor", value=None)
        own = PolicyVerifier(model, processor, most_thought=settings.most_thought, batch=settings.micro_batch)
        rewards.append(
            RectificationReward(
                WatchedEditor(editor),
                certainty or own,
                image="picture",
                seed=seed,
                concurrency=concurrency,
                timeout_s=edit_timeout_s,
                refusal=settings.refusal,
                group_size=settings.group if whole_groups else None,
            )
        )
    return rewards


def weights_of(settings: RefinementSettings) -> list[float]:
    """The weights of :func:`refining_rewards`, in their order."""
    return [weight for weight in (settings.stage_one, settings.stage_two) if weight > 0]


def refining_dataset(rows: Sequence[RefinerRow]) -> Any:
    """Rows for TRL: the question, its picture, and the columns that rewards are given."""
    from datasets import Dataset, Image, List

    words = templates()
    columns: dict[str, list[Any]] = {
        "prompt": [[{"role": "user", "content": words.render("reflect", prompt=row.prompt)}] for row in rows],
        "images": [[str(row.picture)] for row in rows],
        "example_id": [row.example_id for row in rows],
        "text_prompt": [row.prompt for row in rows],
        "picture": [str(row.picture) for row in rows],
        "matches": [row.matches for row in rows],
        "bucket": ["aligned" if row.matches else "misaligned" for row in rows],
    }
    return Dataset.from_dict(columns).cast_column("images", List(Image()))


def forbidden_tokens(model: Any) -> list[int]:
    """Tokens that are never sampled: a policy that writes the token of a picture breaks its own forward pass."""
    names = ("image_token_id", "image_token_index", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    return sorted({each for name in names if isinstance(each := getattr(model.config, name, None), int)})


def _recorder(progress: Callable[[int], None] | None) -> Any:
    from transformers import TrainerCallback

    class Recorder(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Moves a progress bar."""

        def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if progress is not None:
                progress(1)

    return Recorder()
