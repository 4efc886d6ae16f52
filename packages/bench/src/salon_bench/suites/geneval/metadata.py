"""GenEval's metadata: which objects a picture must show, one JSON object per prompt. Prompts of our own about drawn shapes.

{"tag": "position", "include": [{"class": "chair", "count": 1}, {"class": "stop sign", "count": 1, "position": ["above", 0]}],
 "prompt": "a photo of a stop sign above a chair"}
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from salon_bench.suites.contract.suite import SuitePrompt
from salon_console.table_rows import TableRow, UsableRows, unique_rows
from salon_synthetic.scenes.vocabulary import NUMBER_WORDS, Colour, Shape
from salon_taxonomy.digest import Digestible
from salon_taxonomy.records import Prompt

TAGS: Final = ("single_object", "two_object", "counting", "colors", "position", "color_attr")
"""The six tasks, in the order of GenEval's tables."""
POSITIONS: Final = {"left of": "to the left of", "right of": "to the right of", "above": "above", "below": "below"}
"""The positions of the metadata, as questions word them."""
_MOST: Final = 20
_LONGEST: Final = 1000


@dataclass(frozen=True, slots=True)
class Condition:
    """One question of a prompt, and the answer that a correct picture has."""

    step: str
    question: str
    wanted: bool = True


def read_metadata(path: Path, suite: str) -> UsableRows[SuitePrompt]:
    """Read the user's copy of ``evaluation_metadata.jsonl``; a prompt's id is the number of its row in four digits.

    Returns:
        The prompts, with ``tag``, ``include`` and ``exclude`` as their facts; a row that cannot be used is left out and named.

    Raises:
        InputError: the file cannot be read, or none of its rows can be used.
    """
    return unique_rows(
        path, lambda row: _prompt(row, suite), lambda prompt: prompt.prompt.prompt_id, "prompt_id", what="prompt"
    )


def conditions(facts: Mapping[str, Any]) -> Iterator[Condition]:
    """Yield the questions of a prompt in the order of its clauses.

    Example:
        >>> clauses = {"include": [{"class": "bear", "count": 2}], "exclude": [{"class": "bear", "count": 3}]}
        >>> for each in conditions(clauses):
        ...     print(each.question, each.wanted)
        Are there at least two bears? True
        Are there at least three bears? False
    """
    include: Sequence[Mapping[str, Any]] = facts["include"]
    for number, clause in enumerate(include, start=1):
        colour = f"{clause['color']} " if clause.get("color") else ""
        yield Condition(f"include-{number}", _presence(colour + clause["class"], clause["count"]))
        if clause.get("position"):
            where, target = clause["position"]
            question = f"Is the {clause['class']} {POSITIONS[where]} the {include[target]['class']}?"
            yield Condition(f"position-{number}", question)
    for number, clause in enumerate(facts.get("exclude") or (), start=1):
        yield Condition(f"exclude-{number}", _presence(clause["class"], clause["count"]), wanted=False)


def drawn_prompts(suite: str, *, seed: int = 0) -> list[SuitePrompt]:
    """Return 20 prompts of each of the six tasks about drawn shapes, for trying the suite without data.

    Args:
        suite: the suite's name.
        seed: of the draws.
    """
    chance = random.Random(f"geneval {seed}")  # noqa: S311  (no secret)
    prompts = []
    for tag in TAGS:
        for number in range(20):
            one, other = chance.sample([str(shape) for shape in Shape], 2)
            red, blue = chance.sample([str(colour) for colour in Colour], 2)
            text, facts = _drawn(tag, one, other, red, blue, chance)
            prompt = Prompt(prompt_id=f"{tag}-{number:02d}", suite=suite, text=f"a photo of {text}", scenario=tag)
            prompts.append(SuitePrompt(prompt, {"tag": tag, **facts}))
    return prompts


def _drawn(tag: str, one: str, other: str, red: str, blue: str, chance: random.Random) -> tuple[str, dict[str, Digestible]]:
    first: dict[str, Digestible] = {"class": one, "count": 1}
    second: dict[str, Digestible] = {"class": other, "count": 1}
    if tag == "single_object":
        return f"a {one}", {"include": [first]}
    if tag == "two_object":
        return f"a {one} and a {other}", {"include": [first, second]}
    if tag == "counting":
        count = chance.randint(2, 4)
        exclude: list[dict[str, Digestible]] = [{"class": one, "count": count + 1}]
        return f"{NUMBER_WORDS[count]} {_plural(one)}", {"include": [{**first, "count": count}], "exclude": exclude}
    if tag == "colors":
        return f"a {red} {one}", {"include": [{**first, "color": red}]}
    if tag == "position":
        where = chance.choice(list(POSITIONS))
        return f"a {one} {POSITIONS[where]} a {other}", {"include": [second, {**first, "position": [where, 0]}]}
    return f"a {red} {one} and a {blue} {other}", {"include": [{**first, "color": red}, {**second, "color": blue}]}


def _presence(what: str, count: int) -> str:
    number = NUMBER_WORDS[count] if count < len(NUMBER_WORDS) else str(count)
    return f"Is there at least one {what}?" if count == 1 else f"Are there at least {number} {_plural(what)}?"


def _plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def _prompt(row: TableRow, suite: str) -> SuitePrompt:
    text, tag = row.text("prompt"), row.text("tag", allowed=TAGS)
    if len(text) > _LONGEST:
        raise row.problem(f"has more than {_LONGEST} characters:", "prompt", value=text)
    include = _clauses(row, "include", has_targets=True)
    exclude = _clauses(row, "exclude", has_targets=False) if row.cells.get("exclude") else []
    prompt_id = row.optional_text("prompt_id") or f"{row.number:04d}"
    prompt = Prompt(prompt_id=prompt_id, suite=suite, text=text, scenario=tag)
    return SuitePrompt(prompt, {"tag": tag, "include": include, "exclude": exclude})


def _clauses(row: TableRow, column: str, *, has_targets: bool) -> list[dict[str, Digestible]]:
    """Return the checked clauses of a column; a position refers to an earlier clause."""
    value = row.cells.get(column)
    if not isinstance(value, list) or not value:
        raise row.problem("must be a list of at least one clause", column, value=value)
    clauses: list[dict[str, Digestible]] = []
    for number, clause in enumerate(value):
        if not isinstance(clause, dict) or not isinstance(clause.get("class"), str) or not clause["class"].strip():
            raise row.problem("a clause needs the key 'class' with a text, not", column, value=clause)
        count, colour, position = clause.get("count"), clause.get("color"), clause.get("position")
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
            raise row.problem(f"the count of a clause is a whole number from 1 to {_MOST}, not", column, value=count)
        kept: dict[str, Digestible] = {"class": clause["class"].strip(), "count": count}
        if colour is not None:
            if not isinstance(colour, str) or not colour.strip():
                raise row.problem("the color of a clause is a text, not", column, value=colour)
            kept["color"] = colour.strip()
        if position is not None:
            if not (isinstance(position, list) and len(position) == 2 and position[0] in [*POSITIONS] and has_targets):
                problem = "a position is a word and the place of a clause, not"
                raise row.problem(problem, column, value=position, allowed=tuple(POSITIONS))
            if type(position[1]) is not int or position[1] not in range(number):
                raise row.problem("a position refers to an earlier clause, not", column, value=position[1])
            kept["position"] = list(position)
        clauses.append(kept)
    return clauses
