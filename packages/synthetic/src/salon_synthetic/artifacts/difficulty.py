"""How hard the drawn pictures are to judge: seven knobs from 0 (what 32 pixels show) to 1."""

from dataclasses import dataclass, fields

from salon_taxonomy.errors import InputError


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Seven knobs, each from 0 (easiest) to 1.

    Attributes:
        smallness: how much smaller than the picture a figure is.
        pose: how much poses and proportions vary.
        clutter: how many other things stand about, and how often there is a second figure.
        palette: how many colours there are, and how close figures come to their background.
        camera: how far the camera shifts, turns, mirrors, and how noisy it is.
        light: how much the direction and strength of the light vary.
        subtlety: how small the planted artifacts are: one finger too many instead of two, a narrow gap instead of a wide one.

    Raises:
        InputError: for a knob outside 0 to 1.

    Example:
        >>> Difficulty.level(0.5).clutter
        0.5
        >>> Difficulty(subtlety=1.0).pose
        0.0
    """

    smallness: float = 0.0
    pose: float = 0.0
    clutter: float = 0.0
    palette: float = 0.0
    camera: float = 0.0
    light: float = 0.0
    subtlety: float = 0.0

    def __post_init__(self) -> None:
        for knob in fields(self):
            if not 0 <= getattr(self, knob.name) <= 1:
                raise InputError("must lie between 0 and 1", column=knob.name, value=getattr(self, knob.name))

    @classmethod
    def level(cls, value: float) -> "Difficulty":
        """Return all knobs at one value."""
        return cls(**{knob.name: value for knob in fields(cls)})
