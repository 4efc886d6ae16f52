"""Which examples share a batch: multi-bucket sampling and positive resampling (MagicMirror, section 3.1).

    Ratio, DEFAULT_RATIO           how many examples of each bucket; 4:1:1:1:1
    MultiBucketPlan                examples, ratio and chunk size, checked; its chunks depend on seed, epoch and position alone
    Resampling                     how often hard positives are shown
    prompt_plan, PlannedSampler    the examples of a whole run, and the torch sampler that repeats them as TRL expects

Only the last two import torch, when they are first used.
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.sampling.buckets import MultiBucketPlan
    from salon_train.sampling.draws import Resampling
    from salon_train.sampling.prompt_order import PlannedSampler, prompt_plan
    from salon_train.sampling.ratio import DEFAULT_RATIO, Ratio

__all__ = ["DEFAULT_RATIO", "MultiBucketPlan", "PlannedSampler", "Ratio", "Resampling", "prompt_plan"]

_BY_MODULE = {
    "buckets": ["MultiBucketPlan"],
    "draws": ["Resampling"],
    "prompt_order": ["PlannedSampler", "prompt_plan"],
    "ratio": ["DEFAULT_RATIO", "Ratio"],
}

__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
