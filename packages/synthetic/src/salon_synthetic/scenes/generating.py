"""A drawn counterpart of R³-Bench: prompts, aligned and misaligned pictures, explanations and questions, with exact truth."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from salon_synthetic.scenes.composing import compose
from salon_synthetic.scenes.contradictions import contradicted
from salon_synthetic.scenes.diagnosis import Finding
from salon_synthetic.scenes.drawing import png
from salon_synthetic.scenes.questioning import questions
from salon_synthetic.scenes.scene import Scene
from salon_synthetic.scenes.vocabulary import Category
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import new_folder

ROWS_FILE = "rows.jsonl"
TRUTH_FILE = "truth.jsonl"
PICTURES_FOLDER = "pictures"
MISALIGNED_SHARE = 2 / 3
"""Of R³-Bench's 670 items, 448 are misaligned."""


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """One item of the benchmark.

    Attributes:
        idx: from 0, over all categories.
        category: what its prompt is about, and what is wrong where something is.
        prompt: the prompt.
        shown: the scene of the picture.
        target: a scene that shows the prompt; the same as ``shown`` when the item is aligned.
        findings: what is wrong with the picture; empty when it is aligned.
        questions: about the prompt.
        answers: what a picture that shows the prompt would get.
    """

    idx: int
    category: Category
    prompt: str
    shown: Scene
    target: Scene
    findings: tuple[Finding, ...]
    questions: tuple[str, ...]
    answers: tuple[bool, ...]

    @property
    def picture(self) -> str:
        """Where its picture stands, from the folder of the rows."""
        return f"{PICTURES_FOLDER}/{self.idx:05d}.png"

    @property
    def explanation(self) -> str:
        """What is wrong, in sentences; empty when nothing is."""
        return " ".join(finding.explanation for finding in self.findings)

    @property
    def edit_prompt(self) -> str:
        """What mends the picture, in sentences; empty when nothing is wrong."""
        return " ".join(finding.instruction for finding in self.findings)

    def row(self) -> dict[str, Any]:
        """Return the row in R³-Bench's released schema."""
        return {
            "idx": self.idx,
            "original_prompt": self.prompt,
            "bad_image": self.picture,
            "answer": not self.findings,
            "explanation": self.explanation,
            "category": self.category.value,
            "generated_qa": {
                "yn_question_list": list(self.questions),
                "yn_answer_list": ["yes" if answer else "no" for answer in self.answers],
            },
        }

    def truth(self) -> dict[str, Any]:
        """Return what the schema has no place for: both scenes, and an instruction that mends the picture."""
        scenes = {"shown": self.shown.model_dump(mode="json"), "target": self.target.model_dump(mode="json")}
        return {"idx": self.idx, **scenes, "edit_prompt": self.edit_prompt}


def planted(rows: int, misaligned: float) -> int:
    """Return how many of the first items of a category have planted contradictions.

    Example:
        >>> [planted(items, 2 / 3) for items in range(5)]
        [0, 0, 1, 2, 2]
    """
    return int(rows * misaligned + 1e-9)


def generate(
    per_category: int,
    *,
    seed: int = 0,
    categories: Sequence[Category] = tuple(Category),
    misaligned: float = MISALIGNED_SHARE,
) -> Iterator[DrawnItem]:
    """Draw items, category after category; the same seed gives the same items, and a larger number the same first ones.

    Args:
        per_category: items of each category, 1 or more.
        seed: of the draws.
        categories: in this order.
        misaligned: the share of items with planted contradictions, 0 to 1; spread evenly, exact to within one item.

    Raises:
        InputError: for a number or a share out of its range.

    Example:
        >>> first, second = generate(2, seed=3, categories=[Category.COLOR])
        >>> first.row()["answer"], second.row()["answer"], second.explanation != ""
        (True, False, True)
    """
    if per_category < 1:
        raise InputError("must be 1 or more", column="per_category", value=per_category)
    if not 0 <= misaligned <= 1:
        raise InputError("must lie between 0 and 1", column="misaligned", value=misaligned)
    for kind, category in enumerate(categories):
        for number in range(per_category):
            generator = random.Random(f"{seed} {category.value} {number}")  # noqa: S311 - a benchmark, no secret
            bad = planted(number + 1, misaligned) > planted(number, misaligned)
            yield _item(kind * per_category + number, category, bad, generator)


def save(rows_drawn: Iterator[DrawnItem], folder: Path) -> int:
    """Write ``rows.jsonl``, ``truth.jsonl`` and ``pictures/`` into a folder that is new or empty; returns how many items.

    Raises:
        InputError: the folder contains something.
        StorageError: it cannot be written; nothing is left of it.
    """
    with new_folder(folder):
        (folder / PICTURES_FOLDER).mkdir()
        number = 0
        with (
            (folder / ROWS_FILE).open("w", encoding="utf-8") as rows,
            (folder / TRUTH_FILE).open("w", encoding="utf-8") as truth,
        ):
            for row in rows_drawn:
                (folder / row.picture).write_bytes(png(row.shown))
                rows.write(json.dumps(row.row(), ensure_ascii=False) + "\n")
                truth.write(json.dumps(row.truth(), ensure_ascii=False) + "\n")
                number += 1
    return number


def _item(idx: int, category: Category, bad: bool, generator: random.Random) -> DrawnItem:
    composition = compose(category, generator)
    asked, answers = questions(composition.claims, composition.scene, category, generator)
    scene, differences = contradicted(composition, generator) if bad else (composition.scene, ())
    return DrawnItem(idx, category, composition.prompt, scene, composition.scene, differences, asked, answers)
