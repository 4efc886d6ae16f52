"""Draw the pictures of a teacher who errs, score pictures by their pixels, and make the small policy that learns to draw them.

A picture has 16 by 16 pixels and shows one shape in one colour on white. The shapes and inks are those of
``salon synthetic scenes``, cut out around the shape and reduced to a fifth. There are 5,184 such pictures, 16 prompts at 324
places, so a picture shows what the nearest of them shows, if it is near enough. The reward is a scorer like any other:
``scorer:salon_train.demo.shapes:Obedience``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, ClassVar, Final

import torch
from torch import Tensor, nn

from salon_synthetic.rng import Rng
from salon_synthetic.scenes.drawing import drawn
from salon_synthetic.scenes.scene import Item, Scene
from salon_synthetic.scenes.vocabulary import RADII, Colour, Shape, Size
from salon_taxonomy.errors import InputError
from salon_train.image_policy.small import CONDITION, SmallPolicy, SmallUNet

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from PIL.Image import Image

SIDE: Final = 16
"""Width and height of a picture, in pixels."""
COLOURS: Final = (Colour.RED, Colour.GREEN, Colour.BLUE, Colour.YELLOW)
SHAPES: Final = (Shape.CIRCLE, Shape.SQUARE, Shape.TRIANGLE, Shape.CROSS)
PROMPTS: Final = tuple(f"a {colour} {shape}" for shape, colour in product(SHAPES, COLOURS))
"""All 16; the shape changes slowest."""
HELD_OUT: Final = tuple(f"a {colour} {shape}" for shape, colour in zip(SHAPES, COLOURS, strict=True))
"""Four prompts, every shape and every colour once, for which no reward is ever paid; the teacher draws them."""
LEARNED: Final = tuple(prompt for prompt in PROMPTS if prompt not in HELD_OUT)
"""The other 12."""
NEAR: Final = 0.2
"""The greatest root mean square difference, of values from 0 to 1, between a picture and what it shows."""
_CUT: Final = 80
"""Pixels of the canvas that become one picture."""
_RADIUS: Final = RADII[Size.LARGE]
_PLACES: Final = tuple(product(range(_RADIUS, _CUT - _RADIUS), repeat=2))
"""Where the middle of a shape may be on the canvas; the whole shape is inside."""


@dataclass(frozen=True, slots=True)
class PromptedShape:
    """What a prompt asks for.

    Attributes:
        shape: one of :data:`SHAPES`.
        colour: one of :data:`COLOURS`.
    """

    shape: Shape
    colour: Colour

    @classmethod
    def of(cls, prompt: str) -> "PromptedShape":
        """Read a prompt.

        Raises:
            InputError: the prompt is not one of :data:`PROMPTS`.

        Example:
            >>> PromptedShape.of("a red cross")
            PromptedShape(shape=<Shape.CROSS: 'cross'>, colour=<Colour.RED: 'red'>)
        """
        if prompt not in PROMPTS:
            raise InputError("must be one of", column="prompts", value=prompt, allowed=PROMPTS)
        _, colour, shape = prompt.split(" ")
        return cls(Shape(shape), Colour(colour))


def teach(count: int, *, seed: int, wrong: float) -> tuple[Tensor, list[str]]:
    """Draw the pictures of a teacher who errs: half of the errors are another colour, half another shape.

    Args:
        count: pictures; the prompts take turns.
        seed: of shapes, colours and places.
        wrong: share of pictures that do not show what their prompt says, 0 to 1.

    Returns:
        Pictures, shape (count, 3, 16, 16), values from -1 to 1, and their prompts.
    """
    rng = Rng(f"teacher {seed}")
    prompts = [PROMPTS[place % len(PROMPTS)] for place in range(count)]
    shapes = [_taught(PromptedShape.of(prompt), rng, wrong) for prompt in prompts]
    return torch.stack([_picture(each, rng.choice(_PLACES)) for each in shapes]), prompts


def _taught(wanted: PromptedShape, rng: Rng, wrong: float) -> PromptedShape:
    if not rng.chance(wrong):
        return wanted
    if rng.chance(0.5):
        return PromptedShape(wanted.shape, rng.choice([colour for colour in COLOURS if colour != wanted.colour]))
    return PromptedShape(rng.choice([shape for shape in SHAPES if shape != wanted.shape]), wanted.colour)


def _picture(shape: PromptedShape, offsets: tuple[int, ...]) -> Tensor:
    """Draw a shape at a place, left and top: shape (3, 16, 16)."""
    (left, top), fold = (_CUT - each for each in offsets), _CUT // SIDE
    cut = _canvas(shape)[:, top : top + _CUT, left : left + _CUT]
    return cut.reshape(3, SIDE, fold, SIDE, fold).mean((2, 4))


@cache
def _canvas(shape: PromptedShape) -> Tensor:
    """Draw a shape in the middle of 160 by 160 pixels."""
    import numpy as np

    scene = Scene(items=(Item(shape=shape.shape, colour=shape.colour, size=Size.LARGE, x=_CUT, y=_CUT),))
    return torch.from_numpy(np.array(drawn(scene))[: 2 * _CUT, : 2 * _CUT]).permute(2, 0, 1).float() / 127.5 - 1


@dataclass(frozen=True, slots=True)
class Obedience:
    """Score pictures by their pixels.

    The right shape in the right colour scores 1, one of the two 0.5, anything else 0. A picture that differs from every drawn
    one by more than :data:`NEAR` shows nothing and scores 0.

    Example:
        >>> from PIL import Image
        >>> Obedience()([Image.new("RGB", (16, 16), "white")], ["a red cross"])
        [0.0]
    """

    name: ClassVar[str] = "obedience"
    version: ClassVar[str] = "1"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    batch: ClassVar[int] = 256

    def __call__(self, images: "Sequence[Image]", prompts: Sequence[str]) -> list[float]:
        """Return a score for each picture; pictures of another size are resized.

        Raises:
            InputError: a prompt is not one of :data:`PROMPTS`.
        """
        expected = [PromptedShape.of(prompt) for prompt in prompts]
        return [
            0.0 if shown is None else ((shown.shape == wanted.shape) + (shown.colour == wanted.colour)) / 2
            for shown, wanted in zip(_shown(images), expected, strict=True)
        ]


def _shown(images: "Sequence[Image]") -> list[PromptedShape | None]:
    """Return what each picture shows; None for nothing."""
    import numpy as np

    known = _known()
    pixels = [np.asarray(image.convert("RGB").resize((SIDE, SIDE))).transpose(2, 0, 1).ravel() for image in images]
    pictures = np.stack(pixels).astype(np.float32) / 255
    distances = (known**2).sum(1) - 2 * pictures @ known.T + (pictures**2).sum(1, keepdims=True)
    nearest = distances.argmin(1)
    return [
        PromptedShape.of(PROMPTS[place // len(_PLACES)]) if square <= NEAR**2 * known.shape[1] else None
        for place, square in zip(nearest.tolist(), distances.min(1).tolist(), strict=True)
    ]


@cache
def _known() -> "npt.NDArray[np.float32]":
    """Return all 5,184 right pictures, prompt by prompt: shape (5184, 768), values from 0 to 1."""
    pictures = [_picture(PromptedShape.of(prompt), place) for prompt in PROMPTS for place in _PLACES]
    return (torch.stack(pictures).flatten(1) / 2 + 0.5).numpy()


class TwoWords(nn.Module):
    """Add the embeddings of colour and shape to the condition of the time."""

    def __init__(self) -> None:
        super().__init__()
        self.colours = nn.Embedding(len(COLOURS), CONDITION)
        self.shapes = nn.Embedding(len(SHAPES), CONDITION)

    def forward(self, words: Tensor, time: Tensor) -> tuple[Tensor, None]:
        """Return the condition, shape (batch, 64); nothing is added to the patches."""
        return time + self.colours(words[:, 0]) + self.shapes(words[:, 1]), None


class TinyUNet(SmallUNet):
    """Predict the velocity of pictures of 16 by 16 pixels.

    Args:
        width: channels of the patches, a multiple of 8.

    Example:
        >>> sum(each.numel() for each in TinyUNet().parameters())
        229516
    """

    def __init__(self, width: int = 32) -> None:
        super().__init__(TwoWords(), width, 3)


def words_of(prompts: Sequence[str]) -> Tensor:
    """Return the places of colour and shape of each prompt: shape (prompts, 2).

    Example:
        >>> words_of(["a red square"]).tolist()
        [[0, 1]]
    """
    wanted = [PromptedShape.of(prompt) for prompt in prompts]
    return torch.tensor([[COLOURS.index(each.colour), SHAPES.index(each.shape)] for each in wanted])


class DrawnPolicy(SmallPolicy):
    """The small U-Net as a policy; all of its weights learn.

    Args:
        network: with these weights learning begins; changed in place.
    """

    def __init__(self, network: TinyUNet) -> None:
        super().__init__(network, (3, SIDE, SIDE), words_of)
