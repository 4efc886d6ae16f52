"""TRL's SFT trainer with Salon's order of rows."""

from collections.abc import Callable
from typing import Any

from torch.utils.data import Sampler
from trl import SFTTrainer

from salon_train.trainers.learning import Learning


class ImitationTrainer(Learning, SFTTrainer):  # type: ignore[misc]  # TRL is untyped
    """The cold start; set it up with :meth:`salon` and :meth:`sampling` before training."""

    rows: Callable[[Any], Sampler[int]]

    def sampling(self, rows: Callable[[Any], Sampler[int]]) -> None:
        """Say which rows come up."""
        self.rows = rows

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        """Salon's sampler in place of a shuffle."""
        return self.rows(self.train_dataset if train_dataset is None else train_dataset)
