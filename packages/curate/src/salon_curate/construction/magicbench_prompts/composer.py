"""Composes prompts offline: subject × scene × style × shot, drawn by a seed, no two alike.

The design is MagicMirror's (appendix A.7): eight sub-categories of 100 prompts, each of which ends by asking for
the complete subject. Words and draws are ours. Draws come from SHA-256 of seed and counter, so that a seed gives the same
bytes on every machine and every version of Python.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from salon_curate.construction.magicbench_prompts.library import Entity, Library
from salon_judges.formats.magicbench_subjects import SubCategory
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_json_lines


@dataclass(frozen=True, slots=True)
class Brief:
    """What one prompt is to be about."""

    entity: Entity
    scene: str
    style: str
    shot: str


@dataclass(frozen=True, slots=True)
class MagicBenchPrompt:
    """One prompt, as the columns of MagicBench's file.

    Attributes:
        prompt_id: sub-category, number and digest of the text: the same text has the same id's ending on every machine.
        text: the generator's prompt; ends with the demand for the complete subject.
        subject: what must be complete.
        category: the sub-category.
    """

    prompt_id: str
    text: str
    subject: str
    category: SubCategory

    @classmethod
    def of(cls, category: SubCategory, number: int, description: str, subject: str) -> "MagicBenchPrompt":
        """Return a description with the closing demand.

        Example:
            >>> MagicBenchPrompt.of(SubCategory.OBJECT_SINGLE, 1, "A kettle on a stove.", "kettle").text
            'A kettle on a stove. Show the complete subject in the image: kettle.'
        """
        text = f"{description} Show the complete subject in the image: {subject}."
        return cls(f"{category}-{number:03d}-{digest('magicbench prompt', text, length=6)}", text, subject, category)

    def as_row(self) -> dict[str, str]:
        """Return the row of the prompt file."""
        names = {"subject": self.subject, "class": str(self.category.subject_class), "detail_class": str(self.category)}
        return {"prompt_id": self.prompt_id, "prompt_t2i": self.text, **names}


def compose(*, seed: int = 0, per_category: int = 100, library: Library | None = None) -> list[MagicBenchPrompt]:
    """Compose the prompts: in the order of the sub-categories, each subject about equally often.

    Args:
        seed: another seed draws other prompts.
        per_category: how many for each of the eight sub-categories; the paper has 100.
        library: default: the bundled one.

    Raises:
        InputError: a seed below 0, a number below 1, or more prompts than the library has combinations.

    Example:
        >>> prompts = compose(per_category=2)
        >>> len(prompts), prompts[0].category.value, prompts == compose(per_category=2)
        (16, 'human_single', True)
    """
    library = library or Library.bundled()
    prompts = []
    for category in SubCategory:
        for number, brief in enumerate(briefs(category, seed=seed, number=per_category, library=library), 1):
            prompts.append(MagicBenchPrompt.of(category, number, _described(brief), brief.entity.subject))
    return prompts


def briefs(category: SubCategory, *, seed: int, number: int, library: Library) -> list[Brief]:
    """Draw what the prompts of one sub-category are about; no two briefs are the same.

    Raises:
        InputError: as :func:`compose`.
    """
    if seed < 0:
        raise InputError("the seed must be 0 or more, not", value=seed)
    if number < 1:
        raise InputError("at least one prompt per sub-category, not", value=number)
    entities = library.entities[category]
    most = sum(_combinations(entity, library) for entity in entities)
    if number > most:
        raise InputError(f"the library has {most} combinations for {category}, fewer than", value=number)
    order = list(_distinct(len(entities), f"{seed}/{category}"))
    draws = {place: _distinct(_combinations(entities[place], library), f"{seed}/{category}/{place}") for place in order}
    drawn: list[Brief] = []
    while len(drawn) < number:
        for entity_number in order[: number - len(drawn)]:
            combination = next(draws[entity_number], None)
            if combination is None:
                order.remove(entity_number)
            else:
                drawn.append(_brief(entities[entity_number], combination, library))
    return drawn


def save_prompts(prompts: Sequence[MagicBenchPrompt], path: Path) -> None:
    """Write prompts as JSON Lines; an existing file is replaced whole or not at all.

    Raises:
        InputError: the file's ending is not ``.jsonl``, or it cannot be written.
    """
    write_json_lines(path, (prompt.as_row() for prompt in prompts))


def _described(brief: Brief) -> str:
    entity = brief.entity
    return f"{_capital(entity.phrase)} {entity.doing}, {brief.scene}. {_capital(brief.style)}, {brief.shot}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _combinations(entity: Entity, library: Library) -> int:
    subject_class = entity.category.subject_class
    return len(library.scenes[entity.place]) * len(library.styles[subject_class]) * len(library.shots[subject_class])


def _brief(entity: Entity, combination: int, library: Library) -> Brief:
    subject_class = entity.category.subject_class
    scenes, styles, shots = library.scenes[entity.place], library.styles[subject_class], library.shots[subject_class]
    rest, scene = divmod(combination, len(scenes))
    shot, style = divmod(rest, len(styles))
    return Brief(entity, scenes[scene], styles[style], shots[shot])


def _distinct(size: int, name: str) -> Iterator[int]:
    """Yield all numbers below ``size`` in a drawn order, one at a time (Fisher-Yates that keeps only what it has moved)."""
    moved: dict[int, int] = {}
    for index, draw in zip(range(size), _numbers(name), strict=False):
        other = index + draw % (size - index)
        yield moved.get(other, other)
        moved[other] = moved.pop(index, index)


def _numbers(name: str) -> Iterator[int]:
    """128-bit numbers that depend on the name alone."""
    for number in count():
        yield int.from_bytes(hashlib.sha256(f"{name}/{number}".encode()).digest()[:16], "big")
