"""What a trainer's settings make of a batch, and in which of its parts the ratio holds exactly."""

from dataclasses import dataclass

from salon_taxonomy.errors import InputError
from salon_train.sampling.ratio import Ratio


@dataclass(frozen=True, slots=True)
class RatioScope:
    """Where the ratio of the buckets is exact at every step.

    Attributes:
        chunk: among the different examples of a generation batch (GRPO) or an optimizer step (SFT), over all ranks.
        optimizer_step: among the completions (SFT: examples) of every optimizer step, over all ranks.
        rank: among the examples of one rank's part of the chunk.
    """

    chunk: bool
    optimizer_step: bool
    rank: bool


@dataclass(frozen=True, slots=True)
class BatchShape:
    """Sizes as TRL's trainers use them.

    Attributes:
        per_device: completions (SFT: examples) that a rank sends through the model at once
            (``per_device_train_batch_size``).
        ranks: processes.
        accumulation: ``gradient_accumulation_steps``.
        group: completions of one prompt (``num_generations``); 1 for SFT.
        steps_per_generation: slices that a generation batch is cut into; 1 step of ``per_device`` on each rank is a slice.
            SFT: ``accumulation``.

    Raises:
        InputError: a size below 1, or a generation batch that is no multiple of ``group``.

    Example:
        >>> shape = BatchShape(per_device=8, ranks=4, accumulation=4, group=8, steps_per_generation=4)
        >>> shape.chunk_size, shape.examples_per_rank
        (16, 4.0)
        >>> shape.scope(Ratio({"normal": 4, "a": 1, "b": 1, "c": 1, "d": 1}))
        RatioScope(chunk=True, optimizer_step=True, rank=False)
    """

    per_device: int
    ranks: int = 1
    accumulation: int = 1
    group: int = 1
    steps_per_generation: int = 1

    def __post_init__(self) -> None:
        for name in ("per_device", "ranks", "accumulation", "group", "steps_per_generation"):
            if getattr(self, name) < 1:
                raise InputError("must be 1 or more", column=name, value=getattr(self, name))
        if self.completions % self.group:
            raise InputError(f"must divide the generation batch of {self.completions}:", column="group", value=self.group)

    @property
    def completions(self) -> int:
        """In a generation batch, over all ranks (``generation_batch_size``)."""
        return self.per_device * self.ranks * self.steps_per_generation

    @property
    def chunk_size(self) -> int:
        """Different examples in a generation batch, over all ranks."""
        return self.completions // self.group

    @property
    def examples_per_rank(self) -> float:
        """Of a chunk; a fraction where a group's completions are spread over two ranks."""
        return self.chunk_size / self.ranks

    def scope(self, ratio: Ratio) -> RatioScope:
        """Where a ratio holds exactly.

        Within a generation batch TRL shuffles each rank's completions before it cuts them into slices, so an optimizer step
        that uses only some slices has the ratio on average alone.
        """
        chunk = self.chunk_size % ratio.period == 0
        step = chunk and self.accumulation % self.steps_per_generation == 0
        return RatioScope(chunk, step, chunk and self.chunk_size % (ratio.period * self.ranks) == 0)
