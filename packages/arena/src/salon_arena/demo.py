"""A demonstration arena: drawn pictures of five models of known strength, and simulated raters."""

import json
import random
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from salon_arena.service import AnswerBody, WorkService
from salon_synthetic.scenes.composing import compose
from salon_synthetic.scenes.drawing import png
from salon_synthetic.scenes.imagining import imagine
from salon_synthetic.scenes.vocabulary import Category
from salon_taxonomy.errors import InputError, cannot_write

STRENGTHS: Final[Mapping[str, float]] = MappingProxyType(
    {"atelier": 1400.0, "brush": 1300.0, "canvas": 1200.0, "daub": 1100.0, "easel": 1000.0}
)
"""Ratings on the Elo scale that simulated raters vote by; a stronger model makes fewer mistakes in its pictures."""
_TIES: Final = 0.6
"""The chance of a tie is this share of the weaker model's chance to win."""
_WORST_SLIPS: Final = 0.6
_RATERS: Final = 8
_CATEGORIES: Final = tuple(Category)


def draw_demo(folder: Path, *, prompts: int = 24, seed: int = 0) -> tuple[Path, Path]:
    """Draw a picture by every model for every prompt.

    The chance that an object of a picture comes out wrong grows from 0 for the strongest model to 0.6 for the weakest.

    Args:
        folder: made if missing; files of the same names are replaced.
        prompts: how many, at least 1.
        seed: of the prompts and the pictures; the same seed draws the same files.

    Returns:
        The folder of pictures, with one sub-folder for each model, and the file of prompts.

    Raises:
        InputError: there are no prompts, or the folder cannot be written.

    Example:
        >>> import tempfile
        >>> pictures, file = draw_demo(Path(tempfile.mkdtemp()), prompts=2)
        >>> sorted(path.name for path in pictures.iterdir())
        ['atelier', 'brush', 'canvas', 'daub', 'easel']
    """
    if prompts < 1:
        raise InputError("the number of prompts must be 1 or more, not", value=prompts)
    generator = random.Random(f"arena demo {seed}")  # noqa: S311 - pictures, no secret
    best, worst = max(STRENGTHS.values()), min(STRENGTHS.values())
    rows = []
    try:
        for number in range(prompts):
            category = _CATEGORIES[number % len(_CATEGORIES)]
            row = {"prompt_id": f"demo-{number:03d}", "prompt": compose(category, generator).prompt, "language": "en"}
            rows.append({**row, "scenario": category.value})
            for model_number, (model, strength) in enumerate(STRENGTHS.items()):
                slips = _WORST_SLIPS * (best - strength) / (best - worst)
                path = folder / "pictures" / model / f"demo-{number:03d}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png(imagine(row["prompt"], seed=seed * len(STRENGTHS) + model_number, slips=slips)))
        file = folder / "prompts.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    except OSError as error:
        raise cannot_write(error, folder) from error
    return folder / "pictures", file


def simulate_votes(service: WorkService, votes: int, *, seed: int = 0) -> int:
    """Let eight simulated raters vote as the strengths of the drawn models say.

    Ties, half of them both good, are the likelier the closer two models are; with a tie as half a win, the stronger model
    wins 1 / (1 + 10^((weaker - stronger) / 400)) of the battles on average.

    Args:
        service: of an arena with the drawn models.
        votes: how many.
        seed: of the answers.

    Returns:
        How many votes were given: fewer than asked for when the raters have seen every pair.
    """
    generator = random.Random(f"arena votes {seed}")  # noqa: S311 - simulated answers, no secret
    raters = [service.people.join().result().rater_id for _ in range(_RATERS)]
    cast = 0
    while raters and cast < votes:
        rater = raters[cast % len(raters)]
        waiting = service.lease(rater).result()["tasks"]
        if not waiting:
            raters.remove(rater)
            continue
        pair = waiting[0]
        service.look(rater, pair["assignment"])
        left, right = (file["model"] for file in service.payload_of(pair["assignment"])["files"])
        choice = simulated_choice(generator, STRENGTHS[left], STRENGTHS[right])
        answer_id = uuid.UUID(int=generator.getrandbits(128), version=4)
        body = AnswerBody(
            answer_id=answer_id, assignment=pair["assignment"], choice=choice, elapsed_ms=0, supersedes=pair["supersedes"]
        )
        service.answer(rater, body).result()
        cast += 1
    return cast


def simulated_choice(generator: random.Random, left: float, right: float) -> str:
    """Draw an answer to two models of these strengths, in Elo points.

    With a tie as half a win, the left one wins 1 / (1 + 10^((right - left)/400)) on average.
    """
    expected = 1 / (1 + 10 ** ((right - left) / 400))
    tied = _TIES * min(expected, 1 - expected)
    drawn = generator.random()
    if drawn < tied:
        return generator.choice(("both_good", "both_bad"))
    return "left" if drawn < tied + expected - tied / 2 else "right"
