"""PRISM-Bench's answer: one JSON object with a score from 0 to 10 and its justification.

The grammar is PRISM-Bench's, Tables 8–15. Their template writes the score as a string
and ends the object with a comma; judges imitate both, so both are read and noted.
"""

import re
from dataclasses import dataclass

from salon_taxonomy.answers.outcome import Note, Outcome, Parsed, Unparsed
from salon_taxonomy.answers.reading import rejected, split_object, without_surrogates
from salon_taxonomy.answers.rendering import object_text, with_reasoning
from salon_taxonomy.answers.strict_json import Json, JsonError, strict_json
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason

_LOWEST, _HIGHEST = 0.0, 10.0
_NUMBER = re.compile(r"[+-]?[0-9]{1,6}(?:\.[0-9]{1,12})?")


@dataclass(frozen=True, slots=True)
class PrismAnswer:
    """What one PRISM judge says about one image on one rubric (alignment or aesthetics).

    Attributes:
        score: from 0 (worst) to 10 (nothing to deduct); fractions are allowed.
        justification: why points were deducted; may be blank.

    Raises:
        InputError: for a score outside of 0 to 10, or NaN.
    """

    score: float
    justification: str = ""

    def __post_init__(self) -> None:
        if not _LOWEST <= self.score <= _HIGHEST:
            raise InputError("a PRISM score lies between 0 and 10", column="score", value=self.score)


def parse_prism(text: str, *, need_justification: bool = True) -> Outcome[PrismAnswer]:
    """Read one reply: the last JSON object outside of the reasoning, bare, fenced or within prose.

    Args:
        text: the reply.
        need_justification: whether an object without a justification is malformed, as by the paper's form; otherwise a missing
            one is blank.

    Example:
        >>> parse_prism('Here you are: {"justification": "The sign is misspelled.", "score": "6",}')
        ... # doctest: +NORMALIZE_WHITESPACE
        Parsed(answer=PrismAnswer(score=6.0, justification='The sign is misspelled.'), reasoning=None,
               notes=(<Note.SURROUNDED: 'surrounded'>, <Note.TRAILING_COMMA: 'trailing_comma'>,
                      <Note.TEXT_SCORE: 'text_score'>))
        >>> parse_prism('{"justification": "Superb.", "score": 11}')
        Unparsed(reason=<Reason.OFF_MENU: 'off_menu'>, detail='the score 11 is not between 0 and 10', reasoning=None)
        >>> parse_prism('{"score": 7}').detail, parse_prism('{"score": 7}', need_justification=False).answer.score
        ("the key 'justification' is missing or no text", 7.0)
    """
    opened = split_object(text)
    if isinstance(opened, Unparsed):
        return opened
    heard, fragment = opened
    notes = [*heard.notes, *fragment.notes]
    inside = fragment.body[1:-1].rstrip()
    if inside.endswith(","):
        notes.append(Note.TRAILING_COMMA)
        inside = inside[:-1]
    try:
        value = strict_json(f"{{{inside}}}")
        if not isinstance(value, dict):
            raise JsonError("the answer is no JSON object")
        justification = _justification(value, needed=need_justification)
        score = _score(value, notes)
    except JsonError as problem:
        return rejected(fragment, Reason.MALFORMED, str(problem), heard.reasoning)
    if not _LOWEST <= score <= _HIGHEST:
        return rejected(fragment, Reason.OFF_MENU, f"the score {score:g} is not between 0 and 10", heard.reasoning)
    if value.keys() - {"justification", "score"}:
        notes.append(Note.EXTRA_KEYS)
    return Parsed(PrismAnswer(score, justification), heard.reasoning, tuple(notes))


def render_prism(answer: PrismAnswer, reasoning: str | None = None) -> str:
    """Return the whole reply; :func:`parse_prism` reads it back.

    Raises:
        InputError: when the reasoning itself holds a think tag.

    Example:
        >>> print(render_prism(PrismAnswer(9.5, "A slightly crooked horizon.")))
        {"justification": "A slightly crooked horizon.", "score": 9.5}
    """
    return with_reasoning(object_text({"justification": answer.justification, "score": answer.score}), reasoning)


def _justification(members: dict[str, Json], *, needed: bool) -> str:
    value = members.get("justification")
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        raise JsonError("the key 'justification' is missing or no text")
    return without_surrogates(value)


def _score(members: dict[str, Json], notes: list[Note]) -> float:
    value = members.get("score")
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        notes.append(Note.TEXT_SCORE)
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise JsonError("the key 'score' is missing or no number")
    return float(value)
