"""Cut reasoning into clauses: pieces with one claim each, for the monitors that read claims."""

import re
from collections.abc import Iterator
from typing import Final

from salon_rewards.monitors.lexicon import BOUNDARIES

_WORDS: Final = re.compile(r"[a-z0-9]+(?:['’-][a-z]+)*|[.;:!?,]")


def clauses(text: str) -> Iterator[list[str]]:
    """Yield the words of each clause, with the sign that ends it.

    Args:
        text: in lower case.

    Example:
        >>> list(clauses("the hand is fine, but a foot is missing."))
        [['the', 'hand', 'is', 'fine', ','], ['but', 'a', 'foot', 'is', 'missing', '.']]
    """
    clause: list[str] = []
    for word in _WORDS.findall(text):
        if word in BOUNDARIES and clause:
            yield clause
            clause = []
        clause.append(word)
        if word in ".;:!?,":
            yield clause
            clause = []
    if clause:
        yield clause
