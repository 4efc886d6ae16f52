"""The labels that an assessor is evaluated on: artifact or not, six L2 labels, seventeen L3 labels.

An image with an answer becomes one row of truth values, a column per label; the order of the columns is that of
:data:`LABELS`. Names are as in MagicMirror, Table 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from salon_taxonomy.answers import MAGICMIRROR_MENU, MagicMirrorAnswer


class TreeLevel(StrEnum):
    """Which level of the tree a label or an average belongs to."""

    ARTIFACT = "artifact"
    """Artifact or normal: the binary task."""
    L2 = "L2"
    L3 = "L3"


@dataclass(frozen=True, slots=True)
class AssessedLabel:
    """One column.

    Attributes:
        name: ``artifact``, or the label's spelling with its prefix.
        level: of the label.
        parent: the L2 label above an L3 label; None for others.
    """

    name: str
    level: TreeLevel
    parent: str | None = None


LABELS: Final[tuple[AssessedLabel, ...]] = (
    AssessedLabel("artifact", TreeLevel.ARTIFACT),
    *(AssessedLabel(l2, TreeLevel.L2) for l2 in MAGICMIRROR_MENU),
    *(AssessedLabel(l3, TreeLevel.L3, l2) for l2, cases in MAGICMIRROR_MENU.items() for l3 in cases),
)
"""All 24 labels; no two have the same name."""

MAIN_LABELS: Final = (
    "L2: Irrational Element Interaction",
    "L2: Abnormal Human Anatomy",
    "L2: Abnormal Animal Anatomy",
    "L2: Abnormal Object Morphology",
)
"""The four L2 labels that the paper's macro and micro averages are about (Tables 1 and 2)."""

COLUMN: Final = {label.name: column for column, label in enumerate(LABELS)}
"""Where a label's column is."""


def label_names(answer: MagicMirrorAnswer) -> tuple[str, ...]:
    """Return the names of the labels that an answer gives, ``artifact`` among them; none for a normal image.

    Example:
        >>> from salon_taxonomy.answers import Artifact
        >>> label_names(MagicMirrorAnswer(False, (Artifact("L2: Abnormal Animal Anatomy", ("L3: Abnormal Head Structure",)),)))
        ('artifact', 'L2: Abnormal Animal Anatomy', 'L3: Abnormal Head Structure')
    """
    if answer.normal:
        return ()
    return ("artifact", *(name for l2, cases in answer.labels.items() for name in (l2, *cases)))


def label_matrix(answers: Sequence[MagicMirrorAnswer | None]) -> NDArray[np.bool_]:
    """Return which labels each answer gives: shape (answers, 24). A row for None is all false: it gives none."""
    matrix = np.zeros((len(answers), len(LABELS)), dtype=np.bool_)
    for row, answer in enumerate(answers):
        if answer is not None:
            matrix[row, [COLUMN[name] for name in label_names(answer)]] = True
    return matrix
