"""What a picture will show, and what will be wrong with it; decided before anything is drawn."""

from dataclasses import dataclass
from typing import Final

from salon_synthetic.artifacts.balance import Balance
from salon_synthetic.artifacts.kinds import HARD_SUBJECTS, KINDS, SOUND, Kind
from salon_synthetic.rng import Rng
from salon_taxonomy.answers import MAGICMIRROR_MENU, MagicMirrorAnswer

_ORDER: Final = {l2: place for place, l2 in enumerate(MAGICMIRROR_MENU)}


@dataclass(frozen=True, slots=True)
class PlannedFigure:
    """One figure.

    Attributes:
        kind: the artifact that it can show.
        planted: whether it shows it.
    """

    kind: Kind
    planted: bool

    @property
    def flaw(self) -> str | None:
        """The name of the artifact that is shown; None for a figure that is drawn right."""
        return self.kind.name if self.planted else None


@dataclass(frozen=True, slots=True)
class PicturePlan:
    """One or two figures, of different L2 labels.

    Attributes:
        parts: from left to right.
    """

    parts: tuple[PlannedFigure, ...]

    @property
    def wrong(self) -> tuple[PlannedFigure, ...]:
        """The figures that show an artifact, in the taxonomy's order of their labels."""
        return tuple(sorted((part for part in self.parts if part.planted), key=lambda part: _ORDER[part.kind.artifact.l2]))

    @property
    def truth(self) -> MagicMirrorAnswer:
        """The labels."""
        artifacts = tuple(part.kind.artifact for part in self.wrong)
        return MagicMirrorAnswer(not artifacts, artifacts)

    @property
    def reasoning(self) -> str:
        """The sentences that name each artifact, or what is right in a picture without artifacts."""
        return " ".join([part.kind.reason for part in self.wrong] or [SOUND[part.kind.subject] for part in self.parts])

    @property
    def hard_positive(self) -> bool:
        """Whether something that often goes wrong was drawn right, and nothing is wrong."""
        return self.truth.normal and any(part.kind.subject in HARD_SUBJECTS for part in self.parts)


def planned(rng: Rng, balance: Balance) -> PicturePlan:
    """Decide what one picture shows."""
    wrong = rng.chance(balance.artifact_share)
    while True:
        two = rng.chance(balance.two_figures)
        kinds = _kinds(rng, balance, two=two)
        flawed = {0} if wrong else set()
        if wrong and two:
            both = rng.chance(balance.two_artifacts / balance.two_figures)
            flawed = {0, 1} if both else {rng.integer(0, 1)}
        plan = PicturePlan(tuple(PlannedFigure(kind, number in flawed) for number, kind in enumerate(kinds)))
        if not plan.hard_positive or rng.chance(balance.hard_positives):
            return plan


def _kinds(rng: Rng, balance: Balance, *, two: bool) -> list[Kind]:
    first = KINDS[rng.choice(list(balance.draws), list(balance.draws.values()))]
    if not two:
        return [first]
    rest = {name: share for name, share in balance.draws.items() if KINDS[name].artifact.l2 != first.artifact.l2}
    second = KINDS[rng.choice(list(rest), list(rest.values()))]
    return [first, second] if rng.chance(0.5) else [second, first]
