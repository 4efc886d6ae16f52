"""Extend any of TRL's trainers: whole checkpoints, no NaN step, no telemetry.

    class WarmUpTrainer(Learning, SFTTrainer): …
    class PolicyTrainer(Learning, GRPOTrainer): …

A contract test checks that the private hooks of transformers and TRL that it overrides are still there.
"""

import math
from pathlib import Path
from typing import Any

import torch

from salon_train.run.checkpoints import declare_whole, load_sampling, remove_unfinished, save_sampling, writing
from salon_train.run.early_abort import DegenerationMonitor

_Trainer: Any = object
"""Stands for whichever trainer of TRL comes after the mixin."""


class Learning(_Trainer):  # type: ignore[misc]  # its base is known only in the class that mixes it in
    """Goes before a trainer of TRL among the bases of a class; call :meth:`set_guards` before training."""

    monitor: DegenerationMonitor
    checkpoints_kept: int
    _worst_loss: float = 0.0

    def set_guards(self, monitor: DegenerationMonitor, checkpoints_kept: int) -> None:
        """Set what checks losses and gradients, and how many checkpoints are kept."""
        self.monitor = monitor
        self.checkpoints_kept = checkpoints_kept

    # ---- non-finite numbers

    def training_step(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """One forward and backward pass; ends the run when its loss is no number, on several processes before they step."""
        loss: torch.Tensor = super().training_step(*args, **kwargs)
        value = float(loss)
        if self.args.world_size == 1:
            self.monitor.loss(value, step=self.state.global_step)
        elif not math.isfinite(value):
            self._worst_loss = value
        return loss

    def _get_grad_norm(self, *args: Any, **kwargs: Any) -> Any:
        """Return the norm of the gradient, looked at before the optimizer's step."""
        if self.args.world_size > 1:  # a loss is one process's own; a process that left alone would be waited for
            own = torch.tensor([self._worst_loss], device=self.accelerator.device)
            for value in self.accelerator.gather(own).tolist():
                self.monitor.loss(value, step=self.state.global_step)
        norm = super()._get_grad_norm(*args, **kwargs)
        self.monitor.gradient(float(norm), step=self.state.global_step)
        return norm

    # ---- checkpoints

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Write a checkpoint, then what transformers forgets, then that it is whole."""
        folder = Path(self.args.output_dir)
        own = folder / f"checkpoint-{self.state.global_step}"
        with writing(own):
            if self.accelerator.is_main_process:
                remove_unfinished(folder)
            self.accelerator.wait_for_everyone()
            super()._save_checkpoint(model, trial)
            micro_steps, waiting = self._sampled_so_far()
            save_sampling(own, self.args.process_index, micro_steps=micro_steps, completions=waiting)
            self._save_state(own)
            self.accelerator.wait_for_everyone()
            if self.accelerator.is_main_process:
                declare_whole(own, self.state.global_step, keep=self.checkpoints_kept, processes=self.args.world_size)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """Restore the weights, all of them.

        Some architectures (LLaVA among them) save their weights under other names than they have in memory, and
        transformers' trainer loads a checkpoint without translating them back: nothing is restored, and a warning is all
        that says so. ``from_pretrained`` translates.
        """
        from peft import PeftModel

        sharded = self.is_deepspeed_enabled or self.is_fsdp_enabled
        if sharded or isinstance(self.model, PeftModel):
            super()._load_from_checkpoint(resume_from_checkpoint, model)
            return
        saved = type(self.model).from_pretrained(resume_from_checkpoint, dtype=self.model.dtype)
        self.model.load_state_dict(saved.state_dict(), strict=True)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Restore them, and what transformers forgets."""
        super()._load_optimizer_and_scheduler(checkpoint)
        kept = None if checkpoint is None else load_sampling(Path(checkpoint), self.args.process_index)
        if kept is not None:
            self._restore_sampling(*kept)
        if checkpoint is not None:
            self._restore_state(Path(checkpoint))

    def _sampled_so_far(self) -> tuple[int, Any]:
        """TRL's counter of micro-steps and the completions that wait; nothing for trainers that do not sample."""
        return 0, None

    def _restore_sampling(self, micro_steps: int, waiting: Any) -> None:
        """Read what :meth:`_sampled_so_far` returned."""

    def _save_state(self, checkpoint: Path) -> None:
        """Write what else this trainer continues from."""

    def _restore_state(self, checkpoint: Path) -> None:
        """Read what :meth:`_save_state` wrote."""

    # ---- silence

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """None: `salon train export` writes one with what was measured."""

    def _send_telemetry(self) -> None:
        """Send nothing."""
