"""Which examples stand together in a batch: multi-bucket sampling and positive resampling (paper 000, section 3.1).

    Ratio, DEFAULT_RATIO     how many of each bucket; 4:1:1:1:1
    MultiBucketPlan          examples, ratio and chunk size, checked; its chunks are a pure function of seed, epoch, position
    bucketed_indices         the same as one function
    Resampling               how often hard positives are shown
    BatchShape, RatioScope   what a trainer calls a batch, and where in it the ratio holds
    MultiBucketSampler       the plan as a torch sampler that keeps TRL's repetition
    attach_multi_bucket      puts it into a GRPO or SFT trainer

Only the last two import torch, when they are first used.
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.sampling.attaching import attach_multi_bucket
    from salon_train.sampling.batch_shape import BatchShape, RatioScope
    from salon_train.sampling.buckets import MultiBucketPlan, bucketed_indices
    from salon_train.sampling.ratio import DEFAULT_RATIO, Ratio
    from salon_train.sampling.resampling import Resampling
    from salon_train.sampling.sampler import MultiBucketSampler

__all__ = [
    "DEFAULT_RATIO",
    "BatchShape",
    "MultiBucketPlan",
    "MultiBucketSampler",
    "Ratio",
    "RatioScope",
    "Resampling",
    "attach_multi_bucket",
    "bucketed_indices",
]

_BY_MODULE = {
    "attaching": ["attach_multi_bucket"],
    "batch_shape": ["BatchShape", "RatioScope"],
    "buckets": ["MultiBucketPlan", "bucketed_indices"],
    "ratio": ["DEFAULT_RATIO", "Ratio"],
    "resampling": ["Resampling"],
    "sampler": ["MultiBucketSampler"],
}

__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
