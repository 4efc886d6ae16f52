"""Draw words of three letters on 28 by 12 grey pixels, and make the small policy that learns to write them.

draw_words       pictures of a teacher who errs, in the font that Pillow brings: sizes, weights, slants and shades vary
word_sets        words to learn from, to choose the step with, and to measure with
word_policy      a small U-Net that reads three letters
"""

import random
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Final

import torch
from torch import Tensor, nn

from salon_taxonomy.errors import InputError
from salon_train.image_policy.small import SmallPolicy, SmallUNet
from salon_train.seeds import torch_seed

LETTERS: Final = 3
SHAPE: Final = (1, 12, 28)
"""Channels, height and width of a picture."""
_FINE: Final = 8
"""Pixels are averages of this many by this many."""


def word_sets(seed: int, *, choice: int, held_out: int) -> tuple[list[str], list[str], list[str]]:
    """Return words to learn from, to choose the step with, and to measure with: no word is in two of the sets.

    Args:
        seed: of the division of all 17,576 words.
        choice, held_out: sizes of the last two sets.

    Example:
        >>> learned, choice, held_out = word_sets(0, choice=2, held_out=3)
        >>> len(learned), len(choice), len(held_out)
        (17571, 2, 3)
    """
    words = [a + b + c for a in ascii_uppercase for b in ascii_uppercase for c in ascii_uppercase]
    random.Random(f"words {seed}").shuffle(words)  # noqa: S311 - no secret
    return words[choice + held_out :], words[:choice], words[choice : choice + held_out]


def prompt_of(word: str) -> str:
    """Return the prompt of a word, which the scorer ``ocr`` understands.

    Example:
        >>> prompt_of("OWL")
        'the word "OWL"'
    """
    return f'the word "{word}"'


def letters_of(prompts: Sequence[str]) -> Tensor:
    """Return the place in the alphabet of each letter of each prompt: shape (prompts, 3).

    Raises:
        InputError: a prompt asks for anything else than three capital letters.

    Example:
        >>> letters_of(['the word "ABZ"']).tolist()
        [[0, 1, 25]]
    """
    words = [prompt.removeprefix('the word "').removesuffix('"') for prompt in prompts]
    for word, prompt in zip(words, prompts, strict=True):
        if len(word) != LETTERS or not set(word) <= set(ascii_uppercase) or prompt != prompt_of(word):
            raise InputError("asks for no word of three capital letters, as prompt_of writes it:", value=prompt)
    return torch.tensor([[ascii_uppercase.index(letter) for letter in word] for word in words])


def draw_words(words: Sequence[str], *, seed: int, wrong: float) -> Tensor:
    """Draw words as a teacher does who errs.

    Args:
        words: of three capital letters.
        seed: of letters that are wrong, sizes, weights, slants, places and shades.
        wrong: share of the letters that are replaced by another, 0 to 1.

    Returns:
        Shape (words, 1, 12, 28), values from -1 to 1; dark ink on light paper.
    """
    rng = random.Random(f"teacher {seed}")  # noqa: S311 - no secret
    pictures = []
    for word in words:
        letters = [rng.choice(ascii_uppercase.replace(each, "")) if rng.random() < wrong else each for each in word]
        ink, paper = rng.uniform(0, 0.35), rng.uniform(0.7, 1)
        pictures.append(paper + (ink - paper) * _strokes(letters, rng))
    return torch.stack(pictures)[:, None] * 2 - 1


def _strokes(letters: Sequence[str], rng: random.Random) -> Tensor:
    """Return how much of each pixel is ink: shape (12, 28), 0 to 1."""
    import numpy as np
    from PIL import Image, ImageDraw, ImageFont

    _, height, width = (side * _FINE for side in SHAPE)
    canvas = Image.new("L", (width, height))
    brush, font, weight = ImageDraw.Draw(canvas), ImageFont.load_default(rng.uniform(9.5, 11.5) * _FINE), rng.randrange(5)
    for position, letter in enumerate(letters):
        middle = (width * (0.5 + (position - 1) * 0.32), height / 2)
        brush.text(middle, letter, 255, font, anchor="mm", stroke_width=weight)
    slant, right, down = rng.uniform(-0.05, 0.25), rng.uniform(-0.5, 0.5) * _FINE, rng.uniform(-0.5, 0.5) * _FINE
    moved = (1, slant, right - slant * height / 2, 0, 1, down)
    sheared: Image.Image = canvas.transform(canvas.size, Image.Transform.AFFINE, moved, Image.Resampling.BILINEAR)
    return torch.from_numpy(np.asarray(sheared.reduce(_FINE), dtype=np.float32) / 255)


class LetterEncoder(nn.Module):
    """Add each letter's embedding to the third of the picture where it stands; the condition is the time's alone.

    Args:
        width: channels of the patches.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(ascii_uppercase), width)
        _, height, columns = SHAPE
        self.places = nn.Parameter(torch.randn(width, height // 2, columns // 2) * 0.1)
        self.register_buffer("third", torch.arange(columns // 2) * LETTERS // (columns // 2), persistent=False)

    def forward(self, codes: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        """Return the condition of the time, and what is added to the patches: shape (batch, width, 6, 14)."""
        return time, self.letters(codes)[:, self.third].transpose(1, 2)[:, :, None] + self.places


def word_policy(width: int, *, seed: int) -> SmallPolicy:
    """Make the policy with random weights.

    Args:
        width: channels of the network's patches, a multiple of 8.
        seed: of the weights.

    Example:
        >>> sum(each.numel() for each in word_policy(40, seed=0).parameters())
        342516
    """
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(torch_seed(seed))
        return SmallPolicy(SmallUNet(LetterEncoder(width), width, SHAPE[0]), SHAPE, letters_of)
