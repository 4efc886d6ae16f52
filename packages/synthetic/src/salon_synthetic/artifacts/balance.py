"""How often each kind of artifact is planted, and how often a picture shows two figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from salon_synthetic.artifacts.kinds import HARD_SUBJECTS, KINDS, Kind
from salon_taxonomy.errors import InputError

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
}
"""Images that carry an L3 label (MagicMirror, Table 5), of the labels that are drawn."""
_MAIN: Final = {
    "L2: Irrational Element Attributes": 881,
    "L2: Irrational Element Interaction": 61994,
    "L2: Abnormal Human Anatomy": 104289,
    "L2: Abnormal Animal Anatomy": 23464,
    "L2: Abnormal Object Morphology": 37085,
}
"""Images that carry an L2 label (Table 5), of the labels that are drawn."""
_ARTIFACT_IMAGES: Final = 169501
_ALL_IMAGES: Final = 343269
_ROUNDS: Final = 2000
_CLOSE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Balance:
    """How pictures are shared out.

    What a picture shows is drawn first, and only then whether it is drawn right: figures and their number say nothing about
    the verdict, unless ``hard_positives`` is below 1.

    Attributes:
        weights: kinds by name and how often each is planted, relative to the others.
        artifact_share: share of all pictures that have an artifact.
        two_figures: share of all pictures that show two figures; their kinds are of different L2 labels.
        two_artifacts: share of the pictures with artifacts in which both figures are wrong; at most ``two_figures``. No
            picture has more than two artifacts (MagicMirror, A.2).
        hard_positives: how often a hand, a foot or a face is kept that would be drawn right; the rest show something
            else drawn right. Below 1, right hands are rare, as they are among generated pictures (section 3.2).

    Raises:
        InputError: for an unknown kind, a negative weight, no weight at all, a share out of its range, or shares that the
            weights cannot give.

    Example:
        >>> Balance({"extra-finger": 1, "sunken": 3}).artifact_share
        0.5
    """

    weights: Mapping[str, float]
    artifact_share: float = 0.5
    two_figures: float = 0.0
    two_artifacts: float = 0.0
    hard_positives: float = 1.0
    draws: Mapping[str, float] = field(init=False, repr=False, compare=False)
    """How often each kind is drawn as a first figure, so that with the second ones ``weights`` come out; they sum to 1."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", dict(self.weights))
        for name, weight in self.weights.items():
            if name not in KINDS:
                raise InputError("unknown kind of artifact", column="weights", value=name, allowed=KINDS)
            if not 0 <= weight < float("inf"):
                raise InputError(f"the weight of {name!r} must be a number from 0 up", column="weights", value=weight)
        if not sum(self.weights.values()):
            raise InputError("no kind has a weight", column="weights", value=dict(self.weights))
        for column in ("artifact_share", "two_figures", "two_artifacts", "hard_positives"):
            if not 0 <= getattr(self, column) <= 1:
                raise InputError("must lie between 0 and 1", column=column, value=getattr(self, column))
        if self.two_artifacts > self.two_figures:
            raise InputError("must be at most two_figures", column="two_artifacts", value=self.two_artifacts)
        used = [KINDS[name] for name, weight in self.weights.items() if weight]
        if self.two_figures and len({kind.artifact.l2 for kind in used}) < 2:
            raise InputError("two figures need kinds of two L2 labels", column="two_figures", value=self.two_figures)
        others = {kind.artifact.l2 for kind in used if kind.subject not in HARD_SUBJECTS}
        if not self.hard_positives and len(others) < (2 if self.two_figures == 1 else 1):
            raise InputError("nothing is left to be drawn right", column="hard_positives", value=self.hard_positives)
        object.__setattr__(self, "draws", self._first_draws())

    def _first_draws(self) -> dict[str, float]:
        """Solve for the share of first figures by repeated scaling: L2 labels that are often second are drawn less often."""
        total = sum(self.weights.values())
        wanted: dict[str, float] = {}
        for name, weight in self.weights.items():
            l2 = KINDS[name].artifact.l2
            wanted[l2] = wanted.get(l2, 0.0) + weight / total
        first = {l2: share for l2, share in wanted.items() if share}
        if self.two_figures:
            first = self._scaled(first, wanted)
        of = {name: KINDS[name].artifact.l2 for name in self.weights}
        return {
            name: first.get(of[name], 0) * weight / total / (wanted[of[name]] or 1) for name, weight in self.weights.items()
        }

    def _scaled(self, first: dict[str, float], wanted: Mapping[str, float]) -> dict[str, float]:
        """Return the shares of first figures with which the wanted shares of artifacts come out."""
        for _ in range(_ROUNDS):
            expected = self._shown(first)
            if max(abs(expected[l2] - wanted[l2]) for l2 in first) < _CLOSE:
                return first
            raw = {l2: share * wanted[l2] / expected[l2] for l2, share in first.items()}
            first = {l2: share / sum(raw.values()) for l2, share in raw.items()}
            if max(first.values()) > 1 - _CLOSE:
                break
        often = max(wanted, key=lambda l2: wanted[l2])
        problem = f"{often!r} has too much weight for so many pictures with two figures of different L2 labels"
        raise InputError(problem, column="two_figures", value=self.two_figures)

    def _shown(self, first: Mapping[str, float]) -> dict[str, float]:
        """Return each L2 label's share of all planted artifacts."""
        second = {l2: sum(first[other] * first[l2] / (1 - first[other]) for other in first if other != l2) for l2 in first}
        alone, one, both = 1 - self.two_figures, self.two_figures - self.two_artifacts, self.two_artifacts
        planted = {l2: alone * first[l2] + (one / 2 + both) * (first[l2] + second[l2]) for l2 in first}
        return {l2: share / (1 + both) for l2, share in planted.items()}


