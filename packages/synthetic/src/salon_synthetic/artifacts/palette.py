"""The colours of a picture, and where its light comes from."""

import colorsys
from dataclasses import dataclass, replace
from typing import Final

from salon_synthetic.artifacts.canvas import Colour
from salon_synthetic.artifacts.difficulty import Difficulty
from salon_synthetic.rng import Rng

_WALLS: Final = ((214, 228, 240), (240, 232, 214), (222, 236, 216))
_FLOORS: Final = ((176, 160, 140), (150, 166, 150))
_SKINS: Final = ((240, 196, 164), (198, 142, 104), (128, 84, 58))
_FURS: Final = ((150, 98, 54), (96, 92, 96))
_CLOTHS: Final = ((196, 60, 56), (52, 92, 170), (60, 130, 80))
_THINGS: Final = ((200, 70, 60), (50, 100, 180), (226, 170, 50))
_WOOD: Final = (140, 100, 62)
_MOST_FADED: Final = 0.35


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one picture.

    Attributes:
        wall: behind everything.
        floor: below the horizon.
        skin, hair, cloth, legwear: of people.
        fur: of animals.
        thing: of an object.
        accent: of its other parts.
        wood: of tables and chairs.
        ink: of outlines.
        shadow: on the floor or a table.
        light_from_left: where the lamp is; shadows fall to the other side.
    """

    wall: Colour
    floor: Colour
    skin: Colour
    hair: Colour
    cloth: Colour
    legwear: Colour
    fur: Colour
    thing: Colour
    accent: Colour
    wood: Colour
    ink: Colour
    shadow: Colour
    light_from_left: bool


def drawn_palette(rng: Rng, difficulty: Difficulty) -> Palette:
    """Return colours and light for one picture."""
    many = difficulty.palette
    wall = _varied(rng, rng.choice(_WALLS), many, pale=True)
    floor = _varied(rng, rng.choice(_FLOORS), many)
    fade = rng.uniform(0, _MOST_FADED) * many

    def colour(options: tuple[Colour, ...], wide: float = 1.0) -> Colour:
        return mixed(_varied(rng, rng.choice(options), many * wide), wall, fade)

    palette = Palette(
        wall=wall,
        floor=floor,
        skin=colour(_SKINS, 0.15),
        hair=colour(((60, 40, 28), (30, 28, 30)), 0.5),
        cloth=colour(_CLOTHS),
        legwear=colour(((60, 66, 92), (84, 74, 66))),
        fur=colour(_FURS, 0.3),
        thing=colour(_THINGS),
        accent=colour(((60, 60, 66), (90, 84, 78))),
        wood=colour((_WOOD,), 0.4),
        ink=mixed((34, 28, 30), wall, fade),
        shadow=mixed((30, 28, 40), floor, rng.uniform(0.3, 0.3 + 0.25 * difficulty.light)),
        light_from_left=True,
    )
    return replace(palette, light_from_left=not rng.chance(difficulty.light / 2))


def mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """``share`` of the other colour and the rest of the first."""
    return (
        round(colour[0] + (other[0] - colour[0]) * share),
        round(colour[1] + (other[1] - colour[1]) * share),
        round(colour[2] + (other[2] - colour[2]) * share),
    )


def _varied(rng: Rng, colour: Colour, many: float, *, pale: bool = False) -> Colour:
    """Return another colour, the further away the more colours there are."""
    hue, saturation, value = colorsys.rgb_to_hsv(*(part / 255 for part in colour))
    hue = (hue + rng.around(0, 0.5) * many) % 1
    saturation = min(1.0, max(0.0, saturation + rng.around(0, 0.25) * many))
    low = 0.6 if pale else 0.2
    value = min(1.0, max(low, value + rng.around(0, 0.25) * many))
    red, green, blue = colorsys.hsv_to_rgb(hue, saturation, value)
    return (round(red * 255), round(green * 255), round(blue * 255))
