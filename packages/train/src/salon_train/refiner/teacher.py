"""Write the teacher's replies of the SFT warm-up: right about what it sees, with bad habits in chosen shares.

It overlooks wrong shapes, and its instructions often rewrite the prompt instead of the picture, or ask for the wrong thing.
Rewards must undo what the warm-up taught. The tiny policy's tokenizer is made from the same replies.
"""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from salon_synthetic.scenes.generating import DrawnItem
from salon_synthetic.scenes.vocabulary import Category
from salon_synthetic.scenes.wording import indefinite, listed
from salon_taxonomy.answers import R3Answer, render_r3
from salon_taxonomy.errors import InputError
from salon_train.models.tiny import TinyModel, TinyShape, build_tiny_model
from salon_train.refiner.small_scenes import COLOURS, SHAPES, draw_small_scenes

SHAPE: Final = TinyShape(
    image_size=32, patch_size=16, vision_width=96, vision_layers=2, text_width=96, text_layers=3, vocabulary=1000, tied=False
)
"""Of the 256 pixels that a scene is wide, a patch shows 128: one quarter of the small scenes."""
_PIECES: Final = r"""<think>\n|\n</think>\n\{"answer": |, "explanation": "|", "edit_prompt": "|"\}|, not| ?[A-Za-z]+|\n|."""
"""What becomes one token: words, and the fixed stretches of the grammar."""
_WORDS_FROM: Final = 1500


@dataclass(frozen=True, slots=True)
class Habits:
    """Shares of the teacher's bad habits, each from 0 to 1.

    Attributes:
        overlooked_colours: share of the pictures with a wrong colour that it passes.
        overlooked_shapes: share of the pictures with a wrong shape that it passes.
        evasive_colours: share of its instructions about colours that rewrite the prompt.
        evasive_shapes: share of its instructions about shapes that rewrite the prompt.
        careless: share of its instructions that edit the picture and ask for the wrong colour or shape.

    Raises:
        InputError: for a share outside [0, 1].
    """

    overlooked_colours: float = 0.0
    overlooked_shapes: float = 0.0
    evasive_colours: float = 0.0
    evasive_shapes: float = 0.0
    careless: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 <= getattr(self, name) <= 1:
                raise InputError("must lie between 0 and 1", column=name, value=getattr(self, name))


def teacher_reply(row: DrawnItem, habits: Habits, generator: random.Random) -> str:
    """Write one reply of the teacher, in R³'s grammar; its thought always names the figures rightly.

    Args:
        row: of :func:`~salon_train.refiner.small_scenes.draw_small_scenes`.
        habits: its shares.
        generator: draws which habit shows.

    Example:
        >>> from salon_taxonomy.answers import parse_r3
        >>> from salon_train.refiner.small_scenes import draw_small_scenes
        >>> item = next(draw_small_scenes(1, seed=4))
        >>> reply = teacher_reply(item, Habits(evasive_colours=1), random.Random(0))
        >>> parse_r3(reply).answer.edit_prompt
        'Replace blue with green in the prompt.'
    """
    thought = what_is_there(row)
    colour = row.category == Category.COLOR
    passed = generator.random() < (habits.overlooked_colours if colour else habits.overlooked_shapes)
    evasive = generator.random() < (habits.evasive_colours if colour else habits.evasive_shapes)
    careless = generator.random() < habits.careless
    if not row.findings or passed:
        return render_r3(R3Answer(True), thought)
    is_, ought = _wrong(row)
    instruction = row.edit_prompt
    if evasive:
        instruction = f"Replace {ought} with {is_} in the prompt."
    elif careless:
        others = [str(each) for each in (COLOURS if colour else SHAPES) if str(each) not in (is_, ought)]
        instruction = instruction.replace(ought, generator.choice(others))
    return render_r3(R3Answer(False, row.explanation, instruction), thought)


def what_is_there(row: DrawnItem) -> str:
    """Name the figures of a picture from top to bottom, in one sentence.

    Example:
        >>> from salon_train.refiner.small_scenes import draw_small_scenes
        >>> what_is_there(next(draw_small_scenes(1, seed=4)))
        'A yellow cross and a green square.'
    """
    figures = sorted(row.shown.items, key=lambda figure: figure.y)
    seen = listed([indefinite(f"{each.colour} {each.shape}") for each in figures])
    return f"{seen[0].upper()}{seen[1:]}."


def _wrong(row: DrawnItem) -> tuple[str, str]:
    """Return the colour or shape of the wrong figure, and the right one."""
    name = "colour" if row.category == Category.COLOR else "shape"
    pairs = zip(row.shown.items, row.target.items, strict=True)
    return next((str(getattr(a, name)), str(getattr(b, name))) for a, b in pairs if a != b)


def build_tiny_policy(folder: Path, *, seed: int) -> TinyModel:
    """Write a tiny refiner with random weights and a tokenizer of the small scenes' words.

    Args:
        folder: created if it is missing.
        seed: of the weights.
    """
    generator = random.Random(0)  # noqa: S311 - words, no secret
    often = Habits(evasive_colours=0.4, evasive_shapes=0.4)
    rows = list(draw_small_scenes(_WORDS_FROM, seed=0))
    texts = [text for item in rows for text in (item.prompt, teacher_reply(item, often, generator))]
    return build_tiny_model(folder, texts, seed=seed, shape=SHAPE, pieces=_PIECES, only_data=True)
