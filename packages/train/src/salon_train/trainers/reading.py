"""Completions as they are counted during training: readable or not, and which verdict."""

from dataclasses import dataclass

from salon_taxonomy.answers import Parsed, parse_magicmirror, parse_r3


@dataclass(frozen=True, slots=True)
class Reading:
    """What a grammar makes of one completion.

    Attributes:
        readable: it follows the grammar.
        verdict: a word to count it by (``normal``, ``artifact``; ``matches``, ``differs``); None when it is not readable.
    """

    readable: bool
    verdict: str | None = None


def read_assessment(text: str) -> Reading:
    r"""A completion in MagicMirror's grammar.

    Example:
        >>> read_assessment(r'\boxed{{"Whether Normal": true}}'), read_assessment("fine")
        (Reading(readable=True, verdict='normal'), Reading(readable=False, verdict=None))
    """
    outcome = parse_magicmirror(text)
    if not isinstance(outcome, Parsed):
        return Reading(False)
    return Reading(True, "normal" if outcome.answer.normal else "artifact")


def read_refinement(text: str) -> Reading:
    """A completion in R³-Refiner's grammar.

    Example:
        >>> read_refinement('{"answer": true}'), read_refinement("fine")
        (Reading(readable=True, verdict='matches'), Reading(readable=False, verdict=None))
    """
    outcome = parse_r3(text)
    if not isinstance(outcome, Parsed):
        return Reading(False)
    return Reading(True, "matches" if outcome.answer.matches else "differs")
