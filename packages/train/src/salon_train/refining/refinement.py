"""GRPO on R³-Refiner's two rewards with a model and rows of your own, by TRL; no folder of a run, no checkpoints.

rows ──► chat messages, picture, truth ──► GRPOTrainer ──► group of replies ──► R_reason, R_rect ──► the policy's next step
                                                                                  └── looks with the policy's own weights
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from salon_rewards.callables.rectification import Certainty
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Editor
from salon_train.configuration.schema import ModelSection, RunSection, StageConfiguration
from salon_train.refining.rows import RefinerRow, refining_dataset
from salon_train.refining.settings import RefinementSettings
from salon_train.refining.stage_rewards import refining_rewards, weights_of


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
    from trl.trainer.grpo_trainer import GRPOTrainer

    trainer = GRPOTrainer(
        model=model,
        reward_funcs=refining_rewards(
            model,
            processor,
            settings,
            editor=editor,
            certainty=certainty,
            seed=seed,
            edit_timeout_s=edit_timeout_s,
            concurrency=concurrency,
        ),
        args=_arguments(settings, len(rows), output, seed, forbidden_tokens(model), arguments or {}),
        train_dataset=refining_dataset(rows),
        processing_class=processor,
        callbacks=[*callbacks, _recorder(progress)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return [
        {name: value for name, value in line.items() if isinstance(value, int | float)} for line in trainer.state.log_history
    ]


def forbidden_tokens(model: Any) -> list[int]:
    """Tokens that are never sampled: a policy that writes the token of a picture breaks its own forward pass."""
    names = ("image_token_id", "image_token_index", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    return sorted({each for name in names if isinstance(each := getattr(model.config, name, None), int)})


def _arguments(
    settings: RefinementSettings, rows: int, output: Path, seed: int, forbidden: Sequence[int], more: Mapping[str, Any]
) -> Any:
    """The settings in the words of TRL, in float32 and without checkpoints unless ``more`` says otherwise."""
    from salon_train.trainers.arguments import grpo_arguments

    configuration = StageConfiguration(
        run=RunSection(folder=str(output), seed=seed), model=ModelSection(name="policy", compute="float32")
    )
    return grpo_arguments(
        configuration,
        settings.grpo(rows),
        output,
        weights=weights_of(settings),
        steps=settings.steps_for(rows),
        world=1,
        forbidden=forbidden,
        more={"save_strategy": "no", "log_completions": False, **more},
    )


def _recorder(progress: Callable[[int], None] | None) -> Any:
    from transformers import TrainerCallback

    class Recorder(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Moves a progress bar."""

        def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if progress is not None:
                progress(1)

    return Recorder()
