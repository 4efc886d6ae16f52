"""A hand, palm forwards, and a foot from above: five fingers or toes when they are right."""

import math
from typing import Final

from salon_synthetic.artifacts.canvas import Pen
from salon_synthetic.artifacts.difficulty import Difficulty
from salon_synthetic.artifacts.palette import Palette
from salon_synthetic.rng import Rng

_FINGER_REACH: Final = (0.92, 1.0, 0.97, 0.84)


def draw_hand(pen: Pen, palette: Palette, rng: Rng, difficulty: Difficulty, kind: str | None) -> None:
    """Paint a hand: four fingers and a thumb, or as ``kind`` says."""
    pose, flaw = rng.fork("pose"), rng.fork("flaw")
    fingers = 4 + _surplus(kind, "finger", flaw, difficulty)
    spread = pose.around(62, 14 * difficulty.pose)
    if fingers > 4:
        spread *= 1.3
    tilt = pose.around(4, 10 * difficulty.pose)
    length = pose.around(0.52, 0.06 * difficulty.pose)
    thumb = pose.around(-72, 14 * difficulty.pose)
    folded = [pose.uniform(0, 0.3) * difficulty.pose for _ in range(4)]
    width = min(0.058, 0.30 / (fingers + 1))
    middle = (0.52, 0.70)
    pen.limb([(0.52, 0.8), (0.52, 1.06), (0.52, 2.6)], [0.125, 0.115, 0.2], palette.skin)
    bent = flaw.integer(0, 3) if kind == "bent-finger" else -1
    for number in range(fingers):
        along = 0.5 if fingers == 1 else number / (fingers - 1)
        angle = math.radians(tilt + spread * (along - 0.5))
        nearest = min(3, round(along * 3))
        reach = length * _FINGER_REACH[nearest] * (1 - folded[nearest])
        sin, cos = math.sin(angle), math.cos(angle)
        root = (middle[0] + 0.14 * sin, middle[1] - 0.14 * cos)
        tip = (middle[0] + (0.10 + reach) * sin, middle[1] - (0.10 + reach) * cos)
        if number == bent:
            knee = (middle[0] + (0.10 + 0.6 * reach) * sin, middle[1] - (0.10 + 0.6 * reach) * cos)
            aside = angle + math.radians(flaw.choice((-1, 1)) * (120 - 40 * difficulty.subtlety))
            tip = (knee[0] + 0.5 * reach * math.sin(aside), knee[1] - 0.5 * reach * math.cos(aside))
            pen.limb([root, knee, tip], [width, width, width * 0.85], palette.skin)
        else:
            pen.limb([root, tip], [width, width * 0.85], palette.skin)
    angle = math.radians(thumb)
    tip = (middle[0] + 0.40 * math.sin(angle), middle[1] + 0.02 - 0.40 * math.cos(angle))
    pen.limb([(middle[0] - 0.08, middle[1] + 0.06), tip], [0.085, 0.055], palette.skin)
    pen.disc(middle[0], middle[1] + 0.03, 0.165, 0.17, palette.skin, outlined=False)


def draw_foot(pen: Pen, palette: Palette, rng: Rng, difficulty: Difficulty, kind: str | None) -> None:
    """Paint a foot: five toes, or as ``kind`` says."""
    pose, flaw = rng.fork("pose"), rng.fork("flaw")
    toes = 5 + _surplus(kind, "toe", flaw, difficulty)
    slope = pose.around(0.10, 0.04 * difficulty.pose)
    long = pose.around(0.20, 0.03 * difficulty.pose)
    wide = pose.around(0.30, 0.03 * difficulty.pose)
    pen.limb([(0.48, 0.88), (0.46, 2.6)], [0.12, 0.2], palette.skin)
    radius = min(0.066, 0.72 * wide / toes)
    for number in range(toes):
        along = number / (toes - 1)
        x = 0.5 - wide + 2 * wide * along
        root = 0.36 + slope * along
        large = radius * (1.2 - 0.3 * along)
        pen.limb([(x * 0.8 + 0.1, root + 0.10), (x, root - long * (1.1 - 0.3 * along))], [large, large], palette.skin)
    pen.limb([(0.5, 0.56), (0.48, 0.86)], [0.25, 0.15], palette.skin)
    pen.limb([(0.38, 0.48), (0.62, 0.54)], [0.14, 0.12], palette.skin, outlined=False)


def _surplus(kind: str | None, part: str, flaw: Rng, difficulty: Difficulty) -> int:
    """Return how many too many; below 0 when some are missing."""
    if kind not in (f"extra-{part}", f"missing-{part}"):
        return 0
    many = 1 if flaw.chance(difficulty.subtlety) else 2
    return many if kind == f"extra-{part}" else -many
