"""Put multi-bucket sampling into TRL's GRPO or SFT trainer, by the one private hook that both ask for their order."""

from collections.abc import Collection, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback
from trl.trainer.utils import RepeatSampler

from salon_taxonomy.errors import InputError
from salon_train.sampling.batch_shape import BatchShape
from salon_train.sampling.buckets import MultiBucketPlan
from salon_train.sampling.ratio import DEFAULT_RATIO, Ratio
from salon_train.sampling.sampler import MultiBucketSampler

if TYPE_CHECKING:
    from transformers import Trainer, TrainerControl, TrainerState, TrainingArguments

_HOOK = "_get_train_sampler"


def attach_multi_bucket(
    trainer: "Trainer",
    buckets: Sequence[Collection[str]] | None = None,
    *,
    ratio: Ratio = DEFAULT_RATIO,
    seed: int | None = None,
    hard_positives: Sequence[bool] | None = None,
    positive_factor: float = 1,
    chunks_per_epoch: int | None = None,
    uneven: bool = False,
) -> MultiBucketSampler:
    """Make a trainer draw its training batches from buckets.

    Groups and repetition are those of the trainer's own sampler: a chunk is what TRL generates for at once (GRPO) or what an
    optimizer step learns from (SFT), over all ranks and accumulation steps. Evaluation is left as it is.

    Args:
        trainer: of TRL (or a plain transformers trainer, which is treated as SFT), with a data set that can be indexed.
        buckets: of each row of its training data; None: the data set's column ``buckets``.
        ratio: parts of the buckets.
        seed: None: the trainer's.
        hard_positives: of each row; None: the column ``hard_positive`` where there is one.
        positive_factor: how often those are drawn for each time that another normal picture is.
        chunks_per_epoch: None: as many as the examples in the pools fill.
        uneven: allow chunks that are no multiple of the ratio's period.

    Returns:
        The sampler that the trainer will use; its ``plan`` holds the pools.

    Raises:
        InputError: the trainer has no such hook or its data cannot be indexed, ``buckets`` is of another length than the data,
            or no chunk can be made (see :meth:`MultiBucketPlan.of`).
    """
    data: Any = trainer.train_dataset
    if data is None or not hasattr(data, "__len__") or not hasattr(data, "__getitem__"):
        raise InputError("multi-bucket sampling needs training data with a length, whose rows can be had by number")
    buckets = _column(data, "buckets") if buckets is None else buckets
    if buckets is None:
        raise InputError("the column is missing", column="buckets", hint="Give the buckets of every row as an argument.")
    if len(buckets) != len(data):
        raise InputError(f"must be as many as the {len(data)} rows of the data, not", column="buckets", value=len(buckets))
    shape = batch_shape(trainer)
    plan = MultiBucketPlan.of(
        buckets,
        chunk_size=shape.chunk_size,
        ratio=ratio,
        seed=int(trainer.args.seed) if seed is None else seed,
        chunks_per_epoch=chunks_per_epoch,
        hard_positives=_column(data, "hard_positive") if hard_positives is None else hard_positives,
        positive_factor=positive_factor,
        uneven=uneven,
    )
    own = _own_sampler(trainer)
    repeats = own.repeat_count if isinstance(own, RepeatSampler) else 1
    sampler = MultiBucketSampler(plan, mini_repeat_count=shape.group, repeat_count=repeats)
    rows = len(data)

    def get_train_sampler(self: "Trainer", dataset: Any = None) -> MultiBucketSampler:
        if dataset is not None and len(dataset) != rows:
            raise InputError(f"the training data had {rows} rows when its buckets were sorted, and has now", value=len(dataset))
        return sampler

    setattr(trainer, _HOOK, MethodType(get_train_sampler, trainer))
    trainer.add_callback(EpochTeller(sampler))
    return sampler


def batch_shape(trainer: "Trainer") -> BatchShape:
    """The sizes that a trainer works with.

    Raises:
        InputError: the trainer has no hook for its order of training, or asks for a repetition that is not TRL's.
    """
    args: Any = trainer.args
    own = _own_sampler(trainer)
    sizes = {"per_device": args.train_batch_size, "ranks": args.world_size, "accumulation": args.gradient_accumulation_steps}
    if not isinstance(own, RepeatSampler):
        return BatchShape(**sizes, steps_per_generation=args.gradient_accumulation_steps)
    shape = BatchShape(**sizes, group=own.mini_repeat_count, steps_per_generation=args.steps_per_generation)
    if shape.chunk_size != own.batch_size:
        raise InputError(f"TRL's own sampler takes {own.batch_size} prompts at once; its settings give", value=shape.chunk_size)
    return shape


class EpochTeller(TrainerCallback):
    """Tells the sampler the epoch.

    After a resume on several ranks the trainer's loader is wrapped once more, and accelerate's ``set_epoch`` does not reach
    the sampler through three wrappers.
    """

    def __init__(self, sampler: MultiBucketSampler) -> None:
        self._sampler = sampler

    def on_epoch_begin(self, args: "TrainingArguments", state: "TrainerState", control: "TrainerControl", **_: Any) -> None:
        """Before the trainer asks for the first batch of an epoch."""
        self._sampler.set_epoch(int(state.epoch or 0))


def _own_sampler(trainer: "Trainer") -> object:
    """What the trainer's class would use; the hook is private, and a test holds it."""
    hook = getattr(type(trainer), _HOOK, None)
    if hook is None:
        hint = "Multi-bucket sampling works with trl>=1.16,<2."
        raise InputError("the trainer has no method", value=_HOOK, hint=hint)
    found: object = hook(trainer, trainer.train_dataset)
    return found


def _column(data: Any, name: str) -> Any:
    return data[name] if name in getattr(data, "column_names", ()) else None
