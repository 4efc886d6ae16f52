"""Several processes that train as one: what the first decides for all, and how what stops one stops every one.

torchrun or accelerate launch ──► a process per device, each with RANK and WORLD_SIZE ──► Processes
the first alone: lock, log, store, console           each: its share of the prompts, held-out pictures and gradients

Several machines share the run folder's disk; nothing else is asked of it than that the first process writes and all read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any, Final, Self, TypeVar

from salon_taxonomy.errors import IncompleteError, InputError, SalonError

T = TypeVar("T")
_SAID: Final = "The first process says it."
_PATIENCE: Final = timedelta(minutes=30)
"""How long a process waits for the others, where no launcher ends it first; as transformers has it."""


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of a run, as one of them sees them.

    Attributes:
        rank: which of them this is, from 0; the first one writes.
        count: how many there are.

    Example:
        >>> Processes.of({"RANK": "1", "WORLD_SIZE": "4"})
        Processes(rank=1, count=4)
        >>> Processes.of({}).first
        True
    """

    rank: int = 0
    count: int = 1

    @classmethod
    def of(cls, environment: Mapping[str, str] | None) -> Self:
        """Return what a launcher says; one process where none does."""
        told = environment or {}
        return cls(int(told.get("RANK", "0")), int(told.get("WORLD_SIZE", "1")))

    @property
    def first(self) -> bool:
        """Whether this is the one that writes and speaks."""
        return self.rank == 0

    def join(self, *, on_cpu: bool) -> None:
        """Meet the others, before any weight is loaded; the trainer uses the same group.

        Args:
            on_cpu: train on the processor (gloo) although there may be an accelerator.
        """
        if self.count > 1:
            patience = {} if on_cpu else {"timeout": _PATIENCE}
            import_module("accelerate").PartialState(cpu=on_cpu, **patience)

    def agreed(self, action: Callable[[], T]) -> T:
        """Return what an action gives, on every process; where it cannot be done on one of them, none continues.

        Raises:
            SalonError: the action's own, or another process's, whose number it names.
        """
        if self.count == 1:
            return action()
        value: list[T] = []
        problem: SalonError | None = None
        try:
            value.append(action())
        except SalonError as error:
            problem = error
        told = import_module("accelerate.utils").gather_object([_told(problem)])
        stopped = next((rank for rank, each in enumerate(told) if each is not None), None)
        if stopped is None:
            return value[0]
        raise self.same(problem or _problem(f"process {stopped}: ", *told[stopped]))

    def decided(self, action: Callable[[], T]) -> T:
        """Return what an action of the first process gives, on all of them.

        Raises:
            SalonError: the action's.
        """
        if self.count == 1:
            return action()
        problem: SalonError | None = None
        told: list[Any] = [None]
        if self.first:
            try:
                told = [(action(), None)]
            except SalonError as error:
                problem = error
                told = [(None, _told(error))]
        import_module("accelerate.utils").broadcast_object_list(told)
        value: T
        value, stopped = told[0]
        if stopped is None:
            return value
        raise self.same(problem or _problem("", *stopped))

    def share(self, rows: Sequence[T]) -> list[T]:
        """This process's part of some items: every ``count``-th. All parts are of one length, so some items may be in two.

        Sharded models need that: each forward pass is made by all processes together.

        Example:
            >>> [Processes(rank, 2).share("abcde") for rank in range(2)]
            [['a', 'c', 'e'], ['b', 'd', 'a']]
        """
        if not rows:
            return []
        size = -(-len(rows) // self.count)
        return [rows[(place * self.count + self.rank) % len(rows)] for place in range(size)]

    def collected(self, share: Sequence[T], count: int) -> list[T]:
        """What every process made of its :meth:`share` of ``count`` items, in the order of the items, on every process."""
        if self.count == 1 or not share:
            return list(share)
        every: list[T] = import_module("accelerate.utils").gather_object(list(share))
        return [every[place % self.count * len(share) + place // self.count] for place in range(count)]

    def same(self, error: SalonError) -> SalonError:
        """Return an error that every process raises, with a note that it need not be printed where the first process does."""
        if not self.first:
            error.add_note(_SAID)
        return error


def said_elsewhere(error: BaseException) -> bool:
    """Return whether the first process prints this error, so that this one need not."""
    return _SAID in getattr(error, "__notes__", ())


def leave() -> None:
    """Leave the group, at the end of a command; without one, nothing happens."""
    distributed = import_module("torch.distributed")
    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()


def _told(error: SalonError | None) -> tuple[bool, str] | None:
    """Return what another process needs to know of an error: whether it is one of input, and its text."""
    return None if error is None else (not isinstance(error, IncompleteError), str(error))


def _problem(before: str, of_input: bool, text: str) -> SalonError:
    return InputError(before + text) if of_input else IncompleteError(before + text)
