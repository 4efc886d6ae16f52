"""A control reward without information: what rises under it also rises without a reward."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from salon_rewards import MagicMirrorTotal


@dataclass(frozen=True)
class ShuffledMagicMirror:
    """MagicMirror's rewards of a batch, shuffled over its completions; equal batches are shuffled alike.

    Range: 0 to 15. Column: ``truth``.

    Example:
        >>> right = "<think>Fine.</think>\\\\boxed{{\\"Whether Normal\\": true}}"
        >>> sorted(ShuffledMagicMirror()([right, ""], truth=["{\\"Whether Normal\\": true}"] * 2))
        [0.0, 12.0]
    """

    __name__: ClassVar[str] = "shuffled_magicmirror"

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return one number per completion, earned by another."""
        paid = list(MagicMirrorTotal()(completions, **columns))
        random.Random(repr(completions)).shuffle(paid)
        return paid
