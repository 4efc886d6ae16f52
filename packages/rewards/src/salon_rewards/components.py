"""One part of what completions earned, under its own name: what tables of rewards have a row for."""

from dataclasses import dataclass

from salon_rewards.group_mask import Paid


@dataclass(frozen=True)
class Component:
    """What one part of a reward, or the total, came to over one batch.

    Attributes:
        name: of the part; of a part of a part ``outer/inner``.
        weight: what it is worth in the sum, at this step; 1 for totals and gates.
        paid: for each completion.
    """

    name: str
    weight: float
    paid: tuple[Paid, ...]