def _as_counted() -> dict[str, float]:
    """Weight the kinds by MagicMirror's Table 5: L2 labels by count, then L3 labels by count, kinds equally."""

    def label(kind: Kind) -> str:
        return kind.artifact.l3[0] if kind.artifact.l3 else kind.artifact.l2

    labels = [label(kind) for kind in KINDS.values()]
    raw = {name: _IMAGES.get(label(kind), 1) / labels.count(label(kind)) for name, kind in KINDS.items()}
    of = {l2: sum(raw[name] for name, kind in KINDS.items() if kind.artifact.l2 == l2) for l2 in _MAIN}
    return {name: raw[name] / of[kind.artifact.l2] * _MAIN[kind.artifact.l2] for name, kind in KINDS.items()}


def _even(names: tuple[str, ...]) -> dict[str, float]:
    """Weight each L2 label equally; within one, its kinds equally often."""
    of = [KINDS[name].artifact.l2 for name in names]
    return {name: 1 / of.count(KINDS[name].artifact.l2) for name in names}


_CORE: Final = (
    "extra-finger",
    "missing-finger",
    "animal-extra-leg",
    "animal-missing-leg",
    "animal-two-heads",
    "animal-no-head",
    "object-missing-part",
    "object-extra-part",
    "sunken",
    "floating",
)
_TWO: Final = sum(_MAIN.values()) / _ARTIFACT_IMAGES - 1
"""Labels beyond the first, per image with artifacts."""

BALANCES: Mapping[str, Balance] = MappingProxyType(
    {
        "table-5": Balance(_as_counted(), _ARTIFACT_IMAGES / _ALL_IMAGES, two_figures=0.5, two_artifacts=_TWO),
        "even": Balance(_even(tuple(name for name in KINDS if name != "wrong-size"))),
        "core": Balance(_even(_CORE)),
    }
)
"""``table-5``: as in MagicData340K, two labels included; ``even``: the four main L2 equally often, one figure a picture;
``core``: the same with the ten clearest kinds, as much surplus as lack."""
