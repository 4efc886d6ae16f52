"""How often a judge is right about drawn scenes: per category, against the truth of what the pictures show."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from salon_synthetic.scenes.claims import holds
from salon_synthetic.scenes.drawing import png
from salon_synthetic.scenes.equivalence import same_mismatch
from salon_synthetic.scenes.generating import DrawnItem
from salon_synthetic.scenes.reading import read_question
from salon_synthetic.scenes.vocabulary import Category
from salon_taxonomy.answers import Parsed, parse_r3
from salon_taxonomy.protocols import Judge, Media, Question

_REFLECT = (
    "Does the picture show what its prompt asks for?\n<data>\n{prompt}\n</data>\n"
    "Think within <think> and </think>, then answer with one JSON object: "
    '{{"answer": true or false, "explanation": what differs, "edit_prompt": an instruction that mends the picture}}'
)
_ASK = "Answer each question about the picture on a line of its own that starts with yes or no.\n<data>\n{questions}\n</data>"


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Of one category; every count is of items or of questions, and shares are counts over counts.

    Attributes:
        category: of the items.
        items: how many.
        verdicts: items with a right verdict.
        explained: misaligned items with a right verdict and an explanation that names the mismatches, all of them and no other.
        misaligned: items with something wrong.
        questions: yes/no questions about all items.
        answers: questions that were answered with the truth of the picture.
        unread: replies (of both kinds) that could not be read; their items and questions count as not right.
    """

    category: Category
    items: int
    verdicts: int
    explained: int
    misaligned: int
    questions: int
    answers: int
    unread: int


async def measured(judge: Judge, rows: Iterable[DrawnItem]) -> tuple[Accuracy, ...]:
    """Ask a judge about every item, and compare with the truth.

    Args:
        judge: any judge that sees pictures.
        rows: from :func:`~salon_synthetic.scenes.generating.generate`.

    Returns:
        One row for each category that occurs, in their own order.

    Example:
        >>> from salon_synthetic import PixelJudge, generate
        >>> rows = asyncio.run(measured(PixelJudge(), generate(2, seed=1)))
        >>> len(rows), sum(row.verdicts for row in rows), sum(row.items for row in rows)
        (8, 16, 16)
    """
    results = await asyncio.gather(*(_one(judge, item) for item in rows))
    return tuple(_added([row for row in results if row.category == kind]) for kind in Category if _any(results, kind))


async def _one(judge: Judge, row: DrawnItem) -> Accuracy:
    picture = Media.from_bytes(png(row.shown))
    reflection = await judge.ask(Question((picture, _REFLECT.format(prompt=row.prompt))))
    listing = await judge.ask(Question((picture, _ASK.format(questions="\n".join(row.questions)))))
    outcome = parse_r3(reflection.text) if reflection.problem() is None else None
    verdict = explained = 0
    if isinstance(outcome, Parsed):
        verdict = int(outcome.answer.matches == (not row.findings))
        explained = int(bool(verdict and row.findings) and same_mismatch(outcome.answer.explanation, row.explanation))
    lines = [line.strip().lower() for line in listing.text.splitlines() if line.strip()]
    read = listing.problem() is None and len(lines) == len(row.questions)
    claims = [read_question(question) for question in row.questions]
    truths = ["yes" if claim is not None and holds(claim, row.shown) else "no" for claim in claims]
    right = sum(line.startswith(truth) for line, truth in zip(lines, truths, strict=True)) if read else 0
    unread = int(not isinstance(outcome, Parsed)) + int(not read)
    return Accuracy(row.category, 1, verdict, explained, int(bool(row.findings)), len(truths), right, unread)


def _any(rows: Iterable[Accuracy], category: Category) -> bool:
    return any(row.category == category for row in rows)


def _added(rows: list[Accuracy]) -> Accuracy:
    names = ("items", "verdicts", "explained", "misaligned", "questions", "answers", "unread")
    return Accuracy(rows[0].category, *(sum(getattr(row, name) for row in rows) for name in names))
