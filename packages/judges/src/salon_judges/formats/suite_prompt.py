"""A prompt with what a benchmark knows about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from salon_judges.formats.generations import Generated
from salon_taxonomy.digest import Digestible
from salon_taxonomy.records import Prompt

TURNS = "turns"
"""The column of prompts with the instructions of an editing conversation, and the fact that it becomes."""


@dataclass(frozen=True, slots=True)
class SuitePrompt:
    """A prompt of a suite, with what the suite knows about it.

    Attributes:
        prompt: the row of ``prompts``; its id is what names of pictures refer to.
        facts: the suite's own columns: subject, class, track, test points. A suite reads them as ``Case.facts``.
        media: the pictures and videos that come with the prompt, in order: sources of an edit, references, a mask.
    """

    prompt: Prompt
    facts: Mapping[str, Digestible] = field(default_factory=dict, hash=False)
    media: tuple[Generated, ...] = ()


def turns_of(facts: Mapping[str, Digestible]) -> Sequence[str]:
    """Return the instructions of an editing conversation, the fact ``turns`` of its prompt; empty for any other prompt.

    Example:
        >>> turns_of({"turns": ["Make the star red.", "Make it larger."]}), turns_of({"turns": 3})
        (['Make the star red.', 'Make it larger.'], [])
    """
    turns = facts.get(TURNS)
    return [str(each) for each in turns] if isinstance(turns, list) else []
