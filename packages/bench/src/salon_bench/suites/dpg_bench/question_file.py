"""The released ``dpg_bench.csv``: a row for each question, the rows of a prompt one after the other.

Columns that are read: ``item_id``, ``text``, ``proposition_id``, ``dependency`` (ids of parents with commas, or 0),
``tuple`` (``entity - whole (girl)``: the category is before the bracket), ``question_natural_language``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from salon_bench.suites.contract.suite import SuitePrompt
from salon_console.table_rows import BadRow, TableRow, UsableRows, read_each, usable_rows
from salon_taxonomy.digest import Digestible
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Prompt


@dataclass(frozen=True, slots=True)
class Proposition:
    """One row: a question of a prompt."""

    row: TableRow
    item_id: str
    text: str
    number: int
    parents: tuple[int, ...]
    category: str
    question: str


def read_questions(path: Path, suite: str) -> UsableRows[SuitePrompt]:
    """Read the user's copy of the file.

    Returns:
        The prompts in the file's order, each with its ``questions`` as facts: ``id``, ``parents``, ``category``, ``question``;
        parents come first. A prompt with a row that cannot be used is left out, and the row is named.

    Raises:
        InputError: the file cannot be read, or no prompt of it can be used.
    """
    items: dict[str, list[Proposition]] = {}
    bad: dict[str, BadRow] = {}
    nameless: list[BadRow] = []
    for row in read_each(path, _row):
        if isinstance(row, BadRow):
            nameless.append(row)
            continue
        item_id, read = row[1]
        if isinstance(read, InputError):
            bad.setdefault(item_id, BadRow(row[0], read))
        items.setdefault(item_id, []).extend([read] if isinstance(read, Proposition) else [])
    usable: list[tuple[int, SuitePrompt] | BadRow] = [*nameless]
    for item_id, propositions in items.items():
        try:
            usable.append(bad.get(item_id) or (1, _prompt(propositions, suite)))
        except InputError as error:
            usable.append(BadRow(error.row or 0, error))
    return usable_rows(path, usable, what="prompt")


def _row(row: TableRow) -> tuple[str, Proposition | InputError]:
    item_id = row.text("item_id")
    try:
        number = _number(row, "proposition_id", row.text("proposition_id"))
        parents = [_number(row, "dependency", part) for part in row.text("dependency").split(",")]
        category = row.text("tuple").partition("(")[0].strip()
        question = row.text("question_natural_language")
        kept = tuple(parent for parent in parents if parent)
        return item_id, Proposition(row, item_id, row.text("text"), number, kept, category, question)
    except InputError as error:
        return item_id, error


def _number(row: TableRow, column: str, text: str) -> int:
    if not (text.strip().isascii() and text.strip().isdigit() and len(text.strip()) < 6):
        raise row.problem("must be a whole number from 0, not", column, value=text)
    return int(text.strip())


def _prompt(propositions: list[Proposition], suite: str) -> SuitePrompt:
    """Return the prompt of some rows, its questions in the file's order but for parents, which come first.

    Raises:
        InputError: an id is there twice, a parent is missing, or parents are in a circle.
    """
    numbers: dict[int, Proposition] = {}
    for proposition in propositions:
        if proposition.number in numbers:
            raise proposition.row.problem("is there twice in this item:", "proposition_id", value=proposition.number)
        numbers[proposition.number] = proposition
    ordered: dict[int, Proposition] = {}
    for proposition in propositions:
        _visit(proposition, numbers, ordered, ())
    questions: list[Mapping[str, Digestible]] = [
        {"id": each.number, "parents": list(each.parents), "category": each.category, "question": each.question}
        for each in ordered.values()
    ]
    first = propositions[0]
    return SuitePrompt(Prompt(prompt_id=first.item_id, suite=suite, text=first.text), {"questions": questions})


def _visit(
    proposition: Proposition, numbers: Mapping[int, Proposition], ordered: dict[int, Proposition], way: tuple[int, ...]
) -> None:
    if proposition.number in way:
        raise proposition.row.problem("depends on itself:", "dependency", value=proposition.number)
    if proposition.number in ordered:
        return
    for parent in proposition.parents:
        if parent not in numbers:
            raise proposition.row.problem("the item has no proposition", "dependency", value=parent)
        _visit(numbers[parent], numbers, ordered, (*way, proposition.number))
    ordered[proposition.number] = proposition
