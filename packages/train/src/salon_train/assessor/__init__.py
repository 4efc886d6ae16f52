"""Train an artifact assessor: SFT warm-up (cold start), GRPO, evaluation on held-out pictures.

train_sft, train_grpo   run one stage of a configured run; a second call continues it
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.assessor.stages import train_grpo, train_sft

__all__ = ["train_grpo", "train_sft"]

__getattr__, __dir__ = lazy_names(globals(), {"stages": ("train_grpo", "train_sft")})
