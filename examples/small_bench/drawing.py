"""Draw the 24 pictures of both generators.

"steady" follows the prompt, "hasty" forgets, breaks and merges things, the same ones every time.
"""

import random
from pathlib import Path

from PIL import Image, ImageDraw
from scenes import COLOURS, GROUNDS, NUMBERS, SCENES, Scene

SIDE = 96
MISTAKES = ("none", "forgets", "breaks", "merges", "other_ground", "noise")


def draw_all(folder: Path, seed: int = 7) -> dict[str, Path]:
    """One picture for every scene and model: ``<folder>/<model>/<scene>.png``. Returns the folder of each model."""
    random_ = random.Random(seed)  # noqa: S311 - draws pictures, hides nothing
    mistakes = [MISTAKES[place % len(MISTAKES)] for place in range(len(SCENES))]
    random_.shuffle(mistakes)
    folders = {}
    for model in ("steady", "hasty"):
        folders[model] = folder / model
        folders[model].mkdir(parents=True, exist_ok=True)
        for (name, scene), mistake in zip(SCENES.items(), mistakes, strict=True):
            picture = draw(scene, mistake if model == "hasty" else "none", random_)
            picture.save(folders[model] / f"{name}.png")
    return folders


def draw(scene: Scene, mistake: str, random_: random.Random) -> Image.Image:
    """One picture with at most one mistake."""
    if mistake == "noise":
        return Image.frombytes("RGB", (SIDE, SIDE), random_.randbytes(SIDE * SIDE * 3))
    others = [name for name in GROUNDS if name != scene.ground]
    ground = random_.choice(others) if mistake == "other_ground" else scene.ground
    picture = Image.new("RGB", (SIDE, SIDE), GROUNDS[ground])
    number = 0 if mistake == "forgets" else NUMBERS[scene.number]
    pen = ImageDraw.Draw(picture)
    step = SIDE // (number + 1)
    for place in range(number):
        broken = mistake == "breaks" and place == 0
        _figure(pen, scene, step * (place + 1), random_.randint(44, 52), broken=broken)
    if mistake == "merges":  # an arm that grows from one figure into the next, or out of the picture
        pen.rectangle((step, 46, SIDE - 1, 50), fill=COLOURS[scene.colour])
    return picture


def _figure(pen: ImageDraw.ImageDraw, scene: Scene, x: int, y: int, *, broken: bool) -> None:
    """Draw a head on a body, a body on four legs, or a box; broken ones have a gap."""
    colour, gap = COLOURS[scene.colour], 6 if broken else 0
    if scene.kind == "human":
        pen.ellipse((x - 6, y - 24 - gap, x + 6, y - 12 - gap), fill=colour)
        pen.rectangle((x - 8, y - 13, x + 8, y + 20), fill=colour)
    elif scene.kind == "animal":
        pen.ellipse((x - 11, y - 8, x + 11, y + 8), fill=colour)
        for leg in (-8, -3, 3, 8):
            pen.rectangle((x + leg - 1, y + (gap + 6 if leg == 8 else 4), x + leg + 1, y + 22), fill=colour)
    else:
        pen.rectangle((x - 10, y - 10, x + 10, y + 10 - 3 * (gap > 0)), fill=colour)
        pen.rectangle((x - 3, y + 12, x + 3, y + 16) if broken else (x - 3, y + 10, x + 3, y + 16), fill=colour)
