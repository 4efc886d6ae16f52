"""How often each kind of artifact is planted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from salon_taxonomy.errors import InputError
from salon_train.world.kinds import HARD_SUBJECTS, KINDS, Kind

_IMAGES: Final = {
    "L3: Abnormal Element Proportion": 612,
    "L3: Abnormal Light and Shadow Effect": 258,
    "L3: Abnormal Element Overlap": 45857,
    "L3: Abnormal Spatial Position": 15879,
    "L3: Limb Structure Deformity": 3638,
    "L3: Trunk Structure Deformity": 723,
    "L3: Hand Structure Deformity": 54114,
    "L3: Foot Structure Deformity": 4604,
    "L3: Facial Structure Deformity": 8581,
    "L3: Abnormal Human Anatomy": 42327,
    "L3: Abnormal and Uncoordinated Posture": 300,
    "L3: Abnormal Limb Structure": 20932,
    "L3: Abnormal Posture Presentation": 234,
    "L3: Abnormal Head Structure": 5433,
    "L2: Abnormal Object Morphology": 37085,
}
"""Images that carry a label (paper 000, Table 5), of the labels that are drawn."""


@dataclass(frozen=True, slots=True)
class Balance:
    """How pictures are shared out.

    Pictures without artifacts show the same figures as often as those with: a figure says nothing about the verdict.

    Attributes:
        weights: kinds by name and how often each is planted, relative to the others.
        artifact_share: of all pictures.
        right_hands: how often a hard subject (hand, foot, face) is kept when it would be drawn right; below 1 such
            pictures are rare, as they are among generated ones, and the rest show something else drawn right.

    Raises:
        InputError: for an unknown kind, a negative weight, no weight at all, or a share out of its range.

    Example:
        >>> Balance({"extra-finger": 1, "sunken": 3}).artifact_share
        0.5
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    artifact_share: float = 0.5
    right_hands: float = 1.0

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if name not in KINDS:
                raise InputError("unknown kind of artifact", column="weights", value=name, allowed=KINDS)
            if not 0 <= weight < float("inf"):
                raise InputError(f"the weight of {name!r} must not be negative", column="weights", value=weight)
        if not sum(self.weights.values()):
            raise InputError("no kind has a weight", column="weights", value=dict(self.weights))
        if not 0 <= self.artifact_share <= 1:
            raise InputError("must lie between 0 and 1", column="artifact_share", value=self.artifact_share)
        if not 0 <= self.right_hands <= 1:
            raise InputError("must lie between 0 and 1", column="right_hands", value=self.right_hands)
        if not self.right_hands and all(
            KINDS[name].subject in HARD_SUBJECTS for name, weight in self.weights.items() if weight
        ):
            raise InputError("nothing is left to be drawn right", column="right_hands", value=self.right_hands)


def _label(kind: Kind) -> str:
    return kind.artifact.l3[0] if kind.artifact.l3 else kind.artifact.l2


def _as_counted() -> dict[str, float]:
    labels = [_label(kind) for kind in KINDS.values()]
    return {name: _IMAGES[_label(kind)] / labels.count(_label(kind)) for name, kind in KINDS.items()}


def _even(names: tuple[str, ...]) -> dict[str, float]:
    """The four main L2 labels equally often; within one, its kinds equally often."""
    of = [KINDS[name].artifact.l2 for name in names]
    return {name: 1 / of.count(KINDS[name].artifact.l2) for name in names}


_CORE: Final = (
    "extra-finger",
    "missing-finger",
    "animal-extra-leg",
    "animal-two-heads",
    "object-missing-part",
    "object-loose-part",
    "sunken",
    "floating",
)

BALANCES: Mapping[str, Balance] = MappingProxyType(
    {
        "table-5": Balance(MappingProxyType(_as_counted()), artifact_share=169501 / 343269),
        "even": Balance(MappingProxyType(_even(tuple(name for name in KINDS if name != "wrong-size")))),
        "core": Balance(MappingProxyType(_even(_CORE))),
    }
)
"""``table-5``: as in MagicData340K; ``even``: the four main L2 equally often; ``core``: the same with the eight clearest kinds."""
