"""Pictures with exact truth, one after the other.

Picture ``k`` of seed ``s`` depends on ``(s, k)`` and the settings alone: not on how many are drawn, in which order, or by
how many processes.
"""

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Final

from salon_synthetic.artifacts.balance import BALANCES, Balance
from salon_synthetic.artifacts.composing import composed
from salon_synthetic.artifacts.difficulty import Difficulty
from salon_synthetic.artifacts.planning import planned
from salon_synthetic.rng import Rng
from salon_taxonomy.errors import InputError
from salon_taxonomy.training_example import TrainingExample

if TYPE_CHECKING:
    from PIL.Image import Image

SIZES: Final = (16, 1024)
"""The smallest and the largest side of a picture, in pixels."""


def draw_examples(
    count: int,
    *,
    seed: int,
    size: int = 64,
    difficulty: Difficulty | None = None,
    balance: Balance | str = "table-5",
    start: int = 0,
) -> Iterator[TrainingExample]:
    """Draw pictures, one after the other.

    Args:
        count: how many.
        seed: of all draws.
        size: of the square pictures, 16 to 1,024 pixels.
        difficulty: default: the easiest.
        balance: how often what is planted; a name in :data:`BALANCES` or one of your own.
        start: the number of the first picture.

    Yields:
        examples with PNG bytes, the labels, a prompt, and a sentence of reasoning for each artifact.

    Raises:
        InputError: for a negative count or start, a size out of range, or an unknown balance; at once, before any picture.

    Example:
        >>> first, second = draw_examples(2, seed=7, balance="even")
        >>> second == next(draw_examples(1, seed=7, balance="even", start=1))
        True
        >>> first.example_id, first.prompt, first.reasoning
        ('world-7-0', 'A ball on a table.', 'One thing runs into another.')
    """
    for column, value in (("count", count), ("start", start)):
        if value < 0:
            raise InputError("must not be negative", column=column, value=value)
    if not SIZES[0] <= size <= SIZES[1]:
        raise InputError(f"must lie between {SIZES[0]} and {SIZES[1]}", column="size", value=size)
    if isinstance(balance, str):
        if balance not in BALANCES:
            raise InputError("unknown balance", column="balance", value=balance, allowed=BALANCES)
        balance = BALANCES[balance]
    return _examples(range(start, start + count), seed, size, difficulty or Difficulty(), balance)


def _examples(numbers: range, seed: int, size: int, difficulty: Difficulty, balance: Balance) -> Iterator[TrainingExample]:
    for number in numbers:
        rng = Rng(f"{seed}/{number}")
        plan = planned(rng.fork("plan"), balance)
        picture, prompt = composed(rng, plan, size, difficulty)
        name = f"world-{seed}-{number}"
        yield TrainingExample(name, png(picture), plan.truth, prompt, plan.reasoning, plan.hard_positive)


def png(picture: "Image") -> bytes:
    """Return a picture as a PNG file; the same bytes with the same version of Pillow."""
    stream = BytesIO()
    picture.save(stream, "PNG", compress_level=6)
    return stream.getvalue()
