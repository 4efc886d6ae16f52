"""The pictures of an experiment, drawn to files that every trainer reads: what is learned from, imitated, and measured with.

FOLDER/train.jsonl      all pictures to learn from, imbalanced like MagicData340K's labels, right hands rare
FOLDER/reasoned.jsonl   the first of them, with reasoning
FOLDER/biased.jsonl     the same as an under-reporting teacher describes them
FOLDER/held_out.jsonl   other pictures, the four labels equally often
"""

import random
from dataclasses import dataclass, replace
from pathlib import Path

from salon_synthetic.artifacts import BALANCES, KINDS, SOUND, Balance, Difficulty, draw_examples
from salon_taxonomy.answers import MagicMirrorAnswer, magicmirror_json, render_magicmirror
from salon_taxonomy.training_example import MAIN_BUCKETS, TrainingExample
from salon_taxonomy.whole_files import write_json_lines
from salon_train.demo.recipe import Recipe

_IMAGES = dict(zip(MAIN_BUCKETS[1:], (61994, 104289, 23464, 37085), strict=True))
"""Images that carry each main L2 label (MagicMirror, Table 5)."""
_HUMAN = ("extra-finger", "missing-finger", "extra-eye", "missing-eye", "extra-leg", "missing-leg", "missing-arm")
"""Kinds of human artifacts. With fingers alone the label hung on one all-or-nothing guess about hands."""
_BY_REASON = {kind.reason: kind for kind in KINDS.values()}


@dataclass(frozen=True, slots=True)
class Pictures:
    """The files of one experiment.

    Attributes:
        train, reasoned, biased, held_out: JSON Lines in MagicData340K's schema.
        answers: every different answer to learn, rendered; for the tokenizer.
        counts: pictures to learn from, by bucket.
    """

    train: Path
    reasoned: Path
    biased: Path
    held_out: Path
    answers: tuple[str, ...]
    counts: dict[str, int]


def draw_pictures(folder: Path, recipe: Recipe, *, seed: int) -> Pictures:
    """Draw all pictures of one experiment into a folder; equal arguments give equal files."""
    even = _even()
    natural = {name: weight * _IMAGES[KINDS[name].artifact.l2] for name, weight in even.items()}
    difficulty = Difficulty.level(recipe.difficulty)
    train = list(
        draw_examples(
            recipe.pictures,
            seed=2 * seed,
            size=recipe.shape.image_size,
            difficulty=difficulty,
            balance=Balance(natural, hard_positives=recipe.right_hands),
        )
    )
    held_out = list(
        draw_examples(
            recipe.held_out, seed=2 * seed + 1, size=recipe.shape.image_size, difficulty=difficulty, balance=Balance(even)
        )
    )
    reasoned = train[: recipe.reasoned]
    luck = random.Random(f"{seed} under-reporting teacher")  # noqa: S311 - no secret
    biased = [example if luck.random() >= recipe.teacher_misses else missed(example) for example in reasoned]
    pictures = folder / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    for example in (*train, *held_out):
        if not isinstance(example.image, bytes):  # pragma: no cover - the drawn world gives bytes
            raise TypeError(example.example_id)
        (pictures / f"{example.example_id}.png").write_bytes(example.image)
    files = {"train": train, "reasoned": reasoned, "biased": biased, "held_out": held_out}
    for name, examples in files.items():
        write_json_lines(folder / f"{name}.jsonl", map(_row, examples))
    answers = {render_magicmirror(example.truth, example.reasoning) for example in (*train, *biased)}
    counts = {bucket: sum(example.buckets[0] == bucket for example in train) for bucket in MAIN_BUCKETS}
    written = {name: folder / f"{name}.jsonl" for name in files}
    return Pictures(**written, answers=tuple(sorted(answers)), counts=counts)


def missed(example: TrainingExample) -> TrainingExample:
    """Describe an example as if it had no artifact.

    Example:
        >>> from salon_synthetic.artifacts import draw_examples
        >>> example = missed(next(draw_examples(1, seed=7, balance="even")))
        >>> example.truth.normal, example.reasoning
        (True, 'The things stand right.')
    """
    if example.truth.normal or example.reasoning not in _BY_REASON:
        return example
    return replace(example, truth=MagicMirrorAnswer(normal=True), reasoning=SOUND[_BY_REASON[example.reasoning].subject])


def _even() -> dict[str, float]:
    """How often each kind is planted, so that the four labels come equally often: the world's clearest, people more varied."""
    clear = {
        name: weight
        for name, weight in BALANCES["core"].weights.items()
        if KINDS[name].artifact.l2 != KINDS[_HUMAN[0]].artifact.l2
    }
    return clear | dict.fromkeys(_HUMAN, 1 / len(_HUMAN))


def _row(example: TrainingExample) -> dict[str, object]:
    """Return an example as a row of MagicData340K's schema."""
    reasoned = bool(example.reasoning)
    return {
        "images": f"pictures/{example.example_id}.png",
        "prompt": example.prompt,
        "response": render_magicmirror(example.truth, example.reasoning) if reasoned else magicmirror_json(example.truth),
        "example_id": example.example_id,
        "hard_positive": example.hard_positive,
    }
