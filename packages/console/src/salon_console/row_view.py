"""The rows with pictures that a package shows in ``salon view FOLDER`` (entry points ``salon.views``).

[project.entry-points."salon.views"]
curate = "salon_curate.cli.view:dataset_rows"      a function: folder → RowView, or None for a folder of another kind
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

VIEWS: Final = "salon.views"
"""The group of entry points whose objects are functions from a folder to its :class:`RowView`, or None."""


@dataclass(frozen=True, slots=True)
class RowTable:
    """The rows that are shown.

    Attributes:
        frame: columns ``key`` (no two rows have the same), ``text`` (searched; may be null), ``pictures`` (a list of structs:
            ``id``, ``name``, ``chosen``), and any others, which conditions in SQL may name.
        choices: columns that are offered as filters, with their headings; of a list of texts every chosen one must be in it.
        chips: columns whose values are shown on a row's card.
        green: the value of a column of choices that is shown green; its others are orange.
        notes: sentences above the rows.
    """

    frame: "pl.DataFrame"
    choices: Mapping[str, str]
    chips: Sequence[str]
    green: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RowDetail:
    """A part of a row's own page: a heading, short facts beside it, and a text."""

    heading: str
    facts: str
    text: str


class RowView(ABC):
    """Rows with pictures, read again when they have changed. For several threads.

    Attributes:
        title: of the page.
    """

    title: str

    @property
    def live(self) -> bool:
        """Whether rows are being added now."""
        return False

    @abstractmethod
    def rows(self) -> RowTable:
        """Return all rows.

        Raises:
            SalonError: a file is missing or damaged.
        """

    @abstractmethod
    def details(self, key: str) -> Sequence[RowDetail]:
        """Return what a row's own page shows beside its pictures.

        Raises:
            SalonError: as :meth:`rows`.
        """

    def picture(self, name: str) -> bytes | None:
        """Return the bytes of a picture of :attr:`RowTable.frame`; None if there is none of this id.

        Raises:
            SalonError: as :meth:`rows`.
        """
        return None
