"""What replies must be: lines of yes and no, whether two explanations are equivalent, a list of questions.

The reply of the policy itself has R³'s own grammar (``salon_taxonomy.answers.parse_r3``). R³-Bench, appendix F.2.
"""

import re
from typing import Final

from salon_judges.formats.r3_bench import MOST_QUESTIONS
from salon_taxonomy.answers.outcome import Outcome, Parsed, Unparsed
from salon_taxonomy.answers.reading import is_refusal, rejected, split_object, split_reply
from salon_taxonomy.answers.strict_json import Json, JsonError, strict_json
from salon_taxonomy.verdict import Reason

_LONGEST_QUESTION: Final = 1000
_ANSWER: Final = re.compile(r"[\s>#*_`'\"-]*(?:\d{1,3}\s*[.):]\s*)?[*_`'\"]*(yes|no)\b", re.IGNORECASE)
_EQUIVALENT: Final = ("equivalent", "is_correct")


def parse_yes_no_lines(text: str, *, count: int) -> Outcome[tuple[bool, ...]]:
    """Read one line per question, each beginning with yes or no; a number or list sign before it is harmless.

    Another number of lines is a format failure: the answers cannot be matched to the questions. Empty lines and ``<think>``
    do not count.

    Args:
        text: the reply.
        count: how many questions were asked, at least 1.

    Example:
        >>> parse_yes_no_lines("Yes, on the left.\\n2. no: it is blue", count=2).answer
        (True, False)
        >>> parse_yes_no_lines("yes", count=2).detail
        '2 questions were asked, but 1 line came back'
    """
    heard = split_reply(text)
    if isinstance(heard, Unparsed):
        return heard
    lines = [line for line in heard.answer.splitlines() if line.strip()]
    matches = [_ANSWER.match(line[:200]) for line in lines]
    if not any(matches):
        reason = Reason.REFUSED if is_refusal(heard.answer) else Reason.MALFORMED
        return Unparsed(reason, "no line begins with yes or no", heard.reasoning)
    if len(lines) != count:
        came = f"{len(lines)} {'line' if len(lines) == 1 else 'lines'} came back"
        return Unparsed(Reason.MALFORMED, f"{count} questions were asked, but {came}", heard.reasoning)
    answers = [match[1].lower() == "yes" for match in matches if match]
    if len(answers) != count:
        line = next(number for number, match in enumerate(matches, 1) if match is None)
        return Unparsed(Reason.MALFORMED, f"line {line} begins with neither yes nor no", heard.reasoning)
    return Parsed(tuple(answers), heard.reasoning, heard.notes)


def parse_equivalent(text: str) -> Outcome[bool]:
    """Read ``{"equivalent": bool, …}``; the key ``is_correct`` of the paper's judge is taken as well.

    Example:
        >>> parse_equivalent('{"equivalent": true, "reason": "Both miss the third lemon."}').answer
        True
        >>> parse_equivalent('{"equivalent": "mostly"}').reason
        <Reason.OFF_MENU: 'off_menu'>
    """
    opened = split_object(text)
    if isinstance(opened, Unparsed):
        return opened
    heard, fragment = opened
    try:
        key, value = _member(strict_json(fragment.body), _EQUIVALENT)
    except JsonError as problem:
        return rejected(fragment, Reason.MALFORMED, str(problem), heard.reasoning)
    if not isinstance(value, bool):
        return rejected(fragment, Reason.OFF_MENU, f"{key!r} is neither true nor false", heard.reasoning)
    return Parsed(value, heard.reasoning, (*heard.notes, *fragment.notes))


def parse_questions(text: str) -> Outcome[tuple[str, ...]]:
    """Read ``{"questions": [text, …]}``, at most :data:`MOST_QUESTIONS`; the paper's ``yn_question_list`` is taken as well.

    Example:
        >>> parse_questions('{"questions": ["Is there a lemon?", "Is the lemon blue?"]}').answer
        ('Is there a lemon?', 'Is the lemon blue?')
    """
    opened = split_object(text)
    if isinstance(opened, Unparsed):
        return opened
    heard, fragment = opened
    try:
        key, value = _member(strict_json(fragment.body), ("questions", "yn_question_list"))
        if not isinstance(value, list) or not 0 < len(value) <= MOST_QUESTIONS:
            raise JsonError(f"{key!r} is no list of 1 to {MOST_QUESTIONS} questions")
        questions = tuple(" ".join(item.split()) for item in value if isinstance(item, str))
        if len(questions) < len(value) or not all(0 < len(item) <= _LONGEST_QUESTION for item in questions):
            raise JsonError(f"{key!r} holds something that is no question")
    except JsonError as problem:
        return rejected(fragment, Reason.MALFORMED, str(problem), heard.reasoning)
    return Parsed(questions, heard.reasoning, (*heard.notes, *fragment.notes))


def _member(value: Json, keys: tuple[str, ...]) -> tuple[str, Json]:
    """Return the first of the keys that the object has, with its value."""
    if isinstance(value, dict):
        for key in keys:
            if key in value:
                return key, value[key]
    raise JsonError(f"the key {keys[0]!r} is missing")
