"""GRPO on R³-Refiner's two rewards, by TRL.

rows ──► chat messages, picture, truth ──► GRPOTrainer ──► group of replies ──► R_reason, R_rect ──► the policy's next step
                                                                                  └── looks with the policy's own weights
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from salon_bench.suites.r3_bench.questions import templates
from salon_taxonomy.errors import InputError
from salon_train.refining.editor_pool import EditorPool
from salon_train.refining.policy_verifier import PolicyVerifier
from salon_train.refining.reward import STAGE_ONE, STAGE_TWO, ReasonReward, ReasonWeights, RectificationReward, Refusal, Scorer


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


@dataclass(frozen=True, slots=True)
class RefinementSettings:
    """How GRPO runs. The defaults are Table 11's; those of a tiny policy stand in the study.

    Attributes:
        steps: optimizer steps.
        learning_rate: the highest; it falls along a cosine.
        group: replies for each prompt.
        prompts: different prompts in one step.
        micro_batch: replies in one forward and backward pass.
        most_tokens: of a reply.
        most_thought: tokens of the thought before the policy judges its own work.
        temperature: of the draws.
        top_p: of the draws.
        kl: weight of the divergence from the first policy; above 0 it is held in memory a second time.
        weight_decay: AdamW's.
        stage_one: α₁; 0 leaves the reward out.
        stage_two: α₂; 0 leaves the reward out, and no editor is needed.
        reason: what the parts of R_reason are worth.
        refusal: what an instruction is worth that the editor refuses.
        seed: of order and draws.
        bf16: train in half precision.
        gradient_checkpointing: slower, in less memory.
    """

    steps: int = 1000
    learning_rate: float = 1e-6
    group: int = 8
    prompts: int = 16
    micro_batch: int = 4
    most_tokens: int = 2048
    most_thought: int = 1024
    temperature: float = 1.0
    top_p: float = 1.0
    kl: float = 1e-2
    weight_decay: float = 1e-2
    stage_one: float = STAGE_ONE
    stage_two: float = STAGE_TWO
    reason: ReasonWeights = field(default_factory=ReasonWeights)
    refusal: Refusal = Refusal.ABSTAIN
    seed: int = 0
    bf16: bool = False
    gradient_checkpointing: bool = False


def refine_policy(
    model: Any,
    processor: Any,
    rows: Sequence[RefinerRow],
    settings: RefinementSettings,
    *,
    output: Path,
    editors: EditorPool | None = None,
    scorer: Scorer | None = None,
    callbacks: Sequence[Any] = (),
    progress: Callable[[int], None] | None = None,
) -> list[dict[str, float]]:
    """Train a policy in place.

    Args:
        model: any vision-language model of transformers.
        processor: its own, with a chat template.
        rows: what to learn from.
        settings: how.
        output: a folder for the trainer's own files.
        editors: who carries out instructions; needed for stage II.
        scorer: who looks at edited pictures instead of the policy itself.
        callbacks: of transformers' trainer.
        progress: called with 1 after each step.

    Returns:
        What was logged, one mapping a step: ``reward``, ``rewards/reason/mean``, ``refiner/illusory`` and more.

    Raises:
        InputError: without rows, without any reward, or for a second stage without an editor.
    """
    if not rows:
        raise InputError("there is nothing to learn from", column="rows", value=0)
    if settings.stage_one <= 0 and settings.stage_two <= 0:
        raise InputError("one of the two stages must count", column="stage_one", value=settings.stage_one)
    from transformers import PrinterCallback
    from trl import GRPOConfig, GRPOTrainer

    rewards: list[Any] = []
    weights: list[float] = []
    if settings.stage_one > 0:
        rewards.append(ReasonReward(settings.reason))
        weights.append(settings.stage_one)
    if settings.stage_two > 0:
        if editors is None:
            raise InputError("stage II needs an editor", column="editors", value=None)
        looks = scorer or PolicyVerifier(
            model, processor, most_thought=settings.most_thought, batch=max(settings.micro_batch, 1)
        )
        rewards.append(RectificationReward(editors, looks, refusal=settings.refusal))
        weights.append(settings.stage_two)
    batch = settings.prompts * settings.group
    if batch % settings.micro_batch:
        raise InputError(
            "must divide prompts times group", column="micro_batch", value=settings.micro_batch, allowed=(f"divisors of {batch}",)
        )
    import torch

    config = GRPOConfig(
        output_dir=str(output),
        max_steps=settings.steps,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        weight_decay=settings.weight_decay,
        per_device_train_batch_size=settings.micro_batch,
        gradient_accumulation_steps=batch // settings.micro_batch,
        num_generations=settings.group,
        max_completion_length=settings.most_tokens,
        temperature=settings.temperature,
        top_p=settings.top_p,
        beta=settings.kl,
        epsilon=0.2,
        epsilon_high=0.28,
        loss_type="dapo",
        reward_weights=weights,
        generation_kwargs=_suppressed(model),
        seed=settings.seed,
        bf16=settings.bf16,
        gradient_checkpointing=settings.gradient_checkpointing,
        use_cpu=not torch.cuda.is_available(),
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        log_completions=False,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
    )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=rewards,
        args=config,
        train_dataset=_dataset(rows),
        processing_class=processor,
        callbacks=[*callbacks, _recorder(progress)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return [{name: value for name, value in line.items() if isinstance(value, int | float)} for line in trainer.state.log_history]


def _dataset(rows: Sequence[RefinerRow]) -> Any:
    from datasets import Dataset, Image, List

    words = templates()
    columns: dict[str, list[Any]] = {
        "prompt": [[{"role": "user", "content": words.render("reflect", prompt=row.prompt)}] for row in rows],
        "images": [[str(row.picture)] for row in rows],
        "example_id": [row.example_id for row in rows],
        "asked": [row.prompt for row in rows],
        "picture": [str(row.picture) for row in rows],
        "matches": [row.matches for row in rows],
    }
    return Dataset.from_dict(columns).cast_column("images", List(Image()))


def _suppressed(model: Any) -> dict[str, Any]:
    """A policy that writes the token of a picture breaks its own forward pass."""
    names = ("image_token_id", "image_token_index", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    found = sorted({each for name in names if isinstance(each := getattr(model.config, name, None), int)})
    return {"suppress_tokens": found} if found else {}


def _recorder(progress: Callable[[int], None] | None) -> Any:
    from transformers import TrainerCallback

    class Recorder(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Moves a progress bar."""

        def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if progress is not None:
                progress(1)

    return Recorder()
