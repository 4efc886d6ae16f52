"""Draw scenes for a very small policy: two figures, four colours, four shapes, one mistake.

The items are ``DrawnItem``s as ``salon synthetic scenes`` draws them: the same prompts, explanations, instructions and
questions, read and executed by the same grammar, so the ``draw`` editor and R³-Bench's metrics take them as they are.
"""

import random
from collections.abc import Iterator
from typing import Final

from salon_synthetic.scenes.diagnosis import Finding, findings
from salon_synthetic.scenes.generating import DrawnItem
from salon_synthetic.scenes.questioning import questions
from salon_synthetic.scenes.reading import read_prompt
from salon_synthetic.scenes.scene import Item, Scene
from salon_synthetic.scenes.vocabulary import Category, Colour, Shape, Size
from salon_taxonomy.errors import InputError

COLOURS: Final = (Colour.RED, Colour.GREEN, Colour.BLUE, Colour.YELLOW)
"""Far apart on any screen."""
SHAPES: Final = (Shape.CIRCLE, Shape.SQUARE, Shape.TRIANGLE, Shape.CROSS)
"""Far apart at eight pixels across."""

CELL: Final = 128
"""Pixels of 256: one figure stands near the middle of an upper quarter of the picture, the other in a lower one."""
_STRAY: Final = 8


def draw_small_scenes(count: int, *, seed: int, misaligned: float = 0.6) -> Iterator[DrawnItem]:
    """Draw items; the same seed gives the same items, and a larger count the same first ones.

    A misaligned item has one figure of another colour (category ``color``) or of another shape (``shape``), one kind as
    often as the other; what is wrong is never the colour or the shape of the other figure.

    Args:
        count: how many, 0 or more.
        seed: of the draws.
        misaligned: how likely an item is to be, 0 to 1.

    Raises:
        InputError: for a count or a share out of its range.

    Example:
        >>> first, _ = draw_small_scenes(2, seed=4)
        >>> first.prompt, first.explanation, first.edit_prompt
        ('A yellow cross and a blue square.', 'The square is green, not blue.', 'Make the green square blue.')
    """
    if count < 0:
        raise InputError("must be 0 or more", column="count", value=count)
    if not 0 <= misaligned <= 1:
        raise InputError("must lie between 0 and 1", column="misaligned", value=misaligned)
    for idx in range(count):
        yield _item(idx, random.Random(f"{seed} small {idx}"), misaligned)  # noqa: S311 - pictures, no secret


def _item(idx: int, generator: random.Random, misaligned: float) -> DrawnItem:
    shapes, colours = generator.sample(SHAPES, 2), generator.sample(COLOURS, 2)
    first, second = (f"a {colour} {shape}" for colour, shape in zip(colours, shapes, strict=True))
    prompt = f"A{first[1:]} and {second}."
    columns, rows = generator.choices((0, 1), k=2), generator.sample((0, 1), 2)
    figures = [
        Item(shape=shape, colour=colour, size=Size.LARGE, x=_near(column, generator), y=_near(row, generator))
        for shape, colour, column, row in zip(shapes, colours, columns, rows, strict=True)
    ]
    target = Scene(items=tuple(figures))
    claims = read_prompt(prompt)
    assert claims is not None  # noqa: S101 - the prompt is of the grammar
    category = generator.choice((Category.COLOR, Category.SHAPE))
    drawn = target
    differences: tuple[Finding, ...] = ()
    if generator.random() < misaligned:
        drawn = _changed(target, category, generator)
        differences = findings(claims, drawn)
    asked, answers = questions(claims, target, category, generator)
    return DrawnItem(idx, category, prompt, drawn, target, differences, asked, answers)


def _near(cell: int, generator: random.Random) -> int:
    return cell * CELL + CELL // 2 + generator.randint(-_STRAY, _STRAY)


def _changed(scene: Scene, category: Category, generator: random.Random) -> Scene:
    """Return the scene with one figure of a colour, or of a shape, that none of the two has."""
    index = generator.randrange(len(scene.items))
    figure = scene.items[index]
    if category == Category.COLOR:
        colours = [colour for colour in COLOURS if colour not in {each.colour for each in scene.items}]
        return scene.replacing(index, figure.model_copy(update={"colour": generator.choice(colours)}))
    shapes = [shape for shape in SHAPES if shape not in {each.shape for each in scene.items}]
    return scene.replacing(index, figure.model_copy(update={"shape": generator.choice(shapes)}))
