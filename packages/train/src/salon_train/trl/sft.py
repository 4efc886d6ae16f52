"""TRL's SFT trainer with Salon's order of rows: the warm-up (cold start) of assessors and refiners."""

from collections.abc import Sequence
from typing import Any

from torch.utils.data import Sampler
from trl.trainer.sft_trainer import SFTTrainer

from salon_train.configuration.schema import SftSection
from salon_train.data.lengths import check_lengths
from salon_train.run.arguments import sft_arguments
from salon_train.run.stage import Setting
from salon_train.sampling.prompt_order import PlannedSampler
from salon_train.trl.mixin import Learning

_SftTrainer: Any = SFTTrainer  # its own annotations do not hold together under strict rules


class WarmUpTrainer(Learning, _SftTrainer):  # type: ignore[misc]
    """SFT on planned rows; made by :func:`warm_up_trainer`."""

    order: PlannedSampler

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        """Return Salon's sampler in place of a shuffle."""
        return self.order


def warm_up_trainer(setting: Setting[Any], section: SftSection, rows: Any, plan: Sequence[int]) -> WarmUpTrainer:
    """Build the trainer of an SFT stage.

    Args:
        setting: of the stage.
        section: its learning settings.
        rows: data set with ``prompt``, ``completion`` and ``images``.
        plan: indices of rows, ``section.batch`` for each optimizer step.

    Raises:
        InputError: if a row is longer than ``section.longest``.
    """
    check_lengths(setting.loaded.processor, rows, section.longest)
    steps = len(plan) // section.batch
    trainer = WarmUpTrainer(
        model=setting.loaded.model,
        args=sft_arguments(setting.configuration, section, setting.folder.path, steps=steps, world=setting.processes.count),
        train_dataset=rows,
        processing_class=setting.loaded.processor,
    )
    trainer.order = PlannedSampler(plan, chunk=section.batch)
    return trainer
