"""TRL's SFT trainer with Salon's order of rows."""

from collections.abc import Callable
from typing import Any

from torch.utils.data import Sampler
from trl.trainer.sft_trainer import SFTTrainer

from salon_train.trainers.learning import Learning

_SftTrainer: Any = SFTTrainer  # its own annotations do not hold together under strict rules


class ImitationTrainer(Learning, _SftTrainer):  # type: ignore[misc]
    """The cold start; set it up with :meth:`salon` and :meth:`sampling` before training."""

    rows: Callable[[Any], Sampler[int]]

    def sampling(self, rows: Callable[[Any], Sampler[int]]) -> None:
        """Say which rows come up."""
        self.rows = rows

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        """Salon's sampler in place of a shuffle."""
        return self.rows(self.train_dataset if train_dataset is None else train_dataset)
